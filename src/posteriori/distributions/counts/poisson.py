r"""The Poisson distribution, :math:`p(x) = \lambda^x e^{-\lambda}/x!` for x in {0, 1, 2, …}.

Natural parameter :math:`\ln\lambda` with statistic x, :math:`A = \lambda` and carrier 1/x!.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.counts.poisson_terms import (
    count_quantile,
    expect_over_counts,
    off_whole_numbers,
)
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.statistics import Sums
from posteriori.numerics.lazy import special
from posteriori.numerics.random import draw_counts
from posteriori.numerics.special import poisson_kernel, relative_entropy_terms
from posteriori.numerics.types import Array, Natural, number
from posteriori.numerics.validation import positive

__all__ = ["Poisson"]


class Poisson(ExponentialFamily, Univariate):
    """Poisson distribution of counts.

    Parameters
    ----------
    rate : float or array
        Rate λ > 0, which is both mean and variance.

    Examples
    --------
    >>> Poisson(2.0).log_prob([0, 3]).round(6)
    array([-2.      , -1.712318])
    >>> Poisson.fit([4, 1, 0, 3])
    Poisson(2)
    """

    _parameters = {"rate": 0}
    _shown = ("rate",)
    _has_atoms = True
    _natural_ndims = (0,)
    constant_carrier = False

    rate: Array

    def __new__(cls, rate: Any) -> Self:
        return cls._from(rate=positive("rate", rate))

    @property
    def mean(self) -> Array:
        """Mean λ."""
        return self.rate

    @property
    def variance(self) -> Array:
        """Variance λ."""
        return self.rate

    @cached_property
    def mode(self) -> Array:
        """The whole number at or below λ."""
        return np.floor(self.rate)

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """(ln λ,)."""
        return (np.log(self.rate),)

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        with np.errstate(over="ignore"):
            return cls(np.exp(natural[0]))

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the Poisson with E[x] as given."""
        return cls(positive("the mean of the counts, E[x],", mean_params[0]))

    def _log_normalizer(self) -> Array:
        return self.rate

    def _log_carrier(self, x: Array) -> Array:
        return -special.gammaln(x + 1.0)

    def _expected_log_carrier(self) -> Array:
        return self.rate - special.xlogy(self.rate, self.rate) - self._entropy()

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return off_whole_numbers(x)

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        return poisson_kernel(x, self.rate)

    def _entropy(self) -> Array:
        return 0.0 - expect_over_counts(_log_mass, poisson_kernel, self.rate, self.rate, self.rate)

    def _kl(self, other: Self) -> Array:
        return relative_entropy_terms(self.rate, other.rate)

    def _fisher_information(self) -> Array:
        return self.rate[..., None, None]

    @classmethod
    def statistics(cls, x: Array, weights: Array | None = None) -> Sums:
        """Summarise by number and sum of the counts, with −Σ ln x!."""
        logs = -special.gammaln(x + 1.0)
        if weights is None:
            return Sums(number(len(x)), (x.sum(axis=0),), logs.sum(axis=0))
        total, carrier = (np.tensordot(weights, part, axes=(0, 0)) for part in (x, logs))
        return Sums(weights.sum(), (total,), carrier)

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        upper = special.gammaincc(np.floor(np.maximum(x, 0.0)) + 1.0, self.rate)
        return np.where(x < 0, 0.0, upper)[()]

    def _quantile(self, q: Array) -> Array:
        return count_quantile(self._cdf, q, self.rate, self.rate, _NO_LIMIT)

    def _panjer(self) -> tuple[Array, Array]:
        """Return a and b with p(x + 1)/p(x) = a + b/(x + 1)."""
        return np.zeros_like(self.rate), self.rate

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return draw_counts(self.rate, rng, shape or None)

    def _interior(self) -> Array:
        return self.mode


_NO_LIMIT = np.asarray(np.inf)


def _log_mass(x: Array, rate: Array) -> Array:
    """Return the log mass, −inf below 0."""
    return np.where(x < 0, -np.inf, poisson_kernel(np.maximum(x, 0.0), rate))
