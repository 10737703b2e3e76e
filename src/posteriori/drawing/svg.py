"""Drawings as SVG, without any other program."""

from __future__ import annotations

import math
from functools import partial
from html import escape

from posteriori.drawing.arrangement import Arrangement, place_shapes
from posteriori.drawing.cards import write_card
from posteriori.drawing.shapes import Line, Shape, Sketch

__all__ = ["write_svg"]

_INK, _LINE, _SHADE, _BORDER = "#1b2430", "#3d4a5c", "#c9d6e8", "#8a97a8"
_BAR = "#3b6fb6"

Point = tuple[float, float]


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
    shapes = {shape.key: shape for shape in sketch.shapes if shape.key in (line.start, line.end)}
    points = [arrangement.centres[line.start], *arrangement.bends[i], arrangement.centres[line.end]]
    side = _side(i, line, sketch)
    if side and len(points) == 2:
        points.insert(1, _beside(points[0], points[1], side))
    points[0] = _border(shapes[line.start], arrangement, points[1])
    points[-1] = _border(shapes[line.end], arrangement, points[-2])
    head = ""
    if line.arrow:
        head = _arrow(points[-2], points[-1])
        points[-1] = _toward(points[-1], points[-2], 6.0)
    path = f'<path d="{_curve(points)}" fill="none" stroke="{_LINE}" stroke-width="1.3"/>'
    middle = _middle(points)
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
    return path + _arrow((tip[0] + 9.0, tip[1] + 4.6), tip)


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


def _arrow(before: Point, tip: Point) -> str:
    dx, dy = tip[0] - before[0], tip[1] - before[1]
    length = math.hypot(dx, dy) or 1.0
    ux, uy = dx / length, dy / length
    base = (tip[0] - 8.5 * ux, tip[1] - 8.5 * uy)
    left = (base[0] - 3.8 * uy, base[1] + 3.8 * ux)
    right = (base[0] + 3.8 * uy, base[1] - 3.8 * ux)
    corners = " ".join(f"{px:.1f},{py:.1f}" for px, py in (tip, left, right))
    return f'<polygon points="{corners}" fill="{_LINE}"/>'


def _toward(a: Point, b: Point, by: float) -> Point:
    length = math.hypot(b[0] - a[0], b[1] - a[1]) or 1.0
    return a[0] + by * (b[0] - a[0]) / length, a[1] + by * (b[1] - a[1]) / length


def _curve(points: list[Point]) -> str:
    """Return a path through points, smooth at the bends (Catmull–Rom)."""
    path = f"M {points[0][0]:.1f} {points[0][1]:.1f}"
    if len(points) == 2:
        return f"{path} L {points[1][0]:.1f} {points[1][1]:.1f}"
    padded = [points[0], *points, points[-1]]
    for p, q, r, s in zip(padded[:-3], padded[1:-2], padded[2:-1], padded[3:], strict=True):
        c = (q[0] + (r[0] - p[0]) / 6.0, q[1] + (r[1] - p[1]) / 6.0)
        d = (r[0] - (s[0] - q[0]) / 6.0, r[1] - (s[1] - q[1]) / 6.0)
        path += f" C {c[0]:.1f} {c[1]:.1f} {d[0]:.1f} {d[1]:.1f} {r[0]:.1f} {r[1]:.1f}"
    return path


def _middle(points: list[Point]) -> Point:
    k = len(points) // 2
    if len(points) % 2:
        return points[k]
    (ax, ay), (bx, by) = points[k - 1], points[k]
    return 0.5 * (ax + bx), 0.5 * (ay + by)
