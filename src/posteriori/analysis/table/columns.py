"""What the columns of a table hold: guessed from names and values, stated in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from posteriori.analysis.table.numbers_in_texts import read_numbers
from posteriori.analysis.table.values import (
    MISSING_WORDS,
    ReadTexts,
    read_dates,
    read_truths,
    years_of,
)
from posteriori.analysis.table.wording import counted
from posteriori.numerics.types import Array

__all__ = ["Column", "column_name", "convert_column", "guess_column", "numbers_in", "to_pandas"]

#: Kinds that models can use; the others say why a column is left out.
USED = ("number", "boolean", "date", "category")

#: Categories with more levels than this are pooled.
MANY_LEVELS = 20

#: Levels that are remembered, so that new ones can be told.
_MOST_LEVELS = 1000

_READERS = {"boolean": read_truths, "number": read_numbers, "date": read_dates}
_ID_NAME = re.compile(r"(^|[\W_])(id|index|idx|key|uuid|guid|row|nr|no)$|^unnamed", re.IGNORECASE)
_TIME_NAME = re.compile(r"year|month|week|day|hour|time|date|age|^t$|^x$", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    kind : str
        "number", "boolean", "date" or "category"; or "identifier", "text", "constant", "duplicate",
        "empty" or "dropped", which are left out.
    style : str
        How its texts are read ("comma", "day first", "yes", …); empty for columns of numbers.
    missing, distinct : int
    note : str
        What was guessed, or why the column is left out.
    limits : pair of float, or empty
        The smallest and the largest number or decimal year that was seen.
    levels : tuple of str
        All levels of a category, if these are not too many.
    """

    name: str
    kind: str
    style: str = ""
    missing: int = 0
    distinct: int = 0
    note: str = ""
    limits: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()

    @property
    def used(self) -> bool:
        """Whether models see it."""
        return self.kind in USED


def to_pandas(table: Any) -> pd.DataFrame:
    """Return a table of pandas or polars, a mapping of columns or an array as a DataFrame."""
    if isinstance(table, pd.DataFrame):
        frame = table.copy(deep=False)
    elif hasattr(table, "get_columns"):  # polars
        frame = pd.DataFrame({c.name: _from_polars(c) for c in table.get_columns()})
    elif hasattr(table, "dtype") and getattr(table, "ndim", 0) != 2:
        raise ValueError(f"a table has two axes, got an array of shape {table.shape}")
    else:
        frame = pd.DataFrame(table)
    frame.columns = _distinct_names(str(c).strip() for c in frame.columns)
    return frame


def _from_polars(column: Any) -> Any:
    values = column.to_numpy()
    return values if values.dtype != object else column.to_list()


def _distinct_names(names: Iterable[str]) -> list[str]:
    """Give empty names a number, and repeated ones a suffix."""
    seen: set[str] = set()
    out = []
    for place, name in enumerate(names, start=1):
        chosen, again = name or f"column {place}", 2
        while chosen in seen:
            chosen, again = f"{name or f'column {place}'} ({again})", again + 1
        seen.add(chosen)
        out.append(chosen)
    return out


def column_name(name: Any) -> str:
    """Return the name that :func:`to_pandas` gives to a column: integers become texts.

    Raises
    ------
    ValueError
        When it is no name of a column.
    """
    if isinstance(name, str) or (isinstance(name, Integral) and not isinstance(name, bool)):
        return str(name).strip()
    raise ValueError(f"a column is named by a text or an integer, got {name!r}")


def guess_column(name: str, series: pd.Series) -> Column:
    """Guess what one column holds."""
    if _is_text(series):
        return _guess_texts(name, series)
    kind = _plain_kind(series)
    values = _plain_values(kind, series)
    seen = values[np.isfinite(values)]
    distinct = len(np.unique(seen))
    infinite = int(np.isinf(values).sum())
    column = Column(name, kind, missing=len(values) - len(seen), distinct=distinct)
    if infinite:
        note = f"{counted(infinite, 'infinite entry', 'infinite entries')} taken as missing"
        column = replace(column, note=note)
    if distinct < 2:
        return _without_information(column, seen)
    if kind == "number" and _numbers_rows(name, seen, distinct):
        return replace(
            column, kind="identifier", note="an integer of its own for each row: left out"
        )
    return replace(column, limits=_limits(seen))


def _guess_texts(name: str, series: pd.Series) -> Column:
    codes, texts = _factorize(series)
    missing = int((codes < 0).sum())
    column = Column(name, "category", missing=missing, distinct=len(texts))
    if len(texts) < 2:
        return _without_information(column, np.array(texts))
    declared = isinstance(series.dtype, pd.CategoricalDtype)
    for kind, reader in _READERS.items():
        found = None if declared else reader(texts)
        if found is None:
            continue
        strange = int(np.isin(codes, np.flatnonzero(np.isnan(found.values))).sum())
        return replace(
            column,
            kind=kind,
            style=found.style,
            missing=missing + strange,
            note=_text_note(kind, found, strange),
            limits=_limits(found.values),
        )
    seen = len(codes) - missing
    if seen >= 10 and len(texts) > 0.9 * seen:
        length = float(np.mean([len(text) for text in texts]))
        kind, what = ("text", "free text") if length > 40 else ("identifier", "an identifier")
        return replace(column, kind=kind, note=f"{what}, nearly all rows differ: left out")
    if len(texts) <= _MOST_LEVELS:
        column = replace(column, levels=tuple(texts))
    if len(texts) > MANY_LEVELS:
        note = f"{len(texts)} levels: the {MANY_LEVELS} most frequent are kept apart"
        return replace(column, note=note)
    return column


