"""Trees as flat arrays: what is grown, saved and asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from posteriori.numerics.compilation import as_kernel_input, kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["Trees", "join_trees", "leaf_of"]

_DTYPES: dict[str, Any] = {
    "threshold": np.float64,
    "missing_left": np.bool_,
    "levels": np.bool_,
    "n_levels": np.int64,
    "roots": np.int64,
}

#: Of columns, children and marks: a forest has millions of nodes, and its memory is theirs.
_PLACE = np.int32

#: Nodes that are looked at together: what is found of them takes more room than they do.
_LOOKED_AT = 65_536


@dataclass(frozen=True, eq=False)
class Trees:
    """Binary trees over the columns of a table, one after another.

    A node comes before its children. A row goes left where x[column] <= threshold or, of a category,
    where its level is marked; what is missing, and levels that are new, go where the node says.

    Attributes
    ----------
    column : (M,)
        Which column a node asks for; −1 in leaves.
    threshold : (M,)
    left, right : (M,)
        The children.
    missing_left : (M,)
    subset : (M,)
        Where the marks of a node's levels begin in ``levels``; −1 where it asks for a number.
    levels : (L,)
        Whether each level goes left.
    n_levels : (D,)
        How many levels each column has; 0 for numbers.
    roots : (T,)
        Where each tree begins.
    """

    column: IntArray
    threshold: Array
    left: IntArray
    right: IntArray
    missing_left: Array
    subset: IntArray
    levels: Array
    n_levels: IntArray
    roots: IntArray

    def __post_init__(self) -> None:
        for field in fields(self):
            array: Any = _as_stored(field.name, getattr(self, field.name)).view()
            array.setflags(write=False)  # one type for the compiler, also when it comes from a file
            object.__setattr__(self, field.name, array)

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """All arrays, for compiled loops.

        Raises
        ------
        ValueError
            When a row could leave the arrays or go round for ever: they come from a damaged file.
        """
        _require_sound(self)
        return tuple(getattr(self, field.name) for field in fields(self))

    @property
    def is_leaf(self) -> Array:
        """Which nodes are leaves, (M,)."""
        return self.column < 0

    @property
    def tree_of(self) -> IntArray:
        """The tree of each node, (M,)."""
        return np.searchsorted(self.roots, np.arange(len(self.column)), side="right") - 1

    @cached_property
    def depth(self) -> IntArray:
        """How many questions lead to each node, (M,)."""
        left, right = self.arrays[2], self.arrays[3]
        depth = np.zeros(len(left), dtype=np.int64)
        for i in np.flatnonzero(self.column >= 0):  # parents come first
            depth[[left[i], right[i]]] = depth[i] + 1
        return depth

    def tree(self, t: int) -> Trees:
        """Return one of the trees."""
        ends = np.append(self.roots, len(self.column))
        nodes = slice(ends[t], ends[t + 1])
        inner = self.column[nodes] >= 0
        shift = np.where(inner, ends[t], 0)
        return Trees(
            self.column[nodes],
            self.threshold[nodes],
            self.left[nodes] - shift,
            self.right[nodes] - shift,
            self.missing_left[nodes],
            self.subset[nodes],
            self.levels,
            self.n_levels,
            np.zeros(1, dtype=np.int64),
        )

    def first(self, count: int) -> Trees:
        """Return the first trees, all if there are no more."""
        if count >= len(self.roots):
            return self
        nodes = slice(self.roots[count])
        return Trees(
            self.column[nodes],
            self.threshold[nodes],
            self.left[nodes],
            self.right[nodes],
            self.missing_left[nodes],
            self.subset[nodes],
            self.levels,
            self.n_levels,
            self.roots[:count],
        )

    def find_leaves(self, x: Array) -> IntArray:
        """Return the leaf of each row in each tree, (N, T).

        Parameters
        ----------
        x : (N, D)
            NaN is missing; categories are codes 0, 1, ….
        """
        x, arrays = self._checked(x), self.arrays
        leaves = np.empty((len(x), len(self.roots)), dtype=np.int64)
        _find_leaves(arrays, x, leaves)
        return leaves

    def add_values(self, values: Array, x: Array, total: Array) -> None:
        """Add to ``total`` (N, V) the values (M, V) of each row's leaves."""
        x = self._checked(x)
        if values.shape != (len(self.column), total.shape[1]) or len(total) != len(x):
            raise ValueError(
                f"values {values.shape} and total {total.shape} do not fit {len(self.column)} nodes "
                f"and {len(x)} rows"
            )
        _add_values(self.arrays, as_kernel_input(values), x, total)

    def add_shared_values(self, places: Any, values: Array, x: Array, total: Array) -> None:
        """Add to ``total`` (N, V) the values (U, V) at the places (M,) of each row's leaves."""
        x, places = self._checked(x), np.ascontiguousarray(places, dtype=_PLACE).view()
        places.setflags(write=False)
        if places.shape != self.column.shape or total.shape != (len(x), values.shape[1]):
            raise ValueError(f"places {places.shape} and total {total.shape} do not fit")
        if len(places) and not 0 <= places.min() <= places.max() < len(values):
            raise ValueError(f"a leaf has none of the {len(values)} values")
        _add_shared(self.arrays, places, as_kernel_input(values), x, total)

    def _checked(self, x: Array) -> Array:
        if x.ndim != 2 or x.shape[1] != len(self.n_levels):
            raise ValueError(f"x must be (N, {len(self.n_levels)}), got {x.shape}")
        return as_kernel_input(x)


