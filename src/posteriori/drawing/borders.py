"""Heights of layers, and the borders of plates around their members."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from posteriori.drawing.measures import LABEL, PAD, Extent, Rectangle, room_of, text_width
from posteriori.drawing.shapes import Sketch

__all__ = ["draw_borders", "find_heights"]


def find_heights(
    sketch: Sketch,
    layer: Mapping[str, int],
    extents: Mapping[str, Extent],
) -> list[float]:
    """Return the height of each layer, with room for the borders between them."""
    spans = []
    for box in sketch.boxes:
        at = [layer[shape.key] for shape in sketch.shapes if box.key in shape.plates]
        spans.append((min(at), max(at)))
    halves = [0.0] * (max(layer.values(), default=-1) + 1)
    for key, k in layer.items():
        halves[k] = max(halves[k], extents[key].half)
    y = halves[:1]
    for k, (above, below) in enumerate(pairwise(halves), 1):
        ends = sum(bottom == k - 1 for _, bottom in spans)
        starts = sum(top == k for top, _ in spans)
        room = 34.0 + max(0.0, ends * (PAD + LABEL) + starts * PAD - 14.0)
        y.append(y[-1] + above + room + below)
    return y


def draw_borders(
    sketch: Sketch,
    x: Mapping[str, float],
    y: Mapping[str, float],
    extents: Mapping[str, Extent],
) -> dict[str, Rectangle]:
    """Draw plates from the inside out, each around its members and the plates within it."""
    members = sketch.members()
    labels = {box.key: box.label for box in sketch.boxes}
    done: dict[str, Rectangle] = {}
    for key in sorted(members, key=lambda k: len(members[k])):
        inner = [done[other] for other in done if members[other] <= members[key]]
        spots = [room_of(x[k], y[k], extents[k]) for k in members[key]] + inner
        crossing = sum(
            bool(members[other] & members[key]) and not members[other] <= members[key]
            for other in done
        )
        pad = PAD + 7.0 * crossing  # so that borders of crossing plates do not fall together
        right = max(r.right for r in spots) + PAD
        left = min(r.left for r in spots) - PAD
        label = text_width(labels[key], 12.0) + 14.0
        done[key] = Rectangle(
            min(left, right - label),
            min(r.top for r in spots) - pad,
            right,
            max(r.bottom for r in spots) + pad + LABEL - 4.0 + 7.0 * crossing,
        )
    return done
