"""Sums over the rows of a node by the bins of one column, in compiled loops.

A profile lists the bins that rows lie in, in order, with the sums of each. It is counted, bin by bin;
or sorted, where the rows are few beside the bins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees.keys import HALF, LOWER, fill_keys, sort_keys, sorts_faster
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "GAPS",
    "LEFT_SIDE",
    "RIGHT_SIDE",
    "Profile",
    "Sums",
    "add_row",
    "add_rows",
    "empty_profile",
    "profile_column",
]

# Places in the sums of sides.
GAPS, LEFT_SIDE, RIGHT_SIDE = range(3)


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
    seen : (B,)
        Whether rows lie in a bin, False between calls.
    """

    places: IntArray
    keys: IntArray
    sums: Array
    sides: Array
    goes_left: Any
    counted: Array
    seen: Any


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
        np.zeros(longest, dtype=np.bool_),
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
def add_rows(codes: Any, y: Any, weight: Any, rows: Any, to: Any) -> None:
    """Write what rows have together to ``to`` (S,)."""
    to[:] = 0.0
    for i in range(len(rows)):
        add_row(codes, y, weight, rows[i], to)


@kernel(called="kernels")
def profile_column(
    bins: Any, j: int, size: int, rows: Any, codes: Any, y: Any, weight: Any, profile: Profile
) -> int:
    """List column j of ``size`` bins with its sums; return how many bins rows lie in."""
    counted, seen = profile.counted, profile.seen
    if sorts_faster(len(rows), size):
        fill_keys(bins, j, rows, profile.keys)
        sort_keys(profile.keys, len(rows))
        return _list_sorted(profile, rows, codes, y, weight, size)
    for i in range(len(rows)):
        b = bins[rows[i], j]
        seen[b] = True
        add_row(codes, y, weight, rows[i], counted[b])
    return _list_counted(profile, size)


@kernel(called="kernels")
def _list_counted(profile: Profile, size: int) -> int:
    """List the bins that hold something, and empty them."""
    counted, seen, gaps, length = profile.counted, profile.seen, profile.sides[GAPS], 0
    for b in range(size):
        if seen[b]:
            profile.places[length] = b
            for s in range(len(gaps)):
                profile.sums[length, s] = counted[b, s]
                counted[b, s] = 0.0
            length += 1
    seen[: size + 1] = False
    for s in range(len(gaps)):
        gaps[s] = counted[size, s]
        counted[size, s] = 0.0
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
