"""Trees one after another from weighted rows, in one compiled call: grown, and written to flat arrays.

A forest gives each tree weights of its own, a bootstrap sample; what grows alone is a forest of one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees.bins import Bins
from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.grower.growth import grow_packed, grow_sums
from posteriori.inference.trees.grower.keys import HALF, LOWER
from posteriori.inference.trees.grower.nodes import (
    COLUMN,
    LEFT,
    NODES,
    RANDOM,
    WHOLE,
    Rules,
    Table,
    Tree,
    largest_tree,
    new_tree,
    write_tree,
)
from posteriori.inference.trees.grower.profiles import Profile, Sums, empty_profile
from posteriori.inference.trees.scores import GINI_OF_TWO
from posteriori.numerics.compilation import as_kernel_indices, as_kernel_input, kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["ManyTrees", "TreeGrower", "new_trees", "written_trees"]

#: Two classes are counted for each column, as their trees are deep: no slots.
_NO_SLOTS = np.zeros((0, 0), dtype=np.int64)


class ManyTrees(NamedTuple):
    """Trees that have grown.

    Attributes
    ----------
    trees : Trees
    sums : (M, S)
        Over the rows of each node.
    gain : (D,)
        What splits of each column gained.
    """

    trees: Trees
    sums: Array
    gain: Array


class TreeGrower:
    """Room for trees that are grown one after another, and what they are grown from.

    Parameters
    ----------
    bins : Bins
    table : Table
    sums : Sums
        Its weights are not looked at.
    rules : Rules
    n_sums : int
        K for classes, 3 for moments, 2 for two classes in whole numbers.
    weight : float
        The most that the weights of a tree add up to.
    """

    def __init__(
        self, bins: Bins, table: Table, sums: Sums, rules: Rules, *, n_sums: int, weight: float
    ) -> None:
        rows = np.empty(len(table.bins), dtype=np.int32)
        self.bins, self.table, self.rules = bins, table, rules
        self.codes, self.y = as_kernel_indices(sums.codes), as_kernel_input(sums.y)
        self.n_sums, self.largest = n_sums, largest_tree(rules, len(rows), weight)
        self.room = new_tree(rows, self.largest, len(bins.n_levels), 1)
        self.profile = empty_profile(int(bins.sizes.max()), n_sums)

    def grow(self, weights: Array, seeds: IntArray) -> ManyTrees:
        """Return a tree for each of the weights.

        Parameters
        ----------
        weights : (T, N)
            Rows of weight 0 are not there; whole numbers where whole numbers are added up.
        seeds : (T,)
            From 1 to 2³¹ − 2; of the columns that are tried in each node.
        """
        count, nodes = len(seeds), len(seeds) * self.largest
        marks = count * (self.largest // 2) * int(self.bins.n_levels.max(initial=0))
        written = new_trees(count, nodes, marks, self.bins)
        of_nodes, gain = np.empty((nodes, self.n_sums)), np.zeros(len(self.bins.n_levels))
        weights = as_kernel_input(weights)
        rest = (
            as_kernel_indices(seeds),
            self.rules,
            self.room,
            self.profile,
            written,
            of_nodes,
            gain,
        )
        if self.rules.criterion == GINI_OF_TWO:
            packed = np.empty(weights.shape[1], dtype=np.int64)
            _grow_two_classes(self.table, self.codes, packed, _NO_SLOTS, weights, *rest)
        else:
            _grow_trees(self.table, self.codes, self.y, weights, *rest)
        trees = written_trees(written, count)
        return ManyTrees(trees, of_nodes[: len(trees.column)].copy(), gain)


def new_trees(trees: int, nodes: int, marks: int, bins: Bins) -> tuple[Any, ...]:
    """Return the arrays of so many :class:`Trees`, to write to; ``roots`` has an end, too."""
    column, left, right, subset = (np.empty(nodes, dtype=np.int32) for _ in range(4))
    missing_left, levels = (np.empty(size, dtype=np.bool_) for size in (nodes, marks))
    roots, threshold = np.zeros(trees + 1, dtype=np.int64), np.empty(nodes)
    return column, threshold, left, right, missing_left, subset, levels, bins.n_levels, roots


def written_trees(arrays: tuple[Any, ...], count: int) -> Trees:
    """Return the first trees of arrays from :func:`new_trees`; the rest of these is let go."""
    *of_nodes, levels, n_levels, roots = arrays
    size, marks = int(roots[count]), 0
    column, threshold, left, right, missing_left, subset = (a[:size].copy() for a in of_nodes)
    if len(levels):
        marks = int(np.where(subset >= 0, subset + n_levels[column], 0).max(initial=0))
    marked = levels[:marks].copy()
    return Trees(
        column, threshold, left, right, missing_left, subset, marked, n_levels, roots[:count]
    )


@kernel(allocates=False)
def _grow_trees(
    table: Table,
    codes: Any,
    y: Any,
    weights: Any,
    seeds: Any,
    rules: Rules,
    room: Tree,
    profile: Profile,
    trees: Any,
    of_nodes: Any,
    gain: Any,
) -> None:
    marks: Any = np.int64(
        0
    )  # of one type from the first call on: no part is compiled for a constant
    for t in range(len(seeds)):
        tree, weight = _begin(room, weights[t], seeds[t]), weights[t]
        grow_sums(table, tree, codes, y, weight, of_nodes[trees[8][t] :], rules, profile)
        marks = write_tree(table, tree, t, marks, trees)
        _add_gains(tree, gain)


@kernel(allocates=False)
def _grow_two_classes(
    table: Table,
    codes: Any,
    packed: Any,
    slots: Any,
    weights: Any,
    seeds: Any,
    rules: Rules,
    room: Tree,
    profile: Profile,
    trees: Any,
    of_nodes: Any,
    gain: Any,
) -> None:
    """Grow over whole numbers: how often a row is there, in the upper half again if of the second class."""
    marks: Any = np.int64(0)
    spots = profile.places, profile.keys, profile.goes_left
    for t in range(len(seeds)):
        tree = _begin(room, weights[t], seeds[t])
        for n in range(len(packed)):
            count = np.int64(weights[t, n])
            packed[n] = count + ((count * codes[n]) << HALF)
        grow_packed(table, tree, packed, slots, 1.0, 1.0, rules, *spots, len(packed), False)
        for i in range(tree.state[NODES]):
            whole = tree.nodes[i, WHOLE]
            of_nodes[trees[8][t] + i, 0] = whole & LOWER
            of_nodes[trees[8][t] + i, 1] = whole >> HALF
        marks = write_tree(table, tree, t, marks, trees)
        _add_gains(tree, gain)


@kernel(called="kernels")
def _begin(room: Tree, weight: Any, seed: int) -> Tree:
    """Return a tree that has not begun, of the rows that are there."""
    seen = 0
    for n in range(len(weight)):
        room.rows[seen] = n
        seen += weight[n] > 0.0
    room.state[NODES], room.state[RANDOM] = 0, seed
    return Tree(room.nodes, room.gain, room.rows[:seen], room.other, room.columns, room.state)


@kernel(called="kernels")
def _add_gains(tree: Tree, gain: Any) -> None:
    for i in range(tree.state[NODES]):
        if tree.nodes[i, LEFT] >= 0:
            gain[tree.nodes[i, COLUMN]] += tree.gain[i]
