"""Known indices summed up once: rows that see members of a variable through a known index.

When only data and known indices depend on a row, what the rows say about each member is added up
before the ascent begins, and a million rows in a thousand groups cost as much as a thousand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.binding.labelled import Axis, Lookup, Switch, Table, labels_of, spread
from posteriori.modeling.variational.densities.monomials import Monomial, same_place
from posteriori.modeling.variational.densities.planned_products import contract_tables

__all__ = ["add_up_rows"]

#: Cells that a table over two indices may have for each row that goes into it.
_CELLS_PER_ROW = 4


def add_up_rows(monomials: Iterable[Monomial], layouts: Mapping[str, Layout]) -> list[Monomial]:
    """Replace lookups by labels of the members that they name, wherever that loses nothing."""
    return [_added_up(monomial, layouts) for monomial in monomials]


def _added_up(monomial: Monomial, layouts: Mapping[str, Layout]) -> Monomial:
    for rows in {p.positions.axes for p, _ in _lookups(monomial, layouts)}:
        if rows:
            monomial = _without_rows(monomial, rows, layouts)
    return monomial


def _lookups(monomial: Monomial, layouts: Mapping[str, Layout]) -> list[tuple[Lookup, int]]:
    """Return the lookups of a monomial, and the length of the axis that each reads."""
    found = []
    for access in monomial.accesses:
        for place, axis in zip(access.places, layouts[access.name].axes, strict=False):
            if isinstance(place, Lookup):
                found.append((place, axis.size))
    return found


def _without_rows(
    monomial: Monomial, rows: tuple[Axis, ...], layouts: Mapping[str, Layout]
) -> Monomial:
    here = [(p, n) for p, n in _lookups(monomial, layouts) if set(p.positions.axes) & set(rows)]
    if any(p.positions.axes != rows for p, _ in here) or _seen_otherwise(monomial, set(rows)):
        return monomial
    different: list[tuple[Lookup, Axis]] = []
    for place, size in here:
        if not any(same_place(place, other) for other, _ in different):
            different.append((place, Axis("member", size)))
    members = tuple(axis for _, axis in different)
    if len(members) > 1:
        if _is_step(monomial):
            return monomial
        cells = math.prod(axis.size for axis in members)
        if cells > _CELLS_PER_ROW * math.prod(axis.size for axis in rows):
            return monomial
    kept = {a for access in monomial.accesses for a in labels_of(access)} - set(rows)
    inside = [t for t in monomial.tables if set(t.axes) & set(rows)]
    outside = tuple(t for t in monomial.tables if not set(t.axes) & set(rows))
    kept |= {a for t in outside for a in t.axes}
    table = contract_tables(inside, (*rows, *kept)) if inside else Table(np.asarray(1.0), ())
    total = _summed(table, [place.positions for place, _ in different], members, rows)
    accesses = tuple(_renamed(access, different) for access in monomial.accesses)
    return Monomial(monomial.source, (*outside, total), accesses)


def _is_step(monomial: Monomial) -> bool:
    """Tell whether members of one discrete variable meet: a chain is solved from its own steps."""
    names = [access.name for access in monomial.accesses if isinstance(access, Switch)]
    return len(set(names)) < len(names)


def _seen_otherwise(monomial: Monomial, rows: set[Axis]) -> bool:
    for access in monomial.accesses:
        if isinstance(access, Switch) and access.state in rows:
            return True
        if any(isinstance(place, Axis) and place in rows for place in access.places):
            return True
    return False


def _summed(
    table: Table, positions: list[Table], members: tuple[Axis, ...], rows: tuple[Axis, ...]
) -> Table:
    """Return Σ over the rows that name each combination of members."""
    others = tuple(a for a in table.axes if a not in rows)
    shape = tuple(a.size for a in rows)
    values = np.broadcast_to(
        spread(table, (*rows, *others)), shape + tuple(a.size for a in others)
    ).reshape(math.prod(shape), -1)
    sizes = tuple(axis.size for axis in members)
    codes = tuple(np.broadcast_to(spread(p, rows), shape).ravel() for p in positions)
    flat = np.ravel_multi_index(codes, sizes)
    count = math.prod(sizes)
    columns = [np.bincount(flat, weights=column, minlength=count) for column in values.T]
    summed = np.stack(columns, axis=-1).reshape(*sizes, *(a.size for a in others))
    return Table(summed, (*members, *others))


def _renamed(access: Any, different: list[tuple[Lookup, Axis]]) -> Any:
    places = []
    for place in access.places:
        match = [
            axis
            for other, axis in different
            if isinstance(place, Lookup) and same_place(place, other)
        ]
        places.append(match[0] if match else place)
    return access._replace(places=tuple(places))
