r"""Numeric derivatives, and reports that compare them with derivatives worked out by hand.

Central differences with one step of Richardson extrapolation:
:math:`f'(x) = \frac{4 D(h/2) - D(h)}3 + O(h^4)`, about 10 digits for smooth functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.numerics.types import Array

__all__ = ["DerivativeCheck", "check_gradient", "check_hessian", "gradient", "hessian", "jacobian"]

#: Where rounding, of order ε/h, equals what extrapolated differences leave out, of order h⁴.
_STEP = np.finfo(np.float64).eps ** 0.2


class DerivativeCheck(NamedTuple):
    """Outcome of comparing a derivative with its numeric value.

    Attributes
    ----------
    ok : bool
        Whether every entry agrees within the tolerance.
    error : float
        Largest deviation relative to ``1 + |numeric|``.
    numeric, claimed : array
        Both derivatives.
    """

    ok: bool
    error: float
    numeric: Array
    claimed: Array


def jacobian(f: Callable[[Array], Any], x: ArrayLike) -> Array:
    """Return ∂f_i/∂x_j of a vector function at the vector ``x``: shape ``f(x).shape + (D,)``."""
    x = np.asarray(x, dtype=np.float64)
    columns = [_directional(f, x, j) for j in range(x.size)]
    return np.stack(columns, axis=-1)


def gradient(f: Callable[[Array], Any], x: ArrayLike) -> Array:
    """Return the gradient of a scalar function, in the shape of ``x``.

    Examples
    --------
    >>> gradient(lambda x: x @ x, [1.0, 2.0]).round(8)
    array([2., 4.])
    """
    x = np.asarray(x, dtype=np.float64)
    flat = jacobian(lambda v: f(v.reshape(x.shape)), x.ravel())
    return flat.reshape(x.shape)


def hessian(f: Callable[[Array], Any], x: ArrayLike) -> Array:
    """Return the symmetric matrix of second derivatives of a scalar function of a vector."""
    second = jacobian(lambda v: gradient(f, v), x)
    return 0.5 * (second + second.T)


def check_gradient(
    f: Callable[[Array], Any],
    claimed: Callable[[Array], Any] | ArrayLike,
    x: ArrayLike,
    *,
    tol: float = 1e-6,
) -> DerivativeCheck:
    """Compare a gradient (a function or its value at ``x``) with the numeric one.

    Examples
    --------
    >>> check_gradient(lambda x: x @ x, lambda x: 2 * x, [1.0, -3.0]).ok
    True
    """
    return _compare(gradient(f, x), claimed, x, tol)


def check_hessian(
    f: Callable[[Array], Any],
    claimed: Callable[[Array], Any] | ArrayLike,
    x: ArrayLike,
    *,
    tol: float = 1e-4,
) -> DerivativeCheck:
    """Compare a Hessian (a function or its value at ``x``) with the numeric one."""
    return _compare(hessian(f, x), claimed, x, tol)


def _compare(numeric: Array, claimed: Any, x: ArrayLike, tol: float) -> DerivativeCheck:
    value = claimed(np.asarray(x, dtype=np.float64)) if callable(claimed) else claimed
    value = np.asarray(value, dtype=np.float64)
    if value.shape != numeric.shape:
        raise ValueError(f"claimed derivative has shape {value.shape}, expected {numeric.shape}")
    error = float(np.max(np.abs(value - numeric) / (1.0 + np.abs(numeric)), initial=0.0))
    return DerivativeCheck(error <= tol, error, numeric, value)


def _directional(f: Callable[[Array], Any], x: Array, j: int) -> Array:
    step = _STEP * max(1.0, abs(float(x[j])))

    def central(h: float) -> Array:
        ahead, behind = x.copy(), x.copy()
        ahead[j] += h
        behind[j] -= h
        return (np.asarray(f(ahead)) - np.asarray(f(behind))) / (ahead[j] - behind[j])

    return (4.0 * central(step / 2) - central(step)) / 3.0
