"""All columns of a table: what each holds, and which of them repeat others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from posteriori.analysis.columns import Column, convert_column, guess_column
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
    prints = np.array([_fingerprint(c, frame, direction) for c in numbers])
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
    values = _standardised(column, frame)
    if np.isfinite(values).sum() < _FEWEST_ROWS:
        return np.nan
    return abs(float(direction @ np.nan_to_num(values)))


def _standardised(column: Column, frame: pd.DataFrame) -> Array:
    values = convert_column(column, frame[column.name]).to_numpy(np.float64)
    values = values / (np.nanmax(np.abs(values)) or 1.0)  # keeps squares in range
    with np.errstate(invalid="ignore", divide="ignore"):
        return (values - np.nanmean(values)) / np.nanstd(values)


def _same_up_to_scale(first: Column, second: Column, frame: pd.DataFrame) -> bool:
    one, other = _standardised(first, frame), _standardised(second, frame)
    if not np.array_equal(np.isnan(one), np.isnan(other)):
        return False
    return any(np.nanmax(np.abs(one - sign * other)) < _SAME for sign in (1.0, -1.0))
