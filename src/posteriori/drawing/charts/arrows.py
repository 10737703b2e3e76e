"""Arrows of a chart: bent to the side, so that the way back has a place of its own; for charts of one width."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.drawing.charts.marks import Frame, paint
from posteriori.drawing.routes import arrow_head
from posteriori.numerics.types import Array

__all__ = ["Arrows"]

#: How far an arrow bends to its left on the paper, as a share of its length.
_BEND = 0.18


class Arrows(NamedTuple):
    """Arrows from points to points.

    Attributes
    ----------
    start, stop : (N, 2)
    widths : (N,)
    color : str
    """

    start: Array
    stop: Array
    widths: Array
    color: str = "ink"
    label: str = ""

    def reach(self) -> tuple[Any, Any]:
        """Return all ends."""
        ends = np.concatenate([self.start, self.stop])
        return ends[:, 0], ends[:, 1]

    def svg(self, frame: Frame) -> str:
        """Return a bent line with a head for each."""
        starts, stops = (_on_paper(frame, ends) for ends in (self.start, self.stop))
        drawn = "".join(
            self._arrow(start, stop, float(width))
            for start, stop, width in zip(starts, stops, self.widths, strict=True)
        )
        return frame.stretched(drawn)

    def _arrow(self, start: Array, stop: Array, width: float) -> str:
        dx, dy = stop - start
        bend = 0.5 * (start + stop) + _BEND * np.array([-dy, dx])
        before, tip = (float(bend[0]), float(bend[1])), (float(stop[0]), float(stop[1]))
        corners = arrow_head(before, tip)
        neck = 0.5 * (np.array(corners[1]) + np.array(corners[2]))  # the line ends inside its head
        color = paint(self.color)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        return (
            f'<path d="M{start[0]:.1f} {start[1]:.1f}Q{bend[0]:.1f} {bend[1]:.1f} {neck[0]:.1f} '
            f'{neck[1]:.1f}" fill="none" stroke="{color}" stroke-width="{width:.1f}"/>'
            f'<polygon points="{points}" fill="{color}"/>'
        )

    def key(self, x: float, y: float) -> str:
        """Return nothing: arrows say what they are."""
        return ""


def _on_paper(frame: Frame, points: Array) -> Array:
    return np.stack([frame.across(points[:, 0]), frame.down(points[:, 1])], axis=1)
