"""The map of a package: its parts by layer, with arrows for imports, as SVG.

An arrow that follows from others is shown when a pointer rests on its part.
"""

import random
from html import escape
from itertools import combinations, pairwise
from typing import NamedTuple

import networkx as nx
from house import House

from posteriori.drawing.horizontal import place_in_layers
from posteriori.drawing.layers import split_long_lines
from posteriori.drawing.measures import Extent, text_width
from posteriori.drawing.shapes import Line, Shape, Sketch

__all__ = ["Places", "draw", "place"]

#: Sizes in pixels: half of a part's height, the room beside its name, layer to layer, the border.
HALF, PADDING, STEP, MARGIN = 21.0, 13.0, 78.0, 10.0
#: Arrangements to choose from.
TRIES = 40

Point = tuple[float, float]


class Places(NamedTuple):
    """Where parts stand, how wide they are, and through which points each arrow runs.

    Attributes
    ----------
    centres, halves : dict
        Of every part.
    rows : list of float
        The height of each layer.
    arrows : dict
        Points from centre to centre, of imports that do not follow from others.
    floor : str
        The part that all others import: it needs no arrows. Empty if there is none.
    """

    centres: dict[str, Point]
    halves: dict[str, float]
    rows: list[float]
    arrows: dict[tuple[str, str], list[Point]]
    width: float
    floor: str


def place(house: House) -> Places:
    """Place parts in their layers; of several arrangements take that with the fewest crossings."""
    floor = _floor(house)
    layers = [layer for layer in house.layers if layer != [floor]]
    others = nx.DiGraph(pair for pair in house.imports if floor not in pair)
    pairs = sorted(nx.transitive_reduction(others).edges)
    parts = [(part, i) for i, layer in enumerate(layers) for part in layer]
    tries = (_arrange(parts, pairs, random.Random(seed)) for seed in range(TRIES))
    x, level, bends, extents = min(tries, key=_crossings)
    left = min(x[key] - extents[key].left for key in x) - MARGIN
    width = max(x[key] + extents[key].right for key in x) + MARGIN - left
    rows = [MARGIN + HALF + STEP * i for i in range(len(layers))]
    at = {key: (x[key] - left, rows[level[key]]) for key in x}
    arrows = {pair: [at[key] for key in (pair[0], *bends[pair], pair[1])] for pair in pairs}
    centres = {part: at[part] for part, _ in parts}
    halves = {part: extents[part].left for part, _ in parts}
    if floor:
        rows.append(rows[-1] + STEP)
        centres[floor], halves[floor] = (0.5 * width, rows[-1]), 0.5 * width - MARGIN
    return Places(centres, halves, rows, arrows, width, floor)


class Arranged(NamedTuple):
    """Places and layers of parts and of bends, the bends of each arrow, and the room of each."""

    x: dict[str, float]
    level: dict[str, int]
    bends: dict[tuple[str, str], list[str]]
    extents: dict[str, Extent]


def _arrange(
    parts: list[tuple[str, int]], pairs: list[tuple[str, str]], rng: random.Random
) -> Arranged:
    """Arrange parts and arrows, starting from a random order."""
    level = dict(rng.sample(parts, len(parts)))
    lines = rng.sample(pairs, len(pairs))
    halves = {part: 0.5 * text_width(part, 15.0) + PADDING for part in level}
    extents = {part: Extent(half, half, HALF) for part, half in halves.items()}
    sketch = Sketch(
        tuple(Shape(part, part, "square") for part in level),
        tuple(Line(start, end) for start, end in lines),
    )
    links, bends = split_long_lines(sketch, level, extents)
    x = place_in_layers(sketch, level, links, extents)
    return Arranged(x, level, {pair: bends[i] for i, pair in enumerate(lines)}, extents)


