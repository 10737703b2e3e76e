r"""Figures of the density of a table: pairs of columns with regions of highest density, and single columns.

A region holds the given share of probability in the smallest area: where the marginal density of the pair is above
a level. What is not drawn is integrated over, as an entry that is not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.saved.density_model import log_density_of
from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.values import dates_of, years_of
from posteriori.drawing.charts.chart import SMALL, Axis, Chart
from posteriori.drawing.charts.level_sets import level_set
from posteriori.drawing.charts.marks import Curve, Dots, histogram
from posteriori.drawing.charts.ticks import date_ticks, days_of
from posteriori.drawing.measures import short_text
from posteriori.numerics.types import Array

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
    model: Any,
    x: Array,
    places: tuple[int, int],
    columns: Sequence[Column],
    odd: Sequence[int],
    size: tuple[float, float] = SMALL,
) -> str:
    """Draw rows, odd ones as rings, and regions of highest density of two columns."""
    i, j = places
    first, second = columns[i], columns[j]
    found = pair_density(model, x, places)
    levels = density_levels(found.density)
    usual = np.setdiff1d(np.arange(len(x)), odd)
    some = usual[:: max(1, len(usual) // _MOST_POINTS)]
    widths = np.linspace(0.9, 1.9, len(levels))
    across, up = (
        _axis_of(column)._replace(low=low, high=high)
        for column, (low, high) in ((first, _reach(x[:, i], odd)), (second, _reach(x[:, j], odd)))
    )
    return Chart(
        f"{first.name} and {second.name} with their density",
        [
            Dots(x[some, i], x[some, j], "muted", 1.4, 0.5),
            Dots(x[list(odd), i], x[list(odd), j], "second", 3.5, hollow=True),
            *(level_set(*found, level, width=w) for level, w in zip(levels, widths, strict=True)),
        ],
        across,
        up,
        size,
    ).svg()


def draw_column(
    model: Any, x: Array, place: int, columns: Sequence[Column], size: tuple[float, float] = SMALL
) -> str:
    """Draw the entries of a column with their density."""
    seen, column = x[~np.isnan(x[:, place]), place], columns[place]
    grid = np.linspace(*_reach(seen, ()), _FINE_GRID)
    density = np.exp(_marginal(model, x.shape[1], (place,), grid[:, None]))

    bars = histogram(seen, (grid[0], grid[-1]), 40, "muted", 0.5, density=True)
    axes = _axis_of(column), Axis("density", low=0.0, grid=True)
    return Chart(f"{column.name} with its density", [bars, Curve(grid, density)], *axes, size).svg()


def _axis_of(column: Column) -> Axis:
    """Name an axis; dates are told by their months."""
    if column.kind == "date":
        return Axis(short_text(column.name), most=4, ticks=_year_ticks)
    return Axis(short_text(column.name))


def _year_ticks(low: float, high: float, most: int) -> tuple[Array, list[str]]:
    """Return even dates between two decimal years, as such, and how they are written."""
    first, last = days_of(dates_of(np.array([low, high]), whole_days=False)).tolist()
    days, texts = date_ticks(first, last, most)
    return years_of((days * 86_400e6).astype("datetime64[us]")), texts


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
