"""The figure of the ranking: the leaders on a scale that tells them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from posteriori.analysis.table.wording import number_with_error, short_number
from posteriori.plotting.page_figures import BROAD, FIRST, MUTED, render_svg
from posteriori.selection.comparison import Row

__all__ = ["Scale", "choose_scale", "draw_ranking", "far_models"]

#: How many times as far as the second model, with its error, the scale may reach.
_REACH = 25.0


class Scale(NamedTuple):
    """Which models are drawn, and how far the axis goes.

    Attributes
    ----------
    shown, far : list of Row
        On the scale and off it, best first.
    low, high : float
        Ends of the axis, in differences of log density.
    """

    shown: list[Row]
    far: list[Row]
    low: float
    high: float


def choose_scale(rows: Sequence[Row]) -> Scale:
    """Choose a scale on which the first models can be told apart.

    It goes no further down than 25 times the first difference that matters, which is one nat or,
    with two standard errors, that of the first model behind the best.
    """
    sound = [row for row in rows if not row.failure]
    reaches = [_error(row) - row.elpd_difference for row in sound]
    first = next((reach for reach in reaches if reach > 0.0), 1.0)
    limit = _REACH * max(first, 1.0)
    shown = [row for row in sound if -row.elpd_difference <= limit]
    low = max(min(row.elpd_difference - _error(row) for row in shown), -limit)
    high = min(max(row.elpd_difference + _error(row) for row in shown), limit)
    margin = 0.05 * max(high - low, 0.1)
    far = [row for row in sound if row not in shown]
    return Scale(shown, far, low - margin, high + margin)


def draw_ranking(scale: Scale) -> str:
    """Draw how far each model is behind the best, with two standard errors."""
    rows = scale.shown

    def paint(axes: Axes) -> None:
        places = np.arange(len(rows))[::-1]
        gap = np.array([row.elpd_difference for row in rows])
        axes.axvline(0.0, color=MUTED, lw=1)
        axes.errorbar(
            gap, places, xerr=[_error(row) for row in rows], fmt="o", color=FIRST, lw=1.6, ms=6
        )
        axes.set_yticks(places, [row.name for row in rows])
        axes.set_xlabel("behind the best, ± two standard errors", loc="right")
        axes.set(xlim=(scale.low, scale.high), ylim=(-0.6, len(rows) - 0.4))
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")

    size = (BROAD, 0.9 + 0.3 * len(rows))
    return render_svg("ranking", "How far each model is behind the best", paint, size)


def far_models(scale: Scale) -> str:
    """Name the models off the scale, with their differences."""
    named = [
        f"{row.name} ({number_with_error(row.elpd_difference, row.elpd_difference_se)})"
        for row in scale.far
    ]
    return f"Off the scale: {', '.join(named)}." if named else ""


def _error(row: Row) -> float:
    """Return two standard errors; none where they are not known."""
    return 2.0 * float(np.nan_to_num(row.elpd_difference_se, posinf=0.0))
