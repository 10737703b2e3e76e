r"""Where a function on a grid has a level: a straight piece in each triangle that the level crosses.

Each cell is two triangles; in one of them the function is the plane through its corners, and
:math:`f = \ell` is a line from the edge at the corner that is alone on its side to the other such edge.
"""

from __future__ import annotations

import numpy as np

from posteriori.drawing.charts.marks import Segments
from posteriori.numerics.types import Array

__all__ = ["level_set"]


def level_set(
    x: Array, y: Array, values: Array, level: float, color: str = "first", width: float = 1.6
) -> Segments:
    """Return the pieces of the line on which a function has a level.

    Parameters
    ----------
    x : (C,)
    y : (R,)
    values : (R, C)
        A row for each y.
    level : float
    color : str
    width : float
    """
    corners, heights = _triangles(x, y, values)
    above = heights >= level
    crossed = above.any(axis=1) & ~above.all(axis=1)
    corners, heights, above = corners[crossed], heights[crossed], above[crossed]
    alone = np.argmax(above == (above.sum(axis=1) == 1)[:, None], axis=1)
    ends = [_crossing(corners, heights, alone, (alone + step) % 3, level) for step in (1, 2)]
    return Segments((ends[0][:, 0], ends[1][:, 0]), (ends[0][:, 1], ends[1][:, 1]), color, width)


def _triangles(x: Array, y: Array, values: Array) -> tuple[Array, Array]:
    """Return the corners of both triangles of every cell, (T, 3, 2), and what lies there, (T, 3)."""
    points = np.stack([*np.meshgrid(x, y), values], axis=-1)
    a, b, c, d = points[:-1, :-1], points[:-1, 1:], points[1:, :-1], points[1:, 1:]
    found = np.concatenate([np.stack([a, b, c], axis=2), np.stack([d, c, b], axis=2)])
    found = found.reshape(-1, 3, 3)
    return found[..., :2], found[..., 2]


def _crossing(corners: Array, heights: Array, start: Array, stop: Array, level: float) -> Array:
    """Return where the level lies on the edge between two corners, (T, 2)."""
    rows = np.arange(len(corners))
    first, last = heights[rows, start], heights[rows, stop]
    share = ((level - first) / (last - first))[:, None]
    return (1.0 - share) * corners[rows, start] + share * corners[rows, stop]
