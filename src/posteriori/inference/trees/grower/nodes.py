"""The nodes of a tree as it grows, and what every growth does with them, in compiled loops."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "COLUMN",
    "CUT",
    "LEFT",
    "NODES",
    "PRIME",
    "RANDOM",
    "SIBLING",
    "SLOT",
    "START",
    "STOP",
    "UNBOUNDED",
    "WAITING",
    "WHOLE",
    "Rules",
    "Table",
    "Tree",
    "begin_tree",
    "draw_column",
    "draw_number",
    "largest_tree",
    "mark_left",
    "new_tree",
    "next_leaf",
    "note_split",
    "split_rows",
    "write_tree",
]

# Places in the table of nodes.
COLUMN, CUT, FOLLOWING, MISSING_LEFT, LEFT, RIGHT, DEPTH, START, STOP, SLOT, WHOLE = range(11)

# Places in the state: how many nodes there are; the node whose split is to be found, and its sibling
# (−1: none); free slots; the leaf that is looked at next where all are split; the last random number.
NODES, WAITING, SIBLING, FREE, NEXT, RANDOM = range(6)

#: More leaves than a tree can have: all that gain are split.
UNBOUNDED = 1 << 40

#: Random numbers are below this.
PRIME = 2147483647


class Rules(NamedTuple):
    """How a tree is grown.

    Attributes
    ----------
    criterion : int
    prior : (P,)
        Of the criterion.
    max_depth, max_leaves : int
    min_weight : float
        Least weight of a leaf.
    min_gain : float
        A split must gain more than this; −∞ divides whatever can be divided.
    max_features : int
        How many columns that are not constant are tried in each node.
    """

    criterion: int
    prior: Array
    max_depth: int
    max_leaves: int
    min_weight: float
    min_gain: float
    max_features: int


class Table(NamedTuple):
    """What trees grow from.

    Attributes
    ----------
    bins : (N, D)
        The bin of each entry.
    first_cell : (D + 1,)
        Where the cells of each column begin: one for each bin, and one for gaps.
    n_levels : (D,)
        How many levels a column of categories has; 0 for numbers.
    low, high : (B,)
        Least and largest value of each bin.
    """

    bins: Any
    first_cell: IntArray
    n_levels: IntArray
    low: Array
    high: Array


class Tree(NamedTuple):
    """A tree as it grows; the rows of a node lie side by side.

    Attributes
    ----------
    nodes : (M, 11)
        By the places above: column of a node's best split, the bins on either side (of a category how
        many of its levels go left, less one) and where gaps go; its children (−1 in leaves), its depth,
        where its rows are, the slot with its whole numbers (−1: none), and their sum.
    gain : (M,)
        Of the best split; −∞ where there is none.
    rows, other : (n,)
        Rows in the order of nodes, and room to sort them in.
    columns : (D,)
        Columns in random order.
    state : (6,)
    """

    nodes: IntArray
    gain: Array
    rows: Any
    other: Any
    columns: IntArray
    state: IntArray


def largest_tree(rules: Rules, rows: int, weight: float) -> int:
    """Return how many nodes a tree can have."""
    leaves = min(rows, rules.max_leaves)
    if weight < leaves * rules.min_weight:
        leaves = int(weight / rules.min_weight) + 1
    if rules.max_depth < 60:
        leaves = min(leaves, 2**rules.max_depth)
    return 2 * max(leaves, 1) - 1


def new_tree(rows: Any, nodes: int, columns: int, seed: int) -> Tree:
    """Return room for a tree of so many nodes, which has not begun."""
    return Tree(
        np.empty((nodes, 11), dtype=np.int64),
        np.empty(nodes),
        rows,
        np.empty_like(rows),
        np.empty(columns, dtype=np.int64),
        np.array([0, 0, 0, 0, 0, seed], dtype=np.int64),
    )


@kernel(called="kernels")
def begin_tree(tree: Tree) -> None:
    """Put all rows into one node, whose split is to be found."""
    nodes, state, columns = tree.nodes, tree.state, tree.columns
    nodes[0] = -1
    nodes[0, DEPTH], nodes[0, START], nodes[0, STOP] = 0, 0, len(tree.rows)
    tree.gain[0] = -math.inf
    state[NODES], state[WAITING], state[SIBLING], state[FREE], state[NEXT] = 1, 0, -1, 0, 0
    for c in range(len(columns)):
        columns[c] = c


@kernel(called="kernels")
def draw_number(state: Any) -> int:
    """Return a whole number from 1 to 2³¹ − 2, by Lehmer's generator."""
    state[RANDOM] = state[RANDOM] * 48271 % PRIME
    return state[RANDOM]


@kernel(called="kernels")
def draw_column(columns: Any, state: Any, c: int) -> None:
    """Put one of the columns that were not drawn yet at place c."""
    other = c + draw_number(state) % (len(columns) - c)
    columns[c], columns[other] = columns[other], columns[c]


@kernel(called="kernels")
def next_leaf(nodes: Any, gain: Any, state: Any, max_leaves: int) -> int:
    """Return the leaf whose split gains most, any that gains where leaves are unbounded, or −1."""
    if max_leaves >= UNBOUNDED:
        while state[NEXT] < state[NODES]:
            state[NEXT] += 1
            if gain[state[NEXT] - 1] > -math.inf:
                return state[NEXT] - 1
        return -1
    best, leaf = -math.inf, -1
    if state[NODES] < 2 * max_leaves - 1:
        for node in range(state[NODES]):
            if nodes[node, LEFT] < 0 and gain[node] > best:
                best, leaf = gain[node], node
    return leaf


