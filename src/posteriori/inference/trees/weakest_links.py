r"""Which nodes of a tree are worth their leaves: sums, risks, and the order in which nodes are cut off.

Cost-complexity pruning minimises :math:`\sum_m N_m Q_m + \alpha\,|T|` over the subtrees with the same
root. As α grows, the node with the smallest

.. math:: g(t) = \frac{R(t) - R(T_t)}{|T_t| - 1}

becomes a leaf, again and again; R is the sum of :math:`N_m Q_m` over leaves, not divided by N.

Reference: L. Breiman, J. Friedman, R. Olshen & C. Stone, "Classification and regression trees", 1984,
ch. 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.profiles import Sums, add_row
from posteriori.inference.trees.scores import score_of
from posteriori.numerics.compilation import as_kernel_input, compiled_beside
from posteriori.numerics.types import Array, IntArray

__all__ = ["cut_off", "find_weakest_links", "node_risks", "sum_over_nodes"]

#: Links that differ by less, relative to the risk of the root, are cut together: beyond rounding.
_TIE = 1e-12


def sum_over_nodes(trees: Trees, leaf_of_row: IntArray, sums: Sums, n_sums: int) -> Array:
    """Return the sums over the rows of each node of one tree, (M, S).

    Parameters
    ----------
    trees : Trees
    leaf_of_row : (N,)
    sums : Sums
        Of classes or moments.
    n_sums : int
    """
    total = np.zeros((len(trees.column), n_sums))
    _add_to_leaves(np.ascontiguousarray(leaf_of_row, dtype=np.int64), sums, total)
    for node in np.flatnonzero(~trees.is_leaf)[::-1]:  # children come after their parents
        total[node] = total[trees.left[node]] + total[trees.right[node]]
    return total


def node_risks(criterion: int, prior: Any, sums: Array) -> Array:
    """Return N_m Q_m of nodes, (M,), from their sums (M, S)."""
    risks = np.empty(len(sums))
    _fill_risks(int(criterion), np.asarray(prior, dtype=np.float64), as_kernel_input(sums), risks)
    return risks


def find_weakest_links(trees: Trees, risks: Array) -> Array:
    """Return the α at which each node of one tree becomes a leaf, (M,); 0 for leaves.

    It falls from a node to its descendants, so that the smallest best subtree for α has exactly the
    inner nodes with a larger one.
    """
    size = len(risks)
    link, below = np.empty(size), np.empty(size)
    leaves, alive = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.bool_)
    _cut_links(trees.arrays, as_kernel_input(risks), link, below, leaves, alive)
    return link


def cut_off(trees: Trees, becomes_leaf: Array) -> tuple[Trees, IntArray]:
    """Return one tree in which some inner nodes are leaves, and which nodes are left (M',).

    Parameters
    ----------
    trees : Trees
    becomes_leaf : (M,) of bool
    """
    kept = np.zeros(len(trees.column), dtype=np.bool_)
    kept[0] = True
    inner = ~trees.is_leaf & ~becomes_leaf
    for node in np.flatnonzero(inner):
        if kept[node]:
            kept[[trees.left[node], trees.right[node]]] = True
    nodes = np.flatnonzero(kept)
    place = np.cumsum(kept) - 1
    inner = inner[nodes]
    return Trees(
        np.where(inner, trees.column[nodes], -1),
        np.where(inner, trees.threshold[nodes], np.nan),
        np.where(inner, place[trees.left[nodes]], -1),
        np.where(inner, place[trees.right[nodes]], -1),
        trees.missing_left[nodes] & inner,
        np.where(inner, trees.subset[nodes], -1),
        trees.levels,
        trees.n_levels,
        np.zeros(1, dtype=np.int64),
    ), nodes


@compiled_beside
def _add_to_leaves(leaf_of_row: Any, sums: Sums, total: Any) -> None:
    for n in range(len(leaf_of_row)):
        add_row(sums, n, total[leaf_of_row[n]])


@compiled_beside
def _fill_risks(criterion: int, prior: Any, sums: Any, risks: Any) -> None:
    for m in range(len(risks)):
        risks[m] = -score_of(criterion, prior, sums[m])


@compiled_beside
def _cut_links(trees: Any, risks: Any, link: Any, below: Any, leaves: Any, alive: Any) -> None:
    left, right, alpha, slack = trees[2], trees[3], 0.0, _TIE * abs(risks[0])
    link[:] = -1.0  # not cut yet
    while True:
        for node in range(len(risks) - 1, -1, -1):
            a, b = left[node], right[node]
            cut = a < 0 or link[node] >= 0.0
            below[node] = risks[node] if cut else below[a] + below[b]  # R(T_t)
            leaves[node] = 1 if cut else leaves[a] + leaves[b]
        if leaves[0] == 1:
            break
        least = np.inf
        alive[:] = False
        alive[0] = True
        for node in range(len(risks)):
            if alive[node] and leaves[node] > 1:
                alive[left[node]] = alive[right[node]] = True
                least = min(least, (risks[node] - below[node]) / (leaves[node] - 1))
        alpha = max(alpha, least)
        for node in range(len(risks)):
            price = (alpha + slack) * (leaves[node] - 1)
            if alive[node] and leaves[node] > 1 and risks[node] - below[node] <= price:
                link[node] = alpha
    for node in range(len(risks)):
        if left[node] < 0:
            link[node] = 0.0
        else:
            for child in (left[node], right[node]):  # what was below a node went with it
                link[child] = link[node] if link[child] < 0.0 else link[child]
