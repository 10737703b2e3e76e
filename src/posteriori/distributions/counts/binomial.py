r"""The binomial distribution, :math:`p(x) = \binom nx p^x(1-p)^{n-x}` for x in {0, …, n}.

Natural parameter :math:`\eta = \ln\frac p{1-p}` with statistic x, :math:`A = n\ln(1+e^\eta)` and
carrier :math:`\binom nx`; the number of trials n is known. Probabilities 0 and 1 are legal.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate, any_of
from posteriori.distributions.counts.poisson_terms import (
    binomial_log_mass,
    count_quantile,
    expect_over_counts,
    off_whole_numbers,
)
from posteriori.distributions.counts.trials import KnownTrials, drawn_trials, require_trials, shown
from posteriori.distributions.statistics import Sums
from posteriori.numerics.lazy import special
from posteriori.numerics.special import poisson_kernel, relative_entropy_terms
from posteriori.numerics.types import Array, Natural, number
from posteriori.numerics.validation import probability as check_probability, whole

__all__ = ["Binomial"]


class Binomial(KnownTrials, Univariate):
    """Binomial distribution: successes in a known number of independent trials.

    Parameters
    ----------
    trials : int or array
        Number of trials n = 0, 1, 2, …
    probability : float or array
        Probability of success in one trial, in [0, 1].

    Examples
    --------
    >>> Binomial(10, 0.3).mean, Binomial(10, 0.3).mode
    (np.float64(3.0), np.float64(3.0))
    >>> Binomial.fit([2, 4, 3], trials=10)
    Binomial(10, 0.3)
    """

    _parameters = {"trials": 0, "probability": 0}
    _shown = ("trials", "probability")
    _has_atoms = True
    _natural_ndims = (0,)

    probability: Array

    def __new__(cls, trials: Any, probability: Any) -> Self:
        return cls._from(
            trials=whole("trials", trials),
            probability=check_probability("probability", probability),
        )

    @cached_property
    def mean(self) -> Array:
        """Mean np."""
        return self.trials * self.probability

    @cached_property
    def variance(self) -> Array:
        """Variance np(1 − p)."""
        return self.mean * (1.0 - self.probability)

    @cached_property
    def mode(self) -> Array:
        """The whole number at or below (n + 1)p."""
        return np.minimum(np.floor((self.trials + 1.0) * self.probability), self.trials)

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """(ln p/(1−p),)."""
        return (special.logit(self.probability),)

    @classmethod
    def _make(cls, natural: Array, trials: Array) -> Self:
        return cls._from(trials=trials, probability=special.expit(natural))

    @classmethod
    def _make_from_mean(cls, mean: Array, trials: Array | None) -> Self:
        n = require_trials(cls.__name__, "from_mean_params", trials)
        if np.any((mean < 0) | (mean > n)):
            raise ValueError(
                f"the mean must lie between 0 and trials, got {shown(mean)} of {shown(n)}"
            )
        if not np.all(n > 0):
            raise ValueError("trials must be positive: no trials say nothing of the probability")
        return cls(n, mean / n)

    def _log_normalizer(self) -> Array:
        return self.trials * np.logaddexp(0.0, self.natural[0])

    def _log_carrier(self, x: Array) -> Array:
        return _log_choose(self.trials, x)

    def _expected_log_carrier(self) -> Array:
        n, p = self.trials, self.probability
        return n * (special.xlog1py(p - 1.0, -p) - special.xlogy(p, p)) - self._entropy()

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return off_whole_numbers(x)

    def _outside(self, x: Array) -> Any:
        return off_whole_numbers(x) | (x > self.trials)

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        # n trials of two outcomes are two Poisson counts, given that they sum to n
        ones = poisson_kernel(x, self.mean)
        return ones + poisson_kernel(self.trials - x, self._mean_zeros) - self._log_mass_of_total

    @cached_property
    def _mean_zeros(self) -> Array:
        return self.trials * (1.0 - self.probability)

    @cached_property
    def _log_mass_of_total(self) -> Array:
        return poisson_kernel(self.trials, self.trials)

    def _entropy(self) -> Array:
        parameters = self.trials, self.probability
        moments = self.mean, self.variance
        return 0.0 - expect_over_counts(_log_mass, binomial_log_mass, *moments, *parameters)

    def _kl_at_equal_trials(self, other: Self) -> Array:
        p, q = self.probability, other.probability
        one_trial = relative_entropy_terms(p, q) + relative_entropy_terms(1.0 - p, 1.0 - q)
        return np.where(self.trials > 0, self.trials * one_trial, 0.0)[()]

    def _fisher_information(self) -> Array:
        return self.variance[..., None, None]

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def statistics(
        cls, x: Array, weights: Array | None = None, *, trials: Array | None = None
    ) -> Sums:
        """Summarise by number and sum of the counts, with Σ ln C(n, x)."""
        logs = _log_choose(require_trials(cls.__name__, "statistics", trials), x)
        if weights is None:
            return Sums(number(len(x)), (x.sum(axis=0),), logs.sum(axis=0))
        total, carrier = (np.tensordot(weights, part, axes=(0, 0)) for part in (x, logs))
        return Sums(weights.sum(), (total,), carrier)

    @classmethod
    def fit(cls, data: Any, weights: Any = None, *, trials: Any = None) -> Self:
        """Fit the probability by maximum likelihood: the share of successes.

        Parameters
        ----------
        data : array_like (N, ...), or iterator of chunks
            Successes in ``trials`` trials each; further axes make a batch.
        weights : array_like (N,), optional
            Frequency weights: a weight of 2 equals a repeated row.
        trials : int or array (...)
            Number of trials behind every row.
        """
        known = require_trials(cls.__name__, "fit", trials)
        total: Any = None
        for block, weight in cls._blocks(data, weights):
            if any_of(block > known):
                most = float(np.max(np.where(block > known, block, 0.0)))
                raise ValueError(
                    f"data must lie in the support of {cls.__name__}, got {most:g} successes in "
                    f"{shown(known)} trials"
                )
            part = cls.statistics(block, weight, trials=known)
            total = part if total is None else total.merge(part)
        made: Self = cls.from_statistics(total, trials=known)
        return made

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        whole_part = np.floor(np.clip(x, 0.0, self.trials))
        last = whole_part >= self.trials
        failures = np.where(last, 1.0, self.trials - whole_part)
        below = special.betaincc(whole_part + 1.0, failures, self.probability)
        return np.where(x < 0, 0.0, np.where(last, 1.0, below))[()]

    def _quantile(self, q: Array) -> Array:
        return count_quantile(self._cdf, q, self.mean, self.variance, self.trials)

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.binomial(drawn_trials(self.trials), self.probability, shape or None) * 1.0

    def _interior(self) -> Array:
        return self.mode


def _log_choose(n: Array, x: Array) -> Array:
    return -special.betaln(n - x + 1.0, x + 1.0) - np.log1p(n)


def _log_mass(x: Array, trials: Array, probability: Array) -> Array:
    """Return the log mass, −inf off {0, …, n}."""
    inside = (x >= 0) & (x <= trials)
    return np.where(
        inside, binomial_log_mass(np.clip(x, 0.0, trials), trials, probability), -np.inf
    )
