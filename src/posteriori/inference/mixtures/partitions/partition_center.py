r"""The partition nearest to drawn ones, and how often two rows share a cluster.

Near is a small expected variation of information, the entropy that either partition has given the other,

.. math:: \mathrm{VI}(z, y) = \frac1N\Bigl[\sum_k n_k\ln n_k + \sum_l m_l\ln m_l
          - 2\sum_{kl} n_{kl}\ln n_{kl}\Bigr].

The best of the draws is improved by moving single rows while that helps.

Reference: S. Wade & Z. Ghahramani, "Bayesian cluster analysis: point estimation and credible balls", Bayesian
Analysis 13, 2018; D. Dahl, D. Johnson & P. Müller, "Search algorithms and loss functions for Bayesian
clustering", 2022.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array, IntArray

__all__ = ["count_together", "nearest_to_draws", "order_by_size"]

#: Draws that are tried as the nearest partition.
_CANDIDATES = 50
#: Numbers in the tables of shared rows: 64 MB; of more clusters fewer draws are looked at.
_MOST_CELLS = 16_000_000
#: Passes over all rows; two or three are usual.
_PASSES = 20
#: A move must gain this part of a row's n ln n: rounding is smaller.
_MARGIN = 1e-9


def nearest_to_draws(labels: Any) -> IntArray:
    """Return labels (N,) of a partition of small expected variation of information from draws (S, N).

    Time O(S N K) for each of a few passes.
    """
    most = int(labels.max()) + 1
    cells = most * (most + 1)
    if len(labels) * cells > _MOST_CELLS:
        labels = _evenly(labels, max(1, _MOST_CELLS // cells))
    labels = np.ascontiguousarray(labels)
    candidates = np.unique(_evenly(labels, _CANDIDATES), axis=0)
    n = np.arange(labels.shape[1] + 2.0)
    weight = special.xlogy(n, n)
    losses = np.empty(len(candidates))
    _losses(labels, candidates, weight, np.empty((most, most), dtype=np.int64), losses)
    best = int(np.argmax(losses <= losses.min() + _MARGIN * labels.shape[1]))
    found = candidates[best].astype(np.int64)
    tables = np.zeros((len(labels), most, most + 1), dtype=np.int32)
    _improve(labels, found, np.diff(weight), tables, _PASSES, _MARGIN)
    return found


def order_by_size(labels: IntArray) -> IntArray:
    """Return labels by which clusters are numbered from the largest on, equal ones by their first rows.

    Examples
    --------
    >>> order_by_size(np.array([4, 2, 2, 7]))
    array([1, 0, 0, 2])
    """
    _, first, codes, counts = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -counts))
    return np.argsort(order)[codes]


def count_together(labels: Any) -> Array:
    """Return how often two rows share a cluster in draws (S, N), as a share (N, N); time O(S N²)."""
    counts = np.zeros((labels.shape[1],) * 2, dtype=np.int32)
    _count_together(np.ascontiguousarray(labels), counts)
    return counts / float(len(labels))


def _evenly(labels: Any, count: int) -> Any:
    """Return so many draws, evenly spaced; all where there are no more."""
    if len(labels) <= count:
        return labels
    return labels[np.linspace(0, len(labels) - 1, count).round().astype(np.int64)]


@kernel
def _losses(labels: Any, candidates: Any, weight: Array, table: IntArray, losses: Array) -> None:
    """Write Σ_k n_k ln n_k − 2 E Σ n_kl ln n_kl of each candidate."""
    draws, rows = labels.shape
    for j in range(candidates.shape[0]):
        table[:, :] = 0
        for i in range(rows):
            table[candidates[j, i], 0] += 1
        loss = 0.0
        for k in range(table.shape[0]):
            loss += weight[table[k, 0]]
        shared = 0.0
        for s in range(draws):
            table[:, :] = 0
            for i in range(rows):
                table[candidates[j, i], labels[s, i]] += 1
            for k in range(table.shape[0]):
                for l in range(table.shape[1]):
                    shared += weight[table[k, l]]
        losses[j] = loss - 2.0 * shared / draws


@kernel
def _improve(
    labels: Any, found: IntArray, step: Array, tables: Any, passes: int, margin: float
) -> None:
    """Move rows to the clusters that make the loss least; tables (S, L, K + 1) count shared rows."""
    draws, rows = labels.shape
    most = tables.shape[2]
    counts, gains = np.zeros(most, dtype=np.int64), np.empty(most)
    for i in range(rows):
        counts[found[i]] += 1
        for s in range(draws):
            tables[s, labels[s, i], found[i]] += 1
    for _ in range(passes):
        moved = False
        for i in range(rows):
            old = found[i]
            counts[old] -= 1
            gains[:] = 0.0
            for s in range(draws):
                tables[s, labels[s, i], old] -= 1
                for k in range(most):
                    gains[k] += step[tables[s, labels[s, i], k]]
            best, least = old, step[counts[old]] - 2.0 * gains[old] / draws
            for k in range(most):
                loss = step[counts[k]] - 2.0 * gains[k] / draws
                if loss < least - margin:
                    best, least = k, loss
            moved |= best != old
            found[i] = best
            counts[best] += 1
            for s in range(draws):
                tables[s, labels[s, i], best] += 1
        if not moved:
            break


@kernel
def _count_together(labels: Any, counts: Any) -> None:
    for i in range(counts.shape[0]):
        for s in range(labels.shape[0]):
            own = labels[s, i]
            for j in range(counts.shape[1]):
                counts[i, j] += labels[s, j] == own
