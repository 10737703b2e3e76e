r"""The normal-Wishart distribution of an unknown mean vector and precision matrix,
:math:`\Lambda \sim \mathrm{Wishart}(\nu, V)`, :math:`\mu\mid\Lambda \sim N(m, (\kappa\Lambda)^{-1})`.

Natural parameters :math:`(\tfrac{\nu-D}2, -\tfrac12(V^{-1}+\kappa mm^\top), \kappa m,
-\tfrac12\kappa)` with statistics :math:`(\ln|\Lambda|, \Lambda, \Lambda\mu, \mu^\top\Lambda\mu)`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from posteriori.distributions.joint import ETAS
from posteriori.distributions.matrix_joint import MatrixJoint
from posteriori.distributions.mean_and_spread import MeanPrecision
from posteriori.distributions.mv_student_t import MvStudentT
from posteriori.distributions.wishart import Wishart, check_dof
from posteriori.numerics.types import Array
from posteriori.numerics.validation import (
    positive,
    positive_definite,
    real_vector,
    require_same_size,
)

__all__ = ["NormalWishart"]


class NormalWishart(MatrixJoint):
    """Normal-Wishart distribution of pairs (mean vector, precision matrix).

    Parameters
    ----------
    mean : array (..., D)
        Location m of the mean.
    mean_strength : float or array
        Number κ > 0 of observations that the knowledge of the mean is worth.
    dof : float or array
        Degrees of freedom ν > D − 1 of the precision.
    scale : array (..., D, D)
        Positive definite scale V: the precision has mean ν V.

    Examples
    --------
    >>> d = NormalWishart([0.0, 1.0], 2.0, 5.0, [[0.2, 0.0], [0.0, 0.1]])
    >>> d.mean.precision
    array([[1. , 0. ],
           [0. , 0.5]])
    >>> d.marginal_mean()
    MvStudentT(4, [0., 1.], scale=[[0.625, 0. ], [0. , 1.25 ]])
    """

    _parameters = {
        "location": 1,
        "mean_strength": 0,
        "dof": 0,
        "scale": 2,
        "inverse_scale": 2,
        **dict(zip(ETAS, (0, 2, 1, 0), strict=True)),
    }
    _shown = ("location", "mean_strength=", "dof=", "scale=")
    _record = MeanPrecision
    _spread_family = Wishart
    _sign = 1.0

    def __new__(cls, mean: Any, mean_strength: Any, dof: Any, scale: Any) -> Self:
        centre, matrix = real_vector("mean", mean), positive_definite("scale", scale)
        require_same_size(centre, matrix, "scale")
        return cls._from(
            location=centre,
            mean_strength=positive("mean_strength", mean_strength),
            dof=check_dof(dof, matrix),
            scale=matrix,
        )

    @cached_property
    def mean_strength(self) -> Array:
        """Strength κ of the mean."""
        self._require_proper("mean_strength")
        return self._strength

    @cached_property
    def dof(self) -> Array:
        """Degrees of freedom ν of the precision."""
        self._require_proper("dof")
        return self.marginal_precision().dof

    @cached_property
    def scale(self) -> Array:
        """Scale V of the precision."""
        return self.marginal_precision().scale

    @cached_property
    def inverse_scale(self) -> Array:
        """Inverse scale V⁻¹ of the precision."""
        return self.marginal_precision().inverse_scale

    def marginal_precision(self) -> Wishart:
        """Return Wishart(ν, V), the distribution of Λ."""
        marginal: Wishart = self._spread
        return marginal

    def marginal_mean(self) -> MvStudentT:
        """Return the distribution of μ: Student t with c = ν − D + 1, scale V⁻¹/(cκ)."""
        dof = self.dof - self._size + 1.0
        scale = self.inverse_scale / (dof * self.mean_strength)[..., None, None]
        return MvStudentT(dof, self.location, scale=scale)

    def _colored(self, spread: Array, noise: Array) -> Array:
        root = np.swapaxes(np.linalg.cholesky(spread), -1, -2)
        draws = np.linalg.solve(root, noise[..., None])[..., 0]
        return cast(Array, draws / np.sqrt(self._strength)[..., None])
