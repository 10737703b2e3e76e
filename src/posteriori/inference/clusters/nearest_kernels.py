"""Compiled loops of k-means: rows in packs of columns, the nearest two centres, sums of clusters.

A pack holds some rows side by side, column by column, less the centre of the data. So every operation
takes several rows at once, also the search for the smallest.

Distances are measured by squares of all entries, by squares of seen entries, or by absolute values of
seen entries.
"""

from __future__ import annotations

import math

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["ABSOLUTE", "SEEN_SQUARES", "SQUARES", "add_members", "assign_rows"]

#: How distances are measured.
SQUARES, SEEN_SQUARES, ABSOLUTE = 0, 1, 2

#: Bounds are kept in 32 bits: this much lower, they are still bounds.
_LOWER = 1.0 - 1e-6

#: Twice the rounding of one operation: |c|²/2 − x·c misses by this for each of its terms, at most.
_ROUNDING = 4.5e-16


@kernel(sums="free")
def assign_rows(
    x: Array,
    weight: Array,
    shift: Array,
    centers: Array,
    half: Array,
    moved: Array,
    measure: int,
    first: int,
    last: int,
    labels: IntArray,
    gap: Array,
    sums: Array,
    counts: Array,
    members: IntArray,
    pack: Array,
    work: Array,
    which: IntArray,
    place: IntArray,
) -> int:
    """Give rows from first to last to their nearest centres; return how many change.

    Parameters
    ----------
    x : (N, D)
    weight : (N,) or (0,)
    shift : (D,)
        What rows are measured from.
    centers : (K', D')
        Measured from there; D' and K' are padded to multiples of 4 and 2.
    half : (K',)
        |c|²/2, infinite for padding; for SQUARES.
    moved : (K + 3,)
        How far each centre has moved, the most of all, the next, and which moved most.
    measure : int
        SQUARES, or SEEN_SQUARES or ABSOLUTE, where only seen entries count.
    labels, gap : (N,)
        In and out: the cluster, −1 before the first step, and how much farther than its centre all
        others are at least.
    sums, counts, members : (K, D), (K, D), (K,)
        In and out: what is added to each cluster.
    pack, work, which, place : (D', B), (4, B), (B,), (B,)
        Room to work in.
    """
    k_all = len(members)
    most, next_most, mover = moved[k_all], moved[k_all + 1], int(moved[k_all + 2])
    size, columns = pack.shape[1], x.shape[1]
    changed, filled = 0, 0
    for i in range(first, last):
        label = labels[i]
        if label >= 0:
            left = gap[i] - moved[label] - (next_most if label == mover else most)
            if left > 0.0:
                gap[i] = left * _LOWER
                continue
        for d in range(columns):
            pack[d, filled] = x[i, d] - shift[d]
        place[filled] = i
        filled += 1
        if filled == size:
            _assign_pack(pack, centers, half, measure, columns, k_all, filled, work, which)
            changed += _settle(
                pack,
                weight,
                columns,
                filled,
                work,
                which,
                place,
                labels,
                gap,
                sums,
                counts,
                members,
            )
            filled = 0
    if filled:
        _assign_pack(pack, centers, half, measure, columns, k_all, filled, work, which)
        changed += _settle(
            pack, weight, columns, filled, work, which, place, labels, gap, sums, counts, members
        )
    return changed


@kernel(sums="free")
def _settle(
    pack: Array,
    weight: Array,
    columns: int,
    filled: int,
    work: Array,
    which: IntArray,
    place: IntArray,
    labels: IntArray,
    gap: Array,
    sums: Array,
    counts: Array,
    members: IntArray,
) -> int:
    """Write down the clusters of a pack's rows, and move those that change from sum to sum."""
    changed = 0
    for r in range(filled):
        i, new = place[r], which[r]
        old = labels[i]
        gap[i] = max(work[1, r] - work[0, r], 0.0) * _LOWER
        if new == old:
            continue
        changed += 1
        labels[i] = new
        w = weight[i] if len(weight) else 1.0
        if w == 0.0:
            continue
        members[new] += 1
        if old >= 0:
            members[old] -= 1
        for d in range(columns):
            z = pack[d, r]
            if z == z:
                sums[new, d] += w * z
                counts[new, d] += w
                if old >= 0:
                    sums[old, d] -= w * z
                    counts[old, d] -= w
    return changed


@kernel(sums="free")
def _assign_pack(
    pack: Array,
    centers: Array,
    half: Array,
    measure: int,
    columns: int,
    k_all: int,
    filled: int,
    work: Array,
    which: IntArray,
) -> None:
    """Find the nearest centre of each row of a pack, with bounds of its and the next one's distance.

    ``work[0]`` is at least the distance of the nearest, ``work[1]`` at most that of the second.
    """
    for r in range(pack.shape[1]):
        work[0, r], work[1, r], which[r] = np.inf, np.inf, 0
    if measure == ABSOLUTE:
        _search_by_absolute(pack, centers, columns, k_all, work, which)
        return
    if measure == SEEN_SQUARES:
        _search_by_differences(pack, centers, columns, k_all, work, which)
    else:
        _search_by_products(pack, centers, half, work, which)
        _make_squares(pack, centers, half, columns, k_all, filled, work, which)
    for r in range(filled):
        work[0, r], work[1, r] = math.sqrt(work[0, r]), math.sqrt(work[1, r])


