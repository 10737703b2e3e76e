"""Sequences as users give them: one table, several by their lengths, or a list; symbols become codes.

A list is a list of sequences where its entries are tables (T, D), arrays of two axes, data frames or lists of
rows, or arrays (T,) of one column. Otherwise its entries are the rows of one sequence, so ``[[0], [1], [2]]`` is
one sequence of three rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from posteriori.distributions.labels import encode_labels
from posteriori.estimators.estimator_rows import check_gappy_inputs, column_names
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.validation import unmasked

__all__ = [
    "SequenceTable",
    "Symbols",
    "read_states",
    "check_weights",
    "encode_rows",
    "is_list_of_sequences",
    "join_sequences",
    "learn_symbols",
    "raw_rows",
    "split_rows",
]

#: The symbols of a column in the order of their codes.
Symbols = tuple[Any, ...]


class SequenceTable(NamedTuple):
    """Sequences, one after another.

    Attributes
    ----------
    table : array or data frame, (T, D)
    lengths : (S,)
    listed : bool
        Whether a list was given: answers are lists then.
    """

    table: Any
    lengths: IntArray
    listed: bool


def is_list_of_sequences(X: Any) -> bool:
    """Tell a list of tables from one table.

    Examples
    --------
    >>> is_list_of_sequences([[0], [1], [2]]), is_list_of_sequences([[[0], [1]], [[2]]])
    (False, True)
    >>> is_list_of_sequences([np.array([0, 1, 1]), np.array([2, 0])])
    True
    """
    if isinstance(X, np.ndarray) and not (X.dtype == object and X.ndim == 1):
        return X.ndim == 3
    if not isinstance(X, list | tuple | np.ndarray) or len(X) == 0:
        return False
    return _axes(X[0]) == 2 or (_axes(X[0]) == 1 and hasattr(X[0], "shape"))


def join_sequences(X: Any, lengths: Any = None) -> SequenceTable:
    """Return sequences as one table.

    Raises
    ------
    ValueError
        When lengths do not add up, a sequence is empty, or sequences have different columns.
    TypeError
        When rows are sparse.
    """
    if issparse(X):
        raise TypeError("sparse data are not supported: give X.toarray()")
    if not is_list_of_sequences(X):
        _refuse_ragged(X)
        rows = len(X) if hasattr(X, "__len__") else 0
        return SequenceTable(X, _check_lengths(lengths, _n_rows(X, rows)), lengths is not None)
    if lengths is not None:
        raise ValueError("lengths are for one table; a list of sequences has its own")
    X = [np.asarray(one)[:, None] if _axes(one) == 1 else one for one in X]
    sizes = [_n_rows(one, len(one)) for one in X]
    if min(sizes) == 0:
        raise ValueError(f"sequence {sizes.index(0)} of X is empty; leave it out")
    return SequenceTable(_stack(list(X)), np.array(sizes, dtype=np.int64), True)


def encode_rows(estimator: Any, table: Any, symbols: dict[int, Symbols], *, reset: bool) -> Array:
    """Return rows as float64 (T, D), symbols as their codes; NaN is missing.

    Parameters
    ----------
    estimator : estimator
        Whose columns are set or compared.
    table : (T, D)
    symbols : mapping from column to its symbols
    reset : bool
    """
    if not symbols:
        return check_gappy_inputs(estimator, table, reset=reset)
    values = raw_rows(estimator, table, reset=reset)
    x = np.empty(values.shape)
    plain = [d for d in range(values.shape[1]) if d not in symbols]
    for d, known in symbols.items():
        x[:, d] = _encode(values[:, d], known, column_names(estimator)[d])
    if plain:
        x[:, plain] = _as_numbers(values[:, plain])
    return x


def raw_rows(estimator: Any, table: Any, *, reset: bool) -> Any:
    """Return rows as they are, (T, D), after scikit-learn's checks of their shape."""
    return validate_data(
        estimator, unmasked("X", table), reset=reset, dtype=None, ensure_all_finite=False
    )


def learn_symbols(values: Any, size: int | None = None) -> Symbols:
    """Return the symbols of a column in their order.

    Numbers from 0 are codes of ``size`` symbols, where that is known; some need not be there.

    Examples
    --------
    >>> learn_symbols(np.array(["b", "a", None, "b"], dtype=object))
    ('a', 'b')
    >>> learn_symbols(np.array([0, 2]), 4)
    (0, 1, 2, 3)
    """
    seen = {v for v in _plain(values) if not _is_missing(v)}
    if not seen:
        raise ValueError("a column of X has no symbol that is not missing; leave it out")
    if size is not None and seen <= set(range(size)):
        return tuple(range(size))
    try:
        return tuple(sorted(seen))
    except TypeError:  # symbols of several types have no order of their own
        return tuple(sorted(seen, key=lambda v: (type(v).__name__, repr(v))))


def split_rows(answer: Any, table: SequenceTable) -> Any:
    """Return an answer for each row as it was asked for: for lists a list."""
    if not (table.listed and len(table.lengths)):
        return answer
    return np.split(answer, np.cumsum(table.lengths)[:-1])