def join_trees(parts: Sequence[Trees]) -> Trees:
    """Return the trees of all parts, in this order; they ask for the same columns."""
    if len(parts) == 1:
        return parts[0]
    nodes = np.cumsum([0, *(len(part.column) for part in parts)])
    marks = np.cumsum([0, *(len(part.levels) for part in parts)])
    first = list(zip(parts, nodes, marks, strict=False))
    return Trees(
        np.concatenate([part.column for part in parts]),
        np.concatenate([part.threshold for part in parts]),
        np.concatenate([_moved(part.left, node) for part, node, _ in first]),
        np.concatenate([_moved(part.right, node) for part, node, _ in first]),
        np.concatenate([part.missing_left for part in parts]),
        np.concatenate([_moved(part.subset, mark) for part, _, mark in first]),
        np.concatenate([part.levels for part in parts]),
        parts[0].n_levels,
        np.concatenate([part.roots + node for part, node, _ in first]),
    )


def _moved(places: IntArray, by: int) -> IntArray:
    """Return places further on; −1 stays, as it is none."""
    return np.where(places >= 0, places + by, -1)


def _as_stored(name: str, array: Any) -> Any:
    """Return an array in the type that it is kept in."""
    dtype = _DTYPES.get(name, _PLACE)
    fits = isinstance(array, np.ndarray) and array.dtype == dtype
    if dtype is _PLACE and not fits and np.size(array) and np.max(array) > np.iinfo(_PLACE).max:
        raise ValueError(
            f"these trees have too many nodes or levels ({name} up to {np.max(array)}): "
            "grow fewer trees, or larger leaves"
        )
    return np.ascontiguousarray(array, dtype=dtype)


def _require_sound(trees: Trees) -> None:
    for field in fields(trees):
        array, dtype = getattr(trees, field.name), _DTYPES.get(field.name, _PLACE)
        plain = isinstance(array, np.ndarray) and array.ndim == 1 and array.flags.c_contiguous
        if not plain or array.dtype != dtype:
            raise ValueError(f"{field.name} of a tree must be a plain array of {dtype.__name__}")
    column, roots = trees.column, trees.roots
    size, d = len(column), len(trees.n_levels)
    same = ("threshold", "left", "right", "missing_left", "subset")
    if any(getattr(trees, name).shape != (size,) for name in same):
        raise ValueError("the arrays of a tree must have one entry for each node")
    if not len(roots) or roots[0] != 0 or (np.diff(roots) <= 0).any() or roots[-1] >= size:
        raise ValueError("trees must begin at node 0 and follow one another")
    if (column >= d).any() or (trees.n_levels < 0).any():
        raise ValueError(f"a tree asks for a column beyond the {d} that there are")
    ends = np.append(roots, size)[1:]
    for first in range(0, size, _LOOKED_AT):
        inner = first + np.flatnonzero(column[first : first + _LOOKED_AT] >= 0)
        end = ends[np.searchsorted(roots, inner, side="right") - 1]
        children = np.stack([trees.left[inner], trees.right[inner]])
        if ((children <= inner) | (children >= end)).any():
            raise ValueError("a node of a tree must come before its children, in the same tree")
        asked = inner[trees.subset[inner] >= 0]
        if (trees.subset[asked] + trees.n_levels[column[asked]] > len(trees.levels)).any():
            raise ValueError("a tree asks for levels that are not there")


@kernel(called="kernels")
def leaf_of(trees: Any, t: int, x: Any, n: int) -> int:
    """Return the leaf of row n in tree t."""
    column, threshold, left, right, missing_left, subset, levels, n_levels, roots = trees
    i = roots[t]
    while column[i] >= 0:
        value = x[n, column[i]]
        if subset[i] >= 0:
            known = 0.0 <= value < n_levels[column[i]]
            goes_left = levels[subset[i] + int(value)] if known else missing_left[i]
        else:
            goes_left = value <= threshold[i] or (value != value and missing_left[i])
        i = left[i] if goes_left else right[i]
    return i


@kernel(allocates=False)
def _find_leaves(trees: Any, x: Any, leaves: Any) -> None:
    for t in range(leaves.shape[1]):
        for n in range(leaves.shape[0]):
            leaves[n, t] = leaf_of(trees, t, x, n)


@kernel(allocates=False)
def _add_values(trees: Any, values: Any, x: Any, total: Any) -> None:
    roots = trees[8]
    for t in range(len(roots)):
        for n in range(total.shape[0]):
            i = leaf_of(trees, t, x, n)
            for v in range(total.shape[1]):
                total[n, v] += values[i, v]


@kernel(allocates=False)
def _add_shared(trees: Any, places: Any, values: Any, x: Any, total: Any) -> None:
    roots = trees[8]
    for t in range(len(roots)):
        for n in range(total.shape[0]):
            place = places[leaf_of(trees, t, x, n)]
            for v in range(total.shape[1]):
                total[n, v] += values[place, v]