@kernel(sums="free")
def _make_squares(
    pack: Array,
    centers: Array,
    half: Array,
    columns: int,
    k_all: int,
    filled: int,
    work: Array,
    which: IntArray,
) -> None:
    """Turn the least two of |c|²/2 − x·c into bounds of |x − c|², or look again where they are too close."""
    size, longest = pack.shape[1], 0.0
    for r in range(size):
        work[2, r] = 0.0
    for d in range(columns):
        for r in range(size):
            work[2, r] += pack[d, r] * pack[d, r]
    for k in range(k_all):
        longest = max(longest, half[k])
    for r in range(filled):
        error = (columns + 4.0) * _ROUNDING * (work[2, r] + 2.0 * longest)
        if work[1, r] - work[0, r] <= error:
            _search_one(pack, r, centers, columns, k_all, work, which)
        else:
            work[0, r] = max(2.0 * work[0, r] + work[2, r] + 2.0 * error, 0.0)
            work[1, r] = max(2.0 * work[1, r] + work[2, r] - 2.0 * error, 0.0)


@kernel(sums="free")
def _search_by_products(
    pack: Array, centers: Array, half: Array, work: Array, which: IntArray
) -> None:
    """Find the least two of |c|²/2 − x·c, two centres and four columns at a time."""
    size = pack.shape[1]
    for k in range(0, len(half), 2):
        h0, h1 = half[k], half[k + 1]
        for r in range(size):
            work[2, r], work[3, r] = h0, h1
        for d in range(0, len(pack), 4):
            a0, a1 = centers[k, d], centers[k, d + 1]
            a2, a3 = centers[k, d + 2], centers[k, d + 3]
            b0, b1 = centers[k + 1, d], centers[k + 1, d + 1]
            b2, b3 = centers[k + 1, d + 2], centers[k + 1, d + 3]
            for r in range(size):
                x0, x1, x2, x3 = pack[d, r], pack[d + 1, r], pack[d + 2, r], pack[d + 3, r]
                work[2, r] -= x0 * a0 + x1 * a1 + x2 * a2 + x3 * a3
                work[3, r] -= x0 * b0 + x1 * b1 + x2 * b2 + x3 * b3
        for r in range(size):
            s, t, best, second, at = work[2, r], work[3, r], work[0, r], work[1, r], which[r]
            second = min(second, max(s, best))
            at = k if s < best else at
            best = min(s, best)
            work[1, r] = min(second, max(t, best))
            which[r] = k + 1 if t < best else at
            work[0, r] = min(t, best)


@kernel(sums="free")
def _search_by_differences(
    pack: Array, centers: Array, columns: int, k_all: int, work: Array, which: IntArray
) -> None:
    """Find the least two of the sums of (x − c)² over seen entries."""
    size = pack.shape[1]
    for k in range(k_all):
        for r in range(size):
            work[2, r] = 0.0
        for d in range(columns):
            c = centers[k, d]
            for r in range(size):
                z = pack[d, r] - c
                work[2, r] += z * z if z == z else 0.0
        for r in range(size):
            s, best = work[2, r], work[0, r]
            work[1, r] = min(work[1, r], max(s, best))
            which[r] = k if s < best else which[r]
            work[0, r] = min(s, best)


@kernel(sums="free")
def _search_by_absolute(
    pack: Array, centers: Array, columns: int, k_all: int, work: Array, which: IntArray
) -> None:
    """Find the least two of the sums of |x − c| over seen entries."""
    size = pack.shape[1]
    for k in range(k_all):
        for r in range(size):
            work[2, r] = 0.0
        for d in range(columns):
            c = centers[k, d]
            for r in range(size):
                z = abs(pack[d, r] - c)
                work[2, r] += z if z == z else 0.0
        for r in range(size):
            s, best = work[2, r], work[0, r]
            work[1, r] = min(work[1, r], max(s, best))
            which[r] = k if s < best else which[r]
            work[0, r] = min(s, best)


@kernel(sums="free")
def _search_one(
    pack: Array, r: int, centers: Array, columns: int, k_all: int, work: Array, which: IntArray
) -> None:
    """Find the nearest two centres of one row by differences, where products cannot tell them apart."""
    best, second, at = np.inf, np.inf, 0
    for k in range(k_all):
        s = 0.0
        for d in range(columns):
            z = pack[d, r] - centers[k, d]
            s += z * z
        if s < best:
            best, second, at = s, best, k
        elif s < second:
            second = s
    work[0, r], work[1, r], which[r] = best, second, at


@kernel(sums="free")
def add_members(
    x: Array,
    weight: Array,
    shift: Array,
    labels: IntArray,
    first: int,
    last: int,
    sums: Array,
    counts: Array,
) -> None:
    """Add rows from first to last to the sums of their clusters, seen entries alone."""
    for i in range(first, last):
        k = labels[i]
        w = weight[i] if len(weight) else 1.0
        if w == 0.0:
            continue
        for d in range(x.shape[1]):
            z = x[i, d] - shift[d]
            if z == z:
                sums[k, d] += w * z
                counts[k, d] += w
