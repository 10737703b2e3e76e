"""The dated column of a table: times, values and inputs, one series for each level of another column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.table.columns import (
    Column,
    column_name,
    convert_column,
    guess_column,
    numbers_in,
)
from posteriori.analysis.table.values import are_whole_days, dates_of
from posteriori.analysis.table.wording import counted
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_clock import as_moments
from posteriori.sequence.series.series_rows import SeriesRows, read_series

__all__ = [
    "DatedSeries",
    "DatedTable",
    "levels_of",
    "read_dated_table",
    "read_moment",
    "read_moments",
]


class DatedSeries(NamedTuple):
    """One series.

    Attributes
    ----------
    name : str
        Its level; empty where nothing divides the table.
    rows : SeriesRows
        Step by step, steps that the table lacks as gaps.
    """

    name: str
    rows: SeriesRows


class DatedTable(NamedTuple):
    """All series of a table.

    Attributes
    ----------
    time, value : Column
    by : Column or None
    inputs : tuple of Column
    series : tuple of DatedSeries
    notes : tuple of str
        What was guessed and done.
    unread : dict from str to str
        Why others of several series are none, as those of two values.
    """

    time: Column
    value: Column
    by: Column | None
    inputs: tuple[Column, ...]
    series: tuple[DatedSeries, ...]
    notes: tuple[str, ...]
    unread: dict[str, str]


def read_dated_table(
    frame: pd.DataFrame,
    time: str,
    value: str,
    by: str | None = None,
    inputs: Sequence[str] = (),
    day_first: bool | None = None,
) -> DatedTable:
    """Read the dated column of a table; whether its dates have the day first may be known.

    Raises
    ------
    ValueError
        When a column is not there, or an entry cannot be read: which row it is, and what to do.
    """
    if frame.empty:
        raise ValueError("the table has no rows")
    time_column = _time_column(frame, time, day_first)
    times = read_moments(frame, time_column)
    y, value_column = _read_values(frame, value)
    known = [_read_input(frame, name) for name in inputs]
    x = np.column_stack([values for values, _ in known]) if known else None
    told = [value_column, *(c for _, c in known)]  # of other kinds notes say that they are left out
    notes = [*time_column.doubts, *(f"{c.name!r}: {c.note}" for c in told if c.note and c.used)]
    by_column = None if by is None else _named(frame, by, "by")
    levels, codes = levels_of(frame, by_column)
    if (codes < 0).any():
        notes.append(f"{counted(int((codes < 0).sum()), 'row')} without {by!r}: left out")
    series, unread, moved = [], {}, False
    for k, level in enumerate(levels):
        rows = np.flatnonzero(codes == k)
        ordered = rows[np.argsort(times[rows], kind="stable")]
        moved |= not np.array_equal(rows, ordered)
        _refuse_repeated(times, ordered, time_column.name, level)
        inputs_here = None if x is None else x[ordered]
        try:
            rows_here = read_series(y[ordered], times[ordered], inputs_here)
        except ValueError as error:
            if by_column is None:
                raise
            unread[level] = str(error)
        else:
            series.append(DatedSeries(level, rows_here))
    if not series:
        level, why = next(iter(unread.items()))
        raise ValueError(f"{why} (series {level!r})")
    if moved:
        notes.append("rows were put in the order of their times")
    return DatedTable(
        time_column,
        value_column,
        by_column,
        tuple(column for _, column in known),
        tuple(series),
        tuple(notes),
        unread,
    )


def read_moments(frame: pd.DataFrame, column: Column) -> Any:
    """Return the times of rows, dates (DatetimeIndex) or numbers (N,), read as the column says.

    Raises
    ------
    ValueError
        When an entry cannot be read: which row it is.
    """
    raw = frame[column.name]
    if column.kind != "date":  # what numbers rows in one table may be a constant in another
        column = guess_column(column.name, raw, orders_rows=column.kind != "number")
    if column.kind == "date":
        years = numbers_in(column, raw)
        _refuse_unread(np.isnan(years), raw, column.name)
        return as_moments(dates_of(years, whole_days=are_whole_days(years)))
    if _is_numeric(raw, column):
        numbers = numbers_in(column, raw) if column.kind == "number" else _plain_numbers(raw)
        _refuse_unread(np.isnan(numbers), raw, column.name)
        return numbers
    found = pd.to_datetime(raw, errors="coerce", format="mixed")
    _refuse_unread(found.isna().to_numpy(), raw, column.name)
    return as_moments(found)


def read_moment(entry: Any, column: Column) -> pd.Timestamp:
    """Return one date, a text as those of the column are read.

    Raises
    ------
    ValueError
        When it is no date.
    """
    if isinstance(entry, int | np.integer):  # 195503, or a year
        entry = str(entry)
    if not isinstance(entry, str):
        return pd.Timestamp(entry)
    try:
        return read_moments(pd.DataFrame({column.name: [entry]}), replace(column, kind="date"))[0]
    except ValueError:  # a year alone, and other forms that columns do not have
        return pd.Timestamp(entry)


def levels_of(frame: pd.DataFrame, by: Column | None) -> tuple[list[str], Array]:
    """Return the levels of a column in their order, and which of them each row has, −1 for none."""
    if by is None:
        return [""], np.zeros(len(frame), dtype=np.int64)
    texts = convert_column(Column(by.name, "category"), frame[by.name])
    codes = texts.cat.codes.to_numpy(np.int64)
    levels = [str(level) for level in texts.cat.categories]
    if not levels:
        raise ValueError(f"by names {by.name!r}, every entry of which is missing")
    return levels, codes


def _time_column(frame: pd.DataFrame, name: str, day_first: bool | None) -> Column:
    """Return the column of times; levels of a category are read like other texts."""
    column = _named(frame, name, "time")
    raw = frame[column.name]
    texts = raw.astype(object) if isinstance(raw.dtype, pd.CategoricalDtype) else raw
    return guess_column(column.name, texts, day_first, orders_rows=True)


def _named(frame: pd.DataFrame, name: str, option: str) -> Column:
    wanted = column_name(name)
    if wanted not in frame.columns:
        there = ", ".join(map(repr, frame.columns[:12]))
        raise ValueError(f"{option} names {wanted!r}, which is no column of the table: {there}")
    return guess_column(wanted, frame[wanted])


def _is_numeric(raw: pd.Series, column: Column) -> bool:
    numeric = pd.api.types.is_numeric_dtype(raw.dtype) and raw.dtype != bool
    return bool(numeric) or column.kind == "number"


def _plain_numbers(raw: pd.Series) -> Array:
    numbers = raw.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _read_values(frame: pd.DataFrame, name: str) -> tuple[Array, Column]:
    """Return values (N,), NaN where missing; infinite ones are refused."""
    column = _named(frame, name, "value")
    raw = frame[column.name]
    if pd.api.types.is_numeric_dtype(raw.dtype):
        values = raw.to_numpy(dtype=np.float64, na_value=np.nan)
        infinite = np.isinf(values)
        if infinite.any():
            row = int(np.argmax(infinite))
            raise ValueError(
                f"{column.name!r} holds {values[row]} in row {row + 1}; leave it empty if it is missing"
            )
        return values, column
    if column.kind == "empty":
        raise ValueError(f"value names {column.name!r}, every entry of which is missing")
    if column.kind not in ("number", "boolean"):
        raise ValueError(
            f"value names {column.name!r}, which holds no numbers but a {column.kind}; name a column of numbers"
        )
    return numbers_in(column, raw), column


def _read_input(frame: pd.DataFrame, name: str) -> tuple[Array, Column]:
    """Return an input (N,); gaps are refused, as inputs must be known."""
    column = _named(frame, name, "inputs")
    numeric = pd.api.types.is_numeric_dtype(frame[column.name].dtype)
    if not numeric and column.kind not in ("number", "boolean"):
        raise ValueError(
            f"inputs names {column.name!r}, which holds no numbers but a {column.kind}; give numbers"
        )
    raw = frame[column.name]
    values = _plain_numbers(raw) if numeric else numbers_in(column, raw)
    _refuse_unread(np.isnan(values), raw, column.name, "must be known: fill it in")
    return values, column


def _refuse_repeated(times: Any, rows: Array, name: str, level: str) -> None:
    sorted_times = times[rows]
    twice = np.asarray(sorted_times[1:] == sorted_times[:-1])
    if not twice.any():
        return
    place = int(np.argmax(twice))
    first, second = sorted((int(rows[place]) + 1, int(rows[place + 1]) + 1))
    where = f" of series {level!r}" if level else ""
    remedy = (
        "add them up, or leave one out" if level else "add them up, or tell series apart with by"
    )
    raise ValueError(
        f"{name!r} holds {sorted_times[place]} in rows {first} and {second}{where}; a series has one value a "
        f"step: {remedy}"
    )


def _refuse_unread(
    wrong: Array, raw: pd.Series, name: str, why: str = "cannot be read as a date or a number"
) -> None:
    if wrong.any():
        row, read = int(np.argmax(wrong)), int(np.argmin(wrong))
        remedy = "" if ":" in why else "; correct it or leave the row out"
        unlike = "" if ":" in why or wrong.all() else f", unlike {_entry(raw, read)}"
        raise ValueError(f"{name!r} holds {_entry(raw, row)}, which {why}{unlike}{remedy}")


def _entry(raw: pd.Series, row: int) -> str:
    """Name an entry and its row."""
    entry = raw.iloc[row]
    plain = entry.item() if isinstance(entry, np.generic) else entry
    return f"{plain!r} in row {row + 1}"
