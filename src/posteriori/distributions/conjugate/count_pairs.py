"""Conjugate pairs of counts and waiting times: each states what data add to the prior."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.conjugate.count_statistics import (
    LARGE_COUNT,
    Categories,
    Events,
    Outcomes,
)
from posteriori.distributions.conjugate.pair import NaturalPair, register
from posteriori.distributions.conjugate.predictive import Predictive
from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.beta_binomial import BetaBinomial
from posteriori.distributions.counts.binomial import Binomial
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.counts.dirichlet_multinomial import DirichletMultinomial
from posteriori.distributions.counts.multinomial import Multinomial
from posteriori.distributions.counts.negative_binomial import NegativeBinomial
from posteriori.distributions.counts.poisson import Poisson
from posteriori.distributions.labels import encode_labels
from posteriori.distributions.numbers.beta import Beta
from posteriori.distributions.numbers.exponential_distribution import Exponential
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.statistics import Sums
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array, number
from posteriori.numerics.validation import as_observation

__all__ = [
    "BetaBernoulli",
    "BetaBinomialPair",
    "DirichletCategorical",
    "DirichletMultinomialPair",
    "GammaExponential",
    "GammaPoisson",
]


@register
class BetaBernoulli(NaturalPair):
    """Ones and zeros add to the two pseudo-counts."""

    prior_family, likelihood_family, unknown = Beta, Bernoulli, ("probability",)

    def summarize(self, block: Array, start: int = 0) -> Sums:
        """Return (ones, zeros)."""
        ones = block.sum(axis=0)
        return Sums(_count(block), (ones, len(block) - ones), _ZERO)

    def predictive(self, belief: Beta) -> Distribution:
        """Return Bernoulli(a/(a + b)): Laplace's rule of succession."""
        return Bernoulli(belief.mean)

    def strengths(self, statistics: Sums) -> tuple[Array, Array, Array]:
        """Weigh pseudo-counts against the count."""
        return self.prior.a + self.prior.b, statistics.count, statistics.averages[0]


@register
class BetaBinomialPair(NaturalPair):
    """Successes and failures add to the two pseudo-counts."""

    prior_family, likelihood_family, unknown = Beta, Binomial, ("probability",)
    needs = ("trials",)

    def summarize(self, block: Array, start: int = 0) -> Sums | Outcomes:
        """Return (successes, failures) and Σ ln C(n, x), or what stands for it of large counts."""
        trials = self.rows(self.known["trials"], start, block)
        if np.max(trials, initial=0.0) > LARGE_COUNT:
            return Outcomes.of(block, trials)
        sums = block.sum(axis=0), (trials - block).sum(axis=0)
        return Sums(_count(block), sums, _log_choose(trials, block).sum(axis=0))

    def off_support(self, x: Array) -> Any:
        """Mark what is no whole number; :meth:`check` compares with the trials as well."""
        return (x < 0) | (x != np.floor(x))

    def check(self, block: Array, start: int) -> None:
        """Refuse counts above the number of trials."""
        super().check(block, start)
        above = block > self.rows(self.known["trials"], start, block)
        if np.any(above):
            row = int(np.argwhere(above)[0][0])
            raise ValueError(f"data must not exceed trials: row {start + row} does")

    def predictive(self, belief: Beta) -> Distribution:
        """Return the beta-binomial."""
        return BetaBinomial(self.known["trials"], belief.a, belief.b)

    def predictive_moments(self, belief: Beta) -> tuple[Array, Array]:
        """E[np] and E[np(1−p)] + Var[np]."""
        n = self.known["trials"]
        spread = n * (belief.mean * (1 - belief.mean) - belief.variance)
        return n * belief.mean, spread + n * n * belief.variance

    def strengths(self, statistics: Sums) -> tuple[Array, Array, Array]:
        """Weigh pseudo-counts against the total number of trials."""
        ones, zeros = statistics.sums
        return self.prior.a + self.prior.b, ones + zeros, ones / (ones + zeros)


