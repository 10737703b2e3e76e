r"""The mode of a log density of a few numbers, and the curvature there.

Newton's method on parabolas through nearby values: the density is known by its values alone, and
one value may cost a whole inference. It need not end exactly at the mode, which only tells where a
lattice starts and how wide its steps are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["LocalMode", "LogDensity", "climb"]

#: ln p at points (K, D), all at once; −inf where there is none.
LogDensity = Callable[[Array], Array]

#: Steps of Newton's method at most; from far outside it takes about ten.
_STEPS = 30
#: A step of this many standard deviations ends the climb: the lattice finds the rest.
_CLOSE = 0.25
#: No step is longer than this many times the distance at which values were taken.
_REACH = 4.0
#: Shares of a step that are tried.
_SHARES = np.array([1.0, 0.5, 0.125])


class LocalMode(NamedTuple):
    """A point near the highest density, ln p there, and standard deviations as a root of H⁻¹."""

    at: Array
    log_height: float
    root: Array


def climb(log_density: LogDensity, start: Array, log_height: float, scales: Array) -> LocalMode:
    """Go uphill from a start.

    Parameters
    ----------
    log_density : callable
    start : (D,)
    log_height : float
        ln p at the start.
    scales : (D,)
        How far apart different values of each coordinate are; no direction is taken to be much
        wider.
    """
    at, height, near = start, log_height, 0.5 * scales
    hessian = np.diag(near**-2.0)
    for _ in range(_STEPS):
        gradient, hessian = _parabola(log_density, at, height, near)
        values, axes = np.linalg.eigh(hessian)
        floor = 0.01 / float(np.max(scales)) ** 2
        step = axes @ ((axes.T @ gradient) / np.maximum(np.abs(values), floor))
        curvatures = np.maximum(np.abs(np.diagonal(hessian)), floor)
        widths = np.sqrt(1.0 / curvatures)
        ways = _ways(step, gradient / curvatures, _REACH * near, 2.0 * scales)
        is_close = bool(np.all(np.abs(ways[0]) <= _CLOSE * np.maximum(near, widths)))
        is_fitting = bool(np.all((near < 2.0 * widths) & (near > 0.2 * widths)))
        at, height, moved = _uphill(log_density, at, height, ways)
        near = np.clip(0.7 * widths, 0.2 * near, 5.0 * near)
        if (not moved and is_fitting) or (is_close and is_fitting):
            break
    return LocalMode(at, height, _root(hessian, scales))


def _parabola(
    log_density: LogDensity, at: Array, height: float, near: Array
) -> tuple[Array, Array]:
    """Return the gradient and −Hessian of a parabola through values near a point."""
    size = len(at)
    steps = np.diag(near)
    pairs = [(i, j) for i in range(size) for j in range(i)]
    corners = [steps[i] + steps[j] for i, j in pairs]
    values = log_density(np.array([*(at + steps), *(at - steps), *(at + c for c in corners)]))
    there = np.isfinite(values)
    least = np.min(values[there], initial=height)  # where the density is 0 it falls further
    values = np.where(there, values, 2.0 * least - height - 1.0)
    up, down, both = values[:size], values[size : 2 * size], values[2 * size :]
    gradient = (up - down) / (2.0 * near)
    hessian = np.diag((2.0 * height - up - down) / near**2)
    for (i, j), value in zip(pairs, both, strict=True):
        hessian[i, j] = hessian[j, i] = (up[i] + up[j] - height - value) / (near[i] * near[j])
    return gradient, hessian


def _ways(step: Array, alone: Array, near: Array, far: Array) -> Array:
    """Return ways to try: shares of the step, and longer ones where values were taken too near.

    Far below the mode, ln p may fall by thousands within a distance of which it is thousands away;
    and one coordinate that is held back need not hold back the others, each taken alone.
    """
    too_long = float(np.max(np.abs(step) / near))
    ways = (step / max(1.0, too_long)) * _SHARES[:, None]
    if too_long <= 1.0:
        return ways
    together = step / max(1.0, float(np.max(np.abs(step) / far)))
    each = [np.clip(alone, -limit, limit) for limit in (near, far)]
    return np.array([*ways, together, *each])


def _uphill(
    log_density: LogDensity, at: Array, height: float, ways: Array
) -> tuple[Array, float, bool]:
    """Return where the best of some ways leads, and whether it is higher there."""
    tried = at + ways
    values = log_density(tried)
    best = int(np.argmax(values))
    if values[best] > height:
        return tried[best], float(values[best]), True
    return at, height, False


def _root(hessian: Array, scales: Array) -> Array:
    """Return a lower triangular root of H⁻¹, no direction wider than the scales allow."""
    values, axes = np.linalg.eigh(hessian / np.outer(1.0 / scales, 1.0 / scales))
    cov = (axes / np.maximum(values, 0.25)) @ axes.T  # in units of scales: at most two of them
    return np.linalg.cholesky(cov * np.outer(scales, scales))
