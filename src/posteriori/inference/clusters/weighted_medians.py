"""Medians of clusters, column by column: half of the weight lies on either side.

Columns are sorted once; then the medians of all clusters take one walk along each column.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["median_centers", "ranked_columns"]

#: Rounding must not decide whether exactly half of the weight lies below.
_SLACK = 1e-12


def ranked_columns(x: Array) -> IntArray:
    """Return the order of each column's entries, gaps last, (D, N)."""
    order = np.empty((x.shape[1], len(x)), dtype=np.int32 if len(x) < 2**31 else np.int64)
    for d, column in enumerate(x.T):
        order[d] = np.argsort(column, kind="stable")
    return order


def median_centers(
    x: Array, weight: Array, labels: IntArray, centers: Array, order: IntArray
) -> Array:
    """Return the median of each cluster's seen entries, (K, D); where there are none, the given centre.

    Between two numbers half of the weight may lie: then it is halfway.

    Parameters
    ----------
    x : (N, D)
    weight : (N,) or (0,)
    labels : (N,)
    centers : (K, D)
    order : (D, N)
        Of :func:`ranked_columns`.
    """
    found = centers.copy()
    room = np.empty((3, len(centers)))
    _walk(x, weight, labels, order, found, room)
    return found


@kernel
def _walk(
    x: Array, weight: Array, labels: IntArray, order: IntArray, found: Array, room: Array
) -> None:
    """Write the medians; ``room`` holds all weight, that so far, and the lower median of each cluster."""
    for d in range(len(order)):
        room[:] = 0.0
        for i in range(len(labels)):
            if x[i, d] == x[i, d]:
                room[0, labels[i]] += weight[i] if len(weight) else 1.0
        for at in order[d]:
            value, k = x[at, d], labels[at]
            half = 0.5 * room[0, k]
            if value != value or half == 0.0 or room[1, k] > half * (1.0 + _SLACK):
                continue
            before = room[1, k]
            room[1, k] += weight[at] if len(weight) else 1.0
            if before < half * (1.0 - _SLACK) <= room[1, k]:
                room[2, k] = value
            if room[1, k] > half * (1.0 + _SLACK):
                found[k, d] = 0.5 * room[2, k] + 0.5 * value
