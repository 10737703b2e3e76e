r"""What learning adds up: sufficient statistics of data, block by block.

:class:`Sums` holds :math:`\sum_n w_n T(x_n)`; :class:`Moments` holds count, mean and centred
scatter, so that data of mean 10⁸ and spread 1 keep their variance (Chan, Golub & LeVeque 1983).
Both merge: batch, stream and cluster agree to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posteriori.numerics.types import Array, Natural, number

__all__ = ["Moments", "Sums"]


@dataclass(frozen=True, slots=True)
class Sums:
    """Plain sums of sufficient statistics.

    Attributes
    ----------
    count : float
        Total weight of the data: their number when unweighted.
    sums : tuple of arrays
        Σ w T(x), one array per component.
    log_carrier : array
        Σ w ln h(x), the part of the log likelihood that knows nothing of the parameters.
    """

    count: Array
    sums: Natural
    log_carrier: Array

    def merge(self, other: Any) -> Any:
        """Return the statistics of both sets of data; those of large counts know how."""
        if not isinstance(other, Sums):
            return other.merge(self)
        return Sums(
            self.count + other.count,
            tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)),
            self.log_carrier + other.log_carrier,
        )

    def without(self, other: Sums) -> Sums:
        """Return the statistics without those of a part of the data."""
        return Sums(
            self.count - other.count,
            tuple(a - b for a, b in zip(self.sums, other.sums, strict=True)),
            self.log_carrier - other.log_carrier,
        )

    def broadcast(self, count: Array, shapes: Sequence[tuple[int, ...]]) -> Sums:
        """Return a batch of statistics, with one number of rows and the shape of a part for each."""
        size = np.shape(count)
        parts = zip(self.sums, shapes, strict=True)
        sums = tuple(np.broadcast_to(part, (*size, *shape)) for part, shape in parts)
        return Sums(count, sums, np.broadcast_to(self.log_carrier, size))

    def add_up(self, add: Callable[[Array], Array], index: Any) -> Sums:
        """Return the statistics of places, whose rows ``add`` adds up: row r lies in ``index[r]``."""
        return Sums(add(self.count), tuple(map(add, self.sums)), add(self.log_carrier))

    @property
    def averages(self) -> Natural:
        """Mean of T(x): the mean parameters of the maximum-likelihood fit."""
        return tuple(total / self.count for total in self.sums)


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, mean and centred scatter of numbers or vectors.

    Attributes
    ----------
    count : float
        Total weight.
    mean : (...) or (..., D)
        Weighted mean.
    scatter : (...) or (..., D, D)
        Σ w (x − mean)² or Σ w (x − mean)(x − mean)ᵀ.
    """

    count: Array
    mean: Array
    scatter: Array

    @classmethod
    def of_numbers(cls, x: Array, weights: Array | None = None) -> Moments:
        """Summarise numbers (N, ...) along the first axis."""
        if weights is None:
            mean = x.mean(axis=0)
            centred = x - mean
            return cls(number(len(x)), mean, np.einsum("n...,n...->...", centred, centred))
        count = weights.sum()
        mean = np.tensordot(weights, x, axes=(0, 0)) / count
        centred = x - mean
        return cls(count, mean, np.einsum("n,n...,n...->...", weights, centred, centred))

    @classmethod
    def of_vectors(cls, x: Array, weights: Array | None = None) -> Moments:
        """Summarise vectors (N, ..., D) along the first axis."""
        ones = np.ones(len(x)) if weights is None else weights
        count = ones.sum()
        mean = np.tensordot(ones, x, axes=(0, 0)) / count
        centred = x - mean
        left = centred if weights is None else centred * weights.reshape(-1, *[1] * (x.ndim - 1))
        if x.ndim == 2:
            return cls(count, mean, left.T @ centred)
        return cls(count, mean, np.einsum("n...i,n...j->...ij", left, centred))

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both sets of data."""
        count = self.count + other.count
        share = other.count / count
        shift = other.mean - self.mean
        spread = _square(shift, self.scatter.ndim > self.mean.ndim)
        return Moments(
            count,
            self.mean + share * shift,
            self.scatter + other.scatter + (self.count * share) * spread,
        )

    def without(self, other: Moments) -> Moments:
        """Return the moments without those of a part of the data; about 0 where nothing is left."""
        count = self.count - other.count
        if not np.all(count > 0):
            nothing = np.zeros(np.broadcast_shapes(self.mean.shape, other.mean.shape))
            return Moments(count, nothing, np.zeros_like(other.scatter))
        share = other.count / count
        shift = other.mean - self.mean
        spread = _square(shift, self.scatter.ndim > self.mean.ndim)
        return Moments(
            count,
            self.mean - share * shift,
            self.scatter - other.scatter - (self.count * share) * spread,
        )

    def scatter_about(self, point: Array) -> Array:
        """Return Σ w (x − point)(x − point)ᵀ about another point than the mean."""
        shift = self.mean - point
        return self.scatter + self.count * _square(shift, self.scatter.ndim > self.mean.ndim)


def _square(shift: Array, matrix: bool) -> Array:
    return shift[..., :, None] * shift[..., None, :] if matrix else shift * shift
