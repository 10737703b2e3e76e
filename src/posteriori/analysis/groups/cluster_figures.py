"""Figures of groups: their number, a map of the rows, who belongs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.analysis.counted.profiles import IN_DOUBT
from posteriori.drawing.charts.chart import BROAD, Axis, Chart
from posteriori.drawing.charts.marks import Bars, Curve, Dots, Mark, Segments, Texts
from posteriori.drawing.charts.raster import Raster
from posteriori.drawing.charts.ticks import whole_ticks
from posteriori.drawing.measures import short_text
from posteriori.mixture.groups.group_map import GroupMap
from posteriori.numerics.types import Array
from posteriori.plotting.parts.style import COLORS, group_colors

__all__ = ["draw_map", "draw_numbers", "draw_similarity"]

#: About as many rows are drawn; of more, every k-th.
_MOST_POINTS = 1500

#: Cells of a side of the picture of similarities; of more rows, neighbours are averaged.
_MOST_CELLS = 250

#: Width and height that leave a square above a label.
_SQUARE = (259.0, 274.0)

#: Standard deviations that ellipses reach.
_REACH = 2.0


def draw_numbers(numbers: Sequence[int], probabilities: Array, noun: str = "groups") -> str:
    """Draw the probability of each number of groups, or of what else is counted."""
    places = np.asarray(numbers, dtype=np.float64)
    return Chart(
        f"Probability of each number of {noun}",
        [Bars(places - 0.35, places + 0.35, probabilities)],
        Axis(noun, most=10, ticks=whole_ticks),
        Axis("probability", 0.0, 1.03, grid=True),
    ).svg()


def draw_map(found: GroupMap, shares: Array) -> str:
    """Draw rows in the colours of their clusters, those in doubt as rings, with an ellipse for each."""
    step = max(1, len(shares) // _MOST_POINTS)
    (x, y), share = found.places[::step].T, shares[::step]
    cluster, sure = share.argmax(axis=1), share.max(axis=1) >= IN_DOUBT
    marks: list[Mark] = []
    for k, color in enumerate(group_colors(shares.shape[1])):
        mine = cluster == k
        marks += [
            Dots(x[mine & sure], y[mine & sure], color, 1.6, 0.6),
            Dots(x[mine & ~sure], y[mine & ~sure], color, 2.5, hollow=True),
        ]
        if mine.any():
            marks.append(_ellipse(found.means[k], found.covs[k], color))
    there = [k for k in range(shares.shape[1]) if (cluster == k).any()]
    across, up = found.means[there].T
    marks.append(Texts(across, up, [str(k + 1) for k in there], bold=True, halo=True))
    return Chart(
        "Map of the rows, by group",
        marks,
        Axis(short_text(found.names[0], 44)),
        Axis(short_text(found.names[1], 32), grid=True),
        (BROAD, 259.0),
    ).svg()


def _ellipse(mean: Array, cov: Array, color: str) -> Curve:
    values, vectors = np.linalg.eigh(cov)
    angle = np.linspace(0.0, 2.0 * np.pi, 91)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    edge = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)
    x, y = mean[:, None] + _REACH * edge
    return Curve(x, y, color, 1.6)


def draw_similarity(similarity: Array, labels: Any) -> str:
    """Draw how probably two rows belong together; rows of a group stand beside one another."""
    order = np.argsort(labels, kind="stable")
    cells = _averaged(similarity[np.ix_(order, order)])
    size = float(len(cells))
    ends = np.cumsum(np.bincount(labels)[1:])[:-1] * size / len(labels)
    far = np.full(len(ends), np.inf)
    return Chart(
        "Probability that two rows belong together",
        [
            Raster(cells, COLORS[0]),
            Segments((-far, far), (ends, ends), "ink", 0.6),
            Segments((ends, ends), (-far, far), "ink", 0.6),
        ],
        Axis("rows, by group", 0.0, size, places=()),
        Axis(low=size, high=0.0, places=()),
        _SQUARE,
        bare=True,
        fixed=True,
    ).svg()


def _averaged(matrix: Array) -> Array:
    """Average blocks of a square matrix, so that no more than so many are left."""
    n = len(matrix)
    edges = np.unique(np.linspace(0, n, min(n, _MOST_CELLS) + 1).astype(np.int64))
    sums = np.add.reduceat(np.add.reduceat(matrix, edges[:-1], axis=0), edges[:-1], axis=1)
    width = np.diff(edges)
    return np.clip(sums / np.outer(width, width), 0.0, 1.0)
