r"""The normal-inverse-Wishart distribution of an unknown mean vector and covariance matrix,
:math:`\Sigma \sim \mathrm{InvWishart}(\nu, \Psi)`, :math:`\mu\mid\Sigma \sim N(m, \Sigma/\kappa)`.

Natural parameters :math:`(-\tfrac{\nu+D+2}2, -\tfrac12(\Psi+\kappa mm^\top), \kappa m,
-\tfrac12\kappa)` with statistics
:math:`(\ln|\Sigma|, \Sigma^{-1}, \Sigma^{-1}\mu, \mu^\top\Sigma^{-1}\mu)`.
"""

from __future__ import annotations

from functools import cached_property
from typing import cast

import numpy as np

from posteriori.distributions.joint.joint_family import ETAS
from posteriori.distributions.joint.matrix_joint import MatrixJoint
from posteriori.distributions.joint.mean_and_spread import MeanCov
from posteriori.distributions.vectors.inverse_wishart import InverseWishart
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.numerics.types import Array

__all__ = ["NormalInverseWishart"]


class NormalInverseWishart(MatrixJoint):
    """Normal-inverse-Wishart distribution of pairs (mean vector, covariance matrix).

    Parameters
    ----------
    mean : array (..., D)
        Location m of the mean.
    mean_strength : float or array
        Number κ > 0 of observations that the knowledge of the mean is worth.
    dof : float or array
        Degrees of freedom ν > D − 1 of the covariance.
    scale : array (..., D, D)
        Positive definite scale Ψ: the covariance has mean Ψ/(ν − D − 1) where ν > D + 1.

    Examples
    --------
    >>> d = NormalInverseWishart([0.0, 1.0], 2.0, 5.0, [[4.0, 0.0], [0.0, 2.0]])
    >>> d.mean.cov
    array([[2., 0.],
           [0., 1.]])
    >>> d.marginal_cov()
    InverseWishart(5, scale=[[4., 0.], [0., 2.]])
    """

    _parameters = {
        "location": 1,
        "mean_strength": 0,
        "dof": 0,
        "scale": 2,
        **dict(zip(ETAS, (0, 2, 1, 0), strict=True)),
    }
    _record = MeanCov
    _spread_family = InverseWishart
    _sign = -1.0

    @cached_property
    def dof(self) -> Array:
        """Degrees of freedom ν of the covariance."""
        self._require_proper("dof")
        return self.marginal_cov().dof

    @cached_property
    def scale(self) -> Array:
        """Scale Ψ of the covariance."""
        self._require_proper("scale")
        return self.marginal_cov().scale

    def marginal_cov(self) -> InverseWishart:
        """Return InverseWishart(ν, Ψ), the distribution of Σ."""
        marginal: InverseWishart = self._spread
        return marginal

    def marginal_mean(self) -> MvStudentT:
        """Return the distribution of μ: Student t with c = ν − D + 1, scale Ψ/(cκ)."""
        dof = self.dof - self._size + 1.0
        scale = self.scale / (dof * self.mean_strength)[..., None, None]
        return MvStudentT(dof, self.location, scale=scale)

    def _colored(self, spread: Array, noise: Array) -> Array:
        draws = np.matmul(np.linalg.cholesky(spread), noise[..., None])[..., 0]
        return cast(Array, draws / np.sqrt(self._strength)[..., None])
