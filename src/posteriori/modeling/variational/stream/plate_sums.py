r"""Sums over the rows of a plate: what shared variables need of the beliefs about each row.

A monomial such as :math:`m_{nd} W_{dk} W_{dj} z_{nk} z_{nj}` enters the beliefs about W through
:math:`\sum_n m_{nd} E[z_{nk} z_{nj}]` alone. Where the vectors :math:`z_n` may be turned, their labels
are kept apart from those of all else, so that a turn of all rows is a turn of the sum.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.binding.labelled import Access, Axis, Lookup, Table, labels_of, seen
from posteriori.modeling.binding.places import one_hot, same_place, sum_tables
from posteriori.modeling.binding.products import contract_tables
from posteriori.modeling.variational.densities.monomials import Monomial
from posteriori.numerics.types import Array

__all__ = ["Codes", "PlateSum", "RowTerm", "Turns", "add_sums", "find_terms", "turn"]

#: What the rows add up to, by the key of each sum.
Sums = dict[Hashable, Table]


class Codes(NamedTuple):
    """1 at the member that each row names, else 0: a table that is made for some rows only."""

    positions: Table
    member: Axis

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (*self.positions.axes, self.member)

    def table(self) -> Table:
        return one_hot(self.positions, self.member)


class PlateSum(NamedTuple):
    """A sum over rows of tables times statistics of local variables.

    Attributes
    ----------
    tables : tuple of Table or Codes
    accesses : tuple
        To local variables.
    keep : frozenset of Axis
        Labels of the sum.
    """

    tables: tuple[Any, ...]
    accesses: tuple[Any, ...]
    keep: frozenset[Axis]

    @property
    def key(self) -> Hashable:
        """Equal for sums of the same numbers."""
        tables = tuple((id(t[0]), t.axes) for t in self.tables)
        return tables, self.accesses, self.keep


class RowTerm(NamedTuple):
    """A monomial that touches local variables.

    Attributes
    ----------
    monomial : Monomial
        Its tables may be :class:`Codes`.
    shared : tuple
        Those of its accesses that are to shared variables.
    sum : PlateSum
    outside : tuple of Table
        What the sum is still to be multiplied by.
    places : tuple of (Axis, Axis)
        Labels of turned vectors in the sum, and in the monomial.
    """

    monomial: Monomial
    shared: tuple[Any, ...]
    sum: PlateSum
    outside: tuple[Table, ...] = ()
    places: tuple[tuple[Axis, Axis], ...] = ()

    def rest(self, table: Table, restart: Axis) -> Table:
        """Return what the sum over rows leaves of the monomial."""
        if not self.places:
            return table
        own, labels = zip(*self.places, strict=True)
        keep = labels_of(*self.shared) | {restart}
        return contract_tables((*self.outside, seen(table, own, labels)), keep)


class Turns:
    """Labels of vectors that may be turned: one for each axis, for the first and second factor."""

    def __init__(self, axes: Mapping[str, tuple[Axis, ...]]) -> None:
        self.axes = axes
        self.labels = {
            (name, order): tuple(Axis(axis.name, axis.size) for axis in own[1:])
            for name, own in axes.items()
            for order in (0, 1)
        }

    def second(self, name: str) -> PlateSum:
        """Return the sum of E[v vᵀ] over all rows."""
        plate = self.axes[name][0]
        both = [self.labels[name, order] for order in (0, 1)]
        accesses = tuple(Access(name, (plate, *own)) for own in both)
        return PlateSum((), accesses, frozenset(a for own in both for a in own))


def find_terms(
    monomials: Iterable[Monomial],
    names: Sequence[str],
    layouts: Mapping[str, Layout],
    turns: Turns | None,
) -> list[RowTerm]:
    """Return the monomials that touch local variables, with the sums that shared ones need."""
    plate = layouts[names[0]].axes[0]
    terms = []
    for monomial in monomials:
        local = tuple(a for a in monomial.accesses if a.name in names)
        if not local:
            continue
        monomial = _with_codes(monomial, plate, layouts)
        shared = tuple(a for a in monomial.accesses if a.name not in names)
        if turns is None:
            total = PlateSum(monomial.tables, local, frozenset(labels_of(*shared)))
            terms.append(RowTerm(monomial, shared, total))
        else:
            terms.append(_turned_term(monomial, local, shared, plate, turns))
    return terms


def _turned_term(
    monomial: Monomial,
    local: tuple[Any, ...],
    shared: tuple[Any, ...],
    plate: Axis,
    turns: Turns,
) -> RowTerm:
    inside = tuple(t for t in monomial.tables if plate in t.axes)
    outside = tuple(t for t in monomial.tables if plate not in t.axes)
    free: list[Access] = []
    places: list[tuple[Axis, Axis]] = []
    for order, access in enumerate(local):
        own = turns.labels[access.name, order]
        free.append(Access(access.name, (plate, *own)))
        places += zip(own, access.places[1:], strict=True)
    wanted = labels_of(*monomial.accesses).union(*(t.axes for t in outside)) - {plate}
    keep = wanted & {a for t in inside for a in t.axes}
    keep |= {axis for axis, _ in places}
    total = PlateSum(inside, tuple(free), frozenset(keep))
    return RowTerm(monomial, shared, total, outside, tuple(places))


def _with_codes(monomial: Monomial, plate: Axis, layouts: Mapping[str, Layout]) -> Monomial:
    """Read members that rows name by tables of 0 and 1: θ[code] = Σ_m 1[code = m] θ[m]."""
    found: list[tuple[Lookup, Axis]] = []
    accesses = []
    for access in monomial.accesses:
        places = []
        for place, axis in zip(access.places, layouts[access.name].axes, strict=False):
            if isinstance(place, Lookup) and plate in place.labels:
                known = [label for other, label in found if same_place(place, other)]
                if not known:
                    known = [Axis("member", axis.size)]
                    found.append((place, known[0]))
                place = known[0]
            places.append(place)
        accesses.append(access._replace(places=tuple(places)))
    if not found:
        return monomial
    codes: tuple[Any, ...] = tuple(Codes(place.positions, label) for place, label in found)
    return monomial._replace(tables=(*monomial.tables, *codes), accesses=tuple(accesses))


# -- arithmetic ------------------------------------------------------------------------------


def add_sums(a: Sums, b: Sums) -> Sums:
    """Return the sums of two parts together."""
    if not a:
        return b
    return {key: sum_tables(a[key], table) for key, table in b.items()}


def turn(sums: Sums, labels: Sequence[Axis], matrix: Array, restart: Axis) -> Sums:
    """Return sums whose vectors along some labels are multiplied by a matrix (starts, K, K)."""
    return {key: _turned(table, labels, matrix, restart) for key, table in sums.items()}


def _turned(table: Table, labels: Sequence[Axis], matrix: Array, restart: Axis) -> Table:
    for old in labels:
        if old in table.axes:
            new = Axis(old.name, old.size)
            keep = (restart, new, *(a for a in table.axes if a is not old))
            found = contract_tables((Table(matrix, (restart, new, old)), table), keep)
            table = Table(found.values, tuple(old if a is new else a for a in found.axes))
    return table
