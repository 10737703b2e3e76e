"""The chain of a sum of Markov processes along sorted points."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from posteriori.inference.processes.forms.chain_terms import ChainTerm
from posteriori.inference.series.scalar_chain import Entries, ScalarChain
from posteriori.numerics.types import Array, IntArray

__all__ = ["ChainSteps"]


class ChainSteps:
    """Chains of the same terms along any points of one column.

    Parameters
    ----------
    terms : tuple of ChainTerm
    X : (N, 1)
        Points, of which one is enough.

    Attributes
    ----------
    variances : (1 + C,)
        Those of the terms are parts 1, 2, …; part 0 is the noise of targets, here 1.
    blocks : list of slice
        States of each term, one copy of its chain after another.
    """

    def __init__(self, terms: tuple[ChainTerm, ...], X: Array) -> None:
        self._terms = terms
        self._copies = [term.features(X[:1]).shape[1] for term in terms]
        self._sizes = [term.states for term in terms]
        self.variances = np.array([1.0, *(term.variance for term in terms)])
        ends = np.cumsum([0, *(np.multiply(self._copies, self._sizes))]).tolist()
        self.blocks = [slice(a, b) for a, b in pairwise(ends)]
        self.states: int = ends[-1]
        moving = [bool(term.moving) for term in terms]
        self._every, self._heard = self._layout([True] * len(terms)), self._layout(moving)
        pairs = zip(terms, self._copies, strict=True)
        start = [np.tile(term.initial_cov.ravel(), copies) for term, copies in pairs]
        self._start = Entries(*self._every[:2], np.concatenate([np.zeros(0), *start])[None])

    def _layout(self, wanted: list[bool]) -> tuple[IntArray, IntArray, IntArray]:
        """Return rows and columns of the entries of blocks along the diagonal, and their parts."""
        places: list[tuple[int, int, int]] = []
        for part, (block, size) in enumerate(zip(self.blocks, self._sizes, strict=True), start=1):
            for first in range(block.start, block.stop, size) if wanted[part - 1] else ():
                places += [(first + i, first + j, part) for i in range(size) for j in range(size)]
        found = np.array(places, dtype=np.int64).reshape(-1, 3)
        rows, columns, parts = np.ascontiguousarray(found.T)
        return rows, columns, parts

    def rooms(self, steps: int) -> list[Array]:
        """Return memory for chains of so many steps, one after another."""
        return [np.empty((2, steps, size * size)) for size in self._sizes]

    def along(self, X: Array, rooms: list[Array] | None = None) -> ScalarChain:
        """Return the chain along sorted points (T, 1); O(TD²)."""
        gaps = X[1:, 0] - X[:-1, 0]
        emission, moves, noises = [], [], []
        layout = zip(self._terms, self._copies, self._sizes, strict=True)
        for t, (term, copies, size) in enumerate(layout):
            chain = term.chain(gaps, None if rooms is None else rooms[t])
            moves += [chain.transition.reshape(len(gaps), -1)] * copies
            noises += [chain.noise_cov.reshape(len(gaps), -1)] * (copies if term.moving else 0)
            for column in term.features(X).T:
                emission += [column, *[np.zeros(1)] * (size - 1)]
        return ScalarChain(
            emission=_side_by_side(emission),
            transition=Entries(*self._every[:2], _joined(moves)),
            noise=Entries(*self._heard[:2], _joined(noises)),
            parts=self._heard[2],
            initial_mean=np.zeros(self.states),
            initial_cov=np.zeros((self.states, self.states)),
            start=self._start,
            start_parts=self._every[2],
            diffuse=np.zeros(self.states, dtype=bool),
        )


def _side_by_side(columns: list[Array]) -> Array:
    """Return columns (T,), or (1,) of one number for all, as a matrix with as few rows as it needs."""
    if all(len(column) == 1 for column in columns):
        return np.array(columns, dtype=np.float64).reshape(1, -1)
    return np.stack(np.broadcast_arrays(*columns), axis=1)


def _joined(weights: list[Array]) -> Array:
    if len(weights) == 1:
        return weights[0]
    return np.hstack(weights) if weights else np.zeros((1, 0))
