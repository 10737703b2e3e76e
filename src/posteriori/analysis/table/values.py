"""What texts in a column mean: numbers, dates, truth values.

Each function works on the distinct texts of a column, not on its rows.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.numerics.types import Array

__all__ = [
    "MISSING_WORDS",
    "ReadTexts",
    "are_whole_days",
    "dates_of",
    "if_most",
    "read_dates",
    "read_truths",
    "years_of",
]

#: Words for a missing value, beside the empty text, in small letters.
MISSING_WORDS = frozenset(
    ("", "?", "-", "--", ".", "n/a", "na", "nan", "null", "none", "nil", "#n/a", "<na>", "missing")
)

#: Words that say false and true.
_TRUTHS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on"))

_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([T ].*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}( .*)?"
    r"|[A-Za-z]{3,9} \d{1,2},? \d{4}( .*)?"
)
_DAY_OR_MONTH_FIRST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})[-/.](\d{2,4})")
_MONTH_NAMED = re.compile(r"(\d{1,2}[ -])?[A-Za-z]{3}")

#: A year of the Gregorian calendar, and where decimal years begin to count.
_DAYS_OF_YEAR = 365.2425
_EPOCH = np.datetime64("2000-01-01T00:00:00", "s")

#: Share of the texts that must be understood before a column is read that way.
_MOST = 0.95


class ReadTexts(NamedTuple):
    """Distinct texts as numbers.

    Attributes
    ----------
    values : (L,)
        NaN for what was not understood.
    style : str
        How they were read; reading new texts in the same style gives the same numbers.
    strange : list of str
        The first texts that were not understood.
    remarks : tuple of str
        What was left out of the texts, and what else they could have meant.
    """

    values: Array
    style: str
    strange: list[str]
    remarks: tuple[str, ...] = ()


def if_most(
    values: Array, style: str, texts: list[str], remarks: tuple[str, ...] = (), *, anyway: bool
) -> ReadTexts | None:
    """Return what was read, unless too little of it was understood."""
    wrong = np.flatnonzero(np.isnan(values))
    if not anyway and len(wrong) > (1 - _MOST) * len(values):
        return None
    return ReadTexts(values, style, [texts[i] for i in wrong[:3]], remarks)


# -- dates -----------------------------------------------------------------------------------


def read_dates(texts: list[str], style: str = "") -> ReadTexts | None:
    """Read dates, with or without time of day, as decimal years; None if most are no dates.

    Parameters
    ----------
    texts : list of str
    style : {"", "day first", "month first", "year first", "month in words"}
        The order of day and month, if it is known.
    """
    looks = np.array([bool(_DATE.fullmatch(text)) for text in texts])
    if not style and looks.mean() < _MOST:
        return None
    chosen, remarks = (style, ()) if style else _date_order(texts)
    likely = [text if good else None for text, good in zip(texts, looks, strict=True)]
    times = pd.to_datetime(
        pd.Series(likely, dtype=object),
        format="mixed",
        dayfirst=chosen == "day first",
        errors="coerce",
        utc=True,
    )
    return if_most(years_of(times), chosen, texts, remarks, anyway=bool(style))


def _date_order(texts: list[str]) -> tuple[str, tuple[str, ...]]:
    """Return what comes first in dates, and what must be said about it.

    Points between day and month are written where the day is first.
    """
    found = [match for text in texts if (match := _DAY_OR_MONTH_FIRST.match(text))]
    if not found:
        named = any(_MONTH_NAMED.match(text) for text in texts)
        return ("month in words" if named else "year first"), ()
    day_first = next((m for m in found if int(m[1]) > 12), None)
    month_first = next((m for m in found if int(m[3]) > 12), None)
    if day_first and month_first:
        both = f"{day_first[0]!r} has the day first, {month_first[0]!r} the month"
        return "day first", (f"{both}: write all of them year first",)
    if day_first or month_first:
        return ("day first" if day_first else "month first"), ()
    points = found[0][2] == "."
    style, other = ("day first", "month first") if points else ("month first", "day first")
    return style, _other_order(found, other)


def _other_order(found: list[re.Match[str]], other: str) -> tuple[str, ...]:
    """Say what a date would be in the other order, if any would be different."""
    example = next((m for m in found if int(m[1]) != int(m[3])), None)
    if example is None:
        return ()
    first, second = int(example[1]), int(example[3])
    month, day = (first, second) if other == "month first" else (second, first)
    year = example[4] if len(example[4]) == 4 else f"20{example[4][-2:]}"
    return (
        f"{other} would fit as well: if {example[0]!r} means {year}-{month:02d}-{day:02d}, "
        "write the dates like that",
    )


def years_of(times: Any) -> Array:
    """Return times as decimal years, NaN where there is none."""
    moments = pd.Series(times)
    if moments.dt.tz is not None:
        moments = moments.dt.tz_convert(None)
    since = (
        moments.to_numpy().astype("datetime64[us]") - _EPOCH
    )  # nanoseconds count 292 years and no further
    return 2000.0 + since / np.timedelta64(1, "D") / _DAYS_OF_YEAR


def dates_of(years: Array, *, whole_days: bool) -> Any:
    """Return decimal years as times, to the day or to the second; none beyond the calendar.

    Parameters
    ----------
    years : (N,)
    whole_days : bool

    Returns
    -------
    (N,) of datetime64[s]

    Examples
    --------
    >>> import pandas as pd
    >>> print(dates_of(years_of(pd.to_datetime(["2024-02-29"])), whole_days=True)[0])
    2024-02-29T00:00:00
    """
    known = (years >= 1.0) & (years < 9999.0)
    days = (np.where(known, years, 2000.0) - 2000.0) * _DAYS_OF_YEAR
    seconds = np.rint(days) * 86400.0 if whole_days else np.rint(days * 86400.0)
    times = _EPOCH + seconds.astype("timedelta64[s]")
    return np.where(known, times, np.datetime64("NaT", "s"))


def are_whole_days(years: Array) -> bool:
    """Tell whether decimal years came from dates without a time of day."""
    days = (years - 2000.0) * _DAYS_OF_YEAR
    return bool((np.abs(days - np.rint(days)) < 1e-6).all())


# -- truth values ----------------------------------------------------------------------------


def read_truths(texts: list[str], style: str = "") -> ReadTexts | None:
    """Read yes and no, true and false, …: None unless all texts are one such pair."""
    small = [text.lower() for text in texts]
    for no, yes in _TRUTHS:
        if (style == yes) if style else set(small) == {no, yes}:
            values = np.array([{no: 0.0, yes: 1.0}.get(text, np.nan) for text in small])
            return if_most(values, yes, texts, anyway=True)
    return None
