"""Rows of a Gram matrix, made in blocks on all cores when they are asked for, the latest of them kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from posteriori.inference.margins.gaussian_values import fill_gaussian
from posteriori.kernels.kernel import Kernel
from posteriori.kernels.radial import RBF
from posteriori.numerics.blocks.block_sizes import IN_CACHE, IN_MEMORY, rows_per_block
from posteriori.numerics.compilation import kernel
from posteriori.numerics.threads import share_rows
from posteriori.numerics.types import Array, IntArray

__all__ = ["RowCache", "RowSource", "gram_products", "kernel_products", "rows_of"]

Pool = ThreadPoolExecutor | None

#: Kernel values from which on a second thread pays.
_WORTH_THREADS = 1 << 16

#: |x|²/2 in units of the scale up to which inner products give squared distances to ten digits.
_MODERATE = 1e5


class RowSource(Protocol):
    """The kernel between some points and others: of N points in all, by their places."""

    diagonal: Array

    def fill(
        self, rows: IntArray, columns: IntArray, out: Array, slots: IntArray, pool: Pool
    ) -> None:
        """Write k(x_n, x_m) of rows n and sorted columns m into rows ``slots`` of ``out``."""


def rows_of(kernel: Kernel | str, X: Array) -> RowSource:
    """Return where rows of the Gram matrix come from; ``"precomputed"`` says that X is that matrix."""
    if isinstance(kernel, str):
        return _GramRows(X)
    if isinstance(kernel, RBF):
        x, half = _in_units(kernel, X, X)
        moderate = half.max(initial=0.0) <= _MODERATE
        return _GaussianRows(x, half) if moderate else _KernelRows(RBF(1.0), x)
    return _KernelRows(kernel, X)


def kernel_products(kernel: Kernel, X: Array, Z: Array, weights: Array) -> Array:
    """Return Σ_m k(x_n, z_m) W_mj, (N, J), in blocks of rows, so that no Gram matrix is held.

    Parameters
    ----------
    X, Z : (N, D), (M, D)
    weights : (M, J)
    """
    gaussian = False
    if isinstance(kernel, RBF):
        (x, half_x), (z, half_z) = _in_units(kernel, X, Z), _in_units(kernel, Z, Z)
        gaussian = max(half_x.max(initial=0.0), half_z.max(initial=0.0)) <= _MODERATE
        kernel, X, Z = RBF(1.0), x, z
    products = np.empty((len(X), weights.shape[1]))

    def fill(rows: slice) -> None:
        step = rows_per_block(len(Z), 2 * IN_CACHE)
        space = np.empty((min(step, rows.stop - rows.start), len(Z)))
        for first in range(rows.start, rows.stop, step):
            part = slice(first, min(first + step, rows.stop))
            if gaussian:
                block = space[: part.stop - part.start]
                fill_gaussian(
                    x[part], z, half_x[part], half_z, block, np.arange(len(block)), slice(0, len(z))
                )
            else:
                block = kernel.evaluate(X[part], Z)
            products[part] = block @ weights

    share_rows(fill, len(X), 1 + len(X) * len(Z) // _WORTH_THREADS)
    return products


def _in_units(kernel: RBF, X: Array, Z: Array) -> tuple[Array, Array]:
    """Return points in units of the scale from the centre of Z, and half their squared lengths."""
    center = Z.mean(axis=0) if len(Z) else 0.0
    x = np.ascontiguousarray((X - center) / kernel._scale_of(X))
    return x, 0.5 * np.einsum("nd,nd->n", x, x)


class _GramRows:
    """Rows of a matrix that is there."""

    def __init__(self, gram: Array) -> None:
        self.gram, self.diagonal = gram, np.diagonal(gram).copy()

    def fill(
        self, rows: IntArray, columns: IntArray, out: Array, slots: IntArray, pool: Pool
    ) -> None:
        out[slots] = self.gram[np.ix_(rows, columns)]


class _KernelRows:
    """Rows of any kernel: what it says of different points, and of each point with itself."""

    def __init__(self, kernel: Kernel, X: Array) -> None:
        self.kernel, self.x, self.diagonal = kernel, X, kernel.traced_diagonal(X).value

    def fill(
        self, rows: IntArray, columns: IntArray, out: Array, slots: IntArray, pool: Pool
    ) -> None:
        x, z = self.x[rows], self.x[columns]

        def fill(part: slice) -> None:
            step = rows_per_block(len(z), IN_CACHE)
            for first in range(part.start, part.stop, step):
                few = slice(first, min(first + step, part.stop))
                out[slots[few]] = self.kernel.evaluate(x[few], z)

        share_rows(fill, len(x), 1 + len(x) * len(z) // _WORTH_THREADS, pool)
        _set_diagonal(self.diagonal, rows, columns, out, slots)


class _GaussianRows:
    """Rows of the Gaussian kernel, by inner products."""

    def __init__(self, x: Array, half: Array) -> None:
        self.x, self.half, self.diagonal = x, half, np.ones(len(x))
        self._columns: IntArray | None = None

    def fill(
        self, rows: IntArray, columns: IntArray, out: Array, slots: IntArray, pool: Pool
    ) -> None:
        if self._columns is not columns:  # asked for again and again with the same ones
            self._columns, self._z, self._half = columns, self.x[columns], self.half[columns]
        x, half = self.x[rows], self.half[rows]

        def fill(part: slice) -> None:  # of the columns: rows are few, and best multiplied at once
            fill_gaussian(x, self._z, half, self._half, out, slots, part)

        share_rows(fill, len(columns), 1 + len(x) * len(columns) // _WORTH_THREADS, pool)
        _set_diagonal(self.diagonal, rows, columns, out, slots)


def _set_diagonal(
    diagonal: Array, rows: IntArray, columns: IntArray, out: Array, slots: IntArray
) -> None:
    """Write what is on the diagonal of the Gram matrix."""
    place = np.minimum(np.searchsorted(columns, rows), len(columns) - 1)
    same = np.flatnonzero(columns[place] == rows)
    out[slots[same], place[same]] = diagonal[rows[same]]


class RowCache:
    """The latest rows of a Gram matrix over some columns, in a fixed amount of memory.

    Parameters
    ----------
    source : RowSource
    megabytes : float
        Room for so many MB, and for two rows at least.
    dtype : dtype
        Of what is kept: single precision holds twice as many rows.
    pool : ThreadPoolExecutor, optional
        Threads that share the work.

    Attributes
    ----------
    columns : (M,)
        Sorted places of the columns that are looked at.
    rows : (S, M)
        Kept rows, in slots.
    slot : (M,)
        Where the row of each column is, −1 where it is not kept.
    used : (S,)
        When each slot was last asked for; −1 of those that are empty.
    """

    def __init__(
        self, source: RowSource, megabytes: float, dtype: Any = np.float64, pool: Pool = None
    ) -> None:
        self.source, self.pool = source, pool
        count = len(source.diagonal)
        room = int(megabytes * 2**20 / np.dtype(dtype).itemsize)
        self._memory = np.empty(min(max(room, 2 * count), count * count), dtype)
        self._take_columns(np.arange(count))

    def _take_columns(self, columns: IntArray) -> None:
        """Look at these columns from now on; what was kept is forgotten."""
        self.columns = columns
        width = len(columns)
        capacity = min(len(self._memory) // max(width, 1), width)
        self.rows = self._memory[: capacity * width].reshape(capacity, width)
        self.slot = np.full(width, -1)
        self._owner = np.full(capacity, -1)
        self.used = np.full(capacity, -1)

    def widen(self) -> None:
        """Look at all columns again."""
        self._take_columns(np.arange(len(self.source.diagonal)))

    def narrow(self, kept: IntArray) -> None:
        """Look at some of the columns, given by their places among the present ones; their rows stay."""
        columns, width = self.columns[kept], len(self.columns)
        slots = self.slot[kept]
        owners = np.argsort(slots)[np.count_nonzero(slots < 0) :]  # in the order of their slots
        slots, used = slots[owners], self.used[slots[owners]]
        for place, slot in enumerate(slots):
            # towards the front: no row is written before it is read
            row = self._memory[slot * width : (slot + 1) * width][kept]
            self._memory[place * len(kept) : (place + 1) * len(kept)] = row
        self._take_columns(columns)
        self._owner[: len(slots)], self.used[: len(slots)] = owners, used
        self.slot[owners] = np.arange(len(slots))

    def fetch(self, wanted: IntArray, now: int) -> IntArray:
        """Return the slots of rows, given by their places among the columns; no more than there are slots.

        Those that are missing are made in place of those that were last used longest ago.
        """
        slots = self.slot[wanted]
        self.used[slots[slots >= 0]] = now
        missing = wanted[slots < 0]
        if len(missing):
            oldest = np.sort(np.argpartition(self.used, len(missing) - 1)[: len(missing)])
            gone = self._owner[oldest]
            self.slot[gone[gone >= 0]] = -1
            self._owner[oldest], self.used[oldest], self.slot[missing] = missing, now, oldest
            self.source.fill(self.columns[missing], self.columns, self.rows, oldest, self.pool)
        return self.slot[wanted]

    def add_to(self, products: Array, slots: IntArray, steps: Array) -> None:
        """Add Σ steps · rows to the products, (M,)."""
        moved = np.flatnonzero(steps)
        slots, steps = slots[moved], steps[moved]
        share_rows(
            lambda part: _add_rows(self.rows, slots, steps, products, part.start, part.stop),
            len(products),
            # an addition is an eighth of the work of a kernel value
            1 + len(moved) * len(products) // (8 * _WORTH_THREADS),
            self.pool,
        )


def gram_products(
    source: RowSource, rows: IntArray, columns: IntArray, weights: Array, pool: Pool
) -> Array:
    """Return Σₙ wₙ k(xₙ, x_m) over rows n, for each of the columns m, in blocks."""
    total = np.zeros(len(columns))
    step = rows_per_block(len(columns), IN_MEMORY)
    space = np.empty((min(step, len(rows)), len(columns)))
    for first in range(0, len(rows), step):
        few = rows[first : first + step]
        source.fill(few, columns, space, np.arange(len(few)), pool)
        total += weights[first : first + step] @ space[: len(few)]
    return total


@kernel(sums="fused", allocates=False)
def _add_rows(
    rows: Array, slots: IntArray, steps: Array, products: Array, first: int, last: int
) -> None:
    """Add Σ steps · rows to a part of the products, block by block so that it stays in the cache."""
    for left in range(first, last, 1024):
        right = min(left + 1024, last)
        for k in range(len(slots)):
            row, step = rows[slots[k]], steps[k]
            for j in range(left, right):
                products[j] += step * row[j]
