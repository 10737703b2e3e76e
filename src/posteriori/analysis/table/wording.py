"""Words of messages: numbers as people read them (thousands apart, a true minus), their nouns, and entries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from posteriori.analysis.table.values import dates_of
from posteriori.drawing.measures import short_text

__all__ = [
    "counted",
    "date_words",
    "entry_text",
    "entry_words",
    "even_number",
    "fixed_number",
    "listed",
    "number_with_error",
    "number_within",
    "one_sentence",
    "probability_words",
    "short_number",
]

#: Numbers that are words; what is none says nothing.
_SPECIAL = {0.0: "0", math.inf: "∞", -math.inf: "−∞"}

#: From here on a sum of log densities is written with an exponent.
_HUGE = 1e6
#: Other numbers are written in full between these.
_SMALLEST, _LARGEST = 1e-4, 1e9
#: Digits of numbers that stand in the data.
_DIGITS = 7


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 row", "1,200 rows", "2 entries".

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "entry", "entries")
    ('1 row', '1,200 rows', '2 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def one_sentence(*clauses: str) -> str:
    """Join clauses that are not empty to a sentence.

    Examples
    --------
    >>> one_sentence("most is clear", "", "ask for more")
    'Most is clear; ask for more.'
    """
    text = "; ".join(clause for clause in clauses if clause)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def listed(texts: Sequence[str], last: str = "and") -> str:
    """Join texts by commas, the last one by a word.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["2", "3"], "or"), listed(["a"])
    ('a, b and c', '2 or 3', 'a')
    """
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def short_number(value: float, digits: int = 4) -> str:
    """Write a number with at most so many significant digits; nothing for NaN.

    Examples
    --------
    >>> short_number(49316.2), short_number(-0.25), short_number(2.2e-16), short_number(1.0)
    ('49,320', '−0.25', '2.2e−16', '1')
    """
    text = even_number(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def even_number(value: float, digits: int = 4) -> str:
    """Write a number with so many significant digits, zeros at the end too: for columns.

    Examples
    --------
    >>> even_number(55.3), even_number(1.0)
    ('55.30', '1.000')
    """
    if not math.isfinite(value) or value == 0.0:
        return _SPECIAL.get(value, "")
    rounded = float(f"{value:.{digits - 1}e}")
    if not _SMALLEST <= abs(rounded) < _LARGEST:
        return _with_exponent(value, 2)
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return _minus(f"{rounded:,.{decimals}f}")


def fixed_number(value: float, decimals: int = 1) -> str:
    """Write a number with so many decimals; one that is huge, with an exponent.

    Examples
    --------
    >>> fixed_number(-1336.42), fixed_number(-0.04), fixed_number(-5.2254e10)
    ('−1,336.4', '0.0', '−5.2e10')
    """
    if not math.isfinite(value):
        return _SPECIAL.get(value, "")
    if abs(value) >= _HUGE:
        return _with_exponent(value, 2)
    return _minus(f"{round(value, decimals) + 0.0:,.{decimals}f}")  # −0.0 + 0.0 = 0.0


def number_with_error(value: float, error: float) -> str:
    """Write a number ± its error, with decimals where the error is below ten; a huge one alone.

    Examples
    --------
    >>> number_with_error(-43.12, 9.7), number_with_error(-3167.3, 54.4)
    ('−43.1 ± 9.7', '−3,167 ± 54')
    >>> number_with_error(-5.2e10, 2.3e10)
    '−5.2e10'
    """
    if math.isnan(error) or not abs(value) < _HUGE:
        return fixed_number(value)
    decimals = 1 if error < 10.0 else 0
    return f"{fixed_number(value, decimals)} ± {fixed_number(error, decimals)}"


def number_within(value: float, spread: float, kind: str = "number", digits: int = 3) -> str:
    """Write a number with so many digits, or as many as tell it from others in a spread; codes without commas.

    Examples
    --------
    >>> number_within(1954.3, 14.0), number_within(1954.3, 14.0, "code"), number_within(20.31, 14.0)
    ('1,954', '1954', '20.3')
    """
    if 0.0 < spread < math.inf and 0.0 < abs(value) < math.inf:
        digits = max(
            digits, 2 + math.floor(math.log10(abs(value))) - math.floor(math.log10(spread))
        )
    text = short_number(value, min(digits, 15))
    return text.replace(",", "") if kind == "code" else text


def probability_words(p: float) -> str:
    """Write a probability; one that is all but certain as such.

    Examples
    --------
    >>> probability_words(0.973), probability_words(0.9999), probability_words(2e-9)
    ('0.97', '> 0.99', '< 0.01')
    """
    if p > 0.99:
        return "> 0.99"
    return "< 0.01" if p < 0.01 else f"{p:.2f}"


def date_words(year: float) -> str:
    """Write a decimal year as a day; nothing for NaN."""
    return "" if np.isnan(year) else str(dates_of(np.array([year]), whole_days=True)[0])[:10]


def entry_words(kind: str, value: Any) -> str:
    """Write the entry of a column that is written so (:attr:`Column.written`); nothing where it is missing.

    Examples
    --------
    >>> entry_words("number", 2.50), entry_words("category", "red"), entry_words("number", np.nan)
    ('2.5', 'red', '')
    >>> entry_words("number", 2008), entry_words("code", 2008), entry_words("code", 10115.5)
    ('2,008', '2008', '10115.5')
    """
    if value != value:
        return ""
    if kind == "category":
        return str(value)
    if kind == "code":
        return short_number(round(value, 1), 15).replace(",", "")
    return date_words(value) if kind == "date" else short_number(value)


def entry_text(value: Any, kind: str) -> str:
    """Write an entry of a converted column as a person would."""
    if pd.isna(value):
        return "missing"
    if kind == "category":
        return short_text(str(value))
    if kind == "boolean":
        return "yes" if value else "no"
    return short_number(float(value), _DIGITS) if kind == "number" else entry_words(kind, value)


def _with_exponent(value: float, digits: int) -> str:
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return _minus(f"{mantissa}e{int(exponent)}")


def _minus(text: str) -> str:
    return text.replace("-", "−")
