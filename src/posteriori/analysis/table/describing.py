"""All columns of a table: what each holds, and which of them repeat others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from posteriori.analysis.table.columns import Column, guess_column, numbers_in
from posteriori.numerics.block_sizes import IN_MEMORY, rows_per_block
from posteriori.numerics.types import Array

__all__ = ["describe_columns"]

#: With fewer known entries, columns may be functions of one another by chance.
_FEWEST_ROWS = 5

#: Largest difference of standardised columns that are the same up to scale.
_SAME = 1e-8


def describe_columns(frame: pd.DataFrame, drop: Iterable[str] = ()) -> list[Column]:
    """Guess the kind of every column; of columns that say the same only the first is used."""
    dropped = set(drop)
    columns = [
        Column(name, "dropped", note="left out as asked")
        if name in dropped
        else guess_column(name, frame[name])
        for name in frame.columns
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
    prints = _fingerprints(numbers, frame, direction)
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


def _fingerprints(numbers: list[Column], frame: pd.DataFrame, direction: Array) -> Array:
    """Return |rᵀz| of every standardised column z, NaN where too little of it is known."""
    prints = []
    block = rows_per_block(len(frame), IN_MEMORY)
    for start in range(0, len(numbers), block):
        z = _standardised(numbers[start : start + block], frame)
        known = np.isfinite(z)
        sums = np.abs(direction @ np.where(known, z, 0.0))
        prints.append(np.where(known.sum(axis=0) >= _FEWEST_ROWS, sums, np.nan))
    return np.concatenate(prints)


def _standardised(columns: list[Column], frame: pd.DataFrame) -> Array:
    """Return columns with mean 0 and variance 1, (N, D); what is missing stays NaN."""
    x = np.column_stack([numbers_in(column, frame[column.name]) for column in columns])
    known = ~np.isnan(x)
    count = known.sum(axis=0)
    unit = np.abs(np.where(known, x, 0.0)).max(axis=0)  # keeps squares in range
    with np.errstate(invalid="ignore", divide="ignore"):
        x = x / unit
        centred = x - np.where(known, x, 0.0).sum(axis=0) / count
        variance = np.where(known, centred**2, 0.0).sum(axis=0) / count
        return centred / np.sqrt(variance)


def _same_up_to_scale(first: Column, second: Column, frame: pd.DataFrame) -> bool:
    one, other = _standardised([first, second], frame).T
    if not np.array_equal(np.isnan(one), np.isnan(other)):
        return False
    return any(np.nanmax(np.abs(one - sign * other)) < _SAME for sign in (1.0, -1.0))
