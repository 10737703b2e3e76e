r"""The normal-inverse-gamma distribution of regression weights and noise variance,
:math:`\sigma^2 \sim \mathrm{InvGamma}(a, b)`, :math:`w\mid\sigma^2 \sim N(m, \sigma^2\Lambda^{-1})`.

Natural parameters :math:`(-a-1-\tfrac D2, -b-\tfrac12m^\top\Lambda m, \Lambda m,
-\tfrac12\Lambda)` with statistics :math:`(\ln\sigma^2, 1/\sigma^2, w/\sigma^2, ww^\top/\sigma^2)`.
"""

from __future__ import annotations

from typing import Any, Self

from posteriori.distributions.joint.joint_family import ETAS
from posteriori.distributions.joint.joint_parts import InverseGammaSpread
from posteriori.distributions.joint.vector_joint import VectorJoint
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.numerics.validation import positive

__all__ = ["VectorNormalInverseGamma"]


class VectorNormalInverseGamma(InverseGammaSpread, VectorJoint):
    """Normal-inverse-gamma distribution of pairs (vector of weights, variance).

    ``NormalInverseGamma(mean, mean_precision=..., ...)`` makes the same values.

    Parameters
    ----------
    mean : array (..., D)
        Location m of the weights.
    mean_precision : array (..., D, D)
        Positive definite Λ: given σ², the weights have covariance σ²Λ⁻¹.
    shape, scale : float or array
        Shape a > 0 and scale b > 0 of the variance.

    Examples
    --------
    >>> import numpy as np
    >>> d = VectorNormalInverseGamma([1.0, 0.0], mean_precision=np.eye(2), shape=3.0, scale=4.0)
    >>> d.mode
    MeanVariance(mean=array([1., 0.]), variance=np.float64(0.8))
    """

    _parameters = {
        "location": 1,
        "mean_precision": 2,
        "shape": 0,
        "scale": 0,
        **dict(zip(ETAS, (0, 0, 1, 2), strict=True)),
    }
    _shown = ("location", "mean_precision=", "shape=", "scale=")

    def __new__(cls, mean: Any, *, mean_precision: Any, shape: Any, scale: Any) -> Self:
        return cls._from(
            **cls._check_weights(mean, mean_precision),
            shape=positive("shape", shape),
            scale=positive("scale", scale),
        )

    def marginal_mean(self) -> MvStudentT:
        """Return the distribution of w: Student t, 2a degrees of freedom, scale (b/a)Λ⁻¹."""
        scale = (self.scale / self.shape)[..., None, None] * self._inverse_strength
        return MvStudentT(2.0 * self.shape, self.location, scale=scale)
