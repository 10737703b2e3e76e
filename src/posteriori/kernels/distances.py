r"""Squared distances between points, with digits where points are close.

.. math:: |x - z|^2 = |x|^2 + |z|^2 - 2x^\top z

is one product of matrices, and loses all digits of points that are close and far from 0. So points are
centred first, and pairs that remain much closer than they are long are subtracted one by one.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["column_squares", "squared_distances"]

#: Below this share of |x|² + |z|² a squared distance has lost too many digits: ten are left above it.
_CLOSE = 1e-6


def squared_distances(X: Array, Z: Array) -> Array:
    """Return |xₙ − z_m|², (N, M).

    Examples
    --------
    >>> squared_distances(np.array([[1e8, 0.0]]), np.array([[1e8 + 0.5, 0.0]]))
    array([[0.25]])
    """
    if X.shape[1] == 1:
        squares = X - Z[:, 0]
        return np.multiply(squares, squares, out=squares)
    center = Z.mean(axis=0) if len(Z) else 0.0
    x, z = X - center, Z - center
    lengths, others = np.einsum("nd,nd->n", x, x), np.einsum("nd,nd->n", z, z)
    squares = np.matmul(-2.0 * x, z.T)
    squares += lengths[:, None]
    squares += others
    least = _CLOSE * (lengths.max(initial=0.0) + others.max(initial=0.0))
    rows, columns = np.divmod(np.flatnonzero(squares <= least), max(len(z), 1))
    near = squares[rows, columns] <= _CLOSE * (lengths[rows] + others[columns])
    rows, columns = rows[near], columns[near]
    between = X[rows] - Z[columns]
    squares[rows, columns] = np.einsum("nd,nd->n", between, between)
    return squares


def column_squares(X: Array, Z: Array, W: Array) -> Array:
    """Return Σₙₘ Wₙₘ (xₙd − z_md)² for each column d, (D,), without an array of N × M × D numbers."""
    center = Z.mean(axis=0) if len(Z) else 0.0
    x, z = X - center, Z - center
    across = np.einsum("nd,nd->d", x, W @ z)
    return W.sum(axis=1) @ (x * x) + W.sum(axis=0) @ (z * z) - 2.0 * across
