"""How much room shapes and texts take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from posteriori.drawing.shapes import Shape, Sketch

__all__ = [
    "CARD_HEAD",
    "CARD_ROW",
    "LABEL",
    "PAD",
    "Extent",
    "Rectangle",
    "bar_labels",
    "extent_of",
    "room_of",
    "short_text",
    "short_texts",
    "text_width",
]

#: Room between a plate's border and what it holds, and below that for its label.
PAD, LABEL = 13.0, 15.0
#: Room of a card for its name, and for each of its states.
CARD_HEAD, CARD_ROW = 26.0, 16.0
#: Letters of a state's name that a card shows.
_LETTERS = 14
#: Widths of letters in parts of the font's size: of narrow and of wide ones, and of all others.
_NARROW, _WIDE = frozenset(" !'.,:;()[]ijltfIr|"), frozenset("mwMWGOQ@%=+−±<>≤≥…—")


def text_width(text: str, size: float) -> float:
    """Return how wide a text is in a plain font of the given size, rather more than less."""
    parts = sum(0.36 if c in _NARROW else 0.88 if c in _WIDE else 0.62 for c in text)
    return size * parts


def short_text(text: str, limit: int = 24) -> str:
    """Cut a long text in the middle: names of columns begin, and levels end, each in its own way."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    end = (limit - 1) // 3
    return line[: limit - 1 - end] + "…" + line[-end:]


def short_texts(texts: Sequence[str], limit: int = 24) -> list[str]:
    """Cut long texts so that those that differ can be told apart: what they begin with alike is left out.

    Examples
    --------
    >>> short_texts(["class number 7 of the list", "class number 12 of the list", "other"], 14)
    ['…7 of the list', '…12 of th…list', 'other']
    """
    lines = [" ".join(text.split()) for text in texts]
    shown = [short_text(line, limit) for line in lines]
    for cut in {text for text in shown if shown.count(text) > 1}:
        same = [k for k, text in enumerate(shown) if text == cut]
        words = [lines[k].split() for k in same]
        alike = len(list(takewhile(lambda each: len({*each}) == 1, zip(*words, strict=False))))
        for k, own in zip(same, words, strict=True) if len({lines[k] for k in same}) > 1 else ():
            shown[k] = short_text("…" * (alike > 0) + " ".join(own[alike:]), limit)
    return shown


class Extent(NamedTuple):
    """How far a shape reaches from its centre."""

    left: float
    right: float
    half: float


class Rectangle(NamedTuple):
    """The border of a plate, or the room of a shape."""

    left: float
    top: float
    right: float
    bottom: float


def extent_of(shape: Shape, sketch: Sketch) -> Extent:
    """Return the room of a shape with its label, and with the loop of a chain."""
    if shape.form in ("factor", "constant"):
        return Extent(6.0, 11.0 + text_width(shape.label, 12.0), 6.0)
    if shape.form == "point":
        return Extent(5.0, 5.0, 5.0)
    if shape.form == "end":
        return Extent(2.0, 2.0, 1.0)
    if shape.form == "card":
        rows = max((text_width(label, 12.0) for label in bar_labels(shape)), default=0.0)
        wide = 0.5 * max(text_width(shape.label, 14.0) + 16.0, rows + 130.0)
        return Extent(wide, wide, 0.5 * (CARD_HEAD + CARD_ROW * len(shape.bars) + 4.0))
    low = 22.0 if shape.form == "circle" else 17.0
    wide = max(low, 0.5 * text_width(shape.label, 14.0) + 8.0)
    loops = any(line.start == line.end == shape.key for line in sketch.lines)
    return Extent(wide, wide + (26.0 if loops else 0.0), low)


def bar_labels(shape: Shape) -> list[str]:
    """Return the names of a card's states, long ones cut."""
    names = (name for name, _ in shape.bars)
    return [name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…" for name in names]


def room_of(x: float, y: float, extent: Extent) -> Rectangle:
    """Return the room of a shape whose centre is at (x, y)."""
    return Rectangle(x - extent.left, y - extent.half, x + extent.right, y + extent.half)
