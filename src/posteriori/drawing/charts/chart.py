"""A chart: marks between two axes, as an SVG element that is as wide as its page.

Heights and texts are in pixels, places from left to right are parts of the width: the room of the frame is the content
of the element's box, and names and labels stand in its padding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from posteriori.drawing.charts.marks import Frame, Mark, by_width, paint
from posteriori.drawing.charts.ticks import LETTERS, Axis, Ticks, axis_ends, printable, ticks_of
from posteriori.drawing.measures import short_text, text_width

__all__ = ["BROAD", "SMALL", "WIDE", "Axis", "Chart"]

#: The least width in pixels of a figure that stands alone, which fits into the window of a phone.
BROAD = 320.0

#: Least width, and height, of the ordinary figure.
SMALL = (288.0, 220.0)

#: From this width on an axis has the ticks that there is room for then; the style sheet of the page says so too.
WIDE = 600.0

#: Height of a line of texts, and the room between things.
_LINE, _GAP = 16.0, 5.0

#: Width of a sign in the legend, with the room behind it.
_KEY = 23.0

#: Least width of the frame, and the units that it has.
_FRAME, _UNITS = 120.0, 1000.0


class _Room(NamedTuple):
    """The sides of the frame that names and labels take, and its least width and its height."""

    left: float
    top: float
    right: float
    below: float
    width: float
    height: float


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
        Least width, and height, in pixels; a page widens it to the room that there is. Without a height it has
        what the names at the side need, a row each.
    bare : bool
        Whether there is no line at the bottom.
    fixed : bool
        Whether it has its least width on every page: for shapes that may not be stretched.
    """

    title: str
    marks: Sequence[Mark]
    across: Axis = Axis()
    up: Axis = Axis(grid=True)
    size: tuple[float, float | None] = SMALL
    bare: bool = False
    fixed: bool = False

    def svg(self) -> str:
        """Return an SVG element; its colours are variables of the page's style sheet."""
        sides = zip((self.across, self.up), self._reach(), strict=True)
        x, y = (axis_ends(reach, axis.low, axis.high) for axis, reach in sides)
        up = ticks_of(self.up, y, math.inf)
        few, many, room, legend = self._arranged(x, up)
        beside = room.left + room.right
        frame = Frame(room.width if self.fixed else _UNITS, room.height, x, y)
        told = printable(self.title), _described(self, few, up)
        parts = [
            f"<title>{escape(told[0])}</title><desc>{escape(told[1])}</desc>",
            by_width(_grid(self, few, up, frame), _grid(self, many, up, frame)),
            *(mark.svg(frame) for mark in self.marks),
            legend,
            by_width(_below_frame(self, few, frame), _below_frame(self, many, frame)),
            _beside_frame(self, up, frame, room),
        ]
        drawn = "".join(parts).replace(
            f"</svg>{frame.stretched('')[:-6]}", ""
        )  # what is stretched, together
        width = f"{'' if self.fixed else 'min-'}width:{room.width + beside:.0f}px"
        height = room.top + room.height + room.below
        padding = f"{room.top:.0f}px {room.right:.0f}px {room.below:.0f}px {room.left:.0f}px"
        return (
            f'<svg role="img" style="{width};height:{height:.0f}px;padding:{padding}" '
            f'font-size="{LETTERS:g}" fill="{paint("ink")}">{drawn}</svg>'
        )

    def _arranged(self, x: tuple[float, float], up: Ticks) -> tuple[Ticks, Ticks, _Room, str]:
        """Return ticks of narrow and of wide charts, the room around the frame, and the legend above it."""
        names = up.width + _GAP if up.width else 0.0
        left = float(math.ceil(_GAP + (_LINE if self.up.label else 0.0) + names))
        wide = max(self.size[0] - left, min(_FRAME, self.size[0]))
        few = ticks_of(self.across, x, wide - _GAP)
        many = few if self.fixed else ticks_of(self.across, x, WIDE - left - few.width - _GAP)
        beyond = (_overhang(few, x, wide), _overhang(many, x, WIDE - left))
        right = _GAP if self.across.turned else max(_GAP, *beyond)
        marks = [mark for mark in self.marks if mark.label]
        legend, lines = _legend(marks, left, left + wide)
        top, below = _GAP + (_LINE * lines + _GAP if lines else 0.0), _below(self.across, few)
        top, right, below = (float(math.ceil(side)) for side in (top, right, below))
        rows = (0.5 * _LINE + LETTERS * max(map(len, up.lines), default=1)) * len(up.lines)
        height = rows if self.size[1] is None else max(self.size[1] - top - below, _LINE)
        return few, many, _Room(left, top, right, below, wide - right, height), legend

    def _reach(self) -> tuple[list[float], list[float]]:
        """Return all numbers of both axes that are no ends of them."""
        both: tuple[list[float], list[float]] = ([], [])
        for mark in self.marks:
            for found, part in zip(both, mark.reach(), strict=True):
                values = np.asarray(part, dtype=np.float64)
                values = values[np.isfinite(values)]
                found += [float(values.min()), float(values.max())] if values.size else []
        return both


def _described(chart: Chart, across: Ticks, up: Ticks) -> str:
    """Say what the axes are of and between which ticks, for those who hear the chart."""
    told = [
        f"{axis.label}, from {ticks.names[0]} to {ticks.names[-1]}"
        for axis, ticks in ((chart.across, across), (chart.up, up))
        if axis.label and ticks.names
    ]
    return printable("; ".join(told))


