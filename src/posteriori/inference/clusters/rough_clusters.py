"""Rough clusters to begin at: a few steps of k-means, which need not end.

In NumPy alone: models of a few rows begin here, and importing a compiler would take longer than they do.
"""

from __future__ import annotations

import numpy as np

from posteriori.inference.clusters.seeding import seed_centers
from posteriori.numerics.types import Array, IntArray

__all__ = ["nearest_of", "rough_centers"]

#: Rows whose distances are held at a time.
_BLOCK = 16_384


def rough_centers(
    x: Array,
    k: int,
    weight: Array | None,
    rng: np.random.Generator,
    *,
    steps: int,
    tries: int | None = None,
) -> Array:
    """Return centres (k, D) after some steps from k-means++ seeds; empty clusters stay where they are.

    Parameters
    ----------
    x : (N, D)
        Without gaps.
    k : int
    weight : (N,), optional
    rng : Generator
    steps : int
        At most.
    tries : int, optional
        Of each seed.
    """
    centers = seed_centers(x, k, weight, rng, tries)
    w = np.ones(len(x)) if weight is None else weight
    for _ in range(steps):
        labels = nearest_of(x, centers)
        counts = np.bincount(labels, weights=w, minlength=k)[:, None]
        sums = np.stack([np.bincount(labels, weights=w * c, minlength=k) for c in x.T], axis=1)
        moved = np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), centers)
        if np.array_equal(moved, centers):
            break
        centers = moved
    return centers


def nearest_of(x: Array, centers: Array) -> IntArray:
    """Return the nearest centre of each row, (N,), by |c|² − 2 x·c."""
    middle = centers.mean(axis=0)
    c = centers - middle
    squares = (c**2).sum(axis=1)
    found = np.empty(len(x), dtype=np.intp)
    for start in range(0, len(x), _BLOCK):
        part = slice(start, start + _BLOCK)
        found[part] = np.argmin(squares - 2.0 * ((x[part] - middle) @ c.T), axis=1)
    return found
