r"""Columns of one family as features: how they are laid out, filled where entries are missing, and read.

A family of numbers describes every column on its own; one of vectors the whole row. Each column d has
M features :math:`t(x_d)`, and with gaps one more that tells whether it is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from posteriori.inference.classes.class_moments import blocks_of_rows
from posteriori.numerics.types import Array

__all__ = ["ColumnLayout", "lay_out"]


class ColumnLayout(NamedTuple):
    """Where the features of columns are.

    Attributes
    ----------
    columns : int
        D, or 1 where a row is one vector.
    parts : tuple of shape
        Event shapes of the components of t(x).
    standing : (D,)
        A possible value of each column, which stands in for missing entries.
    shift : (D,)
        What is taken from x before all else: its mean, where the family can be moved.
    gaps, vectors : bool
    statistics : callable
        From rows (B, D), or (B, 1, D) of vectors, the components of t(x).
    """

    columns: int
    parts: tuple[tuple[int, ...], ...]
    standing: Array
    shift: Array
    gaps: bool
    vectors: bool
    statistics: Callable[[Array], Sequence[Array]]

    @property
    def width(self) -> int:
        """M."""
        return sum(prod(part) for part in self.parts)

    @property
    def size(self) -> int:
        """Number of features, the first of which is 1."""
        return 1 + self.columns * (self.width + self.gaps)

    def known(self, x: Array) -> Array:
        """Return rows without gaps, moved; of vectors (B, 1, D)."""
        filled = np.where(np.isnan(x), self.standing, x) if self.gaps else x
        moved = filled - self.shift
        return moved[:, None, :] if self.vectors else moved

    def of(self, x: Array) -> Array:
        """Return t(x) of rows (B, D), a column each: (F, B)."""
        d, out = self.columns, np.empty((self.size, len(x)))
        out[0] = 1.0
        inside = out[1 : 1 + d * self.width].reshape(d, self.width, len(x))
        first = 0
        for part, shape in zip(self.statistics(self.known(x)), self.parts, strict=True):
            size = prod(shape)
            values = np.broadcast_to(part, (len(x), d, *shape)).reshape(len(x), d, size)
            inside[:, first : first + size] = values.transpose(1, 2, 0)
            first += size
        if self.gaps:
            seen = out[1 + d * self.width :]
            np.equal(x.T, x.T, out=seen)
            inside *= seen[:, None, :]
        return out

    def counts(self, sums: Array) -> Array:
        """Return how many entries each component has seen, (K, D)."""
        if self.gaps:
            return sums[:, 1 + self.columns * self.width :]
        return np.repeat(sums[:, :1], self.columns, axis=1)

    def split(self, sums: Array) -> list[Array]:
        """Return the sums of each component of t(x), (K, D, …)."""
        k, d = len(sums), self.columns
        inside = sums[:, 1 : 1 + d * self.width].reshape(k, d, self.width)
        ends = np.cumsum([prod(part) for part in self.parts])[:-1]
        pieces = np.split(inside, ends, axis=2)
        return [p.reshape(k, d, *s) for p, s in zip(pieces, self.parts, strict=True)]

    def join(self, coefficients: Sequence[Array], offset: Array) -> Array:
        """Return θ (K, F) from the coefficients of each component, and what every seen entry has (K, D)."""
        k, d = offset.shape
        flat = [
            np.broadcast_to(c, (k, d, *s)).reshape(k, d, -1)
            for c, s in zip(coefficients, self.parts, strict=True)
        ]
        inside = np.concatenate(flat, axis=2).reshape(k, d * self.width)
        if self.gaps:
            return np.concatenate([np.zeros((k, 1)), inside, offset], axis=1)
        return np.concatenate([offset.sum(axis=1, keepdims=True), inside], axis=1)


def lay_out(
    x: Array, vectors: bool, shift: Array, statistics: Callable[[Array], Sequence[Array]]
) -> ColumnLayout:
    """Return the layout of a table (N, D) none of whose columns is missing everywhere."""
    gaps = any(bool(np.isnan(x[here]).any()) for here in blocks_of_rows(x))
    standing = x[np.argmax(x == x, axis=0), np.arange(x.shape[1])] if gaps else x[0]
    columns = 1 if vectors else x.shape[1]
    layout = ColumnLayout(columns, (), standing, shift, gaps, vectors, statistics)
    parts = tuple(np.shape(part)[2:] for part in statistics(layout.known(x[:1])))
    return layout._replace(parts=parts)
