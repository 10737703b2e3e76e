"""Frames of findings as whole numbers: a row an assignment, −1 for what is not observed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.factors.axes import Label
from posteriori.numerics.lazy import pandas as pd
from posteriori.numerics.types import IntArray
from posteriori.numerics.validation import hint

__all__ = ["encode_frame"]


def encode_frame(
    frame: Any,
    labels: Mapping[str, tuple[Label, ...]],
    index: Mapping[str, int],
    *,
    without: str,
) -> IntArray:
    """Return states (N, n), the column of each variable at its index.

    Parameters
    ----------
    frame : pandas or polars frame, or mapping of columns
        None and NaN are not observed, and so are variables without a column.
    labels : mapping
        Of every variable.
    index : mapping
        Of all n variables, inner ones of conditionals included.
    without : str
        A variable whose column is not looked at.

    Raises
    ------
    TypeError
        For what is no frame.
    ValueError
        For a column that is no variable, is there twice, or holds a value that is no state.
    """
    table = _as_table(frame)
    states = np.full((len(table), len(index)), -1, dtype=np.int64)
    if table.columns.has_duplicates:
        twice = table.columns[table.columns.duplicated()][0]
        raise ValueError(f"the frame has two columns {twice!r}")
    for name in table.columns:
        if name not in labels:
            raise ValueError(f"the network has no variable {name!r}{hint(name, tuple(labels))}")
        if name != without:
            states[:, index[name]] = _codes(table[name], name, labels[name])
    return states


def _as_table(frame: Any) -> Any:
    """Return a frame of pandas."""
    if hasattr(frame, "columns"):
        return frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    if not isinstance(frame, Mapping):
        raise TypeError(
            f"frame must be a frame of pandas or polars, or a mapping of columns, got "
            f"{type(frame).__name__}"
        )
    for name, column in frame.items():
        if isinstance(column, str) or not hasattr(column, "__len__"):
            raise TypeError(f"the column of {name!r} must be a sequence, got {column!r}")
    if len({len(column) for column in frame.values()}) > 1:
        lengths = ", ".join(f"{len(column)} of {name!r}" for name, column in frame.items())
        raise ValueError(f"columns must have the same length, got {lengths}")
    return pd.DataFrame(frame)


def _codes(column: Any, name: str, states: tuple[Label, ...]) -> IntArray:
    missing = column.isna().to_numpy()
    codes = pd.Index(states, dtype=object).get_indexer(column.astype(object))
    unknown = (codes < 0) & ~missing
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        value = column.iloc[row]
        value = value.item() if hasattr(value, "item") else value  # of NumPy
        raise ValueError(
            f"row {row}: {name!r} has no state {value!r}; its states are "
            f"{', '.join(map(str, states))}{hint(value, states)}"
        )
    return np.where(missing, -1, codes)
