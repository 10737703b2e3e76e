"""The rows of a table as hidden chains take them: series of numbers and codes, gaps left open."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.fitting.coded_rows import encode_rows, open_rows, refuse_no_column
from posteriori.analysis.fitting.preparation import CodeColumns
from posteriori.analysis.saved.segment_model import MOST_LENGTH, recode
from posteriori.analysis.table.columns import (
    Column,
    column_name,
    describe_columns,
    guess_column,
    numbers_in,
)
from posteriori.analysis.table.series import Arrangement, arrange_rows
from posteriori.analysis.table.wording import counted, date_words
from posteriori.numerics.types import Array

__all__ = [
    "SegmentRows",
    "most_states",
    "numbers_of_states",
    "place_words",
    "read_series",
    "step_places",
    "with_min_length",
]


#: Kinds that can tell times, and as what.
_TIMES = {"number": "number", "date": "date", "identifier": "number"}

#: What styles say of the order of dates.
_DAY_FIRST = {"day first": True, "month first": False}

#: Rows that a column counts, at least, to be taken as their order without being asked for.
_COUNTED = 10


class SegmentRows(NamedTuple):
    """Series to be segmented.

    Attributes
    ----------
    columns : tuple of Column
        All columns of the table.
    used : tuple of Column
        What states are told by.
    time, by : Column or None
    frame : DataFrame
        Converted columns, in the order of the table.
    encoder : CodeColumns
        Makes numbers of them.
    symbols : mapping from place to codes
        Of categories that occur.
    arrangement : Arrangement
    x : (ΣT, D)
        Steps of all series: numbers within what rounding leaves open, codes, NaN for gaps.
    notes : tuple of str
    min_length : int
        Rows that a run of a state lasts at least.
    """

    columns: tuple[Column, ...]
    used: tuple[Column, ...]
    time: Column | None
    by: Column | None
    frame: pd.DataFrame
    encoder: CodeColumns
    symbols: dict[int, tuple[float, ...]]
    arrangement: Arrangement
    x: Array
    notes: tuple[str, ...]
    min_length: int = 1

    @property
    def dated(self) -> bool:
        """Whether rows are ordered by dates."""
        return self.time is not None and self.time.kind == "date"


def read_series(
    frame: pd.DataFrame,
    names: Iterable[str] | str | None,
    time: str | None,
    by: str | None,
    seed: int,
    day_first: bool | None = None,
) -> SegmentRows:
    """Convert the columns of a table, and put its rows in order.

    Parameters
    ----------
    frame : DataFrame
    names : iterable of str, optional
        Columns that states are told by; by default all that hold numbers, truth values or categories.
    time, by : str, optional
        Columns of the order and of the series; a single column of dates is the time by default, or of years
        that rise from row to row, or of numbers that count the rows.
    seed : int
    day_first : bool, optional
        The order of dates such as 01/02/2020; by default as they themselves tell.

    Raises
    ------
    ValueError
        When a name is unknown, no column is left, or there are too few rows.
    """
    if frame.empty:
        raise ValueError("the table has no rows")
    columns = describe_columns(frame, day_first=day_first)
    known = {c.name: c for c in columns}
    wanted = [names] if isinstance(names, str) else None if names is None else list(names)
    time_column, guessed = _time_of(frame, known, time, {by, *(wanted or ())})
    by_column = None if by is None else _named(frame, known, by, "by")
    used = _used_columns(frame, known, wanted, time_column, by_column)
    arrangement = arrange_rows(frame, time_column, by_column)
    converted, encoder, codes = encode_rows(frame, used)
    symbols = {
        place: tuple(np.unique(codes[~np.isnan(codes[:, place]), place]).tolist())
        for place, c in enumerate(used)
        if c.kind in ("boolean", "category")
    }
    x = open_rows(arrangement.spread(recode(codes, symbols)), used, seed)
    doubts = () if time_column is None else time_column.doubts
    notes = (
        *guessed,
        *doubts,
        *(f"{c.name!r}: {c.note}" for c in used if c.note),
        *arrangement.notes,
    )
    left = (*_gap_notes(codes), *_left_out(columns, used, (time_column, by_column)))
    return SegmentRows(
        tuple(columns),
        tuple(used),
        time_column,
        by_column,
        converted,
        encoder,
        symbols,
        arrangement,
        x,
        (*notes, *left),
    )


def numbers_of_states(rows: SegmentRows, states: Any) -> tuple[range, str]:
    """Return the numbers of states to try, and a note if these are fewer than wanted.

    Parameters
    ----------
    rows : SegmentRows
    states : int or pair of int
        The number, or the smallest and the largest one.
    """
    low, high = (states, states) if isinstance(states, int) else tuple(states)
    if not 1 <= low <= high:
        raise ValueError(
            f"states must be a number >= 1 or a range such as 1-8, from small to large; got {states!r}"
        )
    seen, sensible = _n_seen(rows), most_states(rows)
    if low == high or high <= sensible:
        if high > seen:
            raise ValueError(f"{counted(seen, 'row')} cannot show {high} states; ask for fewer")
        return range(low, high + 1), ""
    note = f"{counted(seen, 'row')} can tell at most {sensible} states apart: no more were tried"
    return range(min(low, sensible), sensible + 1), note


def most_states(rows: SegmentRows) -> int:
    """Return how many states the rows can tell apart."""
    return max(1, int(np.ceil(np.sqrt(_n_seen(rows)))))


def _n_seen(rows: SegmentRows) -> int:
    return int((~np.isnan(rows.x)).any(axis=1).sum())


def step_places(rows: SegmentRows, series: int) -> tuple[Array, str]:
    """Return where the steps of a series are, and what that is called."""
    arrangement, time = rows.arrangement, rows.time
    mine = arrangement.series[series].rows
    if arrangement.times is None or time is None:
        return np.arange(1.0, len(mine) + 1.0), "row"
    places, known = np.arange(len(mine), dtype=np.float64), mine >= 0
    times = np.interp(places, places[known], arrangement.times[mine[known]])
    return times, time.name


def place_words(rows: SegmentRows, place: float) -> str:
    """Write where a step is: a day, or a number that needs no commas."""
    return date_words(place) if rows.dated else f"{place:.6g}"


def with_min_length(rows: SegmentRows, least: Any) -> SegmentRows:
    """Return the rows, runs of whose states last at least so many.

    Raises
    ------
    ValueError
        When it is no number of rows, or larger than the longest series.
    """
    longest = int(rows.arrangement.lengths.max())
    most = min(MOST_LENGTH, longest)
    if type(least) is not int or not 1 <= least <= most:
        raise ValueError(
            f"min_length must be a whole number of rows from 1 to {most} for series of up to "
            f"{counted(longest, 'step')}; got {least!r}"
        )
    return rows._replace(min_length=least)


def _time_of(
    frame: pd.DataFrame, known: dict[str, Column], time: str | None, others: Collection[str | None]
) -> tuple[Column | None, tuple[str, ...]]:
    """Return the column of times, and what was guessed."""
    if time is not None:
        column = _named(frame, known, time, "time")
        if column.kind not in _TIMES:
            raise ValueError(f"time names {column.name!r}, which holds neither numbers nor dates")
        if column.kind != "date":
            column = guess_column(column.name, frame[column.name], orders_rows=True)
        return replace(column, kind=_TIMES[column.kind]), ()
    free = [c for c in known.values() if c.name not in others]
    dates = [c for c in free if c.kind == "date"]
    if len(dates) == 1:
        return dates[0], (f"rows are ordered by {dates[0].name!r}, the only column of dates",)
    why = {} if dates else {c.name: _how_it_rises(c, frame) for c in free if c.kind == "number"}
    rising = [name for name, words in why.items() if words]
    if len(rising) == 1:
        time_column, _ = _time_of(frame, known, rising[0], others)
        return time_column, (f"rows are ordered by {rising[0]!r}, {why[rising[0]]}",)
    return None, ()


def _how_it_rises(column: Column, frame: pd.DataFrame) -> str:
    """Say whether a column holds years, each row's later than those before, or counts the rows; else nothing."""
    steps = np.diff(numbers_in(column, frame[column.name]))
    years = column.written == "code" and 1500 <= column.limits[0] <= column.limits[1] <= 2200
    if years and (steps > 0.0).all():
        return "whose years follow one another"
    return "which counts the rows" if len(frame) >= _COUNTED and (steps == 1.0).all() else ""


