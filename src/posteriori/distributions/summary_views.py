"""How notebooks show what is believed of several numbers: a table with a bar for each interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.drawing.html_table import html_table, interval_picture

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["SUMMARY_TITLES", "summary_html", "summary_rows"]

#: Rows of a summary that are shown.
_SHOWN = 40

SUMMARY_TITLES = ("", "mean", "sd", "90 %", "")


def summary_html(table: DataFrame) -> str:
    """Return a summary of parameters as a table with a bar for each interval, the first rows of many."""
    notes = [] if len(table) <= _SHOWN else [f"{len(table) - _SHOWN} more in summary()"]
    return html_table(SUMMARY_TITLES, summary_rows(table.head(_SHOWN)), notes)


def summary_rows(table: DataFrame) -> list[list[str]]:
    """Return the cells of a summary of numbers, whose bars share an axis."""
    ends = np.append(table["lower"], table["upper"])
    low, high = (float(end) for end in (ends.min(), ends.max())) if len(ends) else (0.0, 1.0)
    return [_row(str(name), row, low, high) for name, row in table.iterrows()]


def _row(name: str, row: Any, low: float, high: float) -> list[str]:
    lower, upper = float(row["lower"]), float(row["upper"])
    middle = 0.5 * (lower + upper) if np.isnan(row["mean"]) else float(row["mean"])
    picture = interval_picture(lower, middle, upper, min(low, middle), max(high, middle))
    ends = f"{lower:.4g} to {upper:.4g}"
    return [name, f"{row['mean']:.4g}", f"{row['sd']:.3g}", ends, picture]
