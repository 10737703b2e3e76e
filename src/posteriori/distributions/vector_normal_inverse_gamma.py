r"""The normal-inverse-gamma distribution of regression weights and noise variance,
:math:`\sigma^2 \sim \mathrm{InvGamma}(a, b)`, :math:`w\mid\sigma^2 \sim N(m, \sigma^2\Lambda^{-1})`.

Natural parameters :math:`(-a-1-\tfrac D2, -b-\tfrac12m^\top\Lambda m, \Lambda m,
-\tfrac12\Lambda)` with statistics :math:`(\ln\sigma^2, 1/\sigma^2, w/\sigma^2, ww^\top/\sigma^2)`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from posteriori.distributions.cone import factor, is_positive_definite
from posteriori.distributions.inverse_gamma import InverseGamma
from posteriori.distributions.joint import ETAS, JointFamily, vector_size
from posteriori.distributions.mean_and_spread import MeanVariance
from posteriori.distributions.mv_student_t import MvStudentT
from posteriori.numerics.linalg import (
    inverse_from_factor,
    outer,
    triangular_inverse,
)
from posteriori.numerics.special import relative_entropy_terms
from posteriori.numerics.types import Array
from posteriori.numerics.validation import (
    positive,
    positive_definite,
    real_vector,
    require_same_size,
)

__all__ = ["VectorNormalInverseGamma"]


class VectorNormalInverseGamma(JointFamily):
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
    _strength_name = "mean_precision"
    _event_ndims = (1, 0)
    _natural_ndims = (0, 0, 1, 2)

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
    def mean_precision(self) -> Array:
        """Precision Λ of the weights in units of 1/σ²."""
        self._require_proper("mean_precision")
        return self._strength

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

    # -- the algebra of a vector with a number ---------------------------------------------

    @classmethod
    def _apply(cls, strength: Array, vector: Array) -> Array:
        return cast(Array, np.matmul(strength, vector[..., None])[..., 0])

    @classmethod
    def _divide(cls, strength: Array, vector: Array) -> Array:
        usable = np.asarray(cls._is_strength(strength))[..., None, None]
        safe = np.where(usable, strength, np.eye(strength.shape[-1]))
        return np.linalg.solve(safe, vector[..., None])[..., 0]

    @classmethod
    def _bilinear(cls, strength: Array, a: Array, b: Array) -> Array:
        return np.einsum("...i,...i->...", a, cls._apply(strength, b))

    @classmethod
    def _lift(cls, precision: Array, mean: Array) -> tuple[Array, Array]:
        weighted = precision[..., None] * mean
        return weighted, outer(weighted, mean)

    @classmethod
    def _lower(cls, precision: Array, weighted: Array) -> Array:
        return weighted / precision[..., None]

    @classmethod
    def _is_strength(cls, strength: Array) -> Any:
        return is_positive_definite(strength)

    @property
    def _copies(self) -> int:
        return self._size

    @property
    def _size(self) -> int:
        return vector_size(self)

    @cached_property
    def _log_det_strength(self) -> Array:
        return np.linalg.slogdet(self._strength)[1]

    @cached_property
    def _inverse_strength(self) -> Array:
        return inverse_from_factor(factor(self._strength))

    @classmethod
    def _strength_from(cls, inverse: Array, size: int) -> Array:
        spread = positive_definite("E[wwᵀ/σ²] less its value at the mean", inverse)
        return inverse_from_factor(factor(spread))

    def _strength_divergence(self, other: Self) -> Array:
        relative = np.swapaxes(factor(other._strength), -1, -2) @ self._coloring
        ratios = np.linalg.svd(relative, compute_uv=False) ** 2
        return relative_entropy_terms(1.0, ratios).sum(axis=-1)

    @cached_property
    def _coloring(self) -> Array:
        """C with C Cᵀ = Λ⁻¹."""
        return np.swapaxes(triangular_inverse(factor(self._strength)), -1, -2)

    def _colored(self, spread: Array, noise: Array) -> Array:
        return np.sqrt(spread)[..., None] * self._apply(self._coloring, noise)
