"""What one forecast and several have found, for terminal and report: tables, figures and words in their places."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from posteriori.analysis.forecasts.forecast_words import known_values, step_texts
from posteriori.analysis.ranking.ranked_result import Table, Tells, behind_best, ranked_table
from posteriori.analysis.report.figures import draw_sensitivity
from posteriori.analysis.report.time_figures import (
    draw_autocorrelation,
    draw_errors,
    draw_fan,
    draw_forecast_levels,
    draw_part,
    draw_surprises,
)
from posteriori.analysis.table.series_calendar import time_words
from posteriori.analysis.table.wording import (
    counted,
    even_number,
    fixed_number,
    number_with_error,
    number_within,
    short_number,
)
from posteriori.analysis.tasks.sections import (
    Beside,
    Figure,
    Finding,
    Grid,
    Items,
    Part,
    Section,
    Words,
)
from posteriori.numerics.types import Array
from posteriori.selection.comparison import Row
from posteriori.sequence.series.structural_series import StructuralSeries

if TYPE_CHECKING:
    from posteriori.analysis.forecasts.forecast_result import Forecast, Forecasts

__all__ = ["draw_forecast", "forecast_findings", "forecasts_findings"]

#: What the headings of the rankings mean.
_HEADINGS = {
    "off by": "how far medians were off on average",
    "score": "log density of what came after the origins, ± standard error over origins",
    "behind": "difference of log densities to the best, ± standard error over origins",
    "CRPS": "mean distance of forecasts from what came",
    "scaled": "mean absolute error in units of the seasonal naive forecast's",
    "in 80 %": "share of what came inside the 80 % intervals",
    "weight": "share in the average",
}

#: Standard deviations from which on a value is an outlier, and a move of the level a shift.
_FAR = 3.0
#: Such that are listed, steps of a table, and lags of the autocorrelation.
_LISTED, _MOST_STEPS, _LAGS = 12, 60, 24
#: Steps of the history that are drawn, for each one ahead, and at least.
_SHOWN, _LEAST_SHOWN = 12, 120
#: Series that are drawn.
_MOST_SERIES = 24


def forecast_findings(found: Forecast) -> Iterator[Finding]:
    """Yield the ranking, the forecast step by step, parts of the series, trials in the past, and priors."""
    if found.metrics:
        yield Finding("All models", partial(_tried, found))
    yield Finding("All models", partial(_ranking, found), "both")
    if not found.failure:
        if found.metrics:
            yield Finding(
                "Densities and evidences", lambda: [_explained(*detailed_rows(found))], "details"
            )
        yield Finding("The forecast step by step", lambda: [_steps(found)], "details")
        yield Finding("What the event changed", partial(_event, found))
        yield Finding("Parts", partial(_parts, found))
        yield Finding("How forecasts would have fared", partial(_origins, found))
        yield Finding("What the model was surprised by", partial(_residuals, found))
        yield Finding("Priors, and what moving them changes", partial(_priors, found))
    yield Finding("What was done", lambda: [Items(found.notes)])


def forecasts_findings(found: Forecasts) -> Iterator[Finding]:
    """Yield all series in a table, and the first of them one by one."""
    header, rows = series_rows(found)
    first, more = rows[:_MOST_SERIES], len(rows) - _MOST_SERIES
    rest = [Words(f"and {counted(more, 'more series', 'more series')}", "dim")] if more > 0 else []
    yield Finding("All series", lambda: [Grid(header, first), *rest], "terminal")
    yield Finding("All series", lambda: [Grid(header, rows)])
    yield Finding("Series by series", partial(_one_by_one, found))
    yield Finding("What was done", lambda: [Items(found.notes)])


def _one_by_one(found: Forecasts) -> list[Part]:
    drawn: list[Part] = []
    for name, one in found.by_change[:_MOST_SERIES]:
        steps = Section("The forecast step by step", [_steps(one)])
        drawn += [Words(name, "bold"), Words(one.verdict), draw_forecast(one), steps]
    return drawn


def draw_forecast(found: Forecast, caption: str = "") -> Figure:
    """Draw the end of the series, and the fan of what comes next."""
    rows, later = found.prepared.problem.rows, found.prepared.later
    times = rows.clock.times(rows.positions)
    shown = slice(-max(_SHOWN * len(later.times), _LEAST_SHOWN), None)
    past, ahead = (times[shown], rows.y[shown]), (found.frame, later.times, found.options.mass)
    fan = draw_fan(found.dated.value.name, *past, *ahead, found.prepared.actual)
    return Figure(fan, caption)


def _ranking(found: Forecast) -> list[Part]:
    return [_explained(*ranked_rows(found)), *found.remarks()]


def _steps(found: Forecast) -> Grid:
    header, steps = step_rows(found)
    return Grid(header, steps[:_MOST_STEPS])


def _explained(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Grid:
    return Grid(header, rows, strong=True, remarks=partial(heading_words, header))


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


def _tried(found: Forecast) -> list[Part]:
    problem = found.prepared.problem
    times = problem.rows.clock.times(problem.rows.positions[[o - 1 for o in problem.origins]])
    last = ", ".join(time_words(problem.rows.clock, time) for time in times)
    said = (
        f"Every model was fitted to the values up to each of {last}, and said what would come after it. The average "
        "makes the forecast; its weights follow from what models said one step ahead and after the origins, and at "
        "each origin from what was known then."
    )
    return [Words(said)]


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
    return [said, *(Figure(svg) for svg in drawn)]


def _origins(found: Forecast) -> list[Part]:
    problem = found.prepared.problem
    if not found.metrics:
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
        told.append(Figure(draw_surprises(times, residuals, _FAR)))
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


# -- tables ----------------------------------------------------------------------------------


def heading_words(header: Sequence[str], hidden: Sequence[str] = ()) -> list[str]:
    """Return what the headings of a ranking mean, but for those that are not shown; nothing without origins."""
    shown = [name for name in header if name in _HEADINGS and name not in hidden]
    told = "; ".join(f"{name}: {_HEADINGS[name]}" for name in shown)
    return [told] if "off by" in header or "score" in header else []


def ranked_rows(found: Forecast) -> Table:
    """Return the ranking for everybody: a header, and a row of texts for each candidate, best first."""
    metrics = found.metrics
    if not metrics:
        return detailed_rows(found)
    columns: dict[str, Tells] = {
        "off by": lambda row: even_number(metrics[row.name]["MAE"], 3),
        "in 80 %": lambda row: f"{100 * metrics[row.name]['inside 80 %']:.0f} %",
        "behind": behind_best,
        "weight": lambda row: f"{row.weight:.2f}" if row.weight > 0.0 else "",
    }
    return ranked_table(found, found.ranking.rows, columns)


def detailed_rows(found: Forecast) -> Table:
    """Return the ranking for statisticians: densities, errors and evidences."""
    metrics = found.metrics
    scores: dict[str, Tells] = {
        "score": lambda row: number_with_error(row.elpd, row.elpd_se),
        "CRPS": lambda row: even_number(metrics[row.name]["CRPS"], 3),
        "scaled": lambda row: fixed_number(metrics[row.name]["scaled error"], 2),
    }
    columns: dict[str, Tells] = {
        **(scores if metrics else {}),
        "evidence": lambda row: fixed_number(row.log_evidence) if row.of else "",
        **({} if metrics else {"behind": _behind_by_evidence}),
        "prob.": _probability,
    }
    return ranked_table(found, found.ranking.rows, columns)


def _behind_by_evidence(row: Row) -> str:
    return fixed_number(row.log_bayes_factor) if row.log_bayes_factor < 0.0 else ""


def _probability(row: Row) -> str:
    p = row.probability
    return "" if math.isnan(p) else f"{p:.2f}" if p >= 0.005 else "<0.01"


def step_rows(found: Forecast) -> Table:
    """Return the forecast step by step: medians, and ends of the intervals."""
    frame, clock = found.frame, found.prepared.problem.rows.clock
    columns = [name for name in frame if name.startswith(("median", "lower_", "upper_"))]
    header = (
        found.prepared.calendar.step,
        *(name.replace("_", " ") + " %" * ("_" in name) for name in columns),
    )
    times = [time_words(clock, time) for time in found.prepared.later.times]
    rows = [
        (when, *(number_within(value, line[2] - line[1], digits=4) for value in line))
        for when, line in zip(times, frame[columns].to_numpy(), strict=True)
    ]
    return header, rows


def series_rows(found: Forecasts) -> Table:
    """Return a header, and for every series what is forecast of it and how well that went, largest fall first."""
    mass = f"{100 * found.options.mass[0]:g} %"
    header = ("series", "values", "last", "at the end", mass, "off by", "in 80 %", "best model")
    rows: list[tuple[str, ...]] = []
    for name, one in found.by_change:
        metrics, last = one.metrics.get(one.kept, {}), step_texts(one, -1)
        rows.append(
            (
                name,
                str(len(known_values(one))),
                last.known,
                f"{last.median} ({last.time})",
                f"{last.low} to {last.high}",
                even_number(metrics["MAE"], 3) if metrics else "",
                f"{100 * metrics['inside 80 %']:.0f} %" if metrics else "",
                one.words(one.best),
            )
        )
    rows += [(name, "failed", *("" for _ in header[2:])) for name in found.failures]
    return header, rows
