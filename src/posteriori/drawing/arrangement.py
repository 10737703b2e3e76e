"""Where the shapes of a drawing stand: layers from parents to children, plates kept together.

Shapes go into layers by their longest path from a root; crossings are reduced by sweeps over the
layers; then shapes move towards their neighbours as far as gaps and plates allow.

Reference: K. Sugiyama, S. Tagawa & M. Toda, "Methods for visual understanding of hierarchical
system structures", IEEE Trans. SMC 11(2), 1981.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from posteriori.drawing.drawing import Drawing, Shape, _nest

__all__ = ["Extent", "Layout", "Rectangle", "lay_out", "text_width"]

_GAP = 30.0
_PAD = 13.0
_LABEL = 15.0
#: Widths of letters in parts of the font's size: of narrow and of wide ones, and of all others.
_NARROW, _WIDE = frozenset(" !'.,:;()[]ijltfIr|"), frozenset("mwMWGOQ@%")


def text_width(text: str, size: float) -> float:
    """Return how wide a text is in a plain font of the given size, rather more than less."""
    parts = sum(0.36 if c in _NARROW else 0.88 if c in _WIDE else 0.62 for c in text)
    return size * parts


class Extent(NamedTuple):
    """How far a shape reaches from its centre."""

    left: float
    right: float
    half: float


class Rectangle(NamedTuple):
    """The border of a plate."""

    left: float
    top: float
    right: float
    bottom: float


class Layout(NamedTuple):
    """Centres of shapes, bends of long lines, labels left of their lines, plates, the whole's size."""

    centres: dict[str, tuple[float, float]]
    extents: dict[str, Extent]
    bends: dict[int, list[tuple[float, float]]]
    left_labels: frozenset[int]
    boxes: dict[str, Rectangle]
    width: float
    height: float


