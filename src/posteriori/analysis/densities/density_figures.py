r"""Figures of the density of a table: pairs of columns with regions of highest density, and single columns.

A region holds the given share of probability in the smallest area: where the marginal density of the pair is above
a level. What is not drawn is integrated over, as an entry that is not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from posteriori.analysis.groups.cluster_words import date_words
from posteriori.analysis.saved.density_model import log_density_of
from posteriori.analysis.table.columns import Column
from posteriori.drawing.measures import short_text
from posteriori.numerics.types import Array
from posteriori.plotting.page_figures import (
    FIRST,
    MUTED,
    SECOND,
    SMALL,
    number_ticks,
    render_svg,
)

__all__ = ["SHARES", "PairDensity", "draw_column", "draw_pair", "density_levels", "pair_density"]

#: Probabilities of the regions that are outlined, the smallest region last.
SHARES = (0.99, 0.9, 0.5)

#: Points of a grid in each direction, of a pair and of a single column.
_GRID, _FINE_GRID = 70, 300

#: How far beyond the middle rows a figure reaches, as a share of their range; and how many are not in the middle.
_MARGIN, _AT_ENDS = 0.25, 0.005

#: About as many rows are drawn; of more, every k-th.
_MOST_POINTS = 600


class PairDensity(NamedTuple):
    """The density of two columns on a grid.

    Attributes
    ----------
    first, second : (G,)
        Values of the columns.
    density : (G, G)
        A row for each value of the second.
    """

    first: Array
    second: Array
    density: Array


def draw_pair(
    model: Any, x: Array, places: tuple[int, int], columns: Sequence[Column], odd: Sequence[int]
) -> str:
    """Draw rows, odd ones as rings, and regions of highest density of two columns."""
    i, j = places
    first, second = columns[i], columns[j]
    found = pair_density(model, x, places)
    levels = density_levels(found.density)
    usual = np.setdiff1d(np.arange(len(x)), odd)
    some = usual[:: max(1, len(usual) // _MOST_POINTS)]

    def paint(axes: Axes) -> None:
        axes.plot(x[some, i], x[some, j], "o", color=MUTED, ms=2.8, alpha=0.5, mew=0)
        axes.plot(x[list(odd), i], x[list(odd), j], "o", mec=SECOND, mfc="none", ms=7, mew=1.6)
        axes.contour(
            *found, levels=levels, colors=[FIRST], linewidths=np.linspace(0.9, 1.9, len(levels))
        )
        axes.grid(visible=False)
        axes.set(xlim=_reach(x[:, i], odd), ylim=_reach(x[:, j], odd))
        _label(axes, first, second)

    title = f"{first.name} and {second.name} with their density"
    return render_svg(f"pair-{i}-{j}", title, paint, SMALL)


def draw_column(model: Any, x: Array, place: int, columns: Sequence[Column]) -> str:
    """Draw the entries of a column with their density."""
    seen, column = x[~np.isnan(x[:, place]), place], columns[place]
    grid = np.linspace(*_reach(seen, ()), _FINE_GRID)
    density = np.exp(_marginal(model, x.shape[1], (place,), grid[:, None]))

    def paint(axes: Axes) -> None:
        axes.hist(seen, bins=40, range=(grid[0], grid[-1]), density=True, color=MUTED, alpha=0.5)
        axes.plot(grid, density, color=FIRST, lw=2)
        _label(axes, column, None)

    return render_svg(f"column-{place}", f"{column.name} with its density", paint, SMALL)


def _label(axes: Axes, first: Column, second: Column | None) -> None:
    """Name the axes; dates are told by their months."""
    number_ticks(axes)
    named = [(axes.xaxis, first), *([] if second is None else [(axes.yaxis, second)])]
    for axis, column in named:
        if column.kind == "date":
            axis.set_major_locator(MaxNLocator(3))
            axis.set_major_formatter(FuncFormatter(lambda year, _: date_words(year)[:7]))
    axes.set_xlabel(short_text(first.name))
    axes.set_ylabel("density" if second is None else short_text(second.name))


def pair_density(model: Any, x: Array, columns: tuple[int, int]) -> PairDensity:
    """Return the marginal density of two columns on a grid around their rows."""
    first, second = (np.linspace(*_reach(x[:, j], ()), _GRID) for j in columns)
    points = np.stack([part.ravel() for part in np.meshgrid(first, second)], axis=1)
    logs = _marginal(model, x.shape[1], columns, points)
    return PairDensity(first, second, np.exp(logs).reshape(_GRID, _GRID))


def density_levels(density: Array) -> list[float]:
    """Return the densities above which the given shares of what is on an even grid lie, rising.

    Examples
    --------
    >>> grid = np.linspace(-6.0, 6.0, 2001)
    >>> normal = np.exp(-0.5 * grid**2)
    >>> np.round(density_levels(normal), 2)  # e^(−z²/2) with z = 2.576, 1.645, 0.674
    array([0.04, 0.26, 0.8 ])
    """
    falling = np.sort(density.ravel())[::-1]
    share = np.cumsum(falling) / falling.sum()
    levels = [float(falling[np.searchsorted(share, p)]) for p in SHARES]
    return sorted(set(levels))


def _marginal(model: Any, width: int, columns: Sequence[int], points: Array) -> Array:
    rows = np.full((len(points), width), np.nan)
    rows[:, list(columns)] = points
    return log_density_of(model, rows)


def _reach(values: Array, odd: Sequence[int]) -> tuple[float, float]:
    """Return the ends of a figure: around the middle rows, and around odd ones."""
    low, high = np.nanquantile(values, [_AT_ENDS, 1.0 - _AT_ENDS])
    shown = [float(low), float(high), *(float(values[n]) for n in odd if values[n] == values[n])]
    margin = _MARGIN * (float(high) - float(low))
    return min(shown) - margin, max(shown) + margin
