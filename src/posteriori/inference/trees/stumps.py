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

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees.bins import Bins, midway
from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.growing import BinnedRows
from posteriori.inference.trees.scores import GINI, TIE
from posteriori.inference.trees.stump_cuts import find_cuts
from posteriori.numerics.threads import run_beside
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "Stump",
    "StumpColumns",
    "count_columns",
    "find_stump",
    "find_stumps",
    "sort_columns",
    "stump_trees",
]

#: From this many entries on, columns are divided among threads.
_MANY_ENTRIES = 200_000


class StumpColumns(NamedTuple):
    """Columns of numbers, ready for any weights: rows by their bins, or in the order of their values.

    Attributes
    ----------
    x : (N, D)
    bins : Bins or None
        None where rows are in order.
    codes : (D, N), or (D, 0) where rows are in order
        The bin of each row.
    rows : (D, N) of int32, or (D, 0) where bins are kept
        Rows by their values; those whose entry is missing come last.
    last : (D, N), or (D, 0)
        Whether the next of these has another value.
    places : (D,)
        How many bins there are, or rows whose entry is not missing.
    gaps : (D,)
        Whether entries are missing.
    """

    x: Array
    bins: Bins | None
    codes: Any
    rows: Any
    last: Any
    places: IntArray
    gaps: Any

    def threshold(self, j: int, cut: int) -> float:
        """Return where a cut is: midway between neighbouring values, ∞ if only gaps follow."""
        if cut + 1 >= self.places[j]:
            return np.inf
        if self.bins is not None:
            return float(self.bins.cuts(j)[cut])
        return float(midway(self.x[self.rows[j, cut], j], self.x[self.rows[j, cut + 1], j]))

    def left_rows(self, j: int, cut: int, missing_left: bool) -> Any:
        """Return which rows go left, (N,)."""
        if self.bins is not None:
            codes = self.codes[j]
            return (codes <= cut) | (codes == self.places[j]) if missing_left else codes <= cut
        goes_left = np.zeros(len(self.x), dtype=np.bool_)
        goes_left[self.rows[j, : cut + 1]] = True
        goes_left[self.rows[j, self.places[j] :]] = missing_left
        return goes_left


class Stump(NamedTuple):
    """A tree of one cut, or of none.

    Attributes
    ----------
    column : int
        −1 without a cut.
    threshold : float
    missing_left : bool
    classes : tuple of int
        The class of the root, and of the leaf on either side: 0 or 1.
    """

    column: int
    threshold: float
    missing_left: bool
    classes: tuple[int, ...]


def stump_trees(stumps: Sequence[Stump], n_columns: int) -> tuple[Trees, IntArray]:
    """Return stumps as trees, root before leaves, with the class of each node (M,)."""
    sizes = np.array([len(stump.classes) for stump in stumps])
    roots = np.cumsum(sizes) - sizes
    cut = roots[sizes > 1]
    column, left, right, subset = np.full((4, sizes.sum()), -1, dtype=np.int32)
    threshold, missing_left = np.full(sizes.sum(), np.nan), np.zeros(sizes.sum(), dtype=np.bool_)
    column[roots] = [stump.column for stump in stumps]
    threshold[roots] = [stump.threshold for stump in stumps]
    missing_left[roots] = [stump.missing_left for stump in stumps]
    left[cut], right[cut] = cut + 1, cut + 2
    levels, none = np.zeros(0, dtype=np.bool_), np.zeros(n_columns, dtype=np.int64)
    trees = Trees(column, threshold, left, right, missing_left, subset, levels, none, roots)
    return trees, np.concatenate([stump.classes for stump in stumps])


def count_columns(x: Array, binned: BinnedRows) -> StumpColumns:
    """Return columns of numbers by bins, of which there are 255 at most.

    Parameters
    ----------
    x : (N, D)
    binned : BinnedRows
    """
    codes, sizes = binned.codes, binned.bins.sizes
    gaps = (codes == sizes).any(axis=0)
    by_column, none = np.ascontiguousarray(codes.T), np.zeros((len(sizes), 0), dtype=np.int32)
    return StumpColumns(x, binned.bins, by_column, none, none.astype(np.bool_), sizes, gaps)


def sort_columns(x: Array, pool: ThreadPoolExecutor | None = None) -> StumpColumns:
    """Return columns of numbers in order, to be cut between any two values.

    Parameters
    ----------
    x : (N, D)
        NaN is missing.
    pool : ThreadPoolExecutor, optional
    """
    n, d = x.shape
    rows, last = np.empty((d, n), dtype=np.int32), np.ones((d, n), dtype=np.bool_)
    places = np.empty(d, dtype=np.int64)

    def sort(j: int) -> None:
        rows[j] = np.argsort(x[:, j], kind="stable")
        ordered = x[rows[j], j]
        last[j, :-1] = ordered[1:] != ordered[:-1]
        places[j] = n - np.isnan(ordered).sum()

    run_beside(sort, [(j,) for j in range(d)], pool)
    no_codes = np.zeros((d, 0), dtype=np.uint8)
    return StumpColumns(x, None, no_codes, rows, last, places, places < n)


def find_stump(
    columns: StumpColumns,
    signed: Array,
    criterion: int,
    pool: ThreadPoolExecutor | None = None,
) -> tuple[Stump, Any]:
    """Return the cut that is best for the weights, and the classes that it gives rows; ties go to the first.

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
) -> list[tuple[Stump, Any]]:
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
    n, d = columns.x.shape
    found = _Cuts(np.empty(d), np.empty(d, np.int64), np.empty(d, np.bool_))
    parts = 2 if pool is not None and d * n >= _MANY_ENTRIES else 1
    limits = [d * part // parts for part in range(parts + 1)]
    longest = int(columns.places.max()) + 1
    same = (*columns[2:], signed, criterion == GINI)
    jobs = [(*same, begin, end, np.empty((longest, 2)), *found) for begin, end in pairwise(limits)]
    run_beside(find_cuts, jobs, pool if parts > 1 else None)
    return found


def _first_best(scores: Array) -> int:
    """Return the first column that no other is better than, beyond rounding."""
    best = 0
    for j in range(1, len(scores)):
        if scores[j] > scores[best] + TIE * abs(scores[best]):
            best = j
    return best


def _as_stump(columns: StumpColumns, signed: Array, found: _Cuts, j: int) -> tuple[Stump, Any]:
    cut, missing_left = int(found.cuts[j]), bool(found.missing_left[j])
    total = float(signed.sum())
    if cut < 0:
        label = int(total > 0.0)
        return Stump(-1, np.nan, False, (label,)), np.full(len(signed), label, dtype=np.int8)
    goes_left = columns.left_rows(j, cut, missing_left)
    if not columns.gaps[j]:  # what will be missing goes to the heavier side
        weight = np.abs(signed)
        missing_left = bool(2.0 * (weight @ goes_left) >= weight.sum())
    left = float(signed @ goes_left)
    labels = int(total > 0.0), int(left > 0.0), int(total - left > 0.0)
    predicted = np.where(goes_left, np.int8(labels[1]), np.int8(labels[2]))
    return Stump(j, columns.threshold(j, cut), missing_left, labels), predicted
