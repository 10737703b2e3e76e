"""What the columns of a table hold, and which repeat others: guessed from names and values, stated in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from posteriori.analysis.table.dates_in_texts import (
    WITHOUT_SIGN,
    are_periods,
    read_dates,
)
from posteriori.analysis.table.values import (
    MISSING_WORDS,
    YEARS,
    ReadTexts,
    read_numbers,
    read_truths,
    years_of,
)
from posteriori.analysis.table.wording import counted
from posteriori.numerics.types import Array

__all__ = [
    "Column",
    "column_name",
    "convert_column",
    "could_be_dates",
    "describe_columns",
    "guess_column",
    "numbers_in",
]

#: Kinds that models can use; the others say why a column is left out.
USED = ("number", "boolean", "date", "category")

#: Of categories with more levels than this it is said how many they have; models that give each level
#: a column of its own keep so many apart.
MANY_LEVELS = 20

#: Levels that are remembered, so that new ones can be told.
_MOST_LEVELS = 1000

#: With fewer known entries, columns may be functions of one another by chance.
_FEWEST_ROWS = 5

#: Largest difference of standardised columns that are the same up to scale.
_SAME = 1e-8

_READERS = {"boolean": read_truths, "number": read_numbers, "date": read_dates}
#: How texts are read where a column had none.
_STYLES = {"boolean": "true", "number": "point", "date": "year first"}
_ID_NAME = re.compile(r"(^|[\W_])(id|index|idx|key|uuid|guid|row|nr|no)$|^unnamed", re.IGNORECASE)
_CODE_NAME = re.compile(
    r"(^|[\W_])(id|code|year)$|(zip|plz|post(al)?[\W_]?code|zipcode)$", re.IGNORECASE
)
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
    remarks : tuple of str
        What else its entries could have meant; they are in the note too.
    """

    name: str
    kind: str
    style: str = ""
    missing: int = 0
    distinct: int = 0
    note: str = ""
    limits: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def used(self) -> bool:
        """Whether models see it."""
        return self.kind in USED

    @property
    def written(self) -> str:
        """How its numbers are written: as its kind, or as a "code", whose thousands are not set apart.

        Codes are whole numbers between 1500 and 2200, such as years, and those whose name says so.
        """
        if self.kind != "number" or not self.limits:
            return self.kind
        low, high = self.limits
        whole = low == int(low) and high == int(high) and self.distinct <= high - low + 1.0
        named = _CODE_NAME.search(self.name) is not None
        return "code" if whole and (named or 1500 <= low <= high <= 2200) else "number"

    @property
    def doubts(self) -> tuple[str, ...]:
        """What must be said of dates or numbers that rows are ordered by: how they are read, and why."""
        if self.kind not in ("date", "number") or not self.remarks:
            return ()
        read = f"dates are read {self.style}; " if self.kind == "date" else ""
        return (f"{self.name!r}: {read}{'; '.join(self.remarks)}{_choice(self.remarks)}",)


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


def guess_column(
    name: str, series: pd.Series, day_first: bool | None = None, *, orders_rows: bool = False
) -> Column:
    """Guess what one column holds.

    Parameters
    ----------
    name : str
    series : Series
    day_first : bool, optional
        Whether dates have the day first, if it is known.
    orders_rows : bool
        Whether it was named as the column of times: then numbers that follow as months, such as 194901,
        are dates.
    """
    if orders_rows and are_periods(_factorize(series)[1]):
        return _guess_texts(name, series, {"date": partial(read_dates, asked=True)})
    if _is_text(series):
        return _guess_texts(
            name, series, {**_READERS, "date": partial(read_dates, day_first=day_first)}
        )
    kind = _plain_kind(series)
    values = _plain_values(kind, series)
    seen = values[np.isfinite(values)]
    distinct = len(np.unique(seen))
    infinite = int(np.isinf(values).sum())
    column = Column(name, kind, missing=len(values) - len(seen), distinct=distinct)
    remarks = could_be_dates(seen) if kind == "number" and distinct > 1 else ()
    taken = (f"{counted(infinite, 'infinite entry', 'infinite entries')} taken as missing",)
    column = replace(column, note="; ".join(remarks + taken * bool(infinite)), remarks=remarks)
    if distinct < 2:
        return _without_information(column, seen)
    if kind == "number" and _numbers_rows(name, seen, distinct):
        return replace(
            column, kind="identifier", note="an integer of its own for each row: left out"
        )
    return replace(column, limits=_limits(seen))


