"""How rows see a variable: which of its members they read, and sums of what they say of each."""

from __future__ import annotations

from collections.abc import Container, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from posteriori.modeling.binding.labelled import Axis, Table, count_of, shape_of, spread
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "add_arrays",
    "add_tables",
    "compact",
    "flat_index",
    "locate",
    "member_index",
    "one_hot",
    "same_members",
    "same_place",
    "same_places",
    "sum_by_member",
    "sum_tables",
]


def same_place(a: Any, b: Any) -> bool:
    """Tell whether two places read the same positions."""
    if a is b:
        return True
    if a.labels != b.labels:
        return False
    mine, theirs = a.positions.values, b.positions.values
    return mine is theirs or np.array_equal(mine, theirs)


def same_places(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Tell whether accesses through these places see the same members."""
    return all(same_place(p, q) for p, q in zip(a, b, strict=True))


def same_members(a: Sequence[Any], b: Sequence[Any]) -> list[Table]:
    """Return tables whose product is 1 where two accesses read the same member, else 0."""
    found = []
    for p, q in zip(a, b, strict=True):
        if same_place(p, q):
            continue
        x, y = p.positions, q.positions
        labels = tuple(dict.fromkeys(x.axes + y.axes))
        found.append(Table((spread(x, labels) == spread(y, labels)).astype(np.float64), labels))
    return found


def flat_index(places: Sequence[Any], axes: Sequence[Axis], labels: tuple[Axis, ...]) -> Any:
    """Return which member each row sees, counted along the axes; None where it is the row's own."""
    count = count_of(labels)
    if count_of(axes) == 1:
        return np.broadcast_to(np.intp(0), (count,)) if count != 1 else None
    if tuple(places) == labels:
        return None
    flat: Any = np.zeros((), dtype=np.intp)
    for place, axis in zip(places, axes, strict=True):
        flat = flat * axis.size + spread(place.positions, labels)
    full = np.broadcast_to(flat, shape_of(labels)).reshape(count)
    return np.ascontiguousarray(full).astype(np.intp)


def member_index(places: Sequence[Any], axes: Sequence[Axis], labels: tuple[Axis, ...]) -> IntArray:
    """Return which member each row sees, counted along the axes."""
    index = flat_index(places, axes, labels)
    return np.arange(count_of(labels)) if index is None else index


def sum_by_member(
    table: Table, places: Sequence[Any], axes: Sequence[Axis], rows: tuple[Axis, ...]
) -> Table:
    """Return the sums over the rows that see each member, over the axes of members.

    Parameters
    ----------
    table : Table
    places, axes : sequences
        How the rows see members, and the axes along which these are counted.
    rows : tuple of Axis
    """
    others = tuple(a for a in table.axes if a not in rows)
    index, count = member_index(places, axes, rows), count_of(axes)
    values = table.over(rows + others).reshape(len(index), -1)
    columns = [np.bincount(index, weights=column, minlength=count) for column in values.T]
    labels = (*axes, *others)
    return Table(np.stack(columns, axis=-1).reshape(shape_of(labels)), labels)


def one_hot(positions: Table, axis: Axis) -> Table:
    """Return 1 at the member that each position names, else 0."""
    values = positions.values[..., None] == np.arange(axis.size)
    return Table(values.astype(np.float64), (*positions.axes, axis))


def compact(values: Array, labels: tuple[Axis, ...]) -> Table:
    """Label an array, without axes of length 1 that stand for longer ones."""
    gone = tuple(i for i, axis in enumerate(labels) if values.shape[i] == 1 != axis.size)
    axes = tuple(axis for i, axis in enumerate(labels) if i not in gone)
    return Table(np.squeeze(values, axis=gone) if gone else values, axes)


def add_tables(tables: Sequence[Table], labels: tuple[Axis, ...]) -> Array:
    """Return the sum with axes in the order of ``labels``, of length 1 where no table has one."""
    return add_arrays([spread(table, labels) for table in tables], len(labels))


def sum_tables(*tables: Table) -> Table:
    """Return the sum over all labels that some table has."""
    labels = tuple(dict.fromkeys([axis for table in tables for axis in table.axes]))
    return Table(add_tables(tables, labels), labels)


def add_arrays(arrays: Sequence[Array], ndim: int) -> Array:
    """Return the sum of arrays whose axes have their full length or length 1."""
    if len(arrays) < 2:
        return arrays[0] if arrays else np.zeros((1,) * ndim)
    first, second, *rest = sorted(arrays, key=attrgetter("size"))
    total = first + second
    for part in rest:  # small ones first; then in place
        if total.shape == part.shape:
            total += part
        else:
            total = total + part
    return total


def locate(axes: Sequence[Axis], where: Sequence[int], variables: Container[str]) -> str:
    """Say where on plates something is; array axes bear the name of a variable."""
    places = [
        f"index {i}" if axis.name in variables else f"{axis.name}={i}"
        for axis, i in zip(axes, where, strict=True)
    ]
    return f" at {', '.join(places)}" if places else ""