@kernel(called="kernels")
def note_split(
    node: Any, j: int, places: Any, length: int, size: int, at: int, left: bool, levels: int
) -> None:
    """Write to a node that column j divides it after place ``at`` of the listed bins."""
    node[COLUMN], node[MISSING_LEFT], node[CUT], node[FOLLOWING] = j, left, at, -1
    if levels == 0:
        node[CUT] = places[at]
        node[FOLLOWING] = places[at + 1] if at + 1 < length else size


@kernel(called="kernels")
def mark_left(node: Any, places: Any, length: int, size: int, levels: int, goes_left: Any) -> None:
    """Mark the bins that go left; levels that the node does not have go where gaps do."""
    for b in range(size + 1):
        goes_left[b] = node[MISSING_LEFT] > 0 if levels > 0 or b == size else b <= node[CUT]
    if levels > 0:
        for i in range(length):
            goes_left[places[i]] = i <= node[CUT]


@kernel(called="kernels")
def split_rows(bins: Any, tree: Tree, goes_left: Any, node: int, rules: Rules) -> None:
    """Divide the rows of a node between two new leaves, and let these wait for their splits.

    The one with fewer rows comes first: it is added up, the other one is the rest.
    """
    state, nodes = tree.state, tree.nodes
    start, stop, left = nodes[node, START], nodes[node, STOP], state[NODES]
    middle = _divide_rows(bins, tree.rows, tree.other, goes_left, nodes[node, COLUMN], start, stop)
    state[NODES] += 2
    nodes[node, LEFT], nodes[node, RIGHT] = left, left + 1
    for leaf in range(left, left + 2):
        nodes[leaf] = -1
        nodes[leaf, START] = start if leaf == left else middle
        nodes[leaf, STOP] = middle if leaf == left else stop
        nodes[leaf, DEPTH], tree.gain[leaf] = nodes[node, DEPTH] + 1, -math.inf
    state[WAITING] = state[SIBLING] = -1
    if nodes[left, DEPTH] < rules.max_depth and state[NODES] < 2 * rules.max_leaves - 1:
        many_left = middle - start > stop - middle
        state[WAITING] = left + 1 if many_left else left
        state[SIBLING] = left if many_left else left + 1


@kernel(called="kernels")
def _divide_rows(
    bins: Any, rows: Any, other: Any, goes_left: Any, j: int, start: int, stop: int
) -> int:
    """Put the rows that go left first; return where the others begin."""
    column, middle, kept = np.uint64(j), np.uint64(start), np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        n = rows[i]
        left = np.uint64(goes_left[np.uint64(bins[np.uint64(n), column])])
        rows[middle] = other[kept] = n  # one of the two stays: no branch that is hard to foresee
        middle += left
        kept += np.uint64(1) - left
    for k in range(kept):
        rows[middle + k] = other[k]
    return int(middle)


@kernel(allocates=False)
def write_tree(table: Table, tree: Tree, t: int, marks: int, trees: Any) -> int:
    """Write a tree that has grown as the t-th of flat arrays; return where the next marks begin.

    Parameters
    ----------
    table : Table
    tree : Tree
    t : int
    marks : int
        Where marks of levels begin.
    trees : tuple of arrays
        Those of :class:`Trees`, to write to; ``roots`` (T + 1,) is written up to t + 1.
    """
    column, threshold, left, right, missing_left, subset, levels, n_levels, roots = trees
    nodes, root = tree.nodes, roots[t]
    roots[t + 1] = root + tree.state[NODES]
    for i in range(tree.state[NODES]):
        at, j, inner = root + i, nodes[i, COLUMN], nodes[i, LEFT] >= 0
        column[at] = j if inner else -1
        left[at] = root + nodes[i, LEFT] if inner else -1
        right[at] = root + nodes[i, RIGHT] if inner else -1
        missing_left[at] = inner and nodes[i, MISSING_LEFT] > 0
        subset[at], threshold[at] = -1, math.nan
        if inner and n_levels[j] > 0:
            subset[at] = marks
            _mark_levels(table.bins, tree.rows, nodes, i, levels[marks : marks + n_levels[j]])
            marks += n_levels[j]
        elif inner:
            threshold[at] = _threshold(table, j, nodes[i, CUT], nodes[i, FOLLOWING])
    return marks


@kernel(called="kernels")
def _mark_levels(bins: Any, rows: Any, nodes: Any, node: int, marks: Any) -> None:
    """Mark the levels that go left; those that the node does not have go where gaps do."""
    marks[:] = nodes[node, MISSING_LEFT] > 0
    for child in (nodes[node, LEFT], nodes[node, RIGHT]):
        for i in range(nodes[child, START], nodes[child, STOP]):
            b = bins[rows[i], nodes[node, COLUMN]]
            if b < len(marks):
                marks[b] = child == nodes[node, LEFT]


@kernel(called="kernels")
def _threshold(table: Table, j: int, cut: int, following: int) -> float:
    """Return a cut midway between neighbouring values of a node's rows; ∞ if only gaps follow."""
    first = table.first_cell[j] - j
    if following >= table.first_cell[j + 1] - j - 1 - first:
        return math.inf
    a, b = table.high[first + cut], table.low[first + following]
    middle = 0.5 * a + 0.5 * b
    return middle if middle < b else a  # also where the two are neighbours
