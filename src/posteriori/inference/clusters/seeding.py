r"""First centres of clusters: k-means++, which takes rows far from the centres that there are.

A row is drawn with probability :math:`\propto w_n \min_j |x_n - c_j|^2`; of some such draws the one is
kept that lowers the sum most. Rows are drawn from the distinct ones in their own order, so that neither
the order of rows nor copies in the place of weights matter.

Reference: D. Arthur & S. Vassilvitskii, "k-means++: the advantages of careful seeding", 2007.
"""

from __future__ import annotations

import numpy as np

from posteriori.inference.clusters.distinct_rows import DistinctRows, distinct_rows
from posteriori.numerics.types import Array

__all__ = ["random_centers", "seed_centers", "seed_rows", "spread_centers"]

#: Of more distinct rows than this a sample is drawn from.
_MOST_ROWS = 20_000

#: But of wide rows fewer, as the sample is copied: 2 MB, and not below so many, or a hundred for each cluster.
_MOST_NUMBERS, _FEWEST_ROWS = 1 << 18, 5_000


def seed_rows(k: int, width: int) -> int:
    """Return how many distinct rows, of so many numbers, k centres are drawn from.

    Examples
    --------
    >>> seed_rows(3, 2), seed_rows(3, 30), seed_rows(3, 1000), seed_rows(300, 2)
    (20000, 8738, 5000, 30000)
    """
    some = max(_FEWEST_ROWS, _MOST_NUMBERS // max(width, 1))
    return max(min(_MOST_ROWS, some), 100 * k)


def seed_centers(
    x: Array, k: int, weight: Array | None, rng: np.random.Generator, tries: int | None = None
) -> Array:
    """Return k of the rows (N, D) as centres (k, D); fewer distinct rows are repeated.

    Parameters
    ----------
    x : (N, D)
        NaN is a gap: seen entries count, and a centre has the mean of the column there.
    k : int
    weight : (N,), optional
        How often each row counts.
    rng : Generator
    tries : int, optional
        Draws of which the best is kept; by default 2 + ln k.
    """
    distinct = distinct_rows(x, weight, seed_rows(k, x.shape[1]), rng)
    return spread_centers(distinct, k, rng, tries)


def spread_centers(
    distinct: DistinctRows, k: int, rng: np.random.Generator, tries: int | None = None
) -> Array:
    """Return k of some distinct rows by k-means++."""
    rows, w, _ = distinct
    gaps = np.isnan(rows)
    seen = ~gaps if gaps.any() else None
    share = w.sum() if seen is None else w @ seen
    mean = w @ (rows if seen is None else np.nan_to_num(rows)) / np.where(share > 0, share, 1.0)
    z = rows - mean
    z[gaps] = 0.0  # the centre of the data is 0, and gaps lie there
    free = np.ones(len(z), dtype=bool)
    tries = 2 + int(np.log(k)) if tries is None else tries
    chosen = [int(_draw(w, rng.random(1))[0])]
    nearest = _seen_distances(z, seen, z[chosen])[:, 0]
    while True:
        free[chosen[-1]], nearest[chosen[-1]] = False, 0.0
        if len(chosen) == k:
            return z[chosen] + mean
        drawn = _draw(_pull(w, nearest, free), rng.random(tries))
        closer = np.minimum(nearest[:, None], _seen_distances(z, seen, z[drawn]))
        best = int(np.argmin(w @ closer))
        nearest = closer[:, best]
        chosen.append(int(drawn[best]))


def random_centers(distinct: DistinctRows, k: int, rng: np.random.Generator) -> Array:
    """Return k of some distinct rows, drawn by their weights; gaps at the means of the columns."""
    rows, w, _ = distinct
    mean = np.nan_to_num(np.nansum(rows * w[:, None], axis=0) / (w @ ~np.isnan(rows)))
    # The rows that come first in a race with exponential times are a draw without replacement.
    chosen = np.argsort(rng.exponential(size=len(w)) / w)[:k]
    return np.where(np.isnan(rows[chosen]), mean, rows[chosen])


def _pull(w: Array, nearest: Array, free: Array) -> Array:
    """Return what rows are drawn by: those that differ by rounding alone by their weight."""
    for pull in (w * nearest, w * free):
        if pull.sum() > 0:
            return pull
    return w


def _draw(weight: Array, uniform: Array) -> Array:
    edges = np.cumsum(weight)
    return np.minimum(np.searchsorted(edges, uniform * edges[-1], side="right"), len(edges) - 1)


def _seen_distances(z: Array, seen: Array | None, centers: Array) -> Array:
    """Return Σ (z − c)² over seen entries for all pairs, (N, K); z is 0 at gaps, None says that all are seen."""
    own = (centers**2).sum(axis=1) if seen is None else seen @ (centers**2).T
    squares = np.einsum("nd,nd->n", z, z)[:, None] + own
    return np.maximum(squares - 2.0 * (z @ centers.T), 0.0)
