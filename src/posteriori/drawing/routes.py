"""The way of a line from shape to shape: where it leaves the one, how it bends, and its arrow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from posteriori.drawing.arrangement import Arrangement
from posteriori.drawing.shapes import Line, Shape, Sketch

__all__ = ["Point", "Route", "arrow_head", "route_line"]

#: A place on the paper.
Point: TypeAlias = tuple[float, float]


class Route(NamedTuple):
    """A line on paper.

    Attributes
    ----------
    points : tuple of Point
        From border to border, with all bends.
    arcs : tuple of (Point, Point, Point)
        Two controls and the end of a Bézier curve from each point to the next; none if the line is straight.
    head : tuple of Point
        Corners of the arrow, the tip first; none without an arrow.
    """

    points: tuple[Point, ...]
    arcs: tuple[tuple[Point, Point, Point], ...]
    head: tuple[Point, ...]


def route_line(i: int, line: Line, sketch: Sketch, arrangement: Arrangement) -> Route:
    """Return the way of the line at position i of a sketch, between two different shapes."""
    shapes = {shape.key: shape for shape in sketch.shapes if shape.key in (line.start, line.end)}
    points = [arrangement.centres[line.start], *arrangement.bends[i], arrangement.centres[line.end]]
    side = _side(i, line, sketch)
    if side and len(points) == 2:
        points.insert(1, _beside(points[0], points[1], side))
    points[0] = _border(shapes[line.start], arrangement, points[1])
    points[-1] = _border(shapes[line.end], arrangement, points[-2])
    head: tuple[Point, ...] = ()
    if line.arrow:
        head = arrow_head(points[-2], points[-1])
        points[-1] = _toward(points[-1], points[-2], 6.0)
    return Route(tuple(points), _arcs(points), head)


def arrow_head(before: Point, tip: Point) -> tuple[Point, Point, Point]:
    """Return the corners of the arrow at the end of a line, the tip first."""
    dx, dy = tip[0] - before[0], tip[1] - before[1]
    length = math.hypot(dx, dy) or 1.0
    ux, uy = dx / length, dy / length
    base = (tip[0] - 8.5 * ux, tip[1] - 8.5 * uy)
    left = (base[0] - 3.8 * uy, base[1] + 3.8 * ux)
    right = (base[0] + 3.8 * uy, base[1] - 3.8 * ux)
    return tip, left, right


def _arcs(points: Sequence[Point]) -> tuple[tuple[Point, Point, Point], ...]:
    """Return curves through points that are smooth at the bends (Catmull–Rom)."""
    if len(points) == 2:
        return ()
    padded = [points[0], *points, points[-1]]
    found = []
    for p, q, r, s in zip(padded[:-3], padded[1:-2], padded[2:-1], padded[3:], strict=True):
        c = (q[0] + (r[0] - p[0]) / 6.0, q[1] + (r[1] - p[1]) / 6.0)
        d = (r[0] - (s[0] - q[0]) / 6.0, r[1] - (s[1] - q[1]) / 6.0)
        found.append((c, d, r))
    return tuple(found)


def _side(i: int, line: Line, sketch: Sketch) -> float:
    """Return to which side a line bends that shares its ends with others; 0 for straight."""
    twins = [
        k
        for k, other in enumerate(sketch.lines)
        if {other.start, other.end} == {line.start, line.end}
    ]
    if len(twins) == 1:
        return 0.0
    return 1.0 if line.start == sketch.lines[twins[0]].start and i == twins[0] else -1.0


def _beside(a: Point, b: Point, side: float) -> Point:
    """Return a place beside the middle of a line; both lines of a pair bend apart."""
    low, high = sorted((a, b), key=lambda p: (p[1], p[0]))
    dx, dy = high[0] - low[0], high[1] - low[1]
    length = math.hypot(dx, dy) or 1.0
    return (
        0.5 * (a[0] + b[0]) - side * 16.0 * dy / length,
        0.5 * (a[1] + b[1]) + side * 16.0 * dx / length,
    )


def _border(shape: Shape, arrangement: Arrangement, toward: Point) -> Point:
    """Return where a line from the centre leaves a shape."""
    x, y = arrangement.centres[shape.key]
    extent = arrangement.extents[shape.key]
    a, b = extent.left, extent.half
    dx, dy = toward[0] - x, toward[1] - y
    if dx == dy == 0.0:
        return x, y
    if shape.form != "circle" or a > b:
        scale = min(a / abs(dx) if dx else math.inf, b / abs(dy) if dy else math.inf)
        if shape.form == "circle" and abs(dx) * scale > a - b:  # the round end of a long shape
            return _round_end(x, y, a, b, dx, dy)
        return x + scale * dx, y + scale * dy
    scale = b / math.hypot(dx, dy)
    return x + scale * dx, y + scale * dy


def _round_end(x: float, y: float, a: float, b: float, dx: float, dy: float) -> Point:
    """Return where a ray meets the half circle at the end of a stadium."""
    c = math.copysign(a - b, dx)
    length = math.hypot(dx, dy)
    ux, uy = dx / length, dy / length
    along = c * ux
    t = along + math.sqrt(max(0.0, along * along - c * c + b * b))
    return x + t * ux, y + t * uy


def _toward(a: Point, b: Point, by: float) -> Point:
    length = math.hypot(b[0] - a[0], b[1] - a[1]) or 1.0
    return a[0] + by * (b[0] - a[0]) / length, a[1] + by * (b[1] - a[1]) / length
