r"""Rows that are divided into clusters, and passes over them.

.. math:: J = \sum_n w_n \sum_{d\ \text{seen}} (x_{nd} - \mu_{z_n d})^2

(or :math:`|x_{nd}-\mu_{z_n d}|`). Rows are read where they lie, also from a file, and measured from the
centre of the data, so that an offset costs no digits. Beside them a label and a bound are kept for each.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.clusters.distance_kernels import (
    add_moments,
    distance_table,
    sum_distances,
)
from posteriori.inference.clusters.nearest_kernels import (
    ABSOLUTE,
    SEEN_SQUARES,
    SQUARES,
    add_members,
    assign_rows,
)
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.threads import run_beside, thread_count
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "ClusterRows",
    "Sweeps",
    "column_moments",
    "distances_to",
    "make_rows",
    "nearest_labels",
    "objective",
]

#: Less work than this, in operations, is done before another thread has begun.
_WORTH_THREADS = 1_000_000

#: Numbers in a pack: they and the centres fit into the nearest cache.
_PACK = 4096


class ClusterRows(NamedTuple):
    """Rows and how they are measured.

    Attributes
    ----------
    x : (N, D)
        NaN is a gap.
    weight : (N,), or (0,) where all count once
    shift : (D,)
        What they are measured from.
    gappy, absolute : bool
        Whether there are gaps; whether distances are sums of absolute values.
    """

    x: Array
    weight: Array
    shift: Array
    gappy: bool
    absolute: bool = False

    @property
    def measure(self) -> int:
        """The kernels' name of the distance."""
        return ABSOLUTE if self.absolute else SEEN_SQUARES if self.gappy else SQUARES


def make_rows(
    x: Array, weight: Array | None = None, *, gappy: bool = False, absolute: bool = False
) -> ClusterRows:
    """Return rows measured from the mean of each column."""
    x = as_kernel_input(x)
    w = as_kernel_input(np.empty(0) if weight is None else weight)
    shift = column_moments(x, w)[0]
    return ClusterRows(x, w, shift, gappy, absolute)


def column_moments(x: Array, weight: Array) -> tuple[Array, Array]:
    """Return mean and variance of the seen entries of each column, (D,) each."""
    around = np.nan_to_num(x[0])
    variance = around
    for _ in range(2):  # the second time around the means
        counts, sums, squares = np.zeros((3, x.shape[1]))
        add_moments(x, weight, around, counts, sums, squares)
        mean = sums / np.maximum(counts, np.finfo(np.float64).tiny)
        variance = squares / np.maximum(counts, np.finfo(np.float64).tiny) - mean**2
        around = around + mean
    return around, np.maximum(variance, 0.0)


def objective(rows: ClusterRows, centers: Array, labels: IntArray) -> float:
    """Return J, the sum of weighted distances to the centres of the clusters."""
    x, weight, _, _, absolute = rows
    edges = _edges(len(x), x.size)

    def part(a: int, b: int) -> float:
        return sum_distances(x, weight, centers, labels, absolute, a, b)

    return float(sum(_side_by_side(part, edges)))


def nearest_labels(x: Array, centers: Array, *, gappy: bool, absolute: bool = False) -> IntArray:
    """Return the nearest centre of each row, the first of equally near ones, (N,)."""
    shift = np.asarray(centers.mean(axis=0))  # not that of the rows: each is then on its own
    rows = ClusterRows(as_kernel_input(x), as_kernel_input(np.empty(0)), shift, gappy, absolute)
    sweeps = Sweeps(rows, len(centers))
    sweeps.assign(centers - shift)
    return sweeps.labels


def distances_to(x: Array, centers: Array, *, absolute: bool = False) -> Array:
    """Return distances (N, K) of rows to centres, over seen entries."""
    table = np.empty((len(x), len(centers)))
    distance_table(as_kernel_input(x), as_kernel_input(centers), absolute, table)
    return table if absolute else np.sqrt(table)


