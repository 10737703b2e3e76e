"""Sums over the rows of a node by the bins of one column, in compiled loops.

A profile lists the bins that rows lie in, in order, with the sums of each. It is counted, bin by bin;
or sorted, where the rows are few beside the bins; or read from sums that are kept as whole numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "HALF",
    "LOWER",
    "Profile",
    "Sums",
    "add_packed",
    "add_row",
    "divide_packed",
    "empty_profile",
    "list_cells",
    "list_rows",
    "measure_loss",
    "pack_loss",
    "profile_column",
    "profile_listed",
    "unpack",
]

#: The lower half of a whole number holds curvatures, the upper one slopes.
HALF = 32

#: What takes the lower half.
LOWER = (1 << HALF) - 1

#: A step of sorting takes as long as so many looks at bins.
_SORTING = 8.0


class Sums(NamedTuple):
    """What is added up over rows.

    Attributes
    ----------
    codes : (N,)
        Classes of the rows; empty where numbers are learned.
    y : (N,)
        Targets; empty where classes are.
    weight : (N,)
    packed : (N,)
        Slopes and curvatures of a loss in whole numbers, g·2³² + h; of two classes the weight of the
        second and that of both. Empty where there are none.
    slope_unit, curvature_unit : float
        What these are multiplied by.
    """

    codes: Any
    y: Array
    weight: Array
    packed: IntArray
    slope_unit: float
    curvature_unit: float


class Profile(NamedTuple):
    """Bins of a column that rows of a node lie in, with their sums; room for the work on them.

    Attributes
    ----------
    bins : (B,)
    sums : (B, S)
    missing : (S,)
        Sums of the rows whose entry is missing.
    counted : (B, S)
        Sums of all bins, 0 between calls.
    seen : (B,)
        Whether rows lie in a bin, False between calls.
    keys : (B,)
        Whole numbers, or an order.
    cells : (B,)
        Whole numbers of all bins, 0 between calls.
    left, right : (S,)
    goes_left : (B,)
        The levels that go left, of a category.
    """

    bins: IntArray
    sums: Array
    missing: Array
    counted: Array
    seen: Any
    keys: IntArray
    cells: IntArray
    left: Array
    right: Array
    goes_left: Any


def empty_profile(bins: int, rows: int, sums: int) -> Profile:
    """Return room for columns of so many bins, nodes of so many rows, and so many sums."""
    longest = bins + 1
    return Profile(
        np.zeros(longest, dtype=np.int64),
        np.zeros((longest, sums)),
        np.zeros(sums),
        np.zeros((longest, sums)),
        np.zeros(longest, dtype=np.bool_),
        np.zeros(max(longest, rows), dtype=np.int64),
        np.zeros(longest, dtype=np.int64),
        np.zeros(sums),
        np.zeros(sums),
        np.zeros(longest, dtype=np.bool_),
    )


@kernel(called="inlined")
def add_row(sums: Sums, n: int, to: Any) -> None:
    """Add what row n has to ``to`` (S,)."""
    w = sums.weight[n]
    if len(sums.codes):
        to[sums.codes[n]] += w
    else:
        y = sums.y[n]
        to[0] += w
        to[1] += w * y
        to[2] += w * y * y


@kernel(allocates=False)
def measure_loss(slope: Any, curvature: Any, rows: Any, sizes: Any) -> None:
    """Write sum and largest of |g|, and of h, to ``sizes`` (4,)."""
    total = largest = curved = most = 0.0
    for i in range(len(rows)):
        g, h = abs(slope[rows[i]]), curvature[rows[i]]
        total += g
        curved += h
        largest, most = max(largest, g), max(most, h)
    sizes[0], sizes[1], sizes[2], sizes[3] = total, largest, curved, most


@kernel(allocates=False)
def pack_loss(slope: Any, curvature: Any, rows: Any, g: float, h: float, packed: Any) -> None:
    """Write slopes times g and curvatures times h as whole numbers; no row has a curvature of 0."""
    for i in range(len(rows)):
        n = rows[i]
        packed[n] = (np.int64(round(slope[n] * g)) << HALF) + max(
            np.int64(round(curvature[n] * h)), np.int64(1)
        )


@kernel(allocates=False)
def add_packed(bins: Any, first_cell: Any, rows: Any, packed: Any, cells: Any) -> None:
    """Add the whole numbers of rows to the cells of their bins, all columns at once.

    Two rows at a time keep the processor busy; places without sign need no look at whether they count
    from the end.
    """
    even, one = np.uint64(len(rows) // 2 * 2), np.uint64(1)
    for i in range(np.uint64(0), even, np.uint64(2)):
        n, m = np.uint64(rows[i]), np.uint64(rows[i + one])
        value, other = packed[n], packed[m]
        for j in range(np.uint64(bins.shape[1])):
            first = np.uint64(first_cell[j])
            cells[first + np.uint64(bins[n, j])] += value
            cells[first + np.uint64(bins[m, j])] += other
    if even < len(rows):
        n = np.uint64(rows[even])
        for j in range(np.uint64(bins.shape[1])):
            cells[np.uint64(first_cell[j]) + np.uint64(bins[n, j])] += packed[n]


@kernel(called="kernels")
def profile_column(bins: Any, j: int, size: int, rows: Any, sums: Sums, profile: Profile) -> int:
    """Fill the profile with column j of ``size`` bins; return how many of them rows lie in."""
    n = len(rows)
    if _sorts_faster(n, size):
        return _sort_column(bins, j, size, rows, sums, profile)
    counted, seen = profile.counted, profile.seen
    if len(sums.codes):
        for i in range(n):
            b = bins[rows[i], j]
            seen[b] = True
            counted[b, sums.codes[rows[i]]] += sums.weight[rows[i]]
    else:
        for i in range(n):
            b = bins[rows[i], j]
            seen[b] = True
            add_row(sums, rows[i], counted[b])
    return _list_counted(size, profile)


@kernel(called="kernels")
def _list_counted(size: int, profile: Profile) -> int:
    """List the bins that hold something, and empty them."""
    counted, seen, length = profile.counted, profile.seen, 0
    for b in range(size):
        if seen[b]:
            profile.bins[length] = b
            for s in range(counted.shape[1]):
                profile.sums[length, s] = counted[b, s]
                counted[b, s] = 0.0
            length += 1
    seen[: size + 1] = False
    for s in range(counted.shape[1]):
        profile.missing[s] = counted[size, s]
        counted[size, s] = 0.0
    return length


@kernel(called="inlined")
def list_cells(cells: Any, size: int, profile: Profile) -> tuple[Any, int]:
    """List the bins that hold something, with whole numbers in ``keys``; return how many, and of gaps.

    Parameters
    ----------
    cells : (size + 1,)
        0 in bins without rows; the last one is that of gaps.
    size : int
    profile : Profile
    """
    bins, values, length = profile.bins, profile.keys, np.uint64(0)
    for b in range(size):
        bins[length], values[length] = b, cells[b]
        length += np.uint64(cells[b] != 0)  # no branch that is hard to foresee
    return np.int64(length), cells[size]


@kernel(called="inlined")
def list_rows(
    bins: Any, j: int, size: int, rows: Any, packed: Any, profile: Profile
) -> tuple[int, int]:
    """List the bins of column j that rows lie in, as :func:`list_cells` does."""
    if _sorts_faster(len(rows), size):
        return _list_sorted(bins, j, size, rows, packed, profile)
    cells, column = profile.cells, np.uint64(j)
    for i in range(len(rows)):
        n = np.uint64(rows[i])
        cells[np.uint64(bins[n, column])] += packed[n]
    listed = list_cells(cells, size, profile)
    cells[: size + 1] = 0
    return listed


@kernel(called="kernels")
def _list_sorted(
    bins: Any, j: int, size: int, rows: Any, packed: Any, profile: Profile
) -> tuple[int, int]:
    keys = profile.keys[: len(rows)]
    _fill_keys(bins, j, rows, keys)
    _sort(keys)
    length = missing = 0
    for i in range(len(rows)):
        b, value = keys[i] >> HALF, packed[rows[keys[i] & LOWER]]
        if b == size:
            missing += value
        elif length > 0 and profile.bins[length - 1] == b:
            keys[length - 1] += value
        else:
            profile.bins[length], keys[length] = b, value
            length += 1
    return length, missing


@kernel(called="kernels")
def profile_listed(length: int, missing: int, sums: Sums, profile: Profile) -> None:
    """Fill in the sums of bins that are listed with whole numbers."""
    for i in range(length):
        unpack(profile.keys[i], sums, profile.sums[i])
    unpack(missing, sums, profile.missing)


@kernel(called="kernels")
def divide_packed(cells: Any, goes_left: Any, sums: Sums, left: Any, right: Any) -> None:
    """Write the sums of the two sides of a division, from the cells of the column that it asks for."""
    of_left = of_right = 0
    for b in range(len(cells)):
        if goes_left[b]:
            of_left += cells[b]
        else:
            of_right += cells[b]
    unpack(of_left, sums, left)
    unpack(of_right, sums, right)


@kernel(called="inlined")
def unpack(value: int, sums: Sums, to: Any) -> None:
    """Write curvature and slope of a sum of whole numbers to ``to`` (2,)."""
    to[0] = (value & LOWER) * sums.curvature_unit
    to[1] = (value >> HALF) * sums.slope_unit


@kernel(called="kernels")
def _sort_column(bins: Any, j: int, size: int, rows: Any, sums: Sums, profile: Profile) -> int:
    n = len(rows)
    keys = profile.keys[:n]
    _fill_keys(bins, j, rows, keys)
    _sort(keys)
    profile.missing[:] = 0.0
    length = 0
    for i in range(n):
        b, row = keys[i] >> HALF, rows[keys[i] & LOWER]
        if b == size:
            add_row(sums, row, profile.missing)
            continue
        if length == 0 or profile.bins[length - 1] != b:
            profile.bins[length] = b
            profile.sums[length, :] = 0.0
            length += 1
        add_row(sums, row, profile.sums[length - 1])
    return length


@kernel(called="inlined")
def _fill_keys(bins: Any, j: int, rows: Any, keys: Any) -> None:
    """Write the bin of each row, and its place among the rows."""
    for i in range(len(rows)):
        keys[i] = (np.int64(bins[rows[i], j]) << HALF) + i


@kernel(called="inlined")
def _sorts_faster(rows: int, size: int) -> bool:
    return _SORTING * rows * np.log2(rows) < size


@kernel(called="kernels")
def _sort(keys: Any) -> None:
    """Sort in place, by insertion at falling distances (Shell's method)."""
    gap = 1
    while gap < len(keys) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(keys)):
            key, k = keys[i], i - gap
            while k >= 0 and keys[k] > key:
                keys[k + gap] = keys[k]
                k -= gap
            keys[k + gap] = key
        gap //= 3
