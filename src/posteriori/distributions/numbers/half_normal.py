r"""The half-normal distribution,
:math:`p(x) = \sqrt{\tfrac2\pi}\,\tfrac1s\exp\{-x^2/(2s^2)\}` on x >= 0.

The absolute value of a normal variable of mean 0. Natural parameter :math:`w = 1/s^2` with
statistic :math:`-x^2/2`.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.numerics.lazy import special
from posteriori.numerics.special import log1pmx
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import as_observation, positive

__all__ = ["HalfNormal"]

#: ln(π/2), of the normaliser.
_LOG_HALF_PI = math.log(0.5 * math.pi)


class HalfNormal(ExponentialFamily, Univariate):
    """Half-normal distribution on the non-negative numbers.

    Parameters
    ----------
    scale : float or array
        Scale s > 0, the standard deviation of the normal variable before its sign is lost.

    Examples
    --------
    >>> HalfNormal(2.0).mean.round(6)
    np.float64(1.595769)
    >>> HalfNormal.fit([3.0, 4.0]) * HalfNormal(1.0)
    HalfNormal(0.96225)
    """

    _parameters = {"scale": 0, "precision": 0}
    _shown = ("scale",)
    _natural_ndims = (0,)

    def __new__(cls, scale: Any) -> Self:
        return cls._from(scale=positive("scale", scale))

    @cached_property
    def scale(self) -> Array:
        """Scale s."""
        self._require_proper("scale")
        return 1.0 / np.sqrt(self.precision)

    @cached_property
    def precision(self) -> Array:
        """Precision 1/s²; not positive for an improper message."""
        return self.scale**-2.0

    @cached_property
    def mean(self) -> Array:
        """Mean s √(2/π)."""
        return math.sqrt(2.0 / math.pi) * self.scale

    @cached_property
    def variance(self) -> Array:
        """Variance s²(1 − 2/π)."""
        return (1.0 - 2.0 / math.pi) * self.scale**2

    @cached_property
    def mode(self) -> Array:
        """0, where the density is highest."""
        self._require_proper("mode")
        return np.zeros(self.batch_shape)[()]

    # -- exponential family ----------------------------------------------------------------

    @property
    def natural(self) -> Natural:
        """(1/s²,)."""
        return (self.precision,)

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        return cls._from(precision=natural[0])

    @property
    def is_proper(self) -> Any:
        """Whether the precision is positive."""
        return np.True_ if "precision" not in self.__dict__ else self.precision > 0

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return T(x) = (−x²/2,)."""
        x = as_observation(x)
        return (-0.5 * x * x,)

    @property
    def mean_params(self) -> Natural:
        """(−s²/2,)."""
        return (-0.5 * self.scale**2,)

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the half-normal with −E[x²]/2 as given."""
        square = positive(
            "the mean square of the data, E[x²],", -2.0 * as_observation(mean_params[0])
        )
        return cls(np.sqrt(square))

    def _log_normalizer(self) -> Array:
        return 0.5 * (_LOG_HALF_PI - np.log(self.precision))

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return x < 0

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        z = x / self.scale
        return -0.5 * z * z - self._log_height

    @cached_property
    def _log_height(self) -> Array:
        return np.log(self.scale) + 0.5 * _LOG_HALF_PI

    def _entropy(self) -> Array:
        return 0.5 + self._log_height

    def _kl(self, other: Self) -> Array:
        # ½(ρ − 1 − ln ρ),  ρ = s²/s'²
        ratio = self.scale / other.scale
        excess = (self.scale - other.scale) / other.scale
        return -0.5 * log1pmx(excess * (ratio + 1.0), ratio * ratio)

    def _fisher_information(self) -> Array:
        return (0.5 * self.scale**4)[..., None, None]

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        return special.erf(np.maximum(x, 0.0) / (math.sqrt(2.0) * self.scale))

    def _quantile(self, q: Array) -> Array:
        return math.sqrt(2.0) * self.scale * special.erfinv(q)

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.scale * np.abs(rng.standard_normal(shape or None))

    def _interior(self) -> Array:
        return self.scale if self._all_proper else np.ones(self.batch_shape)
