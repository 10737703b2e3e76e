"""Steps of series in words, usual periods, and the steps that come after: their inputs, holidays and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.table.columns import Column, numbers_in
from posteriori.analysis.table.dated_column import DatedTable, levels_of, read_moments
from posteriori.analysis.table.reading import to_pandas
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_clock import SeriesClock
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = [
    "Calendar",
    "choose_horizon",
    "choose_periods",
    "name_steps",
    "time_words",
    "LaterSteps",
    "count_holidays",
    "fill_left_out",
    "holiday_inputs",
    "interval_columns",
    "later_positions",
    "read_future",
]

#: In nanoseconds.
_MINUTE = 60e9
#: The same.
_HOUR, _DAY = 60 * _MINUTE, 1440 * _MINUTE
#: Days of a year, and working days among them.
_YEAR, _WORKING = 365.25, 365.25 * 5 / 7
#: Numbers between these are taken for years.
_EARLIEST, _LATEST = 1000.0, 2500.0
#: Of times that are numbers, which have no commas: 1961.25 is a time of a year.
_DECIMALS = 6
#: Steps ahead where there is no period.
_AHEAD = 6
#: A season is learned from so many of its periods.
_TIMES = 2.0
#: No more than this share of a series is looked ahead unasked.
_SHARE = 4


class Calendar(NamedTuple):
    """What steps are called, one and several of them, and after how many things repeat.

    Attributes
    ----------
    step, steps : str
        "month", "months".
    periods : tuple of float
        Usual ones, in steps; a period counts where the series holds it twice.
    """

    step: str
    steps: str
    periods: tuple[float, ...] = ()


def name_steps(clock: SeriesClock) -> Calendar:
    """Return what the steps of a clock are called, and their usual periods.

    Examples
    --------
    >>> import pandas as pd
    >>> name_steps(SeriesClock("months", pd.Timestamp("2020-01-01"), 3.0, dated=True))
    Calendar(step='quarter', steps='quarters', periods=(4.0,))
    """
    if clock.kind == "months":
        return _name_months(int(clock.step))
    if clock.kind == "business days":
        return Calendar("business day", "business days", (5.0, _WORKING))
    if clock.kind == "moments":
        return _name_moments(clock.step)
    if clock.kind == "numbers" and _EARLIEST <= clock.origin <= _LATEST:  # decimal years
        months = 12.0 * clock.step
        if months > 0.9 and abs(months - round(months)) < 1e-2:
            return _name_months(round(months))
    return Calendar("step", "steps")


def _name_months(months: int) -> Calendar:
    periods = (12.0 / months,) if months < 12 and 12 % months == 0 else ()
    names = {1: "month", 3: "quarter", 6: "half-year", 12: "year"}
    if months in names:
        return Calendar(names[months], names[months] + "s", periods)
    count = f"{months // 12} years" if months % 12 == 0 else f"{months} months"
    return Calendar(f"step of {count}", f"steps of {count}", periods)


def _name_moments(step: float) -> Calendar:
    if step % _DAY == 0:
        days = int(step // _DAY)
        named = {1: ("day", (7.0, _YEAR)), 7: ("week", (_YEAR / 7,))}
        if days in named:
            name, periods = named[days]
            return Calendar(name, name + "s", periods)
        return Calendar(f"step of {days} days", f"steps of {days} days")
    daily = _DAY / step
    periods = tuple(p for p in (daily, 7.0 * daily) if p >= 2.0)
    for unit, name in ((_HOUR, "hour"), (_MINUTE, "minute"), (1e9, "second")):
        if step % unit == 0:
            count = int(step // unit)
            text = f"step of {count} {name}s"
            names = (name, f"{name}s") if count == 1 else (text, text.replace("step", "steps", 1))
            return Calendar(*names, periods if unit > 1e9 else ())
    return Calendar("step", "steps")


def choose_periods(
    period: Any, calendar: Calendar, count: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the periods of seasons, and those left out since the series holds them less than twice.

    Parameters
    ----------
    period : "auto", "none", number or sequence of numbers
    calendar : Calendar
    count : int
        Steps of the series.
    """
    wanted = _wanted_periods(period, calendar)
    kept = tuple(p for p in wanted if _TIMES * p <= count)
    return kept, tuple(p for p in wanted if p not in kept)


