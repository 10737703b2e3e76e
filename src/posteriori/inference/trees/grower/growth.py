"""The growth of one tree in compiled loops: the best open leaf is split until no split gains.

There are two: over sums of any criterion, and over whole numbers, which may be kept by bins, so that the
larger of two leaves is what the smaller one leaves of their parent.
"""

from __future__ import annotations

from typing import Any

from posteriori.inference.trees.grower.keys import HALF, LOWER
from posteriori.inference.trees.grower.nodes import (
    COLUMN,
    DEPTH,
    FREE,
    LEFT,
    NODES,
    SIBLING,
    SLOT,
    START,
    STOP,
    WAITING,
    WHOLE,
    Rules,
    Table,
    Tree,
    begin_tree,
    draw_column,
    mark_left,
    next_leaf,
    note_split,
    split_rows,
)
from posteriori.inference.trees.grower.profiles import Profile, profile_column, sum_node
from posteriori.inference.trees.grower.splits import NOTHING, best_division
from posteriori.inference.trees.grower.whole_sums import (
    add_packed,
    best_packed_cut,
    list_cells,
    list_rows,
    slope_score,
    sort_levels,
)
from posteriori.inference.trees.scores import GINI_OF_TWO, TIE, is_pure, score_of, weight_of
from posteriori.numerics.compilation import kernel

__all__ = ["grow_packed", "grow_sums"]


# -- over sums -----------------------------------------------------------------------------------


@kernel(called="kernels")
def grow_sums(
    table: Table,
    tree: Tree,
    codes: Any,
    y: Any,
    weight: Any,
    of_nodes: Any,
    rules: Rules,
    profile: Profile,
) -> None:
    """Grow a tree, with the sums (M, S) of its nodes."""
    state, nodes = tree.state, tree.nodes
    begin_tree(tree)
    sum_node(codes, y, weight, tree.rows, of_nodes[0])
    while True:
        for leaf in (state[WAITING], state[SIBLING]):
            if leaf >= 0:
                _find_split(table, tree, codes, y, weight, of_nodes[leaf], rules, profile, leaf)
        node = next_leaf(nodes, tree.gain, state, rules.max_leaves)
        if node < 0:
            return
        _mark_split(table, tree, codes, y, weight, of_nodes[node], rules, profile, node)
        split_rows(table.bins, tree, profile.goes_left, node, rules)
        for leaf in range(state[NODES] - 2, state[NODES]):
            rows = tree.rows[nodes[leaf, START] : nodes[leaf, STOP]]
            sum_node(codes, y, weight, rows, of_nodes[leaf])


@kernel(called="kernels")
def _mark_split(
    table: Table,
    tree: Tree,
    codes: Any,
    y: Any,
    weight: Any,
    total: Any,
    rules: Rules,
    profile: Profile,
    node: int,
) -> None:
    """Mark the bins that go left; the order of levels is found anew, as other columns came after it."""
    nodes, j, length = tree.nodes, tree.nodes[node, COLUMN], 0
    size, levels = table.first_cell[j + 1] - table.first_cell[j] - 1, table.n_levels[j]
    if levels > 0:
        rows = tree.rows[nodes[node, START] : nodes[node, STOP]]
        length = profile_column(table.bins, j, size, rows, codes, y, weight, profile)
        length = best_division(rules, profile, length, size, total, levels)[0]
    mark_left(nodes[node], profile.places, length, size, levels, profile.goes_left)


@kernel(called="kernels")
def _find_split(
    table: Table,
    tree: Tree,
    codes: Any,
    y: Any,
    weight: Any,
    total: Any,
    rules: Rules,
    profile: Profile,
    node: int,
) -> None:
    nodes, columns = tree.nodes, tree.columns
    if not _may_split(nodes[node], rules, weight_of(rules.criterion, total)):
        return
    if is_pure(rules.criterion, total):
        return
    rows = tree.rows[nodes[node, START] : nodes[node, STOP]]
    own = score_of(rules.criterion, rules.prior, total)
    slack = TIE * abs(own)
    best, tried = own + _least_gain(rules, slack), 0
    for c in range(len(columns)):
        if rules.max_features < len(columns):
            draw_column(columns, tree.state, c)
        j = columns[c]
        size, levels = table.first_cell[j + 1] - table.first_cell[j] - 1, table.n_levels[j]
        length = profile_column(table.bins, j, size, rows, codes, y, weight, profile)
        length, score, at, left = best_division(rules, profile, length, size, total, levels)
        tried += at != NOTHING
        if score > best + slack:
            best, tree.gain[node] = score, score - own
            note_split(nodes[node], j, profile.places, length, size, at, left, levels)
        if tried == rules.max_features:
            return


