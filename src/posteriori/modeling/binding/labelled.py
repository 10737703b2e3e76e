"""Constants with labelled axes, and sums of products of constants and variables.

Binding a model to data turns every expression into a polynomial in the unknown variables: a sum of
:class:`Term`, each a labelled constant times variables seen through labels. ``+ * @ [] take`` are
relabellings of such sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = [
    "Access",
    "Axis",
    "Lookup",
    "Polynomial",
    "Switch",
    "Table",
    "Term",
    "add",
    "align",
    "constant",
    "contract",
    "count_of",
    "gather",
    "labels_of",
    "look_up",
    "multiply",
    "multiply_tables",
    "relabel",
    "relabel_access",
    "shape_of",
    "spread",
    "substitute",
    "sum_last",
]


class Axis:
    """A label: an axis is itself and equal to nothing else.

    As a place of a variable it reads each member in turn; :class:`Lookup` answers the same questions.
    """

    __slots__ = ("name", "size")

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size

    def __repr__(self) -> str:
        return f"{self.name}={self.size}"

    @property
    def labels(self) -> tuple[Axis, ...]:
        """The labels through which the place is read."""
        return (self,)

    @property
    def positions(self) -> Table:
        """The members that are read, over the labels of the place."""
        return Table(np.arange(self.size), (self,))


class Table(NamedTuple):
    """A constant array with a label for each axis."""

    values: Array
    axes: tuple[Axis, ...]

    def relabelled(self, new: Mapping[Axis, Axis]) -> Table:
        """Replace labels."""
        return Table(self.values, tuple([new.get(axis, axis) for axis in self.axes]))

    def over(self, labels: tuple[Axis, ...]) -> Array:
        """Return the values over all labels, each at its full length."""
        return np.broadcast_to(spread(self, labels), shape_of(labels))


class Lookup(NamedTuple):
    """An axis of a variable read at known positions."""

    positions: Table

    @property
    def labels(self) -> tuple[Axis, ...]:
        """The labels through which the place is read."""
        return self.positions.axes


class Access(NamedTuple):
    """A variable, each of whose axes is a label or is looked up."""

    name: str
    places: tuple[Any, ...]


class Switch(NamedTuple):
    """1 where a discrete variable equals the label ``state``, else 0."""

    name: str
    places: tuple[Any, ...]
    state: Axis


class Term(NamedTuple):
    """A constant times variables, summed over all labels that the result does not have."""

    table: Table
    accesses: tuple[Any, ...] = ()


class Polynomial(NamedTuple):
    """A bound expression: terms, named plates, and array axes.

    ``rows`` are those array axes that came with an index: one more index passes them by.
    """

    terms: tuple[Term, ...]
    plates: tuple[Axis, ...]
    axes: tuple[Axis, ...]
    rows: frozenset[Axis] = frozenset()

    @property
    def labels(self) -> tuple[Axis, ...]:
        return self.plates + self.axes

    @property
    def is_known(self) -> bool:
        return not any(term.accesses for term in self.terms)

    def over(self, labels: tuple[Axis, ...]) -> Array:
        """Return the array of a known expression, of length 1 along labels it does not vary with."""
        total: Any = 0.0
        for term in self.terms:
            total = total + spread(term.table, labels)
        return np.asarray(total)

    def value(self) -> Array:
        """Return the array of a known expression, axes in the order of ``labels``."""
        return np.broadcast_to(self.over(self.labels), shape_of(self.labels))


def constant(values: Any, plates: tuple[Axis, ...] = (), name: str = "") -> Polynomial:
    """Wrap an array whose leading axes belong to plates."""
    array = np.asarray(values, dtype=np.float64)
    axes = tuple(Axis(name, size) for size in array.shape[len(plates) :])
    return Polynomial((Term(Table(array, plates + axes)),), plates, axes)


def shape_of(axes: Iterable[Axis]) -> tuple[int, ...]:
    """Return the length of each axis."""
    return tuple([axis.size for axis in axes])


def count_of(axes: Iterable[Axis]) -> int:
    """Return how many members some axes have together."""
    return math.prod([axis.size for axis in axes])


def spread(table: Table, labels: tuple[Axis, ...]) -> Array:
    """Return the values with axes in the order of ``labels``, length 1 where one is missing."""
    if table.axes == labels:
        return table.values
    order = [table.axes.index(axis) for axis in labels if axis in table.axes]
    shape = [axis.size if axis in table.axes else 1 for axis in labels]
    return np.transpose(table.values, order).reshape(shape)


# -- relabelling -----------------------------------------------------------------------------


def relabel(terms: Iterable[Term], new: Mapping[Axis, Axis]) -> tuple[Term, ...]:
    """Replace labels."""
    if not new:
        return tuple(terms)
    return tuple(
        Term(t.table.relabelled(new), tuple(relabel_access(a, new) for a in t.accesses))
        for t in terms
    )


def relabel_access(access: Any, new: Mapping[Axis, Axis]) -> Any:
    """Replace labels through which a variable is seen."""
    places = tuple(
        Lookup(p.positions.relabelled(new)) if isinstance(p, Lookup) else new.get(p, p)
        for p in access.places
    )
    if isinstance(access, Switch):
        return Switch(access.name, places, new.get(access.state, access.state))
    return access._replace(places=places)


def look_up(terms: Iterable[Term], axis: Axis, index: Table) -> tuple[Term, ...]:
    """Read an axis at known positions: the label gives way to those of the index."""
    return tuple(
        Term(
            gather(t.table, axis, index),
            tuple(_look_up_access(a, axis, index) for a in t.accesses),
        )
        for t in terms
    )


def _look_up_access(access: Any, axis: Axis, index: Table) -> Any:
    places = []
    for place in access.places:
        if place is axis:
            places.append(Lookup(index))
        elif isinstance(place, Lookup):
            places.append(Lookup(gather(place.positions, axis, index)))
        else:
            places.append(place)
    return access._replace(places=tuple(places))


def gather(table: Table, axis: Axis, index: Table) -> Table:
    """Return table[..., index, ...] along one label."""
    if axis not in table.axes:
        return table
    rest = tuple(a for a in table.axes if a is not axis)
    labels = rest + tuple(a for a in index.axes if a not in rest)
    if not set(rest) & set(index.axes):
        moved = np.moveaxis(table.values, table.axes.index(axis), -1)
        return Table(moved[..., index.values.astype(np.intp)], rest + index.axes)
    where = []
    for a in table.axes:
        source = index if a is axis else a.positions
        where.append(spread(source, labels).astype(np.intp))
    return Table(table.values[tuple(where)], labels)


def substitute(poly: Polynomial, values: Mapping[str, Table]) -> Polynomial:
    """Put known values in the place of variables."""
    return poly._replace(terms=tuple(_substitute(t, values, poly.labels) for t in poly.terms))


def _substitute(term: Term, values: Mapping[str, Table], labels: tuple[Axis, ...]) -> Term:
    while any(isinstance(a, Switch) and a.name in values for a in term.accesses):
        term = _switched(term, values)
    known = [a for a in term.accesses if a.name in values]
    rest = tuple(a for a in term.accesses if a.name not in values)
    table = term.table
    for i, access in enumerate(known):
        wanted = set(labels).union(labels_of(*(*rest, *known[i + 1 :])))
        table = multiply_tables(table, _seen(values[access.name], access.places), wanted)
    wanted = set(labels).union(labels_of(*rest))
    return Term(_sum_out(table, wanted), rest)


def _switched(term: Term, values: Mapping[str, Table]) -> Term:
    """Read the constant and the variables of a term at the state that its first switch is in."""
    at, switch = next(
        (i, a) for i, a in enumerate(term.accesses) if isinstance(a, Switch) and a.name in values
    )
    others = Term(term.table, term.accesses[:at] + term.accesses[at + 1 :])
    (read,) = look_up((others,), switch.state, _seen(values[switch.name], switch.places))
    return read


def _sum_out(table: Table, wanted: set[Axis]) -> Table:
    gone = tuple(i for i, axis in enumerate(table.axes) if axis not in wanted)
    if not gone:
        return table
    return Table(table.values.sum(axis=gone), tuple(a for a in table.axes if a in wanted))


def _seen(values: Table, places: tuple[Any, ...]) -> Table:
    """Return values as an access sees them."""
    seen = values.relabelled(
        {a: p for a, p in zip(values.axes, places, strict=True) if isinstance(p, Axis)}
    )
    for axis, place in zip(values.axes, places, strict=True):
        if isinstance(place, Lookup):
            seen = gather(seen, axis, place.positions)
    return seen


# -- arithmetic ------------------------------------------------------------------------------


def align(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Give two polynomials common labels: plates by name, array axes from the right."""
    plates = a.plates + tuple(p for p in b.plates if p not in a.plates)
    long, short = (a, b) if len(a.axes) >= len(b.axes) else (b, a)
    lead = len(long.axes) - len(short.axes)
    terms = {id(a): a.terms, id(b): b.terms}
    axes = list(long.axes[:lead])
    rows = set(long.rows)
    for x, y in zip(long.axes[lead:], short.axes, strict=True):
        if x in long.rows or y in short.rows:
            rows |= {x, y}
        if x is y:
            axes.append(x)
        elif y.size == 1:
            terms[id(short)] = look_up(terms[id(short)], y, Table(np.zeros(()), ()))
            axes.append(x)
        elif x.size == 1:
            terms[id(long)] = look_up(terms[id(long)], x, Table(np.zeros(()), ()))
            axes.append(y)
        elif x.size == y.size:
            terms[id(short)] = relabel(terms[id(short)], {y: x})
            axes.append(x)
        else:
            raise ValueError(f"axes of length {x.size} and {y.size} do not fit together")
    kept = frozenset(rows & set(axes))
    return tuple(Polynomial(terms[id(p)], plates, tuple(axes), kept) for p in (a, b))  # type: ignore[return-value]


