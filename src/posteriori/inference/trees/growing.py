"""Trees from rows: the columns are binned once, and one compiled grower serves all criteria."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees.bins import Bins, apply_bins, learn_bins
from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.growth import grow_packed, grow_sums
from posteriori.inference.trees.keys import HALF, LOWER
from posteriori.inference.trees.nodes import (
    COLUMN,
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
from posteriori.inference.trees.profiles import Profile, Sums, empty_profile
from posteriori.inference.trees.scores import NEWTON
from posteriori.inference.trees.whole_sums import add_packed, pack_loss
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
    "grow_tree",
    "loss_sums",
    "make_rules",
    "moment_sums",
    "new_slots",
    "new_trees",
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
    rows: Any,
    *,
    n_sums: int,
    seed: int = 1,
    pool: ThreadPoolExecutor | None = None,
) -> GrownTree:
    """Return the tree that grows from some of the rows.

    Parameters
    ----------
    binned : BinnedRows
    sums : Sums
    rules : Rules
    rows : (n,) of int32
        Which rows, in order; overwritten.
    n_sums : int
        K for classes, 3 for moments, 2 for a loss.
    seed : int
        From 1 to 2³¹ − 2; of the columns that are tried in each node.
    pool : ThreadPoolExecutor, optional
        Of two threads or more.
    """
    bins, table = binned.bins, binned.table
    weight = sums.weight[rows].sum() if len(sums.weight) else np.inf
    count = largest_tree(rules, len(rows), weight)
    tree = new_tree(rows, count, len(bins.n_levels), seed)
    profile = empty_profile(int(bins.sizes.max()), n_sums)
    if len(sums.packed):
        of_nodes = _grow_packed(table, tree, sums, rules, profile, pool)
    else:
        of_nodes = np.empty((count, n_sums))
        grow_sums(table, tree, sums, of_nodes, rules, profile)
    return _as_grown(bins, table, tree, of_nodes[: tree.state[NODES]])


def _grow_packed(
    table: Table,
    tree: Tree,
    sums: Sums,
    rules: Rules,
    profile: Profile,
    pool: ThreadPoolExecutor | None,
) -> Array:
    """Grow a tree over whole numbers; return the sums of its nodes, (M, 2)."""
    slots = new_slots(len(tree.nodes) if rules.criterion == NEWTON else 0, table)
    units = sums.slope_unit, sums.curvature_unit
    given = table, tree, sums.packed, slots, *units, rules
    room = profile.places, profile.keys, profile.goes_left
    most, added = MANY_ROWS if pool is not None else len(tree.rows), False
    while grow_packed(*given, *room, most, added):
        add_beside(table, tree, slots, sums.packed, pool)
        added = True
    whole = tree.nodes[:, WHOLE]
    return np.stack([(whole & LOWER) * units[1], (whole >> HALF) * units[0]], axis=1)


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


def _as_grown(bins: Bins, table: Table, tree: Tree, sums: Array) -> GrownTree:
    nodes = tree.nodes[: len(sums)]
    inner = nodes[:, LEFT] >= 0
    written = new_trees(1, len(nodes), int(bins.n_levels[nodes[inner, COLUMN]].sum()), bins)
    write_tree(table, tree, 0, 0, written)
    trees = Trees(*written[:-1], written[-1][:1])
    gain = np.where(inner, tree.gain[: len(nodes)], 0.0)
    return GrownTree(trees, sums, gain, tree.rows, nodes[:, START], nodes[:, STOP])


def new_trees(trees: int, nodes: int, marks: int, bins: Bins) -> tuple[Any, ...]:
    """Return the arrays of so many :class:`Trees`, to write to; ``roots`` has an end, too."""
    column, left, right, subset = (np.empty(nodes, dtype=np.int32) for _ in range(4))
    missing_left, levels = (np.empty(size, dtype=np.bool_) for size in (nodes, marks))
    roots, threshold = np.zeros(trees + 1, dtype=np.int64), np.empty(nodes)
    return column, threshold, left, right, missing_left, subset, levels, bins.n_levels, roots
