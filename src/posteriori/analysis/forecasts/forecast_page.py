"""The reports of one forecast and of several: sections, and figures over time and by step ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from posteriori.analysis.forecasts.forecast_words import (
    forecast_rows,
    heading_words,
    series_rows,
    step_rows,
)
from posteriori.analysis.ranking.ranked_result import failures_of, warnings_of
from posteriori.analysis.report.figures import DASHES, draw_sensitivity, level_line
from posteriori.analysis.table.series_calendar import time_words
from posteriori.analysis.table.wording import counted, short_number
from posteriori.analysis.tasks.sections import (
    Beside,
    Figure,
    Grid,
    Items,
    Page,
    Part,
    Section,
    Words,
)
from posteriori.drawing.charts.chart import BROAD, Axis, Chart
from posteriori.drawing.charts.date_ticks import date_ticks, days_of
from posteriori.drawing.charts.marks import Band, Curve, Dots, Mark, Segments, histogram
from posteriori.drawing.charts.ticks import round_ticks, whole_ticks
from posteriori.drawing.measures import short_text
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_measures import autocorrelation
from posteriori.sequence.series.structural_series import StructuralSeries

if TYPE_CHECKING:
    from posteriori.analysis.forecasts.forecast_result import Forecast, Forecasts

__all__ = ["make_forecast_page", "make_forecasts_page"]

#: Standard deviations from which on a value is an outlier, and a move of the level a shift.
_FAR = 3.0
#: Such that are listed, steps of a table, and lags of the autocorrelation.
_LISTED, _MOST_STEPS, _LAGS = 12, 60, 24
#: Steps of the history that are drawn, for each one ahead, and at least.
_SHOWN, _LEAST_SHOWN = 12, 120
#: Series that are drawn.
_MOST_SERIES = 24
#: Width and height of figures over time.
_LONG = (BROAD, 230.0)
#: Ticks of dates, at most.
_MOST_DATES = 7
#: Steps of one figure; a longer series is thinned.
_MOST_POINTS = 2000
#: How strongly intervals are painted, the widest first.
_SHADES = (0.18, 0.32, 0.4)


def make_forecast_page(found: Forecast, title: str) -> Page:
    """Return the report; the title is what the data are called."""
    parts = [
        Section("History and forecast", _fan_and_intervals(found)),
        Section("What the event changed", _event(found)),
        Section("All models", _ranking(found)),
        Section("Parts", _parts(found)),
        Section("How forecasts would have fared", _origins(found)),
        Section("What the model was surprised by", _residuals(found)),
        Section("Priors, and what moving them changes", _priors(found)),
        Section("What was done", [Items(found.notes)]),
    ]
    name = found.dated.value.name
    return Page(f"Forecast of {name} in {title}", _lede(found), parts, found.options.seed)


def make_forecasts_page(found: Forecasts, title: str) -> Page:
    """Return the report; the title is what the data are called."""
    first = list(found.series.items())[:_MOST_SERIES]
    drawn: list[Part] = []
    for name, one in first:
        drawn += [Words(name, "bold"), Words(one.verdict), *_fan_and_intervals(one)]
    more = len(found.series) - len(first)
    if more > 0:
        drawn.append(Words(f"And {counted(more, 'more series', 'more series')}."))
    parts = [
        Section("All series", [Grid(*series_rows(found))]),
        Section("Series by series", drawn),
        Section("What was done", [Items(found.notes)]),
    ]
    lede = f"Forecasts of {counted(len(found.series), 'series', 'series')}."
    name = found.dated.value.name
    return Page(f"Forecasts of {name} in {title}", lede, parts, found.options.seed)


def _lede(found: Forecast) -> str:
    problem, calendar = found.prepared.problem, found.prepared.calendar
    ahead = counted(problem.horizon, calendar.step, calendar.steps)
    models = counted(len(found.outcomes), "model")
    by = f"at {counted(len(problem.origins), 'origin')}" if problem.origins else "by evidence"
    known = counted(int((~np.isnan(problem.rows.y)).sum()), "value")
    return f"{ahead} ahead from {known}; {models} compared {by}."


def _fan_and_intervals(found: Forecast) -> list[Part]:
    """Return the figure of history and forecast, and the forecast step by step."""
    rows, later = found.prepared.problem.rows, found.prepared.later
    times = rows.clock.times(rows.positions)
    label, mass = found.dated.value.name, found.options.mass
    shown = slice(-max(_SHOWN * len(later.times), _LEAST_SHOWN), None)
    past, ahead = (times[shown], rows.y[shown]), (found.frame, later.times, mass)
    fan = Figure(_draw_fan(label, *past, *ahead, found.prepared.actual), long=True)
    header, steps = step_rows(found)
    return [fan, Section("The forecast step by step", [Grid(header, steps[:_MOST_STEPS])])]


def _event(found: Forecast) -> list[Part]:
    effect = found.event
    if effect is None:
        return []
    clock = found.prepared.problem.rows.clock
    mass = f"{100 * found.options.mass[0]:g}"
    header = (found.prepared.calendar.step, "value", "effect", f"{mass} %")
    rows = [
        (
            time_words(clock, row["time"]),
            short_number(row["value"]),
            short_number(row["effect"]),
            f"{short_number(row[f'effect_lower_{mass}'])} to {short_number(row[f'effect_upper_{mass}'])}",
        )
        for _, row in effect.frame.iterrows()
    ]
    said = Words(
        "The effect is what came less what the model expected from what was before the event. It is that of the "
        "event only as far as nothing else changed then."
    )
    return [said, Grid(header, rows[:_MOST_STEPS])]


def _ranking(found: Forecast) -> list[Part]:
    problem = found.prepared.problem
    listed = Grid(*forecast_rows(found), strong=True)
    if not problem.origins:
        said = "Models are ranked by their evidence: the log probability of all values under each of them."
        return [Words(said), listed]
    times = problem.rows.clock.times(problem.rows.positions[[o - 1 for o in problem.origins]])
    last = ", ".join(time_words(problem.rows.clock, time) for time in times)
    said = (
        f"Every model was fitted to the values up to each of {last}, and said how probable what came after it "
        f"was. S{heading_words()[1:]}. The average makes the forecast; its weights follow from what models "
        "said one step ahead and after the origins, and at each origin from what was known then."
    )
    return [Words(said), listed, Items([*failures_of(found), *warnings_of(found)])]


def _parts(found: Forecast) -> list[Part]:
    components = found.components
    if components.empty:
        return []
    rows = found.prepared.problem.rows
    times = rows.clock.times(rows.positions)
    names = [name for name in components if not name.endswith(("_lower", "_upper"))]
    drawn = [
        _draw_part(name, times, components[[name, f"{name}_lower", f"{name}_upper"]])
        for name in names
        if name != "fit"
    ]
    model = found.outcomes[found.components_of].model[-1]
    logs = ", of logarithms" if model.transform == "log" else ""
    said = Words(
        f"The parts of “{found.words(found.components_of)}”{logs}, given all values, with bands that hold them "
        "with probability 0.95. They add up to what the model takes for the series without its noise."
    )
    return [said, *(Figure(svg, long=True) for svg in drawn)]


def _origins(found: Forecast) -> list[Part]:
    problem = found.prepared.problem
    if found.kept not in found.metrics:
        return []
    errors = {found.words(found.kept): _errors_by_step(found, found.kept)}
    if "walk" in found.metrics and found.kept != "walk":
        errors["walk"] = _errors_by_step(found, "walk")
    unit = found.prepared.calendar.steps
    ahead = Figure(
        _draw_errors(errors, np.unique(problem.steps_ahead), unit),
        "How far medians were off, by how far ahead they were.",
    )
    levels = found.outcomes[found.kept].unseen.level
    spread = Figure(
        _draw_forecast_levels(levels),
        "Where values lay in their forecasts: evenly if these are calibrated, at the ends if they are too narrow.",
    )
    metrics = found.metrics[found.kept]
    held = Words(
        f"Of {counted(len(levels), 'value')}, {100 * metrics['inside 80 %']:.0f} % lay inside the 80 % "
        f"intervals and {100 * metrics['inside 95 %']:.0f} % inside the 95 % intervals."
    )
    return [Beside([ahead], [spread]), held]


def _errors_by_step(found: Forecast, name: str) -> Array:
    problem = found.prepared.problem
    error = np.abs(problem.values - found.outcomes[name].unseen.median)
    ahead = problem.steps_ahead
    return np.array([error[ahead == h].mean() for h in np.unique(ahead)])


def _residuals(found: Forecast) -> list[Part]:
    if not found.components_of:
        return []
    model = found.outcomes[found.components_of].model[-1]
    residuals = model.residuals_
    innovations = residuals["innovation"].to_numpy()
    rows = found.prepared.problem.rows
    if np.isnan(innovations).all() or len(rows.y) < 8:
        return []
    times = rows.clock.times(rows.positions)
    most = min(_LAGS, len(innovations) // 3)
    left = Figure(
        _draw_autocorrelation(innovations, most),
        f"Of what “{found.words(found.components_of)}” did not foretell a step ahead. Outside the band "
        "something repeats that the model does not know.",
    )
    told: list[Part] = [Beside([left], _surprises(found, residuals, times))]
    if not residuals[["outlier", "shift"]].isna().all(axis=None):
        told.append(Figure(_draw_surprises(times, residuals, _FAR), long=True))
    return told


def _surprises(found: Forecast, residuals: pd.DataFrame, times: Any) -> list[Part]:
    """Return outliers and shifts of the level, the largest first."""
    clock = found.prepared.problem.rows.clock
    rows = []
    for column, name in (("outlier", "outlier"), ("shift", "shift of the level")):
        sizes = residuals[column].to_numpy()
        for t in np.flatnonzero(np.abs(np.nan_to_num(sizes)) > _FAR):
            rows.append(
                (abs(sizes[t]), (time_words(clock, times[t]), name, short_number(sizes[t], 2)))
            )
    if not rows:
        none = (
            f"No value and no move of the level is more than {_FAR:g} standard deviations off: there are no outliers "
            "and no shifts of the level."
        )
        return [Words(none)]
    rows.sort(key=lambda row: -row[0])
    header = (found.prepared.calendar.step, "what", "standard deviations")
    said = Words("Smoothed disturbances that are larger than three standard deviations.")
    return [said, Grid(header, [cells for _, cells in rows[:_LISTED]])]


def _priors(found: Forecast) -> list[Part]:
    rows = [
        (found.words(name), outcome.candidate.prior)
        for name, outcome in list(found.outcomes.items())[:4]
        if outcome.candidate.prior and not outcome.failure
    ]
    if not rows:
        return []
    told: list[Part] = [Grid(("model", "prior"), rows)]
    curves: dict[str, dict[float, float]] = {}
    for name, outcome in list(found.outcomes.items()):
        model = None if outcome.model is None else outcome.model[-1]
        if isinstance(model, StructuralSeries) and len(curves) < 2:
            curve = model.evidence_by_prior_scale((0.25, 0.5, 1.0, 2.0, 4.0))
            if curve:
                curves[found.words(name)] = curve
    if curves:
        said = Words(
            "By how much the log evidence changes where the priors of the log variances are narrower or wider: a "
            "small change leaves the ranking as it is."
        )
        told.append(Beside([Figure(draw_sensitivity(curves))], [said]))
    return told


# -- figures ---------------------------------------------------------------------------------


def _draw_fan(
    label: str,
    times: Any,
    values: Array,
    frame: pd.DataFrame,
    later: Any,
    mass: Sequence[float],
    actual: Array | None = None,
) -> str:
    """Draw a series and the fan of its forecast.

    Parameters
    ----------
    label : str
        Of the values.
    times, values : (T,)
    frame : DataFrame
        ``median`` and ends of intervals of later steps.
    later : (H,)
        Their times.
    mass : sequence of float
    actual : (H,), optional
        What came at these steps, where that is known.
    """
    step, ahead = max(1, len(values) // _MOST_POINTS), _places(later)
    marks: list[Mark] = [Curve(_places(times)[::step], values[::step], "ink", 1.1)]
    for shade, m in zip(_SHADES, sorted(mass, reverse=True), strict=False):
        low, high = (frame[f"{end}_{100 * m:g}"].to_numpy() for end in ("lower", "upper"))
        marks.append(Band(ahead, low, high, opacity=shade, label=f"{100 * m:g} %"))
    marks.append(Curve(ahead, frame["median"].to_numpy(), width=1.8, label="median"))
    if actual is not None and len(actual):
        marks.append(Curve(ahead, actual, "second", 1.5, label="what came"))
    up = Axis(short_text(label, 26), grid=True)
    return Chart(f"{label} and its forecast", marks, _time_axis(times), up, _LONG).svg()


def _draw_part(label: str, times: Any, part: pd.DataFrame) -> str:
    """Draw a smoothed part with its band; the columns of ``part`` are mean, lower and upper end."""
    step = max(1, len(part) // _MOST_POINTS)
    mean, low, high = (part.iloc[::step, k].to_numpy() for k in range(3))
    places = _places(times)[::step]
    marks: list[Mark] = [Band(places, low, high, opacity=0.25), Curve(places, mean, width=1.5)]
    up = Axis(short_text(label, 20), grid=True)
    return Chart(label, marks, _time_axis(times), up, (_LONG[0], 137.0)).svg()


def _draw_errors(errors: Mapping[str, Array], steps: Array, unit: str) -> str:
    """Draw mean absolute errors by how far ahead, a line for each model."""
    marks: list[Mark] = []
    for (name, line), color, dashes in zip(
        errors.items(), ("first", "muted"), DASHES, strict=False
    ):
        marks += [
            Curve(steps, line, color, 1.6, dashes, label=short_text(name, 30)),
            Dots(steps, line, color, 2.0),
        ]
    axes = Axis(f"{unit} ahead", ticks=whole_ticks), Axis("mean absolute error", low=0.0, grid=True)
    return Chart("Error by step ahead", marks, *axes).svg()


def _draw_forecast_levels(levels: Array) -> str:
    """Draw how many values lie at which level of their forecasts: even where these are calibrated."""
    bars = histogram(levels, (0.0, 1.0), 10, opacity=0.75)
    expected = level_line(len(levels) / 10.0, "second", 1.3, "6 3")
    axes = Axis("level in the forecast", 0.0, 1.0), Axis("values", low=0.0, grid=True)
    return Chart("Levels of values in their forecasts", [bars, expected], *axes).svg()


def _draw_autocorrelation(residuals: Array, most: int) -> str:
    """Draw the autocorrelation of residuals, with the band that independent ones stay within."""
    found = autocorrelation(residuals, most)
    band = 1.96 / np.sqrt(max((~np.isnan(residuals)).sum(), 1))
    lags = np.arange(1, most + 1)
    marks: list[Mark] = [
        Band([-np.inf, np.inf], -band, band, "muted", 0.2),
        Segments((lags, lags), (np.zeros(most), found), width=2.0),
        Dots(lags, found, radius=2.0),
        level_line(0.0, "muted", 0.8),
    ]
    wide = max(0.5, 1.15 * float(np.abs(found).max()))
    axes = Axis("steps between", ticks=whole_ticks), Axis("correlation", -wide, wide, grid=True)
    return Chart("Autocorrelation of residuals", marks, *axes).svg()


def _draw_surprises(times: Any, residuals: pd.DataFrame, limit: float) -> str:
    """Draw standardised outliers and shifts of the level over time."""
    marks: list[Mark] = []
    for column, color, hollow in (("outlier", "first", False), ("shift", "second", True)):
        line = residuals[column].to_numpy()
        if not np.isnan(line).all():
            marks.append(Dots(_places(times), line, color, 1.6, 0.8, hollow, f"{column}s"))
    marks += [level_line(side, "muted", 1.0, "4 3") for side in (-limit, limit)]
    up = Axis("standard deviations", grid=True)
    size = (_LONG[0], 166.0)
    return Chart("Outliers and shifts of the level", marks, _time_axis(times), up, size).svg()


def _places(times: Any) -> Array:
    """Return times as numbers: dates as days."""
    if isinstance(times, pd.DatetimeIndex):
        return days_of(times.tz_localize(None).to_numpy())
    return np.asarray(times, dtype=np.float64)


def _time_axis(times: Any) -> Axis:
    """Write dates in short, and other times as plain numbers."""
    dated = isinstance(times, pd.DatetimeIndex)
    return Axis(most=_MOST_DATES, ticks=date_ticks if dated else _plain_ticks)


def _plain_ticks(low: float, high: float, most: int) -> tuple[Array, list[str]]:
    places = round_ticks(low, high, most)
    return places, [f"{place:g}" for place in places]
