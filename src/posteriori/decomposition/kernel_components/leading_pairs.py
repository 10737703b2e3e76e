r"""Leading eigenpairs of a symmetric matrix that can only be multiplied with, by blocks of Krylov vectors.

The space of :math:`Q, QA, QA^2, \dots` with random rows Q is extended until the Ritz pairs within it have
residuals :math:`\|vA - \theta v\|` below a share of their eigenvalues. A product with a block of rows reads the
matrix once, which is what takes time. With an orthonormal basis V of the space, the matrix within it is
:math:`T = VAV^\top`, and for :math:`Tu = \theta u` only what the last block's image has beside V is left of the
residual: :math:`u_\text{last}^\top(Q_\text{last}A - Q_\text{last}AV^\top V)`.

Reference: G. Golub & R. Underwood, "The block Lanczos method for computing eigenvalues", 1977; C. Musco &
C. Musco, "Randomized block Krylov methods", 2015.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from posteriori.numerics.rank import ROUNDING
from posteriori.numerics.threads import without_blas_threads
from posteriori.numerics.types import Array

__all__ = ["leading_pairs"]

#: Rows of a block beside those that are asked for: convergence is that of later eigenvalues.
_BESIDE = 6

#: Residuals, as shares of eigenvalues, with which these are right to 1e-16 of them, and vectors to about as many
#: digits as the gap between eigenvalues leaves.
_RESIDUAL = 1e-9


def leading_pairs(multiply: Callable[[Array], Array], size: int, count: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues, falling, (count,), and their vectors (count, N).

    Parameters
    ----------
    multiply : callable
        From rows (b, N) to the same times A.
    size, count : int
        N, and how many pairs.

    Notes
    -----
    Costs some ten products with count + 6 rows. All of N are found exactly at worst, when the space
    is whole.
    """
    block = np.random.default_rng(0).standard_normal((min(count + _BESIDE, size), size))
    space, within = np.empty((0, size)), np.empty((0, 0))
    with without_blas_threads():  # on thin blocks they would wait longer than they work
        while True:
            block = _beside(space, block)
            space = np.concatenate([space, block])
            image = multiply(block)
            across = image @ space.T
            within = _bordered(within, across)  # T
            values, turn = np.linalg.eigh(within)
            values, turn = values[: -count - 1 : -1], turn[:, : -count - 1 : -1]
            rest = image - across @ space
            residuals = np.linalg.norm(turn[-len(block) :].T @ rest, axis=1)
            small = np.maximum(_RESIDUAL * np.abs(values), ROUNDING * abs(values[0]))
            if np.all(residuals <= small) or len(space) >= size:
                return values, turn.T @ space
            block = rest[: size - len(space)]


def _beside(space: Array, block: Array) -> Array:
    """Return orthonormal rows beside a basis; twice, as the first leaves rounding of its size."""
    for _ in range(2):
        block = np.linalg.qr((block - (block @ space.T) @ space).T)[0].T
    return block


def _bordered(within: Array, across: Array) -> Array:
    """Return a symmetric matrix with further rows below, whose ends are also its further columns."""
    old = len(within)
    return np.block([[within, across[:, :old].T], [across[:, :old], across[:, old:]]])
