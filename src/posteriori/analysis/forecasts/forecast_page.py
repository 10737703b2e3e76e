"""The report of a forecast: its sections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from posteriori.analysis.forecasts.forecast_figures import (
    draw_autocorrelation,
    draw_errors,
    draw_fan,
    draw_forecast_levels,
    draw_part,
    draw_surprises,
)
from posteriori.analysis.forecasts.forecast_words import (
    forecast_rows,
    heading_words,
    step_rows,
)
from posteriori.analysis.report.figures import draw_sensitivity
from posteriori.analysis.report.ranking_tables import failures_of, warnings_of
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
from posteriori.numerics.types import Array
from posteriori.sequence.series.structural_series import StructuralSeries

if TYPE_CHECKING:
    from posteriori.analysis.forecasts.forecasting import Forecast

__all__ = ["fan_and_intervals", "forecasting_code", "make_forecast_page"]

#: Standard deviations from which on a value is an outlier, and a move of the level a shift.
_FAR = 3.0
#: Such that are listed, steps of a table, and lags of the autocorrelation.
_LISTED, _MOST_STEPS, _LAGS = 12, 60, 24
#: Steps of the history that are drawn, for each one ahead, and at least.
_SHOWN, _LEAST_SHOWN = 12, 120


def make_forecast_page(found: Forecast, title: str) -> Page:
    """Return the report; the title is what the data are called."""
    parts = [
        Section("History and forecast", fan_and_intervals(found)),
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


def _lede(found: Forecast) -> str:
    problem, calendar = found.prepared.problem, found.prepared.calendar
    ahead = counted(problem.horizon, calendar.step, calendar.steps)
    models = counted(len(found.outcomes), "model")
    by = f"at {counted(len(problem.origins), 'origin')}" if problem.origins else "by evidence"
    known = counted(int((~np.isnan(problem.rows.y)).sum()), "value")
    return f"{ahead} ahead from {known}; {models} compared {by}."


def fan_and_intervals(found: Forecast) -> list[Part]:
    """Return the figure of history and forecast, and the forecast step by step."""
    rows, later = found.prepared.problem.rows, found.prepared.later
    times = rows.clock.times(rows.positions)
    label, mass = found.dated.value.name, found.options.mass
    shown = slice(-max(_SHOWN * len(later.times), _LEAST_SHOWN), None)
    past, ahead = (times[shown], rows.y[shown]), (found.frame, later.times, mass)
    fan = Figure(draw_fan(label, *past, *ahead, found.prepared.actual), long=True)
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
        draw_part(name, times, components[[name, f"{name}_lower", f"{name}_upper"]])
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
        draw_errors(errors, np.unique(problem.steps_ahead), unit),
        "How far medians were off, by how far ahead they were.",
    )
    levels = found.outcomes[found.kept].unseen.level
    spread = Figure(
        draw_forecast_levels(levels),
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
        draw_autocorrelation(innovations, most),
        f"Of what “{found.words(found.components_of)}” did not foretell a step ahead. Outside the band "
        "something repeats that the model does not know.",
    )
    told: list[Part] = [Beside([left], _surprises(found, residuals, times))]
    if not residuals[["outlier", "shift"]].isna().all(axis=None):
        told.append(Figure(draw_surprises(times, residuals, _FAR), long=True))
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


def forecasting_code(found: Forecast, loading: str = "") -> str:
    """Return code that makes the same forecast again."""
    options, asked = found.options, [f"time={found.dated.time.name!r}"]
    asked.append(f"value={found.dated.value.name!r}")
    asked.append(f"horizon={options.horizon!r}" if options.horizon else "")
    asked.append(f"period={options.period!r}" if options.period != "auto" else "")
    asked.append(f"by={found.dated.by.name!r}" if found.dated.by else "")
    asked.append(f"inputs={[c.name for c in found.dated.inputs]!r}" if found.dated.inputs else "")
    asked.append("future=future" if options.future is not None else "")
    asked += [
        f"{name}={value!r}"
        for name, value in (("holidays", options.holidays), ("event", options.event))
        if value is not None
    ]
    asked.append(f"models={list(options.models)!r}" if options.models else "")
    asked += [f"origins={options.origins}", f"mass={options.mass}", f"seed={options.seed}"]
    return (
        "from posteriori import forecast\n"
        f"{loading or '# table: the data that were forecast'}\n\n"
        f"f = forecast(table, {', '.join(part for part in asked if part)})\n"
        "f.frame, f.dist  # the forecast\n"
        "f.ranking, f.components\n"
    )
