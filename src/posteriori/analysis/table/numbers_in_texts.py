"""Numbers in texts: decimal signs, thousands, units, and negative ones in parentheses.

Works on the distinct texts of a column, not on its rows.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import numpy as np

from posteriori.analysis.table.values import ReadTexts, if_most
from posteriori.numerics.types import Array

__all__ = ["read_numbers"]

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
