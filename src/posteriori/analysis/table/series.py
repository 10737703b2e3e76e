"""The rows of a table as series: who stands together, in which order, and where steps are missing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.table.columns import Column, convert_column, numbers_in
from posteriori.analysis.table.series_calendar import name_steps
from posteriori.analysis.table.values import are_whole_days, dates_of
from posteriori.analysis.table.wording import counted
from posteriori.numerics.types import Array, IntArray
from posteriori.sequence.series.series_clock import SeriesClock, as_moments, set_clock

__all__ = ["Arrangement", "Series", "arrange_rows"]

#: Steps that may be missing within a series; after more of them another series begins.
_LONGEST_GAP = 100

#: A step is as long as others if it is a multiple of the usual one up to this part of it; months are.
_UNEVEN = 0.25

#: Share of the steps that must be so before steps are taken for missing.
_EVEN = 0.8

#: Steps between which there are weekends.
_WORKING = "business days"

#: Of the clock, in nanoseconds.
_DAY = 86_400e9

_NO_WEEKENDS = "steps are business days: weekends are no gaps"


class Series(NamedTuple):
    """Rows that follow one another.

    Attributes
    ----------
    name : str
        The level that they share; empty where nothing divides the table.
    rows : (T,)
        Places in the table, −1 for steps that the table lacks.
    """

    name: str
    rows: IntArray


class Arrangement(NamedTuple):
    """All rows of a table as series.

    Attributes
    ----------
    series : tuple of Series
    times : (N,) or None
        When each row of the table was, in units of the column or in decimal years.
    notes : tuple of str
        What was left out, put in order and filled up.
    steps : str
        What several steps are called: days, business days, months, or rows.
    """

    series: tuple[Series, ...]
    times: Array | None
    notes: tuple[str, ...]
    steps: str = "rows"

    @property
    def working(self) -> bool:
        """Whether weekends are no gaps."""
        return self.steps == _WORKING

    @property
    def lengths(self) -> IntArray:
        """Steps of each series."""
        return np.array([len(one.rows) for one in self.series], dtype=np.int64)

    @property
    def rows(self) -> IntArray:
        """Places of all steps, series after series; −1 where the table has no row."""
        return np.concatenate([one.rows for one in self.series])

    def spread(self, x: Array) -> Array:
        """Return the rows (N, D) in the order of the steps, NaN for those that are missing."""
        rows = self.rows
        return np.where(rows[:, None] >= 0, x[rows], np.nan)

    def gather(self, answers: Array, total: int) -> Array:
        """Return answers for steps, (ΣT, K), as those for the rows of the table; NaN where left out."""
        rows = self.rows
        found = np.full((total, *answers.shape[1:]), np.nan)
        found[rows[rows >= 0]] = answers[rows >= 0]
        return found


def arrange_rows(
    frame: pd.DataFrame,
    time: Column | None = None,
    by: Column | None = None,
    working: bool | None = None,
) -> Arrangement:
    """Return the series of a table.

    Parameters
    ----------
    frame : DataFrame
    time : Column, optional
        By which rows are ordered; without it they follow one another as they stand.
    by : Column, optional
        Whose levels are series of their own.
    working : bool, optional
        Whether steps of days go from Friday to Monday; by default where all dates are of working days.

    Raises
    ------
    ValueError
        When no row is left.

    Examples
    --------
    >>> frame = pd.DataFrame({"day": [3, 1, 2, 6], "x": [0.3, 0.1, 0.2, 0.6]})
    >>> arrange_rows(frame, Column("day", "number")).rows.tolist()  # days 4 and 5 are missing
    [1, 2, 0, -1, -1, 3]
    """
    times = None if time is None else numbers_in(time, frame[time.name])
    levels, codes = _levels(frame, by)
    left_out = codes < 0 if times is None else (codes < 0) | np.isnan(times)
    if left_out.all():
        raise ValueError("no row has a time and a level of the series: name other columns")
    notes, steps = _notes_on_rows(left_out, time, by), "rows"
    parts = [np.flatnonzero((codes == k) & ~left_out) for k in range(len(levels))]
    if times is not None:
        ordered = [rows[np.argsort(times[rows], kind="stable")] for rows in parts]
        notes += _notes_on_order(parts, ordered, times)
        positions, steps = _count_steps(times, time, working)
        parts, told, even = _with_missing_steps(ordered, positions)
        steps = steps if even else "rows"
        notes += [*([_NO_WEEKENDS] if steps == _WORKING else []), *told]
    named = [(name, rows) for name, rows in zip(levels, parts, strict=True) if len(rows)]
    pieces = [Series(name, part) for name, rows in named for part in _pieces(rows)]
    return Arrangement(tuple(pieces), times, tuple(notes), steps)


def _levels(frame: pd.DataFrame, by: Column | None) -> tuple[list[str], IntArray]:
    if by is None:
        return [""], np.zeros(len(frame), dtype=np.int64)
    values = frame[by.name]
    if by.kind in ("number", "date", "boolean", "identifier"):
        codes, levels = pd.factorize(values, use_na_sentinel=True)
        return [str(level) for level in levels], codes.astype(np.int64)
    texts = convert_column(Column(by.name, "category"), values)
    return [str(level) for level in texts.cat.categories], texts.cat.codes.to_numpy(np.int64)


def _notes_on_rows(left_out: Array, time: Column | None, by: Column | None) -> list[str]:
    if not left_out.any():
        return []
    lacking = " or ".join(repr(c.name) for c in (time, by) if c is not None)
    return [f"{counted(int(left_out.sum()), 'row')} without {lacking}: left out"]


def _notes_on_order(before: list[IntArray], after: list[IntArray], times: Array) -> list[str]:
    moved = any(not np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    notes = ["rows were put in the order of their times"] if moved else []
    same = sum(int((np.diff(times[rows]) == 0).sum()) for rows in after)
    if same:
        notes.append(f"{counted(same, 'row')} at the time of the one before: kept as steps")
    return notes


def _count_steps(times: Array, time: Column | None, working: bool | None) -> tuple[Array, str]:
    """Return where times are, in steps of their calendar where it has some, and what these are called."""
    known = ~np.isnan(times)
    dated = time is not None and time.kind == "date"
    moments: Any = times[known]
    if dated:
        moments = as_moments(dates_of(moments, whole_days=are_whole_days(moments)))
    different = moments.unique().sort_values() if dated else np.unique(moments)
    if len(different) < 2:
        return times, "rows"
    clock = set_clock(different)
    if dated and working is not None and working != (clock.kind == _WORKING):
        clock = SeriesClock(_WORKING if working else "moments", different[0], _DAY, dated=True)
    if not clock.regular:
        return times, "rows"
    positions = times.copy()
    positions[known] = clock.positions(moments)
    return positions, name_steps(clock).steps


def _with_missing_steps(
    parts: list[IntArray], places: Array
) -> tuple[list[IntArray], list[str], bool]:
    """Return rows with −1 for every missing step, −2 where a series ends for good; what was done; whether the
    usual step is 1.
    """
    steps = np.concatenate([np.diff(places[rows]) for rows in parts])
    steps = steps[steps > 0]
    if len(steps) < 2:
        return parts, [], False
    usual = float(np.median(steps))
    multiples = np.maximum(np.rint(steps / usual), 1.0)
    if np.mean(np.abs(steps / usual - multiples) <= _UNEVEN) < _EVEN:
        return parts, ["times are uneven: every row is taken for one step"], False
    if (multiples == 1.0).all():
        return parts, [], usual == 1.0
    filled, missing, ends = [], 0, 0
    for rows in parts:
        gaps = np.rint(np.diff(places[rows]) / usual).astype(np.int64) - 1
        pieces: list[IntArray] = []
        for row, gap in zip(rows, [*gaps, 0], strict=True):
            over = gap > _LONGEST_GAP
            missing, ends = missing + (0 if over else max(gap, 0)), ends + int(over)
            pieces.append(np.array([row, *([-2] if over else [-1] * max(gap, 0))]))
        filled.append(np.concatenate(pieces) if pieces else rows)
    notes = [f"{counted(missing, 'step')} without a row, taken as missing"] if missing else []
    if ends:
        gap = "long gap" if ends == 1 else "long gaps"
        notes.append(f"{ends} {gap}: another series begins after each")
    return filled, notes, usual == 1.0


def _pieces(rows: IntArray) -> list[IntArray]:
    """Return the rows between the marks −2."""
    return [part[part > -2] for part in np.split(rows, np.flatnonzero(rows == -2))]