class Sweeps:
    """Passes over rows, which remember where each row belongs and how safely.

    Attributes
    ----------
    labels : (N,)
    gap : (N,)
        How much nearer its centre is than all others, at least.
    sums, counts : (K, D)
        Of the seen entries of each cluster, less the shift.
    members : (K,)
        How many rows that count each cluster has.
    """

    def __init__(self, rows: ClusterRows, k: int) -> None:
        n, d = rows.x.shape
        self.rows = rows
        self.labels: IntArray = np.full(n, -1, dtype=np.int32)
        self.gap: Array = np.zeros(n, dtype=np.float32)
        self.sums, self.counts = np.zeros((k, d)), np.zeros((k, d))
        self.members: IntArray = np.zeros(k, dtype=np.int64)
        self._edges = _edges(n, n * k * d)
        width = -(-d // 4) * 4
        size = int(np.clip(_PACK // width // 16 * 16, 16, 128))
        self._room = [_make_workspace(k, d, width, size) for _ in self._edges]
        self._centers: Array | None = None

    def assign(self, centers: Array, *, afresh: bool = False) -> int:
        """Give each row to its nearest centre (measured from the shift); return how many rows change.

        Rows whose centre is nearer than all others can have become since the last time are not looked
        at, unless ``afresh``.
        """
        x, weight, shift, _, _ = self.rows
        moved = self._moved(centers)
        if afresh:
            moved[:] = np.inf
        padded, half = _padded(centers)

        def part(a: int, b: int, workspace: tuple[Any, ...]) -> int:
            for total in workspace[:3]:
                total[...] = 0
            return assign_rows(
                x, weight, shift, padded, half, moved, self.rows.measure, a, b, self.labels, self.gap, *workspace
            )  # fmt: skip

        jobs = [
            (a, b, workspace) for (a, b), workspace in zip(self._edges, self._room, strict=True)
        ]
        changed = sum(_side_by_side(part, jobs))
        for sums, counts, members, *_ in self._room:
            self.sums += sums
            self.counts += counts
            self.members += members
        self._centers = centers
        return changed

    def recount(self) -> None:
        """Add up the sums of clusters anew, free of what rounding leaves where rows come and go."""
        x, weight, shift, _, _ = self.rows

        def part(a: int, b: int, workspace: tuple[Any, ...]) -> None:
            sums, counts = workspace[:2]
            sums[...], counts[...] = 0.0, 0.0
            add_members(x, weight, shift, self.labels, a, b, sums, counts)

        jobs = [
            (a, b, workspace) for (a, b), workspace in zip(self._edges, self._room, strict=True)
        ]
        _side_by_side(part, jobs)
        self.sums = np.sum([workspace[0] for workspace in self._room], axis=0)
        self.counts = np.sum([workspace[1] for workspace in self._room], axis=0)

    def _moved(self, centers: Array) -> Array:
        """Return how far centres have moved, the most, the next, and which moved most, (K + 3,)."""
        if self._centers is None:
            return np.zeros(len(centers) + 3)
        shift = np.abs(centers - self._centers)
        each = shift.sum(axis=1) if self.rows.absolute else np.sqrt((shift**2).sum(axis=1))
        each *= 1.0 + 1e-9  # and what rounding has made shorter
        mover = int(np.argmax(each))
        others = np.delete(each, mover)
        return np.concatenate([each, [each[mover], others.max(initial=0.0), mover]])


def _padded(centers: Array) -> tuple[Array, Array]:
    """Return centres as kernels read them, in twos and fours, and |c|²/2."""
    k, d = centers.shape
    padded = np.zeros((-(-k // 2) * 2, -(-d // 4) * 4))
    padded[:k, :d] = centers
    half = np.full(len(padded), np.inf)
    half[:k] = 0.5 * np.einsum("kd,kd->k", centers, centers)
    return padded, half


def _make_workspace(k: int, d: int, width: int, size: int) -> tuple[Any, ...]:
    """Return what one thread writes to: sums, counts, members, pack, work, which, place."""
    whole = (np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64))
    members = np.zeros(k, dtype=np.int64)
    pack, work = np.zeros((width, size)), np.zeros((4, size))
    return np.zeros((k, d)), np.zeros((k, d)), members, pack, work, *whole


def _edges(n: int, work: int) -> list[tuple[int, int]]:
    """Divide rows among the threads that are worth their start."""
    parts = thread_count() if work > _WORTH_THREADS else 1
    edges = np.linspace(0, n, parts + 1).astype(np.int64).tolist()
    return list(pairwise(edges))


def _side_by_side(function: Callable[..., Any], jobs: list[tuple[Any, ...]]) -> list[Any]:
    if len(jobs) == 1:
        return [function(*jobs[0])]
    with ThreadPoolExecutor(len(jobs)) as pool:
        return run_beside(function, jobs, pool)
