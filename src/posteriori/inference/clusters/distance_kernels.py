"""Compiled loops over distances as they are: sums, tables, the farthest row, moments of columns."""

from __future__ import annotations

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["add_moments", "distance_table", "farthest_row", "follow_rows", "sum_distances"]


@kernel(called="kernels", sums="free")
def row_distance(x: Array, i: int, centers: Array, k: int, absolute: bool) -> float:
    """Return Σ (x − c)² or Σ |x − c| over the seen entries of a row."""
    s = 0.0
    for d in range(x.shape[1]):
        z = x[i, d] - centers[k, d]
        if z == z:
            s += abs(z) if absolute else z * z
    return s


@kernel(sums="free")
def sum_distances(
    x: Array, weight: Array, centers: Array, labels: IntArray, absolute: bool, first: int, last: int
) -> float:
    """Return the sum of weighted distances of rows from first to last to their centres."""
    total = 0.0
    for i in range(first, last):
        w = weight[i] if len(weight) else 1.0
        if w > 0.0:
            total += w * row_distance(x, i, centers, labels[i], absolute)
    return total


@kernel(sums="free")
def distance_table(x: Array, centers: Array, absolute: bool, table: Array) -> None:
    """Write the distances of all rows to all centres, (N, K)."""
    for i in range(len(x)):
        for k in range(len(centers)):
            table[i, k] = row_distance(x, i, centers, k, absolute)


@kernel(sums="free")
def farthest_row(
    x: Array, weight: Array, centers: Array, labels: IntArray, absolute: bool, others: Array
) -> int:
    """Return the row that counts and is farthest from its centre and from others (E, D)."""
    found, most = 0, -1.0
    for i in range(len(x)):
        if len(weight) and weight[i] == 0.0:
            continue
        s = row_distance(x, i, centers, labels[i], absolute)
        for e in range(len(others)):
            s = min(s, row_distance(x, i, others, e, absolute))
        if s > most:
            found, most = i, s
    return found


@kernel(sums="free")
def add_moments(
    x: Array, weight: Array, around: Array, counts: Array, sums: Array, squares: Array
) -> None:
    """Add up weights, x − a and (x − a)² of seen entries, column by column, (D,)."""
    for i in range(len(x)):
        w = weight[i] if len(weight) else 1.0
        if w == 0.0:
            continue
        for d in range(x.shape[1]):
            z = x[i, d] - around[d]
            if z == z:
                counts[d] += w
                sums[d] += w * z
                squares[d] += w * z * z


@kernel(sums="free")
def follow_rows(
    x: Array, weight: Array, centers: Array, counts: Array, rate: float, labels: IntArray
) -> None:
    """Move the nearest centre a part of the way to each row in turn: μ += 2η(x − μ).

    Parameters
    ----------
    x, weight : (N, D), (N,) or (0,)
    centers, counts : (K, D), (K,)
        In and out.
    rate : float
        η; 0 is w/2n, with the weight n of the rows that a centre has followed: running means.
    labels : (N,)
        Out: which centre each row has moved.
    """
    for i in range(len(x)):
        best, at = np.inf, 0
        for k in range(len(centers)):
            s = row_distance(x, i, centers, k, False)
            if s < best:
                best, at = s, k
        labels[i] = at
        w = weight[i] if len(weight) else 1.0
        if w == 0.0:
            continue
        counts[at] += w
        part = 1.0 - (1.0 - 2.0 * rate) ** w if rate > 0.0 else w / counts[at]
        for d in range(x.shape[1]):
            z = x[i, d] - centers[at, d]
            if z == z:
                centers[at, d] += part * z
