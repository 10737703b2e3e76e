"""Tables whose rows are made when they are read, block by block: what is wide is never held whole.

Curves of a column are many times as large as the column. Sums over the rows of a table do not ask for
all of them at once, so they are made anew for each pass, while they are in the cache; and products
with vectors may be known without making any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.types import Array

__all__ = ["Products", "RowBlocks"]


class Products(NamedTuple):
    """Products of a table X (N, D) with vectors, where they are known without its rows.

    Attributes
    ----------
    times : callable
        From v (D,) or (D, M) to Xv.
    sums : callable
        From u (N,) to uᵀX.
    """

    times: Callable[[Array], Array]
    sums: Callable[[Array], Array]


class RowBlocks:
    """Rows (N, D) that are made when they are read.

    Parameters
    ----------
    make : callable
        From a slice of rows, or their places, to these rows, (n, D).
    shape : (int, int)
        (N, D).
    products : Products, optional
        By default all rows are made for a product.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> powers = RowBlocks(lambda rows: np.stack([x[rows], x[rows] ** 2], axis=1), (4, 2))
    >>> powers[2:]
    array([[2., 4.],
           [3., 9.]])
    >>> powers @ np.array([1.0, 1.0]), np.ones(4) @ powers
    (array([ 0.,  2.,  6., 12.]), array([ 6., 14.]))
    """

    #: NumPy's arrays leave products to this class.
    __array_ufunc__ = None

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(
        self,
        make: Callable[[Any], Array],
        shape: tuple[int, int],
        products: Products | None = None,
    ) -> None:
        self._make = make
        self.shape = shape
        self._products = products

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """Return rows; of all rows some columns, not yet made, or one column (N,)."""
        if not isinstance(key, tuple):
            return self._make(key)
        rows, columns = key
        if not isinstance(rows, slice) or rows != slice(None):
            return self._make(rows)[:, columns]
        if isinstance(columns, slice):
            return self._some_columns(columns)
        return np.concatenate([block[:, columns] for _, block in self.blocks()])

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield which rows, and these rows, as many as stay in the cache."""
        step = rows_per_block(self.shape[1])
        for first in range(0, len(self), step):
            rows = slice(first, first + step)
            yield rows, self._make(rows)

    def __matmul__(self, right: Array) -> Array:
        if self._products is not None:
            return self._products.times(right)
        return np.concatenate([block @ right for _, block in self.blocks()])

    def __rmatmul__(self, left: Array) -> Array:
        if self._products is not None:
            return np.apply_along_axis(self._products.sums, -1, left)
        total = np.zeros((*left.shape[:-1], self.shape[1]))
        for rows, block in self.blocks():
            total += left[..., rows] @ block
        return total

    def beside(self, others: Array) -> RowBlocks:
        """Return the table with the columns of an array (N, E) on its right."""
        n, d = self.shape
        products = Products(
            lambda v: self @ v[:d] + others @ v[d:],
            lambda u: np.concatenate([u @ self, u @ others]),
        )
        return RowBlocks(
            lambda rows: np.column_stack([self._make(rows), others[rows]]),
            (n, d + others.shape[1]),
            products,
        )

    def standardized(self, mean: Array, factor: Array, *, ones: bool) -> RowBlocks:
        """Return the table of (x − m) f, after a column of ones if asked for."""
        n, d = self.shape

        def make(rows: Any) -> Array:
            block = self._make(rows)
            design = np.ones((len(block), d + ones))
            np.subtract(block, mean, out=design[:, ones:])
            design[:, ones:] *= factor
            return design

        def times(v: Array) -> Array:
            w = (v[ones:].T * factor).T
            return self @ w + (v[: int(ones)].sum(axis=0) - mean @ w)

        def sums(u: Array) -> Array:
            total = u.sum()
            return np.concatenate([np.full(int(ones), total), (u @ self - total * mean) * factor])

        return RowBlocks(make, (n, d + ones), Products(times, sums))

    def _some_columns(self, columns: slice) -> RowBlocks:
        n, d = self.shape

        def times(v: Array) -> Array:
            whole = np.zeros((d, *v.shape[1:]))
            whole[columns] = v
            return self @ whole

        return RowBlocks(
            lambda rows: self._make(rows)[:, columns],
            (n, len(range(*columns.indices(d)))),
            Products(times, lambda u: (u @ self)[columns]),
        )
