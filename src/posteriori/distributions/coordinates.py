r"""Natural parameters and statistics as flat vectors of minimal length.

A symmetric matrix has D(D+1)/2 free entries: statistics list its lower triangle, and natural
parameters count each off-diagonal entry twice, so that the inner product
:math:`\langle\eta, T\rangle` is the same in both views.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posteriori.numerics.types import Array, Natural

__all__ = ["flatten_natural", "flatten_statistics", "inner", "unflatten_natural"]


def inner(natural: Natural, statistics: Natural, ndims: Sequence[int]) -> Array:
    """Return ⟨η, T⟩: products summed over the event axes of each component."""
    total: Array | None = None
    for eta, t, ndim in zip(natural, statistics, ndims, strict=True):
        term = eta * t
        if ndim:
            term = term.sum(axis=tuple(range(-ndim, 0)))
        total = term if total is None else total + term
    assert total is not None
    return total


def flatten_statistics(parts: Natural, ndims: Sequence[int]) -> Array:
    """Return statistics or mean parameters as one vector (..., M)."""
    return np.concatenate([_flat(p, n, 1.0) for p, n in zip(parts, ndims, strict=True)], axis=-1)


def flatten_natural(parts: Natural, ndims: Sequence[int]) -> Array:
    """Return natural parameters as one vector (..., M)."""
    return np.concatenate([_flat(p, n, 2.0) for p, n in zip(parts, ndims, strict=True)], axis=-1)


def unflatten_natural(flat: Array, like: Natural, ndims: Sequence[int]) -> Natural:
    """Undo :func:`flatten_natural`; ``like`` gives the shapes."""
    parts: list[Array] = []
    start = 0
    for example, ndim in zip(like, ndims, strict=True):
        size = int(np.shape(example)[-1]) if ndim else 1
        length = size * (size + 1) // 2 if ndim == 2 else size
        piece = flat[..., start : start + length]
        parts.append(_square_of(piece, size) if ndim == 2 else piece if ndim else piece[..., 0])
        start += length
    return tuple(parts)


def _flat(part: Array, ndim: int, off_diagonal: float) -> Array:
    part = np.asarray(part)
    if ndim == 0:
        return part[..., None]
    if ndim == 1:
        return part
    rows, columns = np.tril_indices(part.shape[-1])
    return part[..., rows, columns] * np.where(rows == columns, 1.0, off_diagonal)


def _square_of(piece: Array, size: int) -> Array:
    rows, columns = np.tril_indices(size)
    halves = piece * np.where(rows == columns, 1.0, 0.5)
    square = np.zeros((*piece.shape[:-1], size, size))
    square[..., rows, columns] = halves
    square[..., columns, rows] = halves
    return square
