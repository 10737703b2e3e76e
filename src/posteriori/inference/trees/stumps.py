r"""The best single cut of two classes, over and over with new weights of the rows.

Row n has the signed weight :math:`s_n = d_n y_n`, y = ±1. A cut with the sums :math:`S_l, S_r` of s and
:math:`W_l, W_r` of d on its two sides, each side voting for its heavier class, has

.. math:: 1 - 2\varepsilon = |S_l| + |S_r| \ge |S_l - S_r|
   \qquad\text{and}\qquad
   -\sum_m W_m Q_m = \tfrac12\left(\frac{S_l^2}{W_l} + \frac{S_r^2}{W_r} - W\right)

for its weighted error ε and its Gini impurity Q. So all that a round needs are sums of s and d by bins,
and the work that does not depend on the weights is done once: columns of few bins keep the bin of each
row, columns of many keep their rows in order.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees.bins import Bins, midway
from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.growing import BinnedRows
from posteriori.inference.trees.scores import GINI
from posteriori.inference.trees.splits import TIE
from posteriori.inference.trees.stump_cuts import find_cuts
from posteriori.numerics.threads import run_beside
from posteriori.numerics.types import Array, IntArray

__all__ = ["Stump", "StumpColumns", "find_stump", "find_stumps", "prepare_stumps"]

#: From this many entries on, columns are divided among threads.
_MANY_ENTRIES = 200_000


class StumpColumns(NamedTuple):
    """Columns of numbers, ready for any weights.

    Attributes
    ----------
    bins : Bins
    codes : (D, N), or (D, 0) where rows are in order
        The bin of each row.
    rows : (D, N) of int32, or (D, 0) where bins are kept
        Rows by their bins; those whose entry is missing come last.
    ends : (B,) of int32
        After how many of these each bin ends.
    gaps : (D,)
        Whether entries are missing.
    """

    bins: Bins
    codes: Any
    rows: Any
    ends: IntArray
    gaps: Any

    @property
    def size(self) -> int:
        """How many rows there are."""
        return max(self.codes.shape[1], self.rows.shape[1])


class Stump(NamedTuple):
    """A tree of one cut, or of none.

    Attributes
    ----------
    trees : Trees
        As a tree: the root, the left and the right leaf.
    classes : (M,)
        The class of each node, 0 or 1.
    predicted : (N,)
        The class that each row is given.
    """

    trees: Trees
    classes: IntArray
    predicted: Any


def prepare_stumps(binned: BinnedRows) -> StumpColumns:
    """Return columns in the form that suits the number of their bins.

    Parameters
    ----------
    binned : BinnedRows
        Of columns that are all numbers.
    """
    bins, codes = binned.bins, binned.codes
    gaps = (codes == bins.sizes).any(axis=0)
    columns, ends = codes.shape[1], np.zeros(int(bins.starts[-1]), dtype=np.int32)
    if codes.dtype == np.uint8:
        no_rows = np.zeros((columns, 0), dtype=np.int32)
        return StumpColumns(bins, np.ascontiguousarray(codes.T), no_rows, ends, gaps)
    rows = np.empty((columns, len(codes)), dtype=np.int32)
    for j in range(columns):
        mine = slice(bins.starts[j], bins.starts[j + 1])
        rows[j] = np.argsort(codes[:, j], kind="stable")
        counts = np.bincount(codes[:, j], minlength=bins.sizes[j] + 1)
        ends[mine] = np.cumsum(counts)[:-1]
    return StumpColumns(bins, np.zeros((columns, 0), dtype=np.uint8), rows, ends, gaps)


def find_stump(
    columns: StumpColumns,
    signed: Array,
    criterion: int,
    pool: ThreadPoolExecutor | None = None,
) -> Stump:
    """Return the cut that is best for the weights; ties go to the first.

    Parameters
    ----------
    columns : StumpColumns
    signed : (N,)
        Weights, negative for rows of the first class.
    criterion : {ERROR, GINI}
    pool : ThreadPoolExecutor, optional
        Of two threads or more.

    Notes
    -----
    O(ND).
    """
    found = _find_all(columns, signed, criterion, pool)
    return _as_stump(columns, signed, found, _first_best(found.scores))


def find_stumps(
    columns: StumpColumns,
    signed: Array,
    criterion: int,
    pool: ThreadPoolExecutor | None = None,
) -> list[Stump]:
    """Return the best cut of each column, the best of all first; as :func:`find_stump`."""
    found = _find_all(columns, signed, criterion, pool)
    best = _first_best(found.scores)
    others = [j for j in range(len(found.scores)) if j != best and found.cuts[j] >= 0]
    return [_as_stump(columns, signed, found, j) for j in (best, *others)]


class _Cuts(NamedTuple):
    """The best cut of each column: its worth, the bin before it (−1: none), and where gaps go."""

    scores: Array
    cuts: IntArray
    missing_left: Any


def _find_all(
    columns: StumpColumns, signed: Array, criterion: int, pool: ThreadPoolExecutor | None
) -> _Cuts:
    d = len(columns.bins.n_levels)
    found = _Cuts(np.empty(d), np.empty(d, np.int64), np.empty(d, np.bool_))
    parts = 2 if pool is not None and d * columns.size >= _MANY_ENTRIES else 1
    limits = [d * part // parts for part in range(parts + 1)]
    longest = int(columns.bins.sizes.max()) + 1
    same = (*columns[1:], columns.bins.starts, signed, criterion == GINI)
    jobs = [
        (*same, first, last, np.empty((longest, 2)), *found) for first, last in pairwise(limits)
    ]
    run_beside(find_cuts, jobs, pool if parts > 1 else None)
    return found


def _first_best(scores: Array) -> int:
    """Return the first column that no other is better than, beyond rounding."""
    best = 0
    for j in range(1, len(scores)):
        if scores[j] > scores[best] + TIE * abs(scores[best]):
            best = j
    return best


def _as_stump(columns: StumpColumns, signed: Array, found: _Cuts, j: int) -> Stump:
    bins, cut, missing_left = columns.bins, int(found.cuts[j]), bool(found.missing_left[j])
    if cut < 0:
        trees = _tree(bins, [-1], [np.nan], [False])
        label = int(signed.sum() > 0.0)
        return Stump(trees, np.array([label]), np.full(columns.size, label, dtype=np.int8))
    start, size = int(bins.starts[j]), int(bins.sizes[j])
    last = cut + 1 >= size  # only gaps are on the other side
    threshold = np.inf if last else float(midway(bins.high[start + cut], bins.low[start + cut + 1]))
    goes_left = _left_rows(columns, j, cut, missing_left)
    if not columns.gaps[j]:  # what will be missing goes to the heavier side
        weight = np.abs(signed)
        missing_left = bool(2.0 * (weight @ goes_left) >= weight.sum())
    left, total = float(signed @ goes_left), float(signed.sum())
    label = int(total > 0.0), int(left > 0.0), int(total - left > 0.0)
    trees = _tree(bins, [j, -1, -1], [threshold, np.nan, np.nan], [missing_left, False, False])
    predicted = np.where(goes_left, np.int8(label[1]), np.int8(label[2]))
    return Stump(trees, np.array(label), predicted)


def _left_rows(columns: StumpColumns, j: int, cut: int, missing_left: bool) -> Any:
    """Return which rows go left, (N,)."""
    start, size = columns.bins.starts[j], columns.bins.sizes[j]
    if columns.codes.shape[1]:
        codes = columns.codes[j]
        return (codes <= cut) | (codes == size) if missing_left else codes <= cut
    goes_left = np.zeros(columns.size, dtype=np.bool_)
    goes_left[columns.rows[j, : columns.ends[start + cut]]] = True
    goes_left[columns.rows[j, columns.ends[start + size - 1] :]] = missing_left
    return goes_left


def _tree(bins: Bins, column: list[int], threshold: list[float], missing_left: list[bool]) -> Trees:
    inner = np.array(column) >= 0
    none = np.full(len(column), -1)
    return Trees(
        np.array(column),
        np.array(threshold),
        np.where(inner, 1, -1),
        np.where(inner, 2, -1),
        np.array(missing_left),
        none,
        np.zeros(0, dtype=np.bool_),
        bins.n_levels,
        np.zeros(1, dtype=np.int64),
    )
