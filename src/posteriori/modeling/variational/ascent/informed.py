r"""Members of plates that no data depend on are left out of the ascent.

Integrated over, they would tell nothing of what they share with others. Beliefs that are
independent do not integrate: a thousand classes :math:`z_n` without data, each believed to be as
:math:`E[\ln\pi]` says, would make :math:`\pi` certain of itself. So the bound is raised without them,
and their belief follows from the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.modeling.binding.bound import Bound, BoundFactor, child_term, gap_name
from posteriori.modeling.binding.labelled import Axis, Lookup, Switch, Table, seen, shape_of, spread
from posteriori.modeling.variational.ascent.cut import Cut
from posteriori.modeling.variational.densities.references import with_holes
from posteriori.numerics.types import Array, IntArray

__all__ = ["find_informed"]


def find_informed(bound: Bound, factors: Sequence[BoundFactor]) -> Cut | None:
    """Return the members of plates that data depend on; None when these are all."""
    search = _Search(bound, factors)
    kept = search.run()
    if not kept:
        return None
    return Cut(kept, {axis: Axis(axis.name, len(rows)) for axis, rows in kept.items()})


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
        return self.bound.layouts[name].lead

    def _known(self, name: str) -> Array:
        """Return which members of an unknown variable are known: some of a discrete one may be."""
        shape = shape_of(self._lead(name))
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

    def _union(self, a: Axis | None, b: Axis | None) -> None:
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
                self._union(access.state, None)
        for poly in factor.parameters.values():
            for axis in poly.axes:
                if axis not in factor.rows:
                    self._union(axis, None)
        if self._has_unknown_child(factor):
            self.of_unknowns |= set(factor.rows)

    def _has_unknown_child(self, factor: BoundFactor) -> bool:
        return factor.name in self.unknown or gap_name(factor.name) in self.unknown

    def _tie_places(self, name: str, places: Sequence[Any]) -> None:
        layout = self.bound.layouts[name]
        lead = self._lead(name)
        for axis, place in zip(layout.axes, places, strict=True):
            if not isinstance(place, Lookup):
                self._union(place, axis if axis in lead else None)
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
        labels = tuple(dict.fromkeys(a for p in here for a in p.labels))
        gone = tuple(i for i, axis in enumerate(rows.axes) if axis not in labels)
        there: Any = rows.values.any(axis=gone) if gone else rows.values
        table = Table(there, tuple(axis for axis in rows.axes if axis in labels))
        active = table.over(labels)
        if here == labels:
            self.informed[name] = self.informed[name] | active
            return
        where = (p.positions.over(labels)[active].astype(np.intp) for p in here)
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


def _any_event(table: Table, factor: BoundFactor) -> Table:
    """Tell of each row whether something is so in any part of its event."""
    events = tuple(i for i, axis in enumerate(table.axes) if axis not in factor.rows)
    there: Any = table.values.any(axis=events) if events else table.values
    return Table(there, tuple(axis for axis in table.axes if axis in factor.rows))


def _where_seen(rows: Table, table: Table, access: Any) -> Table:
    """Return the rows that see a variable: a missing number is seen where it is missing."""
    if not _is_gap(access.name):
        return rows
    labels = tuple(dict.fromkeys((*rows.axes, *table.axes)))
    return Table(spread(rows, labels) & (spread(table, labels) != 0.0), labels)
