r"""First centres of clusters: k-means++, which takes rows far from the centres that there are.

A row is drawn with probability :math:`\propto w_n \min_j |x_n - c_j|^2`; of some such draws the one is
kept that lowers the sum most. Rows are drawn from the distinct ones in their own order, so that neither
the order of rows nor copies in the place of weights matter.

Reference: D. Arthur & S. Vassilvitskii, "k-means++: the advantages of careful seeding", 2007.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["seed_centers", "squared_distances"]


def seed_centers(x: Array, k: int, weight: Array | None, rng: np.random.Generator) -> Array:
    """Return k of the rows (N, D) as centres (k, D); fewer distinct rows are repeated.

    Parameters
    ----------
    x : (N, D)
    k : int
    weight : (N,), optional
        How often each row counts.
    rng : Generator
    """
    rows, place = np.unique(x, axis=0, return_inverse=True)
    w = np.bincount(place.ravel(), weights=weight, minlength=len(rows)).astype(np.float64)
    tries = 2 + int(np.log(k))
    first = _draw(w, rng.random(1))
    centers, nearest = rows[first], squared_distances(rows, rows[first])[:, 0]
    while len(centers) < k:
        pull = w * nearest
        chosen = _draw(pull if pull.sum() > 0 else w, rng.random(tries))
        closer = np.minimum(nearest[:, None], squared_distances(rows, rows[chosen]))
        best = int(np.argmin(w @ closer))
        centers, nearest = np.concatenate([centers, rows[chosen[best]][None]]), closer[:, best]
    return centers


def _draw(weight: Array, uniform: Array) -> Array:
    edges = np.cumsum(weight)
    return np.minimum(np.searchsorted(edges, uniform * edges[-1], side="right"), len(edges) - 1)


def squared_distances(x: Array, centers: Array) -> Array:
    """Return |x − c|² for all pairs, (N, K)."""
    squares = (x**2).sum(axis=1)[:, None] + (centers**2).sum(axis=1)
    return np.maximum(squares - 2.0 * (x @ centers.T), 0.0)
