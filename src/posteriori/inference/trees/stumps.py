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
from posteriori.numerics.compilation import compiled_beside, compiled_into, compiled_part
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
    """

    bins: Bins
    codes: Any
    rows: Any
    ends: IntArray

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
    columns, nothing = codes.shape[1], np.zeros((codes.shape[1], 0))
    if codes.dtype == np.uint8:
        by_column = np.ascontiguousarray(codes.T)
        return StumpColumns(
            bins, by_column, nothing.astype(np.int32), np.zeros(int(bins.starts[-1]), np.int32)
        )
    rows = np.empty((columns, len(codes)), dtype=np.int32)
    ends = np.empty(int(bins.starts[-1]), dtype=np.int32)
    for j in range(columns):
        mine = slice(bins.starts[j], bins.starts[j + 1])
        rows[j] = np.argsort(codes[:, j], kind="stable")
        counts = np.bincount(codes[:, j], minlength=bins.sizes[j] + 1)
        ends[mine] = np.cumsum(counts)[:-1]
    return StumpColumns(bins, nothing.astype(np.uint8), rows, ends)


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
    same = columns.codes, columns.rows, columns.ends, columns.bins.starts, signed, criterion == GINI
    jobs = [
        (*same, first, last, np.empty((longest, 2)), *found) for first, last in pairwise(limits)
    ]
    run_beside(_find_cuts, jobs, pool if parts > 1 else None)
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
    left = float(signed @ goes_left)
    label = int(signed.sum() > 0.0), int(left > 0.0), int(signed.sum() - left > 0.0)
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


# -- compiled loops --------------------------------------------------------------------------


@compiled_beside
def _find_cuts(
    codes: Any,
    rows: Any,
    ends: Any,
    starts: Any,
    signed: Any,
    gini: bool,
    first: int,
    last: int,
    cells: Any,
    scores: Any,
    cuts: Any,
    missing_left: Any,
) -> None:
    """Find the best cut of each column from ``first`` to ``last``."""
    s = w = 0.0
    for n in range(len(signed)):
        s += signed[n]
        w += abs(signed[n])
    for j in range(first, last):
        size = starts[j + 1] - starts[j]
        if codes.shape[1]:
            _add_by_code(codes[j], signed, cells[: size + 1])
        else:
            _add_gaps(rows[j, ends[starts[j + 1] - 1] :], signed, cells[size])
        mine = ends[starts[j] : starts[j + 1]]
        scores[j], cuts[j], missing_left[j] = _scan(
            cells[: size + 1], rows[j], mine, signed, gini, s, w
        )


@compiled_part
def _add_by_code(codes: Any, signed: Any, cells: Any) -> None:
    """Add up all bins."""
    cells[:] = 0.0
    for n in range(len(codes)):
        cells[codes[n], 0] += signed[n]
        cells[codes[n], 1] += abs(signed[n])


@compiled_part
def _add_gaps(rows: Any, signed: Any, cell: Any) -> None:
    """Add up the rows whose entry is missing; the others are, as the scan comes to them."""
    cell[:] = 0.0
    for i in range(len(rows)):
        cell[0] += signed[rows[i]]
        cell[1] += abs(signed[rows[i]])


@compiled_part
def _scan(
    cells: Any, rows: Any, ends: Any, signed: Any, gini: bool, s: float, w: float
) -> tuple[float, int, bool]:
    """Return the worth of the best cut, the bin that it comes after (−1: none), and where gaps go."""
    size, i = len(cells) - 1, 0
    gap, gap_weight = cells[size, 0], cells[size, 1]
    gaps, slack = gap_weight > 0.0, TIE * w
    best, cut, missing_left = (s * s / w if gini else abs(s)), -1, False
    left = left_weight = left_of_cut = 0.0
    for b in range(size if gaps else size - 1):
        if len(rows):
            while i < ends[b]:
                left += signed[rows[i]]
                left_weight += abs(signed[rows[i]])
                i += 1
        else:
            left += cells[b, 0]
            left_weight += cells[b, 1]
        worth = _worth(gini, left, left_weight, s, w)
        if worth > best + slack:
            best, cut, missing_left, left_of_cut = worth, b, False, left_weight
        if gaps and b < size - 1:
            worth = _worth(gini, left + gap, left_weight + gap_weight, s, w)
            if worth > best + slack:
                best, cut, missing_left = worth, b, True
    return best, cut, missing_left if gaps else 2.0 * left_of_cut >= w


@compiled_into
def _worth(gini: bool, left: float, left_weight: float, s: float, w: float) -> float:
    """Return 1 − 2ε of a cut, or the part of −2 Σ W Q that depends on it."""
    if not gini:
        return abs(left) + abs(s - left)
    rest = w - left_weight
    if left_weight <= 0.0 or rest <= 0.0:
        return -1.0
    return left * left / left_weight + (s - left) * (s - left) / rest