@register
class DirichletCategorical(NaturalPair):
    """Counts of the categories add to the pseudo-counts."""

    prior_family, likelihood_family, unknown = Dirichlet, Categorical, ("probabilities",)

    def summarize(self, block: Array, start: int = 0) -> Sums:
        """Return the counts (..., K)."""
        size = self.prior.event_shape[0]
        flat = block.reshape(len(block), -1).astype(np.int64)
        columns = flat.shape[1]
        codes = flat + size * np.arange(columns)
        counts = np.bincount(codes.ravel(), minlength=size * columns).astype(np.float64)
        return Sums(_count(block), (counts.reshape(*block.shape[1:], size),), _ZERO)

    def encode(self, data: Any) -> Any:
        """Turn labels into codes where the likelihood names them."""
        labels = self.known.get("labels")
        if labels is None:
            if not hasattr(data, "__next__") and np.asarray(data).dtype.kind in "US":
                raise TypeError(
                    "data are labels: name them in the likelihood, "
                    "lambda p: Categorical(p, labels=[...])"
                )
            return data
        if hasattr(data, "__next__"):
            return (encode_labels(chunk, labels) for chunk in data)
        return encode_labels(data, labels)

    def off_support(self, x: Array) -> Any:
        """Mark what is no code 0, …, K − 1."""
        return (x < 0) | (x >= self.prior.event_shape[0]) | (x != np.floor(x))

    def predictive(self, belief: Dirichlet) -> Distribution:
        """Return Categorical(α/Σα): the generalised rule of succession."""
        return Categorical(belief.mean, labels=self.known.get("labels"))

    def strengths(self, statistics: Sums) -> tuple[Array, Array, Array]:
        """Weigh pseudo-counts against the count."""
        return self.prior.concentration.sum(axis=-1), statistics.count, statistics.averages[0]


@register
class DirichletMultinomialPair(NaturalPair):
    """Counts of the categories add to the pseudo-counts."""

    prior_family, likelihood_family, unknown = Dirichlet, Multinomial, ("probabilities",)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """(K,)."""
        shape: tuple[int, ...] = self.prior.event_shape
        return shape

    def summarize(self, block: Array, start: int = 0) -> Sums | Categories:
        """Return the counts (..., K) and Σ ln N!/∏m!, or what stands for it of large counts."""
        trials = block.sum(axis=-1)
        if np.max(trials, initial=0.0) > LARGE_COUNT:
            return Categories.of(block)
        carrier = special.gammaln(trials + 1.0) - special.gammaln(block + 1.0).sum(axis=-1)
        return Sums(_count(block), (block.sum(axis=0),), carrier.sum(axis=0))

    def off_support(self, x: Array) -> Any:
        """Mark rows that are no counts, or do not sum to the number of trials."""
        wrong = np.any((x < 0) | (x != np.floor(x)), axis=-1)
        trials = self.known.get("trials")
        return wrong if trials is None else wrong | (x.sum(axis=-1) != trials)

    def predictive(self, belief: Dirichlet) -> Distribution:
        """Return the Dirichlet-multinomial."""
        if "trials" not in self.known:
            raise ValueError(
                "the number of trials of the next draw is not known; write the likelihood as "
                "lambda p: Multinomial(trials, p)"
            )
        return DirichletMultinomial(self.known["trials"], belief.concentration)

    def predictive_moments(self, belief: Dirichlet) -> tuple[Array, Array]:
        """E[np] and E[np(1−p)] + Var[np], per category."""
        n = np.asarray(self.known["trials"])[..., None]
        spread = n * (belief.mean * (1 - belief.mean) - belief.variance)
        return n * belief.mean, spread + n * n * belief.variance

    def strengths(self, statistics: Sums) -> tuple[Array, Array, Array]:
        """Weigh pseudo-counts against the total of all counts."""
        counts = statistics.sums[0]
        total = counts.sum(axis=-1)
        return self.prior.concentration.sum(axis=-1), total, counts / total[..., None]


