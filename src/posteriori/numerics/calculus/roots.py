r"""Inverting increasing functions, elementwise.

Between ends :math:`a < b` with :math:`f(a) < \ell \le f(b)` the next point is that of the chord,
moved towards the middle by :math:`\delta = \tfrac15 (b-a)^2/(b_0-a_0)` so that both ends close in, and
no farther from the middle than lets halving still come to its end in time: smooth functions take some
ten values, and none takes many more than by halving.

Reference: I. Oliveira & R. Takahashi, "An enhancement of the bisection method average performance
preserving minmax optimality", 2020.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["invert_increasing", "invert_smooth", "least_whole"]

#: Values at most; they end when no number lies between the ends.
_MOST_VALUES = 200

#: Values of smooth functions that differ by no more, in units of the level, differ by rounding.
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)

#: The room for steps other than halving: by so much more than bisection the last bracket may be wide.
_SPARE = 2.0**8

#: How far the chord's point is moved towards the middle, as a share of (b − a)²/(b₀ − a₀).
_MOVED = 0.2


def invert_increasing(
    f: Callable[[Array], Array], level: Array, low: Array, high: Array, *, jumps: bool = True
) -> Array:
    """Return the least x in [low, high] with f(x) >= level, to the last bit.

    Parameters
    ----------
    f : callable
        Non-decreasing, elementwise.
    level : array
        Values to reach; ``f(high) >= level`` is taken for granted.
    low, high : array
        Brackets that broadcast against ``level``; they are returned where they are infinite.
    jumps : bool
        Whether f may jump. Of one that is smooth, a point whose value differs from the level by
        rounding alone is as good as the least one.

    Examples
    --------
    >>> import numpy as np
    >>> print(invert_increasing(lambda x: x**3, np.float64(2.0), np.float64(0.0), np.float64(9.0)))
    1.2599210498948732
    """
    shape = np.broadcast_shapes(np.shape(level), np.shape(low), np.shape(high))
    low, high = (np.array(np.broadcast_to(end, shape)) for end in (low, high))
    rounding = 0.0 if jumps else _ROUNDING * np.abs(level)
    level = level - rounding
    below, above = f(low) - level, f(high) - level
    high = np.where(below >= 0.0, low, high)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        first = high - low
        room = (
            _SPARE * first
        )  # halved with each value: the brackets of bisection, with some to spare
        for _ in range(_MOST_VALUES):
            middle = low + 0.5 * (high - low)
            moving = (middle > low) & (middle < high) & (jumps | (above > 2.0 * rounding))
            if not np.any(moving):
                break
            slack, room = np.maximum(room - 0.5 * (high - low), 0.0), 0.5 * room
            chord = low - below * ((high - low) / (above - below))
            x = np.where(moving, _nearer(chord, middle, low, high, first, slack), high)
            gap = f(x) - level
            up, down = moving & (gap >= 0.0), moving & ~(gap >= 0.0)
            high, above = np.where(up, x, high), np.where(up, gap, above)
            low, below = np.where(down, x, low), np.where(down, gap, below)
    return high[()]


def least_whole(f: Callable[[Array], Array], level: Array, low: Array, high: Array) -> Array:
    """Return the least whole number x in [low, high] with f(x) >= level, by bisection.

    Parameters
    ----------
    f : callable
        Non-decreasing, elementwise.
    level : array
        Values to reach; ``f(high) >= level`` is taken for granted.
    low, high : array
        Whole numbers.

    Examples
    --------
    >>> print(least_whole(lambda x: x**2, np.float64(10.0), np.float64(0.0), np.float64(9.0)))
    4.0
    """
    low = low - 1.0
    while True:
        middle = np.floor(0.5 * (low + high))
        moving = (middle > low) & (middle < high)
        if not np.any(moving):
            return high[()]
        enough = f(middle) >= level
        high = np.where(moving & enough, middle, high)
        low = np.where(moving & ~enough, middle, low)


def invert_smooth(
    f: Callable[[Array], Array],
    slope: Callable[[Array], Array],
    level: Array,
    low: Array,
    high: Array,
    start: Array,
) -> Array:
    """Return x in [low, high] with f(x) = level to rounding, by Newton's steps within a shrinking bracket.

    A step that leaves the bracket, or is longer than half of the last one, goes to the middle instead.

    Parameters
    ----------
    f, slope : callable
        Increasing, elementwise, and its derivative, which may be 0 or infinite at single points.
    level : array
    low, high : array
        Finite ends with f(low) <= level <= f(high).
    start : array
        Where to begin.

    Examples
    --------
    >>> ends = np.array([0.0]), np.array([9.0])
    >>> invert_smooth(
    ...     lambda x: x**3, lambda x: 3.0 * x**2, np.array([2.0]), *ends, np.array([1.0])
    ... ).round(12)
    array([1.25992105])
    """
    shape = np.broadcast_shapes(*map(np.shape, (level, low, high, start)))
    low, high, x = (np.array(np.broadcast_to(a, shape)) for a in (low, high, start))
    rounding, last = _ROUNDING * np.abs(level), np.full(shape, np.inf)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for _ in range(_MOST_VALUES):
            gap, rises = f(x) - level, slope(x)
            low, high = np.where(gap < 0.0, x, low), np.where(gap > 0.0, x, high)
            step = np.where(np.isfinite(rises), -gap / rises, np.inf)
            settled = (np.abs(gap) <= rounding) | (np.abs(step) <= _ROUNDING * np.abs(x))
            moving = ~settled & (np.nextafter(low, high) < high)
            if not moving.any():
                break
            there = x + step
            good = (there > low) & (there < high) & (np.abs(step) <= 0.5 * last)
            there = np.where(good, there, low + 0.5 * (high - low))
            last = np.where(good, np.abs(step), high - low)
            x = np.where(moving, there, x)
    return x[()]


def _nearer(
    chord: Array, middle: Array, low: Array, high: Array, first: Array, slack: Array
) -> Array:
    """Return the chord's point, moved towards the middle and within reach of it, between the ends."""
    away = chord - middle
    moved = np.abs(away) - _MOVED * (high - low) ** 2 / first
    size = np.clip(moved, 0.0, slack)
    x = middle + np.where(np.isfinite(size), np.copysign(size, away), 0.0)
    return np.clip(x, np.nextafter(low, high), np.nextafter(high, low))