def _text_note(kind: str, found: ReadTexts, n_strange: int) -> str:
    comma = ", decimal comma" if found.style.startswith("comma") else ""
    notes = [
        {
            "number": f"numbers stored as text{comma}",
            "date": f"dates, {found.style}: used as decimal years",
            "boolean": f"{found.style!r} is 1, the other word 0",
        }[kind],
        *found.remarks,
    ]
    if n_strange:
        some = ", ".join(repr(text[:30]) for text in found.strange)
        entries = counted(n_strange, "entry", "entries")
        notes.append(f"{entries} such as {some} taken as missing")
    return "; ".join(notes)


def _limits(values: Any) -> tuple[float, ...]:
    return (float(np.nanmin(values)), float(np.nanmax(values)))


def _without_information(column: Column, seen: Any) -> Column:
    if not len(seen):
        return replace(column, kind="empty", note="every entry is missing: left out")
    return replace(column, kind="constant", note=f"always {seen[0]!s:.30}: left out")


def _numbers_rows(name: str, seen: Any, distinct: int) -> bool:
    """Tell whether integers only number the rows."""
    if distinct < len(seen) or len(seen) < 10 or (seen != np.floor(seen)).any():
        return False
    if _ID_NAME.search(name):
        return True
    counts_up = bool((np.diff(seen) == 1).all()) and seen[0] in (0, 1)
    return counts_up and not _TIME_NAME.search(name)


# -- values ----------------------------------------------------------------------------------


def convert_column(column: Column, series: pd.Series) -> pd.Series:
    """Return a column as float64 (numbers, decimal years, 0 and 1), or as a pandas category.

    Raises
    ------
    ValueError
        When texts stand where numbers, dates or truth values were seen before.
    """
    if column.kind == "category":
        return _texts_or_missing(series)
    return pd.Series(numbers_in(column, series), index=series.index)


def numbers_in(column: Column, series: pd.Series) -> Array:
    """Return a column of numbers, dates or truth values as float64, (N,); NaN where it is missing."""
    if not _is_text(series):
        values = _plain_values(column.kind, series)
        return np.where(np.isfinite(values), values, np.nan)
    codes, texts = _factorize(series)
    values = _read_again(column, texts)
    if len(texts) and np.isnan(values).all():
        raise ValueError(
            f"column {column.name!r} should hold a {column.kind}, but it holds texts such as "
            f"{texts[0][:30]!r}"
        )
    return np.append(values, np.nan)[codes]


def _read_again(column: Column, texts: list[str]) -> Any:
    found = _READERS[column.kind](texts, column.style or _default_style(column.kind))
    return found.values if found is not None else np.full(len(texts), np.nan)


def _default_style(kind: str) -> str:
    return {"number": "point", "date": "year first", "boolean": "true"}[kind]


def _texts_or_missing(series: pd.Series) -> pd.Series:
    codes, texts = _factorize(series.astype(object))
    return pd.Series(pd.Categorical.from_codes(codes, categories=texts), index=series.index)


def _factorize(series: pd.Series) -> tuple[Any, list[str]]:
    """Return codes (−1 is missing) and the distinct texts, stripped."""
    codes, levels = pd.factorize(series, use_na_sentinel=True)
    texts = [str(level).strip() for level in levels]
    known = [text.lower() not in MISSING_WORDS for text in texts]
    distinct = list(dict.fromkeys(t for t, good in zip(texts, known, strict=True) if good))
    place = {text: k for k, text in enumerate(distinct)}
    new = [place[t] if good else -1 for t, good in zip(texts, known, strict=True)]
    return np.array([*new, -1])[codes], distinct


def _is_text(series: pd.Series) -> bool:
    if isinstance(series.dtype, pd.CategoricalDtype) or series.dtype == object:
        return True
    return pd.api.types.is_string_dtype(series.dtype)


def _plain_kind(series: pd.Series) -> str:
    if pd.api.types.is_bool_dtype(series.dtype):
        return "boolean"
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return "date"
    return "number"


def _plain_values(kind: str, series: pd.Series) -> Any:
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return years_of(series)
    if pd.api.types.is_timedelta64_dtype(series.dtype):
        return (series / pd.Timedelta(days=1)).to_numpy(dtype=np.float64, na_value=np.nan)
    if pd.api.types.is_complex_dtype(series.dtype):
        raise ValueError(f"column {series.name!r} holds complex numbers; give its parts as columns")
    return series.to_numpy(dtype=np.float64, na_value=np.nan)
