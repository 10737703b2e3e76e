"""A drawing: a sketch that can be written as SVG, DOT or Mermaid."""

from __future__ import annotations

from dataclasses import dataclass

from posteriori.drawing.dot import write_dot
from posteriori.drawing.mermaid import write_mermaid
from posteriori.drawing.shapes import Sketch
from posteriori.drawing.svg import write_svg

__all__ = ["Drawing"]


@dataclass(frozen=True, repr=False)
class Drawing(Sketch):
    """A graph on paper; in a notebook it shows itself.

    Attributes
    ----------
    shapes : tuple of Shape
    lines : tuple of Line
    boxes : tuple of Box
    """

    def svg(self) -> str:
        """Return the drawing as SVG."""
        return write_svg(self)

    def _repr_svg_(self) -> str:
        return self.svg()

    def dot(self) -> str:
        """Return the drawing in the language of Graphviz.

        Of plates that cross, which Graphviz cannot draw, the larger one is drawn; what lies on
        the other says so behind its name.
        """
        return write_dot(self)

    def mermaid(self) -> str:
        """Return the drawing in the language of Mermaid, which Markdown renders.

        Plates that cross are treated as in :meth:`dot`.
        """
        return write_mermaid(self)

    def __repr__(self) -> str:
        return f"Drawing({len(self.shapes)} shapes, {len(self.lines)} lines)"
