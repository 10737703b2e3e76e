"""Counting the rows of a frame, or of columns, into a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from posteriori.factors import Factor
from posteriori.factors.axes import Label, Names, as_names
from posteriori.numerics.types import Array
from posteriori.numerics.validation import hint, listed, nonnegative

__all__ = ["count_rows"]


def count_rows(
    data: Any,
    names: Names | None = None,
    labels: Mapping[str, Iterable[Label]] | None = None,
    weights: Any = None,
    pseudocount: float = 0.0,
) -> Factor:
    """Return how often each combination of labels occurs.

    ``data`` is a mapping of columns, a pandas or polars frame, or an array (N, D) with ``names``.
    """
    extra = float(nonnegative("pseudocount", pseudocount))
    columns = _columns(data, names)
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns must have the same length, got {lengths}")
    n_rows = next(iter(lengths.values()))
    if n_rows == 0:
        raise ValueError("data is empty: at least one row is needed")
    given = {} if labels is None else dict(labels)
    for name in given:
        if name not in columns:
            raise ValueError(
                f"labels are given for {name!r}, which is no column; the columns are "
                f"{listed(tuple(columns))}{hint(name, columns)}"
            )
    coded = {name: _encode(name, column, given.get(name)) for name, column in columns.items()}
    shape = tuple(len(found) for _, found in coded.values())
    cells = np.ravel_multi_index(tuple(codes for codes, _ in coded.values()), shape)
    counts = np.bincount(cells, _weights(weights, n_rows), minlength=int(np.prod(shape)))
    return Factor(
        tuple(columns), counts.reshape(shape) + extra, [found for _, found in coded.values()]
    )


def _columns(data: Any, names: Names | None) -> dict[str, np.ndarray[Any, Any]]:
    chosen = None if names is None else as_names(names)
    if isinstance(data, Mapping) or hasattr(data, "columns"):
        available = [*data] if isinstance(data, Mapping) else [*data.columns]
        if not available:
            raise ValueError("data has no columns")
        for name in chosen or ():
            if name not in available:
                raise ValueError(
                    f"data has no column {name!r}; its columns are "
                    f"{listed(available)}{hint(name, available)}"
                )
        return {name: _column(data[name]) for name in as_names(chosen or available)}
    table = np.asarray(data)
    if table.ndim != 2:
        raise ValueError(
            "data must be a frame, a mapping of columns, or an array (N, D), got shape "
            f"{table.shape}"
        )
    if chosen is None or len(chosen) != table.shape[1]:
        raise ValueError(f"an array of {table.shape[1]} columns needs that many names")
    return {name: table[:, i] for i, name in enumerate(chosen)}


def _column(column: Any) -> np.ndarray[Any, Any]:
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    if isinstance(values, np.ndarray):
        return values
    values = list(values)
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        return np.asarray(values)
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def _encode(
    name: str, column: np.ndarray[Any, Any], labels: Iterable[Label] | None
) -> tuple[np.ndarray[Any, Any], tuple[Label, ...]]:
    """Return the code of each row and the labels; a missing value is named with its row."""
    missing = column != column if column.dtype.kind == "f" else _missing(column)
    if missing.any():
        raise ValueError(
            f"column {name!r} has a missing value in row {int(np.argmax(missing))}; "
            "drop or impute such rows first"
        )
    if labels is None and column.dtype.kind != "O":
        found, codes = np.unique(column, return_inverse=True)
        return codes, tuple(found.tolist())
    values = column.tolist()
    known = tuple(_sorted(set(values)) if labels is None else labels)
    index = {label: i for i, label in enumerate(known)}
    for row, value in enumerate(values):
        if value not in index:
            raise ValueError(
                f"column {name!r} holds {value!r} in row {row}, which is no label; its labels are "
                f"{listed(known)}{hint(value, known)}"
            )
    return np.array([index[value] for value in values], dtype=np.intp), known


def _missing(column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if column.dtype.kind != "O":
        return np.zeros(len(column), dtype=bool)
    return np.array([_is_missing(value) for value in column], dtype=bool)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _sorted(labels: set[Label]) -> list[Label]:
    try:
        return sorted(labels)  # type: ignore[type-var]
    except TypeError:  # of different kinds
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))


def _weights(weights: Any, n_rows: int) -> Array | None:
    if weights is None:
        return None
    checked = nonnegative("weights", weights)
    if checked.shape != (n_rows,):
        raise ValueError(f"weights must have shape ({n_rows},), got {checked.shape}")
    return checked
