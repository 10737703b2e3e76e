r"""Figures of the density of a table: pairs of columns with regions of highest density, and single columns.

A region holds the given share of probability in the smallest area: where the marginal density of the pair is above
a level. What is not drawn is integrated over, as an entry that is not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from posteriori.analysis.densities.joint_problem import log_density_of
from posteriori.analysis.report.figures import number_ticks
from posteriori.numerics.types import Array
from posteriori.plotting.page_figures import (
    FIRST,
    MUTED,
    SECOND,
    SMALL,
    render_svg,
    short_text,
)

__all__ = ["SHARES", "PairDensity", "draw_column", "draw_pair", "density_levels", "pair_density"]

#: Probabilities of the regions that are outlined, the smallest region last.
SHARES = (0.99, 0.9, 0.5)

#: Points of a grid in each direction, of a pair and of a single column.
_GRID, _FINE_GRID = 70, 300

#: How far beyond the middle rows a figure reaches, as a share of their range; and how many are not in the middle.
_MARGIN, _AT_ENDS = 0.15, 0.005

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
    model: Any, x: Array, columns: tuple[int, int], names: Sequence[str], odd: Sequence[int]
) -> str:
    """Draw rows, odd ones as rings, and regions of highest density of two columns."""
    i, j = columns
    found = pair_density(model, x, columns)
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
        number_ticks(axes)
        axes.set(xlim=_reach(x[:, i], odd), ylim=_reach(x[:, j], odd))
        axes.set(xlabel=short_text(names[i]), ylabel=short_text(names[j]))

    return render_svg(
        f"pair-{i}-{j}", f"{names[i]} and {names[j]} with their density", paint, SMALL
    )


def draw_column(model: Any, x: Array, column: int, names: Sequence[str]) -> str:
    """Draw the entries of a column with their density."""
    seen = x[~np.isnan(x[:, column]), column]
    grid = np.linspace(*_reach(seen, ()), _FINE_GRID)
    density = np.exp(_marginal(model, x.shape[1], (column,), grid[:, None]))

    def paint(axes: Axes) -> None:
        axes.hist(seen, bins=40, range=(grid[0], grid[-1]), density=True, color=MUTED, alpha=0.5)
        axes.plot(grid, density, color=FIRST, lw=2)
        number_ticks(axes)
        axes.set(xlabel=short_text(names[column]), ylabel="density")

    return render_svg(f"column-{column}", f"{names[column]} with its density", paint, SMALL)


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
