"""Sums over the rows of a node by the bins of one column, in compiled loops.

A profile lists the bins that rows lie in, in order, with the sums of each. It is counted, bin by bin;
or sorted, where the rows are few beside the bins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees.grower.keys import HALF, LOWER, fill_keys, sort_keys, sorts_faster
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "GAPS",
    "LEFT_SIDE",
    "RIGHT_SIDE",
    "Profile",
    "Sums",
    "add_row",
    "sum_node",
    "empty_profile",
    "profile_column",
]

# Places in the sums of sides.
GAPS, LEFT_SIDE, RIGHT_SIDE = range(3)

# A word has 2⁶ bits; the remainder by 67 tells which one is set, where it is one alone.
_WORD, _IN_WORD, _ONE, _POWERS = 6, 63, np.uint64(1), np.uint64(67)
#: The places of bits by these remainders.
_PLACES = np.zeros(67, dtype=np.int64)
_PLACES[[2**i % 67 for i in range(64)]] = np.arange(64)


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
    places : (B,)
        Which bins.
    keys : (B,)
        Whole numbers of bins, or of rows.
    sums : (B, S)
    sides : (3, S)
        Sums of the rows whose entry is missing, of those that go left, and right.
    goes_left : (B,)
        The bins that do.
    counted : (B, S)
        Sums of all bins, 0 between calls.
    marks : (B / 64,)
        Bins that rows lie in as bits of whole numbers, 0 between calls.
    """

    places: IntArray
    keys: IntArray
    sums: Array
    sides: Array
    goes_left: Any
    counted: Array
    marks: Any


def empty_profile(bins: int, sums: int) -> Profile:
    """Return room for columns of so many bins, and so many sums."""
    longest = bins + 1
    return Profile(
        np.empty(longest, dtype=np.int64),
        np.empty(longest, dtype=np.int64),
        np.empty((longest, sums)),
        np.empty((3, sums)),
        np.empty(longest, dtype=np.bool_),
        np.zeros((longest, sums)),
        np.zeros((bins >> _WORD) + 1, dtype=np.uint64),
    )


@kernel(called="inlined")
def add_row(codes: Any, y: Any, weight: Any, n: int, to: Any) -> None:
    """Add what row n has to ``to`` (S,)."""
    w = weight[n]
    if len(codes):
        to[codes[n]] += w
    else:
        value = y[n]
        to[0] += w
        to[1] += w * value
        to[2] += w * value * value


@kernel(called="kernels")
def sum_node(codes: Any, y: Any, weight: Any, rows: Any, to: Any) -> None:
    """Write what rows have together to ``to`` (S,)."""
    to[:] = 0.0
    for i in range(len(rows)):
        add_row(codes, y, weight, rows[i], to)


@kernel(called="kernels")
def profile_column(
    bins: Any, j: int, size: int, rows: Any, codes: Any, y: Any, weight: Any, profile: Profile
) -> int:
    """List column j of ``size`` bins with its sums; return how many bins rows lie in."""
    counted, marks = profile.counted, profile.marks
    if sorts_faster(len(rows), size):
        fill_keys(bins, j, rows, profile.keys)
        sort_keys(profile.keys, len(rows))
        return _list_sorted(profile, rows, codes, y, weight, size)
    for i in range(len(rows)):
        b = bins[rows[i], j]
        marks[b >> _WORD] |= _ONE << np.uint64(b & _IN_WORD)
        add_row(codes, y, weight, rows[i], counted[b])
    return _list_counted(profile, size)


@kernel(called="kernels")
def _list_counted(profile: Profile, size: int) -> int:
    """List the bins that hold something, and empty them."""
    counted, marks, gaps, length = profile.counted, profile.marks, profile.sides[GAPS], 0
    for s in range(len(gaps)):
        gaps[s] = counted[size, s]
        counted[size, s] = 0.0
    marks[size >> _WORD] &= ~(_ONE << np.uint64(size & _IN_WORD))
    for w in range((size >> _WORD) + 1):
        left = marks[w]
        marks[w] = 0
        while left != 0:
            rest = left & (left - _ONE)
            b = (w << _WORD) + _PLACES[(left ^ rest) % _POWERS]
            profile.places[length] = b
            for s in range(len(gaps)):
                profile.sums[length, s] = counted[b, s]
                counted[b, s] = 0.0
            length += 1
            left = rest
    return length


@kernel(called="kernels")
def _list_sorted(profile: Profile, rows: Any, codes: Any, y: Any, weight: Any, size: int) -> int:
    places, keys, gaps, length = profile.places, profile.keys, profile.sides[GAPS], 0
    gaps[:] = 0.0
    for i in range(len(rows)):
        b, row = keys[i] >> HALF, rows[keys[i] & LOWER]
        if b == size:
            add_row(codes, y, weight, row, gaps)
            continue
        if length == 0 or places[length - 1] != b:
            places[length] = b
            profile.sums[length] = 0.0
            length += 1
        add_row(codes, y, weight, row, profile.sums[length - 1])
    return length
