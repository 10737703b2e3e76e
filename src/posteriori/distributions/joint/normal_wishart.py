r"""The normal-Wishart distribution of an unknown mean vector and precision matrix,
:math:`\Lambda \sim \mathrm{Wishart}(\nu, V)`, :math:`\mu\mid\Lambda \sim N(m, (\kappa\Lambda)^{-1})`.

Natural parameters :math:`(\tfrac{\nu-D}2, -\tfrac12(V^{-1}+\kappa mm^\top), \kappa m,
-\tfrac12\kappa)` with statistics :math:`(\ln|\Lambda|, \Lambda, \Lambda\mu, \mu^\top\Lambda\mu)`.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from posteriori.distributions.joint.joint_family import ETAS
from posteriori.distributions.joint.matrix_joint import MatrixJoint, WishartSpread
from posteriori.distributions.joint.mean_and_spread import MeanPrecision
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.numerics.types import Array

__all__ = ["NormalWishart"]


class NormalWishart(WishartSpread, MatrixJoint):
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
    _record = MeanPrecision

    def marginal_mean(self) -> MvStudentT:
        """Return the distribution of μ: Student t with c = ν − D + 1, scale V⁻¹/(cκ)."""
        dof = self.dof - self._size + 1.0
        scale = self.inverse_scale / (dof * self.mean_strength)[..., None, None]
        return MvStudentT(dof, self.location, scale=scale)

    def _colored(self, spread: Array, noise: Array) -> Array:
        root = np.swapaxes(np.linalg.cholesky(spread), -1, -2)
        draws = np.linalg.solve(root, noise[..., None])[..., 0]
        return cast(Array, draws / np.sqrt(self._strength)[..., None])
