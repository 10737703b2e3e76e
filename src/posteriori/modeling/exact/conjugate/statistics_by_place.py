"""Statistics of single rows merged into those of the places that the rows belong to.

Neighbours in the same place are merged in pairs, all places at once, until one is left for each:
as many rounds as the largest place has binary digits of rows.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

__all__ = ["merge_by_place"]


def merge_by_place(statistics: Any, index: Any) -> tuple[Any, Any]:
    """Return the statistics of every place that has rows, and which places those are.

    Parameters
    ----------
    statistics : mergeable statistics
        Of R rows, one by one: parts of shape (R, ...), or (R,) where all are alike.
    index : (R,) of int
        The place of each row.
    """
    order = np.argsort(index, kind="stable")
    places = index[order]
    merged = _take(statistics, order, len(index))
    while np.any(same := places[1:] == places[:-1]):
        rank = np.arange(len(places)) - _starts(same)
        right = np.flatnonzero(rank % 2 == 1)
        paired = _take(merged, right - 1, len(places)).merge(_take(merged, right, len(places)))
        kept = np.flatnonzero(rank % 2 == 0)
        merged = _put(_take(merged, kept, len(places)), np.searchsorted(kept, right - 1), paired)
        places = places[kept]
    return merged, places


def _starts(same: Any) -> Any:
    """Return where the run of equal places that each row lies in begins."""
    begins = np.concatenate([[True], ~same])
    return np.flatnonzero(begins)[np.cumsum(begins) - 1]


def _take(statistics: Any, index: Any, count: int) -> Any:
    """Return the statistics at an index, every part with a first axis."""
    return _mapped(
        lambda part: (part if np.ndim(part) else np.broadcast_to(part, (count,)))[index],
        statistics,
    )


def _put(statistics: Any, index: Any, others: Any) -> Any:
    """Return statistics with some replaced."""

    def replaced(part: Any, other: Any) -> Any:
        out = np.array(part, dtype=np.float64)
        out[index] = other
        return out

    return _mapped(replaced, statistics, others)


def _mapped(function: Any, *statistics: Any) -> Any:
    """Apply a function to the arrays of records that hold records or arrays."""
    first = statistics[0]
    if is_dataclass(first):
        names = [field.name for field in fields(first)]
    elif isinstance(first, tuple):
        names = list(first._fields)  # type: ignore[attr-defined]
    else:
        return function(*statistics)
    return type(first)(*(_mapped(function, *(getattr(s, n) for s in statistics)) for n in names))