@kernel(called="kernels")
def _may_split(node: Any, rules: Rules, weight: float) -> bool:
    return (
        node[DEPTH] < rules.max_depth
        and node[STOP] - node[START] > 1
        and weight >= 2.0 * rules.min_weight
    )


@kernel(called="kernels")
def _least_gain(rules: Rules, slack: float) -> float:
    return rules.min_gain if rules.min_gain < 0.0 else max(rules.min_gain, slack)


# -- over whole numbers --------------------------------------------------------------------------


@kernel(allocates=False)
def grow_packed(
    table: Table,
    tree: Tree,
    packed: Any,
    slots: Any,
    slope: float,
    curvature: float,
    rules: Rules,
    places: Any,
    values: Any,
    goes_left: Any,
    most: int,
    added: bool,
) -> bool:
    """Grow until the tree is done (False), or until more than ``most`` rows are to be added up (True).

    Then ``add_packed`` of the rows of node ``state[WAITING]`` to its slot is left to the caller, who
    may divide the rows among threads, and says by ``added`` that it is done.

    Parameters
    ----------
    table : Table
    tree : Tree
    packed : (N,)
        Whole numbers of the rows.
    slots : (C, cells)
        Room for those of open leaves, by bins; without it they are added up for each column.
    slope, curvature : float
        What the two halves are multiplied by.
    rules : Rules
    places, values, goes_left : (B,)
        Room, as in :class:`Profile`.
    most : int
    added : bool
    """
    nodes, state = tree.nodes, tree.state
    if state[NODES] == 0:
        begin_tree(tree)
        nodes[0, WHOLE] = _sum_rows(tree.rows, packed)
        if len(slots):
            _take_slot(nodes, state, slots, state[WAITING])
    while True:
        node = state[WAITING]
        if node >= 0:
            rows = tree.rows[nodes[node, START] : nodes[node, STOP]]
            if nodes[node, SLOT] >= 0 and not added:
                if len(rows) > most:
                    return True
                add_packed(table.bins, table.first_cell, rows, packed, slots[nodes[node, SLOT]])
            _open_leaves(table, tree, packed, slots, slope, curvature, rules, places, values, node)
        added = False
        node = next_leaf(nodes, tree.gain, state, rules.max_leaves)
        if node < 0:
            return False
        _split(table, tree, packed, slots, rules, places, values, goes_left, node)


@kernel(called="kernels")
def _sum_rows(rows: Any, packed: Any) -> int:
    total = 0
    for i in range(len(rows)):
        total += packed[rows[i]]
    return total


@kernel(called="kernels")
def _take_slot(nodes: Any, state: Any, slots: Any, node: int) -> None:
    nodes[node, SLOT] = state[FREE]
    slots[state[FREE]] = 0
    state[FREE] += 1


@kernel(called="kernels")
def _open_leaves(
    table: Table,
    tree: Tree,
    packed: Any,
    slots: Any,
    slope: float,
    curvature: float,
    rules: Rules,
    places: Any,
    values: Any,
    node: int,
) -> None:
    """Find the splits of the node that waits and of its sibling, whose sums are the parent's less its."""
    nodes, sibling = tree.nodes, tree.state[SIBLING]
    if sibling >= 0 and nodes[node, SLOT] >= 0:
        of_parent, of_node = slots[nodes[sibling, SLOT]], slots[nodes[node, SLOT]]
        for c in range(len(of_node)):
            of_parent[c] -= of_node[c]
    for leaf in (node, sibling):
        if leaf >= 0:
            whole = nodes[leaf, WHOLE]
            pure = whole >> HALF == 0 or whole >> HALF == whole & LOWER
            if pure and rules.criterion == GINI_OF_TWO:
                continue
            if _may_split(nodes[leaf], rules, (whole & LOWER) * curvature):
                _find_packed(
                    table, tree, packed, slots, slope, curvature, rules, places, values, leaf
                )


