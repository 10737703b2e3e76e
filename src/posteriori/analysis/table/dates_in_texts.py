"""Dates in texts: each text in its own format, day or month first as the whole column says.

A date that begins with its year, or names its month, can be read in one way. Of two numbers before the year
one is the day: what is above twelve tells which, else equal steps do, else the signs between them. Months such as
194901 or 49-01 are told by a whole column of them, one after another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.table.values import MOST, YEARS, ReadTexts, if_most, years_of
from posteriori.numerics.types import Array, IntArray

__all__ = ["WITHOUT_SIGN", "are_periods", "read_dates"]

_YEAR_FIRST = re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?([T ].*)?")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})[-/.](\d{4}|\d{2})( .*)?")
_MONTH_SECOND = re.compile(r"(\d{1,2})[ -]([A-Za-z]{3,9})[ -](\d{4}|\d{2})( .*)?")
#: Jan 1949, Jan-49, Jan '49, and 1949 Jan.
_MONTH_FIRST = re.compile(r"([A-Za-z]{3,9})(?:[ -](\d{4})|(?:-| ?')(\d{2}))")
_MONTH_LAST = re.compile(r"(\d{4})[ -]([A-Za-z]{3,9})")
_MONTH_NAMED = re.compile(r"([A-Za-z]{3,9}) (\d{1,2}),? (\d{4})( .*)?")
#: Months, quarters and ISO weeks: 1949M01, 1949Q1, 1949-W05.
_PERIOD = re.compile(r"(\d{4})[- ]?([MQqW])(\d{1,2})")
#: Q1 1949.
_QUARTER_FIRST = re.compile(r"[Qq]([1-4])[- ]?(\d{4})")
#: 194901 and 19490131, also as numbers with a point, and 49-01.
_ALONE = re.compile(r"(?:(\d{4})|(\d{2})[-/])(\d{2})(?:(?<=\d{6})(\d{2}))?(?:\.0)?")

#: How a whole column of months such as 194901, or days such as 19490131, is read; years of two digits that lay ahead.
WITHOUT_SIGN = "as "
_AS_MONTHS, _AS_DAYS = "as months", "as days"
_PAST = " of the past century"
#: Steps that months take at least; those of 49-01 go through a year unasked, as codes such as 10-01 may not.
_FEW, _FEW_SHORT = 2, 12

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
#: Years of two digits from here on are of the last century, as in POSIX.
_CENTURY = 69
#: The date that a time of day is read with.
_ANY_DAY = "2000-01-01"
_ORDERS = ("month first", "day first")
#: An order whose dates fill so much of equal steps is right if the other fills less than half of that.
_FILLED = 0.5


class _Text(NamedTuple):
    """The parts of one text.

    Attributes
    ----------
    year : int
    first, second : int
        Month and day; of numbers, as they stand.
    form : {"year", "words", "numbers"}
        What the text begins with, or that its month is a word.
    clock : str
        The time of day.
    sign : str
        Between numbers.
    short : bool
        Whether the year has two digits.
    """

    year: int
    first: int
    second: int
    form: str
    clock: str
    sign: str = ""
    short: bool = False


def read_dates(
    texts: list[str],
    style: str = "",
    day_first: bool | None = None,
    rows: Mapping[str, int] = MappingProxyType({}),
    asked: bool = False,
) -> ReadTexts | None:
    """Read dates, with or without time of day, as decimal years; None if most are no dates.

    Parameters
    ----------
    texts : list of str
    style : str
        As an earlier reading found it: "day first", "month first", "day or month first", "year first",
        "month in words", "as months" or "as days"; "of the past century" follows where years of two digits are.
    day_first : bool, optional
        The order of two numbers before a year, if it is known.
    rows : mapping of str to int
        The first row of each text, counted from one, to be named where texts disagree.
    asked : bool
        Whether dates are asked for: then three months such as 49-01 will do, which may be codes otherwise.

    Examples
    --------
    >>> read_dates(["03.01.2020", "2020-01-12", "13.01.2020"]).style
    'day first'
    """
    manner = style.removesuffix(_PAST)
    alone = manner.startswith(WITHOUT_SIGN) if style else _are_alone(texts, asked=asked)
    parts = [(_alone(text) if alone else None) or _parts(text) for text in texts]
    if not style and np.mean([part is not None for part in parts]) < MOST:
        return None
    past = style.endswith(_PAST) if style else _lie_ahead(parts)
    if past:
        parts = [_a_century_before(part) for part in parts]
    known = manner if manner.endswith("first") and manner != "year first" else ""
    if day_first is not None:
        known = _ORDERS[day_first]
    both = list(zip(texts, parts, strict=True))
    open_ones = [(text, part) for text, part in both if part and part.form == "numbers"]
    order, remarks = (
        (known, ()) if known or not open_ones else _choose_order(open_ones, parts, rows)
    )
    named = "month in words" if any(p and p.form == "words" for p in parts) else "year first"
    days = any(part and part.second > 1 for part in parts)
    found = (_AS_DAYS if days else _AS_MONTHS) if alone else order if open_ones else named
    said = (*_mixed_formats(both, order, rows), *_taken(both, alone, past), *remarks)
    years = years_of(_times(parts, order or _ORDERS[0]))
    return if_most(years, style or found + _PAST * past, texts, said, anyway=bool(style))


def _parts(text: str) -> _Text | None:
    """Return the parts of a text, or None if it is no date."""
    if m := _YEAR_FIRST.fullmatch(text):
        return _Text(int(m[1]), int(m[2]), int(m[3] or 1), "year", m[4] or "")
    if m := _YEAR_LAST.fullmatch(text):
        short = len(m[4]) == 2
        return _Text(_whole_year(m[4]), int(m[1]), int(m[3]), "numbers", m[5] or "", m[2], short)
    if m := _MONTH_SECOND.fullmatch(text):
        year, short = _whole_year(m[3]), len(m[3]) == 2
        return _Text(year, _month(m[2]), int(m[1]), "words", m[4] or "", short=short)
    if m := _MONTH_NAMED.fullmatch(text):
        return _Text(int(m[3]), _month(m[1]), int(m[2]), "words", m[4] or "")
    if m := _MONTH_FIRST.fullmatch(text):
        return _Text(_whole_year(m[2] or m[3]), _month(m[1]), 1, "words", "", short=bool(m[3]))
    if m := _MONTH_LAST.fullmatch(text):
        return _Text(int(m[1]), _month(m[2]), 1, "words", "")
    if m := _QUARTER_FIRST.fullmatch(text):
        return _Text(*_first_day(int(m[2]), "Q", int(m[1])), "year", "")
    if m := _PERIOD.fullmatch(text):
        return _Text(*_first_day(int(m[1]), m[2], int(m[3])), "year", "")
    return None


def _first_day(year: int, sign: str, number: int) -> tuple[int, int, int]:
    """Return year, month and day on which a month, a quarter or an ISO week begins; month 0 for none."""
    if sign != "W":
        return year, number if sign == "M" else 3 * number - 2, 1
    try:
        monday = date.fromisocalendar(year, number, 1)
    except ValueError:
        return year, 0, 0
    return monday.year, monday.month, monday.day


def _whole_year(digits: str) -> int:
    if len(digits) == 4:
        return int(digits)
    return int(digits) + (1900 if int(digits) >= _CENTURY else 2000)


def _month(word: str) -> int:
    """Return the number of a month by its name or the beginning of it; 0 for other words."""
    small = "sep" if word.lower() == "sept" else word.lower()
    return next((k for k, name in enumerate(_MONTHS, 1) if name.startswith(small)), 0)


# -- what only a whole column tells ------------------------------------------------------------


def are_periods(texts: list[str]) -> bool:
    """Tell whether all texts are such as 1949Q1, or all such as 194901, 19490131 or 49-01, one after another.

    Examples
    --------
    >>> are_periods(["194911", "194912", "195001"]), are_periods(["123456", "123457", "123458"])
    (True, False)
    """
    return all(_PERIOD.fullmatch(text) for text in texts) or _are_alone(texts, asked=True)


def _are_alone(texts: list[str], *, asked: bool) -> bool:
    """Tell whether texts are days in their order, or months, most of them the same part of a year apart."""
    parts = [part for text in texts if (part := _alone(text))]
    days = {len(text.removesuffix(".0")) == 8 for text in texts}
    if len(parts) < len(texts) or len(days) > 1:
        return False
    times = _times(list(parts), _ORDERS[0])
    moments = times if days == {True} else times.astype("datetime64[M]")
    steps = np.diff(np.array(list(dict.fromkeys(moments.tolist())), dtype=moments.dtype))
    if np.isnat(times).any() or len(set(np.sign(steps.astype(np.int64)))) > 1:
        return False
    doubtful = not asked and any(part.short for part in parts)
    if len(steps) < (_FEW_SHORT if doubtful else _FEW):
        return False
    if days == {True}:
        return asked
    usual, count = Counter(np.abs(steps.astype(np.int64)).tolist()).most_common(1)[0]
    return 12 % usual == 0 and count > 0.5 * len(steps)


def _alone(text: str) -> _Text | None:
    """Return the parts of a month such as 194901 or 49-01, or of a day such as 19490131; None for others."""
    m = _ALONE.fullmatch(text)
    if not m:
        return None
    year, month, day = _whole_year(m[1] or m[2]), int(m[3]), int(m[4] or 1)
    fits = YEARS[0] <= year <= YEARS[1] and 1 <= month <= 12
    return _Text(year, month, day, "year", "", short=bool(m[2])) if fits else None


def _lie_ahead(parts: list[_Text | None]) -> bool:
    """Tell whether there are years of two digits, and all of them would lie in the future."""
    years = [part.year for part in parts if part and part.short]
    return bool(years) and min(years) > _this_year()


def _this_year() -> int:
    return datetime.now(UTC).year


def _a_century_before(part: _Text | None) -> _Text | None:
    if part is None or not part.short or part.year < 2000:
        return part
    return part._replace(year=part.year - 100)


def _taken(both: list[tuple[str, _Text | None]], alone: bool, past: bool) -> tuple[str, ...]:
    """Say how months and days without a sign, and years of two digits that would lie ahead, are taken."""
    remarks = []
    if alone:
        text, part = next((text, part) for text, part in both if part)
        day = f"-{part.second:02d}" if len(text.removesuffix(".0")) == 8 else ""
        remarks.append(f"{text!r} is {part.year:04d}-{part.first:02d}{day}")
    if past:
        text, part = next((text, part) for text, part in both if part and part.short)
        remarks.append(f"{text!r} is of {part.year}, as all years of two digits would lie ahead")
    return tuple(remarks)


# -- which order -------------------------------------------------------------------------------


def _choose_order(
    open_ones: list[tuple[str, _Text]], parts: list[_Text | None], rows: Mapping[str, int]
) -> tuple[str, tuple[str, ...]]:
    """Return what comes first where two numbers stand before a year, and what must be said of it."""
    day_first = next((text for text, p in open_ones if p.second <= 12 < p.first), None)
    month_first = next((text for text, p in open_ones if p.first <= 12 < p.second), None)
    if day_first and month_first:
        both = (
            f"{_placed(day_first, rows)} has the day first, {_placed(month_first, rows)} the month"
        )
        return "day or month first", (f"{both}: write all of them year first",)
    if day_first or month_first:
        return _ORDERS[bool(day_first)], ()
    example = next(((t, p) for t, p in open_ones if p.first != p.second), None)
    by_sign = _ORDERS[open_ones[0][1].sign == "."]  # points are written where the day is first
    if example is None:
        return by_sign, ()
    by_steps = _order_of_equal_steps(parts)
    if by_steps:
        return by_steps, ("steps are equal in that order",)
    return by_sign, (_other_order(*example, other=_ORDERS[by_sign == "month first"]),)


def _order_of_equal_steps(parts: list[_Text | None]) -> str:
    """Return the order in which dates are equal steps apart, if they are so in one order only."""
    month, day = (_filled(_times(parts, order)) for order in _ORDERS)
    for own, other, order in ((month, day, _ORDERS[0]), (day, month, _ORDERS[1])):
        if own == 1.0 > other or (own >= _FILLED and other < 0.5 * own):
            return order
    return ""


def _filled(times: Array) -> float:
    """Return the share of equal steps, of months or of a fixed time, that have a date; 0 for fewer than three."""
    moments = np.unique(times[~np.isnat(times)])
    if len(moments) < 3:
        return 0.0
    months = moments.astype("datetime64[M]")
    since = moments - months.astype("datetime64[us]")
    monthly = (since == since[0]).all() and len(np.unique(months)) == len(months)
    gaps: IntArray = np.diff(months if monthly else moments).astype(np.int64)
    return len(moments) / (1.0 + gaps.sum() / np.gcd.reduce(gaps))


def _other_order(text: str, found: _Text, other: str) -> str:
    """Say what a date would be in the other order."""
    month, day = _month_and_day(found, other)
    return (
        f"{other} would fit as well: if {text!r} means {found.year:04d}-{month:02d}-{day:02d}, "
        "write the dates like that"
    )


def _mixed_formats(
    both: list[tuple[str, _Text | None]], order: str, rows: Mapping[str, int]
) -> tuple[str, ...]:
    """Say that texts have several formats, if they have."""
    words = {"year": "the year first", "words": "its month in words", "numbers": f"the {order}"}
    examples = {part.form: text for text, part in reversed(both) if part is not None}
    if len(examples) < 2:
        return ()
    told = [f"{_placed(examples[f], rows)} has {words[f]}" for f in words if f in examples]
    return (f"formats are mixed, and each date is read by its own: {', '.join(told)}",)


def _placed(text: str, rows: Mapping[str, int]) -> str:
    """Return a text with the row that it stands in, where that is known."""
    return f"{text!r} in row {rows[text]}" if text in rows else repr(text)


# -- from parts to times -------------------------------------------------------------------------


def _month_and_day(part: _Text, order: str) -> tuple[int, int]:
    """Return month and day of a text; where both orders are in use, the day is first if it can be."""
    swapped = order == "day first" or (order == "day or month first" and part.second <= 12)
    if part.form != "numbers" or not swapped:
        return part.first, part.second
    return part.second, part.first


def _times(parts: list[_Text | None], order: str) -> Any:
    """Return the times of texts in microseconds, (L,); none where a day is not in the calendar."""
    dates = [None if part is None else (part.year, *_month_and_day(part, order)) for part in parts]
    year, month, day = np.array([date or (0, 0, 0) for date in dates]).reshape(-1, 3).T
    possible = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    first = np.where(possible, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    found = first.astype("datetime64[D]") + (day - 1)
    possible &= found.astype("datetime64[M]") == first
    times = found.astype("datetime64[us]") + _times_of_day([p.clock if p else "" for p in parts])
    return np.where(possible, times, np.datetime64("NaT", "us"))


def _times_of_day(clocks: list[str]) -> Any:
    """Return times of day in microseconds, (L,), at Greenwich where texts name a zone."""
    codes, distinct = pd.factorize(np.array([clock.strip("T ") for clock in clocks], dtype=object))
    moments = pd.to_datetime(
        pd.Series([f"{_ANY_DAY} {clock}" if clock else _ANY_DAY for clock in distinct]),
        format="mixed",
        errors="coerce",
        utc=True,
    )
    passed = moments.dt.tz_convert(None).to_numpy().astype("datetime64[us]") - np.datetime64(
        _ANY_DAY
    )
    within = np.abs(passed - np.timedelta64(43_200, "s")) < np.timedelta64(2, "D")
    return np.where(within, passed, np.timedelta64("NaT", "us"))[codes]
