r"""The exponential distribution, :math:`p(x) = \lambda e^{-\lambda x}` on x >= 0.

Natural parameter :math:`-\lambda` with statistic x: the waiting time of a process without memory,
and the gamma distribution of shape 1.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.numerics.special import log1pmx
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import positive

__all__ = ["Exponential"]

#: ln 2, the median in units of the mean.
_LOG_2 = 0.6931471805599453


class Exponential(ExponentialFamily, Univariate):
    """Exponential distribution on the non-negative numbers.

    Parameters
    ----------
    rate : float or array
        Rate λ > 0, the inverse of the mean.

    Examples
    --------
    >>> Exponential(2.0).mean, Exponential(2.0).variance
    (np.float64(0.5), np.float64(0.25))
    >>> Exponential.fit([1.0, 2.0, 6.0]) * Exponential(1.0)
    Exponential(1.333333)
    """

    _parameters = {"rate": 0}
    _shown = ("rate",)
    _natural_ndims = (0,)

    rate: Array

    def __new__(cls, rate: Any) -> Self:
        return cls._from(rate=positive("rate", rate))

    @cached_property
    def mean(self) -> Array:
        """Mean 1/λ."""
        self._require_proper("mean")
        return 1.0 / self.rate

    @cached_property
    def variance(self) -> Array:
        """Variance 1/λ²."""
        return self.mean * self.mean

    @property
    def std(self) -> Array:
        """Standard deviation, equal to the mean."""
        return self.mean

    @cached_property
    def mode(self) -> Array:
        """0, where the density is highest."""
        self._require_proper("mode")
        return np.zeros(self.batch_shape)[()]

    @cached_property
    def median(self) -> Array:
        """The point ln 2/λ with half of the probability on either side."""
        return _LOG_2 * self.mean

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """(−λ,)."""
        return (-self.rate,)

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        return cls._from(rate=-natural[0])

    @property
    def is_proper(self) -> Any:
        """Whether the rate is positive."""
        return self.rate > 0

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the exponential with E[x] as given."""
        return cls(1.0 / positive("the mean of the data, E[x],", mean_params[0]))

    def _log_normalizer(self) -> Array:
        return -np.log(self.rate)

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return x < 0

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        return -self.rate * x - self.log_normalizer()

    def _entropy(self) -> Array:
        return 1.0 + self.log_normalizer()

    def _kl(self, other: Self) -> Array:
        # ρ − 1 − ln ρ,  ρ = λ'/λ
        return -log1pmx((other.rate - self.rate) / self.rate, other.rate / self.rate)

    def _fisher_information(self) -> Array:
        return self.variance[..., None, None]

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        return -np.expm1(-self.rate * np.maximum(x, 0.0))

    def _quantile(self, q: Array) -> Array:
        with np.errstate(divide="ignore"):
            return -np.log1p(-q) / self.rate

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.standard_exponential(shape or None) / self.rate

    def _interior(self) -> Array:
        return self.mean if self._all_proper else np.ones(self.batch_shape)