def _guess_texts(
    name: str, series: pd.Series, readers: Mapping[str, Callable[..., ReadTexts | None]]
) -> Column:
    codes, texts = _factorize(series)
    missing = int((codes < 0).sum())
    column = Column(name, "category", missing=missing, distinct=len(texts))
    if len(texts) < 2:
        return _without_information(column, np.array(texts))
    rows = {"rows": _first_rows(codes, texts)}
    declared = isinstance(series.dtype, pd.CategoricalDtype)
    for kind, reader in readers.items():
        found = None if declared else reader(texts, **(rows if kind == "date" else {}))
        if found is None:
            continue
        if kind == "number":
            doubts = could_be_dates(found.values[np.isfinite(found.values)])
            found = found._replace(remarks=(*found.remarks, *doubts))
        strange = int(np.isin(codes, np.flatnonzero(np.isnan(found.values))).sum())
        return replace(
            column,
            kind=kind,
            style=found.style,
            missing=missing + strange,
            note=_text_note(kind, found, strange, rows["rows"]),
            limits=_limits(found.values),
            remarks=found.remarks,
        )
    seen = len(codes) - missing
    if seen >= 10 and len(texts) > 0.9 * seen:
        length = float(np.mean([len(text) for text in texts]))
        kind, what = ("text", "free text") if length > 40 else ("identifier", "an identifier")
        return replace(column, kind=kind, note=f"{what}, nearly all rows differ: left out")
    if len(texts) <= _MOST_LEVELS:
        column = replace(column, levels=tuple(texts))
    if len(texts) > MANY_LEVELS:
        note = f"{len(texts)} levels: groups, whose effects have a common spread"
        return replace(column, note=note)
    return column


