"""What texts in a column mean: numbers, truth values, and what these and dates have in common.

Each function works on the distinct texts of a column, not on its rows.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.numerics.types import Array

__all__ = [
    "MISSING_WORDS",
    "MOST",
    "YEARS",
    "ReadTexts",
    "are_whole_days",
    "dates_of",
    "if_most",
    "read_numbers",
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

#: The first and the last year that numbers such as 194901 may begin with.
YEARS = (1500, 2200)

#: Share of the texts that must be understood before a column is read that way.
MOST = 0.95


#: Signs of numbers with units, and how numbers are written.
_SIGNS = "$€£¥%"
_TEXT = re.compile(
    r"(?P<open>\()?(?P<minus>[+-]?) ?(?P<before>[$€£¥]?) ?"
    r"(?P<number>[+-]?[\d., ]*\d[.,]?([eE][+-]?\d+)?) ?"
    r"(?P<after>[$€£¥%]|[^\W\d_]\S{0,11}|°\S{0,11})?(?P<close>\))?"
)
_WHOLE = r"[+-]?(\d+|\d{1,3}(\%s\d{3})+|\d{1,3}( \d{3})+)"
_FORMS = {
    "point": re.compile(rf"({_WHOLE % ','}(\.\d*)?|[+-]?\.\d+)([eE][+-]?\d+)?"),
    "comma": re.compile(rf"{_WHOLE % '.'}(,\d+)?|[+-]?,\d+"),
}
_SPACES = str.maketrans(dict.fromkeys("\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\t", " "))


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


# -- numbers: decimal signs, thousands, units, and negative ones in parentheses ---------------


class _Parts(NamedTuple):
    """A text that may be a number: its digits, what stands around them, and its sign."""

    number: str = ""
    signs: str = ""
    unit: str = ""
    in_parentheses: bool = False


def read_numbers(texts: list[str], style: str = "") -> ReadTexts | None:
    """Read texts such as ``1,234.5``, ``$12``, ``12%``, ``3,5``, ``(45)`` or ``60 kg``.

    Parameters
    ----------
    texts : list of str
    style : str
        "point" or "comma", the decimal sign, and the unit if there is one, as in "comma kg", if they
        are known: then any share of numbers will do.

    Returns
    -------
    ReadTexts or None
        None if most texts are no numbers, or have different units.
    """
    parts = [_parts(text) for text in texts]
    known_sign, _, unit = style.partition(" ") if style else ("", "", _usual_unit(parts))
    parts = [part if part.unit in ("", unit) else _Parts() for part in parts]
    signs = [known_sign] if style else ["point", "comma"]
    found = [_read_decimals(parts, sign) for sign in signs]
    best = int(np.argmin([np.isnan(values).sum() for values in found]))
    if not style and _all_in_parentheses(parts):
        return None
    remarks = () if style else (*_removed(parts, unit), *_doubts(texts, found, best))
    chosen = f"{signs[best]} {unit}".strip()
    return if_most(found[best], chosen, texts, remarks, anyway=bool(style))


def _parts(text: str) -> _Parts:
    match = _TEXT.fullmatch(text.translate(_SPACES).replace("\N{MINUS SIGN}", "-"))
    if not match or bool(match["open"]) != bool(match["close"]):
        return _Parts()
    before, after = match["before"], match["after"] or ""
    number = match["minus"] + match["number"].strip()
    in_parentheses = bool(match["open"])
    if in_parentheses and number[0] in "+-":
        return _Parts()
    sign = after if after in _SIGNS else ""
    return _Parts(number, before + sign, "" if sign else after, in_parentheses)


def _usual_unit(parts: list[_Parts]) -> str:
    """Return the unit of more than half of the texts."""
    units = Counter(part.unit for part in parts if part.unit).most_common(1)
    return units[0][0] if units and units[0][1] > 0.5 * len(parts) else ""


def _read_decimals(parts: list[_Parts], sign: str) -> Array:
    """Return the numbers if this is the decimal sign, NaN where it cannot be."""
    form, thousands = _FORMS[sign], "," if sign == "point" else "."
    values = np.full(len(parts), np.nan)
    for place, part in enumerate(parts):
        if form.fullmatch(part.number):
            plain = part.number.replace(" ", "").replace(thousands, "").replace(",", ".")
            values[place] = -float(plain) if part.in_parentheses else float(plain)
    values[np.isinf(values)] = np.nan  # beyond the largest number
    return values


def _all_in_parentheses(parts: list[_Parts]) -> bool:
    """Tell whether there is no other number: then they may be marks such as (1), (2), (3)."""
    return all(part.in_parentheses for part in parts if part.number)


def _removed(parts: list[_Parts], unit: str) -> list[str]:
    """Say what was left out of the texts."""
    signs = sorted({sign for part in parts for sign in part.signs})
    remarks = [f"the sign {sign} is left out" for sign in signs if sign != "%"]
    if len(remarks) > 1:
        remarks.append("amounts of different currencies are not converted")
    if "%" in signs:
        remarks.append("12% is 12")
    if unit:
        remarks.append(f"the unit {unit!r} is left out")
    if any(part.in_parentheses for part in parts):
        remarks.append("(12) is −12")
    return remarks


def _doubts(texts: list[str], found: list[Array], best: int) -> list[str]:
    """Say so if points and commas could have been taken the other way round."""
    one, other = found[best], found[1 - best]
    if np.isnan(one).sum() < np.isnan(other).sum():
        return []
    different = np.flatnonzero((one != other) & ~np.isnan(one) & ~np.isnan(other))
    if not len(different):
        return []
    text, value = texts[different[0]], one[different[0]]
    taken = (
        "commas part thousands here; if they are decimal signs, write points"
        if "," in text
        else "points are decimal signs here; if they part thousands, leave them out"
    )
    return [f"{text!r} is read as {value:.15g}: {taken}"]
