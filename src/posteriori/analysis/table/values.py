"""What texts in a column mean: truth values, and what numbers and dates have in common.

Each function works on the distinct texts of a column, not on its rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.numerics.types import Array

__all__ = [
    "MISSING_WORDS",
    "MOST",
    "ReadTexts",
    "are_whole_days",
    "dates_of",
    "if_most",
    "read_truths",
    "years_of",
]

#: Words for a missing value, beside the empty text, in small letters.
MISSING_WORDS = frozenset(
    ("", "?", "-", "--", ".", "n/a", "na", "nan", "null", "none", "nil", "#n/a", "<na>", "missing")
)

#: Words that say false and true.
_TRUTHS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on"))

#: A year of the Gregorian calendar, and where decimal years begin to count.
_DAYS_OF_YEAR = 365.2425
_EPOCH = np.datetime64("2000-01-01T00:00:00", "s")

#: Share of the texts that must be understood before a column is read that way.
MOST = 0.95


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
    if not anyway and len(wrong) > (1 - MOST) * len(values):
        return None
    return ReadTexts(values, style, [texts[i] for i in wrong[:3]], remarks)


# -- dates -----------------------------------------------------------------------------------


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
    known = (years >= 1.0) & (years < 10000.0)
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
