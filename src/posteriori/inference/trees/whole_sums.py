"""Slopes and curvatures of a loss as whole numbers, whose sums are exact, in compiled loops.

A whole number is g·2³² + h; of two classes h counts both and g the second.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from posteriori.inference.trees.keys import HALF, LOWER, fill_keys, sort_keys, sorts_faster
from posteriori.inference.trees.scores import TIE
from posteriori.numerics.compilation import kernel

__all__ = [
    "add_packed",
    "best_packed_cut",
    "list_cells",
    "list_rows",
    "pack_loss",
    "slope_score",
    "sort_levels",
]
#: Bits of the largest slope; fewer where the sum of all would not fit into half a whole number.
_BITS = 20


@kernel(allocates=False)
def pack_loss(slope: Any, curvature: Any, rows: Any, packed: Any, units: Any) -> None:
    """Write slopes and curvatures of rows as whole numbers, and what the two are in to ``units``.

    No row has a curvature of 0.
    """
    total = largest = curved = most = 0.0
    for i in range(len(rows)):
        g, h = abs(slope[rows[i]]), curvature[rows[i]]
        total += g
        curved += h
        largest, most = max(largest, g), max(most, h)
    units[0], units[1] = _unit(total, largest, HALF - 2), _unit(curved, most, HALF - 1)
    g, h = 1.0 / units[0], 1.0 / units[1]
    for i in range(len(rows)):
        n = rows[i]
        packed[n] = (np.int64(round(slope[n] * g)) << HALF) + max(
            np.int64(round(curvature[n] * h)), np.int64(1)
        )


@kernel(called="kernels")
def _unit(total: float, largest: float, bits: int) -> float:
    """Return a unit in which a sum of sizes has so many bits, and the largest of them enough."""
    unit = max(total / 2.0**bits, largest / 2.0**_BITS)
    return unit if unit > 0.0 else 1.0


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
def list_cells(cells: Any, size: int, places: Any, values: Any) -> tuple[int, int]:
    """List the bins that hold something, with their whole numbers; return how many, and that of gaps.

    Parameters
    ----------
    cells : (size + 1,)
        0 in bins without rows; the last one is that of gaps. It may be ``values`` itself.
    size : int
    places, values : (B,)
    """
    length, missing = np.uint64(0), cells[size]
    for b in range(size):
        value = cells[b]
        places[length], values[length] = b, value
        length += np.uint64(value != 0)  # no branch that is hard to foresee
    return np.int64(length), missing


@kernel(called="kernels")
def list_rows(
    bins: Any, j: int, size: int, rows: Any, packed: Any, places: Any, values: Any
) -> tuple[int, int]:
    """List the bins of column j that rows lie in, as :func:`list_cells` does."""
    if sorts_faster(len(rows), size):
        return _list_sorted(bins, j, size, rows, packed, places, values)
    column = np.uint64(j)
    values[: size + 1] = 0
    for i in range(len(rows)):
        n = np.uint64(rows[i])
        values[np.uint64(bins[n, column])] += packed[n]
    return list_cells(values, size, places, values)


@kernel(called="kernels")
def _list_sorted(
    bins: Any, j: int, size: int, rows: Any, packed: Any, places: Any, values: Any
) -> tuple[int, int]:
    fill_keys(bins, j, rows, values)
    sort_keys(values, len(rows))
    length = missing = 0
    for i in range(len(rows)):
        b, value = values[i] >> HALF, packed[rows[values[i] & LOWER]]
        if b == size:
            missing += value
        elif length > 0 and places[length - 1] == b:
            values[length - 1] += value
        else:
            places[length], values[length] = b, value
            length += 1
    return length, missing


@kernel(called="kernels")
def sort_levels(length: int, places: Any, values: Any) -> None:
    """Sort listed levels by g/h, by insertion: they are few, or nearly in order."""
    for i in range(length):
        value, level, k = values[i], places[i], i - 1
        mean = (value >> HALF) / (value & LOWER)
        while k >= 0 and (values[k] >> HALF) / (values[k] & LOWER) > mean:
            values[k + 1], places[k + 1] = values[k], places[k]
            k -= 1
        values[k + 1], places[k + 1] = value, level


@kernel(called="kernels")
def slope_score(value: int, slope: float, curvature: float, ridge: float) -> float:
    """Return G²/(H + λ) of a sum of whole numbers."""
    g = (value >> HALF) * slope
    return g * g / ((value & LOWER) * curvature + ridge)


@kernel(called="kernels")
def best_packed_cut(
    values: Any,
    length: int,
    missing: int,
    whole: int,
    slope: float,
    curvature: float,
    ridge: float,
    least: float,
) -> tuple[float, int, bool]:
    """Return the best score of a cut through listed bins, after which place it is, and where gaps go.

    Gaps go where the score is higher; where there are none, to the heavier side. There are two bins at
    least, or one and gaps.
    """
    slack = TIE * slope_score(whole, slope, curvature, ridge)
    best, place, missing_left = -math.inf, -1, False
    for side in range(2 if missing != 0 else 1):
        left, top, at = missing if side == 1 else 0, -math.inf, -1
        for i in range(length):
            left += values[i]
            right = whole - left
            of_left, of_right = (left & LOWER) * curvature, (right & LOWER) * curvature
            if right == 0 or of_left < least or of_right < least:
                continue
            g_left, g_right = (left >> HALF) * slope, (right >> HALF) * slope
            of_left += ridge
            of_right += ridge
            # G₁²/(H₁ + λ) + G₂²/(H₂ + λ), with one division
            score = (g_left * g_left * of_right + g_right * g_right * of_left) / (
                of_left * of_right
            )
            if score > top + slack:
                top, at = score, i
        if side == 0 or top > best + TIE * abs(best):
            best, place, missing_left = top, at, side == 1
    if missing == 0:
        left = 0
        for i in range(place + 1):
            left += values[i] & LOWER
        missing_left = 2 * left >= whole & LOWER  # the heavier side
    return best, place, missing_left
