"""What a drawing is made of: shapes, lines between them, and boxes around them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Box", "Line", "Shape", "Sketch"]


@dataclass(frozen=True)
class Shape:
    """Something with a label.

    Attributes
    ----------
    key : str
    label : str
    form : {"circle", "square", "factor", "constant", "point", "end", "card"}
        Random variable, input, factor, constant; observation and half-edge of a Forney graph; a variable with
        its probabilities.
    shaded : bool
        Whether it is observed.
    hint : str
        What a pointer that rests on it is told.
    plates : tuple of str
        Keys of the boxes around it.
    bars : tuple of (str, float)
        States of a card and their probabilities.
    """

    key: str
    label: str
    form: str
    shaded: bool = False
    hint: str = ""
    plates: tuple[str, ...] = ()
    bars: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Line:
    """A line between two shapes, with an arrow if it is directed."""

    start: str
    end: str
    label: str = ""
    arrow: bool = True


@dataclass(frozen=True)
class Box:
    """A plate: what it holds is repeated."""

    key: str
    label: str


@dataclass(frozen=True, repr=False)
class Sketch:
    """Shapes, lines and boxes of a graph, before they are placed or written.

    Attributes
    ----------
    shapes : tuple of Shape
    lines : tuple of Line
    boxes : tuple of Box
    """

    shapes: tuple[Shape, ...]
    lines: tuple[Line, ...]
    boxes: tuple[Box, ...] = ()

    def members(self) -> dict[str, frozenset[str]]:
        """Return the keys of the shapes inside each box."""
        return {
            box.key: frozenset(shape.key for shape in self.shapes if box.key in shape.plates)
            for box in self.boxes
        }
