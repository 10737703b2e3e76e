"""The growth of one tree in compiled loops: the best open leaf is split until no split gains.

What is asked for each node is compiled into the loop over nodes: to hand over a growth, which is many
arrays, took a quarter of the time of a full tree.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees.profiles import (
    Profile,
    Sums,
    add_packed,
    add_row,
    divide_packed,
    list_cells,
    list_rows,
    profile_column,
    profile_listed,
    unpack,
)
from posteriori.inference.trees.scores import is_pure, score_of, weight_of
from posteriori.inference.trees.splits import TIE, Rules, best_cut, best_packed_cut, best_subset
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "COLUMN",
    "CUT",
    "FOLLOWING",
    "LEFT",
    "MISSING_LEFT",
    "NODES",
    "RIGHT",
    "SLOT",
    "START",
    "STOP",
    "UNBOUNDED",
    "WAITING",
    "Growth",
    "grow",
    "largest_tree",
    "mark_levels",
    "new_growth",
]

# Places in the table of nodes.
COLUMN, CUT, FOLLOWING, MISSING_LEFT, LEFT, RIGHT, DEPTH, START, STOP, SLOT = range(10)

# Places in the state: how many nodes there are; the node whose whole numbers are to be added up and
# whose split is to be found, and its sibling (−1: none); free cells; the leaf that is looked at next
# where all are split; and the last random number.
NODES, WAITING, SIBLING, FREE, NEXT, RANDOM = range(6)

#: More leaves than a tree can have: all that gain are split.
UNBOUNDED = 1 << 40


class Growth(NamedTuple):
    """A tree as it grows; the rows of a node lie side by side.

    Attributes
    ----------
    bins : (N, D)
        The bin of each entry.
    first_cell : (D + 1,)
        Where the cells of each column begin: one for each bin, and one for gaps.
    n_levels : (D,)
        How many levels a column of categories has; 0 for numbers.
    nodes : (M, 10)
        By the places above: column of a node's best split, the bins on either side and where gaps go;
        its children (−1 in leaves), its depth, where its rows are, and the slot with its whole numbers
        (−1: none).
    gain : (M,)
        Of the best split; −∞ where there is none.
    sums : (M, S)
    rows, other : (n,)
        Rows in the order of nodes, and room to sort them in.
    slots : (C, cells)
        Whole numbers of open leaves.
    columns : (D,)
        Columns in random order.
    state : (6,)
    """

    bins: Any
    first_cell: IntArray
    n_levels: IntArray
    nodes: IntArray
    gain: Array
    sums: Array
    rows: Any
    other: Any
    slots: IntArray
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


def new_growth(
    bins: Any,
    first_cell: IntArray,
    n_levels: IntArray,
    rows: Any,
    *,
    nodes: int,
    sums: int,
    slots: int,
    seed: int,
) -> Growth:
    """Return a growth of one node with all rows, whose split is still to be found."""
    growth = Growth(
        bins,
        first_cell,
        n_levels,
        np.empty((nodes, 10), dtype=np.int64),
        np.empty(nodes),
        np.empty((nodes, sums)),
        rows,
        np.empty_like(rows),
        np.empty((slots, int(first_cell[-1])), dtype=np.int64),
        np.arange(len(n_levels)),
        np.array([1, 0, -1, 1, 0, seed], dtype=np.int64),
    )
    growth.nodes[0] = -1
    growth.nodes[0, [DEPTH, START, STOP]] = 0, 0, len(rows)
    growth.nodes[0, SLOT] = 0 if slots else -1
    growth.gain[0] = -np.inf
    growth.slots[:1] = 0
    return growth


@kernel(allocates=False)
def grow(
    growth: Growth, sums: Sums, rules: Rules, profile: Profile, most: int, added: bool
) -> bool:
    """Grow until the tree is done (False), or until more than ``most`` rows are to be added up (True).

    Then ``add_packed`` of the rows of node ``state[WAITING]`` to its slot is left to the caller, who
    may divide the rows among threads, and says by ``added`` that it is done.
    """
    state, nodes = growth.state, growth.nodes
    if state[NODES] == 1:
        _add_sums(growth, sums, 0)
    while True:
        node = state[WAITING]
        if node >= 0 and nodes[node, SLOT] >= 0 and not added:
            if nodes[node, STOP] - nodes[node, START] > most:
                return True
            rows = growth.rows[nodes[node, START] : nodes[node, STOP]]
            slot = growth.slots[nodes[node, SLOT]]
            add_packed(growth.bins, growth.first_cell, rows, sums.packed, slot)
        added = False
        if node >= 0:
            _open_leaves(growth, sums, rules, profile)
        node = _next_leaf(growth, rules)
        if node < 0:
            return False
        _split(growth, sums, rules, profile, node)


@kernel(called="kernels")
def _add_sums(growth: Growth, sums: Sums, node: int) -> None:
    to, packed = growth.sums[node], 0
    to[:] = 0.0
    for i in range(growth.nodes[node, START], growth.nodes[node, STOP]):
        if len(sums.packed):
            packed += sums.packed[growth.rows[i]]
        else:
            add_row(sums, growth.rows[i], to)
    if len(sums.packed):
        unpack(packed, sums, to)


@kernel(called="written out")
def _open_leaves(growth: Growth, sums: Sums, rules: Rules, profile: Profile) -> None:
    """Find the splits of the node that waits and of its sibling, whose sums are the parent's less its."""
    node, sibling = growth.state[WAITING], growth.state[SIBLING]
    growth.state[WAITING] = growth.state[SIBLING] = -1
    slot = growth.nodes[node, SLOT]
    if sibling >= 0 and slot >= 0:
        of_parent, of_node = growth.slots[growth.nodes[sibling, SLOT]], growth.slots[slot]
        for c in range(len(of_node)):
            of_parent[c] -= of_node[c]
    for leaf in (node, sibling):
        if leaf >= 0:
            _find_split(growth, sums, rules, profile, leaf)


