"""A chart: marks between two axes, as an SVG element of a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from posteriori.drawing.charts.marks import Frame, Mark, paint
from posteriori.drawing.charts.ticks import TickRule, number_ticks, widened
from posteriori.drawing.measures import short_text, text_width
from posteriori.numerics.types import Array

__all__ = ["BROAD", "SMALL", "Axis", "Chart"]

#: Sizes in pixels: texts of eleven fit into the window of a phone, and grow with the page.
BROAD = 331.0

#: Width and height of the ordinary figure.
SMALL = (288.0, 202.0)

#: Height of texts, of a line of them, and the room between things.
_SIZE, _LINE, _GAP = 11.0, 15.0, 5.0

#: Width of a sign in the legend, with the room behind it.
_KEY = 23.0


class Axis(NamedTuple):
    """What an axis is of, and how it is written.

    Attributes
    ----------
    label : str
    low, high : float or None
        Ends; by default there is some room around all marks.
    most : int
        Ticks, at most.
    ticks : TickRule
        Where they are, and how they are written.
    places, names : sequence
        Ticks that are no round numbers, and what is written at them.
    longest : int
        Letters of a name; a longer one is cut, and tells itself whole to a pointer that rests on it.
    turned : float
        Degrees by which names are turned, of the axis at the bottom.
    grid : bool
        Whether lines run through the frame at the ticks.
    """

    label: str = ""
    low: float | None = None
    high: float | None = None
    most: int = 5
    ticks: TickRule = number_ticks
    places: Sequence[float] | Array | None = None
    names: Sequence[str] = ()
    longest: int = 26
    turned: float = 0.0
    grid: bool = False


class _Ticks(NamedTuple):
    """Where ticks are, what is written there, and how wide the widest text is."""

    places: Sequence[float] | Array
    names: Sequence[str]
    longest: int

    @property
    def width(self) -> float:
        return max((text_width(short_text(n, self.longest), _SIZE) for n in self.names), default=0)


class Chart(NamedTuple):
    """Marks between two axes.

    Attributes
    ----------
    title : str
        What a screen reader says.
    marks : sequence of Mark
        The last lies on top.
    across, up : Axis
    size : pair of float
        Width and height in pixels; a page widens it to the room that there is.
    bare : bool
        Whether there is no line at the bottom.
    """

    title: str
    marks: Sequence[Mark]
    across: Axis = Axis()
    up: Axis = Axis(grid=True)
    size: tuple[float, float] = SMALL
    bare: bool = False

    def svg(self) -> str:
        """Return an SVG element; its colours are variables of the page's style sheet."""
        width, height = self.size
        x, y = (_ends(axis, part) for axis, part in zip(self[2:4], self._reach(), strict=True))
        up = _ticks(self.up, y, math.inf)
        legend, lines = _legend([mark for mark in self.marks if mark.label], width)
        left = _GAP + (_LINE if self.up.label else 0.0) + (up.width + _GAP if up.width else 0.0)
        across = _ticks(self.across, x, width - left)
        right = width - max(_GAP, 0.0 if self.across.turned else _overhang(across, x, width - left))
        top = _GAP + _LINE * lines + (_GAP if lines else 0.0)
        frame = Frame(left, top, right, height - _below(self.across, across), x, y)
        parts = [
            f"<title>{escape(_printable(self.title))}</title><desc>{escape(self._described(across, up))}</desc>",
            _grid(self, across, up, frame),
            *(mark.svg(frame) for mark in self.marks),
            legend,
            _axes(self, across, up, frame),
        ]
        return (
            f'<svg viewBox="0 0 {width:g} {height:g}" role="img" style="min-width:{width:.0f}px" '
            f'font-family="system-ui, sans-serif" font-size="{_SIZE:g}" fill="{paint("ink")}">'
            f"{''.join(parts)}</svg>"
        )

    def _reach(self) -> tuple[list[float], list[float]]:
        """Return all numbers of both axes that are no ends of them."""
        both: tuple[list[float], list[float]] = ([], [])
        for mark in self.marks:
            for found, part in zip(both, mark.reach(), strict=True):
                values = np.asarray(part, dtype=np.float64)
                values = values[np.isfinite(values)]
                found += [float(values.min()), float(values.max())] if values.size else []
        return both

    def _described(self, across: _Ticks, up: _Ticks) -> str:
        """Say what the axes are of and between which ticks, for those who hear the chart."""
        told = [
            f"{axis.label}, from {ticks.names[0]} to {ticks.names[-1]}"
            for axis, ticks in ((self.across, across), (self.up, up))
            if axis.label and ticks.names
        ]
        return _printable("; ".join(told))


def _ends(axis: Axis, reach: Sequence[float]) -> tuple[float, float]:
    """Return where an axis begins and ends: as stated, or around what it must reach."""
    low, high = (min(reach), max(reach)) if reach else (0.0, 1.0)
    given_low, given_high = axis.low, axis.high
    low, high = (
        given_low if given_low is not None else low,
        given_high if given_high is not None else high,
    )
    if given_low is not None and given_high is not None and low != high:
        return low, high
    wide_low, wide_high = widened(min(low, high), max(low, high))
    return (
        wide_low if given_low is None or given_low >= wide_high else given_low,
        wide_high if given_high is None or given_high <= wide_low else given_high,
    )


