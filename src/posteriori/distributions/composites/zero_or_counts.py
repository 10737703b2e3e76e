r"""Counts with zeros of their own: 0, or a count of another distribution, with 0 or from 1 on.

.. math:: p(y) = (1 - \pi)\,[y = 0] + \pi\,q(y - s),\qquad s\in\{0, 1\}

With s = 1 no count of the other distribution is 0 (a hurdle), with s = 0 it can be (zero inflation).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.batches import take_members
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = ["ZeroOrCounts"]


class ZeroOrCounts(Univariate):
    """Distribution of counts that are 0, or as many as another distribution has, or one more.

    Parameters
    ----------
    probability : (...)
        π, that the count is of the other distribution.
    counts : univariate distribution of batch shape (...)
        q, the other distribution.
    shift : {0, 1}
        s, what is added to its counts.

    Examples
    --------
    >>> from posteriori import Poisson
    >>> d = ZeroOrCounts(0.5, Poisson(3.0), 1)
    >>> d.mean, d.variance
    (np.float64(2.0), np.float64(5.5))
    >>> d.cdf(0.0), ZeroOrCounts(0.5, Poisson(3.0), 0).cdf(0.0).round(3)
    (np.float64(0.5), np.float64(0.525))
    """

    _parameters = {"probability": 0}
    _shown = ("probability", "counts", "shift")
    _has_atoms = True

    probability: Array
    counts: Any
    shift: int

    def __new__(cls, probability: Any, counts: Any, shift: int) -> Self:
        p = real("probability", probability)
        if np.any((p < 0) | (p > 1)):
            raise ValueError(f"probability must lie between 0 and 1, got {probability!r}")
        if not isinstance(counts, Univariate) or p.shape != counts.batch_shape:
            raise ValueError(
                f"counts must be a distribution of numbers for each of the probabilities {p.shape}, "
                f"got {counts!r}"
            )
        self = object.__new__(cls)
        self.__dict__.update(probability=p, counts=counts, shift=int(shift))
        return self

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch."""
        return self.counts.batch_shape

    @cached_property
    def mean(self) -> Array:
        """π (s + m), with the mean m of the counts."""
        return self.probability * (self.shift + self.counts.mean)

    @cached_property
    def variance(self) -> Array:
        """π v + π (1 − π) (s + m)², with the moments of the counts."""
        p = self.probability
        return p * self.counts.variance + p * (1.0 - p) * (self.shift + self.counts.mean) ** 2

    def _log_density(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            counted = np.log(self.probability) + self.counts.log_prob(x - self.shift)
            empty = np.where(x == 0, np.log1p(-self.probability), -np.inf)
        return np.logaddexp(empty, counted)[()]

    def _cdf(self, x: Array) -> Array:
        p = self.probability
        below = 1.0 - p + p * self.counts.cdf(np.maximum(x, 0.0) - self.shift)
        return np.where(x < 0, 0.0, below)[()]

    def _quantile(self, q: Array) -> Array:
        empty = 1.0 - self.probability
        zero = q <= empty
        rest = np.where(zero, 0.5, (q - empty) / np.where(zero, 1.0, self.probability))
        counted = self.shift + self.counts.quantile(np.minimum(rest, 1.0))
        return np.where(zero, 0.0, counted)[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        lead = shape[: len(shape) - len(self.batch_shape)]
        counted = self.shift + np.asarray(self.counts.sample(lead, rng=rng))
        return np.where(rng.random(shape) < self.probability, counted, 0.0)[()]

    def _take_members(self, index: Any) -> ZeroOrCounts:
        return ZeroOrCounts(self.probability[index], take_members(self.counts, index), self.shift)

    def __reduce__(self) -> tuple[Any, ...]:
        return ZeroOrCounts, (self.probability, self.counts, self.shift)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ZeroOrCounts):
            return NotImplemented
        same = np.array_equal(self.probability, other.probability) and self.shift == other.shift
        return same and self.counts == other.counts

    def __hash__(self) -> int:
        return hash((self.probability.tobytes(), self.counts, self.shift))
