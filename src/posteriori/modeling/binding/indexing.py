"""Indices between brackets, and ``take``: relabelling of the axes that they read.

As in NumPy, arrays of indices are read together: ``x[i, j]`` has the entries :math:`x_{i_n j_n}`, and
slices stay apart. A table that is indexed by variables has a value for each row as well:
``take(take(T, a), b)`` is :math:`T_{a_n b_n}`, whether n is a named plate or an array axis that came
with a and b.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.modeling.binding.labelled import (
    Axis,
    Polynomial,
    Switch,
    Table,
    Term,
    constant,
    look_up,
    relabel,
    shape_of,
)
from posteriori.modeling.binding.polynomial_arithmetic import align
from posteriori.numerics.types import Array

__all__ = ["index_places", "index_table"]

_NO_INDEX = "only a discrete variable itself can be an index, not what is computed from one"


def index_table(table: Polynomial, index: list[Any]) -> Polynomial:
    """Index the axes of a table; those that earlier indices brought are rows and stay."""
    own = tuple(axis for axis in table.axes if axis not in table.rows)
    for axis, i in zip(own, _full_index(index, len(own)), strict=False):
        if isinstance(i, Polynomial):
            table = _pick(table, axis, i)
        elif isinstance(i, slice) or np.ndim(i) == 0:
            table = _at_places(table, axis, i)
        else:
            table = _pick(table, axis, _as_polynomial(i))
    return table


def _pick(table: Polynomial, axis: Axis, index: Polynomial) -> Polynomial:
    """Read an axis at an index, row by row: T[a][b] is the table of a_n and b_n."""
    rows = tuple(a for a in table.axes if a in table.rows)
    start = min(table.axes.index(a) for a in (*rows, axis))
    rest = [a for a in table.axes if a not in rows and a is not axis]
    lead, fitted = align(Polynomial(table.terms, table.plates, rows), index)
    if index.is_known:
        known = Polynomial(fitted.terms, index.plates, fitted.axes)
        terms = look_up(lead.terms, axis, _whole_numbers(axis, known.value(), known.labels))
    else:
        terms = _switch(lead.terms, axis, fitted)
    axes = (*rest[:start], *lead.axes, *rest[start:])
    return Polynomial(terms, lead.plates, axes, frozenset(lead.axes))


def index_places(poly: Polynomial, index: list[Any]) -> Polynomial:
    """Apply a known index to the array axes from the first on."""
    whole = _full_index(index, len(poly.axes))
    arrays = [k for k, i in enumerate(whole) if not isinstance(i, slice)]
    if len(arrays) > 1:
        return _read_together(poly, whole, arrays)
    for axis, i in zip(poly.axes, whole, strict=False):
        poly = _at_places(poly, axis, i)
    return poly


def _read_together(poly: Polynomial, index: list[Any], arrays: list[int]) -> Polynomial:
    """Read axes at arrays of places, entry by entry; these bring their common axes.

    They stand where the first array stood, and in front of all where a slice is between arrays.
    """
    places = [_as_polynomial(index[k]) for k in arrays]
    common = places[0]
    for place in places[1:]:
        common = _aligned(common, place)[0]
    read = [poly.axes[k] for k in arrays]
    terms = poly.terms
    for axis, place in zip(read, places, strict=True):
        fitted = _aligned(common, place)[1]
        positions = np.asarray(fitted.value())
        terms = look_up(terms, axis, _whole_numbers(axis, positions, fitted.labels))
    start = arrays[0] if arrays == list(range(arrays[0], arrays[-1] + 1)) else 0
    rest = [axis for axis in poly.axes if axis not in read]
    axes = (*rest[:start], *common.axes, *rest[start:])
    plates = poly.plates + tuple(p for p in common.plates if p not in poly.plates)
    brought = frozenset(common.axes) if poly.rows.intersection(read) else frozenset[Axis]()
    found = Polynomial(terms, plates, axes, (poly.rows | brought) & frozenset(axes))
    for axis, i in zip(poly.axes, index, strict=False):
        if isinstance(i, slice):
            found = _at_places(found, axis, i)
    return found


def _as_polynomial(index: Any) -> Polynomial:
    """Return places as labelled numbers."""
    if isinstance(index, Polynomial):
        if not index.is_known:
            raise TypeError(_NO_INDEX)
        return index
    values = _require_whole(np.asarray(index))
    return constant(values, name="index")


def _aligned(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    try:
        return align(a, b)
    except ValueError:
        shapes = [shape_of(p.axes) for p in (a, b)]
        raise IndexError(
            f"arrays of indices are read together, entry by entry, and those of shape {shapes[0]} and "
            f"{shapes[1]} do not fit; use np.ix_(...) or slices for all combinations"
        ) from None


def _full_index(index: list[Any], count: int) -> list[Any]:
    """Write out an ellipsis."""
    at = next((k for k, i in enumerate(index) if i is Ellipsis), None)
    if len(index) - (at is not None) > count:
        raise IndexError(f"too many indices: the expression has {count} axes to index")
    if at is None:
        return index
    return [*index[:at], *[slice(None)] * (count - len(index) + 1), *index[at + 1 :]]


def _at_places(poly: Polynomial, axis: Axis, i: Any) -> Polynomial:
    """Read an axis at known places, which bring their own axes to where it was."""
    table, new = _positions(axis, i)
    inherited = i.plates if isinstance(i, Polynomial) else ()
    plates = poly.plates + tuple(p for p in inherited if p not in poly.plates)
    brought = tuple(a for a in new if a not in inherited)
    at = poly.axes.index(axis)
    rows = poly.rows | (frozenset(brought) if axis in poly.rows else frozenset())
    axes = (*poly.axes[:at], *brought, *poly.axes[at + 1 :])
    return Polynomial(look_up(poly.terms, axis, table), plates, axes, rows & frozenset(axes))


def _positions(axis: Axis, i: Any) -> tuple[Table, tuple[Axis, ...]]:
    """Return the positions along an axis that an index names, and the axes they bring."""
    new: tuple[Axis, ...]
    if isinstance(i, slice):
        positions = np.arange(axis.size)[i]
        new = (Axis(axis.name, len(positions)),)
    elif isinstance(i, Polynomial):
        if not i.is_known:
            raise TypeError(_NO_INDEX)
        positions, new = i.value(), i.labels
    else:
        positions = np.asarray(i)
        new = tuple(Axis("index", size) for size in positions.shape)
    return _whole_numbers(axis, positions, new), new


def _whole_numbers(axis: Axis, positions: Array, labels: tuple[Axis, ...]) -> Table:
    """Return positions along an axis, counted from its start."""
    _require_whole(positions)
    if positions.size and (positions.min() < -axis.size or positions.max() >= axis.size):
        low, high = positions.min(), positions.max()
        raise IndexError(
            f"an index must lie between 0 and {axis.size - 1}, got {low if low < -axis.size else high:g}"
        )
    if positions.size and positions.min() < 0:
        positions = np.where(positions < 0, positions + axis.size, positions)
    return Table(positions.astype(np.intp), labels)


def _require_whole(positions: Array) -> Array:
    kind = positions.dtype.kind
    if kind == "b":
        raise TypeError(
            "an index must hold whole numbers, not True and False; write np.flatnonzero(mask)"
        )
    if kind not in "iuf" or (kind == "f" and np.any(positions != np.floor(positions))):
        wrong = (
            "" if kind != "f" else f", got {positions[positions != np.floor(positions)].flat[0]:g}"
        )
        raise TypeError(f"an index must hold whole numbers{wrong}")
    return positions


def _switch(terms: tuple[Term, ...], axis: Axis, index: Polynomial) -> tuple[Term, ...]:
    table, accesses = index.terms[0]
    if len(index.terms) != 1 or len(accesses) != 1 or table.axes or table.values != 1.0:
        raise TypeError(_NO_INDEX)
    (access,) = accesses
    state = Axis("state", axis.size)
    switch = Switch(access.name, access.places, state)
    return tuple(Term(t.table, (*t.accesses, switch)) for t in relabel(terms, {axis: state}))