def add(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return a + b."""
    a, b = align(a, b)
    return a._replace(terms=a.terms + b.terms)


def multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return a · b, elementwise."""
    a, b = align(a, b)
    return a._replace(terms=_products(a.terms, b.terms, a.labels))


def contract(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return a @ b as NumPy has it: a's last axis with b's last but one, or its only one."""
    if not a.axes or not b.axes:
        raise ValueError("both sides of @ must have an axis to sum over")
    inner = -2 if len(b.axes) > 1 else -1
    x, y = a.axes[-1], b.axes[inner]
    if x.size != y.size:
        raise ValueError(f"@ cannot join axes of length {x.size} and {y.size}")
    shared = Axis("sum", x.size)
    columns = tuple(Axis(axis.name, axis.size) for axis in b.axes[inner:][1:])
    new = {y: shared, **dict(zip(b.axes[inner:][1:], columns, strict=True))}
    left = Polynomial(relabel(a.terms, {x: shared}), a.plates, a.axes[:-2])
    right = Polynomial(relabel(b.terms, new), b.plates, b.axes[:inner])
    left, right = align(left, right)
    axes = left.axes + a.axes[-2:-1] + columns
    terms = _products(left.terms, right.terms, left.plates + axes)
    return Polynomial(terms, left.plates, axes)


def sum_last(poly: Polynomial) -> Polynomial:
    """Return the sum over the last axis."""
    summed = Axis("sum", poly.axes[-1].size)
    labels = poly.plates + poly.axes[:-1]
    terms = []
    for table, accesses in relabel(poly.terms, {poly.axes[-1]: summed}):
        wanted = set(labels).union(labels_of(*accesses))
        terms.append(Term(_sum_out(table, wanted), accesses))
    return Polynomial(tuple(terms), poly.plates, poly.axes[:-1])


def _products(a: Iterable[Term], b: Iterable[Term], labels: tuple[Axis, ...]) -> tuple[Term, ...]:
    second = tuple(b)
    return tuple(_product(s, t, labels) for s in a for t in second)


def _product(s: Term, t: Term, labels: tuple[Axis, ...]) -> Term:
    accesses = s.accesses + t.accesses
    wanted = set(labels).union(labels_of(*accesses))
    return Term(multiply_tables(s.table, t.table, wanted), accesses)


def multiply_tables(a: Table, b: Table, wanted: set[Axis]) -> Table:
    """Return the product, summed over labels that are not wanted."""
    if not a.axes:
        values = b.values if a.values == 1.0 else a.values * b.values
        return _sum_out(Table(values, b.axes), wanted)
    if not b.axes:
        values = a.values if b.values == 1.0 else a.values * b.values
        return _sum_out(Table(values, a.axes), wanted)
    codes = {axis: i for i, axis in enumerate(dict.fromkeys(a.axes + b.axes))}
    kept = tuple(axis for axis in codes if axis in wanted)
    values = np.einsum(
        a.values,
        [codes[x] for x in a.axes],
        b.values,
        [codes[x] for x in b.axes],
        [codes[x] for x in kept],
        optimize=True,
    )
    return Table(values, kept)


def labels_of(*accesses: Any) -> set[Axis]:
    """Return the labels through which accesses see their variables."""
    found = {label for access in accesses for place in access.places for label in place.labels}
    found.update([access.state for access in accesses if isinstance(access, Switch)])
    return found
