"""The room between two axes, and where numbers lie in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["Frame", "paint"]

#: Colours that the style sheet of a page states; others are written as they are.
_VARIABLES = frozenset({"ink", "muted", "first", "second", "grid", "page"})


class Frame(NamedTuple):
    """A rectangle of the paper, and the ends of its axes.

    Attributes
    ----------
    left, top, right, bottom : float
        Of the paper, whose height grows downwards.
    x, y : pair of float
        What lies at left and right, and at bottom and top.
    """

    left: float
    top: float
    right: float
    bottom: float
    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, values: Array) -> Array:
        """Return where numbers lie from left to right; what is beyond the ends lies at them."""
        return self.left + _share(values, self.x) * (self.right - self.left)

    def down(self, values: Array) -> Array:
        """Return where numbers lie from top to bottom; what is beyond the ends lies at them."""
        return self.bottom - _share(values, self.y) * (self.bottom - self.top)

    def holds(self, x: Array, y: Array) -> Array:
        """Tell which points lie inside."""
        return _between(x, self.x) & _between(y, self.y)


def paint(color: str) -> str:
    """Return a colour as SVG writes it.

    Examples
    --------
    >>> paint("first"), paint("#2b7fd4")
    ('var(--first)', '#2b7fd4')
    """
    return f"var(--{color})" if color in _VARIABLES else color


def _share(values: Array, ends: tuple[float, float]) -> Array:
    start, stop = ends
    inside = np.clip(np.asarray(values, dtype=np.float64), min(ends), max(ends))
    return (inside - start) / (stop - start)


def _between(values: Array, ends: tuple[float, float]) -> Array:
    return (values >= min(ends)) & (values <= max(ends))
