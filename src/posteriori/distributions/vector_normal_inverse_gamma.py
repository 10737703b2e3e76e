r"""The normal-inverse-gamma distribution of regression weights and noise variance,
:math:`\sigma^2 \sim \mathrm{InvGamma}(a, b)`, :math:`w\mid\sigma^2 \sim N(m, \sigma^2\Lambda^{-1})`.

Natural parameters :math:`(-a-1-\tfrac D2, -b-\tfrac12m^\top\Lambda m, \Lambda m,
-\tfrac12\Lambda)` with statistics :math:`(\ln\sigma^2, 1/\sigma^2, w/\sigma^2, ww^\top/\sigma^2)`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

from posteriori.distributions.inverse_gamma import InverseGamma
from posteriori.distributions.joint import ETAS
from posteriori.distributions.mean_and_spread import MeanVariance
from posteriori.distributions.mv_student_t import MvStudentT
from posteriori.distributions.vector_joint import VectorJoint
from posteriori.numerics.types import Array
from posteriori.numerics.validation import (
    positive,
    positive_definite,
    real_vector,
    require_same_size,
)

__all__ = ["VectorNormalInverseGamma"]


class VectorNormalInverseGamma(VectorJoint):
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
    _record = MeanVariance
    _spread_family = InverseGamma
    _sign = -1.0

    def __new__(cls, mean: Any, *, mean_precision: Any, shape: Any, scale: Any) -> Self:
        centre = real_vector("mean", mean)
        precision = positive_definite("mean_precision", mean_precision)
        require_same_size(centre, precision, "mean_precision")
        return cls._from(
            location=centre,
            mean_precision=precision,
            shape=positive("shape", shape),
            scale=positive("scale", scale),
        )

    @cached_property
    def shape(self) -> Array:
        """Shape a of the variance."""
        self._require_proper("shape")
        return self.marginal_variance().shape

    @cached_property
    def scale(self) -> Array:
        """Scale b of the variance."""
        self._require_proper("scale")
        return self.marginal_variance().scale

    def marginal_variance(self) -> InverseGamma:
        """Return InverseGamma(a, b), the distribution of σ²."""
        marginal: InverseGamma = self._spread
        return marginal

    def marginal_mean(self) -> MvStudentT:
        """Return the distribution of w: Student t, 2a degrees of freedom, scale (b/a)Λ⁻¹."""
        scale = (self.scale / self.shape)[..., None, None] * self._inverse_strength
        return MvStudentT(2.0 * self.shape, self.location, scale=scale)
