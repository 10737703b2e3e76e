"""Axes of charts: where they have ticks, few enough to stand side by side: at round numbers, and at beginnings of years, months, days."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.drawing.measures import short_text, short_texts, text_width
from posteriori.numerics.types import Array

__all__ = [
    "Axis",
    "LETTERS",
    "TickRule",
    "Ticks",
    "axis_ends",
    "date_ticks",
    "days_of",
    "fitting_ticks",
    "number_ticks",
    "printable",
    "round_ticks",
    "tick_texts",
    "ticks_of",
    "whole_ticks",
    "widened",
]

#: From the ends of an axis, and how many ticks it has at most, to their places and texts.
TickRule = Callable[[float, float, int], tuple[Array, list[str]]]

#: Height of all texts of charts, and the room between two of them, in pixels.
LETTERS, _APART = 12.0, 10.0

#: Steps from tick to tick, times a power of ten.
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)

#: No number is drawn farther out: differences stay finite.
_FARTHEST = 8e307

#: A range is none if it is narrower than this, or than this share of its numbers.
_NOTHING, _ROUNDING = 1e-300, 1e-12

#: Numbers between these are written in full.
_SMALLEST, _LARGEST = 1e-4, 1e6

#: From here on thousands stand apart.
_FIVE_DIGITS = 1e4

#: Letters of a name at the side that stand on one line; of longer ones, about half of them.
_ONE_LINE = 24


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


def axis_ends(reach: Sequence[float], low: float | None, high: float | None) -> tuple[float, float]:
    """Return where an axis begins and ends: as stated, or around what it must reach.

    Examples
    --------
    >>> axis_ends([3.0, 13.0], None, None), axis_ends([3.0, 13.0], 0.0, None)
    ((2.5, 13.5), (0.0, 13.65))
    """
    first, last = (min(reach), max(reach)) if reach else (0.0, 1.0)
    first, last = first if low is None else low, last if high is None else high
    if low is not None and high is not None and low != high:
        return low, high
    wide = widened(min(first, last), max(first, last))
    return (
        wide[0] if low is None or low >= wide[1] else low,
        wide[1] if high is None or high <= wide[0] else high,
    )


def fitting_ticks(
    rule: TickRule, ends: tuple[float, float], most: int, room: float
) -> tuple[Array, list[str]]:
    """Return as many ticks as stand side by side in so many pixels, at most so many."""
    places, names = np.zeros(0), [""]
    for count in range(most, 0, -1):
        places, names = rule(min(ends), max(ends), max(count, 2))
        wide = max((text_width(name, LETTERS) for name in names[:count]), default=0.0) + _APART
        if min(len(names), count) * wide <= room:
            return places[:count], names[:count]
    return places[:1], names[:1]


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
    """Write ticks with the digits that tell them apart, with a true minus.

    Thousands stand apart where a tick is 10,000 or more: years have four digits. Zeros at the end of decimals are
    left out.

    Examples
    --------
    >>> tick_texts(np.array([-2.5, 0.0, 2.5])), tick_texts(np.array([0.0, 2e6]))
    (['−2.5', '0', '2.5'], ['0', '2e6'])
    >>> tick_texts(np.array([9000.0, 10000.0])), tick_texts(np.array([1990.0, 2000.0]))
    (['9,000', '10,000'], ['1990', '2000'])
    """
    if not len(ticks):
        return []
    largest = float(np.abs(ticks).max())
    step = float(np.diff(ticks).min()) if len(ticks) > 1 else largest
    if largest and (largest >= _LARGEST or step < _SMALLEST):
        return [_with_exponent(tick, _decimals(step / 10.0 ** _order(largest))) for tick in ticks]
    apart = "," if largest >= _FIVE_DIGITS else ""
    return [_minus(_without_zeros(f"{t + 0.0:{apart}.{_decimals(step)}f}")) for t in ticks]


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


# -- axes ------------------------------------------------------------------------------------


class Axis(NamedTuple):
    """What an axis is of, and how it is written.

    Attributes
    ----------
    label : str
    low, high : float or None
        Ends; by default there is some room around all marks.
    most : int
        Ticks, at most.
    ticks : TickRule
        Where they are, and how they are written.
    places, names : sequence
        Ticks that are no round numbers, and what is written at them.
    longest : int
        Letters of a name; a longer one is cut, and tells itself whole to a pointer that rests on it.
    turned : float
        Degrees by which names are turned, of the axis at the bottom.
    grid : bool
        Whether lines run through the frame at the ticks.
    """

    label: str = ""
    low: float | None = None
    high: float | None = None
    most: int = 5
    ticks: TickRule = number_ticks
    places: Sequence[float] | Array | None = None
    names: Sequence[str] = ()
    longest: int = 26
    turned: float = 0.0
    grid: bool = False


class Ticks(NamedTuple):
    """Where ticks are, the lines that are written there, and the width of the longest in pixels."""

    places: Sequence[float] | Array
    names: Sequence[str]
    lines: Sequence[Sequence[str]]
    width: float


def ticks_of(axis: Axis, ends: tuple[float, float], room: float) -> Ticks:
    """Return the ticks of an axis: as stated, or as many round numbers as stand side by side."""
    places, names = axis.places, axis.names
    if places is None:
        places, names = fitting_ticks(axis.ticks, ends, axis.most, room)
        lines = [_lines(name, 99) for name in names]
    else:
        alone = axis.turned or room < math.inf  # only at the side names have two lines
        most = axis.longest
        lines = [[short_text(name, most)] if alone else _lines(name, most) for name in names]
        if len({*map(tuple, lines)}) < len({*names}):
            apart = short_texts(names, most)
            lines = [[text] if alone else _lines(text, most) for text in apart]
    width = max((text_width(text, LETTERS) for line in lines for text in line), default=0.0)
    return Ticks(places, names, lines, width)


def _lines(name: str, longest: int) -> list[str]:
    """Return a name in one line, or a long one in two, cut at the gap that is nearest to its middle."""
    text = short_text(printable(name), longest)
    gaps = [k for k, letter in enumerate(text) if letter == " "]
    if len(text) <= _ONE_LINE or not gaps:
        return [text]
    middle = min(gaps, key=lambda k: abs(2 * k - len(text)))
    return [text[:middle], text[middle + 1 :]]


def printable(text: str) -> str:
    """Return a text in one line without control codes."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


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
