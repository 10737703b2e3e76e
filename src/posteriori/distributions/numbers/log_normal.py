r"""The log-normal distribution,
:math:`p(x) = \frac1{x\sqrt{2\pi v}}\exp\{-(\ln x-m)^2/(2v)\}` on x > 0.

The distribution of the exponential of a normal variable. Natural parameters
:math:`(m/v - 1, 1/v)` with statistics :math:`(\ln x, -\tfrac12\ln^2 x)`: the factor 1/x of the
density is part of the first, so that products of densities stay in the family. All else is that
of the normal distribution of ln x.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.formatting import format_distribution
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.statistics import Moments, Sums
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import as_observation, exactly_one, positive, real

__all__ = ["LogNormal"]


class LogNormal(ExponentialFamily, Univariate):
    """Log-normal distribution on the positive numbers.

    Parameters
    ----------
    mean : float or array
        Mean m of ln x.
    variance, scale, precision : float or array
        Of ln x, exactly one of: variance v > 0, standard deviation √v, or 1/v. The attributes
        ``mean`` and ``variance`` are those of x; ``logarithm`` is the distribution of ln x.

    Examples
    --------
    >>> d = LogNormal(0.0, variance=1.0)
    >>> d.mean.round(6), d.median, d.logarithm
    (np.float64(1.648721), np.float64(1.0), Normal(0, variance=1))
    """

    _parameters = Normal._parameters
    _shown = ("mean", "variance=")
    _natural_ndims = (0, 0)

    def __new__(
        cls, mean: Any = 0.0, *, variance: Any = None, scale: Any = None, precision: Any = None
    ) -> Self:
        name = exactly_one("LogNormal", variance=variance, scale=scale, precision=precision)
        spread = {"variance": variance, "scale": scale, "precision": precision}[name]
        return cls._from(**{"mean": real("mean", mean), name: positive(name, spread)})

    @cached_property
    def logarithm(self) -> Normal:
        """The normal distribution of ln x."""
        given = {name: self.__dict__[name] for name in self._parameters if name in self.__dict__}
        return Normal._from(**given)

    @property
    def mean(self) -> Array:
        """Mean exp(m + v/2) of x."""
        self._require_proper("mean")
        return np.exp(self.logarithm.mean + 0.5 * self.logarithm.variance)

    @property
    def variance(self) -> Array:
        """Variance (eᵛ − 1) exp(2m + v) of x, as (1 − e⁻ᵛ) exp(2m + 2v): m and v may be large and cancel."""
        m, v = self.logarithm.mean, self.logarithm.variance
        self._require_proper("variance")
        return -np.expm1(-v) * np.exp(2.0 * (m + v))

    @property
    def mode(self) -> Array:
        """Mode exp(m − v)."""
        self._require_proper("mode")
        return np.exp(self.logarithm.mean - self.logarithm.variance)

    @property
    def median(self) -> Array:
        """Median exp(m)."""
        self._require_proper("median")
        return np.exp(self.logarithm.mean)

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """(m/v − 1, 1/v)."""
        weighted_mean, precision = self.logarithm.natural
        return weighted_mean - 1.0, precision

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        exponent, precision = natural
        return cls._from(weighted_mean=exponent + 1.0, precision=precision)

    @property
    def is_proper(self) -> Any:
        """Whether the precision of ln x is positive."""
        return self.logarithm.is_proper

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return T(x) = (ln x, −½ ln² x)."""
        return Normal.sufficient(np.log(as_observation(x)))

    @property
    def mean_params(self) -> Natural:
        """(E[ln x], −½ E[ln² x])."""
        return self.logarithm.mean_params

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the log-normal with E[ln x] and −½ E[ln² x] as given."""
        return cls._of(Normal.from_mean_params(*mean_params))

    @classmethod
    def _of(cls, logarithm: Normal) -> Self:
        return cls._from(mean=logarithm.mean, variance=logarithm.variance)

    def _log_normalizer(self) -> Array:
        return self.logarithm._log_normalizer()

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return x <= 0

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        logs = np.log(x)
        return self.logarithm._log_density(logs) - logs

    def _entropy(self) -> Array:
        return self.logarithm._entropy() + self.logarithm.mean

    def _kl(self, other: Self) -> Array:
        return self.logarithm._kl(other.logarithm)

    def _fisher_information(self) -> Array:
        return self.logarithm._fisher_information()

    def _times(self, other: Self) -> Self:
        # the densities of ln x multiply, and one factor 1/x is left over
        return self._tilted(self.logarithm._times(other.logarithm), -1.0)

    def _over(self, other: Self) -> Self:
        return self._tilted(self.logarithm._over(other.logarithm), 1.0)

    def _to_the(self, power: Array) -> Self:
        return self._tilted(self.logarithm._to_the(power), 1.0 - float(power))

    def _tilted(self, logarithm: Normal, exponent: float) -> Self:
        """Return the member of density ∝ N(ln x) x^(exponent − 1)."""
        w = logarithm.precision
        if logarithm._all_proper:
            return self._from(mean=logarithm.mean + exponent / w, precision=w)
        return self._from(weighted_mean=logarithm.weighted_mean + exponent, precision=w)

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def statistics(cls, x: Array, weights: Array | None = None) -> Moments:
        """Summarise ln x by count, mean and centred scatter."""
        return Moments.of_numbers(np.log(x), weights)

    @classmethod
    def from_statistics(cls, statistics: Sums | Moments) -> Self:
        """Return the mean and the 1/N variance of ln x."""
        return cls._of(Normal.from_statistics(statistics))

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return self.logarithm._cdf(np.log(np.maximum(x, 0.0)))

    def _quantile(self, q: Array) -> Array:
        return np.exp(self.logarithm._quantile(q))

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.exp(self.logarithm._sample(shape, rng))

    def _interior(self) -> Array:
        return self.median if self._all_proper else np.ones(self.batch_shape)

    # -- being a value ---------------------------------------------------------------------

    def _key(self) -> tuple[Array, ...]:
        return self.logarithm._key()

    def __repr__(self) -> str:
        if not self._all_proper:
            return super().__repr__()
        parts = {"mean": self.logarithm.mean, "variance=": self.logarithm.variance}
        return format_distribution(type(self).__name__, parts)
