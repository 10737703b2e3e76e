"""The figure of the ranking: the leaders on a scale that tells them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.analysis.report.figures import upright
from posteriori.analysis.table.wording import number_with_error
from posteriori.analysis.tasks.sections import Figure
from posteriori.drawing.charts.chart import BROAD, Axis, Chart
from posteriori.drawing.charts.marks import Dots, Segments
from posteriori.selection.comparison import Row

__all__ = ["Scale", "choose_scale", "draw_ranking", "far_models", "ranking_figures"]

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


def ranking_figures(rows: Sequence[Row]) -> list[Figure]:
    """Return the figure of a ranking, if there is more than one model in it."""
    if sum(not row.failure for row in rows) < 2:
        return []
    scale = choose_scale(rows)
    return [Figure(draw_ranking(scale), far_models(scale))]


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
    places = np.arange(len(rows))[::-1]
    gap = np.array([row.elpd_difference for row in rows])
    error = np.array([_error(row) for row in rows])
    return Chart(
        "How far each model is behind the best",
        [
            upright(0.0),
            Segments((gap - error, gap + error), (places, places)),
            Dots(gap, places, radius=3.0),
        ],
        Axis("behind the best, ± two standard errors", scale.low, scale.high, most=4, grid=True),
        Axis(
            low=-0.6,
            high=len(rows) - 0.4,
            places=places,
            names=[row.name for row in rows],
            longest=40,
        ),
        (BROAD, 50.0 + 21.6 * len(rows)),
    ).svg()


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
