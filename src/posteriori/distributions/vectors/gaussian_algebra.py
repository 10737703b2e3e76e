r"""Completing the square, the step behind every product of Gaussians.

.. math:: x^\top A x + b^\top x + c = (x-h)^\top A\,(x-h) + k,\qquad
          h = -\tfrac12 A^{-1}b,\quad k = c - \tfrac14 b^\top A^{-1} b.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.rank import is_invertible
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation, check_symmetric

__all__ = ["CompletedSquare", "complete_square"]


class CompletedSquare(NamedTuple):
    """A quadratic as a square and a constant.

    Attributes
    ----------
    centre : (...) or (..., D)
        Where the quadratic is stationary, h.
    curvature : (...) or (..., D, D)
        Factor of the square, A.
    constant : (...)
        Value at the centre, k.
    """

    centre: Array
    curvature: Array
    constant: Array


def complete_square(a: Any, b: Any, c: Any = 0.0) -> CompletedSquare:
    """Complete the square of a x² + b x + c, or of xᵀ A x + bᵀ x + c.

    Parameters
    ----------
    a : float or array (..., D, D)
        Quadratic coefficient, not 0; a symmetric invertible matrix where ``b`` is a vector.
    b : float or array (..., D)
        Linear coefficient.
    c : float or array
        Constant.

    Raises
    ------
    ValueError
        When the quadratic part is 0 or singular: there is no unique centre.

    Examples
    --------
    >>> complete_square(2.0, 4.0, 5.0)  # 2x² + 4x + 5 = 2(x + 1)² + 3
    CompletedSquare(centre=np.float64(-1.0), curvature=np.float64(2.0), constant=np.float64(3.0))
    """
    quadratic, linear, constant = (
        as_observation(value, name) for name, value in (("a", a), ("b", b), ("c", c))
    )
    if quadratic.ndim < 2:
        return _complete_numbers(quadratic, linear, constant)
    return _complete_vectors(check_symmetric("a", quadratic), linear, constant)


def _complete_numbers(a: Array, b: Array, c: Array) -> CompletedSquare:
    if not np.all(a):
        raise ValueError("a must not be 0: without a quadratic part there is no square")
    centre = -0.5 * b / a
    return CompletedSquare(centre, a, c + 0.5 * b * centre)


def _complete_vectors(a: Array, b: Array, c: Array) -> CompletedSquare:
    if b.ndim < 1 or b.shape[-1] != a.shape[-1]:
        raise ValueError(f"b must have {a.shape[-1]} entries, got shape {b.shape}")
    if not np.all(is_invertible(a)):
        raise ValueError("a is singular: the quadratic has no unique centre")
    centre = -0.5 * np.linalg.solve(a, b[..., None])[..., 0]
    return CompletedSquare(centre, a, c + 0.5 * np.einsum("...i,...i->...", b, centre))
