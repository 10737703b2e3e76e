"""Where an axis has ticks, few enough to stand side by side: at round numbers, and at beginnings of years, months, days."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from posteriori.numerics.types import Array

__all__ = [
    "TickRule",
    "date_ticks",
    "days_of",
    "number_ticks",
    "round_ticks",
    "tick_texts",
    "whole_ticks",
    "widened",
]

#: From the ends of an axis, and how many ticks it has at most, to their places and texts.
TickRule = Callable[[float, float, int], tuple[Array, list[str]]]

#: Steps from tick to tick, times a power of ten.
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)

#: No number is drawn farther out: differences stay finite.
_FARTHEST = 8e307

#: A range is none if it is narrower than this, or than this share of its numbers.
_NOTHING, _ROUNDING = 1e-300, 1e-12

#: Numbers between these are written in full.
_SMALLEST, _LARGEST = 1e-4, 1e6


def widened(low: float, high: float, margin: float = 0.05) -> tuple[float, float]:
    """Return ends with room around them; those of a single number lie about it.

    Examples
    --------
    >>> widened(0.0, 10.0), widened(3.0, 3.0, 0.0)
    ((-0.5, 10.5), (2.85, 3.15))
    """
    low, high = (min(max(end, -_FARTHEST), _FARTHEST) for end in (low, high))
    size = max(abs(low), abs(high))
    if high - low <= max(_NOTHING, _ROUNDING * size):
        around = 0.05 * size or 0.05
        return low - around, high + around
    return low - margin * (high - low), high + margin * (high - low)


def number_ticks(low: float, high: float, most: int) -> tuple[Array, list[str]]:
    """Return round numbers between two ends, and how they are written."""
    places = round_ticks(low, high, most)
    return places, tick_texts(places)


def whole_ticks(low: float, high: float, most: int) -> tuple[Array, list[str]]:
    """Return whole numbers between two ends, and how they are written."""
    places = round_ticks(low, high, most, whole=True)
    return places, tick_texts(places)


def round_ticks(low: float, high: float, most: int = 5, *, whole: bool = False) -> Array:
    """Return the multiples of 1, 2, 2.5 or 5 times a power of ten between two ends, at most so many.

    Parameters
    ----------
    low, high : float
        ``low < high``.
    most : int
        At least 2.
    whole : bool
        Whether they are whole numbers.

    Examples
    --------
    >>> round_ticks(0.0, 1.0), round_ticks(37.0, 412.0, most=4)
    (array([0.  , 0.25, 0.5 , 0.75, 1.  ]), array([100., 200., 300., 400.]))
    >>> round_ticks(0.0, 3.2, whole=True)
    array([0., 1., 2., 3.])
    """
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (times * power * scale for scale in (1.0, 10.0) for times in _STEPS):
        if whole and step != max(math.floor(step), 1.0):
            continue
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return step * np.arange(first, last + 1.0)
    return np.array([math.ceil(low)], dtype=np.float64)


def tick_texts(ticks: Array) -> list[str]:
    """Write ticks with the digits that tell them apart, thousands apart and with a true minus.

    Zeros at the end of decimals are left out.

    Examples
    --------
    >>> tick_texts(np.array([-2.5, 0.0, 2.5])), tick_texts(np.array([0.0, 2e6]))
    (['−2.5', '0', '2.5'], ['0', '2e6'])
    >>> tick_texts(np.array([9000.0, 10000.0]))
    ['9,000', '10,000']
    """
    if not len(ticks):
        return []
    largest = float(np.abs(ticks).max())
    step = float(np.diff(ticks).min()) if len(ticks) > 1 else largest
    if largest and (largest >= _LARGEST or step < _SMALLEST):
        return [_with_exponent(tick, _decimals(step / 10.0 ** _order(largest))) for tick in ticks]
    return [_minus(_without_zeros(f"{tick + 0.0:,.{_decimals(step)}f}")) for tick in ticks]


def _order(size: float) -> int:
    return math.floor(math.log10(size))


def _decimals(step: float) -> int:
    """Return how many decimals multiples of a step have."""
    if step <= 0.0:
        return 0
    first = max(0, -_order(step))
    return next((d for d in range(first, first + 3) if _is_whole(step * 10.0**d)), first)


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-6 * max(abs(value), 1.0)


def _with_exponent(tick: float, decimals: int) -> str:
    if tick == 0.0:
        return "0"
    mantissa, exponent = f"{tick:.{decimals}e}".split("e")
    return _minus(f"{_without_zeros(mantissa)}e{int(exponent)}")


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _minus(text: str) -> str:
    return text.replace("-", "−")


# -- dates -----------------------------------------------------------------------------------

#: Steps from tick to tick, the finest first: how many of which unit.
_DATE_STEPS = (
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
    for count, unit in _DATE_STEPS:
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
