"""Distinct rows with their weights, in an order of their own: neither order nor copies of rows matter.

Of many rows those with the smallest hash values stand for all: a row is in the sample or not by its
entries alone, and its copies with it. (So the sample of some rows is the same whatever their order.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.compilation import as_kernel_input, kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["DistinctRows", "distinct_rows"]

#: Rows that are hashed at a time.
_BLOCK = 65_536


class DistinctRows(NamedTuple):
    """Some rows without copies.

    Attributes
    ----------
    rows : (M, D)
        Sorted; gaps are NaN.
    weight : (M,)
        Sums over copies.
    first : (M,)
        Where each was found first.
    """

    rows: Array
    weight: Array
    first: IntArray


def distinct_rows(
    x: Array, weight: Array | None, most: int, rng: np.random.Generator
) -> DistinctRows:
    """Return the distinct rows that count, or as many of them as asked for where there are more.

    Parameters
    ----------
    x : (N, D)
    weight : (N,), optional
        Rows of weight 0 are left out.
    most : int
    rng : Generator
        Decides which.
    """
    w = None if weight is None or not len(weight) else weight
    if len(x) > most:
        first, total = _smallest_hashes(as_kernel_input(x), w, most, rng)
    else:
        first = np.arange(len(x)) if w is None else np.flatnonzero(w > 0)
        total = np.ones(len(x)) if w is None else w[first]
    order, new = _sorted(x[first])
    kept = first[order[new]]
    rows = x[kept]
    rows += 0.0  # −0 is 0
    return DistinctRows(rows, np.add.reduceat(total[order], np.flatnonzero(new)), kept)


def _sorted(rows: Array) -> tuple[IntArray, Array]:
    """Return the order of rows, which are overwritten, and which of them differ from the one before."""
    # Gaps are equal to one another, as no other NaN is: infinity stands for them, no row has it.
    rows[np.isnan(rows)] = np.inf
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for column in rows.T:
        entries = column[order]
        new[1:] |= entries[1:] != entries[:-1]
    return order, new


def _smallest_hashes(
    x: Array, weight: Array | None, most: int, rng: np.random.Generator
) -> tuple[IntArray, Array]:
    """Return where the rows of the smallest hash values are first, and their weights."""
    seed, limit = rng.integers(2**64, dtype=np.uint64), np.uint64(2**64 - 1)
    kept = np.empty(0, dtype=np.uint64)
    first: IntArray = np.empty(0, dtype=np.int64)
    total: Array = np.empty(0)
    hashes = np.empty(_BLOCK, dtype=np.uint64)
    for start in range(0, len(x), _BLOCK):
        stop = min(start + _BLOCK, len(x))
        _hash_rows(x, x.view(np.uint64), start, stop, seed, hashes)
        found = hashes[: stop - start]
        new = found <= limit if weight is None else (found <= limit) & (weight[start:stop] > 0)
        at = start + np.flatnonzero(new)
        w = np.ones(len(at)) if weight is None else weight[at]
        kept, index, place = np.unique(
            np.concatenate([kept, found[new]]), return_index=True, return_inverse=True
        )
        total = np.bincount(place, weights=np.concatenate([total, w])).astype(np.float64)[:most]
        first, kept = np.concatenate([first, at])[index][:most], kept[:most]
        if len(kept) == most:
            limit = kept[-1]
    return first, total


@kernel
def _hash_rows(x: Array, bits: Any, start: int, stop: int, seed: Any, hashes: Any) -> None:
    """Write a hash of each row: entries one after another, mixed as splitmix64 does."""
    for i in range(start, stop):
        h = np.uint64(seed)
        for d in range(x.shape[1]):
            b = bits[i, d]
            if x[i, d] == 0.0:
                b = np.uint64(0)  # also of −0
            elif x[i, d] != x[i, d]:
                b = np.uint64(1)  # one for all gaps
            h = (h ^ b) + np.uint64(0x9E3779B97F4A7C15)
            h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            h = h ^ (h >> np.uint64(31))
        hashes[i - start] = h
