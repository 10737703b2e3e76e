r"""Leading eigenpairs of a symmetric matrix that can only be multiplied with, by blocks of Krylov vectors.

The space of :math:`Q, AQ, A^2Q, \dots` with a random block Q is extended until the Ritz pairs within it
have residuals :math:`\|Av - \theta v\|` below a share of the largest eigenvalue. A product with a block of
columns reads the matrix once, which is what takes time.

Reference: G. Golub & R. Underwood, "The block Lanczos method for computing eigenvalues", 1977; C. Musco &
C. Musco, "Randomized block Krylov methods", 2015.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["leading_pairs"]

#: Columns of a block beside those that are asked for: convergence is that of later eigenvalues.
_BESIDE = 6

#: Residuals, as shares of the largest eigenvalue, with which eigenvalues are right to 1e-16 of it, and
#: vectors to about as many digits as the gap between eigenvalues leaves.
_RESIDUAL = 1e-9


def leading_pairs(multiply: Callable[[Array], Array], size: int, count: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues, falling, (count,), and their vectors (size, count).

    Parameters
    ----------
    multiply : callable
        From (N, b) to A times it.
    size, count : int
        N, and how many pairs.

    Notes
    -----
    Costs some ten products with count + 6 columns. All of N are found exactly at worst, when the space
    is whole.
    """
    width = min(count + _BESIDE, size)
    block = np.random.default_rng(0).standard_normal((size, width))
    basis, image = np.zeros((size, 0)), np.zeros((size, 0))
    while True:
        block = _beside(basis, block)
        basis = np.concatenate([basis, block], axis=1)
        image = np.concatenate([image, multiply(block)], axis=1)  # A times the basis
        values, turn = np.linalg.eigh(basis.T @ image)
        values, turn = values[: -count - 1 : -1], turn[:, : -count - 1 : -1]
        residual = np.linalg.norm(image @ turn - basis @ (turn * values), axis=0).max()
        if residual <= _RESIDUAL * abs(values[0]) or basis.shape[1] >= size:
            return values, basis @ turn
        block = image[:, -block.shape[1] :][:, : size - basis.shape[1]]


def _beside(basis: Array, block: Array) -> Array:
    """Return an orthonormal block beside a basis; twice, as the first leaves rounding of its size."""
    for _ in range(2):
        block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
    return block
