r"""Modes of log-concave posteriors by Newton's method, with as few Hessians as possible.

A Hessian of N rows and D columns costs N D² operations and a gradient N D. So a factorised Hessian is
used again for as long as gradients shrink fast, and made anew when they do not; every step must raise the
log density. At the mode the curvature A gives Laplace's approximation

.. math:: \ln p(\text{data}) \approx \ln p(\text{data}, \hat w) + \tfrac D2\ln 2\pi - \tfrac12\ln|A|.

Reference: C. Kelley, "Solving nonlinear equations with Newton's method", 2003, ch. 1 (chord steps).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["LogDensity", "Mode", "find_mode", "laplace_evidence"]

#: A used Hessian is kept while each step shrinks the gradient at least by this factor.
_SHRINKS = 0.3

#: A step must raise the log density by this part of what the gradient promises.
_ARMIJO = 1e-4

_MOST_HALVINGS = 40


class LogDensity(Protocol):
    """A log density to climb, up to a constant."""

    def value_and_gradient(self, w: Array) -> tuple[float, Array]:
        """Return the log density and its gradient."""

    def curvature(self, w: Array) -> Array:
        """Return minus the Hessian, (D, D); positive definite, or near enough to be made so."""


class Mode(NamedTuple):
    """Where a log density is highest.

    Attributes
    ----------
    point : (D,)
    value : float
        The log density there.
    gradient_norm : float
        Largest entry of the gradient, in units in which the curvature has unit diagonal.
    precision : (D, D)
        The curvature at the point.
    factor : (D, D)
        Its lower Cholesky factor.
    n_iter, n_curvatures : int
        How many gradients and Hessians were needed.
    converged : bool
    """

    point: Array
    value: float
    gradient_norm: float
    precision: Array
    factor: Array
    n_iter: int
    n_curvatures: int
    converged: bool


def find_mode(
    density: LogDensity,
    start: Array,
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
    curvature_at_mode: bool = True,
) -> Mode:
    """Climb to the mode.

    Parameters
    ----------
    density : LogDensity
    start : (D,)
    tol : float
        The ascent ends when no entry of the gradient exceeds this, each measured by the square
        root of its curvature: a step of that many standard deviations.
    max_iter : int
        Most gradients.
    curvature_at_mode : bool
        Whether the curvature is wanted at the mode itself, not near it.
    """
    w = np.array(start, dtype=np.float64)
    value, gradient = density.value_and_gradient(w)
    if not np.isfinite(value):
        raise ValueError("the log density is not finite at the start of the ascent")
    precision, factor, scale = _factorised(density, w)
    fresh, n_iter, n_curvatures = True, 1, 1
    size = _norm(gradient, scale)
    while size > tol and n_iter < max_iter:
        step = _solve(factor, gradient)
        new, new_value, new_gradient, tried = _climb(density, w, value, gradient, step)
        n_iter += tried
        if new is None:
            if fresh:  # no rise along the Newton direction: rounding has the last word
                break
        else:
            before, w, value, gradient = size, new, new_value, new_gradient
            size = _norm(gradient, scale)
            fresh = False
            if size <= tol or size < _SHRINKS * before:
                continue
        precision, factor, scale = _factorised(density, w)
        fresh, n_curvatures = True, n_curvatures + 1
        size = _norm(gradient, scale)
    if curvature_at_mode and not fresh:
        precision, factor, scale = _factorised(density, w)
        n_curvatures += 1
    return Mode(w, value, size, precision, factor, n_iter, n_curvatures, size <= tol)


def laplace_evidence(mode: Mode) -> float:
    """Return Laplace's approximation of the log integral of the density."""
    log_det = 2.0 * float(np.log(np.diagonal(mode.factor)).sum())
    return mode.value + 0.5 * (len(mode.point) * LOG_2PI - log_det)


def _climb(
    density: LogDensity, w: Array, value: float, gradient: Array, step: Array
) -> tuple[Array | None, float, Array, int]:
    """Halve a step until the log density rises by its share of what the gradient promises."""
    promise = float(gradient @ step)
    slack = 1e-12 * max(1.0, abs(value))  # below this a rise is rounding
    length = 1.0
    for tried in range(1, _MOST_HALVINGS + 1):
        new = w + length * step
        new_value, new_gradient = density.value_and_gradient(new)
        if np.isfinite(new_value) and new_value >= value + _ARMIJO * length * promise - slack:
            return new, new_value, new_gradient, tried
        length *= 0.5
    return None, value, gradient, _MOST_HALVINGS


def _factorised(density: LogDensity, w: Array) -> tuple[Array, Array, Array]:
    """Return the curvature, its Cholesky factor and the roots of its diagonal.

    Where it is not positive definite its diagonal is raised, which turns the step towards the
    gradient.
    """
    precision = density.curvature(w)
    precision = 0.5 * (precision + precision.T)
    diagonal = np.abs(np.diagonal(precision))
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = precision / scale / scale[:, None]
    raised = 0.0
    while True:
        try:
            root = np.linalg.cholesky(scaled + raised * np.eye(len(scaled)))
            return precision, scale[:, None] * root, scale
        except np.linalg.LinAlgError:
            raised = 10.0 * raised if raised else 1e-12
            if raised > 1e6:
                raise ValueError(
                    "the posterior is improper or flat: give the weights a proper prior"
                ) from None


def _solve(factor: Array, gradient: Array) -> Array:
    half = np.linalg.solve(factor, gradient)
    return np.linalg.solve(factor.T, half)


def _norm(gradient: Array, scale: Array) -> float:
    return float(np.abs(gradient / scale).max()) if len(gradient) else 0.0
