"""What texts in a column mean: numbers, dates, truth values.

Each function works on the distinct texts of a column, not on its rows.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.numerics.types import Array

__all__ = ["MISSING_WORDS", "ReadTexts", "read_dates", "read_numbers", "read_truths", "years_of"]

#: Words for a missing value, beside the empty text, in small letters.
MISSING_WORDS = frozenset(
    ("", "?", "-", "--", ".", "n/a", "na", "nan", "null", "none", "nil", "#n/a", "<na>", "missing")
)

#: Words that say false and true.
_TRUTHS = (("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on"))

_CURRENCY = "$€£¥"
_POINT_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(,\d{3})+)?(\.\d*)?([eE][+-]?\d+)?")
_COMMA_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)?,\d+")
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([T ].*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}( .*)?"
    r"|[A-Za-z]{3,9} \d{1,2},? \d{4}( .*)?"
)
_DAY_OR_MONTH_FIRST = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.]\d{2,4}")

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
    """

    values: Array
    style: str
    strange: list[str]


def read_numbers(texts: list[str], style: str = "") -> ReadTexts | None:
    """Read texts such as ``1,234.5``, ``$12``, ``12%`` or ``3,5``; None if most are no numbers.

    Parameters
    ----------
    texts : list of str
    style : {"", "point", "comma"}
        The decimal sign, if it is known: then any share of numbers will do.
    """
    bare = [_without_units(text) for text in texts]
    signs = [style] if style else ["point", "comma"]
    found = [_read_decimal(bare, sign) for sign in signs]
    best = int(np.argmin([np.isnan(values).sum() for values in found]))
    return _if_most(found[best], signs[best], texts, anyway=bool(style))


def _without_units(text: str) -> str:
    bare = text.replace("\N{NO-BREAK SPACE}", "").replace("\N{MINUS SIGN}", "-").replace(" ", "")
    return bare.strip(_CURRENCY).removesuffix("%").rstrip(_CURRENCY)


def _read_decimal(texts: list[str], sign: str) -> Array:
    form, thousands = (_POINT_NUMBER, ",") if sign == "point" else (_COMMA_NUMBER, ".")
    values = np.full(len(texts), np.nan)
    for place, text in enumerate(texts):
        if form.fullmatch(text) or (sign == "comma" and text.lstrip("+-").isdigit()):
            plain = text.replace(thousands, "").replace(",", ".")
            values[place] = float(plain) if any(c.isdigit() for c in plain) else np.nan
    return values


def read_dates(texts: list[str], style: str = "") -> ReadTexts | None:
    """Read dates, with or without time of day, as decimal years; None if most are no dates.

    Parameters
    ----------
    texts : list of str
    style : {"", "day first", "month first", "year first"}
        The order of day and month, if it is known.
    """
    looks = np.array([bool(_DATE.fullmatch(text)) for text in texts])
    if not style and looks.mean() < _MOST:
        return None
    style = style or _date_order(texts)
    likely = [text if good else None for text, good in zip(texts, looks, strict=True)]
    times = pd.to_datetime(
        pd.Series(likely, dtype=object),
        format="mixed",
        dayfirst=style == "day first",
        errors="coerce",
        utc=True,
    )
    return _if_most(years_of(times), style, texts, anyway=bool(style))


def years_of(times: Any) -> Array:
    """Return times as decimal years, NaN where there is none."""
    moments = pd.Series(times)
    if moments.dt.tz is None:
        moments = moments.dt.tz_localize("UTC")
    days = (moments - pd.Timestamp("2000-01-01", tz="UTC")) / pd.Timedelta(days=1)
    return 2000.0 + days.to_numpy(dtype=np.float64, na_value=np.nan) / 365.2425


def _date_order(texts: list[str]) -> str:
    fields = [match.groups() for text in texts if (match := _DAY_OR_MONTH_FIRST.match(text))]
    if not fields:
        return "year first"
    return "day first" if any(int(first) > 12 for first, _ in fields) else "month first"


def read_truths(texts: list[str], style: str = "") -> ReadTexts | None:
    """Read yes and no, true and false, …: None unless all texts are one such pair."""
    small = [text.lower() for text in texts]
    for no, yes in _TRUTHS:
        if (style == yes) if style else set(small) == {no, yes}:
            values = np.array([{no: 0.0, yes: 1.0}.get(text, np.nan) for text in small])
            return _if_most(values, yes, texts, anyway=True)
    return None


def _if_most(values: Array, style: str, texts: list[str], *, anyway: bool) -> ReadTexts | None:
    wrong = np.flatnonzero(np.isnan(values))
    if not anyway and len(wrong) > (1 - _MOST) * len(values):
        return None
    return ReadTexts(values, style, [texts[i] for i in wrong[:3]])
