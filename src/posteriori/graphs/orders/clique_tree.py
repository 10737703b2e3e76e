r"""The tree of cliques that an order of elimination makes.

A node and what it was joined with when it went are a clique. Each clique of a tree is the residual, which is in
no clique above it, and the separator that it shares with the clique above; a node is in the residual of one
clique only. Cliques inside another are not written down.

Reference: J. R. S. Blair & B. Peyton, "An introduction to chordal graphs and clique trees", 1993.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.graphs.orders.elimination_order import Elimination
from posteriori.numerics.compilation import as_kernel_indices, kernel, run
from posteriori.numerics.types import IntArray

__all__ = ["CliqueTree", "make_clique_tree"]


class CliqueTree(NamedTuple):
    """Cliques, those below before those above.

    Attributes
    ----------
    start : (C + 1,) of int
    nodes : (S,) of int
        Clique c is ``nodes[start[c] : start[c + 1]]``, the last eliminated first: its separator, then its
        residual.
    shared : (C,) of int
        Nodes of each separator.
    above : (C,) of int
        The clique above, −1 for the root of each connected part.
    home : (n,) of int
        The clique whose residual holds a node, −1 for nodes that are not in the order.
    position : (n,) of int
        When each node was eliminated, −1 for those that were not.
    """

    start: IntArray
    nodes: IntArray
    shared: IntArray
    above: IntArray
    home: IntArray
    position: IntArray

    @property
    def n_cliques(self) -> int:
        """How many cliques there are."""
        return len(self.above)

    @property
    def lengths(self) -> IntArray:
        """How many nodes each clique has."""
        return np.diff(self.start)


def make_clique_tree(elimination: Elimination, n: int, level: IntArray | None = None) -> CliqueTree:
    """Return the tree of an elimination.

    Parameters
    ----------
    elimination : Elimination
    n : int
        Number of nodes of the graph.
    level : (n,) of int, optional
        Residuals are made of nodes of one level.
    """
    order, start, later = map(as_kernel_indices, elimination)
    level = as_kernel_indices(np.zeros(n) if level is None else level)
    position = np.full(n, -1, dtype=np.int64)
    position[order] = np.arange(order.size)
    position = as_kernel_indices(position)
    home, above = np.full(n, -1, dtype=np.int64), np.full(order.size, -1, dtype=np.int64)
    shared = np.zeros(order.size, dtype=np.int64)
    begin = np.zeros(order.size + 1, dtype=np.int64)
    nodes = np.zeros(later.size + order.size, dtype=np.int64)
    rest = _Residuals(*np.zeros((4, order.size), dtype=np.int64))
    given = (order, start, later, position, level, rest)
    cliques = run(_make_tree, 20.0 * nodes.size, *given, home, above, shared, begin, nodes)
    begin = begin[: cliques + 1].copy()
    return CliqueTree(
        begin, nodes[: begin[-1]].copy(), shared[:cliques], above[:cliques], home, position
    )


class _Residuals(NamedTuple):
    """For the i-th node that went: the first of the residual that holds it; the last, of such a first one.

    Then the next node that it is joined with, and one whose clique contains its own.
    """

    base: IntArray
    top: IntArray
    parent: IntArray
    inside: IntArray


@kernel(plain=True, allocates=False)
def _make_tree(
    order: IntArray,
    start: IntArray,
    later: IntArray,
    position: IntArray,
    level: IntArray,
    nodes_of: _Residuals,
    home: IntArray,
    above: IntArray,
    shared: IntArray,
    begin: IntArray,
    nodes: IntArray,
) -> int:
    """Write down the cliques; return how many there are."""
    n = len(order)
    base, top, parent, inside = nodes_of
    for i in range(n):
        parent[i], inside[i] = n, i
    for i in range(n):
        for e in range(start[i], start[i + 1]):
            parent[i] = min(parent[i], position[later[e]])
        p = parent[i]
        contained = p < n and start[p + 1] - start[p] + 1 == start[i + 1] - start[i]
        if contained and level[order[i]] == level[order[p]]:
            inside[p] = i  # the last one that contains it: what goes last makes a root
    for i in range(n):
        base[i] = i if inside[i] == i else base[inside[i]]
        top[base[i]] = i
    cliques = count = 0
    for i in range(n):
        if top[base[i]] == i:  # a clique comes where the last node of its residual does
            begin[cliques] = count
            shared[cliques] = start[i + 1] - start[i]
            nodes[count] = order[base[i]]
            count += 1
            for e in range(start[base[i]], start[base[i] + 1]):
                nodes[count] = later[e]
                count += 1
            _sort_descending(nodes, begin[cliques], count, position)
            for k in range(begin[cliques] + shared[cliques], count):
                home[nodes[k]] = cliques
            cliques += 1
    begin[cliques] = count
    for i in range(n):
        if top[base[i]] == i and parent[i] < n:
            above[home[order[i]]] = home[order[parent[i]]]
    return cliques


@kernel(plain=True, allocates=False)
def _sort_descending(nodes: IntArray, low: int, high: int, position: IntArray) -> None:
    """Sort some nodes by their positions, the last first."""
    for i in range(low + 1, high):
        v, j = nodes[i], i
        while j > low and position[nodes[j - 1]] < position[v]:
            nodes[j] = nodes[j - 1]
            j -= 1
        nodes[j] = v
