"""Which columns of a table hold numbers and which categories, for models that ask one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.estimators.estimator_rows import check_gappy_inputs, column_names
from posteriori.numerics.types import Array, IntArray

__all__ = ["check_mixed_inputs", "learn_level_counts"]

_KINDS = ("number", "categorical")

#: Levels of a column: each has a bin of its own.
_MOST_LEVELS = 1_000_000


def learn_level_counts(estimator: Any, x: Array) -> IntArray:
    """Return how many levels each column has, (D,): 0 for numbers.

    Parameters
    ----------
    estimator : estimator
        With ``columns``: "number", "categorical", or one of these for each column.
    x : (N, D)
        Categories are codes 0, 1, …; NaN is missing.
    """
    kinds = _check_kinds(estimator.columns, x.shape[1])
    names = column_names(estimator)
    levels = np.zeros(x.shape[1], dtype=np.int64)
    for j in np.flatnonzero(kinds):
        _require_codes(x[:, j], names[j])
        levels[j] = int(np.nanmax(x[:, j], initial=0.0)) + 1
    return levels


def check_mixed_inputs(estimator: Any, X: Any, n_levels: IntArray) -> Array:
    """Return what a fitted estimator predicts from: float64 (N, D); NaN is missing."""
    x = check_gappy_inputs(estimator, X)
    for j in np.flatnonzero(n_levels):
        _require_codes(x[:, j], column_names(estimator)[j])
    return x


def _check_kinds(columns: Any, size: int) -> Any:
    """Return which columns are categories, (D,)."""
    wrong = f"columns must be {' or '.join(map(repr, _KINDS))}, or one of these for each column"
    kinds = [columns] * size if isinstance(columns, str) else columns
    if not isinstance(kinds, Sequence) or any(kind not in _KINDS for kind in kinds):
        raise ValueError(f"{wrong}, got {columns!r}")
    if len(kinds) != size:
        raise ValueError(f"{wrong}: X has {size} columns, got {len(kinds)} kinds")
    return np.array([kind == "categorical" for kind in kinds])


def _require_codes(column: Array, name: str) -> None:
    seen = column[~np.isnan(column)]
    wrong = (seen < 0) | (seen != np.floor(seen)) | (seen >= _MOST_LEVELS)
    if wrong.any():
        raise ValueError(
            f"{name} is categorical: its entries must be codes 0, 1, … below {_MOST_LEVELS}, got "
            f"{seen[wrong][0]:.6g}; sklearn.preprocessing.OrdinalEncoder makes them"
        )
