"""What a chart shows between its axes: lines, bands, bars, dots, segments, cells and texts.

Every mark says which numbers its axes must reach, and writes itself into a frame. An infinite number stands for
the end of the axis; of what is not a number nothing is drawn. A frame is as wide as its page: lines and areas are
stretched with it, points and texts keep their shape and are moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.drawing.charts.ticks import LETTERS, widened
from posteriori.numerics.types import Array

__all__ = [
    "Band",
    "Bars",
    "Cells",
    "Curve",
    "Dots",
    "Frame",
    "Mark",
    "Segments",
    "Texts",
    "by_width",
    "histogram",
    "paint",
]


#: How strongly a cell of 1 is coloured: a text on it can be read, dark on light as well as light on dark.
_STRONGEST = 0.5

#: Share of its place that a cell leaves free on each side.
_GAP = 0.02


class Mark(Protocol):
    """Something to draw."""

    @property
    def label(self) -> str:
        """What a legend calls it; empty where it says nothing of it."""

    def reach(self) -> tuple[Any, Any]:
        """Return numbers that both axes must reach."""

    def svg(self, frame: Frame) -> str:
        """Return it as a part of an SVG file."""

    def key(self, x: float, y: float) -> str:
        """Return its sign in a legend, 18 wide and centred at y."""


class Curve(NamedTuple):
    """A line from point to point, broken where a number is missing."""

    x: Any
    y: Any
    color: str = "first"
    width: float = 2.0
    dashes: str = ""
    label: str = ""

    def reach(self) -> tuple[Any, Any]:
        """Return all points."""
        return self.x, self.y

    def svg(self, frame: Frame) -> str:
        """Return a path."""
        x, y = (np.asarray(part, dtype=np.float64) for part in (self.x, self.y))
        known = ~(np.isnan(x) | np.isnan(y))
        steps, letter = [], "M"
        for across, down, there in zip(frame.across(x), frame.down(y), known, strict=True):
            if there:
                steps.append(f"{letter}{across:.1f} {down:.1f}")
            letter = "L" if there else "M"
        return frame.stretched(self._stroke("".join(steps)))

    def key(self, x: float, y: float) -> str:
        """Return a short line of the same look."""
        return self._stroke(f"M{x:.1f} {y:.1f}h18")

    def _stroke(self, steps: str) -> str:
        dashed = f' stroke-dasharray="{self.dashes}"' if self.dashes else ""
        return (
            f'<path d="{steps}" fill="none" stroke="{paint(self.color)}" stroke-width="{self.width:g}" '
            f'stroke-linejoin="round"{dashed}/>'
        )


class Band(NamedTuple):
    """What lies between two lines."""

    x: Any
    low: Any
    high: Any
    color: str = "first"
    opacity: float = 0.2
    label: str = ""

    def reach(self) -> tuple[Any, Any]:
        """Return both lines."""
        return self.x, np.concatenate([np.ravel(self.low), np.ravel(self.high)])

    def svg(self, frame: Frame) -> str:
        """Return a polygon: there along the lower line, back along the upper one."""
        x, low, high = np.broadcast_arrays(self.x, self.low, self.high)
        known = ~(np.isnan(x) | np.isnan(low) | np.isnan(high))
        across = frame.across(x[known])
        there = zip(across, frame.down(low[known]), strict=True)
        back = zip(across[::-1], frame.down(high[known])[::-1], strict=True)
        points = " ".join(f"{px:.1f},{py:.1f}" for part in (there, back) for px, py in part)
        return frame.stretched(f'<polygon points="{points}" {self._fill()}/>')

    def key(self, x: float, y: float) -> str:
        """Return a small rectangle of the same look."""
        return f'<rect x="{x:.1f}" y="{y - 4:.1f}" width="18" height="8" {self._fill()}/>'

    def _fill(self) -> str:
        return f'fill="{paint(self.color)}" fill-opacity="{self.opacity:g}"'


class Bars(NamedTuple):
    """Bars that stand on a line."""

    left: Any
    right: Any
    top: Any
    color: str = "first"
    opacity: float = 1.0
    base: float = 0.0
    label: str = ""

    def reach(self) -> tuple[Any, Any]:
        """Return all corners."""
        return np.concatenate([self.left, self.right]), np.append(self.top, self.base)

    def svg(self, frame: Frame) -> str:
        """Return one path for all of them."""
        ends = zip(
            frame.across(np.asarray(self.left)),
            frame.across(np.asarray(self.right)),
            frame.down(np.asarray(self.top)),
            strict=True,
        )
        base = float(frame.down(np.asarray(self.base)))
        steps = "".join(f"M{a:.1f} {base:.1f}V{top:.1f}H{b:.1f}V{base:.1f}Z" for a, b, top in ends)
        look = f'fill="{paint(self.color)}" fill-opacity="{self.opacity:g}"'
        return frame.stretched(f'<path d="{steps}" {look}/>')

    def key(self, x: float, y: float) -> str:
        """Return a small bar."""
        return Band([], [], [], self.color, self.opacity).key(x, y)


class Dots(NamedTuple):
    """Points; as rings where they are hollow. Radii may differ."""

    x: Any
    y: Any
    color: str = "first"
    radius: Any = 2.5
    opacity: float = 1.0
    hollow: bool = False
    label: str = ""

    def reach(self) -> tuple[Any, Any]:
        """Return all points."""
        return self.x, self.y

    def svg(self, frame: Frame) -> str:
        """Return a circle for each point inside."""
        x, y, radius = np.broadcast_arrays(
            np.asarray(self.x, dtype=np.float64),
            np.asarray(self.y, dtype=np.float64),
            self.radius,
        )
        inside = frame.holds(x, y)
        places = zip(
            100.0 * frame.across(x[inside]) / frame.width,
            frame.down(y[inside]),
            radius[inside],
            strict=True,
        )
        drawn = "".join(f'<circle cx="{a:.2f}%" cy="{b:.1f}" r="{r:.2g}"/>' for a, b, r in places)
        return f"<g {self._look()}>{drawn}</g>"

    def key(self, x: float, y: float) -> str:
        """Return one of them."""
        return f'<circle cx="{x + 9:.1f}" cy="{y:.1f}" r="3.5" {self._look()}/>'

    def _look(self) -> str:
        color = paint(self.color)
        if self.hollow:
            return f'fill="none" stroke="{color}" stroke-width="1.4" opacity="{self.opacity:g}"'
        return f'fill="{color}" fill-opacity="{self.opacity:g}"'


class Segments(NamedTuple):
    """Straight lines, one for each pair of points: bars of errors, or a line through the whole frame."""

    x: tuple[Any, Any]
    y: tuple[Any, Any]
    color: str = "first"
    width: float = 1.6
    opacity: float = 1.0
    dashes: str = ""
    label: str = ""

    def reach(self) -> tuple[Any, Any]:
        """Return all ends."""
        return (
            np.concatenate([np.ravel(end) for end in self.x]),
            np.concatenate([np.ravel(end) for end in self.y]),
        )

    def svg(self, frame: Frame) -> str:
        """Return one path for all of them."""
        ends = np.broadcast_arrays(*(np.asarray(end, dtype=np.float64) for end in self.x + self.y))
        known = ~np.isnan(ends).any(axis=0)
        x0, x1, y0, y1 = (np.ravel(end[known]) for end in ends)
        places = zip(
            frame.across(x0), frame.down(y0), frame.across(x1), frame.down(y1), strict=True
        )
        steps = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in places)
        dashed = f' stroke-dasharray="{self.dashes}"' if self.dashes else ""
        return frame.stretched(
            f'<path d="{steps}" stroke="{paint(self.color)}" stroke-width="{self.width:g}" '
            f'stroke-opacity="{self.opacity:g}"{dashed}/>'
        )

    def key(self, x: float, y: float) -> str:
        """Return a short line of the same look."""
        return Curve([], [], self.color, self.width, self.dashes).key(x, y)


class Cells(NamedTuple):
    """A table of shares at the places 0, 1, …: the larger, the stronger the colour."""

    table: Array
    color: str = "first"
    label: str = ""

    def reach(self) -> tuple[Any, Any]:
        """Return the borders."""
        rows, columns = self.table.shape
        return (-0.5, columns - 0.5), (-0.5, rows - 0.5)

    def svg(self, frame: Frame) -> str:
        """Return a rectangle for each cell that is not 0."""
        rows, columns = self.table.shape
        half = 0.5 - _GAP
        x0, x1 = (frame.across(np.arange(columns) + side) for side in (-half, half))
        ends = (frame.down(np.arange(rows) + side) for side in (-half, half))
        top, bottom = np.sort(np.stack(list(ends)), axis=0)
        drawn = "".join(
            f'<rect x="{x0[j]:.1f}" y="{top[i]:.1f}" width="{x1[j] - x0[j]:.1f}" '
            f'height="{bottom[i] - top[i]:.1f}" fill-opacity="{_STRONGEST * share:.2f}"/>'
            for (i, j), share in np.ndenumerate(self.table)
            if share > 0.0
        )
        return frame.stretched(f'<g fill="{paint(self.color)}">{drawn}</g>')

    def key(self, x: float, y: float) -> str:
        """Return a small cell."""
        return Band([], [], [], self.color, _STRONGEST).key(x, y)


class Texts(NamedTuple):
    """Texts that are centred at points; each may have several lines."""

    x: Any
    y: Any
    texts: Sequence[str]
    bold: bool = False
    halo: bool = False
    color: str = "ink"
    label: str = ""

    def reach(self) -> tuple[Any, Any]:
        """Return all points."""
        return self.x, self.y

    def svg(self, frame: Frame) -> str:
        """Return each line of each text."""
        places = zip(
            100.0 * frame.across(np.asarray(self.x)) / frame.width,
            frame.down(np.asarray(self.y)),
            self.texts,
            strict=True,
        )
        drawn = "".join(self._lines(a, b, text.split("\n")) for a, b, text in places)
        weight = ' font-weight="bold"' if self.bold else ""
        look = f'fill="{paint(self.color)}"{weight}'
        if self.halo:  # what lies below is held off
            look += f' stroke="{paint("page")}" stroke-width="3" paint-order="stroke"'
        return f'<g {look} text-anchor="middle">{drawn}</g>'

    def _lines(self, x: float, y: float, lines: Sequence[str]) -> str:
        first = y + LETTERS * (0.36 - 0.6 * (len(lines) - 1))
        return "".join(
            f'<text x="{x:.2f}%" y="{first + 1.2 * LETTERS * k:.1f}">{escape(line)}</text>'
            for k, line in enumerate(lines)
        )

    def key(self, x: float, y: float) -> str:
        """Return nothing: a text says what it is."""
        return ""


def histogram(
    values: Array,
    ends: tuple[float, float],
    bins: int,
    color: str = "first",
    opacity: float = 1.0,
    *,
    filled: float = 1.0,
    density: bool = False,
) -> Bars:
    """Return bars of how many values lie in even parts of a range, or of their density.

    Parameters
    ----------
    values : (N,)
    ends : pair of float
        Of the range; there is some room around a single number.
    bins : int
    color : str
    opacity : float
    filled : float
        Share of its place that a bar fills.
    density : bool
        Whether the areas of all bars sum to 1.
    """
    edges = np.linspace(*widened(*ends, 0.0), bins + 1)
    counts = np.histogram(values, edges)[0].astype(np.float64)
    if density:
        counts /= max(counts.sum(), 1.0) * np.diff(edges)
    free = 0.5 * (1.0 - filled) * np.diff(edges)
    return Bars(edges[:-1] + free, edges[1:] - free, counts, color, opacity)


#: Colours that the style sheet of a page states; others are written as they are.
_VARIABLES = frozenset({"ink", "muted", "first", "second", "grid", "page"})


class Frame(NamedTuple):
    """A rectangle between two axes, and their ends.

    Attributes
    ----------
    width, height : float
        In units that are stretched, and in pixels. Heights grow downwards.
    x, y : pair of float
        What lies at left and right, and at bottom and top.
    """

    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, values: Array) -> Array:
        """Return where numbers lie from left to right; what is beyond the ends lies at them."""
        return _share(values, self.x) * self.width

    def down(self, values: Array) -> Array:
        """Return where numbers lie from top to bottom; what is beyond the ends lies at them."""
        return (1.0 - _share(values, self.y)) * self.height

    def stretched(self, drawn: str) -> str:
        """Return what is drawn in units of the frame, as wide as the frame comes to be."""
        box = f"0 0 {self.width:g} {self.height:g}"
        return f'<svg viewBox="{box}" preserveAspectRatio="none">{drawn}</svg>'

    def ruled(self, steps: str, color: str) -> str:
        """Return thin lines in units of the frame."""
        drawn = f'<path d="{steps}" stroke="{paint(color)}" stroke-width="0.8"/>'
        return self.stretched(drawn) if steps else ""

    def holds(self, x: Array, y: Array) -> Array:
        """Tell which points lie inside."""
        return _between(x, self.x) & _between(y, self.y)


def by_width(narrow: str, wide: str) -> str:
    """Return what narrow and wide charts have, where these differ; the style sheet of a page shows one of them."""
    if narrow == wide:
        return narrow
    return f'<g class="few">{narrow}</g><g class="many">{wide}</g>'


def paint(color: str) -> str:
    """Return a colour as SVG writes it.

    Examples
    --------
    >>> paint("first"), paint("#2b7fd4")
    ('var(--first)', '#2b7fd4')
    """
    return f"var(--{color})" if color in _VARIABLES else color


def _share(values: Array, ends: tuple[float, float]) -> Array:
    start, stop = ends
    inside = np.clip(np.asarray(values, dtype=np.float64), min(ends), max(ends))
    return (inside - start) / (stop - start)


def _between(values: Array, ends: tuple[float, float]) -> Array:
    return (values >= min(ends)) & (values <= max(ends))
