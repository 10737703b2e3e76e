"""Places of shapes within their layers: few crossings, near to neighbours, plates kept together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise

from posteriori.drawing.measures import PAD, Extent
from posteriori.drawing.nesting import nest_plates
from posteriori.drawing.shapes import Sketch

__all__ = ["place_in_layers"]

#: Room between neighbours of one plate, in points.
_GAP = 30.0


def place_in_layers(
    sketch: Sketch,
    layer: Mapping[str, int],
    links: list[tuple[str, str]],
    extents: Mapping[str, Extent],
) -> dict[str, float]:
    """Return the horizontal place of every shape and bend."""
    nest = nest_plates(sketch)
    rows: list[list[str]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for key in layer:
        rows[layer[key]].append(key)
    x = _order_rows(rows, links, nest)
    regions = _find_regions(sketch)
    _clear_regions(rows, x, set(regions.values()))
    constraints = _separations(sketch, regions, rows, layer, extents, nest, x)
    _relax(x, links, constraints)
    _close_gaps(x, [*links, *_neighbours_in_plates(sketch)], constraints)
    return x


def _order_rows(
    rows: list[list[str]],
    links: Iterable[tuple[str, str]],
    nest: Mapping[str, tuple[str, ...]],
) -> dict[str, float]:
    """Sort each layer by the mean place of its neighbours, members of a plate side by side.

    An order of the shapes by which no lines cross is kept: that of a tree means something.
    """
    near: dict[str, list[str]] = {key: [] for row in rows for key in row}
    for a, b in links:
        near[a].append(b)
        near[b].append(a)
    x = {key: 100.0 * (k - 0.5 * (len(row) - 1)) for row in rows for k, key in enumerate(row)}
    if not any(nest.values()) and not _cross(x, rows, links):
        return x
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


def _cross(x: Mapping[str, float], rows: list[list[str]], links: Iterable[tuple[str, str]]) -> bool:
    """Tell whether lines between neighbouring layers cross."""
    layer = {key: depth for depth, row in enumerate(rows) for key in row}
    between: dict[int, list[tuple[float, float]]] = {}
    for link in links:
        upper, lower = sorted(link, key=lambda key: layer[key])
        between.setdefault(layer[upper], []).append((x[upper], x[lower]))
    sides = (sorted(ends) for ends in between.values())
    return any(left[1] > right[1] for ends in sides for left, right in pairwise(ends))


def _find_regions(sketch: Sketch) -> dict[str, frozenset[str]]:
    """Return what each plate shares a region with: its members and those of crossing plates."""
    members = sketch.members()
    regions = dict(members)
    for _ in sketch.boxes:  # a chain of crossing plates is at most this long
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
    sketch: Sketch,
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
            gap = (_GAP if a in nest and b in nest else 12.0) + 1.2 * PAD * borders
            found.append((a, b, extents[a].right + extents[b].left + gap))
    for box in sketch.boxes:
        members = [shape.key for shape in sketch.shapes if box.key in shape.plates]
        depth = 1 + max(
            len(nest[key]) - nest[key].index(box.key) - 1 if box.key in nest[key] else 0
            for key in members
        )
        spans = {layer[key] for key in members}
        for shape in sketch.shapes:
            key = shape.key
            if key in members or not min(spans) <= layer[key] <= max(spans):
                continue
            beside = members if key in regions[box.key] else sorted(regions[box.key])
            here = [m for m in beside if layer[m] == layer[key]] or beside
            left = x[key] < sum(x[m] for m in here) / len(here)
            for member in members:
                a, b = (key, member) if left else (member, key)
                gap = extents[a].right + extents[b].left + 14.0 + (PAD + 2.0) * depth
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


def _neighbours_in_plates(sketch: Sketch) -> list[tuple[str, str]]:
    return [pair for keys in sketch.members().values() for pair in pairwise(sorted(keys))]


def _close_gaps(
    x: dict[str, float],
    ties: Iterable[tuple[str, str]],
    constraints: Iterable[tuple[str, str, float]],
) -> None:
    """Move parts of a graph that nothing ties together as near as the gaps between them allow."""
    part_of = {key: {key} for key in x}
    for a, b in ties:
        if part_of[a] is not part_of[b]:
            part_of[a] |= part_of[b]
            part_of.update(dict.fromkeys(part_of[b], part_of[a]))
    parts = {id(part): part for part in part_of.values()}.values()
    placed: set[str] = set()
    for part in sorted(parts, key=lambda part: min(x[key] for key in part)):
        room = [x[b] - x[a] - gap for a, b, gap in constraints if a in placed and b in part]
        if room and min(room) > 0.0:
            for key in part:
                x[key] -= min(room)
        placed |= part


def _part(x: dict[str, float], constraints: list[tuple[str, str, float]]) -> float:
    worst = 0.0
    for a, b, gap in constraints:
        lack = gap - (x[b] - x[a])
        if lack > 0.0:
            worst = max(worst, lack)
            x[a] -= 0.5 * lack
            x[b] += 0.5 * lack
    return worst