@register
class GammaPoisson(NaturalPair):
    """Counts add to the shape, exposure adds to the rate."""

    prior_family, likelihood_family, unknown = Gamma, Poisson, ("rate",)

    def check_maps(self) -> None:
        """Allow ``exposure * rate``."""
        _require_proportional(self.conditional.unknown["rate"], "rate")

    def summarize(self, block: Array, start: int = 0) -> Sums | Events:
        """Return (Σx, −Σe) and Σ x ln e − ln x!, or what stands for it of large counts."""
        exposure = self._exposure(start, block)
        if np.max(block, initial=0.0) > LARGE_COUNT:
            return Events.of(block, exposure)
        total = np.broadcast_to(exposure, block.shape).sum(axis=0)
        carrier = special.xlogy(block, exposure) - special.gammaln(block + 1.0)
        return Sums(_count(block), (block.sum(axis=0), -total), carrier.sum(axis=0))

    def _exposure(self, start: int, block: Array) -> Array:
        factor = self.conditional.unknown["rate"].factor
        return _ONE if factor is None else self.rows(factor, start, block)

    def predictive(self, belief: Gamma) -> Distribution:
        """Return the negative binomial of count a and mean ea/b."""
        factor = self.conditional.unknown["rate"].factor
        return NegativeBinomial(
            belief.shape, mean=(_ONE if factor is None else factor) * belief.mean
        )

    def predictive_moments(self, belief: Gamma) -> tuple[Array, Array]:
        """E[eλ] and E[eλ] + Var[eλ]."""
        factor = self.conditional.unknown["rate"].factor
        e = _ONE if factor is None else factor
        return e * belief.mean, e * belief.mean + e * e * belief.variance

    def strengths(self, statistics: Sums) -> tuple[Array, Array, Array]:
        """Weigh the prior's rate against the exposure."""
        events, exposure = statistics.sums[0], -statistics.sums[1]
        return self.prior.rate, exposure, events / exposure


@register
class GammaExponential(NaturalPair):
    """Each waiting time adds 1 to the shape and itself to the rate."""

    prior_family, likelihood_family, unknown = Gamma, Exponential, ("rate",)

    def check_maps(self) -> None:
        """Allow a known factor times the rate."""
        _require_proportional(self.conditional.unknown["rate"], "rate")

    def summarize(self, block: Array, start: int = 0) -> Sums:
        """Return (N, −Σex) and Σ ln e."""
        factor = self.conditional.unknown["rate"].factor
        e = _ONE if factor is None else self.rows(factor, start, block)
        weighted = np.broadcast_to(e * block, block.shape)
        carrier = np.broadcast_to(np.log(e), block.shape).sum(axis=0)
        number = np.full(block.shape[1:], float(len(block)))[()]
        return Sums(_count(block), (number, -weighted.sum(axis=0)), carrier)

    def predictive(self, belief: Gamma) -> Distribution:
        """Return the Lomax distribution of the next waiting time."""
        return Predictive(belief, self)

    def predictive_moments(self, belief: Gamma) -> tuple[Array, Array]:
        """E[1/(eλ)] and E[2/(eλ)²] − E[1/(eλ)]²; infinite where the shape is too small."""
        factor = self.conditional.unknown["rate"].factor
        e = _ONE if factor is None else factor
        a, b = belief.shape, belief.rate / e
        first = np.where(a > 1, b / np.where(a > 1, a - 1, 1.0), np.inf)
        second = b * b * a / np.where(a > 2, (a - 1) ** 2 * (a - 2), 1.0)
        return first[()], np.where(a > 2, second, np.inf)[()]

    def prediction(self, belief: Gamma) -> Array:
        """Return the expected waiting time at unit factor, b/(a − 1)."""
        if np.any(belief.shape <= 1):
            raise ValueError("the expected waiting time needs a Gamma prior with shape > 1")
        return belief.rate / (belief.shape - 1.0)

    def strengths(self, statistics: Sums) -> tuple[Array, Array, Array]:
        """Weigh shape − 1 against the count."""
        number, total = statistics.sums[0], -statistics.sums[1]
        return self.prior.shape - 1.0, number, total / number


#: The log carrier of statistics that have none.
_ZERO = number(0.0)

#: The exposure of rows that state none.
_ONE = number(1.0)


def _count(block: Array) -> Array:
    return number(len(block))


def _log_choose(n: Array, x: Array) -> Array:
    return cast(
        Array,
        special.gammaln(n + 1.0) - special.gammaln(x + 1.0) - special.gammaln(n - x + 1.0),
    )


def _require_proportional(unknown: Any, name: str) -> None:
    if unknown.matrix is not None or unknown.offset is not None:
        raise TypeError(f"{name} must be the unknown or a known factor times it")
    if unknown.factor is not None and not np.all(as_observation(unknown.factor) > 0):
        raise ValueError(f"the known factor of {name} must be positive")
