"""Who is linked to whom, as two arrays of whole numbers (compressed sparse rows)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.compilation import as_kernel_indices
from posteriori.numerics.types import IntArray

__all__ = ["Adjacency", "distinct_pairs", "link_both_ways", "link_nodes"]


class Adjacency(NamedTuple):
    """The neighbours of each node: those of v are ``neighbours[start[v] : start[v + 1]]``.

    Attributes
    ----------
    start : (n + 1,) of int
    neighbours : (E,) of int
    """

    start: IntArray
    neighbours: IntArray

    def of(self, node: int) -> list[int]:
        """Return the neighbours of one node."""
        found: list[int] = self.neighbours[self.start[node] : self.start[node + 1]].tolist()
        return found


def link_nodes(pairs: IntArray, n_nodes: int) -> Adjacency:
    """Return the second node of each pair (E, 2) as a neighbour of the first, in rising order."""
    keys = np.sort(pairs[:, 0] * n_nodes + pairs[:, 1])
    first, second = np.divmod(keys, max(n_nodes, 1))
    start = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=n_nodes))])
    return Adjacency(as_kernel_indices(start), as_kernel_indices(second))


def link_both_ways(pairs: IntArray, n_nodes: int) -> Adjacency:
    """Return the two nodes of each pair as neighbours of each other."""
    return link_nodes(np.concatenate([pairs, pairs[:, ::-1]]), n_nodes)


def distinct_pairs(pairs: IntArray, n_nodes: int) -> IntArray:
    """Return each pair once, where it first stands."""
    keys = pairs[:, 0] * n_nodes + pairs[:, 1]
    order = np.argsort(keys, kind="stable")
    first = np.ones(len(keys), dtype=bool)
    first[1:] = np.diff(keys[order]) > 0
    return pairs if first.all() else pairs[np.sort(order[first])]
