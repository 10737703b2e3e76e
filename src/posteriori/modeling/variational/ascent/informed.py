r"""Members of plates that no data depend on are left out of the ascent.

Integrated over, they would tell nothing of what they share with others. Beliefs that are
independent do not integrate: a thousand classes :math:`z_n` without data, each believed to be as
:math:`E[\ln\pi]` says, would make :math:`\pi` certain of itself. So the bound is raised without them,
and their belief follows from the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.exponential import ExponentialFamily
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.binding.gaps import gap_name
from posteriori.modeling.binding.labelled import (
    Axis,
    Lookup,
    Polynomial,
    Switch,
    Table,
    Term,
    spread,
)
from posteriori.modeling.forms.normal_rows import child_term
from posteriori.modeling.variational.densities.addressing import seen
from posteriori.modeling.variational.densities.references import with_holes
from posteriori.modeling.variational.nodes.node import Node
from posteriori.numerics.types import Array, IntArray

__all__ = ["Cut", "can_extend", "find_informed", "take_over"]


class Cut(NamedTuple):
    """Some members of some axes.

    Attributes
    ----------
    kept : mapping of Axis to integers
        Members that data depend on.
    new : mapping of Axis to Axis
        Their labels.
    """

    kept: Mapping[Axis, IntArray]
    new: Mapping[Axis, Axis]

    def touches(self, layout: Layout) -> bool:
        """Tell whether members of a variable are left out."""
        return any(axis in self.new for axis in layout.axes)

    def bound(self, bound: Bound, factors: Sequence[BoundFactor]) -> Bound:
        """Return the model of these members."""
        layouts = {name: self._layout(layout) for name, layout in bound.layouts.items()}
        return bound._replace(
            layouts=layouts,
            factors=tuple(factors),
            observed=self.arrays(bound.observed, bound.layouts),
            evidence=self.arrays(bound.evidence, bound.layouts),
        )

    def empty(self, bound: Bound) -> set[str]:
        """Return the variables of which nothing is left: missing numbers that nobody asks for."""
        return {
            name
            for name, layout in bound.layouts.items()
            if any(axis in self.new and not self.new[axis].size for axis in layout.axes)
        }

    def factors(self, factors: Sequence[BoundFactor], bound: Bound) -> list[BoundFactor]:
        """Return the factors of these members."""
        empty = self.empty(bound)
        factors = [_without(factor, empty) for factor in factors] if empty else factors
        found = [self._factor(factor, bound.layouts) for factor in factors]
        return [factor for factor in found if all(axis.size for axis in factor.rows)]

    def arrays(self, values: Mapping[str, Any], layouts: Mapping[str, Layout]) -> dict[str, Any]:
        """Return arrays or beliefs over the axes of variables, of these members."""
        return {
            name: self._array(v, layouts[name].axes) if name in layouts else v
            for name, v in values.items()
        }

    def put(self, values: Array, informed: Array, axes: Sequence[Axis]) -> Array:
        """Return an array over the axes of a variable with that of these members put in."""
        where = [self.kept.get(axis, np.arange(axis.size)) for axis in axes]
        found = np.array(values)
        found[np.ix_(*where)] = informed
        return found

    def table(self, table: Table) -> Table:
        """Return a table of these members."""
        return Table(self._array(table.values, table.axes), self._labels(table.axes))

    def _array(self, values: Any, axes: Sequence[Axis]) -> Any:
        if isinstance(values, ExponentialFamily):
            cut = (self._array(parameter, axes) for parameter in values.natural)
            return type(values)._from_natural(*cut)
        for i, axis in enumerate(axes):
            if axis in self.kept:
                values = np.take(values, self.kept[axis], axis=i)
        return values

    def _labels(self, axes: Sequence[Axis]) -> tuple[Axis, ...]:
        return tuple(self.new.get(axis, axis) for axis in axes)

    def _layout(self, layout: Layout) -> Layout:
        return Layout(*(self._labels(axes) for axes in layout))

    def _factor(self, factor: BoundFactor, layouts: Mapping[str, Layout]) -> BoundFactor:
        parameters = {key: self._polynomial(p, layouts) for key, p in factor.parameters.items()}
        return factor._replace(
            parameters=parameters,
            rows=self._labels(factor.rows),
            places=self._places(factor.places, layouts[factor.name].axes),
        )

    def _polynomial(self, poly: Polynomial, layouts: Mapping[str, Layout]) -> Polynomial:
        terms = tuple(
            Term(self.table(t.table), tuple(self._access(a, layouts) for a in t.accesses))
            for t in poly.terms
        )
        rows = frozenset(self._labels(tuple(poly.rows)))
        return Polynomial(terms, self._labels(poly.plates), self._labels(poly.axes), rows)

    def _access(self, access: Any, layouts: Mapping[str, Layout]) -> Any:
        return access._replace(places=self._places(access.places, layouts[access.name].axes))

    def _places(self, places: Sequence[Any], axes: Sequence[Axis]) -> tuple[Any, ...]:
        return tuple(
            Lookup(self._renumbered(self.table(place.positions), axis))
            if isinstance(place, Lookup)
            else self.new.get(place, place)
            for place, axis in zip(places, axes, strict=True)
        )

    def _renumbered(self, positions: Table, axis: Axis) -> Table:
        """Return where the members that positions name are now; rows without data name any."""
        if axis not in self.kept:
            return positions
        number = np.zeros(axis.size, dtype=np.intp)
        number[self.kept[axis]] = np.arange(len(self.kept[axis]))
        return Table(number[positions.values.astype(np.intp)], positions.axes)


def find_informed(bound: Bound, factors: Sequence[BoundFactor]) -> Cut | None:
    """Return the members of plates that data depend on; None when these are all."""
    search = _Search(bound, factors)
    kept = search.run()
    if not kept:
        return None
    return Cut(kept, {axis: Axis(axis.name, len(rows)) for axis, rows in kept.items()})


def can_extend(cut: Cut, groups: Sequence[Sequence[str]], bound: Bound) -> bool:
    """Tell whether there are beliefs about members without data that leave what they share as it is.

    In one group the others are integrated over. Between groups they are not, so that shared
    variables of one of them would be drawn to members of the other.
    """
    touched = [[cut.touches(bound.layouts[name]) for name in group] for group in groups]
    whole = [members for members in touched if any(members)]
    return len(whole) == 1 or (bool(whole) and all(all(members) for members in whole))


def take_over(node: Node, informed: Mapping[str, Node], cut: Cut, bound: Bound) -> None:
    """Let a node of all members begin with what is believed of the informed ones."""
    for name in node.names:
        values = node.centre(name)
        known = informed[name].centre(name) if name in informed else None
        if values is not None and known is not None:
            found = cut.put(values[0], known[0], bound.layouts[name].axes)
            node.set_centre(name, found[None])


class _Search:
    """From the data back to what they depend on.

    Labels that stand for one another are cut together, or not at all; events and states never.
    """

    def __init__(self, bound: Bound, factors: Sequence[BoundFactor]) -> None:
        self.bound = bound
        self.factors = factors
        self.root: dict[Axis | None, Axis | None] = {None: None}
        self.of_unknowns: set[Axis] = set()
        accessed = [a.name for factor in factors for a in factor.accesses]
        names = {*accessed, *(factor.name for factor in factors)}
        self.unknown = names - set(bound.observed)
        self.informed = {name: self._known(name) for name in self.unknown}
        self.rows = {id(f): self._rows_with_data(f) for f in factors if f.name in bound.observed}
        for factor in factors:
            self._tie(factor)

    def run(self) -> dict[Axis, IntArray]:
        kept: dict[Axis, IntArray] = {}
        count = -1
        while count != (count := self._count()):
            self._pass_back(kept)
            kept = self._kept()
            if not kept:
                return kept
        return kept

    def _count(self) -> int:
        return sum(int(found.sum()) for found in self.informed.values())

    def _lead(self, name: str) -> tuple[Axis, ...]:
        return self.bound.layouts[name].plates + self.bound.layouts[name].ints

    def _known(self, name: str) -> Array:
        """Return which members of an unknown variable are known: some of a discrete one may be."""
        shape = tuple(axis.size for axis in self._lead(name))
        if name in self.bound.evidence:
            return ~np.isnan(self.bound.evidence[name]).reshape(shape)
        return np.zeros(shape, dtype=bool)

    def _rows_with_data(self, factor: BoundFactor) -> Table:
        known = with_holes if gap_name(factor.name) in self.bound.layouts else _data
        table = known(factor, self.bound)
        return _any_event(Table(~np.isnan(table.values), table.axes), factor)

    def _rows_with_informed_gaps(self, factor: BoundFactor) -> Table:
        """Return the rows whose own missing numbers matter to others."""
        gap = gap_name(factor.name)
        if gap not in self.unknown:
            return Table(np.zeros((), dtype=bool), ())
        lead = self._lead(gap)
        terms = factor.parameters["mean"].terms
        own = [term for term in terms if [a.name for a in term.accesses] == [gap]]
        table, (access,) = own[-1]  # the child's own gaps are added last
        there = seen(Table(self.informed[gap], lead), lead, access.places)
        return _any_event(_where_seen(there, table, access), factor)

    # -- labels ------------------------------------------------------------------------------

    def _find(self, axis: Axis | None) -> Axis | None:
        while self.root.setdefault(axis, axis) is not axis:
            axis = self.root[axis]
        return axis

    def _join(self, a: Axis | None, b: Axis | None) -> None:
        """Cut two labels together; None stands for what is never cut."""
        first, second = self._find(a), self._find(b)
        if first is None:
            self.root[second] = None
        else:
            self.root[first] = second

    def _tie(self, factor: BoundFactor) -> None:
        self._tie_places(factor.name, factor.places)
        for access in factor.accesses:
            self._tie_places(access.name, access.places)
            if isinstance(access, Switch):
                self._join(access.state, None)
        for poly in factor.parameters.values():
            for axis in poly.axes:
                if axis not in factor.rows:
                    self._join(axis, None)
        if self._has_unknown_child(factor):
            self.of_unknowns |= set(factor.rows)

    def _has_unknown_child(self, factor: BoundFactor) -> bool:
        return factor.name in self.unknown or gap_name(factor.name) in self.unknown

    def _tie_places(self, name: str, places: Sequence[Any]) -> None:
        layout = self.bound.layouts[name]
        lead = self._lead(name)
        for axis, place in zip(layout.axes, places, strict=True):
            if not isinstance(place, Lookup):
                self._join(place, axis if axis in lead else None)
        if name in self.unknown:
            self.of_unknowns |= set(lead)

    # -- passing back ------------------------------------------------------------------------

    def _pass_back(self, kept: Mapping[Axis, IntArray]) -> None:
        """Mark the members that informed rows depend on, children first."""
        for factor in reversed(self.factors):
            rows = self._informed_rows(factor, kept)
            if not rows.values.any():
                continue
            if factor.name in self.unknown:
                self._mark(factor.name, factor.places, rows)
            for table, accesses in factor.terms:
                for access in accesses:
                    self._mark(access.name, access.places, _where_seen(rows, table, access))
            self._mark_earlier_members(factor)

    def _informed_rows(self, factor: BoundFactor, kept: Mapping[Axis, IntArray]) -> Table:
        """Return the rows that are known to matter, and those between kept ones."""
        if id(factor) in self.rows:
            rows, more = self.rows[id(factor)], self._rows_with_informed_gaps(factor)
            labels = tuple(dict.fromkeys((*rows.axes, *more.axes)))
            rows = Table(spread(rows, labels) | spread(more, labels), labels)
        else:
            lead = self._lead(factor.name)
            own = Table(self.informed[factor.name], lead)
            rows = seen(own, lead, factor.places[: len(lead)])
        if not kept or not self._has_unknown_child(factor):
            return rows
        between: Any = np.ones((), dtype=bool)
        for axis in factor.rows:
            there = np.isin(np.arange(axis.size), kept.get(axis, np.arange(axis.size)))
            between = between & spread(Table(there, (axis,)), factor.rows)
        return Table(spread(rows, factor.rows) | between, factor.rows)

    def _mark(self, name: str, places: Sequence[Any], rows: Table) -> None:
        lead = self._lead(name)
        here = places[: len(lead)]
        labels = tuple(dict.fromkeys(a for p in here for a in _labels_of_place(p)))
        gone = tuple(i for i, axis in enumerate(rows.axes) if axis not in labels)
        there: Any = rows.values.any(axis=gone) if gone else rows.values
        table = Table(there, tuple(axis for axis in rows.axes if axis in labels))
        shape = tuple(axis.size for axis in labels)
        active = np.broadcast_to(spread(table, labels), shape)
        if here == labels:
            self.informed[name] = self.informed[name] | active
            return
        where = (np.broadcast_to(spread(_positions(p), labels), shape)[active] for p in here)
        self.informed[name][tuple(where)] = True

    def _mark_earlier_members(self, factor: BoundFactor) -> None:
        """Of a chain, mark all members before the last informed one."""
        if not any(access.name == factor.name for access in factor.accesses):
            return
        for i, place in enumerate(factor.places):
            if isinstance(place, Lookup):
                flipped = np.flip(self.informed[factor.name], axis=i)
                self.informed[factor.name] = np.flip(np.logical_or.accumulate(flipped, axis=i), i)

    # -- result ------------------------------------------------------------------------------

    def _kept(self) -> dict[Axis, IntArray]:
        """Return the members of each label that is cut."""
        needed: dict[Axis, Array] = {}
        for name, found in self.informed.items():
            some = found if found.any() or _is_gap(name) else ~found
            self._need(needed, Table(some, self._lead(name)))
        for factor in self.factors:
            rows = self._informed_rows(factor, {})
            self._need(needed, rows if rows.values.any() else Table(~rows.values, rows.axes))
            for axis in factor.rows:
                if axis not in rows.axes:
                    self._need(needed, Table(np.ones(axis.size, dtype=bool), (axis,)))
        cut = {self._find(axis) for axis in self.of_unknowns}
        return {
            axis: np.flatnonzero(needed[root])
            for axis in self.root
            if axis is not None
            and (root := self._find(axis)) is not None
            and root in cut
            and not needed[root].all()
        }

    def _need(self, needed: dict[Axis, Array], found: Table) -> None:
        for i, axis in enumerate(found.axes):
            others = tuple(k for k in range(len(found.axes)) if k != i)
            there: Any = found.values.any(axis=others)
            root = self._find(axis)
            if root is not None:
                needed[root] = needed.get(root, False) | there


def _data(factor: BoundFactor, bound: Bound) -> Table:
    return child_term(factor, bound).table


def _is_gap(name: str) -> bool:
    return name.endswith(gap_name(""))


def _without(factor: BoundFactor, names: set[str]) -> BoundFactor:
    """Return a factor without the terms of variables that none of its rows sees."""
    parameters = {
        key: poly._replace(
            terms=tuple(t for t in poly.terms if names.isdisjoint(a.name for a in t.accesses))
        )
        for key, poly in factor.parameters.items()
    }
    return factor._replace(parameters=parameters)


def _any_event(table: Table, factor: BoundFactor) -> Table:
    """Tell of each row whether something is so in any part of its event."""
    events = tuple(i for i, axis in enumerate(table.axes) if axis not in factor.rows)
    there: Any = table.values.any(axis=events) if events else table.values
    return Table(there, tuple(axis for axis in table.axes if axis in factor.rows))


def _labels_of_place(place: Any) -> tuple[Axis, ...]:
    return place.positions.axes if isinstance(place, Lookup) else (place,)


def _positions(place: Any) -> Table:
    if isinstance(place, Lookup):
        return Table(place.positions.values.astype(np.intp), place.positions.axes)
    return Table(np.arange(place.size), (place,))


def _where_seen(rows: Table, table: Table, access: Any) -> Table:
    """Return the rows that see a variable: a missing number is seen where it is missing."""
    if not _is_gap(access.name):
        return rows
    labels = tuple(dict.fromkeys((*rows.axes, *table.axes)))
    return Table(spread(rows, labels) & (spread(table, labels) != 0.0), labels)
