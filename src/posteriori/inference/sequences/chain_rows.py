"""Sequences as rows one after another: where each begins, how often it counts, what is known of its states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array, IntArray

__all__ = ["ChainRows"]


class ChainRows(NamedTuple):
    """How rows make up sequences.

    Attributes
    ----------
    lengths : (S,)
    weights : (S,) or None
        How often each sequence counts; None is once.
    labels : (T,) or None
        Known states; −1 where a state is unknown.
    """

    lengths: IntArray
    weights: Array | None = None
    labels: IntArray | None = None

    @property
    def total(self) -> int:
        """Number of rows T of all sequences."""
        return int(self.lengths.sum())

    @property
    def first(self) -> IntArray:
        """First row of each sequence, (S,)."""
        return np.append(0, np.cumsum(self.lengths)[:-1])

    @property
    def frequency(self) -> Array | None:
        """How often each row counts, (T,)."""
        return None if self.weights is None else np.repeat(self.weights, self.lengths)

    @property
    def arrivals(self) -> Array:
        """Which rows have one before them in their sequence, (T,)."""
        later = np.ones(self.total, dtype=bool)
        later[self.first] = False
        return later

    @property
    def all_labelled(self) -> bool:
        """Whether no state is unknown."""
        return self.labels is not None and bool((self.labels >= 0).all())

    def clamp(self, scores: Array) -> Array:
        """Make states impossible that rows are known not to be in; ``scores`` (T, K) are changed."""
        if self.labels is not None:
            known = np.flatnonzero(self.labels >= 0)
            kept = scores[known, self.labels[known]]
            scores[known] = -np.inf
            scores[known, self.labels[known]] = kept
        return scores

    def weigh(self, probabilities: Array) -> tuple[Array, Array]:
        """Return probabilities of states (T, K) times how often rows count, and the sum of first rows (K,)."""
        first = probabilities[self.first]
        if self.weights is None:
            return probabilities, first.sum(axis=0)
        frequency = np.repeat(self.weights, self.lengths)
        return probabilities * frequency[:, None], self.weights @ first

    def certain_shares(self, states: IntArray, k: int) -> Array:
        """Return how often rows count for the states (T,) that they are known to be in, (T, K)."""
        shares, frequency = np.zeros((len(states), k)), self.frequency
        shares[np.arange(len(states)), states] = 1.0 if frequency is None else frequency
        return shares

    def sum_sequences(self, each: Array) -> float:
        """Return the sum of numbers (S,), by how often each sequence counts."""
        return float(each.sum() if self.weights is None else self.weights @ each)

    def count_pairs(self, states: IntArray, k: int) -> Array:
        """Return how often each state follows each other on known paths, (K, K)."""
        later = np.flatnonzero(self.arrivals)
        frequency = self.frequency
        weight = None if frequency is None else frequency[later]
        flat = np.bincount(states[later - 1] * k + states[later], weight, minlength=k * k)
        return flat.reshape(k, k).astype(np.float64)
