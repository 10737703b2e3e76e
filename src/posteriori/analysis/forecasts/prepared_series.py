"""A series made ready to be forecast: steps, periods, horizon and origins are chosen, and said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.dated_column import DatedSeries, DatedTable, read_moment
from posteriori.analysis.table.series_calendar import (
    Calendar,
    LaterSteps,
    choose_horizon,
    choose_periods,
    fill_left_out,
    holiday_inputs,
    later_positions,
    name_steps,
    read_future,
    time_words,
)
from posteriori.analysis.table.wording import counted
from posteriori.numerics.recording import recording_step
from posteriori.numerics.types import Array
from posteriori.selection.origins.origin_fits import repeats_season
from posteriori.selection.origins.origin_scores import (
    FEW_DRAWS,
    ForecastProblem,
    choose_origins,
    foresees,
)
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = [
    "EventEffect",
    "ForecastOptions",
    "Prepared",
    "check_mass",
    "check_origins",
    "measure_event",
    "prepare_series",
]

#: Paths behind the effect of an event in sum.
_PATHS = 4000


class ForecastOptions(NamedTuple):
    """What is asked of every series; as of :func:`posteriori.forecast`."""

    horizon: int | None
    period: Any
    future: Any
    holidays: str | None
    event: Any
    models: Sequence[str]
    origins: int
    mass: tuple[float, ...]
    seed: int


class Prepared(NamedTuple):
    """A series that is ready.

    Attributes
    ----------
    name : str
    problem : ForecastProblem
    calendar : Calendar
    later : LaterSteps
        What is forecast.
    actual : (H,)
        What came at these steps, where an event divides the series; else empty.
    inputs : tuple of str
        Names of the inputs, holidays included.
    notes : tuple of str
    """

    name: str
    problem: ForecastProblem
    calendar: Calendar
    later: LaterSteps
    actual: Array
    inputs: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def asked_steps(self) -> dict[str, Any]:
        """The later steps as models are asked for them."""
        later = self.later
        inputs = later.inputs if later.inputs.shape[1] else None
        if self.problem.rows.clock.regular:
            return {"horizon": len(later.positions), "inputs": inputs}
        return {"time": later.positions, "inputs": inputs}


def prepare_series(series: DatedSeries, dated: DatedTable, options: ForecastOptions) -> Prepared:
    """Return a series with all that is chosen of it."""
    whole = fill_left_out(series.rows)
    calendar = name_steps(whole.clock)
    names = tuple(column.name for column in dated.inputs)
    rows, actual = (
        (whole, np.zeros(0)) if options.event is None else _cut(whole, options.event, dated.time)
    )
    regular, count = whole.clock.regular, len(rows.y)
    periods, left_out = choose_periods(options.period if regular else "none", calendar, count)
    horizon = len(actual) or choose_horizon(options.horizon, periods, count)
    positions = whole.positions[count:] if len(actual) else later_positions(rows, horizon)
    known = (
        whole.inputs[count:]
        if len(actual)
        else read_future(options.future, dated, series.name, rows, horizon)
    )
    later = LaterSteps(positions, rows.clock.times(positions), known)
    if options.holidays is not None:
        rows, later, found = holiday_inputs(rows, later, options.holidays)
        names += found
    origins = choose_origins(rows, periods, horizon, options.origins)
    step = recording_step(rows.y[~np.isnan(rows.y)])
    problem = ForecastProblem(rows, periods, horizon, origins, step)
    if dated.by is not None:  # of many series, time matters more than the last digit of an evidence
        problem = problem._replace(draws=FEW_DRAWS)
    notes = _notes(problem, calendar, left_out, options, names[len(dated.inputs) :])
    return Prepared(series.name, problem, calendar, later, actual, names, tuple(notes))


def check_mass(mass: Any) -> tuple[float, ...]:
    """Return the probabilities of intervals, narrow ones first."""
    try:
        found = tuple(sorted(float(m) for m in np.atleast_1d(mass)))
    except (TypeError, ValueError):
        found = ()
    if not found or not all(0.0 < m < 1.0 for m in found):
        raise ValueError(
            f"mass must be probabilities between 0 and 1 such as 0.8,0.95; got {mass!r}"
        )
    return found


def check_origins(origins: Any) -> int:
    """Return how many origins there are to be."""
    if isinstance(origins, bool) or not isinstance(origins, int | np.integer) or origins < 0:
        raise ValueError(f"origins must be a whole number >= 0, got {origins!r}")
    return int(origins)


def _cut(rows: SeriesRows, event: Any, column: Column) -> tuple[SeriesRows, Array]:
    """Divide a series at an event: what was before it, and the values from then on."""
    times = rows.clock.times(rows.positions)
    try:
        start = read_moment(event, column) if rows.clock.dated else float(event)
    except (TypeError, ValueError):
        kind = "a date" if rows.clock.dated else "a number, as times are"
        raise ValueError(f"event must be {kind}, got {event!r}") from None
    count = _steps_before(rows, times, start)
    before = (~np.isnan(rows.y[:count])).sum()
    if before < 3 or count == len(rows.y) or np.isnan(rows.y[count:]).all():
        ends = f"{time_words(rows.clock, times[0])} to {time_words(rows.clock, times[-1])}"
        raise ValueError(
            f"event is {event}, but three values before it and one after it are needed; the series goes from {ends}"
        )
    if not foresees(rows, count):
        raise ValueError(
            f"event is {event}; steps before it are equal, and later times lie between such steps: round these"
        )
    past = rows._replace(
        y=rows.y[:count], positions=rows.positions[:count], inputs=rows.inputs[:count]
    )
    return past, rows.y[count:]


def _steps_before(rows: SeriesRows, times: Any, start: Any) -> int:
    """Return how many steps begin before an event; numbers are compared up to their rounding."""
    if rows.clock.dated:
        return int(np.searchsorted(np.asarray(times), np.datetime64(start)))
    return int(np.searchsorted(rows.positions, rows.clock.positions([start])[0] - 1e-9))


def _notes(
    problem: ForecastProblem,
    calendar: Calendar,
    left_out: tuple[float, ...],
    options: ForecastOptions,
    holidays: tuple[str, ...],
) -> list[str]:
    rows, steps = problem.rows, calendar.steps
    times = rows.clock.times(rows.positions[[0, -1]])
    first, last = (time_words(rows.clock, time) for time in times)
    gaps = int(np.isnan(rows.y).sum())
    found = [f"{counted(len(rows.y), calendar.step, steps)} from {first} to {last}"]
    found[0] += f", {gaps} of them without a value" if gaps else ""
    if not rows.clock.regular:
        found[0] = f"{counted(len(rows.y), 'value')} from {first} to {last} at irregular times"
        found.append("models that need equal steps are left out; forecasts are a median step apart")
    words = " and ".join(f"{p:g}" for p in problem.periods) or "none"
    chosen = "" if options.period != "auto" else ", chosen by the calendar"
    found.append(f"seasons of {words} {steps}{chosen}" if problem.periods else "no seasons")
    for period in left_out:
        if options.period != "auto" or period == min(calendar.periods):
            found.append(
                f"a season of {period:g} {steps} is left out: the series does not hold it twice"
            )
    if problem.periods and not repeats_season(problem):
        season = f"{min(problem.periods):g} {steps}"
        found.append(
            f"no model repeats the last season: {season} are too many to keep one by one in a series of this length"
        )
    unasked = options.horizon is None and options.event is None
    ahead = f"{counted(problem.horizon, calendar.step, steps)} ahead"
    found.append(f"forecasts go {ahead}" + (", unasked" if unasked else ""))
    if len(problem.origins) < options.origins:
        count = counted(len(problem.origins), "origin")
        found.append(f"the series is short: {count} instead of {options.origins}")
    if options.holidays is not None:
        found.append(f"{counted(len(holidays), 'holiday')} of {options.holidays} within the series")
    known = rows.y[~np.isnan(rows.y)]
    if known.min() == known.max():
        found.append("the series is constant: it is forecast as itself")
    return found


# -- events ----------------------------------------------------------------------------------


class EventEffect(NamedTuple):
    """The effect of what began with an event.

    Attributes
    ----------
    frame : DataFrame
        For each step the value that came, and the effect, value less forecast: median and ends of intervals.
    total : float
        Median of the effect in sum, over the steps that have a value.
    intervals : dict from mass to (low, high)
        Of the effect in sum.
    probability : float
        That the effect in sum is positive.
    """

    frame: pd.DataFrame
    total: float
    intervals: dict[float, tuple[float, float]]
    probability: float


def measure_event(
    model: Any, dist: Any, prepared: Prepared, options: ForecastOptions
) -> EventEffect:
    """Return the effect of an event, from a model that has seen only what was before.

    Parameters
    ----------
    model : model of a series
    dist : distributions
        Its forecasts from the event on.
    prepared : Prepared
        With the values that came.
    options : ForecastOptions
    """
    actual = prepared.actual
    columns: dict[str, Any] = {"time": prepared.later.times, "value": actual}
    columns["effect"] = actual - np.asarray(dist.median)
    for m in options.mass:
        low, high = (np.asarray(dist.quantile(0.5 + side * m)) for side in (-0.5, 0.5))
        columns[f"effect_lower_{100 * m:g}"] = actual - high
        columns[f"effect_upper_{100 * m:g}"] = actual - low
    known = ~np.isnan(actual)
    paths = model.sample_paths(draws=_PATHS, rng=options.seed, **prepared.asked_steps)
    sums = actual[known].sum() - np.asarray(paths)[:, known].sum(axis=1)
    intervals = {
        m: tuple(np.quantile(sums, [0.5 - 0.5 * m, 0.5 + 0.5 * m]).tolist()) for m in options.mass
    }
    total = float(np.median(sums))
    return EventEffect(pd.DataFrame(columns), total, intervals, float(np.mean(sums > 0.0)))
