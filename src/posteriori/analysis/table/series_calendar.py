"""Steps of series in words, and what follows from them: usual periods, and how far to look ahead."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.sequence.series.series_clock import SeriesClock

__all__ = ["Calendar", "choose_horizon", "choose_periods", "name_steps", "time_words"]

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
