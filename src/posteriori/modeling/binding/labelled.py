"""Constants with labelled axes, and sums of products of constants and variables.

Binding a model to data turns every expression into a polynomial in the unknown variables: a sum of
:class:`Term`, each a labelled constant times variables seen through labels. ``+ * @ [] take`` are
relabellings of such sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = [
    "Access",
    "Axis",
    "Lookup",
    "Polynomial",
    "Run",
    "Switch",
    "Table",
    "Term",
    "constant",
    "count_of",
    "gather",
    "has_lookup",
    "labels_of",
    "look_up",
    "multiply_tables",
    "relabel",
    "relabel_access",
    "renamed_labels",
    "see_through",
    "seen",
    "shape_of",
    "spread",
    "substitute",
    "sum_out",
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

    @property
    def run(self) -> Run | None:
        """The members that are read one after another; None where they are not."""
        return Run(self, 0)


class Run(NamedTuple):
    """Members in order: the label that counts them, if any, and where it starts."""

    label: Axis | None
    start: int


class Table(NamedTuple):
    """A constant array with a label for each axis."""

    values: Array
    axes: tuple[Axis, ...]

    def relabelled(self, new: Mapping[Axis, Axis]) -> Table:
        """Replace labels."""
        return Table(self.values, tuple([new.get(axis, axis) for axis in self.axes]))

    def over(self, labels: tuple[Axis, ...]) -> Array:
        """Return the values over all labels, each at its full length."""
        values, shape = spread(self, labels), shape_of(labels)
        return values if values.shape == shape else np.broadcast_to(values, shape)


class Lookup(NamedTuple):
    """An axis of a variable read at known positions."""

    positions: Table

    @property
    def labels(self) -> tuple[Axis, ...]:
        """The labels through which the place is read."""
        return self.positions.axes

    @property
    def run(self) -> Run | None:
        """The members that are read one after another; None where they are not."""
        where = self.positions.values
        if where.ndim == 0:
            return Run(None, int(where))
        start = int(where[0]) if where.ndim == 1 and where.size else 0
        in_order = where.ndim == 1 and np.array_equal(where, start + np.arange(len(where)))
        return Run(self.labels[0], start) if in_order else None


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


def see_through(
    terms: Iterable[Term], axes: Iterable[Axis], places: Iterable[Any]
) -> tuple[Term, ...]:
    """Return terms over the axes of a variable as a factor sees it through places."""
    through = dict(zip(axes, places, strict=True))
    found = relabel(terms, {a: p for a, p in through.items() if isinstance(p, Axis)})
    for axis, place in through.items():
        if isinstance(place, Lookup):
            found = look_up(found, axis, place.positions)
    return found


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


def seen(table: Table, axes: Sequence[Axis], places: Sequence[Any]) -> Table:
    """Return a table over a variable's axes as a factor sees it; other labels stay."""
    if not has_lookup(places):
        renamed = renamed_labels(table.axes, tuple(axes), tuple(places))
        if renamed is not None:
            return Table(table.values, renamed)
    for axis, place in zip(axes, places, strict=True):
        if axis not in table.axes or place is axis:
            continue
        if isinstance(place, Lookup) or place in table.axes:  # two axes, one label: a diagonal
            table = gather(table, axis, place.positions)
        else:
            table = table.relabelled({axis: place})
    return table


def has_lookup(places: Iterable[Any]) -> bool:
    """Tell whether an axis is read at known positions."""
    return Lookup in map(type, places)


@lru_cache(maxsize=4096)
def renamed_labels(
    labels: tuple[Axis, ...], axes: tuple[Axis, ...], places: tuple[Axis, ...]
) -> tuple[Axis, ...] | None:
    """Return new labels for a table, or None where two of them would be the same."""
    new = dict(zip(axes, places, strict=True))
    found = tuple(new.get(a, a) for a in labels)
    return found if len(set(found)) == len(found) else None


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
        table = multiply_tables(table, _see(values, access), wanted)
    wanted = set(labels).union(labels_of(*rest))
    return Term(sum_out(table, wanted), rest)


def _switched(term: Term, values: Mapping[str, Table]) -> Term:
    """Read the constant and the variables of a term at the state that its first switch is in."""
    at, switch = next(
        (i, a) for i, a in enumerate(term.accesses) if isinstance(a, Switch) and a.name in values
    )
    others = Term(term.table, term.accesses[:at] + term.accesses[at + 1 :])
    (read,) = look_up((others,), switch.state, _see(values, switch))
    return read


def _see(values: Mapping[str, Table], access: Any) -> Table:
    known = values[access.name]
    return seen(known, known.axes, access.places)


def sum_out(table: Table, wanted: set[Axis]) -> Table:
    """Return the sum over labels that are not wanted."""
    gone = tuple(i for i, axis in enumerate(table.axes) if axis not in wanted)
    if not gone:
        return table
    return Table(table.values.sum(axis=gone), tuple(a for a in table.axes if a in wanted))


def multiply_tables(a: Table, b: Table, wanted: set[Axis]) -> Table:
    """Return the product, summed over labels that are not wanted."""
    if not a.axes:
        values = b.values if a.values == 1.0 else a.values * b.values
        return sum_out(Table(values, b.axes), wanted)
    if not b.axes:
        values = a.values if b.values == 1.0 else a.values * b.values
        return sum_out(Table(values, a.axes), wanted)
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
