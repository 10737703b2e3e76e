r"""k-medoids: clusters around rows, by any dissimilarity, found by swaps (FasterPAM).

.. math:: J = \sum_n w_n \min_{m\in M} d(x_n, m)

Begins with the medoids that lower J most, one after another (BUILD). Then every row is weighed against
all medoids at once: what J loses without a medoid is known beforehand, so a row that would replace one
costs a pass over the rows, whichever it replaces, and the best swap is made at once.

Reference: E. Schubert & P. Rousseeuw, "Fast and eager k-medoids clustering", 2021.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.compilation import as_kernel_input, kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["Medoids", "find_medoids"]

#: A swap must lower J by more than this part: rounding must not swap to and fro.
_LOWER = 1e-12


class Medoids(NamedTuple):
    """Rows that stand for their clusters.

    Attributes
    ----------
    medoids : (K,)
        Which rows.
    labels : (N,)
    inertia : float
        J.
    n_iter : int
        Rounds over all rows.
    converged : bool
        Whether no swap lowers J.
    """

    medoids: IntArray
    labels: IntArray
    inertia: float
    n_iter: int
    converged: bool


def find_medoids(
    distances: Array, k: int, *, weight: Array | None = None, max_iter: int = 100
) -> Medoids:
    """Return k rows such that no swap of one for another brings the rows nearer.

    Parameters
    ----------
    distances : (N, N)
        From row n to the row m that may stand for it.
    k : int
    weight : (N,), optional
        How often each row counts; one of weight 0 is no medoid.
    max_iter : int
        Rounds at most.

    Notes
    -----
    O(N²K) to begin, O(N²) for a round.
    """
    to = as_kernel_input(distances.T)  # a row of it: what all rows say of one medoid
    w = as_kernel_input(np.ones(len(to)) if weight is None else weight)
    medoids = np.full(k, -1, dtype=np.int64)
    near = np.full((2, len(to)), np.inf)
    which = np.zeros(len(to), dtype=np.int64)
    largest = _build(to, w, medoids, near[0])
    n_iter = _swap(to, w, medoids, near, which, largest, max_iter)
    inertia = float(w @ near[0])
    return Medoids(medoids, which.astype(np.int32), inertia, abs(n_iter), n_iter > 0)


@kernel(sums="free")
def _build(to: Array, w: Array, medoids: IntArray, nearest: Array) -> float:
    """Choose medoids greedily, each time the row that lowers J most; return the largest distance."""
    n = len(to)
    largest = 0.0
    for c in range(n):
        for o in range(n):
            largest = max(largest, to[c, o])
    for o in range(n):
        nearest[o] = largest
    for i in range(len(medoids)):
        best, at = -1.0, -1
        for c in range(n):
            if w[c] == 0.0 or _is_chosen(medoids, i, c):
                continue
            gain = 0.0
            for o in range(n):
                gain += w[o] * max(nearest[o] - to[c, o], 0.0)
            if gain > best:
                best, at = gain, c
        medoids[i] = at
        for o in range(n):
            nearest[o] = min(nearest[o], to[at, o])
    return largest


@kernel(called="kernels", sums="free")
def _is_chosen(medoids: IntArray, count: int, row: int) -> bool:
    for i in range(count):  # noqa: SIM110 # loops are compiled, generators are not
        if medoids[i] == row:
            return True
    return False


@kernel(sums="free")
def _swap(
    to: Array,
    w: Array,
    medoids: IntArray,
    near: Array,
    which: IntArray,
    largest: float,
    max_iter: int,
) -> int:
    """Swap medoids until none lowers J; return the number of rounds, negative if they were too few."""
    n, k = len(to), len(medoids)
    loss, change = np.zeros(k), np.zeros(k)
    total = _nearest_two(to, w, medoids, near, which, largest, loss)
    since = 0
    for rounds in range(1, max_iter + 1):
        for c in range(n):
            since += 1
            if since > n:
                return rounds
            if w[c] == 0.0 or _is_chosen(medoids, k, c):
                continue
            gained = _weigh(to, w, c, near, which, loss, change)
            at = np.argmin(change)
            if gained + change[at] < -_LOWER * total:
                medoids[at] = c
                total = _nearest_two(to, w, medoids, near, which, largest, loss)
                since = 0
    return max_iter if since >= n else -max_iter


@kernel(sums="free")
def _weigh(
    to: Array, w: Array, c: int, near: Array, which: IntArray, loss: Array, change: Array
) -> float:
    """Write what J changes if c replaces each medoid, beside what it gains whichever it replaces."""
    gained = 0.0
    for i in range(len(loss)):
        change[i] = loss[i]
    for o in range(len(w)):
        d = to[c, o]
        if d < near[0, o]:
            gained += w[o] * (d - near[0, o])
            change[which[o]] += w[o] * (near[0, o] - near[1, o])
        elif d < near[1, o]:
            change[which[o]] += w[o] * (d - near[1, o])
    return gained


@kernel(sums="free")
def _nearest_two(
    to: Array,
    w: Array,
    medoids: IntArray,
    near: Array,
    which: IntArray,
    largest: float,
    loss: Array,
) -> float:
    """Find the nearest two medoids of each row and what J loses without each; return J.

    Beside a single medoid the second is as far away as any row.
    """
    total = 0.0
    loss[:] = 0.0
    for o in range(len(w)):
        best, second, at = np.inf, largest, 0
        for i in range(len(medoids)):
            d = to[medoids[i], o]
            if d < best:
                best, second, at = d, min(best, largest), i
            elif d < second:
                second = d
        near[0, o], near[1, o], which[o] = best, second, at
        total += w[o] * best
        loss[at] += w[o] * (second - best)
    return total
