"""Conjugate pairs of waiting for success: a beta prior of the probability of one trial."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.conjugate.pair import NaturalPair, register
from posteriori.distributions.conjugate.predictive import Predictive
from posteriori.distributions.counts.geometric import Geometric
from posteriori.distributions.counts.negative_binomial import NegativeBinomial
from posteriori.distributions.counts.poisson_terms import off_whole_numbers
from posteriori.distributions.numbers.beta import Beta
from posteriori.distributions.statistics import Sums
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array, number

__all__ = ["BetaGeometric", "BetaNegativeBinomial"]


class _Waiting(NaturalPair):
    """Successes and failures add to the two pseudo-counts."""

    prior_family, unknown = Beta, ("probability",)

    def predictive(self, belief: Beta) -> Distribution:
        """Return the beta-negative-binomial, which has no family of its own."""
        return Predictive(belief, self)

    def strengths(self, statistics: Sums) -> tuple[Array, Array, Array]:
        """Weigh pseudo-counts against the total number of trials."""
        successes, failures = statistics.sums
        total = successes + failures
        return self.prior.a + self.prior.b, total, successes / total


@register
class BetaGeometric(_Waiting):
    """Each count adds one success and its failures."""

    likelihood_family = Geometric

    @property
    def _start(self) -> Array:
        start: Array = self.known.get("start", number(0.0))
        return start

    def summarize(self, block: Array, start: int = 0) -> Sums:
        """Return (N, Σ(x − s)) with s the first value of the support."""
        failures = block - self.rows(self._start, start, block)
        ones = np.full(block.shape[1:], float(len(block)))[()]
        return Sums(number(len(block)), (ones, failures.sum(axis=0)), number(0.0))

    def off_support(self, x: Array) -> Any:
        """Mark what is no whole number, or lies below the first value."""
        return off_whole_numbers(x) | (x < self._start)

    def predictive_moments(self, belief: Beta) -> tuple[Array, Array]:
        """E[s + (1−θ)/θ] and the variance; infinite where a <= 1 and a <= 2."""
        mean, variance = _failure_moments(number(1.0), belief)
        return self._start + mean, variance


@register
class BetaNegativeBinomial(_Waiting):
    """Each datum adds the known count of successes and its failures."""

    likelihood_family, needs = NegativeBinomial, ("count",)

    def summarize(self, block: Array, start: int = 0) -> Sums:
        """Return (Σr, Σx) and Σ ln Γ(x+r)/(Γ(r) x!)."""
        r = self.rows(self.known["count"], start, block)
        ways = special.gammaln(block + r) - special.gammaln(r) - special.gammaln(block + 1.0)
        ones = np.broadcast_to(r, block.shape).sum(axis=0)
        return Sums(number(len(block)), (ones, block.sum(axis=0)), ways.sum(axis=0))

    def off_support(self, x: Array) -> Any:
        """Mark what is no whole number."""
        return off_whole_numbers(x)

    def predictive_moments(self, belief: Beta) -> tuple[Array, Array]:
        """E[r(1−θ)/θ] and the variance; infinite where a <= 1 and a <= 2."""
        return _failure_moments(self.known["count"], belief)


def _failure_moments(r: Array, belief: Beta) -> tuple[Array, Array]:
    # rb/(a−1) and r(a+r−1)b(a+b−1)/((a−1)²(a−2))
    a, b = belief.a, belief.b
    mean = r * b / np.where(a > 1, a - 1.0, 1.0)
    variance = r * (a + r - 1.0) * b * (a + b - 1.0)
    variance = variance / np.where(a > 2, (a - 1.0) ** 2 * (a - 2.0), 1.0)
    return np.where(a > 1, mean, np.inf)[()], np.where(a > 2, variance, np.inf)[()]
