"""Bayesian networks: a card for each variable with its probabilities as bars, arrows from causes to effects."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.drawing.arrangement import Arrangement, place_shapes
from posteriori.drawing.cards import BAR_HEIGHT, BAR_LENGTH, card_rows
from posteriori.drawing.routes import Route, route_line
from posteriori.drawing.shapes import Shape
from posteriori.numerics.lazy import mpl_patches, mpl_paths
from posteriori.plotting.parts.style import COLORS, INK, Axes, axes_for

__all__ = ["plot_network"]

#: Points of an inch, in which drawings are measured.
_POINTS = 72.0
#: Widest and highest picture in inches; beyond, letters are too small to be read.
_LARGEST = 60.0
#: Text on a card, and the background of one that is observed and of one that is not.
_DARK, _SHADE, _PLAIN = "#22262b", "#c9d6e8", "#ffffff"


def plot_network(bn: Any, ax: Any = None, *, given: Any = None) -> Axes:
    """Draw a network as ``bn.draw(given)`` does.

    Parameters
    ----------
    bn : BayesianNetwork
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None, as large as the network needs. On given axes everything is
        made smaller where it would not fit.
    given : str or mapping, optional
        What is observed: shaded, and its consequences for all others.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        When the network is too large for a picture.
    """
    drawing = bn.draw(given)
    placed = place_shapes(drawing)
    size = placed.width / _POINTS, placed.height / _POINTS
    if max(size) > _LARGEST:
        raise ValueError(
            f"a picture of {len(drawing.shapes)} variables is {size[0]:.0f} × {size[1]:.0f} inches, too large "
            f"(at most {_LARGEST:g}); bn.draw(given).svg() has it whole"
        )
    with axes_for(ax, size) as axes:
        axes.set(xlim=(0.0, placed.width), ylim=(placed.height, 0.0), aspect="equal")
        axes.set_axis_off()
        shrink = 1.0 if ax is None else min(1.0, *(_inches(axes) / size))
        for i, line in enumerate(drawing.lines):
            _draw_route(axes, route_line(i, line, drawing, placed))
        for shape in drawing.shapes:
            _draw_card(axes, shape, placed, shrink)
    return axes


def _inches(axes: Axes) -> Any:
    figure: Any = axes.figure
    box = axes.get_position()
    return np.array([box.width, box.height]) * figure.get_size_inches()


def _draw_route(axes: Axes, route: Route) -> None:
    path = mpl_paths.Path
    rest = [point for arc in route.arcs for point in arc] or list(route.points[1:])
    corners = [route.points[0], *rest]
    codes = [path.MOVETO, *[path.CURVE4 if route.arcs else path.LINETO] * len(rest)]
    way = mpl_patches.PathPatch(path(corners, codes), fill=False, edgecolor=INK, lw=1.3, zorder=1)
    axes.add_patch(way)
    if route.head:
        axes.add_patch(mpl_patches.Polygon(route.head, facecolor=INK, edgecolor="none", zorder=1))


def _draw_card(axes: Axes, shape: Shape, placed: Arrangement, shrink: float) -> None:
    x, y = placed.centres[shape.key]
    extent = placed.extents[shape.key]
    corner = x - extent.left + 5.0, y - extent.half + 5.0
    card = mpl_patches.FancyBboxPatch(
        *(corner, 2 * extent.left - 10.0, 2 * extent.half - 10.0),
        boxstyle="round,pad=5,rounding_size=5",
        facecolor=_SHADE if shape.shaded else _PLAIN,
        edgecolor=INK,
        lw=1.3,
        zorder=2,
        gid=shape.key,
    )
    axes.add_patch(card)
    small: dict[str, Any] = {"va": "center", "size": 10.0 * shrink, "color": _DARK, "zorder": 4}
    large = {**small, "size": 12.5 * shrink}
    axes.text(x, y - extent.half + 14.0, shape.label, **large, ha="center")
    for row in card_rows(shape, x, y, extent):
        place = row.left, row.middle - BAR_HEIGHT / 2
        for length, color, alpha in (
            (BAR_LENGTH, INK, 0.15),
            (BAR_LENGTH * row.probability, COLORS[0], 1.0),
        ):
            bar = mpl_patches.Rectangle(place, length, BAR_HEIGHT, color=color, alpha=alpha, lw=0)
            bar.set_zorder(3)
            axes.add_patch(bar)
        axes.text(row.left - 6.0, row.middle, row.label, **small, ha="right")
        axes.text(row.left + BAR_LENGTH + 4.0, row.middle, row.text, **small, ha="left")
