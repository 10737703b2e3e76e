"""Sparse Cholesky factors in compiled loops; imported on first use, as Numba is heavy.

Matrices are stored by columns (starts, rows, values). The factor is computed row by row along the
elimination tree (T. A. Davis, "Direct Methods for Sparse Linear Systems", 2006, ch. 4); entries of
the inverse on the factor's pattern follow from the last column to the first (K. Takahashi, J. Fagan
& M.-S. Chen, 1973).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics import rank
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array

__all__ = [
    "entries_of_inverse",
    "factorize_like",
    "factorize_upper",
    "find_columns",
    "find_entries",
    "pick_entries",
    "solve_lower",
    "solve_upper",
]

_exceeds_rounding = kernel(rank.exceeds_rounding)


@kernel
def _elimination_tree(starts: Any, rows: Any) -> Any:
    """Return the parent of each column, −1 for roots."""
    size = len(starts) - 1
    parent = np.full(size, -1, dtype=np.int64)
    ancestor = np.full(size, -1, dtype=np.int64)
    for k in range(size):
        for p in range(starts[k], starts[k + 1]):
            i = rows[p]
            while i != -1 and i < k:
                following = ancestor[i]
                ancestor[i] = k
                if following == -1:
                    parent[i] = k
                i = following
    return parent


@kernel
def _row_pattern(k: int, starts: Any, rows: Any, parent: Any, mark: Any, stack: Any) -> int:
    """Write the columns of row k of the factor to the end of a stack; return where they start."""
    top = len(parent)
    mark[k] = k
    for p in range(starts[k], starts[k + 1]):
        i = rows[p]
        length = 0
        while mark[i] != k:
            stack[length] = i
            length += 1
            mark[i] = k
            i = parent[i]
        while length > 0:
            top -= 1
            length -= 1
            stack[top] = stack[length]
    return top


@kernel
def find_columns(starts: Any, rows: Any, most: int) -> Any:
    """Return the elimination tree and where the columns of the factor begin.

    Parameters
    ----------
    starts, rows : arrays
        The upper triangle of A.
    most : int
        Entries of the factor beyond which the search ends: the last column then begins at −1.
    """
    size = len(starts) - 1
    parent = _elimination_tree(starts, rows)
    mark = np.full(size, -1, dtype=np.int64)
    stack = np.empty(size, dtype=np.int64)
    counts = np.ones(size, dtype=np.int64)
    begin = np.zeros(size + 1, dtype=np.int64)
    found = size
    for k in range(size):
        top = _row_pattern(k, starts, rows, parent, mark, stack)
        found += size - top
        if found > most:
            begin[size] = -1
            return parent, begin
        for s in range(top, size):
            counts[stack[s]] += 1
    for k in range(size):
        begin[k + 1] = begin[k] + counts[k]
    return parent, begin


@kernel
def factorize_upper(starts: Any, rows: Any, values: Any) -> Any:
    """Return lower L with L Lᵀ = A by columns, from the upper triangle of A; and where it failed.

    Returns
    -------
    starts, rows, values : arrays
        Each column begins with its diagonal entry; rows rise.
    failed : int
        The first row whose pivot is a rounding error of the diagonal or less, −1 for none.
    """
    size = len(starts) - 1
    parent, begin = find_columns(starts, rows, size * (size + 1) // 2)
    index, lower, failed = factorize_like(starts, rows, values, parent, begin)
    return begin, index, lower, failed


@kernel
def factorize_like(starts: Any, rows: Any, values: Any, parent: Any, begin: Any) -> Any:
    """Return rows and values of the factor whose columns are known, and where it failed."""
    size = len(starts) - 1
    mark = np.full(size, -1, dtype=np.int64)
    stack = np.empty(size, dtype=np.int64)
    index = np.empty(begin[size], dtype=np.int64)
    lower = np.empty(begin[size])
    free = begin[:-1].copy()
    x = np.zeros(size)
    for k in range(size):
        top = _row_pattern(k, starts, rows, parent, mark, stack)
        for p in range(starts[k], starts[k + 1]):
            x[rows[p]] = values[p]
        diagonal = pivot = x[k]
        x[k] = 0.0
        for s in range(top, size):  # solve L[:k, :k] l = a[:k, k]
            i = stack[s]
            entry = x[i] / lower[begin[i]]
            x[i] = 0.0
            for p in range(begin[i] + 1, free[i]):
                x[index[p]] -= lower[p] * entry
            pivot -= entry * entry
            index[free[i]] = k
            lower[free[i]] = entry
            free[i] += 1
        if not _exceeds_rounding(pivot, diagonal):
            return index, lower, k
        index[free[k]] = k
        lower[free[k]] = np.sqrt(pivot)
        free[k] += 1
    return index, lower, -1


@kernel
def solve_lower(starts: Any, rows: Any, lower: Array, b: Array) -> None:
    """Replace B (n, m) by L⁻¹ B."""
    for j in range(len(starts) - 1):
        for c in range(b.shape[1]):  # entry by entry: slices of short rows cost more than they hold
            b[j, c] /= lower[starts[j]]
        for p in range(starts[j] + 1, starts[j + 1]):
            for c in range(b.shape[1]):
                b[rows[p], c] -= lower[p] * b[j, c]


@kernel
def solve_upper(starts: Any, rows: Any, lower: Array, b: Array) -> None:
    """Replace B (n, m) by L⁻ᵀ B."""
    for j in range(len(starts) - 2, -1, -1):
        for p in range(starts[j] + 1, starts[j + 1]):
            for c in range(b.shape[1]):
                b[j, c] -= lower[p] * b[rows[p], c]
        for c in range(b.shape[1]):
            b[j, c] /= lower[starts[j]]


@kernel
def entries_of_inverse(starts: Any, rows: Any, lower: Array) -> Array:
    """Return the entries of (L Lᵀ)⁻¹ on the pattern of L.

    With l the part of column j below the diagonal, divided by the diagonal entry d, and Z the
    inverse: Z[:, j] = −Z l below, and Z[j, j] = 1/d² − lᵀ Z[:, j].
    """
    size = len(starts) - 1
    inverse = np.zeros(len(lower))
    scaled = np.zeros(size)  # l, spread over all rows
    total = np.zeros(size)
    inside = np.full(size, -1, dtype=np.int64)
    for j in range(size - 1, -1, -1):
        first, last = starts[j], starts[j + 1]
        diagonal = lower[first]
        for p in range(first + 1, last):
            i = rows[p]
            inside[i] = j
            scaled[i] = lower[p] / diagonal
            total[i] = 0.0
        for p in range(first + 1, last):
            k = rows[p]
            total[k] += inverse[starts[k]] * scaled[k]
            for q in range(starts[k] + 1, starts[k + 1]):
                i = rows[q]
                if inside[i] == j:
                    total[i] += inverse[q] * scaled[k]
                    total[k] += inverse[q] * scaled[i]
        own = 1.0 / (diagonal * diagonal)
        for p in range(first + 1, last):
            inverse[p] = -total[rows[p]]
            own += total[rows[p]] * scaled[rows[p]]
        inverse[first] = own
    return inverse


@kernel
def find_entries(starts: Any, rows: Any, i: Any, j: Any) -> Any:
    """Return where entries (i, j) of a symmetric matrix stand on the pattern of L; −1: nowhere."""
    found = np.empty(len(i), dtype=np.int64)
    for n in range(len(i)):
        column, row = min(i[n], j[n]), max(i[n], j[n])
        low, high = starts[column], starts[column + 1]
        while high - low > 1:
            middle = (low + high) // 2
            if rows[middle] <= row:
                low = middle
            else:
                high = middle
        found[n] = low if rows[low] == row else -1
    return found


@kernel
def pick_entries(starts: Any, rows: Any, values: Array, i: Any, j: Any) -> Array:
    """Return entries (i, j) of a symmetric matrix given on the pattern of L, which must hold them."""
    return values[find_entries(starts, rows, i, j)]