def _ticks(axis: Axis, ends: tuple[float, float], room: float) -> _Ticks:
    """Return the ticks of an axis: as stated, or as many round numbers as stand side by side."""
    if axis.places is not None:
        return _Ticks(axis.places, axis.names, axis.longest)
    found = _Ticks((), (), 99)
    for most in range(axis.most, 1, -1):
        found = _Ticks(*axis.ticks(min(ends), max(ends), most), 99)
        if len(found.names) * (found.width + 2.0 * _GAP) <= room:
            break
    return found


def _overhang(ticks: _Ticks, ends: tuple[float, float], room: float) -> float:
    """Return how far the name of the last tick would reach beyond the frame."""
    if not len(ticks.places):
        return 0.0
    behind = (ends[1] - ticks.places[-1]) / (ends[1] - ends[0]) * room
    return 0.5 * ticks.width - 0.9 * float(behind)  # the frame becomes a little narrower


def _below(axis: Axis, ticks: _Ticks) -> float:
    """Return the room below the frame: for ticks with their names, turned or not, and the label."""
    angle = math.radians(axis.turned)
    names = ticks.width * math.sin(angle) + _LINE * math.cos(angle) if ticks.names else 0.0
    return _GAP + (names + 3.0 if names else 0.0) + (_LINE if axis.label else 0.0)


def _grid(chart: Chart, across: _Ticks, up: _Ticks, frame: Frame) -> str:
    steps = ""
    if chart.up.grid:
        places = frame.down(np.asarray(up.places, dtype=np.float64))
        steps += "".join(f"M{frame.left:.1f} {y:.1f}H{frame.right:.1f}" for y in places)
    if chart.across.grid:
        places = frame.across(np.asarray(across.places, dtype=np.float64))
        steps += "".join(f"M{x:.1f} {frame.top:.1f}V{frame.bottom:.1f}" for x in places)
    return f'<path d="{steps}" stroke="{paint("grid")}" stroke-width="0.8"/>' if steps else ""


def _axes(chart: Chart, across: _Ticks, up: _Ticks, frame: Frame) -> str:
    """Return the line at the bottom, the names of ticks, and the labels."""
    width, height = chart.size
    places = frame.across(np.asarray(across.places, dtype=np.float64))
    line = f"M{frame.left:.1f} {frame.bottom:.1f}H{frame.right:.1f}"
    line += "".join(f"M{x:.1f} {frame.bottom:.1f}v3.5" for x in places)
    parts = (
        [] if chart.bare else [f'<path d="{line}" stroke="{paint("muted")}" stroke-width="0.8"/>']
    )
    for x, name in zip(places, across.names, strict=True):
        parts.append(_name(x, frame.bottom + _GAP, name, across.longest, chart.across.turned))
    for y, name in zip(frame.down(np.asarray(up.places, dtype=np.float64)), up.names, strict=True):
        parts.append(_text(frame.left - _GAP, y + 0.36 * _SIZE, name, "end", limit=up.longest))
    if chart.across.label:
        middle = _within(0.5 * (frame.left + frame.right), chart.across.label, 0.0, width)
        parts.append(_text(middle, height - 0.3 * _LINE, chart.across.label, "middle"))
    if chart.up.label:
        start = frame.top - _GAP  # below the legend
        middle = _within(0.5 * (frame.top + frame.bottom), chart.up.label, start, height)
        parts.append(_text(_SIZE, middle, chart.up.label, "middle", turned=90.0))
    return "".join(parts)


def _name(x: float, top: float, name: str, longest: int, turned: float) -> str:
    """Return the name of a tick below it: centred, or turned with its end at the tick."""
    if not turned:
        return _text(x, top + _SIZE, name, "middle", limit=longest)
    return _text(x + 0.3 * _SIZE, top + 0.6 * _SIZE, name, "end", limit=longest, turned=turned)


def _within(middle: float, text: str, start: float, stop: float) -> float:
    """Move the middle of a text so that both of its ends lie in a room, where it is short enough."""
    half = min(0.5 * text_width(text, _SIZE), 0.5 * (stop - start))
    return min(max(middle, start + half), stop - half)


def _text(
    x: float, y: float, text: str, anchor: str, *, limit: int = 99, turned: float = 0.0
) -> str:
    """Return a text, cut where it is long; then it tells itself whole."""
    line = _printable(text)
    shown = short_text(line, limit)
    whole = f"<title>{escape(line)}</title>" if shown != line else ""
    turn = f' transform="rotate({-turned:g} {x:.1f} {y:.1f})"' if turned else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{whole}{escape(shown)}</text>'
    )


def _legend(marks: Sequence[Mark], width: float) -> tuple[str, int]:
    """Return signs with their labels in rows above the frame, and how many rows these are."""
    parts, x, row = [], _GAP, 0
    for mark in marks:
        label = short_text(mark.label, 44)
        room = _KEY + text_width(label, _SIZE) + 2.0 * _GAP
        if x > _GAP and x + room > width:
            x, row = _GAP, row + 1
        y = _GAP + _LINE * (row + 0.4)
        parts += [mark.key(x, y), _text(x + _KEY, y + 0.36 * _SIZE, mark.label, "start", limit=44)]
        x += room
    return "".join(parts), row + 1 if marks else 0


def _printable(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
