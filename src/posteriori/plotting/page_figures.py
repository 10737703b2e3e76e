"""Figures of pages, as SVG text whose colours follow the page (light or dark)."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter, MaxNLocator

from posteriori.drawing.charts.ticks import tick_texts
from posteriori.drawing.measures import short_text
from posteriori.plotting.parts.style import STYLE

__all__ = [
    "BROAD",
    "FIRST",
    "GRID",
    "INK",
    "MUTED",
    "SECOND",
    "SMALL",
    "number_ticks",
    "render_svg",
]

#: Sizes in inches. A page shows a unit of a figure, 1/72 inch, as a pixel or more: these fit into
#: the window of a phone with texts of eleven pixels, and into pages with texts of sixteen.
BROAD = 4.6

#: Width and height of the ordinary figure.
SMALL = (4.0, 2.8)

# matplotlib wants fixed colours; each of these stands for a variable of the page's style sheet.
INK, MUTED, FIRST, SECOND, GRID = "#010101", "#020202", "#030303", "#040404", "#050505"
_VARIABLES = {INK: "ink", MUTED: "muted", FIRST: "first", SECOND: "second", GRID: "grid"}

_STYLE: dict[Any, Any] = {
    **STYLE,
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": INK,
    "axes.spines.left": False,
    "font.size": 11,
    "grid.color": GRID,
    "legend.fontsize": 11,
    "legend.labelcolor": INK,
    "svg.fonttype": "none",
    "text.parse_math": False,  # a dollar in a name is a dollar
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.left": False,
}


def render_svg(
    name: str, title: str, paint: Callable[[Axes], None], size: tuple[float, float] = (4.8, 3.1)
) -> str:
    """Return a figure as an SVG element.

    Parameters
    ----------
    name : str
        Of its own among the figures of a page.
    title : str
        What a screen reader says.
    paint : callable
        Draws on the axes that it is given.
    size : pair of float
        Width and height in inches; the page widens it to the room that there is.
    """
    # The salt makes the ids inside one figure reproducible and unlike those of its neighbours.
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # texts are drawn with the page's fonts
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # ticks beyond the largest number
                drawn = _draw(paint, size)
        except (
            ValueError,
            ArithmeticError,
            MemoryError,
        ) as error:  # a page is worth more than a figure
            drawn = _draw(partial(_say, text=f"not drawn: {error}"), size)
    return _inline(drawn, title, round(72 * size[0]))


def _draw(paint: Callable[[Axes], None], size: tuple[float, float]) -> str:
    figure = Figure(figsize=size)
    paint(figure.add_subplot())
    buffer = io.StringIO()
    figure.savefig(
        buffer,
        format="svg",
        transparent=True,
        metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")),
    )
    return buffer.getvalue()


def _say(axes: Axes, text: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, short_text(text, 60), ha="center", va="center", size=8)


def number_ticks(axes: Axes) -> None:
    """Write the numbers of both axes as charts do, few enough to stand side by side."""
    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        axis.set_major_locator(MaxNLocator(3 if max(map(abs, limits)) >= 1e4 else 5))
        axis.set_major_formatter(_TickFormatter())


class _TickFormatter(Formatter):
    """Writes all ticks of an axis with the digits that tell them apart."""

    def __call__(self, value: float, position: int | None = None) -> str:
        return tick_texts(np.array([value]))[0]

    def format_ticks(self, values: Any) -> list[str]:
        return tick_texts(np.asarray(values, dtype=np.float64))


def _inline(svg: str, title: str, width: int) -> str:
    """Cut the SVG element out of a file, name it for screen readers, and free its colours."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    used = set(re.findall(r"#([\w.-]+)", svg))  # the other ids would repeat from figure to figure
    svg = re.sub(r' id="([^"]*)"', lambda m: m[0] if m[1] in used else "", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    svg = re.sub(r"(font: [^;\"]*?px) [^;\"]*", r"\1 system-ui, sans-serif", svg)
    head, body = svg.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    return f'{head} role="img" style="min-width:{width}px" aria-label="{escape(title)}">{body}'
