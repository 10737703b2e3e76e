"""The steps after a series: when they are, and the inputs that are known of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.table.columns import Column, numbers_in
from posteriori.analysis.table.dated_column import DatedTable, levels_of, read_moments
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.table.series_calendar import time_words
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = ["LaterSteps", "fill_left_out", "later_positions", "read_future"]


class LaterSteps(NamedTuple):
    """Steps that are forecast.

    Attributes
    ----------
    positions : (H,)
    times : index
    inputs : (H, K)
    """

    positions: Array
    times: Any
    inputs: Array


def later_positions(rows: SeriesRows, horizon: int) -> Array:
    """Return the positions of the next steps; those of irregular times are a median step apart."""
    step = 1.0 if rows.clock.regular else float(np.median(rows.steps))
    return rows.positions[-1] + step * np.arange(1.0, horizon + 1)


def fill_left_out(rows: SeriesRows) -> SeriesRows:
    """Return rows whose inputs are known everywhere: those of steps that were left out are means."""
    if not rows.inputs.shape[1]:
        return rows
    return rows._replace(
        inputs=np.where(np.isnan(rows.inputs), np.nanmean(rows.inputs, axis=0), rows.inputs)
    )


def read_future(table: Any, dated: DatedTable, level: str, rows: SeriesRows, horizon: int) -> Array:
    """Return the inputs of the next steps, (H, K), from a table of them.

    Parameters
    ----------
    table : DataFrame or mapping of columns, or None
    dated : DatedTable
        What the columns are.
    level : str
        Of the series.
    rows : SeriesRows
    horizon : int

    Raises
    ------
    ValueError
        When a step or an input is missing: which one.
    """
    if not dated.inputs:
        return np.zeros((horizon, 0))
    positions = later_positions(rows, horizon)
    names = ", ".join(repr(c.name) for c in dated.inputs)
    if table is None:
        raise ValueError(
            f"the inputs {names} must be known of the {horizon} steps that are forecast; give them as future"
        )
    frame = _of_level(to_pandas(table), dated.by, level)
    for column in (dated.time, *dated.inputs):
        if column.name not in frame.columns:
            raise ValueError(f"future lacks the column {column.name!r}")
    times = read_moments(frame, dated.time)
    places = rows.clock.positions(times)
    known = np.column_stack([_numbers(c, frame[c.name]) for c in dated.inputs])
    found = np.full((horizon, known.shape[1]), np.nan)
    for k, position in enumerate(positions):
        near = np.flatnonzero(np.abs(places - position) < 1e-3)
        when = time_words(rows.clock, rows.clock.times(np.array([position]))[0])
        where = f" of series {level!r}" if level else ""
        if not len(near):
            raise ValueError(
                f"future has no row for {when}{where}, whose inputs {names} must be known"
            )
        found[k] = known[near[0]]
        if np.isnan(found[k]).any():
            name = dated.inputs[int(np.argmax(np.isnan(found[k])))].name
            raise ValueError(f"future lacks {name!r} for {when}{where}: inputs must be known")
    return found


def _of_level(frame: pd.DataFrame, by: Column | None, level: str) -> pd.DataFrame:
    """Return the rows of one series; all where nothing divides the table."""
    if by is None or by.name not in frame.columns:
        return frame
    levels, codes = levels_of(frame, by)
    wanted = levels.index(level) if level in levels else -2
    return frame[codes == wanted]


def _numbers(column: Column, raw: pd.Series) -> Array:
    kind = column if column.kind in ("number", "boolean") else Column(column.name, "number")
    return numbers_in(kind, raw)
