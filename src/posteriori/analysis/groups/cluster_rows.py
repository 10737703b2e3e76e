"""The rows of a table as mixtures take them, and what can be found among so many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.fitting.preparation import CodeColumns
from posteriori.analysis.table.columns import Column, convert_column
from posteriori.analysis.table.values import are_whole_days
from posteriori.analysis.table.wording import counted
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_moderate
from posteriori.selection.cross_validation import recording_step

__all__ = [
    "FEWEST_ROWS",
    "ClusterRows",
    "column_step",
    "numbers_to_try",
    "open_rounding",
    "read_rows",
]

#: Rows that an analysis needs.
FEWEST_ROWS = 5

#: A day of decimal years.
_DAY = 1.0 / 365.25


class ClusterRows(NamedTuple):
    """Rows to be grouped.

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
) -> ClusterRows:
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
        why = "; ".join(f"{c.name!r}: {c.note}" for c in columns[:5])
        raise ValueError(f"no column is left {purpose}" + (f" ({why})" if why else ""))
    converted = pd.DataFrame(
        {c.name: convert_column(c, frame[c.name]) for c in used}, index=frame.index
    ).reset_index(drop=True)
    encoder = CodeColumns({c.name: c.kind for c in used}).fit(converted)
    x = encoder.transform(converted)
    x = x[~np.isnan(x).all(axis=1)]  # the others say nothing
    if len(x) < FEWEST_ROWS:
        raise ValueError(
            f"the table has {counted(len(x), 'row')} with an entry; at least {FEWEST_ROWS} are needed"
        )
    rng = np.random.default_rng(seed)
    for place, column in enumerate(used):
        if column.kind in ("number", "date"):
            require_moderate(f"the column {column.name!r}", x[:, place])
            open_rounding(x[:, place], column.kind, rng)
    return ClusterRows(converted, encoder, x)


def open_rounding(values: Array, kind: str, rng: np.random.Generator) -> None:
    """Move numbers, in place, to anywhere within the step that they are recorded to.

    Where a number repeats, a component on it alone would have a density without bound.
    """
    known = ~np.isnan(values)
    seen = values[known]
    values[known] = seen + column_step(seen, kind) * (rng.random(len(seen)) - 0.5)


def column_step(seen: Array, kind: str) -> float:
    """Return the step to which the entries of a column of numbers or dates are recorded; 0 for none."""
    return _DAY if kind == "date" and are_whole_days(seen) else recording_step(seen)


def numbers_to_try(rows: ClusterRows, most: int, asked: int | None) -> tuple[range, str]:
    r"""Return the numbers of groups that rows can tell apart, and a note if these are fewer than wanted.

    A component without rows changes the evidence by :math:`K(K-1)/(N+K-1)`, which is a loss only while
    :math:`(K-1)^2 < N`: beyond, more components are always better.
    """
    if asked is not None:
        distinct = len(rows.frame.drop_duplicates())
        if not 1 <= asked <= distinct:
            raise ValueError(
                f"clusters must be from 1 to {distinct}, the different rows; got {asked}"
            )
        return range(asked, asked + 1), ""
    if most < 1:
        raise ValueError(f"max_clusters must be at least 1, got {most}")
    sensible = int(np.ceil(np.sqrt(len(rows.x))))
    if most <= sensible:
        return range(1, most + 1), ""
    note = f"{counted(len(rows.x), 'row')} can tell at most {sensible} groups apart: no more were tried"
    return range(1, sensible + 1), note
