"""What a hidden chain is asked about: rows, what they regress on, and what drives transitions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.validation import unmasked
from posteriori.sequence.sequence_rows import SequenceTable, is_list_of_sequences

__all__ = ["ChainData", "condition_rows", "lagged_rows", "read_inputs"]


class ChainData(NamedTuple):
    """Sequences, read.

    Attributes
    ----------
    table : SequenceTable
    x : (T, D)
        Rows, symbols as codes; conditions and what is missing are NaN.
    regressors : (T, P) or None
        What rows regress on: earlier rows, inputs.
    drivers : (T, P) or None
        Inputs that drive transitions.
    modelled : (T,) of bool
        Which rows are no conditions.
    """

    table: SequenceTable
    x: Array
    regressors: Array | None
    drivers: Array | None
    modelled: Array

    @property
    def emitted(self) -> Array:
        """Rows as the emission takes them: what they regress on behind them."""
        return (
            self.x if self.regressors is None else np.concatenate([self.x, self.regressors], axis=1)
        )


def lagged_rows(x: Array, lengths: IntArray, lags: int) -> Array:
    """Return the rows before each row, the last before first: (T, lags D); NaN where there are none.

    Examples
    --------
    >>> lagged_rows(np.array([[1.0], [2.0], [3.0]]), np.array([3]), 2)
    array([[nan, nan],
           [ 1., nan],
           [ 2.,  1.]])
    """
    place = _places(lengths)
    parts = []
    for lag in range(1, lags + 1):
        before = np.full_like(x, np.nan)
        before[lag:] = x[:-lag] if lag < len(x) else x[:0]
        before[place < lag] = np.nan
        parts.append(before)
    return np.concatenate(parts, axis=1) if parts else np.empty((len(x), 0))


def condition_rows(lengths: IntArray, count: int) -> Array:
    """Return which of the rows (T,) are the first ``count`` of their sequences."""
    return _places(lengths) < count


def read_inputs(inputs: Any, table: SequenceTable, width: int | None = None) -> Array:
    """Return inputs as (T, P), a row for each row of X.

    Raises
    ------
    ValueError
        When rows or columns are not as many as they were, or a number is missing.
    """
    given = inputs
    if is_list_of_sequences(inputs):
        given = np.concatenate([np.asarray(one) for one in inputs])
    u = np.asarray(unmasked("inputs", given), dtype=np.float64)
    u = u[:, None] if u.ndim == 1 else u
    total = int(table.lengths.sum())
    if u.ndim != 2 or len(u) != total:
        raise ValueError(
            f"inputs must have a row for each of the {total} rows of X, got shape {u.shape}"
        )
    if not np.isfinite(u).all():
        row = int(np.argwhere(~np.isfinite(u))[0, 0])
        raise ValueError(f"inputs must be finite; row {row} is not: fill it in")
    if width is not None and u.shape[1] != width:
        raise ValueError(f"inputs must have {width} columns as those of fit, got {u.shape[1]}")
    return u


def _places(lengths: IntArray) -> IntArray:
    """Return the place of each row in its sequence, (T,)."""
    first = np.append(0, np.cumsum(lengths)[:-1])
    return np.arange(int(lengths.sum())) - np.repeat(first, lengths)
