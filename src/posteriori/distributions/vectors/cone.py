"""The cone of symmetric positive definite matrices: who belongs to it, and factors of its members.

All functions work on stacks ``(..., D, D)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.lazy import blas, lapack
from posteriori.numerics.types import Array

__all__ = ["factor", "factor_inside", "is_positive_definite", "off_cone", "solve_factor"]

_SYMMETRY_TOLERANCE = 1e-8
_MARGIN = 1e-4  # least ratio of the entries on the diagonal of a factor
_ROUNDING = 4.0 * np.finfo(np.float64).eps


def factor(x: Array) -> Array:
    """Return lower L with L Lᵀ = x; a single matrix goes to LAPACK directly.

    Raises
    ------
    LinAlgError
        When a matrix of the stack is not positive definite.
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
    if _factor_symmetric(x) is not None:
        return False
    if np.isnan(x).any():
        raise ValueError("x must not hold NaN; drop or impute missing values first")
    return ~is_positive_definite(x)


def is_positive_definite(a: Array) -> Any:
    """Tell which matrices are finite, symmetric up to rounding, and positive definite."""
    if factor_inside(a) is not None:
        return np.ones(a.shape[:-2], dtype=bool)[()]
    symmetric = _is_symmetric(a)
    safe = np.where(symmetric[..., None, None], a, 0.0)
    values = np.linalg.eigvalsh(safe)
    return symmetric & (values[..., 0] > _ROUNDING * a.shape[-1] * values[..., -1])


def factor_inside(a: Array) -> Array | None:
    """Return lower factors of matrices that are well inside the cone; None where one is not.

    They are symmetric up to rounding, and the entries on a factor's diagonal are of one size.
    """
    lower = _factor_symmetric(a)
    if lower is None:
        return None
    entries = np.diagonal(lower, axis1=-2, axis2=-1)
    inside = np.all(entries.min(axis=-1) > _MARGIN * entries.max(axis=-1))
    return lower if inside else None


def _factor_symmetric(a: Array) -> Array | None:
    """Return lower factors; None where a matrix is not symmetric up to rounding or has none."""
    if not ((a == np.swapaxes(a, -1, -2)).all() or np.all(_is_symmetric(a))):
        return None
    try:
        return factor(a)
    except np.linalg.LinAlgError:
        return None


def _is_symmetric(a: Array) -> Any:
    """Tell which matrices are finite and symmetric up to rounding."""
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - np.swapaxes(a, -1, -2)).max(axis=(-2, -1))
    return gap <= _SYMMETRY_TOLERANCE * np.abs(a).max(axis=(-2, -1))