@kernel(called="written out")
def _next_leaf(growth: Growth, rules: Rules) -> int:
    """Return the leaf whose split gains most, any that gains where leaves are unbounded, or −1."""
    state = growth.state
    if rules.max_leaves >= UNBOUNDED:
        while state[NEXT] < state[NODES]:
            state[NEXT] += 1
            if growth.gain[state[NEXT] - 1] > -math.inf:
                return state[NEXT] - 1
        return -1
    best, leaf = -math.inf, -1
    if state[NODES] < 2 * rules.max_leaves - 1:
        for node in range(state[NODES]):
            if growth.nodes[node, LEFT] < 0 and growth.gain[node] > best:
                best, leaf = growth.gain[node], node
    return leaf


@kernel(called="written out")
def _find_split(growth: Growth, sums: Sums, rules: Rules, profile: Profile, node: int) -> None:
    nodes, columns = growth.nodes, growth.columns
    own = score_of(rules.criterion, rules.prior, growth.sums[node])
    slack = TIE * abs(own)
    least = rules.min_gain if rules.min_gain < 0.0 else max(rules.min_gain, slack)
    best, tried = own + least, 0
    if not _may_split(growth, rules, node):
        return
    for c in range(len(columns)):
        if rules.max_features < len(columns):
            _draw_column(growth, c)
        j = columns[c]
        divisible, score, cut, following, missing_left = _best_division(
            growth, sums, rules, profile, node, j
        )
        if not divisible:
            continue
        tried += 1
        if score > best + slack:
            best = score
            growth.gain[node] = score - own
            nodes[node, COLUMN], nodes[node, CUT], nodes[node, FOLLOWING] = j, cut, following
            nodes[node, MISSING_LEFT] = missing_left
        if tried == rules.max_features:
            return


@kernel(called="inlined")
def _best_division(
    growth: Growth, sums: Sums, rules: Rules, profile: Profile, node: int, j: int
) -> tuple[bool, float, int, int, bool]:
    """Return whether column j can divide a node, the best score, the bins on either side, where gaps go."""
    total, size = growth.sums[node], growth.first_cell[j + 1] - growth.first_cell[j] - 1
    if len(sums.packed) and growth.n_levels[j] == 0:
        length, missing = _list_node(growth, sums, profile, node, j, size)
        if length + (missing != 0) < 2:
            return False, -math.inf, -1, -1, False
        score, cut, following, missing_left = best_packed_cut(
            rules, profile, length, size, missing, sums
        )
        return True, score, cut, following, missing_left
    length = _profile_node(growth, sums, profile, node, j, size)
    if length + (weight_of(rules.criterion, profile.missing) > 0.0) < 2:
        return False, -math.inf, -1, -1, False
    if growth.n_levels[j] > 0:
        score, missing_left = best_subset(rules, profile, length, size, total)
        return True, score, -1, -1, missing_left
    score, cut, following, missing_left = best_cut(rules, profile, length, size, total)
    return True, score, cut, following, missing_left


@kernel(called="written out")
def _may_split(growth: Growth, rules: Rules, node: int) -> bool:
    nodes = growth.nodes
    return (
        nodes[node, DEPTH] < rules.max_depth
        and nodes[node, STOP] - nodes[node, START] > 1
        and weight_of(rules.criterion, growth.sums[node]) >= 2.0 * rules.min_weight
        and not is_pure(rules.criterion, growth.sums[node])
    )


@kernel(called="kernels")
def _profile_node(
    growth: Growth, sums: Sums, profile: Profile, node: int, j: int, size: int
) -> int:
    nodes = growth.nodes
    if len(sums.packed):
        length, missing = _list_node(growth, sums, profile, node, j, size)
        profile_listed(length, missing, sums, profile)
        return length
    rows = growth.rows[nodes[node, START] : nodes[node, STOP]]
    return profile_column(growth.bins, j, size, rows, sums, profile)


