r"""Seasons of dates: where in its year, week and day each lies, as a number and as waves.

.. math:: \sqrt2\cos 2\pi jφ,\ \sqrt2\sin 2\pi jφ,\qquad j = 1, …, J

for the place φ in [0, 1) of a cycle. A date is one column everywhere else: what is said here is derived from its
decimal years wherever a model is fitted or predicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.table.values import are_whole_days, dates_of
from posteriori.numerics.types import Array

__all__ = ["CYCLES", "find_seasons", "season_names", "season_numbers", "season_waves", "wave_names"]

#: A day of decimal years.
_DAY = 1.0 / 365.25

#: Different places in a cycle that dates must have, and how often it must come round: before, it is the time itself.
_FEWEST_PLACES, _FEWEST_ROUNDS = 3, 1.5


class Cycle(NamedTuple):
    """A cycle of the calendar.

    Attributes
    ----------
    name : str
        Of the place in it.
    years : float
        How long it is.
    size : float
        In the unit of the place.
    pairs : int
        Pairs of waves that tell most of what a cycle does; of days of the week all.
    """

    name: str
    years: float
    size: float
    pairs: int


CYCLES = {
    "day of year": Cycle("day of year", 1.0, 365.25, 2),
    "day of week": Cycle("day of week", 7.0 * _DAY, 7.0, 3),
    "hour": Cycle("hour", _DAY, 24.0, 2),
}


def find_seasons(X: pd.DataFrame, kinds: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the cycles in which the dates of each column have a place of their own, by column.

    Parameters
    ----------
    X : DataFrame
        Dates as decimal years.
    kinds : mapping from column to kind
    """
    dates = {n: X[n].to_numpy(np.float64) for n, kind in kinds.items() if kind == "date"}
    found = {name: _cycles_of(np.unique(years[~np.isnan(years)])) for name, years in dates.items()}
    return {name: cycles for name, cycles in found.items() if cycles}


def season_names(seasons: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the names of the columns of :func:`season_numbers`."""
    return [f"{column} ({name})" for column, cycles in seasons.items() for name in cycles]


def season_numbers(seasons: Mapping[str, tuple[str, ...]], X: pd.DataFrame) -> list[Array]:
    """Return the days of the year and of the week from 0 and hours, each (N,); NaN where a date is missing."""
    return [
        _place(name, X[c].to_numpy(np.float64)) for c, names in seasons.items() for name in names
    ]


def wave_names(seasons: Mapping[str, tuple[str, ...]], most: int) -> list[str]:
    """Return the names of the columns of :func:`season_waves`."""
    return [
        f"{column} ({wave} of the {CYCLES[name].name}{f', {j} times' if j > 1 else ''})"
        for column, names in seasons.items()
        for name in names
        for j in range(1, min(CYCLES[name].pairs, most) + 1)
        for wave in ("cosine", "sine")
    ]


def season_waves(seasons: Mapping[str, tuple[str, ...]], X: pd.DataFrame, most: int) -> list[Array]:
    """Return pairs of waves of each cycle, at most so many, (N,) each; 0 where a date is missing."""
    found = []
    for column, names in seasons.items():
        years = X[column].to_numpy(np.float64)
        for name in names:
            cycle = CYCLES[name]
            angle = 2.0 * np.pi * _place(name, years) / cycle.size
            for j in range(1, min(cycle.pairs, most) + 1):
                found += [
                    np.nan_to_num(np.sqrt(2.0) * wave(j * angle)) for wave in (np.cos, np.sin)
                ]
    return found


def _cycles_of(years: Array) -> tuple[str, ...]:
    """Return the cycles that different dates, sorted, tell apart."""
    if len(years) < _FEWEST_PLACES:
        return ()
    whole = are_whole_days(years)
    possible = {
        "day of year": True,
        "day of week": not (whole and _are_ends_of_months(years)),
        "hour": not whole,
    }
    return tuple(name for name, can_be in possible.items() if can_be and _is_told(name, years))


def _is_told(name: str, years: Array) -> bool:
    rounds = (years[-1] - years[0]) / CYCLES[name].years
    places = np.unique(np.floor(_place(name, years)))
    # the day on which each year begins or ends wanders by one: that is no season
    return bool(rounds >= _FEWEST_ROUNDS and len(places) >= _FEWEST_PLACES and np.ptp(places) > 1.0)


def _are_ends_of_months(years: Array) -> bool:
    """Tell whether all dates are first or last days of months, on whatever day of the week these fall."""
    days = dates_of(years, whole_days=True).astype("datetime64[D]")
    following = days + np.timedelta64(1, "D")
    return any(
        (day == day.astype("datetime64[M]").astype("datetime64[D]")).all()
        for day in (days, following)
    )


def _place(name: str, years: Array) -> Any:
    """Return where times lie in a cycle, in its unit: the day of the year and the hour with their fractions."""
    times = dates_of(years, whole_days=False)
    days = times.astype("datetime64[D]")
    hours = (times - days) / np.timedelta64(1, "h")
    if name == "hour":
        found = hours
    elif name == "day of week":
        found = (days.astype(np.int64) + 3.0) % 7.0  # 1970 began on a Thursday
    else:
        found = (days - times.astype("datetime64[Y]")) / np.timedelta64(1, "D") + hours / 24.0
    return np.where(np.isnat(times), np.nan, found)