def lay_out(drawing: Drawing) -> Layout:
    """Place every shape of a drawing."""
    layer = _find_layers(drawing)
    extents = {shape.key: _extent(shape, drawing) for shape in drawing.shapes}
    links, bends = _split_long_lines(drawing, layer, extents)
    nest = _nest(drawing)
    rows: list[list[str]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for key in layer:
        rows[layer[key]].append(key)
    x = _order_rows(rows, links, nest)
    regions = _find_regions(drawing)
    _clear_regions(rows, x, set(regions.values()))
    constraints = _separations(drawing, regions, rows, layer, extents, nest, x)
    _relax(x, links, constraints)
    y = _heights(drawing, rows, layer, extents)
    return _finish(drawing, x, {key: y[layer[key]] for key in layer}, extents, bends)


def _extent(shape: Shape, drawing: Drawing) -> Extent:
    if shape.form in ("factor", "constant"):
        return Extent(6.0, 11.0 + text_width(shape.label, 12.0), 6.0)
    if shape.form == "point":
        return Extent(5.0, 5.0, 5.0)
    if shape.form == "end":
        return Extent(2.0, 2.0, 1.0)
    low = 22.0 if shape.form == "circle" else 17.0
    wide = max(low, 0.5 * text_width(shape.label, 14.0) + 8.0)
    loops = any(line.start == line.end == shape.key for line in drawing.lines)
    return Extent(wide, wide + (26.0 if loops else 0.0), low)


# -- layers ----------------------------------------------------------------------------------


def _find_layers(drawing: Drawing) -> dict[str, int]:
    """Return the longest path to each shape, lines that close a cycle left out."""
    children: dict[str, list[str]] = {shape.key: [] for shape in drawing.shapes}
    for line in drawing.lines:
        if line.start != line.end:
            children[line.start].append(line.end)
    order, forward = _sort(children)
    parents: dict[str, list[str]] = {key: [] for key in children}
    for key, others in forward.items():
        for other in others:
            parents[other].append(key)
    layer: dict[str, int] = {}
    for key in order:
        layer[key] = max((layer[parent] + 1 for parent in parents[key]), default=0)
    for key in order:  # roots come down to their children
        if not parents[key] and forward[key]:
            layer[key] = min(layer[child] for child in forward[key]) - 1
    return {key: layer[key] for key in children}


def _sort(children: Mapping[str, list[str]]) -> tuple[list[str], dict[str, list[str]]]:
    """Sort parents before children by depth-first search; drop lines back to an ancestor."""
    forward: dict[str, list[str]] = {key: [] for key in children}
    state: dict[str, int] = {}
    order: list[str] = []
    entered = {child for others in children.values() for child in others}
    for root in sorted(children, key=lambda key: key in entered):
        if root in state:
            continue
        state[root] = 1
        stack = [(root, iter(children[root]))]
        while stack:
            key, others = stack[-1]
            child = next(others, None)
            if child is None:
                state[key] = 2
                order.append(key)
                stack.pop()
            elif state.get(child) != 1:
                forward[key].append(child)
                if child not in state:
                    state[child] = 1
                    stack.append((child, iter(children[child])))
    return order[::-1], forward


def _split_long_lines(
    drawing: Drawing, layer: dict[str, int], extents: dict[str, Extent]
) -> tuple[list[tuple[str, str]], dict[int, list[str]]]:
    """Return links between neighbouring layers; a long line bends at a place in each layer."""
    links: list[tuple[str, str]] = []
    bends: dict[int, list[str]] = {}
    for i, line in enumerate(drawing.lines):
        if line.start == line.end:
            continue
        a, b = layer[line.start], layer[line.end]
        step = 1 if b > a else -1
        bends[i] = [f"bend {i} {k}" for k in range(a + step, b, step)]
        for k, key in zip(range(a + step, b, step), bends[i], strict=True):
            layer[key] = k
            extents[key] = Extent(3.0, 3.0, 1.0)
        path = [line.start, *bends[i], line.end]
        links += pairwise(path)
    return links, bends


# -- horizontal ------------------------------------------------------------------------------


def _order_rows(
    rows: list[list[str]],
    links: Iterable[tuple[str, str]],
    nest: Mapping[str, tuple[str, ...]],
) -> dict[str, float]:
    """Sort each layer by the mean place of its neighbours, members of a plate side by side."""
    near: dict[str, list[str]] = {key: [] for row in rows for key in row}
    for a, b in links:
        near[a].append(b)
        near[b].append(a)
    x = {key: 100.0 * (k - 0.5 * (len(row) - 1)) for row in rows for k, key in enumerate(row)}
    for _ in range(12):
        centre: dict[str, list[float]] = {}
        for key, plates in nest.items():
            for plate in plates:
                centre.setdefault(plate, []).append(x[key])
        middle = {plate: sum(places) / len(places) for plate, places in centre.items()}
        for row in rows:
            mean = {k: sum(x[n] for n in near[k]) / len(near[k]) if near[k] else x[k] for k in row}
            row.sort(key=lambda k: [*((middle[p], p) for p in nest.get(k, ())), (mean[k], "")])
            for k, key in enumerate(row):
                x[key] = 100.0 * (k - 0.5 * (len(row) - 1))
    return x


def _find_regions(drawing: Drawing) -> dict[str, frozenset[str]]:
    """Return what each plate shares a region with: its members and those of crossing plates."""
    members = {
        box.key: frozenset(shape.key for shape in drawing.shapes if box.key in shape.plates)
        for box in drawing.boxes
    }
    regions = dict(members)
    for _ in drawing.boxes:  # a chain of crossing plates is at most this long
        for a in members:
            for b in members:
                nested = members[a] <= members[b] or members[b] <= members[a]
                if members[a] & members[b] and not nested:
                    regions[a] = regions[b] = regions[a] | regions[b]
    return regions


def _clear_regions(
    rows: list[list[str]], x: dict[str, float], regions: Iterable[frozenset[str]]
) -> None:
    """Move what is outside all plates of a region to the side of it."""
    for region in sorted(regions, key=sorted):
        centre = sum(x[key] for key in region) / len(region)
        for row in rows:
            places = [k for k, key in enumerate(row) if key in region]
            if not places or places[-1] - places[0] == len(places) - 1:
                continue
            span = row[places[0] : places[-1] + 1]
            outside = [key for key in span if key not in region]
            left = [key for key in outside if x[key] < centre]
            right = [key for key in outside if key not in left]
            row[places[0] : places[-1] + 1] = left + [k for k in span if k in region] + right
            for k, key in enumerate(row):
                x[key] = 100.0 * (k - 0.5 * (len(row) - 1))


def _separations(
    drawing: Drawing,
    regions: Mapping[str, frozenset[str]],
    rows: list[list[str]],
    layer: Mapping[str, int],
    extents: Mapping[str, Extent],
    nest: Mapping[str, tuple[str, ...]],
    x: Mapping[str, float],
) -> list[tuple[str, str, float]]:
    """Return pairs that must stand apart, left and right, and how far."""
    found = []
    for row in rows:
        for a, b in pairwise(row):
            borders = len(set(nest.get(a, ())) ^ set(nest.get(b, ())))
            gap = (_GAP if a in nest and b in nest else 12.0) + 1.2 * _PAD * borders
            found.append((a, b, extents[a].right + extents[b].left + gap))
    for box in drawing.boxes:
        members = [shape.key for shape in drawing.shapes if box.key in shape.plates]
        depth = 1 + max(
            len(nest[key]) - nest[key].index(box.key) - 1 if box.key in nest[key] else 0
            for key in members
        )
        spans = {layer[key] for key in members}
        for shape in drawing.shapes:
            key = shape.key
            if key in members or not min(spans) <= layer[key] <= max(spans):
                continue
            beside = members if key in regions[box.key] else sorted(regions[box.key])
            here = [m for m in beside if layer[m] == layer[key]] or beside
            left = x[key] < sum(x[m] for m in here) / len(here)
            for member in members:
                a, b = (key, member) if left else (member, key)
                gap = extents[a].right + extents[b].left + 14.0 + (_PAD + 2.0) * depth
                found.append((a, b, gap))
    return found


def _relax(
    x: dict[str, float],
    links: Iterable[tuple[str, str]],
    constraints: list[tuple[str, str, float]],
) -> None:
    """Move shapes towards their neighbours, then apart again where they are too close."""
    near: dict[str, list[str]] = {key: [] for key in x}
    for a, b in links:
        near[a].append(b)
        near[b].append(a)
    rounds = 200 if len(x) < 500 else 30
    for _ in range(rounds):
        target = {key: sum(x[n] for n in near[key]) / len(near[key]) for key in x if near[key]}
        for key, place in target.items():
            x[key] += 0.5 * (place - x[key])
        for _ in range(4):
            _part(x, constraints)
    for _ in range(rounds):
        if _part(x, constraints) < 0.25:
            break
    _straighten(x, near, constraints)


def _straighten(
    x: dict[str, float],
    near: Mapping[str, list[str]],
    constraints: Iterable[tuple[str, str, float]],
) -> None:
    """Put one shape after another between its neighbours, as far as the others leave room."""
    before: dict[str, list[tuple[str, float]]] = {key: [] for key in x}
    after: dict[str, list[tuple[str, float]]] = {key: [] for key in x}
    for a, b, gap in constraints:
        before[b].append((a, gap))
        after[a].append((b, gap))
    for _ in range(60 if len(x) < 500 else 5):
        for key, others in near.items():
            low = max((x[a] + gap for a, gap in before[key]), default=-math.inf)
            high = min((x[b] - gap for b, gap in after[key]), default=math.inf)
            if others and low <= high:
                x[key] = min(max(sum(x[n] for n in others) / len(others), low), high)


def _part(x: dict[str, float], constraints: list[tuple[str, str, float]]) -> float:
    worst = 0.0
    for a, b, gap in constraints:
        lack = gap - (x[b] - x[a])
        if lack > 0.0:
            worst = max(worst, lack)
            x[a] -= 0.5 * lack
            x[b] += 0.5 * lack
    return worst


# -- vertical and borders --------------------------------------------------------------------


def _heights(
    drawing: Drawing,
    rows: list[list[str]],
    layer: Mapping[str, int],
    extents: Mapping[str, Extent],
) -> list[float]:
    """Return the height of each layer, with room for the borders between them."""
    spans = []
    for box in drawing.boxes:
        at = [layer[shape.key] for shape in drawing.shapes if box.key in shape.plates]
        spans.append((min(at), max(at)))
    halves = [max(extents[key].half for key in row) for row in rows]
    y = halves[:1]
    for k, (above, below) in enumerate(pairwise(halves), 1):
        ends = sum(bottom == k - 1 for _, bottom in spans)
        starts = sum(top == k for top, _ in spans)
        room = 34.0 + max(0.0, ends * (_PAD + _LABEL) + starts * _PAD - 14.0)
        y.append(y[-1] + above + room + below)
    return y


def _finish(
    drawing: Drawing,
    x: Mapping[str, float],
    y: Mapping[str, float],
    extents: dict[str, Extent],
    bends: Mapping[int, list[str]],
) -> Layout:
    boxes = _borders(drawing, x, y, extents)
    corners = [
        (
            x[k] - extents[k].left,
            y[k] - extents[k].half,
            x[k] + extents[k].right,
            y[k] + extents[k].half,
        )
        for k in x
    ] + [tuple(box) for box in boxes.values()]
    left_labels = _left_labels(drawing, x, bends)
    for i, line in enumerate(drawing.lines):
        room = 12.0 + text_width(line.label, 12.0) if line.label else 0.0
        ends = x[line.start], x[line.end]
        corners.append(
            (min(ends) - room, 0.0, min(ends), 0.0)
            if i in left_labels
            else (max(ends), 0.0, max(ends) + room, 0.0)
        )
    margin = 12.0
    left = min((c[0] for c in corners), default=0.0) - margin
    top = min((c[1] for c in corners), default=0.0) - margin
    right = max((c[2] for c in corners), default=0.0) + margin
    bottom = max((c[3] for c in corners), default=0.0) + margin
    return Layout(
        {shape.key: (x[shape.key] - left, y[shape.key] - top) for shape in drawing.shapes},
        extents,
        {i: [(x[key] - left, y[key] - top) for key in keys] for i, keys in bends.items()},
        left_labels,
        {k: Rectangle(b[0] - left, b[1] - top, b[2] - left, b[3] - top) for k, b in boxes.items()},
        right - left,
        bottom - top,
    )


def _left_labels(
    drawing: Drawing, x: Mapping[str, float], bends: Mapping[int, list[str]]
) -> frozenset[int]:
    """Return the lines whose labels go to the left: outside of the fork that they are part of."""
    leaving = Counter(line.start for line in drawing.lines)
    arriving = Counter(line.end for line in drawing.lines)
    found = set()
    for i, line in enumerate(drawing.lines):
        path = [x[key] for key in (line.start, *bends.get(i, ()), line.end)]
        forks, joins = leaving[line.start] > 1, arriving[line.end] > 1
        if (forks and path[1] < path[0] - 1.0) or (
            joins and not forks and path[-1] > path[-2] + 1.0
        ):
            found.add(i)
    return frozenset(found)


def _borders(
    drawing: Drawing,
    x: Mapping[str, float],
    y: Mapping[str, float],
    extents: Mapping[str, Extent],
) -> dict[str, Rectangle]:
    """Draw plates from the inside out, each around its members and the plates within it."""
    members = {
        box.key: {shape.key for shape in drawing.shapes if box.key in shape.plates}
        for box in drawing.boxes
    }
    labels = {box.key: box.label for box in drawing.boxes}
    done: dict[str, Rectangle] = {}
    for key in sorted(members, key=lambda k: len(members[k])):
        inner = [done[other] for other in done if members[other] <= members[key]]
        spots = [
            Rectangle(
                x[k] - extents[k].left,
                y[k] - extents[k].half,
                x[k] + extents[k].right,
                y[k] + extents[k].half,
            )
            for k in members[key]
        ] + inner
        crossing = sum(
            bool(members[other] & members[key]) and not members[other] <= members[key]
            for other in done
        )
        pad = _PAD + 7.0 * crossing  # so that borders of crossing plates do not fall together
        right = max(r.right for r in spots) + _PAD
        left = min(r.left for r in spots) - _PAD
        label = text_width(labels[key], 12.0) + 14.0
        done[key] = Rectangle(
            min(left, right - label),
            min(r.top for r in spots) - pad,
            right,
            max(r.bottom for r in spots) + pad + _LABEL - 4.0 + 7.0 * crossing,
        )
    return done
