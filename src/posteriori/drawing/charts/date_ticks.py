"""Where an axis of dates has ticks: at the beginnings of years, months, days, hours, minutes or seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["date_ticks", "days_of"]

#: Steps from tick to tick, the finest first: how many of which unit.
_STEPS = (
    *((count, "s") for count in (1, 5, 15, 30)),
    *((count, "m") for count in (1, 5, 15, 30)),
    *((count, "h") for count in (1, 3, 6, 12)),
    *((count, "D") for count in (1, 2, 7, 14)),
    *((count, "M") for count in (1, 3, 6)),
    *((count * 10**power, "Y") for power in range(10) for count in (1, 2, 5)),
)

#: Days of a unit, about.
_DAYS = {"s": 1 / 86_400, "m": 1 / 1_440, "h": 1 / 24, "D": 1.0, "M": 30.4, "Y": 365.2}

#: Years are counted from this one.
_FIRST_YEAR = 1970


def days_of(moments: Any) -> Array:
    """Return moments as days since the beginning of 1970.

    Examples
    --------
    >>> days_of(np.array(["1970-01-02", "1970-01-03T12:00"], dtype="datetime64[s]"))
    array([1. , 2.5])
    """
    return np.asarray(moments, dtype="datetime64[us]").astype(np.float64) / 86_400e6


def date_ticks(low: float, high: float, most: int) -> tuple[Array, list[str]]:
    """Return even dates between two ends, in days since the beginning of 1970, and how they are written.

    Parameters
    ----------
    low, high : float
        ``low < high``.
    most : int
        Ticks, at most.

    Examples
    --------
    >>> date_ticks(-7670.0, -3300.0, 4)[1]
    ['1950', '1955', '1960']
    >>> date_ticks(0.0, 150.0, 5)[1]
    ['1970-01', '1970-02', '1970-03', '1970-04', '1970-05']
    """
    for count, unit in _STEPS:
        if (high - low) / (count * _DAYS[unit]) < 3 * most:  # what has many more is not tried
            moments = _multiples(low, high, count, unit)
            if len(moments) <= most:
                return days_of(moments), [_written(moment, unit) for moment in moments]
    return np.zeros(0), []


def _multiples(low: float, high: float, count: int, unit: str) -> Any:
    """Return the moments between two ends whose number of units is a multiple."""
    ends = np.array([np.floor(low), np.ceil(high)]).astype("datetime64[D]")
    first, last = ends.astype(f"datetime64[{unit}]").astype(np.int64)
    shift = _FIRST_YEAR if unit == "Y" else 0
    start = count * ((first + shift) // count) - shift
    moments = np.arange(start, last + count + 1, count).astype(f"datetime64[{unit}]")
    days = days_of(moments)
    return moments[(days >= low - 1e-9) & (days <= high + 1e-9)]


def _written(moment: Any, unit: str) -> str:
    text = str(moment).replace("T", " ")
    return f"{text}:00" if unit == "h" else text
