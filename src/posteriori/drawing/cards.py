"""Cards of a drawing: a name, and a bar for the probability of each state."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from posteriori.drawing.measures import CARD_HEAD, CARD_ROW, Extent, bar_labels
from posteriori.drawing.shapes import Shape

__all__ = ["BAR_HEIGHT", "BAR_LENGTH", "CardRow", "card_rows", "write_card"]

#: Length of a bar of probability 1, and how much of a row it fills.
BAR_LENGTH, BAR_HEIGHT = 64.0, 9.0

#: Writes a text: x, y, text, anchor, size, ink.
Writer = Callable[[float, float, str, str, int, str], str]


class CardRow(NamedTuple):
    """A state of a card: its name, its probability as a number and as text, and where its bar begins."""

    label: str
    probability: float
    text: str
    left: float
    middle: float


def card_rows(shape: Shape, x: float, y: float, extent: Extent) -> list[CardRow]:
    """Return the rows of a card whose centre is at (x, y)."""
    left, top = x + extent.left - BAR_LENGTH - 50.0, y - extent.half
    found = []
    for i, (label, (_, p)) in enumerate(zip(bar_labels(shape), shape.bars, strict=True)):
        text = "< 0.1 %" if 0.0 < p < 0.001 else f"{100 * p:.1f} %"
        found.append(CardRow(label, p, text, left, top + CARD_HEAD + (i + 0.5) * CARD_ROW))
    return found


def write_card(
    shape: Shape, x: float, y: float, extent: Extent, write: Writer, colours: dict[str, str]
) -> str:
    """Return a card as a part of an SVG file.

    Parameters
    ----------
    shape : Shape
        With ``bars``.
    x, y : float
        Its centre.
    extent : Extent
    write : callable
    colours : dict
        "ink", "line", "shade" and "bar".
    """
    left, top = x - extent.left, y - extent.half
    fill = colours["shade"] if shape.shaded else "#ffffff"
    parts = [
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{2 * extent.left:.1f}" height="{2 * extent.half:.1f}" '
        f'rx="5" fill="{fill}" stroke="{colours["line"]}" stroke-width="1.3"/>',
        write(x, top + 17.0, shape.label, "middle", 14, colours["ink"]),
    ]
    for row in card_rows(shape, x, y, extent):
        place = f'x="{row.left:.1f}" y="{row.middle - BAR_HEIGHT / 2:.1f}" height="{BAR_HEIGHT:g}"'
        base = row.middle + 4.0
        parts += [
            write(row.left - 6.0, base, row.label, "end", 12, colours["line"]),
            f'<rect {place} width="{BAR_LENGTH:.1f}" fill="{colours["line"]}" fill-opacity="0.1"/>',
            f'<rect {place} width="{BAR_LENGTH * row.probability:.1f}" fill="{colours["bar"]}"/>',
            write(row.left + BAR_LENGTH + 4.0, base, row.text, "start", 12, colours["line"]),
        ]
    return "".join(parts)
