"""Trees from rows: the columns are binned once, and one compiled grower serves all criteria."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees import growth as growths
from posteriori.inference.trees.bins import Bins, apply_bins, learn_bins, midway
from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.growth import COLUMN, LEFT, START, STOP, Growth
from posteriori.inference.trees.profiles import (
    HALF,
    Sums,
    add_packed,
    empty_profile,
    measure_loss,
    pack_loss,
)
from posteriori.inference.trees.scores import NEWTON
from posteriori.inference.trees.splits import Rules
from posteriori.numerics.threads import in_halves, run_beside
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "BinnedRows",
    "GrownTree",
    "bin_rows",
    "class_sums",
    "grow_tree",
    "loss_sums",
    "make_rules",
    "moment_sums",
    "two_class_sums",
]

#: From this many rows on, whole numbers are added up by several threads.
_MANY_ROWS = 8192

#: More questions than lead to any leaf, and more columns than a table has.
_NO_LIMIT = 1 << 30

#: Bits of the largest slope; fewer where the sum of all would not fit into half a whole number.
_BITS = 20

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


def loss_sums(
    slope: Array, curvature: Array, rows: Any = None, pool: ThreadPoolExecutor | None = None
) -> Sums:
    """Return what is added up for a loss: slopes and curvatures in whole numbers, whose sums are exact.

    Parameters
    ----------
    slope : (N,)
    curvature : (N,)
        Not negative.
    rows : (n,) of int32, optional
        Rows that will be added up; what the others have is not looked at.
    pool : ThreadPoolExecutor, optional
    """
    if rows is None:
        rows = np.arange(len(slope), dtype=np.int32)
    sizes = np.zeros(4)
    measure_loss(slope, curvature, rows, sizes)
    g, h = _unit(sizes[0], sizes[1], HALF - 2), _unit(sizes[2], sizes[3], HALF - 1)
    packed = np.empty(len(slope), dtype=np.int64)
    parts = in_halves(rows, pool)
    run_beside(pack_loss, [(slope, curvature, r, 1.0 / g, 1.0 / h, packed) for r in parts], pool)
    return Sums(_NO_CODES, _NOTHING, _NOTHING, packed, g, h)


def _unit(total: float, largest: float, bits: int) -> float:
    """Return a unit in which a sum of sizes has so many bits, and the largest of them enough."""
    return max(float(total) / 2.0**bits, float(largest) / 2.0**_BITS) or 1.0


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
        growths.UNBOUNDED if max_leaves is None else min(int(max_leaves), growths.UNBOUNDED),
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
    first_cell = binned.bins.starts + np.arange(len(binned.bins.starts))
    weight = sums.weight[rows].sum() if len(sums.weight) else np.inf
    nodes, kept = growths.largest_tree(rules, len(rows), weight), rules.criterion == NEWTON
    growth = growths.new_growth(
        binned.codes,
        first_cell,
        binned.bins.n_levels,
        rows,
        nodes=nodes,
        sums=n_sums,
        slots=nodes // 2 + 2 if kept else 0,
        seed=seed,
    )
    profile = empty_profile(int(binned.bins.sizes.max()), 0 if kept else len(rows), n_sums)
    most, added = _MANY_ROWS if pool is not None else len(rows), False
    while growths.grow(growth, sums, rules, profile, most, added):
        _add_beside(growth, sums, pool)
        added = True
    return _as_tree(binned.bins, growth)


def _add_beside(growth: Growth, sums: Sums, pool: ThreadPoolExecutor | None) -> None:
    """Add up the whole numbers of the node that waits, half of its rows in another thread."""
    node = growth.nodes[growth.state[growths.WAITING]]
    rows, slot = growth.rows[node[START] : node[STOP]], growth.slots[node[growths.SLOT]]
    other, half = np.zeros_like(slot), len(rows) // 2
    same = growth.bins, growth.first_cell
    jobs = [
        (*same, rows[:half], sums.packed, slot),
        (*same, rows[half:], sums.packed, other),
    ]
    run_beside(add_packed, jobs, pool)
    slot += other


def _as_tree(bins: Bins, growth: Growth) -> GrownTree:
    nodes = growth.nodes[: growth.state[growths.NODES]]
    inner = nodes[:, LEFT] >= 0
    column = np.where(inner, nodes[:, COLUMN], -1)
    asks_level = inner & (bins.n_levels[column] > 0)
    sizes = np.where(asks_level, bins.n_levels[column], 0)
    subset = np.where(asks_level, np.cumsum(sizes) - sizes, -1)
    levels = np.zeros(int(sizes.sum()), dtype=np.bool_)
    if len(levels):
        growths.mark_levels(growth, subset, levels)
    threshold = np.full(len(nodes), np.nan)
    cut = inner & ~asks_level
    threshold[cut] = _thresholds(bins, *nodes[cut, : growths.FOLLOWING + 1].T)
    trees = Trees(
        column,
        threshold,
        nodes[:, LEFT],
        nodes[:, growths.RIGHT],
        inner & (nodes[:, growths.MISSING_LEFT] > 0),
        subset,
        levels,
        bins.n_levels,
        np.zeros(1, dtype=np.int64),
    )
    gain = np.where(inner, growth.gain[: len(nodes)], 0.0)
    rows = growth.rows
    return GrownTree(trees, growth.sums[: len(nodes)], gain, rows, nodes[:, START], nodes[:, STOP])


def _thresholds(bins: Bins, column: IntArray, cut: IntArray, following: IntArray) -> Array:
    """Return cuts midway between neighbouring values of a node's rows."""
    starts = bins.starts[column]
    last = following >= bins.sizes[column]  # only gaps are on the other side
    middle = midway(bins.high[starts + cut], bins.low[starts + np.where(last, 0, following)])
    return np.where(last, np.inf, middle)
