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
    frame: Any, labels: Mapping[str, tuple[Label, ...]], index: Mapping[str, int], width: int
) -> IntArray:
    """Return states (N, width), the column of each variable at its index.

    Parameters
    ----------
    frame : pandas or polars frame, or mapping of columns
        None and NaN are not observed, and so are variables without a column.
    labels : mapping
        Of every variable.
    index : mapping
    width : int

    Raises
    ------
    ValueError
        For a column that is no variable, or a value that is no state of one.
    """
    table = frame.to_pandas() if hasattr(frame, "to_pandas") else pd.DataFrame(frame)
    states = np.full((len(table), width), -1, dtype=np.int64)
    for name in table.columns:
        if name not in labels:
            raise ValueError(f"the network has no variable {name!r}{hint(name, tuple(labels))}")
        states[:, index[name]] = _codes(table[name], name, labels[name])
    return states


def _codes(column: Any, name: str, states: tuple[Label, ...]) -> IntArray:
    missing = column.isna().to_numpy()
    codes = pd.Index(states, dtype=object).get_indexer(column.astype(object))
    unknown = (codes < 0) & ~missing
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        value = column.iloc[row]
        raise ValueError(
            f"row {row}: {name!r} has no state {value!r}; its states are "
            f"{', '.join(map(str, states))}{hint(value, states)}"
        )
    return np.where(missing, -1, codes)
