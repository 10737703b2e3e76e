"""Square roots of the covariances that a chain is given, which may be singular."""

from __future__ import annotations

import sys

import numpy as np

from posteriori.numerics.types import Array
from posteriori.numerics.validation import check_symmetric

__all__ = ["PIVOT_TOLERANCE", "factor_semidefinite"]

#: A pivot below this part of its own diagonal entry, for each row of the matrix, is rounding.
PIVOT_TOLERANCE = 32 * sys.float_info.epsilon


def factor_semidefinite(name: str, cov: Array) -> Array:
    """Return lower-triangular L with LLᵀ = cov for a stack (N, D, D), zero columns where singular.

    Raises
    ------
    ValueError
        When a matrix is not symmetric or has a negative eigenvalue beyond rounding.
    """
    cov = check_symmetric(name, cov)
    size = cov.shape[-1]
    diagonal = np.diagonal(cov, axis1=1, axis2=2)
    if np.any(diagonal < 0.0):
        raise ValueError(f"{name} has a negative variance, {float(diagonal.min()):.6g}")
    rest, lower = np.array(cov), np.zeros(cov.shape)
    for k in range(size):
        pivot, column = rest[:, k, k], rest[:, k:, k]
        rounding = PIVOT_TOLERANCE * size * diagonal[:, k]
        _require_semidefinite(name, pivot, rounding, column, diagonal[:, k:])
        safe = np.where(pivot > rounding, pivot, np.inf)
        lower[:, k:, k] = column / np.sqrt(safe)[:, None]
        rest[:, k:, k:] -= lower[:, k:, k, None] * lower[:, None, k:, k]
    return lower


def _require_semidefinite(
    name: str, pivot: Array, rounding: Array, column: Array, diagonal: Array
) -> None:
    # a zero pivot leaves nothing in its column: |Sᵢₖ|² ≤ SₖₖSᵢᵢ
    scale = np.sqrt(diagonal[:, :1]) * np.sqrt(diagonal)
    excess = (pivot <= rounding)[:, None] & (np.abs(column) > 1e-7 * scale)
    if np.any(pivot < -1e-10 * diagonal[:, 0]) or np.any(excess):
        raise ValueError(
            f"{name} must be positive semi-definite; it has a direction of negative variance"
        )
