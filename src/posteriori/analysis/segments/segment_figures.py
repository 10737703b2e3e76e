"""Figures of segments: series over their states, moves between these, and how long they last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from posteriori.analysis.segments.regimes import Run
from posteriori.analysis.table.values import dates_of
from posteriori.drawing.measures import short_text
from posteriori.numerics.types import Array
from posteriori.plotting.page_figures import BROAD, INK, SMALL, number_ticks, render_svg
from posteriori.plotting.parts.frame import place_legend
from posteriori.plotting.parts.style import group_colors
from posteriori.plotting.pictures.chain_pictures import paint_series, paint_transitions

__all__ = ["draw_moves", "draw_runs", "draw_series"]

#: Years within which the time of the day is told, a week.
_FEW_DAYS = 7.0 / 365.0

#: Steps of one figure; a longer series is thinned.
_MOST_POINTS = 1500


def draw_series(
    name: str, column: str, values: Array, shares: Array, places: Array, axis: str, *, dates: bool
) -> str:
    """Draw one column of one series over the probabilities of its states.

    Parameters
    ----------
    name : str
        Of the figure, among those of the page.
    column : str
    values : (T,)
    shares : (T, K)
    places : (T,)
        Times of the steps.
    axis : str
        What the times are called.
    dates : bool
        Whether times are decimal years.
    """
    step = max(1, len(values) // _MOST_POINTS)

    def paint(axes: Axes) -> None:
        paint_series(axes, values[::step], shares[::step], places[::step], INK)
        number_ticks(axes)
        if dates:
            axes.xaxis.set_major_locator(MaxNLocator(4))
            span = float(places[-1] - places[0])
            axes.xaxis.set_major_formatter(FuncFormatter(lambda year, _: _moment(year, span)))
        axes.grid(visible=False)
        axes.set_xlabel(short_text(axis, 44))
        axes.set_ylabel(short_text(column, 26))

    return render_svg(name, f"{column} over the states", paint, (BROAD + 3.4, 2.2))


def _moment(year: float, span: float) -> str:
    """Write a decimal year as a day, with the time of the day where days are few."""
    hours = span < _FEW_DAYS
    moment = str(dates_of(np.array([year]), whole_days=not hours)[0])
    return moment[:16].replace("T", " ") if hours else moment[:10]


def draw_moves(transition: Array, shares: Array) -> str:
    """Draw states as discs, as large as their shares, and the moves between them."""

    def paint(axes: Axes) -> None:
        names = [str(k + 1) for k in range(len(shares))]
        paint_transitions(axes, transition, shares, names, INK)
        axes.grid(visible=False)

    return render_svg("moves", "States and the moves between them", paint, (BROAD, 4.0))


def draw_runs(runs: Sequence[Run], transition: Array) -> str:
    """Draw how many runs last longer than so many steps, beside what the chain expects."""

    def paint(axes: Axes) -> None:
        for k, color in enumerate(group_colors(len(transition))):
            lengths = np.sort([run.length for run in runs if run.state == k and run.whole])
            if not len(lengths):
                continue
            left = 1.0 - np.arange(len(lengths)) / len(lengths)  # share of runs at least so long
            axes.plot(lengths, left, "o", color=color, ms=4, label=f"state {k + 1}")
            grid = np.arange(1, int(lengths[-1]) + 1)
            axes.plot(grid, transition[k, k] ** (grid - 1.0), color=color, lw=1.2)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.set(
            xlabel="steps of a run",
            ylabel="share at least so long",
            ylim=(0.0, 1.05),
            xlim=(0.0, None),
        )
        place_legend(axes)

    return render_svg("runs", "How long states last", paint, SMALL)
