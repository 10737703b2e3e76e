"""Holidays of a country as inputs: for each of them, how many of its days fall into a step."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from posteriori.analysis.table.later_steps import LaterSteps
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_clock import SeriesClock
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = ["count_holidays", "holiday_inputs"]


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
