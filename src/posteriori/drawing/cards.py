"""Cards of a drawing: a name, and a bar for the probability of each state."""

from __future__ import annotations

from collections.abc import Callable

from posteriori.drawing.measures import CARD_HEAD, CARD_ROW, Extent, bar_labels
from posteriori.drawing.shapes import Shape

__all__ = ["write_card"]

#: Length of a bar of probability 1, and how much of a row it fills.
_LONGEST, _THICK = 64.0, 9.0

#: Writes a text: x, y, text, anchor, size, ink.
Writer = Callable[[float, float, str, str, int, str], str]


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
    start = x + extent.left - _LONGEST - 50.0
    for i, (label, (_, p)) in enumerate(zip(bar_labels(shape), shape.bars, strict=True)):
        middle = top + CARD_HEAD + (i + 0.5) * CARD_ROW
        parts.append(write(start - 6.0, middle + 4.0, label, "end", 12, colours["line"]))
        parts.append(
            f'<rect x="{start:.1f}" y="{middle - _THICK / 2:.1f}" width="{_LONGEST:.1f}" height="{_THICK:g}" '
            f'fill="{colours["line"]}" fill-opacity="0.1"/>'
            f'<rect x="{start:.1f}" y="{middle - _THICK / 2:.1f}" width="{_LONGEST * p:.1f}" '
            f'height="{_THICK:g}" fill="{colours["bar"]}"/>'
        )
        text = "< 0.1 %" if 0.0 < p < 0.001 else f"{100 * p:.1f} %"
        parts.append(
            write(start + _LONGEST + 4.0, middle + 4.0, text, "start", 12, colours["line"])
        )
    return "".join(parts)
