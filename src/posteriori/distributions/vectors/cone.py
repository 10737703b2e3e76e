"""The cone of symmetric positive definite matrices: who belongs to it, and factors of its members.

All functions work on stacks ``(..., D, D)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.lazy import blas, lapack
from posteriori.numerics.rank import has_clear_pivots, is_definite
from posteriori.numerics.types import Array
from posteriori.numerics.validation import SYMMETRY_TOLERANCE

__all__ = ["factor", "factor_inside", "is_positive_definite", "off_cone", "solve_factor"]


def factor(x: Array) -> Array:
    """Return lower L with L Lᵀ = x of matrices that are known to be definite.

    A single matrix goes to LAPACK directly.

    Raises
    ------
    LinAlgError
        When a matrix of the stack has no factor.
    """
    if x.ndim != 2:
        return np.linalg.cholesky(x)
    lower, info = lapack.dpotrf(x, lower=1)
    if info:
        raise np.linalg.LinAlgError("matrix is not positive definite")
    return lower


def solve_factor(lower: Array, b: Array) -> Array:
    """Return L⁻¹ B."""
    if lower.ndim == 2 and b.ndim == 2:
        return blas.dtrsm(1.0, lower, b, lower=1)  # dtrtrs starts threads for the smallest matrix
    return np.linalg.solve(lower, b)


def off_cone(x: Array) -> Any:
    """Mark matrices that are not symmetric positive definite; False where there are none.

    Raises
    ------
    ValueError
        When ``x`` holds NaN.
    """
    if factor_inside(x) is not None:
        return False
    if np.isnan(x).any():
        raise ValueError("x must not hold NaN; drop or impute missing values first")
    return ~is_positive_definite(x)


def is_positive_definite(a: Array) -> Any:
    """Tell which matrices are finite, symmetric up to rounding, and positive definite."""
    if factor_inside(a) is not None:
        return np.ones(a.shape[:-2], dtype=bool)[()]
    symmetric = _is_symmetric(a)
    return symmetric & is_definite(np.where(symmetric[..., None, None], a, 0.0))


def factor_inside(a: Array) -> Array | None:
    """Return lower factors of matrices that are well inside the cone; None where one is not.

    They are symmetric up to rounding, and no pivot is small beside its diagonal entry.
    """
    if not ((a == np.swapaxes(a, -1, -2)).all() or np.all(_is_symmetric(a))):
        return None
    try:
        lower = factor(a)
    except np.linalg.LinAlgError:
        return None
    return lower if has_clear_pivots(lower, np.diagonal(a, axis1=-2, axis2=-1)) else None


def _is_symmetric(a: Array) -> Any:
    """Tell which matrices are finite and symmetric up to rounding."""
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - np.swapaxes(a, -1, -2)).max(axis=(-2, -1))
    return gap <= SYMMETRY_TOLERANCE * np.abs(a).max(axis=(-2, -1))
