r"""The beta-binomial distribution,
:math:`p(x) = \binom nx\frac{B(x+a, n-x+b)}{B(a, b)}` for x in {0, …, n}.

A binomial count whose probability has a beta distribution: the next count of trials after
learning from counts. As a + b grows it becomes binomial.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import betainc, expit

from posteriori.distributions.base import Univariate
from posteriori.distributions.counts.compound_counts import negative_binomial_log_mass
from posteriori.distributions.counts.poisson_terms import count_quantile, off_whole_numbers
from posteriori.distributions.counts.trials import drawn_trials
from posteriori.numerics.calculus.legendre import legendre_rule
from posteriori.numerics.types import Array
from posteriori.numerics.validation import positive, whole

__all__ = ["BetaBinomial"]

#: Probabilities of more counts than this are not added up one by one.
_MOST_SUMMED = 100_000


class BetaBinomial(Univariate):
    """Beta-binomial distribution: successes in trials of uncertain probability.

    Parameters
    ----------
    trials : int or array
        Number of trials n = 0, 1, 2, …
    a, b : float or array
        Positive pseudo-counts of success and failure: the mean is na/(a + b).

    Examples
    --------
    >>> BetaBinomial(3, 1.0, 1.0).log_prob([0, 1, 2, 3]).round(6)  # all equally probable
    array([-1.386294, -1.386294, -1.386294, -1.386294])
    """

    _parameters = {"trials": 0, "a": 0, "b": 0}
    _shown = ("trials", "a", "b")
    _has_atoms = True

    trials: Array
    a: Array
    b: Array

    def __new__(cls, trials: Any, a: Any, b: Any) -> Self:
        return cls._from(trials=whole("trials", trials), a=positive("a", a), b=positive("b", b))

    @cached_property
    def _total(self) -> Array:
        return self.a + self.b

    @cached_property
    def mean(self) -> Array:
        """Mean na/(a + b)."""
        return self.trials * (self.a / self._total)

    @cached_property
    def _mean_failures(self) -> Array:
        return self.trials * (self.b / self._total)

    @cached_property
    def variance(self) -> Array:
        """Variance nab(a + b + n)/((a + b)²(a + b + 1))."""
        widening = (self._total + self.trials) / (self._total + 1.0)
        return self.mean * (self.b / self._total) * widening

    @cached_property
    def mode(self) -> Array:
        """Whole number at or below (n + 1)(a − 1)/(a + b − 2); an end where a or b is below 1."""
        a, b, n = self.a, self.b, self.trials
        peaked = (a > 1) & (b > 1)
        share = (a - 1.0) / np.where(peaked, a + b - 2.0, 1.0)
        inner = np.minimum(np.floor((n + 1.0) * np.where(peaked, share, 0.0)), n)
        return np.where(peaked, inner, np.where(a > b, n, 0.0))[()]

    # -- density ---------------------------------------------------------------------------

    def _outside(self, x: Array) -> Any:
        return off_whole_numbers(x) | (x > self.trials)

    def _log_density(self, x: Array) -> Array:
        # successes and failures are two negative binomial counts, given that they sum to n
        ones = negative_binomial_log_mass(x, self.a, self.mean)
        zeros = negative_binomial_log_mass(self.trials - x, self.b, self._mean_failures)
        return ones + zeros - self._log_mass_of_total

    @cached_property
    def _log_mass_of_total(self) -> Array:
        return negative_binomial_log_mass(self.trials, self._total, self.trials)

    # -- univariate ------------------------------------------------------------------------

    @cached_property
    def _cumulative(self) -> Array:
        """P(X <= k) for k = −1, 0, …, max n: (batch size, max n + 2)."""
        n, a, b = (np.reshape(p, (-1, 1)) for p in (self.trials, self.a, self.b))
        k = np.arange(n.max(initial=0.0) + 1.0)
        log_mass = BetaBinomial._from(trials=n, a=a, b=b).log_prob(k)
        levels = np.minimum(np.cumsum(np.exp(log_mass), axis=-1), 1.0)
        levels = np.where(k >= n, 1.0, levels)
        return np.concatenate([np.zeros((len(levels), 1)), levels], axis=-1)

    def _cdf(self, x: Array) -> Array:
        if np.max(self.trials, initial=0.0) > _MOST_SUMMED:
            return self._cdf_by_order(np.floor(x))
        # cost O(n), once for each distribution
        table = self._cumulative
        shape = np.broadcast_shapes(np.shape(x), self.batch_shape)
        member = np.broadcast_to(np.arange(len(table)).reshape(self.batch_shape), shape)
        place = np.floor(np.clip(x, -1.0, table.shape[1] - 2.0)) + 1.0
        return table[member, np.broadcast_to(place, shape).astype(np.intp)]

    def _cdf_by_order(self, k: Array) -> Array:
        """P(X <= k): the probability is below the (k + 1)-th smallest of n uniform numbers."""
        inside = np.clip(k, 0.0, np.maximum(self.trials - 1.0, 0.0))
        above = np.maximum(self.trials - inside, 1.0)
        found = _probability_below(self.a, self.b, inside + 1.0, above)
        return np.where(k < 0.0, 0.0, np.where(k >= self.trials, 1.0, found))[()]

    def _quantile(self, q: Array) -> Array:
        everywhere = self.trials**2  # as a variance: the search covers the whole support
        return count_quantile(self._cdf, q, self.mean, everywhere, self.trials)

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        p = rng.beta(self.a, self.b, shape or None)
        return rng.binomial(drawn_trials(self.trials), p) * 1.0

    def _interior(self) -> Array:
        return self.mode


def _probability_below(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return P(X < Y) of X ~ Beta(a, b) and Y ~ Beta(c, d).

    The distribution function of the one with the wider logit is averaged over that of the other.
    """
    a, b, c, d = np.broadcast_arrays(a, b, c, d)
    x_is_narrow = 1.0 / a + 1.0 / b < 1.0 / c + 1.0 / d
    narrow = np.where(x_is_narrow, a, c), np.where(x_is_narrow, b, d)
    wide = np.where(x_is_narrow, c, a)[..., None], np.where(x_is_narrow, d, b)[..., None]
    below = _average_over_logit(lambda p: betainc(*wide, p), *narrow)
    return np.where(x_is_narrow, 1.0 - below, below)


def _average_over_logit(f: Callable[[Array], Array], a: Array, b: Array) -> Array:
    """Return E f(p) of p ~ Beta(a, b): t = logit p − ln a/b has a density ∝ exp(at)/(1 + p₀(eᵗ − 1))ᵃ⁺ᵇ."""
    spread = np.sqrt(1.0 / a + 1.0 / b)
    middle, share = np.log(a / b)[..., None], (a / (a + b))[..., None]
    total, mass = np.zeros(a.shape), np.zeros(a.shape)
    for sign, rate in ((-1.0, a), (1.0, b)):
        end = sign * np.maximum(12.0 * spread, 50.0 / rate)  # beyond e⁻⁵⁰ of the mode
        for low, high in ((0.0, 0.25 * end), (0.25 * end, end)):
            t, weights = legendre_rule(np.broadcast_to(low, end.shape), high)
            log_density = a[..., None] * t - (a + b)[..., None] * np.log1p(share * np.expm1(t))
            weights = sign * weights * np.exp(log_density)
            total += (weights * f(expit(middle + t))).sum(axis=-1)
            mass += weights.sum(axis=-1)
    return total / mass
