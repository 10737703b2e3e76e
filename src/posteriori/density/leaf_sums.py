r"""Sums of kernels over rows, :math:`\sum_n w_n\,k(q - x_n)`, that leave out what is too far away.

Rows lie in the leaves of a k-d tree, a few dozen in a box. A box is passed over when all its rows
together would not change the sum in its ninth digit (normal kernels), or lie out of reach. So a point
far from all rows, where each term underflows, is as exact as any other.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import KDTree

from posteriori.numerics.compilation import as_kernel_input, kernel
from posteriori.numerics.threads import run_beside, thread_count
from posteriori.numerics.types import Array, IntArray

__all__ = ["Leaves", "ball_sums", "cube_sums", "make_leaves", "normal_sums"]

#: Rows of a leaf: the boxes of smaller ones cost more than they save.
_LEAF = 32
#: What all boxes that are passed over may add to a sum, relative to it.
_PASSED_OVER = 1e-9
#: Points that a thread takes at once.
_AT_ONCE = 512


class Leaves(NamedTuple):
    """Rows in the order of their leaves.

    Attributes
    ----------
    rows : (N, D)
    weights : (N,)
    places : (N,)
        Where each row went.
    starts : (L + 1,)
        Where each leaf begins in ``rows``, and N.
    low, high : (L, D)
        Ends of the box of each leaf.
    """

    rows: Array
    weights: Array
    places: IntArray
    starts: IntArray
    low: Array
    high: Array

    def scaled(self, factors: Array) -> Leaves:
        """Return the same rows in other positive units of the columns, (D,)."""
        rows, low, high = (as_kernel_input(a * factors) for a in (self.rows, self.low, self.high))
        return self._replace(rows=rows, low=low, high=high)


def make_leaves(rows: Array, weights: Array) -> Leaves:
    """Sort rows (N, D) of weights (N,) into leaves."""
    _, order, nodes, _ = KDTree(rows, leaf_size=_LEAF).get_arrays()
    order, nodes = np.asarray(order), np.asarray(nodes)
    leaf = nodes["is_leaf"] == 1
    starts = np.sort(nodes["idx_start"][leaf])
    sorted_rows = rows[order]
    places = np.empty(len(rows), dtype=np.int64)
    places[order] = np.arange(len(rows))
    return Leaves(
        as_kernel_input(sorted_rows),
        as_kernel_input(weights[order]),
        places,
        np.append(starts, len(rows)).astype(np.int64),
        as_kernel_input(np.minimum.reduceat(sorted_rows, starts, axis=0)),
        as_kernel_input(np.maximum.reduceat(sorted_rows, starts, axis=0)),
    )


def normal_sums(leaves: Leaves, points: Array, own: IntArray) -> tuple[Array, Array]:
    """Return ln Σ_n w_n exp(−|q − x_n|²/2) and the mean of (q − x_n)² of its terms.

    Parameters
    ----------
    leaves : Leaves
    points : (Q, D)
    own : (Q,)
        Place of the row that is left out for each point; −1 for none.

    Returns
    -------
    (Q,), (Q, D)
    """
    log_sums, squares = np.empty(len(points)), np.empty(points.shape)
    boxes, most = len(leaves.low), int(np.diff(leaves.starts).max())
    tolerance = np.log(_PASSED_OVER / leaves.weights.sum())

    def run(start: int) -> None:
        here = slice(start, start + _AT_ONCE)
        _normal_sums(
            leaves.rows,
            leaves.weights,
            leaves.starts,
            leaves.low,
            leaves.high,
            as_kernel_input(points[here]),
            own[here],
            tolerance,
            np.empty(boxes),
            np.empty(most),
            np.empty(most),
            log_sums[here],
            squares[here],
        )

    _for_all(run, len(points))
    return log_sums, squares


def cube_sums(leaves: Leaves, points: Array, own: IntArray) -> Array:
    """Return Σ w_n of the rows with |q_i − x_ni| <= ½ in every column, (Q,)."""
    return _compact_sums(_cube_sums, leaves, points, own)


def ball_sums(leaves: Leaves, points: Array, own: IntArray) -> Array:
    """Return Σ w_n (1 − |q − x_n|²) of the rows within distance 1, (Q,)."""
    return _compact_sums(_ball_sums, leaves, points, own)


def _compact_sums(kernel: Any, leaves: Leaves, points: Array, own: IntArray) -> Array:
    sums = np.empty(len(points))

    def run(start: int) -> None:
        here = slice(start, start + _AT_ONCE)
        kernel(
            leaves.rows,
            leaves.weights,
            leaves.starts,
            leaves.low,
            leaves.high,
            as_kernel_input(points[here]),
            own[here],
            sums[here],
        )

    _for_all(run, len(points))
    return sums


def _for_all(run: Any, count: int) -> None:
    jobs = [(start,) for start in range(0, count, _AT_ONCE)]
    threads = min(thread_count(), len(jobs))
    if threads < 2:
        run_beside(run, jobs, None)
        return
    run(*jobs[0])  # compiles once
    with ThreadPoolExecutor(threads) as pool:
        run_beside(run, jobs[1:], pool)


# -- compiled loops ------------------------------------------------------------------------------


@kernel(sums="free")
def _normal_sums(
    rows: Array,
    weights: Array,
    starts: IntArray,
    low: Array,
    high: Array,
    points: Array,
    own: IntArray,
    tolerance: float,
    far: Array,
    exponents: Array,
    terms: Array,
    log_sums: Array,
    squares: Array,
) -> None:
    columns = rows.shape[1]
    for q in range(len(points)):
        nearest = 0
        for b in range(len(low)):
            gap = 0.0
            for d in range(columns):
                beside = max(low[b, d] - points[q, d], points[q, d] - high[b, d], 0.0)
                gap += beside * beside
            far[b] = -0.5 * gap
            if far[b] > far[nearest]:
                nearest = b
        top, total, floor = -np.inf, 0.0, -np.inf
        squares[q] = 0.0
        for turn in range(-1, len(low)):
            b = nearest if turn < 0 else turn
            if (turn >= 0 and b == nearest) or far[b] <= floor:
                continue
            first, last = starts[b], starts[b + 1]
            best = top
            for n in range(first, last):
                e = 0.0
                for d in range(columns):
                    u = points[q, d] - rows[n, d]
                    e += u * u
                exponents[n - first] = -0.5 * e
                if n != own[q]:
                    best = max(best, -0.5 * e)
            if best == -np.inf:
                continue
            if best > top:  # what was added so far, in the new unit
                shrink = np.exp(top - best)
                total *= shrink
                for d in range(columns):
                    squares[q, d] *= shrink
                top = best
            for n in range(first, last):
                e = exponents[n - first] - top
                terms[n - first] = 0.0
                if n != own[q] and e > floor - top:
                    terms[n - first] = weights[n] * np.exp(e)
            for n in range(first, last):
                total += terms[n - first]
            for d in range(columns):
                part = 0.0
                for n in range(first, last):
                    u = points[q, d] - rows[n, d]
                    part += terms[n - first] * u * u
                squares[q, d] += part
            floor = top + np.log(total) + tolerance
        log_sums[q] = -np.inf
        if total > 0.0:  # else distances are too large for numbers
            log_sums[q] = top + np.log(total)
            for d in range(columns):
                squares[q, d] /= total


@kernel(sums="free")
def _cube_sums(
    rows: Array,
    weights: Array,
    starts: IntArray,
    low: Array,
    high: Array,
    points: Array,
    own: IntArray,
    sums: Array,
) -> None:
    columns = rows.shape[1]
    for q in range(len(points)):
        total = 0.0
        for b in range(len(low)):
            near = True
            for d in range(columns):
                if low[b, d] - points[q, d] > 0.5 or points[q, d] - high[b, d] > 0.5:
                    near = False
            if not near:
                continue
            for n in range(starts[b], starts[b + 1]):
                inside = n != own[q]
                for d in range(columns):
                    if abs(points[q, d] - rows[n, d]) > 0.5:
                        inside = False
                if inside:
                    total += weights[n]
        sums[q] = total


@kernel(sums="free")
def _ball_sums(
    rows: Array,
    weights: Array,
    starts: IntArray,
    low: Array,
    high: Array,
    points: Array,
    own: IntArray,
    sums: Array,
) -> None:
    columns = rows.shape[1]
    for q in range(len(points)):
        total = 0.0
        for b in range(len(low)):
            gap = 0.0
            for d in range(columns):
                beside = max(low[b, d] - points[q, d], points[q, d] - high[b, d], 0.0)
                gap += beside * beside
            if gap >= 1.0:
                continue
            for n in range(starts[b], starts[b + 1]):
                square = 0.0
                for d in range(columns):
                    u = points[q, d] - rows[n, d]
                    square += u * u
                if square < 1.0 and n != own[q]:
                    total += weights[n] * (1.0 - square)
        sums[q] = total
