"""Who is linked to whom, as two arrays of whole numbers (compressed sparse rows)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import IntArray

__all__ = ["Adjacency", "distinct_pairs", "link_both_ways", "link_nodes"]


class Adjacency(NamedTuple):
    """The neighbours of each node, in rising order.

    Attributes
    ----------
    starts : array (n + 1,)
        Those of node i are ``ends[starts[i]:starts[i + 1]]``.
    ends : array (E,)
    """

    starts: IntArray
    ends: IntArray

    def of(self, node: int) -> list[int]:
        """Return the neighbours of one node."""
        neighbours: list[int] = self.ends[self.starts[node] : self.starts[node + 1]].tolist()
        return neighbours


def link_nodes(pairs: IntArray, n_nodes: int) -> Adjacency:
    """Return the second node of each pair (E, 2) as a neighbour of the first."""
    keys = np.sort(pairs[:, 0] * n_nodes + pairs[:, 1])
    first, ends = np.divmod(keys, max(n_nodes, 1))
    starts = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=n_nodes))])
    # Locked, and so of one type for compiled loops.
    starts.setflags(write=False)
    ends.setflags(write=False)
    return Adjacency(starts, ends)


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
