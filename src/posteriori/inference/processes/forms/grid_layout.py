"""Points as cells of a grid: which columns make an axis, where each row is, and which cells have none."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array, IntArray

__all__ = ["GridLayout", "find_layout"]

#: Most axes that are tried in pairs.
_MOST_AXES = 8


class GridLayout(NamedTuple):
    """A grid.

    Attributes
    ----------
    columns : tuple of tuple of int
        Of each axis.
    firsts : tuple of (n,)
        For each point of each axis a row that has it.
    cells : (N,)
        Where each row is; the last axis moves fastest.
    """

    columns: tuple[tuple[int, ...], ...]
    firsts: tuple[IntArray, ...]
    cells: IntArray

    @property
    def shape(self) -> tuple[int, ...]:
        """Points of each axis."""
        return tuple(len(first) for first in self.firsts)

    @property
    def gaps(self) -> IntArray:
        """Cells without a row, (M,)."""
        empty = np.ones(prod(self.shape), dtype=bool)
        empty[self.cells] = False
        return np.flatnonzero(empty)


class _Axis(NamedTuple):
    """Columns, a row for each of their distinct points, and which of these each row has."""

    columns: tuple[int, ...]
    first: IntArray
    code: IntArray

    @property
    def size(self) -> int:
        return len(self.first)

    def beside(self, other: _Axis) -> _Axis:
        """Return one axis of both."""
        pairs = self.code * other.size + other.code
        _, first, code = np.unique(pairs, return_index=True, return_inverse=True)
        return _Axis(tuple(sorted(self.columns + other.columns)), first, code)


def find_layout(X: Array, groups: list[tuple[int, ...]], most_gaps: int) -> GridLayout | None:
    """Return distinct points as a grid of at least two axes, None where they are none.

    Parameters
    ----------
    X : (N, D)
        Distinct rows, in any order.
    groups : list of tuple of int
        Columns that are on one axis; a column of no group has an axis of its own. Where the axes would
        leave too many gaps those are joined whose points are seen in the fewest pairs: places of
        stations are one axis, and times another.
    most_gaps : int

    Examples
    --------
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [0.0, 7.0]])
    >>> layout = find_layout(X, [], most_gaps=1)
    >>> layout.shape, layout.cells, layout.gaps
    ((2, 2), array([0, 2, 1]), array([3]))
    """
    axes = []
    for columns in _closed(groups, X.shape[1]):
        _, first, code = np.unique(X[:, columns], axis=0, return_index=True, return_inverse=True)
        axes.append(_Axis(columns, first, code.reshape(-1)))
        if 2 * len(first) > len(X) + most_gaps:  # no room for two points of another axis
            return None
    while prod(axis.size for axis in axes) > len(X) + most_gaps:
        if not 2 < len(axes) <= _MOST_AXES:
            return None
        axes = _join(axes)
    if sum(axis.size > 1 for axis in axes) < 2:
        return None
    cells = np.ravel_multi_index([axis.code for axis in axes], [axis.size for axis in axes])
    return GridLayout(
        tuple(axis.columns for axis in axes), tuple(axis.first for axis in axes), cells
    )


def _join(axes: list[_Axis]) -> list[_Axis]:
    """Return the axes with the two as one of which the fewest pairs are seen."""
    pairs = [(a, b, a.beside(b)) for a, b in combinations(axes, 2)]
    a, b, both = min(pairs, key=lambda pair: pair[2].size / (pair[0].size * pair[1].size))
    return [both, *(axis for axis in axes if axis is not a and axis is not b)]


def _closed(groups: list[tuple[int, ...]], columns: int) -> list[tuple[int, ...]]:
    """Return the partition of all columns in which each group is within one part."""
    parts = [{column} for column in range(columns)]
    for group in groups:
        touched = [part for part in parts if part & set(group)]
        if touched:
            parts = [part for part in parts if part not in touched] + [set().union(*touched)]
    return sorted(tuple(sorted(part)) for part in parts)
