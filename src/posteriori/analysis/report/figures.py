"""Figures of the report: predictions, weights, priors and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.wording import number_with_error
from posteriori.analysis.tasks.sections import ColumnList, Figure, Finding, Items
from posteriori.distributions.base import has_atoms
from posteriori.drawing.charts.chart import BROAD, Axis, Chart
from posteriori.drawing.charts.marks import (
    Band,
    Bars,
    Cells,
    Curve,
    Dots,
    Mark,
    Segments,
    Texts,
    histogram,
)
from posteriori.drawing.charts.ticks import whole_ticks
from posteriori.drawing.measures import short_text
from posteriori.estimators.contract import predictive_of
from posteriori.numerics.types import Array
from posteriori.selection.comparison import Row

if TYPE_CHECKING:
    from posteriori.analysis.comparisons.conclusions import Analysis
    from posteriori.analysis.report.what_if import EffectCurve, Effects


__all__ = [
    "AT_A_GLANCE",
    "DASHES",
    "PICTURE",
    "Scale",
    "at_a_glance",
    "choose_scale",
    "column_list",
    "draw_added",
    "draw_association",
    "draw_curve",
    "draw_density",
    "draw_effects",
    "draw_levels",
    "draw_predictions",
    "draw_ranking",
    "draw_residuals",
    "draw_sensitivity",
    "draw_spark",
    "far_models",
    "level_line",
    "ranking_figures",
]


#: What tells lines apart where colour does not.
DASHES = ("", "7 3", "2 2.5", "7 3 2 3", "2 6")

#: About as many points of a cloud are drawn; of more rows, every k-th.
_MOST_POINTS = 800

#: Bars of a figure, the largest first.
_MOST_BARS = 20

#: Least width, and height, of the picture beside an answer.
PICTURE = (BROAD, 290.0)

#: Rows whose intervals are asked for, and parts of them whose ends are averaged.
_BAND_ROWS, _BAND_PARTS = 60, 12

#: Width and height of the figure of a column in a table.
_SPARK = (108.0, 30.0)


def draw_predictions(found: Analysis) -> str:
    """Draw targets against predictions of unseen rows, with the band that holds nine of ten."""
    unseen, y, rows = (
        found.unseen,
        found.problem.y,
        slice(None, None, max(1, len(found.problem.y) // _MOST_POINTS)),
    )
    predicted, actual = unseen.prediction[rows], y[rows]
    outside = np.abs(unseen.level[rows] - 0.5) > 0.45
    ends = [min(predicted.min(), actual.min()), max(predicted.max(), actual.max())]
    return Chart(
        "Targets against predictions of unseen rows",
        [
            _band_of_nine_in_ten(found),
            Curve(ends, ends, "second", 1.5, "6 3"),
            _cloud(predicted[~outside], actual[~outside]),
            Dots(predicted[outside], actual[outside], "second", 2.2, hollow=True),
        ],
        Axis("predicted without the row"),
        Axis(short_text(found.target.column.name), grid=True),
        PICTURE,
    ).svg()


def _band_of_nine_in_ten(found: Analysis) -> Band:
    """Return the ends of intervals of 90 % by what is predicted, means over neighbours."""
    order = np.argsort(found.unseen.prediction, kind="stable")
    some = order[np.unique(np.linspace(0, len(order) - 1, _BAND_ROWS).round().astype(int))]
    predictive = predictive_of(found.outcomes[found.kept].model, found.problem.X.iloc[some])
    ends = np.asarray(predictive.quantile(np.array([[0.05], [0.95]])))
    told = np.stack([found.unseen.prediction[some], *ends])
    parts = [told[:, :1], *np.array_split(told, _BAND_PARTS, axis=1), told[:, -1:]]
    at, low, high = np.stack([part.mean(axis=1) for part in parts if part.size], axis=1)
    return Band(at, low, high, "muted", 0.25)


def draw_residuals(found: Analysis) -> str:
    """Draw residuals of unseen rows against predictions."""
    rows = slice(None, None, max(1, len(found.problem.y) // _MOST_POINTS))
    predicted = found.unseen.prediction[rows]
    return Chart(
        "Residuals of unseen rows against predictions",
        [
            level_line(0.0, "second", 1.5, "6 3"),
            _cloud(predicted, found.problem.y[rows] - predicted),
        ],
        Axis("predicted without the row"),
        Axis("residual", grid=True),
    ).svg()


def draw_density(found: Analysis) -> str:
    """Draw the targets with the predictive density of another one."""
    y = found.problem.y
    predictive = predictive_of(found.outcomes[found.kept].model, found.problem.X.iloc[:1])
    low, high = np.quantile(y, [0.001, 0.999])
    whole = has_atoms(predictive)
    grid = np.arange(np.floor(low), high + 1) if whole else np.linspace(low, high, 300)
    density = np.exp(np.ravel(predictive.log_prob(grid[:, None])))
    drawn: Mark = Dots(grid, density, radius=2.0) if whole else Curve(grid, density)
    return Chart(
        "Targets and the predictive density of another one",
        [histogram(y, (low, high), 40, "muted", 0.5, density=True), drawn],
        Axis(short_text(found.target.column.name)),
        Axis("density", low=0.0, grid=True),
        PICTURE,
    ).svg()


def draw_levels(level: Array) -> str:
    """Draw how many targets lie at which level of their predictive distributions."""
    bins = 10
    expected = len(level) / bins
    spread = 2.0 * np.sqrt(expected * (1 - 1 / bins))
    band = Band([0.0, 1.0], expected - spread, expected + spread, "muted", 0.25)
    return Chart(
        "Levels of the targets in their predictive distributions",
        [band, histogram(level, (0.0, 1.0), bins, filled=0.9)],
        Axis("level in its predictive distribution", 0.0, 1.0),
        Axis("rows", low=0.0, ticks=whole_ticks, grid=True),
    ).svg()


def draw_effects(effects: Effects, label: str) -> str:
    """Draw means and intervals, one line each."""
    shown = slice(0, _MOST_BARS)
    names = effects.names[shown]
    places = np.arange(len(names))[::-1]
    return Chart(
        label,
        [
            upright(0.0),
            Segments(
                (effects.low[shown], effects.high[shown]), (places, places), width=2.2, opacity=0.7
            ),
            Dots(effects.mean[shown], places),
        ],
        Axis(label, grid=True),
        Axis(low=-0.6, high=len(names) - 0.4, places=places, names=names),
        (BROAD, None),
    ).svg()


def draw_added(curve: EffectCurve, target: str, ends: tuple[float, float]) -> str:
    """Draw what a column adds to the prediction, with its band, on a scale that figures share."""
    return Chart(
        f"What {curve.name} adds to {target}",
        [
            level_line(0.0, "muted", 1.0),
            Band(curve.at, curve.low, curve.high),
            Curve(curve.at, curve.lines[""]),
        ],
        Axis(short_text(curve.name)),
        Axis(f"adds to {short_text(target, 14)}", *ends, grid=True),
    ).svg()


def draw_curve(curve: EffectCurve, target: str) -> str:
    """Draw what is predicted as one number of a typical row changes."""
    several, classes = len(curve.lines) > 1, curve.low is None
    bands = [] if classes else [Band(curve.at, curve.low, curve.high, "muted", 0.25)]
    lines = [
        Curve(curve.at, line, dashes=DASHES[k], label=short_text(label, 12) if several else "")
        for k, (label, line) in enumerate(curve.lines.items())
    ]
    name = f"P({short_text(target, 12)} = {short_text(next(iter(curve.lines)), 10)})"
    single = name if classes else short_text(target)
    low, high = (-0.03, 1.03) if classes else (None, None)
    return Chart(
        f"{target} as {curve.name} changes",
        [*bands, *lines],
        Axis(short_text(curve.name)),
        Axis("probability" if several else single, low, high, grid=True),
    ).svg()


def draw_sensitivity(curves: dict[str, dict[float, float]]) -> str:
    """Draw by how much the log evidence changes with the scale of the prior."""
    marks: list[Mark] = []
    for (name, curve), color, dashes in zip(
        curves.items(), ("first", "second"), DASHES, strict=False
    ):
        scales = np.log2(sorted(curve))
        change = [curve[scale] - curve[1.0] for scale in sorted(curve)]
        marks += [
            Curve(scales, change, color, 1.8, dashes, label=name),
            Dots(scales, change, color),
        ]
    return Chart(
        "Change of the log evidence with the scale of the prior",
        marks,
        Axis("scale of the prior, times", places=range(-2, 3), names=["¼", "½", "1", "2", "4"]),
        Axis("change of log evidence", grid=True),
    ).svg()


def draw_association(names: list[str], matrix: Array) -> str:
    """Draw the associations of columns."""
    texts = [
        ["" if i == j else f"{value:.1f}".lstrip("0") for j, value in enumerate(row)]
        for i, row in enumerate(matrix)
    ]
    size = (max(122.0 + 18.0 * len(names), 245.0), 120.0 + 20.0 * len(names))
    axes = Axis(longest=16, turned=60.0), Axis(longest=16)
    return cell_chart("Association of columns", matrix, texts, names, axes, size).svg()


def cell_chart(
    title: str,
    table: Array,
    texts: list[list[str]],
    names: list[str],
    axes: tuple[Axis, Axis],
    size: tuple[float, float],
) -> Chart:
    """Return a square table (K, K) of shares as cells with texts on them, the first row on top, names at both axes."""
    places = np.arange(len(names))
    columns, rows = np.meshgrid(places, places)
    said = Texts(columns.ravel(), rows.ravel(), [text for row in texts for text in row])
    across, up = (axis._replace(places=places, names=names) for axis in axes)
    up = up._replace(low=len(names) - 0.5, high=-0.5)
    across = across._replace(low=-0.5, high=len(names) - 0.5)
    return Chart(title, [Cells(table), said], across, up, size, bare=True)


def draw_spark(name: str, series: pd.Series) -> str:
    """Draw the distribution of one column, small."""
    if pd.api.types.is_numeric_dtype(series.dtype):
        values = series.dropna().to_numpy(float)
        low, high = np.quantile(values, [0.005, 0.995]) if len(values) else (0.0, 1.0)
        bars = histogram(np.clip(values, low, high), (low, high), 24)
    else:
        counts = series.value_counts().to_numpy()[:24]
        places = np.arange(len(counts))
        bars = Bars(places - 0.4, places + 0.4, counts, "second")
    up = Axis(low=0.0, places=())
    axes = Axis(places=()), up
    return Chart(f"Distribution of {name}", [bars], *axes, _SPARK, bare=True, fixed=True).svg()


#: Of the section on what was guessed of a table, and on what its columns hold.
AT_A_GLANCE = "The data at a glance"


def at_a_glance(notes: Sequence[str], columns: Sequence[Column], frame: pd.DataFrame) -> Finding:
    """Return what was guessed of a table, and what its columns hold; the frame has those that are drawn."""
    listed = [(column, frame.get(column.name)) for column in columns]
    return Finding(AT_A_GLANCE, lambda: [Items(notes), column_list(listed, len(frame))])


def column_list(columns: Sequence[tuple[Column, pd.Series | None]], rows: int) -> ColumnList:
    """Return what columns of so many rows hold; those with values are drawn."""
    drawn = [
        (column, "" if series is None else draw_spark(column.name, series))
        for column, series in columns
    ]
    return ColumnList(drawn, rows)


def upright(at: float) -> Segments:
    """Return a thin line from bottom to top."""
    return Segments((at, at), (-np.inf, np.inf), "muted", 1.0)


def level_line(at: float, color: str, width: float, dashes: str = "") -> Segments:
    """Return a line from left to right."""
    return Segments((-np.inf, np.inf), (at, at), color, width, dashes=dashes)


def _cloud(x: Array, y: Array) -> Dots:
    return Dots(x, y, radius=1.6, opacity=0.5)


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
        (BROAD, None),
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
