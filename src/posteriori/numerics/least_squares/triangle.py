r"""Triangles of rows [X y]: least squares that square no condition number.

Reflections turn rows of inputs and targets into an upper triangular matrix of the same squares,

.. math:: R = \begin{pmatrix} U & u \\ 0 & \rho \end{pmatrix},\qquad R^TR = [X\,y]^T[X\,y],

so that :math:`|y - Xw|^2 = |u - Uw|^2 + \rho^2`: the weights solve :math:`Uw = u`, and :math:`\rho^2`
is left over without a difference of large numbers. What a prior says are rows like others, and
triangles of parts are stacked to make the triangle of the whole.

Reference: Å. Björck, "Numerical methods for least squares problems", 1996.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = [
    "INDEPENDENT",
    "LeastSquares",
    "column_norms",
    "least_squares",
    "padded",
    "trapezoid",
    "trapezoid_of",
    "triangle",
    "triangle_of",
]

#: Inputs of which the others leave less than this share of the squares are triangularised, not
#: squared: errors of rounding in the Gram matrix grow by as much.
INDEPENDENT = 1e-4


class LeastSquares(NamedTuple):
    """Weights that leave the least squares.

    Attributes
    ----------
    mean : (D,)
    factor : (D, D)
        Upper triangular U with UᵀU = XᵀX.
    misfit : float
        ρ², what is left.
    """

    mean: Array
    factor: Array
    misfit: float


def least_squares(rows: Array, n_inputs: int) -> LeastSquares:
    """Return the weights of inputs under which rows [X y] (N, D + 1) leave the least squares."""
    r = triangle(rows)
    factor = r[:n_inputs, :n_inputs]
    mean = np.linalg.solve(factor, r[:n_inputs, n_inputs])  # a triangle is solved as it stands
    return LeastSquares(mean, factor, float((r[n_inputs:, n_inputs] ** 2).sum()))


def triangle(rows: Array) -> Array:
    """Return R of a QR decomposition with columns scaled to unit length, padded to a square."""
    return padded(trapezoid(rows))


def trapezoid(rows: Array) -> Array:
    """Return the same without padding: as many rows as there are, but no more than columns."""
    lengths = column_norms(rows)
    safe = np.where(lengths > 0, lengths, 1.0)
    return np.asarray(np.linalg.qr(rows / safe, mode="r") * safe)


def padded(rows: Array) -> Array:
    """Return rows, and rows of zeros below where they are fewer than the columns."""
    missing = max(0, rows.shape[1] - len(rows))
    return np.pad(rows, ((0, missing), (0, 0))) if missing else rows


def trapezoid_of(blocks: Iterable[Array], width: int) -> Array:
    """Return the trapezoid of all rows of some blocks (N, width); small ones go together.

    A block may lie in memory that the next one overwrites.
    """
    kept, waiting = [np.zeros((0, width))], 0
    for block in blocks:
        waiting += len(block)
        if waiting < width:
            kept.append(block.copy())
        else:
            kept, waiting = [trapezoid(np.concatenate([*kept, block]))], 0
    return kept[0] if len(kept) == 1 and len(kept[0]) else trapezoid(np.concatenate(kept))


def triangle_of(blocks: Iterable[Array], width: int) -> Array:
    """Return the same, padded to a square."""
    return padded(trapezoid_of(blocks, width))


def column_norms(a: Array) -> Array:
    """Return the Euclidean lengths of the columns, also where squares over- or underflow."""
    largest = np.abs(a).max(axis=0, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt(((a / safe) ** 2).sum(axis=0))
