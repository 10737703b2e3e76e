r"""Moves of centres out of a local minimum: one is taken away, and another cluster gets two.

Without centre j its rows go to the next: that costs
:math:`\sum_{n:z_n=j} w_n (d_{n,2}^2 - d_{n,1}^2)`, and less once centres follow. A cluster in two saves what
its halves lie apart. Pairs are tried in the order of what they promise, and kept only if a few of Lloyd's
steps end lower.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from posteriori.inference.clusters.bisection import cut_longest
from posteriori.inference.clusters.cluster_rows import ClusterRows, Sweeps
from posteriori.inference.clusters.lloyd import Clustering, PathStep, descend
from posteriori.numerics.types import Array

__all__ = ["improve_by_moves"]

#: Centres to take away and clusters to divide that are tried with each other.
_TRIED = 4

#: Lloyd's steps that a trial is given.
_STEPS = 8

#: J must fall by more than this part: far beyond rounding.
_LOWER = 1e-9


def improve_by_moves(
    rows: ClusterRows, found: Clustering, *, max_iter: int, tol: float, keep_path: bool
) -> Clustering:
    """Return clusters from which no move that is tried leads lower.

    Parameters
    ----------
    rows : ClusterRows
    found : Clustering
        Where Lloyd's iterations ended.
    max_iter, tol, keep_path
        Of those that follow each move.
    """
    while len(found.centers) > 1:
        moved = _first_that_lowers(rows, found)
        if moved is None:
            break
        on = descend(rows, moved.centers, max_iter=max_iter, tol=tol, keep_path=keep_path)
        step = [PathStep("move", *moved[:3])] if keep_path else []
        path = [*found.path, *step, *on.path]
        n_iter = found.n_iter + moved.n_iter + on.n_iter
        found = on._replace(n_iter=n_iter, path=path)
    return found


def _first_that_lowers(rows: ClusterRows, found: Clustering) -> Clustering | None:
    costs, savings, halves = _costs_and_savings(rows, found)
    cheapest, largest = np.argsort(costs)[:_TRIED], np.argsort(-savings)[:_TRIED]
    pairs = [(j, k) for j, k in product(cheapest, largest) if j != k and savings[k] > 0.0]
    for j, k in sorted(pairs, key=lambda pair: costs[pair[0]] - savings[pair[1]]):
        centers = found.centers.copy()
        centers[j], centers[k] = halves[k]
        trial = descend(rows, centers, max_iter=_STEPS)
        if trial.inertia < (1.0 - _LOWER) * found.inertia:
            return trial
    return None


def _costs_and_savings(rows: ClusterRows, found: Clustering) -> tuple[Array, Array, Array]:
    """Return what centres cost to take away, what clusters save in two, and the middles of the halves."""
    x, weight, shift, _, _ = rows
    k = len(found.centers)
    w = weight if len(weight) else np.ones(len(x))
    sweeps = Sweeps(rows, k)
    sweeps.assign(found.centers - shift)
    labels, farther = sweeps.labels, sweeps.gap.astype(np.float64)
    off = np.nan_to_num(x - found.centers[labels])
    near = np.sqrt(np.einsum("nd,nd->n", off, off))
    costs = np.bincount(labels, weights=w * farther * (farther + 2.0 * near), minlength=k)
    savings, halves = np.zeros(k), np.repeat(found.centers[:, None], 2, axis=1)
    order = np.argsort(labels, kind="stable")
    edges = np.searchsorted(labels[order], np.arange(k + 1))
    for j in range(k):
        some = order[edges[j] : edges[j + 1]]
        some = some[w[some] > 0]
        if len(some) < 2:
            continue
        cut = cut_longest(off[some], w[some])
        savings[j] = cut.variance - cut.within
        for side, members in enumerate((some[cut.leaves], some[~cut.leaves])):
            if len(members):
                halves[j, side] += w[members] @ off[members] / w[members].sum()
    return costs, savings, halves