def _named(frame: pd.DataFrame, known: dict[str, Column], name: str, option: str) -> Column:
    """Return a column that was asked for; if it repeats another, as what it is without that."""
    wanted = column_name(name)
    if wanted not in known:
        raise ValueError(f"{option} names {wanted!r}, which is no column of the table")
    column = known[wanted]
    if column.kind == "duplicate":
        order = " ".join(column.style.split()[:2])
        return guess_column(wanted, frame[wanted], _DAY_FIRST.get(order))
    if column.kind == "empty":
        raise ValueError(f"{option} names {wanted!r}, every entry of which is missing")
    return column


def _used_columns(
    frame: pd.DataFrame,
    known: dict[str, Column],
    names: Iterable[str] | None,
    *others: Column | None,
) -> list[Column]:
    taken = {c.name for c in others if c is not None}
    if names is not None:
        asked = [_named(frame, known, n, "columns") for n in names]
        return [_usable(column, taken) for column in asked]
    used = [c for c in known.values() if c.used and c.kind != "date" and c.name not in taken]
    if not used:
        refuse_no_column(list(known.values()), "to tell states by")
    return used


def _usable(column: Column, taken: set[str]) -> Column:
    """Return a column that was asked for, or refuse it."""
    if column.name in taken:
        raise ValueError(f"columns names {column.name!r}, which is the time or the series already")
    if (
        column.kind == "identifier"
    ):  # integers of their own for each row, or texts, which are refused
        return replace(column, kind="number", note="")
    if not column.used or column.kind == "date":
        why = column.note or "it holds dates, which only rise"
        raise ValueError(f"columns names {column.name!r}, which cannot tell states: {why}")
    return column


def _gap_notes(codes: Array) -> tuple[str, ...]:
    """Say how rows without entries, and missing entries of others, are taken."""
    gaps = np.isnan(codes)
    empty = gaps.all(axis=1)
    partly = int((gaps.any(axis=1) & ~empty).sum())
    notes = []
    if empty.any():
        has, follow = (
            ("has", "its state follows") if empty.sum() == 1 else ("have", "their states follow")
        )
        rows = counted(int(empty.sum()), "row")
        notes.append(f"{rows} {has} no entry in these columns: {follow} from the rows around")
    if partly:
        notes.append(
            f"{counted(partly, 'row')} with missing entries: what is there tells the state"
        )
    return tuple(notes)


def _left_out(
    columns: list[Column], used: list[Column], others: tuple[Column | None, ...]
) -> tuple[str, ...]:
    """Say why columns that nobody named are left out."""
    told = {c.name for c in used} | {c.name for c in others if c is not None}
    return tuple(f"{c.name!r}: {c.note}" for c in columns if c.name not in told and c.note)