def _overhang(ticks: Ticks, ends: tuple[float, float], room: float) -> float:
    """Return how far the name of the last tick would reach beyond the frame."""
    if not len(ticks.places):
        return 0.0
    behind = (ends[1] - ticks.places[-1]) / (ends[1] - ends[0]) * room
    return 0.5 * ticks.width - 0.9 * float(behind)  # the frame becomes a little narrower


def _below(axis: Axis, ticks: Ticks) -> float:
    """Return the room below the frame: for ticks with their names, turned or not, and the label."""
    angle = math.radians(axis.turned)
    names = ticks.width * math.sin(angle) + _LINE * math.cos(angle) if ticks.names else 0.0
    return _GAP + (names + 3.0 if names else 0.0) + (_LINE if axis.label else 0.0)


def _grid(chart: Chart, across: Ticks, up: Ticks, frame: Frame) -> str:
    """Return the lines through the frame at ticks."""
    steps = ""
    if chart.across.grid:
        places = frame.across(np.asarray(across.places, dtype=np.float64))
        steps += "".join(f"M{x:.1f} 0V{frame.height:.1f}" for x in places)
    if chart.up.grid:
        places = frame.down(np.asarray(up.places, dtype=np.float64))
        steps += "".join(f"M0 {y:.1f}H{frame.width:g}" for y in places)
    return frame.ruled(steps, "grid")


def _below_frame(chart: Chart, across: Ticks, frame: Frame) -> str:
    """Return the line at the bottom with its ticks, and their names."""
    values = np.asarray(across.places, dtype=np.float64)
    line = f"M0 {frame.height:.1f}H{frame.width:g}"
    line += "".join(f"M{x:.1f} {frame.height:.1f}v3.5" for x in frame.across(values))
    parts = [] if chart.bare else [frame.ruled(line, "muted")]
    top = frame.height + _GAP
    for x, name, (shown,) in zip(
        100.0 * frame.across(values) / frame.width, across.names, across.lines, strict=False
    ):
        if not chart.across.turned:
            parts.append(_text(f"{x:.2f}%", top + LETTERS, shown, "middle", name))
            continue
        turn = f' transform="rotate({-chart.across.turned:g})"'
        end = _text(f"{0.3 * LETTERS:.1f}", 0.6 * LETTERS, shown, "end", name, turn)
        parts.append(f'<svg x="{x:.2f}%" y="{top:.1f}">{end}</svg>')
    return "".join(parts)


def _beside_frame(chart: Chart, up: Ticks, frame: Frame, room: _Room) -> str:
    """Return the names of the ticks at the side, and the labels of both axes."""
    places = frame.down(np.asarray(up.places, dtype=np.float64))
    parts = []
    for y, name, lines in zip(places, up.names, up.lines, strict=False):
        first = y + LETTERS * (0.36 - 0.55 * (len(lines) - 1))
        for k, line in enumerate(lines):
            whole = name if k == len(lines) - 1 else ""
            parts.append(_text("-5", first + 1.1 * LETTERS * k, line, "end", whole))
    if chart.across.label:
        parts.append(_label_across(chart.across.label, frame.height + room.below, room))
    if chart.up.label:
        high = room.top + room.height + room.below
        label = short_text(printable(chart.up.label), int(high / (0.62 * LETTERS)))
        half = 0.5 * text_width(label, LETTERS)
        middle = max(min(0.5 * frame.height, frame.height + room.below - half), half - _GAP)
        x = LETTERS - room.left
        turn = f' transform="rotate(-90 {x:.1f} {middle:.1f})"'
        parts.append(_text(f"{x:.1f}", middle, label, "middle", chart.up.label, turn))
    return "".join(parts)


def _label_across(label: str, bottom: float, room: _Room) -> str:
    """Return a label in the middle below the frame; a long one ends where the chart does."""
    wide = room.left + room.width + room.right
    shown = short_text(printable(label), int(wide / (0.62 * LETTERS)))
    y = bottom - 0.3 * _LINE
    if text_width(shown, LETTERS) <= room.width + 2.0 * room.right:
        return _text("50%", y, shown, "middle", label)
    return _text("100%", y, shown, "end", label, f' dx="{room.right:.0f}"')


def _text(x: str, y: float, shown: str, anchor: str, whole: str, more: str = "") -> str:
    """Return a text; one that was cut tells itself whole."""
    said = printable(whole)
    told = f"<title>{escape(said)}</title>" if "…" in shown and shown != said else ""
    return f'<text x="{x}" y="{y:.1f}" text-anchor="{anchor}"{more}>{told}{escape(shown)}</text>'


def _legend(marks: Sequence[Mark], left: float, width: float) -> tuple[str, int]:
    """Return signs with their labels in rows above the frame, and how many rows these are."""
    limit = min(44, int((width - _KEY - _GAP) / (0.62 * LETTERS)))
    shown = [short_text(printable(mark.label), limit) for mark in marks]
    placed, x, row = [], 0.0, 0
    for label in shown:
        wide = _KEY + text_width(label, LETTERS) + 2.0 * _GAP
        if x > 0.0 and x + wide > width:
            x, row = 0.0, row + 1
        placed.append((x - left + _GAP, row))
        x += wide
    rows, parts = row + 1 if marks else 0, []
    for mark, label, (x, row) in zip(marks, shown, placed, strict=True):
        y = _LINE * (row - rows + 0.4) - _GAP
        text = _text(f"{x + _KEY:.1f}", y + 0.36 * LETTERS, label, "start", mark.label)
        parts.append(mark.key(x, y) + text)
    return "".join(parts), rows
