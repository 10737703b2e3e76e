r"""Counts, means and scatters of the rows of each class, two passes over the table.

.. math:: S_k = \sum_{n: y_n = k} w_n (x_n - \bar x_k)(x_n - \bar x_k)^\top.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.inference.classes import class_kernels
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.types import Array

__all__ = [
    "ClassRows",
    "ColumnMoments",
    "class_scatters",
    "moments_by_class",
    "overall",
    "blocks_of_rows",
    "within_scatter",
]


class ClassRows(Protocol):
    """Rows whose classes are known."""

    @property
    def x(self) -> Array:
        """Rows (N, D); NaN is a missing entry."""
        ...

    @property
    def codes(self) -> Any:
        """Place of each row's class among the classes, (N,)."""
        ...

    @property
    def classes(self) -> Any:
        """Labels of the classes, (K,)."""
        ...

    @property
    def frequency(self) -> Array | None:
        """How often each row counts, (N,); None is once."""
        ...


class ColumnMoments(NamedTuple):
    """Moments of every column in every class; entries that are NaN are left out.

    Attributes
    ----------
    counts, means, squares : (K, D)
        Total weight, mean, and Σ w (x − mean)².
    """

    counts: Array
    means: Array
    squares: Array


def moments_by_class(rows: ClassRows, *, squares: bool = True) -> ColumnMoments:
    """Return the moments of columns; without ``squares`` the last part is 0."""
    x, shape = as_kernel_input(rows.x), (len(rows.classes), rows.x.shape[1])
    weight = as_kernel_input(np.ones(len(x)) if rows.frequency is None else rows.frequency)
    counts, sums, about = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    class_kernels.add_rows(x, rows.codes, weight, counts, sums)
    means = sums / np.where(counts > 0, counts, 1.0)
    if squares:
        class_kernels.add_squares(x, rows.codes, weight, means, about)
    return ColumnMoments(counts, means, about)


def overall(moments: ColumnMoments) -> tuple[Array, Array]:
    """Return mean and variance (D,) of each column over all classes; a constant one has variance 1."""
    total = moments.counts.sum(axis=0)
    share = moments.counts / np.where(total > 0, total, 1.0)
    mean = (share * moments.means).sum(axis=0)
    between = (share * (moments.means - mean) ** 2).sum(axis=0)
    within = moments.squares.sum(axis=0) / np.where(total > 0, total, 1.0)
    variance = between + within
    return mean, np.where(variance > 1e-24 * mean**2, variance, 1.0)


def within_scatter(rows: ClassRows, means: Array) -> Array:
    """Return Σ_k S_k, the scatter (D, D) of rows about the means of their classes."""
    d = rows.x.shape[1]
    total = np.zeros((d, d))
    for here in blocks_of_rows(rows.x):
        shifted = rows.x[here] - means[rows.codes[here]]
        if rows.frequency is not None:
            shifted *= np.sqrt(rows.frequency[here])[:, None]
        total += shifted.T @ shifted
    return total


def class_scatters(rows: ClassRows, means: Array) -> Array:
    """Return S_k of each class, (K, D, D)."""
    k, d = means.shape
    total = np.zeros((k, d, d))
    for here in blocks_of_rows(rows.x):
        for code in range(k):
            mine = np.flatnonzero(rows.codes[here] == code) + here.start
            shifted = rows.x[mine] - means[code]
            if rows.frequency is not None:
                shifted *= np.sqrt(rows.frequency[mine])[:, None]
            total[code] += shifted.T @ shifted
    return total


def blocks_of_rows(x: Array) -> list[slice]:
    """Return slices of rows whose numbers stay in the cache."""
    rows = rows_per_block(x.shape[1])
    return [slice(first, first + rows) for first in range(0, len(x), rows)]