def could_be_dates(numbers: Array) -> tuple[str, ...]:
    """Say so if all numbers could be months such as 194901 or 1949.01, or days such as 19490131.

    Examples
    --------
    >>> could_be_dates(np.array([194901.0, 195503.0]))
    ('numbers such as 194901 could be dates: if they are, write 1949-01',)
    """
    whole = bool((numbers == np.floor(numbers)).all())
    if not whole and not (np.abs(numbers) <= YEARS[1] + 1.0).all():
        return ()
    hundreds = numbers if whole else np.rint(100.0 * numbers)  # 1949.01
    if not whole and np.abs(100.0 * numbers - hundreds).max() > 1e-6:
        return ()
    first = np.ones_like(hundreds)
    for months, days in ((hundreds, first), (hundreds // 100, hundreds % 100))[: 1 + whole]:
        year, month = months // 100, months % 100
        fit = (year >= YEARS[0]) & (year <= YEARS[1]) & (month >= 1) & (month <= 12)
        if (fit & (days >= 1) & (days <= 31)).all():
            day = "" if months is hundreds else f"-{days[0]:02.0f}"
            shown = f"{numbers[0]:.{0 if whole else 2}f}"
            written = f"{year[0]:.0f}-{month[0]:02.0f}{day}"
            return (f"numbers such as {shown} could be dates: if they are, write {written}",)
    return ()


def _first_rows(codes: Any, texts: list[str]) -> dict[str, int]:
    """Return the row that each text stands in first, counted from one."""
    levels, first = np.unique(codes, return_index=True)
    return {texts[k]: int(row) + 1 for k, row in zip(levels, first, strict=True) if k >= 0}


def _text_note(kind: str, found: ReadTexts, n_strange: int, rows: Mapping[str, int]) -> str:
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
        some = ", ".join(f"{text[:30]!r} in row {rows[text]}" for text in found.strange)
        entries = counted(n_strange, "entry", "entries")
        notes.append(f"{entries} such as {some} taken as missing")
    if kind == "date":
        notes[-1 - bool(n_strange)] += _choice(found.remarks)
    return "; ".join(notes)


def _choice(remarks: Sequence[str]) -> str:
    """Return what can be done about dates that both orders fit."""
    chosen = any("would fit as well" in remark for remark in remarks)
    return ", or choose the order with day_first" if chosen else ""


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
    counts_up = seen[0] in (0, 1) and np.array_equal(seen, seen[0] + np.arange(len(seen)))
    return counts_up and not _TIME_NAME.search(name)


# -- values ----------------------------------------------------------------------------------


def convert_column(column: Column, series: pd.Series) -> pd.Series:
    """Return a column as float64 (numbers, decimal years, 0 and 1), or as a pandas category.

    Raises
    ------
    ValueError
        When texts stand where numbers, dates or truth values were seen before.
    """
    if column.kind != "category":
        return pd.Series(numbers_in(column, series), index=series.index)
    codes, texts = _factorize(series.astype(object))
    return pd.Series(pd.Categorical.from_codes(codes, categories=texts), index=series.index)


def numbers_in(column: Column, series: pd.Series) -> Array:
    """Return a column of numbers, dates or truth values as float64, (N,); NaN where it is missing."""
    if not _is_text(series) and not column.style.startswith(WITHOUT_SIGN):
        values = _plain_values(column.kind, series)
        return np.where(np.isfinite(values), values, np.nan)
    codes, texts = _factorize(series)
    style = column.style or _STYLES[column.kind]
    found = _READERS[column.kind](texts, style)
    values = np.full(len(texts), np.nan) if found is None else found.values
    if len(texts) and np.isnan(values).all():
        raise ValueError(
            f"column {column.name!r} should hold a {column.kind}, but it holds texts such as "
            f"{texts[0][:30]!r}"
        )
    return np.append(values, np.nan)[codes]


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


# -- all columns of a table --------------------------------------------------------------------


def describe_columns(
    frame: pd.DataFrame,
    drop: str | Iterable[str] = (),
    target: str | None = None,
    day_first: bool | None = None,
) -> list[Column]:
    """Guess the kind of every column but the target; of those that say the same the first is used."""
    dropped = [column_name(name) for name in ([drop] if isinstance(drop, str) else drop)]
    for name in dropped:
        if name not in frame.columns:
            raise ValueError(f"drop names {name!r}, which is no column of the table")
    columns = [
        Column(name, "dropped", note="left out as asked")
        if name in dropped
        else guess_column(name, frame[name], day_first)
        for name in frame.columns
        if name != target
    ]
    columns = _without(columns, _repeats(frame, columns), "repeats {!r}: left out")
    again = _scaled_repeats(frame, columns)
    return _without(columns, again, "repeats {!r} up to scale: left out")


def _without(columns: list[Column], again: dict[str, str], note: str) -> list[Column]:
    return [
        replace(column, kind="duplicate", note=note.format(again[column.name]))
        if column.name in again
        else column
        for column in columns
    ]


def _repeats(frame: pd.DataFrame, columns: list[Column]) -> dict[str, str]:
    """Return which columns have the content of an earlier one, and of which."""
    first: dict[tuple[int, int, int], str] = {}
    again = {}
    for column in columns:
        if column.used:
            digest = int(pd.util.hash_pandas_object(frame[column.name], index=False).sum())
            key = (digest, column.missing, column.distinct)
            if key in first and _same(frame[column.name], frame[first[key]]):
                again[column.name] = first[key]
            first.setdefault(key, column.name)
    return again


def _same(one: pd.Series, other: pd.Series) -> bool:
    return bool(((one == other) | (one.isna() & other.isna())).all())


def _scaled_repeats(frame: pd.DataFrame, columns: list[Column]) -> dict[str, str]:
    """Return which columns are a + b·x of an earlier column x, and of which.

    Standardised columns with the same projection on a random direction are compared in full.
    """
    direction = np.random.default_rng(0).standard_normal(len(frame))
    numbers = [c for c in columns if c.used and c.kind != "category"]
    if not numbers:
        return {}
    prints = np.array([_fingerprint(column, frame, direction) for column in numbers])
    near = 2.0 * _SAME * len(frame)  # |r·(z − z′)| ≤ |r| |z − z′|, and |r| is about √N
    first, *others = np.argsort(prints).tolist()
    groups = [[first]]
    for k in others:
        last = groups[-1][-1]
        if prints[k] - prints[last] <= near and _same_up_to_scale(numbers[last], numbers[k], frame):
            groups[-1].append(k)
        else:
            groups.append([k])
    return {
        numbers[k].name: numbers[min(group)].name
        for group in groups
        for k in group
        if k != min(group)
    }


def _fingerprint(column: Column, frame: pd.DataFrame, direction: Array) -> float:
    """Return |rᵀz| of a standardised column z, NaN where too little of it is known."""
    z = _standardised(column, frame)
    known = np.isfinite(z)
    return abs(float(direction[known] @ z[known])) if known.sum() >= _FEWEST_ROWS else np.nan


def _standardised(column: Column, frame: pd.DataFrame) -> Array:
    """Return a column with mean 0 and variance 1, (N,); what is missing stays NaN."""
    x = numbers_in(column, frame[column.name])
    known = ~np.isnan(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        x = x / np.abs(x[known]).max(initial=0.0)  # keeps squares in range
        seen = x[known]
        return np.asarray((x - seen.mean()) / seen.std())


def _same_up_to_scale(first: Column, second: Column, frame: pd.DataFrame) -> bool:
    one, other = _standardised(first, frame), _standardised(second, frame)
    if not np.array_equal(np.isnan(one), np.isnan(other)):
        return False
    return any(np.nanmax(np.abs(one - sign * other)) < _SAME for sign in (1.0, -1.0))
