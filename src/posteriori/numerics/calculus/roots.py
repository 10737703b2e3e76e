"""Inverting increasing functions, elementwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["invert_increasing"]

#: Halvings at most; they end when no number lies between the ends.
_MAX_HALVINGS = 200


def invert_increasing(f: Callable[[Array], Array], level: Array, low: Array, high: Array) -> Array:
    """Return the least x in [low, high] with f(x) >= level, by bisection to the last bit.

    Parameters
    ----------
    f : callable
        Non-decreasing, elementwise; it may jump.
    level : array
        Values to reach; ``f(high) >= level`` is taken for granted.
    low, high : array
        Brackets that broadcast against ``level``; they are returned where they are infinite.

    Examples
    --------
    >>> import numpy as np
    >>> print(invert_increasing(lambda x: x**3, np.float64(2.0), np.float64(0.0), np.float64(9.0)))
    1.2599210498948732
    """
    shape = np.broadcast_shapes(np.shape(level), np.shape(low), np.shape(high))
    low, high = (np.array(np.broadcast_to(end, shape)) for end in (low, high))
    high = np.where(f(low) >= level, low, high)
    with np.errstate(invalid="ignore"):
        for _ in range(_MAX_HALVINGS):
            middle = low + 0.5 * (high - low)
            moving = (middle > low) & (middle < high)
            if not np.any(moving):
                break
            enough = f(np.where(moving, middle, high)) >= level
            high = np.where(moving & enough, middle, high)
            low = np.where(moving & ~enough, middle, low)
    return high[()]
