r"""Factors whose rows each see one of several unknowns, as factors of their own.

Once it is known who sees what,

.. math:: \prod_t p(y_t \mid z_t a + (1 - z_t) b) = \prod_{t:\,z_t = 1} p(y_t \mid a) \prod_{t:\,z_t = 0} p(y_t \mid b),

so that unknowns with names of their own are as independent as members of one that an index selects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor
from posteriori.modeling.binding.labelled import (
    Access,
    Axis,
    Polynomial,
    Table,
    Term,
    count_of,
    look_up,
    shape_of,
)
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.numerics.types import Array

__all__ = ["SomeRows", "rows_about", "rows_apart", "split_rows"]


#: Families for whose unknowns one method solves any number at once.
_TOGETHER = (*GAUSSIAN, *DISCRETE)


class SomeRows(NamedTuple):
    """Some rows of a factor, as a factor, and where they are among all of them, flattened."""

    factor: BoundFactor
    positions: Array


def rows_apart(factor: BoundFactor, bound: Bound) -> tuple[BoundFactor, ...]:
    """Return a factor of data as one for each group of unknowns that rows see together."""
    if factor.name not in bound.observed:
        return (factor,)
    return tuple(part.factor for part in split_rows(factor, bound.families))


def rows_about(
    names: Iterable[str], factors: Iterable[BoundFactor], bound: Bound
) -> tuple[BoundFactor, ...]:
    """Return the rows of factors that see some of these unknowns, and factors of these unknowns."""
    wanted = set(names)
    return tuple(
        part
        for factor in factors
        for part in rows_apart(factor, bound)
        if bound.unknowns_of(part) & wanted
    )


def split_rows(factor: BoundFactor, families: Mapping[str, Any]) -> list[SomeRows]:
    """Return the rows of a factor in groups, none of which sees an unknown of another one.

    Normal unknowns stay together, and so do states: all of them are solved at once.
    """
    whole = [SomeRows(factor, np.arange(count_of(factor.rows)))]
    if all(families[access.name] in _TOGETHER for access in factor.accesses):
        return whole
    seen = _rows_that_see(factor)
    groups = _overlapping(seen)
    if len(groups) < 2:
        return whole
    sees = np.array([np.any([seen[name] for name in group], axis=0) for group in groups])
    sees[0] |= ~sees.any(axis=0)  # rows without unknowns belong to the first ones
    return [
        SomeRows(_restricted(factor, group, rows), rows)
        for group, rows in zip(groups, map(np.flatnonzero, sees), strict=True)
    ]


def _rows_that_see(factor: BoundFactor) -> dict[str, Array]:
    """Return which rows have a coefficient other than 0 of each of several unknowns, flattened."""
    found: dict[str, Array] = {}
    if len({access.name for access in factor.accesses}) < 2:
        return found
    for table, accesses in factor.terms:
        inner = tuple(i for i, axis in enumerate(table.axes) if axis not in factor.rows)
        there = Table(
            np.any(table.values != 0.0, axis=inner),
            tuple(axis for axis in table.axes if axis in factor.rows),
        )
        rows = there.over(factor.rows).ravel()
        for access in accesses:
            found[access.name] = found.get(access.name, np.zeros_like(rows)) | rows
    return found


def _overlapping(seen: Mapping[str, Array]) -> list[set[str]]:
    """Return groups of unknowns that some rows see together."""
    groups: list[tuple[set[str], Array]] = []
    for name, rows in seen.items():
        near = [group for group in groups if np.any(group[1] & rows)]
        groups = [group for group in groups if not np.any(group[1] & rows)]
        names = {name}.union(*(group[0] for group in near))
        groups.append((names, np.any([rows, *(group[1] for group in near)], axis=0)))
    return [names for names, _ in groups]


def _restricted(factor: BoundFactor, names: set[str], rows: Array) -> BoundFactor:
    """Return some rows of a factor, which see no unknowns but these."""
    axis = Axis("rows", len(rows))
    where = np.unravel_index(rows, shape_of(factor.rows))
    index = {old: Table(at, (axis,)) for old, at in zip(factor.rows, where, strict=True)}
    events = len(factor.rows)
    parameters = {
        key: Polynomial(
            _looked_up((t for t in poly.terms if names >= {a.name for a in t.accesses}), index),
            (axis,),
            poly.labels[events:],
        )
        for key, poly in factor.parameters.items()
    }
    own = Term(Table(np.ones(()), ()), (Access(factor.name, factor.places),))
    ((_, (child,)),) = _looked_up([own], index)
    return factor._replace(parameters=parameters, rows=(axis,), places=child.places)


def _looked_up(terms: Iterable[Term], index: Mapping[Axis, Table]) -> tuple[Term, ...]:
    found: Any = tuple(terms)
    for old, at in index.items():
        found = look_up(found, old, at)
    return found