def _crossings(found: Arranged) -> tuple[int, float]:
    """Return how many arrows cross, and how far they lead sideways."""
    x, level = found.x, found.level
    links = [
        link for pair, keys in found.bends.items() for link in pairwise((pair[0], *keys, pair[1]))
    ]
    crossed = sum(
        level[a] == level[c] and (x[a] - x[c]) * (x[b] - x[d]) < 0.0
        for (a, b), (c, d) in combinations(links, 2)
    )
    return crossed, sum(abs(x[a] - x[b]) for a, b in links)


def _floor(house: House) -> str:
    """Return the part that all others import, if there is one."""
    counts = {part: sum(end == part for _, end in house.imports) for part in house.files}
    return next((part for part, count in counts.items() if count == len(counts) - 1), "")


# -- drawing ---------------------------------------------------------------------------------


def draw(house: House, title: str) -> str:
    """Return the map as SVG; its colours are those of the page around it."""
    places = place(house)
    width, height = f"{places.width:.0f}", f"{places.rows[-1] + HALF + MARGIN:.0f}"
    bands = [
        f'<rect class="band" y="{y - STEP / 2:.1f}" width="{width}" height="{STEP}"/>'
        for y in places.rows[::2]
    ]
    order = sorted(places.centres, key=lambda part: places.centres[part][::-1])
    return "\n".join(
        [
            f'<svg class="house-map" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            f"<title>{escape(title)}</title>",
            f'<defs><marker id="{_tip(title)}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
            'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
            '<path d="M 0 0.5 L 8 4 L 0 7.5 z"/></marker></defs>',
            *bands,
            f'<g marker-end="url(#{_tip(title)})">',
            *(_part(part, house, places) for part in order),
            "</g>",
            "</svg>",
        ]
    )


def _tip(title: str) -> str:
    """Return what the tip of an arrow is called, which must differ from map to map of a page."""
    return "tip-" + "".join(letter for letter in title if letter.isalnum())


def _part(part: str, house: House, places: Places) -> str:
    """Return a part with the arrows that leave it, which pass behind all parts below."""
    (x, y), half = places.centres[part], places.halves[part]
    arrows = [
        _arrow(pair, places)
        for pair in sorted(house.imports)
        if pair[0] == part and pair[1] != places.floor
    ]
    count = f"{house.files[part]} file{'s' if house.files[part] > 1 else ''}"
    if part == places.floor:
        count += "; all others import it"
    return (
        f'<g class="room"><title>{escape(house.summaries[part])}</title>{"".join(arrows)}'
        f'<rect x="{x - half:.1f}" y="{y - HALF:.1f}" width="{2 * half:.1f}" '
        f'height="{2 * HALF:.1f}" rx="6"/>'
        f'<text x="{x:.1f}" y="{y - 1:.1f}">{part}</text>'
        f'<text class="count" x="{x:.1f}" y="{y + 14:.1f}">{count}</text></g>'
    )


def _arrow(pair: tuple[str, str], places: Places) -> str:
    """Return the arrow of an import; one that follows from others is implied."""
    if pair in places.arrows:
        return f'<path d="{_curve(places.arrows[pair])}"/>'
    return f'<path class="implied" d="{_curve([places.centres[part] for part in pair])}"/>'


def _curve(centres: list[Point]) -> str:
    """Return a path that leaves a part downwards and arrives from above, smooth at its bends."""
    (ax, ay), *bends, (bx, by) = centres
    points = [(ax, ay + HALF), *bends, (bx, by - HALF - 1.0)]
    path = f"M {ax:.1f} {ay + HALF:.1f}"
    for i, ((px, py), (qx, qy)) in enumerate(pairwise(points)):
        reach = 0.4 * (qy - py)
        leave = _slope(points, i) * reach
        arrive = _slope(points, i + 1) * reach
        path += f" C {px + leave:.1f} {py + reach:.1f} {qx - arrive:.1f} {qy - reach:.1f} {qx:.1f} {qy:.1f}"
    return path


def _slope(points: list[Point], i: int) -> float:
    """Return how far a path moves sideways per step down: not at all at its ends."""
    if i in (0, len(points) - 1):
        return 0.0
    (ax, ay), (bx, by) = points[i - 1], points[i + 1]
    return (bx - ax) / (by - ay)
