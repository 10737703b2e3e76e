"""The unit of a column: its centre and spread, by the entries that are seen and by how often rows count."""

from __future__ import annotations

import numpy as np

from posteriori.inference.classes.class_moments import blocks_of_rows
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array

__all__ = ["column_scale", "standardized", "table_spread"]


def table_spread(x: Array, frequency: Array | None) -> tuple[Array, Array, Array]:
    """Return how many entries columns have, by frequency, their means and variances; NaN is left out."""
    seen, total, squares = np.zeros((3, x.shape[1]))
    blocks = blocks_of_rows(x)

    def weigh(rows: slice) -> Array:
        return np.where(np.isnan(x[rows]), 0.0, 1.0 if frequency is None else frequency[rows, None])

    for rows in blocks:
        weight = weigh(rows)
        seen += weight.sum(axis=0)
        total += (weight * np.nan_to_num(x[rows])).sum(axis=0)
    some = np.maximum(seen, np.finfo(np.float64).tiny)
    mean = total / some
    for rows in blocks:
        squares += (weigh(rows) * np.nan_to_num(x[rows] - mean) ** 2).sum(axis=0)
    return seen, mean, squares / some


def column_scale(mean: Array, variance: Array) -> Array:
    """Return variances of columns, and for such without spread the square of their size, or 1."""
    size = np.where(mean != 0.0, mean**2, 1.0)
    return np.where(exceeds_rounding(np.sqrt(variance), np.abs(mean)), variance, size)


def standardized(x: Array, frequency: Array | None = None) -> Array:
    """Return columns in units of their spread, gaps at the mean; a column without spread is 0."""
    weight = np.ones(len(x)) if frequency is None else frequency
    _, mean, _ = table_spread(x, frequency)
    shifted = np.where(x == x, x - mean, 0.0)
    spread = np.sqrt(weight @ shifted**2 / weight.sum())
    return shifted / np.where(spread > 0.0, spread, 1.0)
