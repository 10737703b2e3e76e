r"""Statistics of large counts: the highest log likelihood in the place of a constant.

Counts :math:`x_k` with exposure :math:`e` (trials, or time) and rates :math:`\theta_k` have

.. math:: \ln p(D\mid\theta) = \hat L - \sum_k\Bigl(x_k\ln\frac{x_k}{e\theta_k} - x_k + e\theta_k\Bigr),
          \qquad \hat\theta_k = x_k/e,\quad \hat L = \ln p(D\mid\hat\theta).

The constant :math:`\sum\ln\binom nx` of the usual form is as large as the data, and the evidence what is
left when the rest is taken from it: of :math:`10^{12}` trials the first three digits. The peak
:math:`\hat L` is small, and so is the divergence that is taken from it; neither is a difference of large
numbers. Merging moves both peaks to the common rates.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from posteriori.distributions.statistics import Sums
from posteriori.numerics.lazy import special
from posteriori.numerics.special import poisson_kernel, relative_entropy_terms
from posteriori.numerics.types import Array, Natural, number

__all__ = ["LARGE_COUNT", "Categories", "CountStatistics", "Events", "Outcomes"]

#: Up to here the plain constant takes two digits at most: it is n ln 2, the rest some nats.
LARGE_COUNT = 200.0


@dataclass(frozen=True, slots=True)
class CountStatistics:
    """What counts add to a prior, and the highest log likelihood that rates can give them.

    Attributes
    ----------
    count : array
        Number of rows.
    sums : tuple of arrays
        Increments of the prior's natural parameters.
    log_peak : array
        L̂ of all rows.
    """

    count: Array
    sums: Natural
    log_peak: Array

    # -- what a kind of counts states ------------------------------------------------------

    @property
    @abstractmethod
    def counts(self) -> Array:
        """How often each outcome came, (..., K)."""

    @property
    @abstractmethod
    def exposure(self) -> Array:
        """How often it could have, (...)."""

    @staticmethod
    @abstractmethod
    def rates_of(theta: Any) -> Array:
        """Return the rates (..., K) that the parameter of the likelihood stands for."""

    # -- what follows ----------------------------------------------------------------------

    def log_likelihood(self, theta: Any) -> Array:
        """Return ln p(D | θ)."""
        return self._at(self.rates_of(theta))

    def merge(self, other: CountStatistics | Sums) -> Self:
        """Return the statistics of both sets of data; those of the other may be plain sums."""
        total = self._joined(other, 1.0)
        rates = total._peak_rates
        theirs = self._plain(other, rates) if isinstance(other, Sums) else other._at(rates)
        return replace(total, log_peak=self._at(rates) + theirs)

    def without(self, other: CountStatistics | Sums) -> Self:
        """Return the statistics without those of a part of the data."""
        rest, rates = self._joined(other, -1.0), self._peak_rates
        theirs = self._plain(other, rates) if isinstance(other, Sums) else other._at(rates)
        return replace(rest, log_peak=self.log_peak - theirs + rest._divergence(rates))

    def broadcast(self, count: Array, shapes: Sequence[tuple[int, ...]]) -> Self:
        """Return a batch of statistics, with one number of rows and the shape of a part for each."""
        size = np.shape(count)
        parts = zip(self.sums, shapes, strict=True)
        sums = tuple(np.broadcast_to(part, (*size, *shape)) for part, shape in parts)
        return replace(self, count=count, sums=sums, log_peak=np.broadcast_to(self.log_peak, size))

    def add_up(self, add: Callable[[Array], Array], index: Any) -> Self:
        """Return the statistics of places, whose rows ``add`` adds up: row r lies in ``index[r]``."""
        total = replace(self, count=add(self.count), sums=tuple(map(add, self.sums)))
        return replace(total, log_peak=add(self._at(total._peak_rates[index])))

    @property
    def averages(self) -> Natural:
        """Mean increments of a row."""
        return tuple(total / self.count for total in self.sums)

    @property
    def _peak_rates(self) -> Array:
        """θ̂, (..., K); 0 without exposure."""
        exposure = self.exposure[..., None]
        return self.counts / np.where(exposure > 0, exposure, 1.0)

    def _at(self, rates: Array) -> Array:
        return self.log_peak - self._divergence(rates)

    def _divergence(self, rates: Array) -> Array:
        return relative_entropy_terms(self.counts, self.exposure[..., None] * rates).sum(axis=-1)

    def _plain(self, other: Sums, rates: Array) -> Array:
        """Return ln p(D | θ) of plain sums: of outcomes Σ xₖ ln θₖ and a constant."""
        counts = replace(self, count=other.count, sums=other.sums).counts
        return special.xlogy(counts, rates).sum(axis=-1) + other.log_carrier

    def _joined(self, other: CountStatistics | Sums, sign: float) -> Self:
        sums = tuple(a + sign * b for a, b in zip(self.sums, other.sums, strict=True))
        return replace(self, count=self.count + sign * other.count, sums=sums)


class Outcomes(CountStatistics):
    """Successes and failures, which add to the pseudo-counts of a beta prior."""

    __slots__ = ()

    @classmethod
    def of(cls, successes: Array, trials: Array) -> Self:
        """Summarise rows of successes in trials."""
        sums = successes.sum(axis=0), (trials - successes).sum(axis=0)
        total = cls(number(len(successes)), sums, number(0.0))
        counts = np.stack([successes, trials - successes], axis=-1)
        rows = _log_mass(counts, trials, total._peak_rates)
        return replace(total, log_peak=rows.sum(axis=0))

    @property
    def counts(self) -> Array:
        """Successes and failures, (..., 2)."""
        return np.stack(self.sums, axis=-1)

    @property
    def exposure(self) -> Array:
        """Trials, (...)."""
        successes, failures = self.sums
        return np.asarray(successes + failures)

    @staticmethod
    def rates_of(theta: Any) -> Array:
        """Return (p, 1 − p)."""
        return np.stack([theta, 1.0 - theta], axis=-1)


class Categories(CountStatistics):
    """Counts of categories, which add to the pseudo-counts of a Dirichlet prior."""

    __slots__ = ()

    @classmethod
    def of(cls, counts: Array) -> Self:
        """Summarise rows of counts (N, ..., K)."""
        total = cls(number(len(counts)), (counts.sum(axis=0),), number(0.0))
        rows = _log_mass(counts, counts.sum(axis=-1), total._peak_rates)
        return replace(total, log_peak=rows.sum(axis=0))

    @property
    def counts(self) -> Array:
        """Of the categories, (..., K)."""
        return self.sums[0]

    @property
    def exposure(self) -> Array:
        """Trials, (...)."""
        return np.asarray(self.sums[0].sum(axis=-1))

    @staticmethod
    def rates_of(theta: Any) -> Array:
        """Return the probabilities."""
        return np.asarray(theta)


class Events(CountStatistics):
    """Events in a time, which add to the shape and, with a minus sign, the rate of a gamma prior."""

    __slots__ = ()

    @classmethod
    def of(cls, events: Array, exposure: Array) -> Self:
        """Summarise rows of events in their exposures."""
        time = np.broadcast_to(exposure, events.shape)
        total = cls(number(len(events)), (events.sum(axis=0), -time.sum(axis=0)), number(0.0))
        rows = poisson_kernel(events, exposure * total._peak_rates[..., 0])
        return replace(total, log_peak=rows.sum(axis=0))

    @property
    def counts(self) -> Array:
        """Events, (..., 1)."""
        return np.asarray(self.sums[0])[..., None]

    @property
    def exposure(self) -> Array:
        """Time, (...)."""
        return np.asarray(-self.sums[1])

    @staticmethod
    def rates_of(theta: Any) -> Array:
        """Return the one rate."""
        return np.asarray(theta)[..., None]

    def _plain(self, other: Sums, rates: Array) -> Array:
        """Return s ln λ − eλ and a constant."""
        return super()._plain(other, rates) + other.sums[1] * rates[..., 0]


def _log_mass(counts: Array, trials: Array, shares: Array) -> Array:
    """Return log masses of counts (N, ..., K) of outcomes: Poisson counts, given that they sum to n."""
    parts = poisson_kernel(counts, np.asarray(trials)[..., None] * shares).sum(axis=-1)
    return parts - poisson_kernel(trials, trials)
