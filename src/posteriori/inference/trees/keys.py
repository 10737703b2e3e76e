"""Rows of a node in the order of a column's bins, in compiled loops: where they are few beside the bins."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.compilation import kernel

__all__ = ["HALF", "LOWER", "fill_keys", "sort_keys", "sorts_faster"]

#: The upper half of a whole number holds a bin or slopes, the lower one a row or curvatures.
HALF = 32

#: What takes the lower half.
LOWER = (1 << HALF) - 1

#: A step of sorting takes as long as so many looks at bins.
_SORTING = 8.0


@kernel(called="kernels")
def sorts_faster(rows: int, size: int) -> bool:
    """Tell whether to sort so many rows takes less time than to look at all bins."""
    return _SORTING * rows * np.log2(rows) < size


@kernel(called="kernels")
def fill_keys(bins: Any, j: int, rows: Any, keys: Any) -> None:
    """Write the bin of each row, and its place among the rows."""
    for i in range(len(rows)):
        keys[i] = (np.int64(bins[rows[i], j]) << HALF) + i


@kernel(called="kernels")
def sort_keys(keys: Any, size: int) -> None:
    """Sort the first keys in place, by insertion at falling distances (Shell's method)."""
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            key, k = keys[i], i - gap
            while k >= 0 and keys[k] > key:
                keys[k + gap] = keys[k]
                k -= gap
            keys[k + gap] = key
        gap //= 3
