r"""Which nodes of a tree are worth their leaves: sums, risks, and the order in which nodes are cut off.

Cost-complexity pruning minimises :math:`\sum_m N_m Q_m + \alpha\,|T|` over the subtrees with the same
root. As α grows, the node with the smallest

.. math:: g(t) = \frac{R(t) - R(T_t)}{|T_t| - 1}

becomes a leaf, again and again; R is the sum of :math:`N_m Q_m` over leaves, not divided by N.

Reference: L. Breiman, J. Friedman, R. Olshen & C. Stone, "Classification and regression trees", 1984,
ch. 3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.profiles import Sums, add_row
from posteriori.inference.trees.scores import EVIDENCE_OF_CLASSES, NEWTON, score_of
from posteriori.numerics.compilation import as_kernel_input, kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["cut_off", "find_weakest_links", "node_risks", "sum_over_nodes"]

#: Links that differ by less, relative to the risk of the root, are cut together: beyond rounding.
_TIE = 1e-12


class Weakest(NamedTuple):
    """What is known of the subtree below each node while nodes are cut off.

    Attributes
    ----------
    below : (M,)
        R(T_t).
    leaves : (M,)
        |T_t|.
    least : (M,)
        The smallest g in it.
    parent : (M,)
    """

    below: Array
    leaves: IntArray
    least: Array
    parent: IntArray


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
    leaves = np.ascontiguousarray(leaf_of_row, dtype=np.int64)
    _add_to_leaves(leaves, sums.codes, sums.y, sums.weight, total)
    for node in np.flatnonzero(~trees.is_leaf)[::-1]:  # children come after their parents
        total[node] = total[trees.left[node]] + total[trees.right[node]]
    return total


def node_risks(criterion: int, prior: Any, sums: Array) -> Array:
    """Return N_m Q_m of nodes, (M,), from their sums (M, S)."""
    if np.ndim(sums) != 2 or (
        criterion > EVIDENCE_OF_CLASSES and sums.shape[1] < 2 + (criterion != NEWTON)
    ):
        raise ValueError(f"nodes have sums (M, S), got {np.shape(sums)}")
    risks = np.empty(len(sums))
    _fill_risks(int(criterion), np.asarray(prior, dtype=np.float64), as_kernel_input(sums), risks)
    return risks


def find_weakest_links(trees: Trees, risks: Array) -> Array:
    """Return the α at which each node of one tree becomes a leaf, (M,); 0 for leaves.

    It falls from a node to its descendants, so that the smallest best subtree for α has exactly the
    inner nodes with a larger one. O(M · depth).

    Raises
    ------
    ValueError
        When a node has no finite risk: the tree comes from a damaged file.
    """
    if risks.shape != trees.column.shape or not np.isfinite(risks).all():
        raise ValueError("each node of a tree must have finite sums")
    size = len(risks)
    link, below, least = (np.empty(size) for _ in range(3))
    leaves, parent = (np.empty(size, dtype=np.int64) for _ in range(2))
    _cut_links(trees.arrays, as_kernel_input(risks), link, Weakest(below, leaves, least, parent))
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


@kernel(allocates=False)
def _add_to_leaves(leaf_of_row: Any, codes: Any, y: Any, weight: Any, total: Any) -> None:
    for n in range(len(leaf_of_row)):
        add_row(codes, y, weight, n, total[leaf_of_row[n]])


@kernel(allocates=False)
def _fill_risks(criterion: int, prior: Any, sums: Any, risks: Any) -> None:
    for m in range(len(risks)):
        risks[m] = -score_of(criterion, prior, sums[m])


@kernel(allocates=False)
def _cut_links(trees: Any, risks: Any, link: Any, state: Weakest) -> None:
    left, right, slack = trees[2], trees[3], _TIE * abs(risks[0])
    state.parent[0] = -1
    for node in range(len(risks) - 1, -1, -1):
        link[node] = -1.0  # not cut yet
        _refresh(left, right, risks, link, state, node)
    alpha = max(state.least[0], 0.0)
    while state.leaves[0] > 1:
        if state.least[0] > alpha + slack:
            alpha = state.least[0]
        node = 0
        while _link_of(risks, state, node) > state.least[node]:  # it is further down
            same = state.least[left[node]] == state.least[node]
            node = left[node] if same else right[node]
        link[node] = alpha
        while node >= 0:  # all above have lost leaves
            _refresh(left, right, risks, link, state, node)
            node = state.parent[node]
    for node in range(len(risks)):
        if left[node] < 0:
            link[node] = 0.0
        else:
            for child in (left[node], right[node]):  # what was below a node went with it
                link[child] = link[node] if link[child] < 0.0 else link[child]


@kernel(called="kernels")
def _refresh(left: Any, right: Any, risks: Any, link: Any, state: Weakest, node: int) -> None:
    a, b = left[node], right[node]
    if a < 0 or link[node] >= 0.0:
        state.below[node], state.leaves[node], state.least[node] = risks[node], 1, np.inf
        return
    state.parent[a] = state.parent[b] = node
    state.below[node] = state.below[a] + state.below[b]
    state.leaves[node] = state.leaves[a] + state.leaves[b]
    beneath = min(state.least[a], state.least[b])
    state.least[node] = min(_link_of(risks, state, node), beneath)


@kernel(called="kernels")
def _link_of(risks: Any, state: Weakest, node: int) -> float:
    return (risks[node] - state.below[node]) / (state.leaves[node] - 1)  # g(t)
