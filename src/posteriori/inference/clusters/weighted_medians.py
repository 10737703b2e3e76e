"""Medians of clusters, column by column: half of the weight lies on either side."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from posteriori.numerics.types import Array, IntArray

__all__ = ["median_centers", "weighted_median"]


def median_centers(x: Array, weight: Array, labels: IntArray, centers: Array) -> Array:
    """Return the median of each cluster's seen entries, (K, D); where there are none, the given centre.

    Parameters
    ----------
    x : (N, D)
    weight : (N,) or (0,)
    labels : (N,)
    centers : (K, D)
    """
    found = centers.copy()
    order = np.argsort(labels, kind="stable")
    edges = np.searchsorted(labels[order], np.arange(len(centers) + 1))
    for k, (a, b) in enumerate(pairwise(edges)):
        if a < b:
            some = order[a:b]
            w = weight[some] if len(weight) else np.ones(len(some))
            medians = weighted_median(x[some], w)
            found[k] = np.where(np.isnan(medians), found[k], medians)
    return found


def weighted_median(x: Array, weight: Array) -> Array:
    """Return the median of each column; between two numbers where half of the weight lies between.

    Parameters
    ----------
    x : (N, D)
        NaN is left out; of a column without numbers the median is NaN.
    weight : (N,)

    Examples
    --------
    >>> weighted_median(np.array([[1.0], [2.0], [9.0]]), np.array([1.0, 1.0, 2.0]))
    array([5.5])
    """
    order = np.argsort(x, axis=0, kind="stable")
    values = np.take_along_axis(x, order, axis=0)
    w = np.where(np.isnan(values), 0.0, weight[order])
    # Rounding must not decide whether exactly half lies below.
    below = np.cumsum(w, axis=0)
    total = below[-1]
    low = np.argmax(below >= (0.5 - 1e-12) * total, axis=0)
    high = np.argmax(below > (0.5 + 1e-12) * total, axis=0)
    columns = np.arange(x.shape[1])
    found = 0.5 * values[low, columns] + 0.5 * values[high, columns]
    return np.where(total > 0, found, np.nan)
