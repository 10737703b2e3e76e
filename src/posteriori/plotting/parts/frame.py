"""Limits that show every curve, and a legend that hides none."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.lazy import matplotlib, mpl_fonts
from posteriori.numerics.types import Array
from posteriori.plotting.parts.style import Axes

__all__ = ["make_room", "place_legend"]


def make_room(axes: Axes, x: tuple[float, float], top: float) -> None:
    """Set the limits that show a curve, before it is drawn; beside others, widen theirs."""
    low, high = x
    top = 1.1 * top
    if axes.has_data():
        low, high = min(low, axes.get_xlim()[0]), max(high, axes.get_xlim()[1])
        top = max(top, axes.get_ylim()[1])
    axes.set_xlim(low, high)
    axes.set_ylim(0.0, top)


def place_legend(axes: Axes, *, above: bool = False) -> None:
    """Show the labels in a free upper corner; where there is none, make one above the curves.

    Parameters
    ----------
    axes : matplotlib Axes
        With everything drawn.
    above : bool
        Put the legend on top of the frame, where the limits must stay as they are.
    """
    labels = axes.get_legend_handles_labels()[1]
    if not labels:
        return
    columns = 1 if len(labels) <= 4 else 2 if len(labels) <= 6 else 3
    if above:
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, ncols=columns)
        return
    size = _legend_size(axes, labels, columns)
    place = _free_place(axes, size)
    if place is None:
        bottom, top = axes.get_ylim()
        share = float(np.clip(_outline(axes)[1], 0.0, 1.0).max())  # of the height, by the curves
        axes.set_ylim(bottom, bottom + (top - bottom) * max(1.0, share / max(1.0 - size[1], 0.4)))
        place = _free_place(axes, size) or "upper right"
    axes.legend(loc=place, ncols=columns)


def _free_place(axes: Axes, size: tuple[float, float]) -> Any:
    """Return an upper place of a given width and height that no curve enters; None if none."""
    width, height = size
    x, y = _outline(axes)
    starts = {
        "upper right": 1.0 - width,
        "upper left": 0.0,
        "upper center": 0.5 - 0.5 * width,
    }
    for name, left in starts.items():
        if not np.any(y[(x >= left) & (x <= left + width)] > 1.0 - height):
            return name
    return None


def _legend_size(axes: Axes, labels: list[str], columns: int) -> tuple[float, float]:
    """Estimate the size of the legend in shares of the axes, from the lengths of its texts."""
    points = mpl_fonts.FontProperties(
        size=matplotlib.rcParams["legend.fontsize"]
    ).get_size_in_points()
    box, dpi = axes.get_window_extent(), axes.figure.dpi
    rows = -(-len(labels) // columns)
    across = columns * (4.5 + 0.6 * max(map(len, labels))) * points
    down = (1.45 * rows + 1.2) * points
    return across * dpi / 72.0 / box.width, down * dpi / 72.0 / box.height


def _outline(axes: Axes) -> tuple[Array, Array]:
    """Return what is drawn, densely, in shares of the axes."""
    paths: list[Any] = [(line.get_xydata(), line.get_transform()) for line in axes.lines]
    for bar in axes.patches:
        if bar.get_transform().contains_branch(axes.transData) and hasattr(bar, "get_height"):
            left, right = bar.get_x(), bar.get_x() + bar.get_width()  # type: ignore[attr-defined]
            tip = bar.get_y() + bar.get_height()  # type: ignore[attr-defined]
            paths.append(([(left, tip), (right, tip)], axes.transData))
    parts = [np.empty((0, 2))]
    for points, transform in paths:
        shares = axes.transAxes.inverted().transform(transform.transform(np.asarray(points)))
        if len(shares) > 1:
            step = np.linspace(0.0, 1.0, 9)[:, None, None]
            shares = (shares[:-1] + step * np.diff(shares, axis=0)).reshape(-1, 2)
        parts.append(shares)
    x, y = np.concatenate(parts).T
    return (x, y) if len(x) else (np.zeros(1), np.zeros(1))
