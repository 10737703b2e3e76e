"""k-means: the lowest of several descents, with moves between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.inference.clusters.cluster_moves import improve_by_moves
from posteriori.inference.clusters.cluster_rows import ClusterRows, make_rows
from posteriori.inference.clusters.distinct_rows import DistinctRows, distinct_rows
from posteriori.inference.clusters.lloyd import Clustering, descend
from posteriori.inference.clusters.seeding import random_centers, seed_rows, spread_centers
from posteriori.numerics.types import Array

__all__ = ["find_clusters"]


def find_clusters(
    rows: ClusterRows,
    k: int,
    rng: np.random.Generator,
    *,
    init: Any = "k-means++",
    n_init: int = 1,
    split_merge: bool = True,
    max_iter: int = 300,
    tol: float = 0.0,
    keep_path: bool = False,
) -> Clustering:
    """Return k centres of low J, and the rows around them.

    Parameters
    ----------
    rows : ClusterRows
    k : int
    rng : Generator
    init : {"k-means++", "random"} or (k, D)
        Where to begin; at given centres once.
    n_init : int
        How often.
    split_merge : bool
        Whether centres are moved out of local minima. Of many rows some of the distinct ones serve to
        find where; the last descent sees all.
    max_iter, tol, keep_path
        Of each descent.

    Raises
    ------
    ValueError
        Where there are fewer distinct rows than clusters.
    """
    options: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "keep_path": keep_path}
    many = seed_rows(k, rows.x.shape[1])
    drawn = split_merge or isinstance(init, str)
    distinct = distinct_rows(rows.x, rows.weight, many if drawn else k, rng)
    if len(distinct.rows) < k:
        raise ValueError(
            f"n_clusters={k} needs as many distinct rows of positive weight, X has {len(distinct.rows)} "
            f"(n_samples={len(rows.x)}); lower n_clusters"
        )
    some = rows
    if split_merge and not keep_path and len(rows.x) > many:
        some = make_rows(distinct.rows, distinct.weight, gappy=rows.gappy, absolute=rows.absolute)
    starts = n_init if isinstance(init, str) else 1
    tries = (
        _descend_once(some, _begin(init, distinct, k, rng), split_merge, options)
        for _ in range(starts)
    )
    best = min(tries, key=lambda found: found.inertia)
    if some is not rows:
        last = descend(rows, best.centers, **options)
        best = last._replace(n_iter=best.n_iter + last.n_iter)
    return best


def _descend_once(
    rows: ClusterRows, centers: Array, split_merge: bool, options: dict[str, Any]
) -> Clustering:
    found = descend(rows, centers, **options)
    return improve_by_moves(rows, found, **options) if split_merge else found


def _begin(init: Any, distinct: DistinctRows, k: int, rng: np.random.Generator) -> Array:
    if not isinstance(init, str):
        return np.asarray(init)
    return (random_centers if init == "random" else spread_centers)(distinct, k, rng)
