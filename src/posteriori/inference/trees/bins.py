r"""Columns in bins: the places between which trees may cut.

A value x lies in bin

.. math:: \min\left(\left\lfloor G\,\frac{l + u}{2N}\right\rfloor,\ G - 1\right),

where G is the number of bins, l rows are below x, u are not above it, and N are there: in the middle of
its ranks, so that the bins hold about as many rows each, and equal values share a bin.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.compilation import as_kernel_input, kernel
from posteriori.numerics.threads import run_beside
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "Bins",
    "apply_bins",
    "distinct_values",
    "learn_bins",
    "middle_rank_bins",
    "rank_ends",
]

#: Rows that are looked at to find the bins: more do not move them by anything that matters.
_ENOUGH = 200_000


class Bins(NamedTuple):
    """The bins of all columns, one column after another.

    What is missing has a bin of its own, the one after the last of its column.

    Attributes
    ----------
    low, high : (B,)
        Least and largest value of each bin.
    starts : (D + 1,)
        Where the bins of each column begin.
    n_levels : (D,)
        How many levels a column of categories has, its bins; 0 for numbers.
    """

    low: Array
    high: Array
    starts: IntArray
    n_levels: IntArray

    @property
    def sizes(self) -> IntArray:
        """How many bins each column has, (D,)."""
        return np.diff(self.starts)

    def cuts(self, column: int) -> Array:
        """Return the places between the bins of a column, midway between neighbouring values."""
        mine = slice(self.starts[column], self.starts[column + 1])
        return midway(self.high[mine][:-1], self.low[mine][1:])


def midway(a: Any, b: Any) -> Any:
    """Return (a + b)/2 for a < b, less than b also where the two are neighbours or very large."""
    middle = 0.5 * a + 0.5 * b
    return np.where(middle < b, middle, a)


def middle_rank_bins(counts: Array, size: int) -> IntArray:
    """Return the bins of distinct values in order, (V,).

    Parameters
    ----------
    counts : (V,)
        How many rows have each value.
    size : int
        G.
    """
    not_above = np.cumsum(counts)
    middle = size * (2.0 * not_above - counts) / (2.0 * not_above[-1])  # G(l + u)/2N
    return np.minimum(middle.astype(np.int64), size - 1)


def learn_bins(
    x: Array,
    n_levels: IntArray,
    max_bins: int | None,
    frequency: Array | None = None,
    pool: ThreadPoolExecutor | None = None,
) -> Bins:
    """Return the bins of the columns.

    Parameters
    ----------
    x : (N, D)
        NaN is missing.
    n_levels : (D,)
        Of categories, whose bins are the levels 0, 1, …; 0 for numbers.
    max_bins : int or None
        G; a column of no more values has a bin for each. None: all have.
    frequency : (N,), optional
    pool : ThreadPoolExecutor, optional
    """
    if max_bins is not None and len(x) > _ENOUGH:
        looked_at = np.random.default_rng(0).integers(len(x), size=_ENOUGH)
        x = x[looked_at]
        frequency = None if frequency is None else frequency[looked_at]
    one = partial(_bins_of_column, x, n_levels, max_bins, frequency)
    ends = run_beside(one, [(j,) for j in range(x.shape[1])], pool)
    low, high = (np.concatenate(part) for part in zip(*ends, strict=True))
    starts = np.cumsum([0, *(len(part) for part, _ in ends)])
    return Bins(low, high, starts, np.asarray(n_levels, dtype=np.int64))


def _bins_of_column(
    x: Array, n_levels: IntArray, max_bins: int | None, frequency: Array | None, j: int
) -> tuple[Array, Array]:
    if n_levels[j]:
        levels = np.arange(n_levels[j], dtype=np.float64)
        return levels, levels
    if frequency is None:
        return _ends_of_rows(np.sort(x[:, j]), max_bins)
    seen = ~np.isnan(x[:, j])
    if not seen.any():
        return np.zeros(1), np.zeros(1)
    values, counts = distinct_values(x[seen, j], frequency[seen])
    if max_bins is None or len(values) <= max_bins:
        return values, values
    return rank_ends(values, counts, max_bins)


def _ends_of_rows(ordered: Array, max_bins: int | None) -> tuple[Array, Array]:
    """Return the ends of the bins of rows in order, gaps last; distinct values are not listed."""
    ordered = ordered[: np.searchsorted(ordered, np.nan)]
    if not len(ordered):
        return np.zeros(1), np.zeros(1)
    is_new = np.append(True, ordered[1:] != ordered[:-1])
    if max_bins is None or np.count_nonzero(is_new) <= max_bins:
        values = ordered[is_new]
        return values, values
    first = _first_rows(ordered, max_bins)
    return ordered[first], ordered[np.append(first[1:], len(ordered)) - 1]


def _first_rows(ordered: Array, size: int) -> IntArray:
    """Return where the bins that have rows begin.

    Bin g begins with the first value of which G(l + u) >= 2Ng: the one at rank Ng/G, or the next.
    """
    n, g = len(ordered), np.arange(1, size)
    at = ordered[n * g // size]
    below, not_above = (np.searchsorted(ordered, at, side=side) for side in ("left", "right"))
    first = np.where(size * (below + not_above) >= 2 * n * g, below, not_above)
    first = np.unique(np.append(0, first))
    return first[first < n]


def rank_ends(values: Array, counts: Array, size: int) -> tuple[Array, Array]:
    """Return least and largest value of each bin that has rows; see :func:`middle_rank_bins`.

    Parameters
    ----------
    values : (V,)
        Distinct, in order.
    counts : (V,)
    size : int
    """
    first = np.flatnonzero(np.diff(middle_rank_bins(counts, size), prepend=-1))
    return values[first], values[np.append(first[1:], len(values)) - 1]


def distinct_values(values: Array, weights: Array) -> tuple[Array, Array]:
    """Return distinct values in order, and how many rows have each."""
    distinct, places = np.unique(values, return_inverse=True)
    return distinct, np.bincount(places, weights=weights)


def apply_bins(bins: Bins, x: Array) -> Any:
    """Return the bin of each entry, (N, D).

    Parameters
    ----------
    bins : Bins
    x : (N, D)
    """
    largest = int(bins.sizes.max(initial=0))
    dtype = np.uint8 if largest < 256 else np.uint32  # no more types: each is compiled for
    x, codes = as_kernel_input(x), np.empty(x.shape, dtype=dtype)
    cuts = np.concatenate([np.append(bins.cuts(j), np.inf) for j in range(x.shape[1])])
    _fill_codes(x, cuts, bins.starts, bins.n_levels, codes)
    return codes


@kernel
def _fill_codes(x: Any, cuts: Any, starts: Any, n_levels: Any, codes: Any) -> None:
    """Write how many cuts of its column lie below each value.

    All columns take the steps of a binary search together, without a branch: ten times as fast as one
    after another, as where a value lies is hard to foresee.

    Parameters
    ----------
    x : (N, D)
    cuts : (B,)
        The last one of each column is ∞.
    starts, n_levels
        Of :class:`Bins`.
    codes : (N, D)
    """
    one, longest, columns = np.uint64(1), 1, x.shape[1]
    first = np.zeros(columns, np.uint64)  # arrays of its own: no other can overlap them
    last, place = np.zeros(columns, np.uint64), np.zeros(columns, np.uint64)
    for j in range(columns):
        first[j], last[j] = starts[j], starts[j + 1] - 1
        while longest < starts[j + 1] - starts[j]:
            longest *= 2
    for n in range(x.shape[0]):
        for j in range(columns):
            place[j] = first[j]
        step = np.uint64(longest // 2)
        while step > 0:
            for j in range(columns):
                after = place[j] + step
                asked = after - one if after - one < last[j] else last[j]
                place[j] = after if cuts[asked] < x[n, j] else place[j]
            step >>= one
        for j in range(columns):
            value, size = x[n, j], starts[j + 1] - starts[j]
            if value != value or (n_levels[j] > 0 and not 0.0 <= value < size):
                codes[n, j] = size
            else:
                codes[n, j] = int(value) if n_levels[j] > 0 else int(place[j] - first[j])