@kernel(called="kernels")
def _find_packed(
    table: Table,
    tree: Tree,
    packed: Any,
    slots: Any,
    slope: float,
    curvature: float,
    rules: Rules,
    places: Any,
    values: Any,
    node: int,
) -> None:
    nodes, columns, whole = tree.nodes, tree.columns, tree.nodes[node, WHOLE]
    ridge, least = rules.prior[0], rules.min_weight
    own = slope_score(whole, slope, curvature, ridge)
    slack = TIE * own
    best, tried = own + _least_gain(rules, slack), 0
    for c in range(len(columns)):
        if rules.max_features < len(columns):
            draw_column(columns, tree.state, c)
        j = columns[c]
        length, missing = _list_node(table, tree, packed, slots, places, values, node, j)
        if length + (missing != 0) < 2:
            continue
        score, at, left = best_packed_cut(
            values, length, missing, whole, slope, curvature, ridge, least
        )
        tried += 1
        if score > best + slack:
            best, tree.gain[node] = score, score - own
            size, levels = table.first_cell[j + 1] - table.first_cell[j] - 1, table.n_levels[j]
            for i in range(length if levels > 0 else 0):
                left = i <= at if places[i] == size else left
            note_split(nodes[node], j, places, length, size, at, left, levels)
        if tried == rules.max_features:
            return


@kernel(called="inlined")
def _list_node(
    table: Table,
    tree: Tree,
    packed: Any,
    slots: Any,
    places: Any,
    values: Any,
    node: int,
    j: int,
) -> tuple[int, int]:
    """List whole numbers of a node by the bins of column j, levels by their means; gaps are a level."""
    first, slot = table.first_cell[j], tree.nodes[node, SLOT]
    size = table.first_cell[j + 1] - first - 1
    if slot >= 0:
        length, missing = list_cells(slots[slot, first : first + size + 1], size, places, values)
    else:
        rows = tree.rows[tree.nodes[node, START] : tree.nodes[node, STOP]]
        length, missing = list_rows(table.bins, j, size, rows, packed, places, values)
    if table.n_levels[j] > 0:
        if missing != 0:
            places[length], values[length] = size, missing
            length += 1
            missing = 0
        sort_levels(length, places, values)
    return length, missing


@kernel(called="kernels")
def _split(
    table: Table,
    tree: Tree,
    packed: Any,
    slots: Any,
    rules: Rules,
    places: Any,
    values: Any,
    goes_left: Any,
    node: int,
) -> None:
    """Divide the rows of a node between two new leaves, and its whole number."""
    nodes, state, j, length = tree.nodes, tree.state, tree.nodes[node, COLUMN], 0
    first, levels, slot = table.first_cell[j], table.n_levels[j], tree.nodes[node, SLOT]
    size = table.first_cell[j + 1] - first - 1
    if levels > 0:
        length, _ = _list_node(table, tree, packed, slots, places, values, node, j)
    mark_left(nodes[node], places, length, size, levels, goes_left)
    split_rows(table.bins, tree, goes_left, node, rules)
    left, whole = nodes[node, LEFT], 0
    if slot >= 0:
        for b in range(size + 1):
            whole += slots[slot, first + b] if goes_left[b] else 0
        if state[WAITING] >= 0:
            nodes[state[SIBLING], SLOT] = slot
            _take_slot(nodes, state, slots, state[WAITING])
    else:
        whole = _sum_rows(tree.rows[nodes[left, START] : nodes[left, STOP]], packed)
    nodes[left, WHOLE], nodes[left + 1, WHOLE] = whole, nodes[node, WHOLE] - whole
