"""What new rows hold that a model has not seen: levels, numbers out of range, words for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from posteriori.analysis.fitting.preparation import OTHER
from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.values import MISSING_WORDS
from posteriori.analysis.table.wording import counted, entry_words

__all__ = ["notes_on_new_rows"]

#: How far beyond the range of a column numbers may lie, as a share of its width, before it is said.
_MARGIN = 0.1


def notes_on_new_rows(
    columns: Sequence[Column], encoder: Any, frame: pd.DataFrame, inputs: pd.DataFrame
) -> list[str]:
    """Return a note for each column with entries that are unlike those it was learned from.

    Parameters
    ----------
    columns : sequence of Column
    encoder : transformer
        First step of the pipeline; says what stands for levels that are new.
    frame : DataFrame
        New rows as they came.
    inputs : DataFrame
        The same, converted.
    """
    notes = []
    for column in columns:
        raw, values = frame[column.name], inputs[column.name]
        found = [_on_unread(column, raw, values)]
        if column.kind == "category":
            found.append(_on_levels(column, encoder, values))
        else:
            found.append(_on_range(column, values.to_numpy(np.float64)))
        notes += [f"column {column.name!r}: {note}" for note in found if note]
    return notes


def _on_unread(column: Column, raw: pd.Series, values: pd.Series) -> str:
    lost = raw[values.isna().to_numpy()].dropna().astype(str).str.strip()
    lost = lost[~lost.str.lower().isin(MISSING_WORDS)]
    if not len(lost):
        return ""
    entries = counted(len(lost), "entry", "entries")
    return f"{entries} such as {lost.iloc[0][:30]!r} cannot be read as a {column.kind}: taken as missing"


def _on_levels(column: Column, encoder: Any, values: pd.Series) -> str:
    known = set(column.levels)
    new = [level for level in values.cat.categories if level not in known] if known else []
    if not new:
        return ""
    rows = counted(int(values.isin(new).sum()), "row")
    shown = f"{rows} with a level that the model has never seen, such as {new[0][:30]!r}"
    if column.name in encoder.group_names() and encoder.level_for_new(column.name) != OTHER:
        return (
            f"{shown}: predicted around the average of all levels, with the width of their spread"
        )
    same = encoder.level_for_new(column.name)
    why = "as rare ones are" if same == OTHER else "the most frequent"
    taken = f"taken as {same!r}, {why}" if same else "without effect"
    return f"{shown}: {taken}"


def _on_range(column: Column, values: Any) -> str:
    if not column.limits:
        return ""
    low, high = column.limits
    margin = _MARGIN * (high - low)
    outside = int(((values < low - margin) | (values > high + margin)).sum())
    if not outside:
        return ""
    seen = " to ".join(entry_words(column.written, end) for end in column.limits)
    rows = counted(outside, "row")
    return (
        f"{rows} outside the range {seen} that the model has seen: what it says of them is a guess"
    )
