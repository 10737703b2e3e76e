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

from posteriori.numerics.types import Array
from posteriori.plotting.parts.style import STYLE

__all__ = [
    "BROAD",
    "FIRST",
    "GRID",
    "INK",
    "MUTED",
    "SECOND",
    "SMALL",
    "render_svg",
    "shade",
    "short_text",
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


def shade(axes: Axes, table: Array) -> None:
    """Paint cells the stronger the larger they are, between 0 and 1, in a colour that follows the page."""
    for (i, j), value in np.ndenumerate(table):
        axes.fill_between(
            [j - 0.48, j + 0.48], i - 0.48, i + 0.48, color=FIRST, alpha=float(value) * 0.75, lw=0
        )
    axes.set(xlim=(-0.5, table.shape[1] - 0.5), ylim=(table.shape[0] - 0.5, -0.5))
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(length=0)


def short_text(text: str, limit: int = 24) -> str:
    """Cut a long text in the middle: names of columns begin, and levels end, each in its own way."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    end = (limit - 1) // 3
    return line[: limit - 1 - end] + "…" + line[-end:]


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
