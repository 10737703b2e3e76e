"""Where the shapes of a drawing stand: layers from parents to children, plates kept together.

Shapes go into layers by their longest path from a root; crossings are reduced by sweeps over the
layers; then shapes move towards their neighbours as far as gaps and plates allow.

Reference: K. Sugiyama, S. Tagawa & M. Toda, "Methods for visual understanding of hierarchical
system structures", IEEE Trans. SMC 11(2), 1981.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from posteriori.drawing.borders import draw_borders, find_heights
from posteriori.drawing.horizontal import place_in_layers
from posteriori.drawing.layers import find_layers, split_long_lines
from posteriori.drawing.measures import Extent, Rectangle, extent_of, room_of, text_width
from posteriori.drawing.shapes import Sketch

__all__ = ["Arrangement", "place_shapes"]

#: Room around a drawing, in points.
_MARGIN = 12.0


class Arrangement(NamedTuple):
    """Centres of shapes, bends of long lines, labels left of their lines, plates, the whole's size."""

    centres: dict[str, tuple[float, float]]
    extents: dict[str, Extent]
    bends: dict[int, list[tuple[float, float]]]
    left_labels: frozenset[int]
    boxes: dict[str, Rectangle]
    width: float
    height: float


def place_shapes(sketch: Sketch) -> Arrangement:
    """Place every shape of a drawing."""
    layer = find_layers(sketch)
    extents = {shape.key: extent_of(shape, sketch) for shape in sketch.shapes}
    links, bends = split_long_lines(sketch, layer, extents)
    x = place_in_layers(sketch, layer, links, extents)
    heights = find_heights(sketch, layer, extents)
    y = {key: heights[layer[key]] for key in layer}
    return _crop(sketch, x, y, extents, bends)


def _crop(
    sketch: Sketch,
    x: Mapping[str, float],
    y: Mapping[str, float],
    extents: dict[str, Extent],
    bends: Mapping[int, list[str]],
) -> Arrangement:
    """Draw plates, and move everything so that the paper begins at its upper left corner."""
    boxes = draw_borders(sketch, x, y, extents)
    left_labels = _left_labels(sketch, x, bends)
    rooms = [room_of(x[key], y[key], extents[key]) for key in x] + list(boxes.values())
    rooms += _label_rooms(sketch, x, left_labels)
    left = min((r.left for r in rooms), default=0.0) - _MARGIN
    top = min((r.top for r in rooms), default=0.0) - _MARGIN
    right = max((r.right for r in rooms), default=0.0) + _MARGIN
    bottom = max((r.bottom for r in rooms), default=0.0) + _MARGIN
    return Arrangement(
        {shape.key: (x[shape.key] - left, y[shape.key] - top) for shape in sketch.shapes},
        extents,
        {i: [(x[key] - left, y[key] - top) for key in keys] for i, keys in bends.items()},
        left_labels,
        {k: Rectangle(b[0] - left, b[1] - top, b[2] - left, b[3] - top) for k, b in boxes.items()},
        right - left,
        bottom - top,
    )


def _label_rooms(
    sketch: Sketch, x: Mapping[str, float], left_labels: frozenset[int]
) -> list[Rectangle]:
    """Return how far labels reach to the side of their lines."""
    found = []
    for i, line in enumerate(sketch.lines):
        room = 12.0 + text_width(line.label, 12.0) if line.label else 0.0
        low, high = sorted((x[line.start], x[line.end]))
        span = (low - room, low) if i in left_labels else (high, high + room)
        found.append(Rectangle(span[0], 0.0, span[1], 0.0))
    return found


def _left_labels(
    sketch: Sketch, x: Mapping[str, float], bends: Mapping[int, list[str]]
) -> frozenset[int]:
    """Return the lines whose labels go to the left: outside of the fork that they are part of."""
    leaving = Counter(line.start for line in sketch.lines)
    arriving = Counter(line.end for line in sketch.lines)
    found = set()
    for i, line in enumerate(sketch.lines):
        path = [x[key] for key in (line.start, *bends.get(i, ()), line.end)]
        forks, joins = leaving[line.start] > 1, arriving[line.end] > 1
        if (forks and path[1] < path[0] - 1.0) or (
            joins and not forks and path[-1] > path[-2] + 1.0
        ):
            found.add(i)
    return frozenset(found)