@kernel(called="inlined")
def _list_node(
    growth: Growth, sums: Sums, profile: Profile, node: int, j: int, size: int
) -> tuple[int, int]:
    """List whole numbers of a node by the bins of column j, from its slot or from its rows."""
    nodes, first = growth.nodes, growth.first_cell[j]
    if nodes[node, SLOT] >= 0:
        slot = growth.slots[nodes[node, SLOT]]
        return list_cells(slot[first : first + size + 1], size, profile)
    rows = growth.rows[nodes[node, START] : nodes[node, STOP]]
    return list_rows(growth.bins, j, size, rows, sums.packed, profile)


@kernel(called="written out")
def _draw_column(growth: Growth, c: int) -> None:
    """Put one of the columns that were not drawn yet at place c."""
    state, columns = growth.state, growth.columns
    state[RANDOM] = state[RANDOM] * 48271 % 2147483647  # Lehmer's generator
    other = c + state[RANDOM] % (len(columns) - c)
    columns[c], columns[other] = columns[other], columns[c]


@kernel(called="written out")
def _split(growth: Growth, sums: Sums, rules: Rules, profile: Profile, node: int) -> None:
    """Divide the rows of a node between two new leaves, and let these wait for their splits."""
    state, nodes, j = growth.state, growth.nodes, growth.nodes[node, COLUMN]
    size = growth.first_cell[j + 1] - growth.first_cell[j] - 1
    if growth.n_levels[j] > 0:
        length = _profile_node(growth, sums, profile, node, j, size)
        best_subset(rules, profile, length, size, growth.sums[node])
    else:
        profile.goes_left[: size + 1] = False
        profile.goes_left[: nodes[node, CUT] + 1] = True
    profile.goes_left[size] = nodes[node, MISSING_LEFT] > 0
    middle = _divide_rows(growth, profile.goes_left, j, nodes[node, START], nodes[node, STOP])
    left, right = state[NODES], state[NODES] + 1
    state[NODES] += 2
    nodes[left] = nodes[right] = -1
    nodes[node, LEFT], nodes[node, RIGHT] = left, right
    nodes[left, START], nodes[left, STOP] = nodes[node, START], middle
    nodes[right, START], nodes[right, STOP] = middle, nodes[node, STOP]
    for leaf in (left, right):
        nodes[leaf, DEPTH], growth.gain[leaf] = nodes[node, DEPTH] + 1, -math.inf
        if nodes[node, SLOT] < 0:
            _add_sums(growth, sums, leaf)
    if nodes[node, SLOT] >= 0:
        first = growth.first_cell[j]
        cells = growth.slots[nodes[node, SLOT], first : first + size + 1]
        divide_packed(cells, profile.goes_left, sums, growth.sums[left], growth.sums[right])
    if nodes[left, DEPTH] < rules.max_depth and state[NODES] < 2 * rules.max_leaves - 1:
        _let_wait(growth, node)


@kernel(called="written out")
def _divide_rows(growth: Growth, goes_left: Any, j: int, start: int, stop: int) -> int:
    """Put the rows that go left first; return where the others begin."""
    rows, other, column = growth.rows, growth.other, np.uint64(j)
    middle, kept = np.uint64(start), np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        n = rows[i]
        left = np.uint64(goes_left[np.uint64(growth.bins[np.uint64(n), column])])
        rows[middle] = other[kept] = n  # one of the two stays: no branch that is hard to foresee
        middle += left
        kept += np.uint64(1) - left
    for k in range(kept):
        rows[middle + k] = other[k]
    return int(middle)


@kernel(called="written out")
def _let_wait(growth: Growth, parent: int) -> None:
    """Let the children of a node wait: the one with fewer rows is added up, the other one is the rest."""
    state, nodes = growth.state, growth.nodes
    few, many = nodes[parent, LEFT], nodes[parent, RIGHT]
    if nodes[few, STOP] - nodes[few, START] > nodes[many, STOP] - nodes[many, START]:
        few, many = many, few
    state[WAITING], state[SIBLING] = few, many
    if nodes[parent, SLOT] >= 0:
        nodes[many, SLOT], nodes[few, SLOT] = nodes[parent, SLOT], state[FREE]
        growth.slots[state[FREE]] = 0
        state[FREE] += 1


@kernel(allocates=False)
def mark_levels(growth: Growth, subset: Any, levels: Any) -> None:
    """Mark the levels that go left, of each node that asks for a category."""
    nodes = growth.nodes
    for node in range(growth.state[NODES]):
        if subset[node] < 0:
            continue
        j = nodes[node, COLUMN]
        marks = levels[subset[node] : subset[node] + growth.n_levels[j]]
        marks[:] = nodes[node, MISSING_LEFT] > 0  # also of levels that the node does not have
        for child in (nodes[node, LEFT], nodes[node, RIGHT]):
            for i in range(nodes[child, START], nodes[child, STOP]):
                b = growth.bins[growth.rows[i], j]
                if b < len(marks):
                    marks[b] = child == nodes[node, LEFT]