def _wanted_periods(period: Any, calendar: Calendar) -> tuple[float, ...]:
    if isinstance(period, str):
        if period == "auto":
            return calendar.periods
        if period == "none":
            return ()
        parts: Any = [part.strip() for part in period.split(",")]
    else:
        parts = np.atleast_1d(period).tolist() if period is not None else []
    try:
        numbers = tuple(float(part) for part in parts)
    except (TypeError, ValueError):
        numbers = (float("nan"),)
    if not all(np.isfinite(p) and p >= 2.0 for p in numbers) or len(set(numbers)) < len(numbers):
        raise ValueError(
            "period must be 'auto', 'none' or different numbers of steps >= 2 such as 7,365.25; got "
            f"{period!r}"
        )
    return numbers


def choose_horizon(horizon: int | None, periods: tuple[float, ...], count: int) -> int:
    """Return how many steps are forecast: as asked, else the shortest period, else 6.

    Unasked, no more than a quarter of the series.
    """
    if horizon is None:
        usual = int(np.ceil(min(periods))) if periods else _AHEAD
        return max(1, min(usual, count // _SHARE))
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
        raise ValueError(f"horizon must be a whole number of steps >= 1, got {horizon!r}")
    return int(horizon)


def time_words(clock: SeriesClock, time: Any) -> str:
    """Write a time as its calendar does: a year, a month, a day, a minute or a number."""
    if not clock.dated:
        value = round(float(time), _DECIMALS)
        digits = len(str(int(abs(value)))) + 2
        return str(int(value)) if value.is_integer() else f"{value:.{max(digits, _DECIMALS)}g}"
    if clock.kind == "months":
        return f"{time:%Y}" if clock.step % 12 == 0 and time.month == 1 else f"{time:%Y-%m}"
    return f"{time:%Y-%m-%d}" if time == time.normalize() else f"{time:%Y-%m-%d %H:%M}"


# -- later steps -----------------------------------------------------------------------------


class LaterSteps(NamedTuple):
    """Steps that are forecast.

    Attributes
    ----------
    positions : (H,)
    times : index
    inputs : (H, K)
    """

    positions: Array
    times: Any
    inputs: Array


def later_positions(rows: SeriesRows, horizon: int) -> Array:
    """Return the positions of the next steps; those of irregular times are a median step apart."""
    step = 1.0 if rows.clock.regular else float(np.median(rows.steps))
    return rows.positions[-1] + step * np.arange(1.0, horizon + 1)


def fill_left_out(rows: SeriesRows) -> SeriesRows:
    """Return rows whose inputs are known everywhere: those of steps that were left out are means."""
    if not rows.inputs.shape[1]:
        return rows
    return rows._replace(
        inputs=np.where(np.isnan(rows.inputs), np.nanmean(rows.inputs, axis=0), rows.inputs)
    )


def read_future(table: Any, dated: DatedTable, level: str, rows: SeriesRows, horizon: int) -> Array:
    """Return the inputs of the next steps, (H, K), from a table of them.

    Parameters
    ----------
    table : DataFrame or mapping of columns, or None
    dated : DatedTable
        What the columns are.
    level : str
        Of the series.
    rows : SeriesRows
    horizon : int

    Raises
    ------
    ValueError
        When a step or an input is missing: which one.
    """
    if not dated.inputs:
        return np.zeros((horizon, 0))
    positions = later_positions(rows, horizon)
    names = ", ".join(repr(c.name) for c in dated.inputs)
    if table is None:
        raise ValueError(
            f"the inputs {names} must be known of the {horizon} steps that are forecast; give them as future"
        )
    frame = _of_level(to_pandas(table), dated.by, level)
    for column in (dated.time, *dated.inputs):
        if column.name not in frame.columns:
            raise ValueError(f"future lacks the column {column.name!r}")
    times = read_moments(frame, dated.time)
    places = rows.clock.positions(times)
    known = np.column_stack([_numbers(c, frame[c.name]) for c in dated.inputs])
    found = np.full((horizon, known.shape[1]), np.nan)
    for k, position in enumerate(positions):
        near = np.flatnonzero(np.abs(places - position) < 1e-3)
        when = time_words(rows.clock, rows.clock.times(np.array([position]))[0])
        where = f" of series {level!r}" if level else ""
        if not len(near):
            raise ValueError(
                f"future has no row for {when}{where}, whose inputs {names} must be known"
            )
        found[k] = known[near[0]]
        if np.isnan(found[k]).any():
            name = dated.inputs[int(np.argmax(np.isnan(found[k])))].name
            raise ValueError(f"future lacks {name!r} for {when}{where}: inputs must be known")
    return found


def _of_level(frame: pd.DataFrame, by: Column | None, level: str) -> pd.DataFrame:
    """Return the rows of one series; all where nothing divides the table."""
    if by is None or by.name not in frame.columns:
        return frame
    levels, codes = levels_of(frame, by)
    wanted = levels.index(level) if level in levels else -2
    return frame[codes == wanted]


def _numbers(column: Column, raw: pd.Series) -> Array:
    kind = column if column.kind in ("number", "boolean") else Column(column.name, "number")
    return numbers_in(kind, raw)


def interval_columns(dist: Any, mass: Sequence[float]) -> dict[str, Any]:
    """Return medians and ends of intervals by the names of their columns.

    Examples
    --------
    >>> from posteriori import Normal
    >>> list(interval_columns(Normal([0.0], variance=1.0), (0.8,)))
    ['median', 'lower_80', 'upper_80']
    """
    columns = {"median": np.asarray(dist.median)}
    for m in mass:
        name = f"{100 * m:g}"
        columns[f"lower_{name}"] = np.asarray(dist.quantile(0.5 - 0.5 * m))
        columns[f"upper_{name}"] = np.asarray(dist.quantile(0.5 + 0.5 * m))
    return columns


# -- holidays --------------------------------------------------------------------------------


def holiday_inputs(
    rows: SeriesRows, later: LaterSteps, country: str
) -> tuple[SeriesRows, LaterSteps, tuple[str, ...]]:
    """Add a column for each holiday that falls into the series, and return their names.

    Parameters
    ----------
    rows : SeriesRows
    later : LaterSteps
    country : str
        ISO code, such as DE; DE-BY is a part of it.

    Raises
    ------
    ValueError
        When times are no dates, the country is unknown, or the package ``holidays`` is missing.
    """
    positions = np.concatenate([rows.positions, later.positions])
    columns = count_holidays(rows.clock, positions, country)
    count = len(rows.positions)
    kept = {name: x for name, x in columns.items() if (x[:count] != 0.0).any()}
    x = np.column_stack([np.zeros((len(positions), 0)), *kept.values()])
    return (
        rows._replace(inputs=np.concatenate([rows.inputs, x[:count]], axis=1)),
        later._replace(inputs=np.concatenate([later.inputs, x[count:]], axis=1)),
        tuple(kept),
    )


def count_holidays(clock: SeriesClock, positions: Array, country: str) -> dict[str, Array]:
    """Return for each holiday how many of its days fall into each step, (T,), by name.

    Raises
    ------
    ValueError
        As of :func:`holiday_inputs`.
    """
    if not clock.dated:
        raise ValueError(f"holidays={country!r} needs dates; the times of this series are numbers")
    starts = clock.times(positions)
    ends = clock.times(positions + 1.0) if clock.regular else starts
    columns: dict[str, Array] = {}
    for day, names in _days_of(country, range(starts[0].year, starts[-1].year + 2)):
        here = _steps_of(clock, starts, ends, day)
        for name in names:
            columns.setdefault(name, np.zeros(len(positions)))[here] += 1.0
    return columns


def _steps_of(clock: SeriesClock, starts: Any, ends: Any, day: pd.Timestamp) -> Array:
    """Return the steps that a day falls into: those of the day, or the one that it is part of."""
    if clock.kind == "business days" or not clock.regular:
        return np.flatnonzero(starts.normalize() == day)
    return np.flatnonzero((starts < day + pd.Timedelta(days=1)) & (ends > day))


def _days_of(country: str, years: range) -> list[tuple[pd.Timestamp, list[str]]]:
    """Return the holidays of a country in order, with all names of each day."""
    try:
        package = import_module("holidays")
    except ImportError:
        raise ValueError(
            "holidays= needs the package holidays, which is not installed: pip install posteriori[holidays]"
        ) from None
    code, _, part = country.partition("-")
    try:
        found = package.country_holidays(code.upper(), subdiv=part or None, years=list(years))
    except (NotImplementedError, KeyError):
        raise ValueError(
            f"holidays={country!r} is no country that the package holidays knows; give an ISO code such as DE"
        ) from None
    return [
        (pd.Timestamp(day), [name.strip() for name in found[day].split(";")])
        for day in sorted(found)
    ]
