"""The rows of a table as densities take them: numbers within what rounding leaves open, codes, gaps left open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.fitting.preparation import CodeColumns
from posteriori.analysis.table.columns import Column, convert_column
from posteriori.analysis.table.values import are_whole_days
from posteriori.analysis.table.wording import counted
from posteriori.numerics.recording import recording_step
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_moderate

__all__ = ["CodedRows", "column_step", "encode_rows", "open_rows", "read_rows", "refuse_no_column"]

#: Rows that an analysis needs.
_FEWEST_ROWS = 5

#: A day of decimal years.
_DAY = 1.0 / 365.25


class CodedRows(NamedTuple):
    """Rows of a table.

    Attributes
    ----------
    frame : DataFrame
        Converted columns.
    encoder : CodeColumns
        Makes numbers of them.
    x : (N', D)
        Rows with an entry: numbers within what rounding leaves open, codes, NaN for gaps.
    """

    frame: pd.DataFrame
    encoder: CodeColumns
    x: Array


def read_rows(
    frame: pd.DataFrame, columns: list[Column], seed: int, purpose: str = "to tell groups by"
) -> CodedRows:
    """Convert the used columns of a table.

    Parameters
    ----------
    frame : DataFrame
    columns : list of Column
    seed : int
        Of where numbers lie within what rounding leaves open.
    purpose : str
        What columns are for, where none is left.

    Raises
    ------
    ValueError
        When there are too few rows, or no column is left.
    """
    used = [c for c in columns if c.used]
    if not used:
        refuse_no_column(columns, purpose)
    rows = encode_rows(frame, used)
    x = rows.x[~np.isnan(rows.x).all(axis=1)]  # the others say nothing
    return rows._replace(x=open_rows(x, used, seed))


def refuse_no_column(columns: Sequence[Column], purpose: str) -> None:
    """Refuse a table of which no column is left, and say why they are not."""
    why = "; ".join(f"{c.name!r}: {c.note}" for c in columns[:5] if c.note)
    raise ValueError(f"no column is left {purpose}" + (f" ({why})" if why else ""))


def encode_rows(frame: pd.DataFrame, used: Sequence[Column]) -> CodedRows:
    """Convert columns, and make numbers of them as they are recorded."""
    converted = pd.DataFrame(
        {c.name: convert_column(c, frame[c.name]) for c in used}, index=frame.index
    ).reset_index(drop=True)
    encoder = CodeColumns({c.name: c.kind for c in used}).fit(converted)
    return CodedRows(converted, encoder, encoder.transform(converted))


def open_rows(x: Array, used: Sequence[Column], seed: int) -> Array:
    """Move numbers (N, D), in place, to anywhere within the step that they are recorded to.

    Where a number repeats, a component on it alone would have a density without bound.

    Raises
    ------
    ValueError
        When there are too few rows, or numbers are too large.
    """
    seen = int((~np.isnan(x)).any(axis=1).sum())
    if seen < _FEWEST_ROWS:
        raise ValueError(
            f"the table has {counted(seen, 'row')} with an entry; at least {_FEWEST_ROWS} are needed"
        )
    rng = np.random.default_rng(seed)
    for place, column in enumerate(used):
        if column.kind in ("number", "date"):
            values = x[:, place]
            require_moderate(f"the column {column.name!r}", values)
            known = ~np.isnan(values)
            there = values[known]
            step = column_step(there, column.kind)
            values[known] = there + step * (rng.random(len(there)) - 0.5)
    return x


def column_step(seen: Array, kind: str) -> float:
    """Return the step to which the entries of a column of numbers or dates are recorded; 0 for none."""
    return _DAY if kind == "date" and are_whole_days(seen) else recording_step(seen)
