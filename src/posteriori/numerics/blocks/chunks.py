"""Reading data in blocks that stay in the processor's cache.

Whatever the user has (an array, a list, a pandas or polars column, an iterator of any of these)
is seen by the code above as a stream of float64 blocks (n, ...). A float64 array is never copied,
other data at most one block at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from posteriori.numerics.blocks.block_sizes import WITH_COPY
from posteriori.numerics.types import Array
from posteriori.numerics.validation import _as_float, unmasked

__all__ = ["read_blocks"]


def read_blocks(data: Any, event_ndim: int = 0, name: str = "data") -> Iterator[Array]:
    """Yield the rows of ``data`` as finite float64 blocks.

    Parameters
    ----------
    data : array_like, or iterator of array_likes
        Rows are data points. A single datum (an array with ``event_ndim`` axes) is one row.
    event_ndim : int
        Number of axes of one datum.
    name : str
        What errors call the argument.

    Raises
    ------
    ValueError
        When there are no data at all, or a value is NaN or infinite (its row is named).

    Examples
    --------
    >>> [block.shape for block in read_blocks(iter([[1, 2], [3.0]]))]
    [(2,), (1,)]
    """
    start = 0
    for chunk in data if hasattr(data, "__next__") else (data,):
        rows = _as_rows(name, chunk, event_ndim)
        step = max(1, WITH_COPY * len(rows) // max(rows.size, 1))
        for first in range(0, len(rows), step):
            block = _as_float(name, rows[first : first + step])
            if rows.dtype.kind == "f":
                _check_finite(name, block, start + first)
            yield block
        start += len(rows)
    if start == 0:
        raise ValueError(f"{name} is empty: at least one observation is needed")


def _as_rows(name: str, chunk: Any, event_ndim: int) -> np.ndarray[Any, Any]:
    try:
        rows = np.asarray(unmasked(name, chunk))
    except ValueError as error:
        raise ValueError(f"{name} is ragged: {error}") from None
    if rows.dtype.kind not in "biuf":
        rows = np.asarray(_as_float(name, rows))
    if rows.ndim < event_ndim:
        raise ValueError(
            f"{name} must have rows of {event_ndim} axes, got an array of shape {rows.shape}"
        )
    return rows[None] if rows.ndim == event_ndim else rows


def _check_finite(name: str, block: Array, first_row: int) -> None:
    with np.errstate(all="ignore"):
        if np.isfinite(np.add.reduce(block, axis=None)):
            return  # a NaN or an infinity would have spread into the sum
    bad = ~np.isfinite(block.reshape(len(block), -1)).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        culprit = block.reshape(len(block), -1)[row]
        value = culprit[~np.isfinite(culprit)][0]
        raise ValueError(
            f"{name} must be finite, row {first_row + row} holds {value}; "
            "drop or impute such rows first"
        )
