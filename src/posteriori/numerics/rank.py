r"""Whether a computed number is 0: definiteness, singularity and rank are decided here.

Where exact arithmetic gives 0, floating point gives a rounding error, whose size and sign depend on
the processor, on the kernels that BLAS picks for it, and on the order of sums. To compare an
eigenvalue, a pivot, a singular value or a determinant with 0 would thus be to ask the machine. Each
decision is relative instead,

.. math:: v > \varepsilon\, s,\qquad \varepsilon = 10^{-13},

where s is the size of the terms that v was computed from. Given numbers (a variance of 0, a count)
are not computed: comparing them with 0 is exact, and right.

Matrices are looked at in units in which the terms of their diagonals have size 1, so that decisions
do not depend on the units of the coordinates. All functions work on stacks ``(..., D, D)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.types import Array

__all__ = [
    "CLEAR",
    "ROUNDING",
    "difference",
    "exceeds_rounding",
    "factor_definite",
    "has_clear_pivots",
    "is_definite",
    "is_invertible",
    "is_semidefinite",
    "numerical_rank",
    "solve_semidefinite",
    "without_rounding",
]

#: The share of the terms that made it below which a computed number is a rounding error of 0.
#: Sums and products of small matrices err by some units in the last place (2e-16) of their terms,
#: sums of thousands of terms and several steps in a row by some tens: 1e-13 is 450 units. What is
#: smaller has no three right digits, so that little is lost by calling it 0.
ROUNDING = 1e-13

#: Pivots above this share of their diagonal entries need no closer look: the rounding errors of
#: later pivots, which small ones magnify, stay far below them.
CLEAR = 1e-6

#: Given matrices may be this far from semi-definite, as they may come from fewer digits.
_SLACK = 1e-10


def exceeds_rounding(value: Any, size: Any) -> Any:
    """Tell whether a number is more than a rounding error of terms of the given size.

    Compiled loops run the same body. NaN exceeds nothing.

    Examples
    --------
    >>> exceeds_rounding(0.1 + 0.2 - 0.3, 0.3), exceeds_rounding(1e-9, 0.3)
    (False, True)
    """
    return value > ROUNDING * size


def is_definite(a: Array, sizes: Array | None = None) -> Any:
    """Tell which symmetric matrices are positive definite: covariances regular, messages proper.

    Parameters
    ----------
    a : (..., D, D)
    sizes : (..., D), optional
        Of the terms that were added up on the diagonal. By default the diagonal itself: nothing
        was cancelled.

    Examples
    --------
    >>> is_definite(np.diag([1e-20, 1.0])), is_definite(np.ones((2, 2)))
    (np.True_, np.False_)
    """
    largest = _diagonal(a) if sizes is None else sizes
    if _is_clear(a, largest):
        return np.ones(a.shape[:-2], dtype=bool)[()]
    values = _eigenvalues(_scaled(a, _roots(largest)))
    return exceeds_rounding(values[..., 0], np.maximum(values[..., -1], 1.0))


def is_semidefinite(a: Array) -> Any:
    """Tell which given symmetric matrices have no negative eigenvalue beyond a slack of 1e-10."""
    if _is_clear(a, _diagonal(a)):
        return np.ones(a.shape[:-2], dtype=bool)[()]
    values = _eigenvalues(a)
    return values[..., 0] >= -_SLACK * np.maximum(values[..., -1], 0.0)


def factor_definite(a: Array) -> Array:
    """Return lower L with L Lᵀ = A, for matrices that :func:`is_definite` accepts.

    Raises
    ------
    LinAlgError
        When a matrix of the stack is not positive definite.
    """
    lower = np.linalg.cholesky(a)
    if not (has_clear_pivots(lower, _diagonal(a)) or np.all(is_definite(a))):
        raise np.linalg.LinAlgError("matrix is not positive definite beyond rounding")
    return lower


def has_clear_pivots(lower: Array, sizes: Array) -> bool:
    """Tell from Cholesky factors that all matrices are far from singular: no closer look is needed.

    Parameters
    ----------
    lower : (..., D, D)
    sizes : (..., D)
        What pivots are compared with.
    """
    return bool(np.all(_diagonal(lower) ** 2 > CLEAR * sizes))


def numerical_rank(matrix: Array) -> Any:
    """Return the ranks of matrices (..., R, C), whatever the units of their rows and columns.

    Examples
    --------
    >>> int(numerical_rank(np.array([[1.0, 2.0], [1e-20, 0.0]])))
    2
    """
    for axis in (-1, -2):
        largest = np.abs(matrix).max(axis=axis, keepdims=True, initial=0.0)
        matrix = matrix / np.where(largest > 0, largest, 1.0)
    values = np.linalg.svd(matrix, compute_uv=False)
    return exceeds_rounding(values, values.max(axis=-1, keepdims=True, initial=0.0)).sum(axis=-1)


def is_invertible(matrix: Array) -> Any:
    """Tell which matrices are square and of full rank."""
    return (matrix.shape[-2] == matrix.shape[-1]) & (numerical_rank(matrix) == matrix.shape[-1])


def solve_semidefinite(a: Array, b: Array) -> Array:
    """Return X with A X = B for semi-definite A whose columns span those of B.

    Parameters
    ----------
    a : (..., D, D)
    b : (..., D, K)
    """
    if np.all(is_definite(a)):
        return np.linalg.solve(a, b)
    root = _roots(_diagonal(a))
    values, vectors = np.linalg.eigh(_scaled(a, root))
    kept = exceeds_rounding(values, np.maximum(values[..., -1:], 1.0))
    shares = np.swapaxes(vectors, -1, -2) @ (b / root[..., None])
    shares = np.where(kept[..., None], shares / np.where(kept, values, 1.0)[..., None], 0.0)
    return vectors @ shares / root[..., None]


def without_rounding(a: Array, sizes: Array) -> Array:
    """Return symmetric matrices with 0 for eigenvalues that are rounding errors.

    Parameters
    ----------
    a : (..., D, D)
    sizes : (..., D)
        Of the terms that were added up on the diagonal.
    """
    if a.shape[-1] == 1:
        return np.where(exceeds_rounding(np.abs(a), sizes[..., None]), a, 0.0)
    root = _roots(sizes)
    values, vectors = np.linalg.eigh(_scaled(a, root))
    kept = exceeds_rounding(np.abs(values), 1.0)
    if np.all(kept):
        return a
    part = (vectors * np.where(kept, values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return part * root[..., None] * root[..., None, :]


def difference(a: Array, b: Array, *, matrices: bool = False) -> Array:
    """Return A − B with 0 where both agree up to rounding.

    Parameters
    ----------
    a, b : arrays
    matrices : bool
        Whether they are symmetric matrices (..., D, D), whose entries are as large as the roots of
        those on the diagonal.
    """
    left = a - b
    size = np.maximum(np.abs(a), np.abs(b))
    if matrices:
        root = np.sqrt(_diagonal(size))
        size = root[..., None] * root[..., None, :]
    return np.where(exceeds_rounding(np.abs(left), size) | ~np.isfinite(left), left, 0.0)[()]


def _is_clear(a: Array, sizes: Array) -> bool:
    try:
        return has_clear_pivots(np.linalg.cholesky(a), sizes)
    except np.linalg.LinAlgError:
        return False


def _roots(sizes: Array) -> Array:
    return np.sqrt(np.where(sizes > 0, sizes, 1.0))


def _scaled(a: Array, root: Array) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is found later
        return a / root[..., None] / root[..., None, :]


def _eigenvalues(a: Array) -> Array:
    """Return rising eigenvalues, NaN for matrices that are not finite."""
    finite = np.asarray(np.isfinite(a).all(axis=(-2, -1)))
    values = np.linalg.eigvalsh(np.where(finite[..., None, None], a, 0.0))
    return np.where(finite[..., None], values, np.nan)


def _diagonal(a: Array) -> Array:
    return np.diagonal(a, axis1=-2, axis2=-1)
