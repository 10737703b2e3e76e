r"""The geometric distribution, :math:`p(x) = (1-\theta)^x\theta` for x in {0, 1, 2, …}.

The number of failures before the first success; with ``start=1`` the number of trials up to and
including it, x in {1, 2, …}. Natural parameter :math:`\eta = \ln(1-\theta)` with statistic x and
:math:`A = s\eta - \ln\theta`, s the first value.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate, any_of
from posteriori.distributions.counts.poisson_terms import off_whole_numbers
from posteriori.distributions.known import KnownParameter
from posteriori.numerics.lazy import special
from posteriori.numerics.special import relative_entropy_terms
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array, Natural, number
from posteriori.numerics.validation import probability as check_probability, whole

__all__ = ["Geometric", "success_probability"]


class Geometric(KnownParameter, Univariate):
    """Geometric distribution: failures before the first success.

    Parameters
    ----------
    probability : float or array
        Probability θ of success in one trial, in (0, 1].
    start : int or array
        First value of the support: 0 counts failures, 1 counts trials.

    Examples
    --------
    >>> np.exp(Geometric(0.5).log_prob([0, 1, 2]))
    array([0.5  , 0.25 , 0.125])
    >>> Geometric.fit([0, 2])
    Geometric(0.5, start=0)
    """

    _parameters = {"probability": 0, "start": 0}
    _shown = ("probability", "start=")
    _has_atoms = True
    _natural_ndims = (0,)
    _known = "start"

    probability: Array
    start: Array

    def __new__(cls, probability: Any, *, start: Any = 0) -> Self:
        return cls._from(
            probability=success_probability(probability), start=cls._check_known("", start)
        )

    @cached_property
    def mean(self) -> Array:
        """Mean s + (1 − θ)/θ."""
        self._require_proper("mean")
        return self.start + self._mean_failures

    @cached_property
    def _mean_failures(self) -> Array:
        return (1.0 - self.probability) / self.probability

    @cached_property
    def variance(self) -> Array:
        """Variance (1 − θ)/θ²."""
        self._require_proper("variance")
        return self._mean_failures / self.probability

    @property
    def mode(self) -> Array:
        """The first value, which is the most probable."""
        self._require_proper("mode")
        return self.start

    # -- exponential family ----------------------------------------------------------------

    @classmethod
    def _check_known(cls, method: str, given: Any) -> Array:
        if given is None:
            return number(0.0)
        start = whole("start", given)
        if not isinstance(start, Symbol) and np.any(start > 1):
            raise ValueError(f"start must be 0 or 1, got {start}")
        return start

    @cached_property
    def natural(self) -> Natural:
        """(ln(1 − θ),)."""
        with np.errstate(divide="ignore"):
            return (np.log1p(-self.probability),)

    @classmethod
    def _make(cls, natural: Array, known: Array) -> Self:
        with np.errstate(over="ignore"):
            return cls._from(probability=-np.expm1(natural), start=known)

    @property
    def is_proper(self) -> Any:
        """Whether the probability of success is positive."""
        return self.probability > 0

    @classmethod
    def _make_from_mean(cls, mean: Array, known: Array) -> Self:
        if np.any(mean < known):
            raise ValueError("the mean of the counts must not lie below start")
        return cls(1.0 / (1.0 + (mean - known)), start=known)

    def _log_normalizer(self) -> Array:
        start = special.xlog1py(self.start, -self.probability)
        return start - np.log(self.probability)

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return off_whole_numbers(x)

    def _outside(self, x: Array) -> Any:
        return off_whole_numbers(x - self.start)

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        if self._may_fail:
            return (x - self.start) * self.natural[0] + self._log_probability
        return special.xlog1py(x - self.start, -self.probability) + self._log_probability

    @cached_property
    def _may_fail(self) -> bool:
        return bool(np.all(self.probability < 1))

    @cached_property
    def _log_probability(self) -> Array:
        return np.log(self.probability)

    def _entropy(self) -> Array:
        return -self._log_probability - special.xlog1py(self._mean_failures, -self.probability)

    def _kl(self, other: Self) -> Array:
        self._require_equal_known(other, "KL divergence")
        p, q = self.probability, other.probability
        one_trial = relative_entropy_terms(p, q) + relative_entropy_terms(1.0 - p, 1.0 - q)
        return one_trial / p

    def _fisher_information(self) -> Array:
        return self.variance[..., None, None]

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def fit(cls, data: Any, weights: Any = None, *, start: Any = 0) -> Self:
        """Fit by maximum likelihood: θ = 1/(1 + mean − start).

        Parameters
        ----------
        data : array_like (N, ...), or iterator of chunks
            Rows are counts; further axes make a batch.
        weights : array_like (N,), optional
            Frequency weights: a weight of 2 equals a repeated row.
        start : int
            First value of the support, 0 or 1.
        """
        first = cls._check_known("fit", start)
        total: Any = None
        for block, weight in cls._blocks(data, weights):
            if any_of(block < first):
                raise ValueError(
                    f"data must lie in the support of {cls.__name__}, got {block.min():g} below "
                    "start"
                )
            part = cls.statistics(block, weight)
            total = part if total is None else total.merge(part)
        made: Self = cls.from_statistics(total, start=first)
        return made

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        trials = np.maximum(np.floor(x) - self.start + 1.0, 0.0)
        return -np.expm1(special.xlog1py(trials, -self.probability))

    def _quantile(self, q: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            trials = np.log1p(-q) / np.log1p(-self.probability)
        x = self.start + np.maximum(np.ceil(np.where(trials == trials, trials, 0.0)) - 1.0, 0.0)
        x = np.where((self._cdf(x - 1.0) >= q) & (x > self.start), x - 1.0, x)  # undo rounding
        return np.where(self._cdf(x) < q, x + 1.0, x)[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # the whole part of an exponential waiting time is geometric
        with np.errstate(divide="ignore"):
            rate = -np.log1p(-self.probability)
        return self.start + np.floor(rng.standard_exponential(shape or None) / rate)

    def _interior(self) -> Array:
        return self.start


def success_probability(value: Any) -> Array:
    """Check a probability of success that must not be 0."""
    p = check_probability("probability", value)
    if not isinstance(p, Symbol) and not np.all(p > 0):
        raise ValueError("probability must be positive: without success the count never ends")
    return p
