"""Drawings as SVG, without any other program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from html import escape

from posteriori.drawing.arrangement import Arrangement, place_shapes
from posteriori.drawing.cards import write_card
from posteriori.drawing.routes import Point, Route, arrow_head, route_line
from posteriori.drawing.shapes import Line, Shape, Sketch

__all__ = ["write_svg"]

_INK, _LINE, _SHADE, _BORDER = "#1b2430", "#3d4a5c", "#c9d6e8", "#8a97a8"
_BAR = "#3b6fb6"


def write_svg(sketch: Sketch) -> str:
    """Return a drawing as the text of an SVG file."""
    arrangement = place_shapes(sketch)
    width, height = math.ceil(arrangement.width), math.ceil(arrangement.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" '
        f'font-size="14" role="img">',
        f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>',
    ]
    for box in sketch.boxes:
        left, top, right, bottom = arrangement.boxes[box.key]
        parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{bottom - top:.1f}" rx="8" fill="none" stroke="{_BORDER}"/>'
        )
        parts.append(_text(right - 7.0, bottom - 6.0, box.label, "end", 12, _LINE))
    parts += [_line(i, line, sketch, arrangement) for i, line in enumerate(sketch.lines)]
    parts += [_shape(shape, arrangement) for shape in sketch.shapes]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _shape(shape: Shape, arrangement: Arrangement) -> str:
    x, y = arrangement.centres[shape.key]
    low = arrangement.extents[shape.key].half
    wide = arrangement.extents[shape.key].left
    if shape.form == "end":
        return ""
    if shape.form == "card":
        colours = {"ink": _INK, "line": _LINE, "shade": _SHADE, "bar": _BAR}
        title = f"<title>{_clean(shape.hint)}</title>" if shape.hint else ""
        card = write_card(
            shape, x, y, arrangement.extents[shape.key], partial(_text, inside=True), colours
        )
        return f"<g>{title}{card}</g>"
    solid = shape.form in ("factor", "point")
    fill = _LINE if solid else _SHADE if shape.shaded else "#ffffff"
    corner = {"circle": low, "square": 3.0}.get(shape.form, 1.0)
    body = (
        f'<rect x="{x - wide:.1f}" y="{y - low:.1f}" width="{2 * wide:.1f}" '
        f'height="{2 * low:.1f}" rx="{corner:g}" fill="{fill}" stroke="{_LINE}" '
        f'stroke-width="1.3"/>'
    )
    if shape.form in ("factor", "constant"):
        # that of a factor a little low: lines arrive from above
        low = 8.0 if solid else 4.0
        label = _text(x + 11.0, y + low, shape.label, "start", 12, _LINE)
    else:
        label = _text(x, y + 5.0, shape.label, "middle", 14, _INK)
    title = f"<title>{_clean(shape.hint)}</title>" if shape.hint else ""
    return f"<g>{title}{body}{label}</g>"


def _text(
    x: float, y: float, text: str, anchor: str, size: int, ink: str, *, inside: bool = False
) -> str:
    """Return a text; small ones that are not inside a shape have a halo, as lines may cross them."""
    if not text:
        return ""
    halo = ' stroke="#ffffff" stroke-width="3" paint-order="stroke"'
    halo = halo if size < 14 and not inside else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="{ink}"{halo}>{_clean(text)}</text>'
    )


def _clean(text: str) -> str:
    return escape("".join(char for char in text if char.isprintable()), quote=True)


# -- lines -----------------------------------------------------------------------------------


def _line(i: int, line: Line, sketch: Sketch, arrangement: Arrangement) -> str:
    if line.start == line.end:
        return _loop(line, arrangement)
    route = route_line(i, line, sketch, arrangement)
    path = f'<path d="{_curve(route)}" fill="none" stroke="{_LINE}" stroke-width="1.3"/>'
    head = _arrow(route.head) if route.head else ""
    middle = _middle(route.points)
    side, anchor = (-7.0, "end") if i in arrangement.left_labels else (7.0, "start")
    height = _off_borders(middle[0], middle[1] + 4.0, arrangement)
    label = _text(middle[0] + side, height, line.label, anchor, 12, _LINE)
    return path + head + label


def _off_borders(x: float, y: float, arrangement: Arrangement) -> float:
    """Move a label out of a plate whose upper or lower border would run through it."""
    for box in arrangement.boxes.values():
        if box.left < x < box.right:
            if y - 11.0 < box.top < y + 3.0:
                y = box.top - 4.0
            elif y - 11.0 < box.bottom < y + 3.0:
                y = box.bottom + 13.0
    return y


def _loop(line: Line, arrangement: Arrangement) -> str:
    """Draw the line of a chain from a member to the next."""
    x, y = arrangement.centres[line.start]
    extent = arrangement.extents[line.start]
    edge = x + extent.left - extent.half + 0.866 * extent.half  # at ±30° of the round end
    start, tip = (edge, y - 0.5 * extent.half), (edge, y + 0.5 * extent.half)
    far = x + extent.left + 24.0
    path = (
        f'<path d="M {start[0]:.1f} {start[1]:.1f} C {far:.1f} {y - 24:.1f} {far:.1f} {y + 24:.1f} '
        f'{tip[0] + 5.0:.1f} {tip[1] + 2.6:.1f}" fill="none" stroke="{_LINE}" stroke-width="1.3"/>'
    )
    return path + _arrow(arrow_head((tip[0] + 9.0, tip[1] + 4.6), tip))


def _arrow(head: Sequence[Point]) -> str:
    corners = " ".join(f"{px:.1f},{py:.1f}" for px, py in head)
    return f'<polygon points="{corners}" fill="{_LINE}"/>'


def _curve(route: Route) -> str:
    """Return a route as a path: a straight line, or arcs from point to point."""
    (x, y), *rest = route.points
    arcs = route.arcs or [(point,) for point in rest]
    letter = "C" if route.arcs else "L"
    steps = (" ".join(f"{px:.1f} {py:.1f}" for px, py in arc) for arc in arcs)
    return " ".join([f"M {x:.1f} {y:.1f}", *(f"{letter} {step}" for step in steps)])


def _middle(points: Sequence[Point]) -> Point:
    k = len(points) // 2
    if len(points) % 2:
        return points[k]
    (ax, ay), (bx, by) = points[k - 1], points[k]
    return 0.5 * (ax + bx), 0.5 * (ay + by)
