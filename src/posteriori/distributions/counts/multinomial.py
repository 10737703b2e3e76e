r"""The multinomial distribution,
:math:`p(x) = \frac{N!}{\prod_k x_k!}\prod_k \mu_k^{x_k}` for counts x that sum to N.

Natural parameters are log weights :math:`\eta_k = \ln\mu_k + \text{const}` with statistic x,
:math:`A = N\ln\sum_k e^{\eta_k}` and the multinomial coefficient as carrier; the number of trials
N is known. Probabilities of 0 are legal.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import any_of
from posteriori.distributions.counts.categorical import check_log_weights, one_hot_cov
from posteriori.distributions.counts.poisson_terms import (
    binomial_log_mass,
    expect_over_counts,
)
from posteriori.distributions.counts.trials import KnownTrials, drawn_trials, shown
from posteriori.distributions.statistics import Sums
from posteriori.numerics.lazy import special
from posteriori.numerics.logspace import log_sum_exp, softmax
from posteriori.numerics.special import poisson_kernel, relative_entropy_terms
from posteriori.numerics.types import Array, Natural, number
from posteriori.numerics.validation import probability_vector, whole

__all__ = ["Multinomial"]


class Multinomial(KnownTrials):
    """Multinomial distribution: counts of K categories in a known number of trials.

    Parameters
    ----------
    trials : int or array
        Number of trials N = 0, 1, 2, …
    probabilities : array (..., K)
        Probabilities of the categories in one trial, with sum 1.

    Examples
    --------
    >>> Multinomial(4, [0.2, 0.3, 0.5]).log_prob([1, 1, 2]).round(6)
    np.float64(-1.714798)
    >>> Multinomial.fit([[1, 3], [2, 2]])
    Multinomial(4, [0.375, 0.625])
    """

    _parameters = {"trials": 0, "probabilities": 1, "log_weights": 1}
    _shown = ("trials", "probabilities")
    _has_atoms = True
    _natural_ndims = (1,)
    _event_ndim = 1

    def __new__(cls, trials: Any, probabilities: Any) -> Self:
        return cls._from(
            trials=whole("trials", trials),
            probabilities=probability_vector("probabilities", probabilities),
        )

    @property
    def event_shape(self) -> tuple[int, ...]:
        """(K,)."""
        given = self.__dict__.get("probabilities", self.__dict__.get("log_weights"))
        assert given is not None
        shape: tuple[int, ...] = given.shape[-1:]
        return shape

    @cached_property
    def probabilities(self) -> Array:
        """Probabilities μ of the categories."""
        return softmax(self.log_weights)

    @cached_property
    def log_weights(self) -> Array:
        """Log probabilities up to a constant, −inf for impossible categories."""
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities)

    @cached_property
    def mean(self) -> Array:
        """Mean Nμ."""
        return self.trials[..., None] * self.probabilities

    @cached_property
    def cov(self) -> Array:
        """Covariance N (diag(μ) − μμᵀ)."""
        return self.trials[..., None, None] * one_hot_cov(self.probabilities)

    @cached_property
    def variance(self) -> Array:
        """Marginal variances Nμ(1 − μ)."""
        return self.mean * (1.0 - self.probabilities)

    @property
    def std(self) -> Array:
        """Marginal standard deviations."""
        return np.sqrt(self.variance)

    @cached_property
    def mode(self) -> Array:
        """Most probable counts: ⌊Nμ⌋, the rest dealt one by one to the largest μ/(x + 1)."""
        x = np.floor(self.mean)
        size = self.event_shape[0]
        for _ in range(size):
            missing = self.trials - x.sum(axis=-1)
            best = np.argmax(self.probabilities / (x + 1.0), axis=-1)
            x += (best[..., None] == np.arange(size)) * (missing > 0)[..., None]
        return x

    # -- exponential family ----------------------------------------------------------------

    @property
    def natural(self) -> Natural:
        """(ln μ,), or the log weights as they were given."""
        return (self.log_weights,)

    @classmethod
    def _make(cls, natural: Array, trials: Array) -> Self:
        return cls._from(trials=trials, log_weights=check_log_weights(natural))

    @classmethod
    def _make_from_mean(cls, mean: Array, trials: Array | None) -> Self:
        total = mean.sum(axis=-1)
        n = np.rint(total) if trials is None else trials
        if np.any(np.abs(total - n) > 1e-6 * np.maximum(n, 1.0)) or not np.all(n > 0):
            raise ValueError(
                "expected counts must sum to a positive number of trials, "
                f"got a sum of {shown(total)}"
            )
        return cls(n, mean / total[..., None])

    def _log_normalizer(self) -> Array:
        return self.trials * log_sum_exp(self.log_weights, axis=-1)

    def _log_carrier(self, x: Array) -> Array:
        return _log_coefficient(x)

    def _expected_log_carrier(self) -> Array:
        plain = self.trials * special.entr(self.probabilities).sum(axis=-1)
        return plain - self._entropy()

    def _natural_log_density(self, x: Array) -> Array:
        terms = np.where(x > 0, x * self.log_weights, 0.0)
        return terms.sum(axis=-1) + self._log_carrier(x) - self.log_normalizer()

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return np.any((x < 0) | (np.floor(x) != x), axis=-1)

    def _outside(self, x: Array) -> Any:
        if x.ndim == 1 and not self.trials.ndim:  # a single point, quicker without arrays
            counts = x.tolist()
            whole_counts = all(count >= 0 and count.is_integer() for count in counts)
            return (not whole_counts or sum(counts) != self.trials) and not np.isnan(x).any()
        total = x.sum(axis=-1)
        off = self._off_support(x) | (total != self.trials)
        return off & ~np.any(x != x, axis=-1) if any_of(total != total) else off

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        # N trials are independent Poisson counts, given that they sum to N
        return poisson_kernel(x, self.mean).sum(axis=-1) - self._log_mass_of_total

    @cached_property
    def _log_mass_of_total(self) -> Array:
        return poisson_kernel(self.trials, self.trials)

    def _entropy(self) -> Array:
        # −E[ln p] of the Poisson form, one binomial marginal at a time
        n = np.broadcast_to(self.trials[..., None], self.probabilities.shape)
        surprise = expect_over_counts(
            _log_marginal, _log_poisson, self.mean, self.variance, n, self.probabilities
        )
        return self._log_mass_of_total - surprise.sum(axis=-1)

    def _kl_at_equal_trials(self, other: Self) -> Array:
        terms = relative_entropy_terms(self.probabilities, other.probabilities).sum(axis=-1)
        return np.where(self.trials > 0, self.trials * terms, 0.0)[()]

    def _fisher_information(self) -> Array:
        return self.cov

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def statistics(cls, x: Array, weights: Array | None = None) -> Sums:
        """Summarise by number of rows and sum of the counts, with Σ ln N!/∏x!."""
        logs = _log_coefficient(x)
        if weights is None:
            return Sums(number(len(x)), (x.sum(axis=0),), logs.sum(axis=0))
        total, carrier = (np.tensordot(weights, part, axes=(0, 0)) for part in (x, logs))
        return Sums(weights.sum(), (total,), carrier)

    @classmethod
    def fit(cls, data: Any, weights: Any = None, *, trials: Any = None) -> Self:
        """Fit the probabilities by maximum likelihood: the shares of the categories.

        Parameters
        ----------
        data : array_like (N, ..., K), or iterator of chunks
            Rows of counts; axes between the first and the last make a batch.
        weights : array_like (N,), optional
            Frequency weights: a weight of 2 equals a repeated row.
        trials : int or array (...), optional
            Number of trials behind every row; by default what the first row sums to.
        """
        known = None if trials is None else whole("trials", trials)
        total: Any = None
        for block, weight in cls._blocks(data, weights):
            sums = block.sum(axis=-1)
            known = sums[0] if known is None else known
            if any_of(sums != known):
                wrong = shown(np.broadcast_to(sums, sums.shape)[sums != known])
                raise ValueError(
                    f"data must lie in the support of {cls.__name__}: every row must sum to "
                    f"{shown(known)} trials, got {wrong}"
                )
            part = cls.statistics(block, weight)
            total = part if total is None else total.merge(part)
        made: Self = cls.from_statistics(total, trials=known)
        return made

    # -- draws -----------------------------------------------------------------------------

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.multinomial(drawn_trials(self.trials), self.probabilities, shape) * 1.0

    def _interior(self) -> Array:
        return self.mode


def _log_coefficient(x: Array) -> Array:
    logs: Array = special.gammaln(x + 1.0).sum(axis=-1)
    return special.gammaln(x.sum(axis=-1) + 1.0) - logs


def _log_marginal(x: Array, trials: Array, probability: Array) -> Array:
    """Return the log mass of one category's count, −inf off {0, …, N}."""
    inside = (x >= 0) & (x <= trials)
    return np.where(
        inside, binomial_log_mass(np.clip(x, 0.0, trials), trials, probability), -np.inf
    )


def _log_poisson(x: Array, trials: Array, probability: Array) -> Array:
    return poisson_kernel(x, trials * probability)
