"""Trees from rows: the columns are binned once, and one compiled grower serves all criteria."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees.bins import Bins, apply_bins, learn_bins
from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.grower.growth import grow_packed
from posteriori.inference.trees.grower.keys import HALF, LOWER
from posteriori.inference.trees.grower.many_trees import TreeGrower, new_trees, written_trees
from posteriori.inference.trees.grower.nodes import (
    LEFT,
    NODES,
    SLOT,
    START,
    STOP,
    UNBOUNDED,
    WAITING,
    WHOLE,
    Rules,
    Table,
    Tree,
    largest_tree,
    new_tree,
    write_tree,
)
from posteriori.inference.trees.grower.profiles import Sums, empty_profile
from posteriori.inference.trees.grower.whole_sums import add_packed, pack_loss
from posteriori.inference.trees.scores import NEWTON
from posteriori.numerics.compilation import as_kernel_indices, as_kernel_input
from posteriori.numerics.threads import run_beside
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "MANY_ROWS",
    "BinnedRows",
    "GrownTree",
    "add_beside",
    "bin_rows",
    "class_sums",
    "grow_one",
    "grow_tree",
    "grower_of",
    "loss_sums",
    "make_rules",
    "moment_sums",
    "new_slots",
    "two_class_sums",
]

#: From this many rows on, whole numbers are added up by several threads.
MANY_ROWS = 8192

#: More questions than lead to any leaf, and more columns than a table has.
_NO_LIMIT = 1 << 30

#: What is not added up.
_NOTHING = np.zeros(0)

#: … of codes.
_NO_CODES = np.zeros(0, dtype=np.int64)


class BinnedRows(NamedTuple):
    """Rows of a table as bins.

    Attributes
    ----------
    bins : Bins
    codes : (N, D)
        The bin of each entry.
    """

    bins: Bins
    codes: Any

    @property
    def table(self) -> Table:
        """The same, for compiled loops."""
        bins = self.bins
        first_cell = bins.starts + np.arange(len(bins.starts))
        ends = as_kernel_input(bins.low), as_kernel_input(bins.high)
        return Table(self.codes, first_cell, as_kernel_indices(bins.n_levels), *ends)


class GrownTree(NamedTuple):
    """A tree with what its nodes were grown from.

    Attributes
    ----------
    trees : Trees
        This one.
    sums : (M, S)
        Over the rows of each node.
    gain : (M,)
        Of each split; 0 in leaves.
    rows : (N,)
        Rows in the order of leaves.
    start, stop : (M,)
        Which of these a node has.
    """

    trees: Trees
    sums: Array
    gain: Array
    rows: Any
    start: IntArray
    stop: IntArray

    def leaf_of_rows(self, size: int) -> IntArray:
        """Return the leaf of each of ``size`` rows, −1 for those that it was not grown from."""
        leaf_of = np.full(size, -1, dtype=np.int64)
        leaves = np.flatnonzero(self.trees.is_leaf)
        leaves = leaves[np.argsort(self.start[leaves], kind="stable")]
        leaf_of[self.rows] = np.repeat(leaves, self.stop[leaves] - self.start[leaves])
        return leaf_of


def bin_rows(
    x: Array,
    n_levels: IntArray,
    max_bins: int | None = 255,
    frequency: Array | None = None,
    pool: ThreadPoolExecutor | None = None,
) -> BinnedRows:
    """Return rows in bins that are learned from them; see :func:`learn_bins`, :func:`apply_bins`."""
    bins = learn_bins(x, n_levels, max_bins, frequency, pool)
    return BinnedRows(bins, apply_bins(bins, x))


def class_sums(codes: IntArray, weight: Array) -> Sums:
    """Return what is added up for classes: the weights of each."""
    codes = np.ascontiguousarray(codes, dtype=np.int64)
    return Sums(codes, _NOTHING, np.ascontiguousarray(weight), _NO_CODES, 1.0, 1.0)


def two_class_sums(codes: IntArray, counts: IntArray) -> Sums:
    """Return what is added up for two classes by Gini's impurity: both and the second, exactly.

    Parameters
    ----------
    codes : (N,)
        0 or 1.
    counts : (N,)
        How often each row is there; fewer than 2³¹ in all.
    """
    packed = counts + ((counts * codes) << HALF)
    return Sums(_NO_CODES, _NOTHING, counts.astype(np.float64), packed, 1.0, 1.0)


def moment_sums(y: Array, weight: Array) -> Sums:
    """Return what is added up for numbers: weights, totals and squares."""
    return Sums(
        _NO_CODES, np.ascontiguousarray(y), np.ascontiguousarray(weight), _NO_CODES, 1.0, 1.0
    )


def loss_sums(slope: Array, curvature: Array) -> Sums:
    """Return what is added up for a loss: slopes and curvatures in whole numbers, whose sums are exact.

    Parameters
    ----------
    slope : (N,)
    curvature : (N,)
        Not negative.
    """
    packed, units = np.empty(len(slope), dtype=np.int64), np.empty(2)
    pack_loss(slope, curvature, np.arange(len(slope), dtype=np.int32), packed, units)
    return Sums(_NO_CODES, _NOTHING, _NOTHING, packed, *units.tolist())


def make_rules(
    criterion: int,
    prior: Any = (0.0,),
    *,
    max_depth: int | None = None,
    max_leaves: int | None = None,
    min_weight: float = 1.0,
    min_gain: float = 0.0,
    max_features: int = _NO_LIMIT,
) -> Rules:
    """Return the rules of a growth; None is no limit."""
    return Rules(
        int(criterion),
        np.asarray(prior, dtype=np.float64),
        _NO_LIMIT if max_depth is None else min(int(max_depth), _NO_LIMIT),
        UNBOUNDED if max_leaves is None else min(int(max_leaves), UNBOUNDED),
        float(min_weight),
        float(min_gain),
        int(max_features),
    )


def grow_tree(
    binned: BinnedRows,
    sums: Sums,
    rules: Rules,
    *,
    n_sums: int,
    seed: int = 1,
    pool: ThreadPoolExecutor | None = None,
) -> GrownTree:
    """Return the tree that grows from the rows whose weight is not 0.

    Parameters
    ----------
    binned : BinnedRows
    sums : Sums
    rules : Rules
    n_sums : int
        K for classes, 3 for moments, 2 for a loss.
    seed : int
        From 1 to 2³¹ − 2; of the columns that are tried in each node.
    pool : ThreadPoolExecutor, optional
        Of two threads or more.
    """
    if len(sums.packed):
        return _grow_packed(binned, sums, rules, seed, pool)
    grower = grower_of(binned, sums, rules, n_sums=n_sums, weight=float(sums.weight.sum()))
    return grow_one(grower, sums.weight, seed)


def grower_of(
    binned: BinnedRows, sums: Sums, rules: Rules, *, n_sums: int, weight: float
) -> TreeGrower:
    """Return room for trees of these rows, whose weights add up to so much at most."""
    return TreeGrower(binned.bins, binned.table, sums, rules, n_sums=n_sums, weight=weight)


def grow_one(grower: TreeGrower, weight: Array, seed: int = 1) -> GrownTree:
    """Return the tree of some weights (N,)."""
    found = grower.grow(weight[None], np.array([seed]))
    return _as_grown(grower.room, found.trees, found.sums)


def _as_grown(tree: Tree, trees: Trees, sums: Array) -> GrownTree:
    nodes = tree.nodes[: len(sums)]
    gain = np.where(nodes[:, LEFT] >= 0, tree.gain[: len(sums)], 0.0)
    start, stop = nodes[:, START].copy(), nodes[:, STOP].copy()
    return GrownTree(trees, sums, gain, tree.rows[: stop[0]], start, stop)


def _grow_packed(
    binned: BinnedRows, sums: Sums, rules: Rules, seed: int, pool: ThreadPoolExecutor | None
) -> GrownTree:
    """Grow a tree over whole numbers, whose sums threads divide."""
    bins, table, size = binned.bins, binned.table, len(sums.packed)
    rows = np.arange(size, dtype=np.int32)
    count = largest_tree(rules, size, sums.weight.sum() if len(sums.weight) else np.inf)
    tree = new_tree(rows, count, len(bins.n_levels), seed)
    slots = new_slots(count if rules.criterion == NEWTON else 0, table)
    units, room = (sums.slope_unit, sums.curvature_unit), empty_profile(int(bins.sizes.max()), 0)
    given = table, tree, sums.packed, slots, *units, rules, room.places, room.keys, room.goes_left
    most, added = MANY_ROWS if pool is not None else size, False
    while grow_packed(*given, most, added):
        add_beside(table, tree, slots, sums.packed, pool)
        added = True
    written = new_trees(1, count, count // 2 * int(bins.n_levels.max(initial=0)), bins)
    write_tree(table, tree, 0, 0, written)
    whole = tree.nodes[: tree.state[NODES], WHOLE]
    of_nodes = np.stack([(whole & LOWER) * units[1], (whole >> HALF) * units[0]], axis=1)
    return _as_grown(tree, written_trees(written, 1), of_nodes)


def new_slots(nodes: int, table: Table) -> IntArray:
    """Return room for the whole numbers of the open leaves of a tree of so many nodes; none of 0."""
    return np.empty((nodes // 2 + 2 if nodes else 0, int(table.first_cell[-1])), dtype=np.int64)


def add_beside(
    table: Table, tree: Tree, slots: IntArray, packed: IntArray, pool: ThreadPoolExecutor | None
) -> None:
    """Add up the whole numbers of the node that waits, half of its rows in another thread."""
    node = tree.nodes[tree.state[WAITING]]
    rows, slot = tree.rows[node[START] : node[STOP]], slots[node[SLOT]]
    other, half = np.zeros_like(slot), len(rows) // 2
    jobs = [
        (table.bins, table.first_cell, part, packed, to)
        for part, to in ((rows[:half], slot), (rows[half:], other))
    ]
    run_beside(add_packed, jobs, pool)
    slot += other
