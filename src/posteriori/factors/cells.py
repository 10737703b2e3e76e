"""Sums and products of dense arrays, chosen by size and memory layout.

A table is cut into runs of axes that lie side by side in memory. Summing one run of a table seen
as (pre, run, post) is a product with a vector of ones, which the BLAS does at the speed of the
memory whatever the sizes; NumPy's own reductions and ``einsum`` are several times slower where
runs are short, as they are in tables of binary variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["contract_cells", "max_cells", "multiply_cells", "sum_cells"]

#: Below this many cells the overhead of a call decides, not the memory.
_SMALL = 1 << 12
#: An inner loop of this many cells runs at the speed of the memory.
_TILE = 1 << 11
#: Shorter inner loops are worth a tile.
_LOOP = 64
#: How many cells of ``post`` still make a product with an expanded matrix worth while.
_THIN = 16
#: From this many cells of ``post`` on a batch of BLAS products beats einsum for a single row.
_WIDE = 1 << 11
#: How many axes einsum can tell apart.
_LETTERS = 50
#: Copying a table into the layout of the BLAS pays when each cell is used this often.
_REUSE = 8


def multiply_cells(a: Array, b: Array) -> Array:
    """Return the broadcast product of two arrays with the same number of axes."""
    if a.size > _SMALL or b.size > _SMALL:
        a, b = (a, _tiled(a, b)) if a.size >= b.size else (_tiled(b, a), b)
    return np.multiply(a, b)


def sum_cells(x: Array, gone: tuple[int, ...]) -> Array:
    """Return the sum over the axes ``gone``."""
    if x.size <= _SMALL:
        total: Array = np.add.reduce(x, axis=gone)
        return total
    return _by_runs(x, gone, lambda cube: _apply(np.ones((1, cube.shape[1])), cube))


def max_cells(x: Array, gone: tuple[int, ...]) -> Array:
    """Return the maximum over the axes ``gone``."""
    if x.size <= _SMALL:
        largest: Array = np.maximum.reduce(x, axis=gone)
        return largest
    return _by_runs(x, gone, _largest)


def contract_cells(
    a: Array, b: Array, axes_a: list[int], axes_b: list[int], keep: list[int]
) -> Array:
    """Return Σ a·b over all axes that are not in ``keep``.

    Parameters
    ----------
    a, b : array
        Every axis that only one of them has is in ``keep``: sum the others out first.
    axes_a, axes_b : list of int
        A number for each axis; equal numbers are the same axis.
    keep : list of int
        The axes of the result, in order.
    """
    if a.size < b.size:
        a, b, axes_a, axes_b = b, a, axes_b, axes_a
    sizes = dict(zip(axes_a + axes_b, a.shape + b.shape, strict=True))
    work = math.prod(sizes.values())
    kept = set(keep)
    shared = [i for i in axes_a if i in axes_b]
    summed = [i for i in shared if i not in kept]
    if work > _SMALL and summed:
        if len(summed) == len(shared):
            return _matrix_product(a, b, axes_a, axes_b, summed, keep, work)
        if work >= _REUSE * a.size:
            return _batched_product(a, b, axes_a, axes_b, summed, keep)
    if len(sizes) > _LETTERS:
        union = axes_a + [i for i in axes_b if i not in axes_a]
        product = _spread(a, axes_a, union) * _spread(b, axes_b, union)
        gone = tuple(i for i, axis in enumerate(union) if axis not in kept)
        left = [axis for axis in union if axis in kept]
        return sum_cells(product, gone).transpose([left.index(axis) for axis in keep])
    result: Array = np.einsum(a, axes_a, b, axes_b, keep)
    return result


def _by_runs(x: Array, gone: tuple[int, ...], reduce: Callable[[Array], Array]) -> Array:
    """Reduce one run of axes after the other, the longest first, each as (pre, run, post)."""
    order = _memory_order(x)
    dense = x.transpose(order)
    if not dense.flags.c_contiguous:
        dense = np.ascontiguousarray(dense)
    runs = _runs([(x.shape[i], i in gone) for i in order])
    while any(going for _, going in runs):
        at = max((i for i, run in enumerate(runs) if run[1]), key=lambda i: runs[i][0])
        pre = math.prod(size for size, _ in runs[:at])
        post = math.prod(size for size, _ in runs[at + 1 :])
        dense = reduce(dense.reshape(pre, runs[at][0], post))
        runs = _runs(runs[:at] + runs[at + 1 :])
    left = [i for i in order if i not in gone]
    kept = sorted(left)
    return dense.reshape([x.shape[i] for i in left]).transpose([left.index(i) for i in kept])


def _matrix_product(
    a: Array,
    b: Array,
    axes_a: list[int],
    axes_b: list[int],
    summed: list[int],
    keep: list[int],
    work: int,
) -> Array:
    """Contract tables that share only what is summed: one product of two matrices."""
    free_b = [i for i in axes_b if i not in summed]
    order = [axes_a[i] for i in _memory_order(a)]
    at = sorted(order.index(i) for i in summed)
    run = [order[i] for i in at]
    dense = a.transpose([axes_a.index(i) for i in order])
    apart = at[-1] - at[0] >= len(at)
    if apart and work < _REUSE * a.size:
        # Moving the summed axes together would cost more than multiplying in place.
        product = np.multiply(a, _spread(b, axes_b, axes_a)) if not free_b else None
        if product is not None:
            left = [i for i in axes_a if i not in summed]
            total = sum_cells(product, tuple(axes_a.index(i) for i in summed))
            return total.transpose([left.index(i) for i in keep])
    if apart:
        order = [i for i in order if i not in summed] + run
        dense = a.transpose([axes_a.index(i) for i in order])
        at = list(range(len(order) - len(run), len(order)))
    pre, post = order[: at[0]], order[at[-1] + 1 :]
    size = dict(zip(axes_a + axes_b, a.shape + b.shape, strict=True))
    matrix = b.transpose([axes_b.index(i) for i in free_b + run])
    rows = math.prod(size[i] for i in free_b)
    length = math.prod(size[i] for i in run)
    cube = dense.reshape(math.prod(size[i] for i in pre), length, -1)
    product = _apply(matrix.reshape(rows, length), cube)
    left = pre + free_b + post
    result = product.reshape([size[i] for i in left])
    return result.transpose([left.index(i) for i in keep])


def _batched_product(
    a: Array, b: Array, axes_a: list[int], axes_b: list[int], summed: list[int], keep: list[int]
) -> Array:
    """Contract tables that also share kept axes: one product of matrices for each of their cells."""
    size = dict(zip(axes_a + axes_b, a.shape + b.shape, strict=True))
    batch = [i for i in axes_a if i in axes_b and i not in summed]
    free_a = [i for i in axes_a if i not in axes_b]
    free_b = [i for i in axes_b if i not in axes_a]

    def cube(x: Array, axes: list[int], *groups: list[int]) -> Array:
        ordered = x.transpose([axes.index(i) for group in groups for i in group])
        return ordered.reshape([math.prod(size[i] for i in group) for group in groups])

    product = cube(a, axes_a, batch, free_a, summed) @ cube(b, axes_b, batch, summed, free_b)
    left = batch + free_a + free_b
    result = product.reshape([size[i] for i in left])
    return result.transpose([left.index(i) for i in keep])


def _apply(matrix: Array, x: Array) -> Array:
    """Return Σ_k matrix[n, k] x[pre, k, post], shape (pre, n, post)."""
    pre, length, post = x.shape
    rows = len(matrix)
    if pre == 1:
        return np.dot(matrix, x[0])[None]
    if post == 1:
        return np.dot(x[:, :, 0], matrix.T)[:, :, None]
    if post <= _THIN and length * post <= 32 * _THIN:
        # (pre, k·post) times matrix ⊗ I: more operations, but in one product.
        expanded = np.kron(matrix.T, np.eye(post))
        return np.dot(x.reshape(pre, length * post), expanded).reshape(pre, rows, post)
    if rows > 1 or post <= _THIN or post >= _WIDE:
        return np.matmul(matrix, x)
    result: Array = np.einsum("k,akc->ac", matrix[0], x)[:, None]
    return result


def _largest(x: Array) -> Array:
    """Return max_k x[pre, k, post]; short loops are avoided by halving the run."""
    while x.shape[1] > 1 and (x.shape[2] < _LOOP) and (x.shape[1] < _LOOP or x.shape[2] > 1):
        half = x.shape[1] // 2
        folded = np.maximum(x[:, :half], x[:, half : 2 * half])
        if x.shape[1] % 2:
            np.maximum(folded[:, :1], x[:, -1:], out=folded[:, :1])
        x = folded
    result: Array = np.maximum.reduce(x, axis=1, keepdims=True)
    return result


def _tiled(large: Array, small: Array) -> Array:
    """Expand the short end of ``small`` so that the innermost loop of the product is long."""
    contained = all(m <= n for n, m in zip(large.shape, small.shape, strict=True))
    if not contained or not large.flags.c_contiguous:
        return small
    runs = _runs([(n, m == 1) for n, m in zip(large.shape, small.shape, strict=True) if n != 1])
    if runs[-1][0] >= _LOOP:
        return small
    shape = list(small.shape)
    tile = 1
    for i in reversed(range(large.ndim)):
        if tile >= _TILE:
            break
        shape[i] = large.shape[i]
        tile *= large.shape[i]
    if 4 * math.prod(shape) > large.size:
        return small
    return np.ascontiguousarray(np.broadcast_to(small, shape))


def _runs(pieces: list[tuple[int, bool]]) -> list[tuple[int, bool]]:
    """Join neighbours that are both summed or both kept."""
    joined: list[tuple[int, bool]] = []
    for size, summed in pieces:
        if joined and joined[-1][1] == summed:
            joined[-1] = (joined[-1][0] * size, summed)
        else:
            joined.append((size, summed))
    return joined


def _memory_order(x: Array) -> list[int]:
    """Return the axes from the outermost to the innermost in memory."""
    if x.flags.c_contiguous:
        return list(range(x.ndim))
    return sorted(range(x.ndim), key=lambda i: (-abs(x.strides[i]), i))


def _spread(x: Array, axes: list[int], onto: list[int]) -> Array:
    """Line ``x`` up with the axes ``onto`` by broadcasting."""
    ordered = x.transpose([axes.index(i) for i in onto if i in axes])
    index: list[Any] = [slice(None) if i in axes else None for i in onto]
    return ordered[tuple(index)]
