"""Between a variable's own axes and the labels through which factors see them.

Known indices are summed up once: when only data and known indices depend on a row, what the rows say
about each member is added up before the ascent begins, and a million rows in a thousand groups cost
as much as a thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.binding.labelled import (
    Axis,
    Lookup,
    Switch,
    Table,
    count_of,
    has_lookup,
    labels_of,
    renamed_labels,
    spread,
)
from posteriori.modeling.binding.places import one_hot, same_place, sum_by_member
from posteriori.modeling.binding.products import contract_tables
from posteriori.modeling.variational.densities.monomials import Monomial
from posteriori.numerics.types import Array

__all__ = ["add_up_rows", "arrange", "collect"]

#: Cells that a table over two indices may have for each row that goes into it.
_CELLS_PER_ROW = 4


def collect(table: Table, places: Sequence[tuple[Any, Axis]], more: Iterable[Axis] = ()) -> Table:
    """Add up what the rows of a factor say about each member of a variable: the way back.

    Parameters
    ----------
    table : Table
        Over labels of the factor.
    places : sequence of (place, Axis)
        How the factor sees each axis; one place may stand for two axes (a diagonal).
    more : iterable of Axis
        Further labels of the table to keep; places among them become axes as well.
    """
    sources, targets = zip(*places, strict=True) if places else ((), ())
    more = tuple(more)
    keep = (*more, *targets)
    plain = not has_lookup(sources) and len({*sources, *more}) == len(sources) + len(more)
    if plain:
        labels = renamed_labels(table.axes, sources, targets)
        if labels is not None:
            found = Table(table.values, labels)
            return found if set(labels).issubset(keep) else contract_tables((found,), keep)
    operands, diagonals = [table], []
    rest = list(places)
    renamed: dict[Axis, Axis] = {}
    while rest:
        place, axis = rest.pop(0)
        twins = [other for p, other in rest if same_place(p, place)]
        rest = [(p, other) for p, other in rest if not same_place(p, place)]
        if isinstance(place, Lookup) or place in more:
            if len(places) == 1 and not set(place.labels) & set(more):
                return sum_by_member(table, [place], [axis], place.labels)
            operands += [one_hot(place.positions, target) for target in (axis, *twins)]
            continue
        renamed[place] = axis
        diagonals += [one_hot(axis.positions, other) for other in twins]
    return contract_tables([*(t.relabelled(renamed) for t in operands), *diagonals], keep)


def arrange(
    table: Table, sources: tuple[Any, ...], targets: tuple[Axis, ...], lead: tuple[Axis, ...]
) -> Array:
    """Collect, and return an array (lead, targets), of length 1 where nothing depends on an axis.

    Parameters
    ----------
    table : Table
        Over labels of the factor.
    sources : tuple
        How the factor sees each axis.
    targets : tuple of Axis
        The axes.
    lead : tuple of Axis
        Further labels of the table to keep.
    """
    plan = None if has_lookup(sources) else _arrangement(table.axes, sources, targets, lead)
    if plan is None:
        found = collect(table, list(zip(sources, targets, strict=True)), lead)
        return spread(found, lead + targets)
    gone, order, index = plan
    values = table.values
    if gone:
        values = values.sum(axis=gone)
    return values.transpose(order)[index] if index else values


@lru_cache(maxsize=4096)
def _arrangement(
    labels: tuple[Axis, ...],
    sources: tuple[Axis, ...],
    targets: tuple[Axis, ...],
    lead: tuple[Axis, ...],
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[slice | None, ...]] | None:
    """Return axes to sum over, the order of the others, and new axes; no index: as it is."""
    renamed = (
        renamed_labels(labels, sources, targets) if len(set(sources)) == len(sources) else None
    )
    if renamed is None:
        return None
    wanted = lead + targets
    gone = tuple(i for i, a in enumerate(renamed) if a not in wanted)
    kept = tuple(a for a in renamed if a in wanted)
    order = tuple(kept.index(a) for a in wanted if a in kept)
    index = tuple(slice(None) if a in kept else None for a in wanted)
    return gone, order, () if kept == wanted else index


# -- known indices ---------------------------------------------------------------------------


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
        if count_of(members) > _CELLS_PER_ROW * count_of(rows):
            return monomial
    kept = {a for access in monomial.accesses for a in labels_of(access)} - set(rows)
    inside = [t for t in monomial.tables if set(t.axes) & set(rows)]
    outside = tuple(t for t in monomial.tables if not set(t.axes) & set(rows))
    kept |= {a for t in outside for a in t.axes}
    table = contract_tables(inside, (*rows, *kept)) if inside else Table(np.asarray(1.0), ())
    total = sum_by_member(table, [place for place, _ in different], members, rows)
    accesses = tuple(_with_members(access, different) for access in monomial.accesses)
    return Monomial(monomial.source, (*outside, total), accesses)


def _is_step(monomial: Monomial) -> bool:
    """Tell whether members of one discrete variable meet: a chain is solved from its own steps."""
    names = [access.name for access in monomial.accesses if isinstance(access, Switch)]
    return len(set(names)) < len(names)


def _seen_otherwise(monomial: Monomial, rows: set[Axis]) -> bool:
    for access in monomial.accesses:
        if isinstance(access, Switch) and access.state in rows:
            return True
        if any(place in rows for place in access.places if isinstance(place, Axis)):
            return True
    return False


def _with_members(access: Any, different: list[tuple[Lookup, Axis]]) -> Any:
    places = []
    for place in access.places:
        match = [
            axis
            for other, axis in different
            if isinstance(place, Lookup) and same_place(place, other)
        ]
        places.append(match[0] if match else place)
    return access._replace(places=tuple(places))