def check_weights(sequence_weight: Any, lengths: IntArray) -> Array | None:
    """Return how often each sequence counts, (S,)."""
    if sequence_weight is None:
        return None
    weights = np.asarray(unmasked("sequence_weight", sequence_weight), dtype=np.float64)
    if weights.shape != lengths.shape:
        raise ValueError(
            f"sequence_weight must have shape {lengths.shape}, one number for each sequence; got "
            f"{weights.shape}"
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError("sequence_weight must hold finite numbers >= 0, and not only zeros")
    return weights


def read_states(states: Any, table: SequenceTable, n_states: int) -> IntArray | None:
    """Return known states (T,), −1 where a state is unknown."""
    if states is None:
        return None
    nested = isinstance(states, list | tuple) and len(states) > 0 and _axes(states[0]) == 1
    given = np.concatenate([np.asarray(one) for one in states]) if nested else np.asarray(states)
    total = int(table.lengths.sum())
    if given.shape != (total,):
        raise ValueError(
            f"states must hold one number for each of the {total} rows of X, got shape {given.shape}"
        )
    labels = given.astype(np.float64)
    wrong = (labels != np.rint(labels)) | (labels < -1) | (labels >= n_states)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"states must be whole numbers from 0 to {n_states - 1}, or -1 where unknown; row {row} "
            f"has {given[row]!r}"
        )
    return labels.astype(np.int64)


# -- reading -------------------------------------------------------------------------------------


def _axes(x: Any) -> int:
    """Return the number of axes of an entry, by its first entries."""
    if isinstance(x, np.ndarray) or hasattr(x, "columns"):
        return int(np.ndim(x))
    if isinstance(x, str) or not isinstance(x, Sequence):
        return int(np.ndim(x)) if hasattr(x, "__array__") else 0
    return 1 + (_axes(x[0]) if len(x) else 0)


def _n_rows(table: Any, otherwise: int) -> int:
    shape = getattr(table, "shape", None)
    return int(shape[0]) if shape else otherwise


def _refuse_ragged(X: Any) -> None:
    """Refuse a list whose entries, taken for rows, are of different lengths."""
    if not isinstance(X, list | tuple) or not all(isinstance(one, list | tuple) for one in X):
        return
    sizes = {len(one) for one in X}
    if len(sizes) > 1:
        raise ValueError(
            f"the entries of X are rows of different lengths ({min(sizes)} to {max(sizes)}); give sequences of "
            "one column as arrays, [np.array(a), np.array(b)]"
        )


def _check_lengths(lengths: Any, rows: int) -> IntArray:
    if lengths is None:
        return np.array([rows], dtype=np.int64)
    sizes = np.asarray(lengths)
    whole = sizes.ndim == 1 and sizes.size > 0 and np.array_equal(sizes, np.rint(sizes))
    if not whole or sizes.min() < 1:
        raise ValueError(
            f"lengths must be whole numbers >= 1, one for each sequence; got {lengths!r}"
        )
    if sizes.sum() != rows:
        raise ValueError(f"lengths must add up to the {rows} rows of X, got {int(sizes.sum())}")
    return sizes.astype(np.int64)


def _stack(sequences: list[Any]) -> Any:
    """Return tables one below another; data frames keep the names of their columns."""
    widths = {_width(one) for one in sequences}
    if len(widths) > 1:
        raise ValueError(f"sequences of X must have the same columns, got {sorted(widths)} of them")
    if not all(hasattr(one, "columns") for one in sequences):
        return np.concatenate([np.asarray(unmasked("X", one)) for one in sequences])
    first = sequences[0]
    for i, one in enumerate(sequences):
        if list(one.columns) != list(first.columns):
            raise ValueError(
                f"sequence {i} of X has columns {list(one.columns)}, the first {list(first.columns)}"
            )
    if type(first).__module__.startswith("polars"):
        return first.vstack(sequences[1]) if len(sequences) == 2 else _vstack(first, sequences[1:])
    rows = np.concatenate([one.to_numpy() for one in sequences])
    return type(first)(rows, columns=first.columns)


def _vstack(first: Any, others: list[Any]) -> Any:
    for one in others:
        first = first.vstack(one)
    return first


def _width(table: Any) -> int:
    shape = getattr(table, "shape", None)
    return int(shape[1]) if shape is not None else len(table[0])


def _plain(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _encode(values: Any, symbols: Symbols, name: str) -> Array:
    """Return the codes of symbols, NaN where one is missing."""
    plain = _plain(values)
    seen = np.array([not _is_missing(v) for v in plain])
    codes = np.full(len(plain), np.nan)
    try:
        codes[seen] = encode_labels(_objects([v for v in plain if not _is_missing(v)]), symbols)
    except ValueError as error:
        raise ValueError(f"{name} of X holds a symbol that fit has not seen: {error}") from None
    return codes


def _objects(values: list[Any]) -> Any:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _as_numbers(values: Any) -> Array:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("columns of X that are no symbols must hold numbers") from None
    if np.isinf(numbers).any():
        row = int(np.argwhere(np.isinf(numbers))[0, 0])
        raise ValueError(
            f"Input X contains infinity (inf) in row {row}; fill it in or leave the row out"
        )
    return numbers
