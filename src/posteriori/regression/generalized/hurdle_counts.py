r"""Counts behind a hurdle: 0, or one more than another count.

.. math:: p(0) = 1 - \pi,\qquad p(y) = \pi\,q(y - 1)\quad (y = 1, 2, \dots)
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.batches import take_members
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = ["HurdleCounts"]


class HurdleCounts(Univariate):
    """Distribution of counts that are 0, or one more than a count of another distribution.

    Parameters
    ----------
    probability : (...)
        π, that the count is not 0.
    excess : univariate distribution of batch shape (...)
        Of the count less one where it is not 0.

    Examples
    --------
    >>> from posteriori import Poisson
    >>> d = HurdleCounts(0.5, Poisson(3.0))
    >>> d.mean, d.variance
    (np.float64(2.0), np.float64(5.5))
    >>> d.cdf(0.0)
    np.float64(0.5)
    """

    _parameters = {"probability": 0}
    _shown = ("probability", "excess")
    _has_atoms = True

    probability: Array
    excess: Any

    def __new__(cls, probability: Any, excess: Any) -> Self:
        p = real("probability", probability)
        if np.any((p < 0) | (p > 1)):
            raise ValueError(f"probability must lie between 0 and 1, got {probability!r}")
        if not isinstance(excess, Univariate) or p.shape != excess.batch_shape:
            raise ValueError(
                f"excess must be a distribution of numbers for each of the probabilities {p.shape}, "
                f"got {excess!r}"
            )
        self = object.__new__(cls)
        self.__dict__.update(probability=p, excess=excess)
        return self

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch."""
        return self.excess.batch_shape

    @cached_property
    def mean(self) -> Array:
        """π (1 + m), with the mean m of the excess."""
        return self.probability * (1.0 + self.excess.mean)

    @cached_property
    def variance(self) -> Array:
        """π v + π (1 − π) (1 + m)², with the moments of the excess."""
        p = self.probability
        return p * self.excess.variance + p * (1.0 - p) * (1.0 + self.excess.mean) ** 2

    def _log_density(self, x: Array) -> Array:
        zero = x == 0
        with np.errstate(divide="ignore"):
            beyond = np.log(self.probability) + self.excess.log_prob(np.where(zero, 1.0, x) - 1.0)
            return np.where(zero, np.log1p(-self.probability), beyond)[()]

    def _cdf(self, x: Array) -> Array:
        p = self.probability
        return np.where(x < 0, 0.0, 1.0 - p + p * self.excess.cdf(np.maximum(x, 0.0) - 1.0))[()]

    def _quantile(self, q: Array) -> Array:
        empty = 1.0 - self.probability
        zero = q <= empty
        rest = np.where(zero, 0.5, (q - empty) / np.where(zero, 1.0, self.probability))
        return np.where(zero, 0.0, 1.0 + self.excess.quantile(np.minimum(rest, 1.0)))[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        lead = shape[: len(shape) - len(self.batch_shape)]
        beyond = 1.0 + np.asarray(self.excess.sample(lead, rng=rng))
        return np.where(rng.random(shape) < self.probability, beyond, 0.0)[()]

    def _take_members(self, index: Any) -> HurdleCounts:
        return HurdleCounts(self.probability[index], take_members(self.excess, index))

    def __reduce__(self) -> tuple[Any, ...]:
        return HurdleCounts, (self.probability, self.excess)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HurdleCounts):
            return NotImplemented
        same = np.array_equal(self.probability, other.probability)
        return same and self.excess == other.excess

    def __hash__(self) -> int:
        return hash((self.probability.tobytes(), self.excess))
