r"""What each row of a factor says about one group of variables, under the beliefs of all others.

.. math:: \ln\mu_{f\to x}(x) = E_{q(\text{others})}[\ln f(x, \text{others})]

row by row, as coefficients of what the group's log density is made of, and summed over rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.labelled import Axis, Lookup, Table, labels_of, spread
from posteriori.modeling.forms.links import flat_index
from posteriori.modeling.variational.densities.monomials import Product, axes_of, same_place
from posteriori.modeling.variational.densities.planned_products import add_tables, contract_tables
from posteriori.numerics.types import Array

__all__ = ["ExpectedRows", "SeenMembers", "length", "placed", "seen_members", "whole"]


class ExpectedRows:
    """The rows of a factor, and what they expect of one node.

    Parameters
    ----------
    factor : BoundFactor
    products : sequence of Product
        Its log density.
    node
        Which receives messages.
    problem : Problem
        Whose other nodes are averaged over.
    """

    def __init__(
        self, factor: BoundFactor, products: Sequence[Product], node: Any, problem: Any
    ) -> None:
        self.factor = factor
        self.node = node
        self.owner = problem.owner
        self.restart = problem.restart
        self.products = [p for p in products if self._mine(p)]

    def _mine(self, product: Product) -> tuple[Any, ...]:
        return tuple(a for a in product.accesses if a.name in self.node.names)

    @property
    def accesses(self) -> Iterator[Any]:
        """How the factor sees variables of the node."""
        return itertools.chain.from_iterable(self._mine(p) for p in self.products)

    def by_row(self) -> Iterator[tuple[tuple[Any, ...], Table]]:
        """Yield accesses of the node and their coefficient in every row."""
        for product in self.products:
            yield self._mine(product), self._expected(product, self.factor.rows)

    def summed(self) -> Iterator[tuple[tuple[Any, ...], Table]]:
        """Yield accesses of the node and the sum of their coefficients over the rows."""
        for product in self.products:
            yield self._mine(product), self._expected(product, ())

    def _expected(self, product: Product, rows: tuple[Axis, ...]) -> Table:
        mine = self._mine(product)
        keep = frozenset(rows).union(*(labels_of(a) for a in mine))
        over = frozenset(axes_of(product)) | frozenset(self.factor.rows)
        parts: dict[int, tuple[Any, list[Any]]] = {}
        for access in product.accesses:
            if access.name not in self.node.names:
                node = self.owner[access.name]
                parts.setdefault(id(node), (node, []))[1].append(access)
        found = []
        for choice in itertools.product(*(node.expect(part) for node, part in parts.values())):
            operands = (*product.tables, *itertools.chain.from_iterable(choice))
            found.append(contract_tables([self._first(t) for t in operands], keep, over - keep))
        labels = tuple(dict.fromkeys(axis for table in found for axis in table.axes))
        return Table(add_tables(found, labels), labels)

    def _first(self, table: Table) -> Table:
        """Return a table of the first start, which is the only one at the end."""
        if self.restart not in table.axes:
            return table
        at = table.axes.index(self.restart)
        return Table(np.take(table.values, 0, axis=at), table.axes[:at] + table.axes[at + 1 :])


# -- rows and members ------------------------------------------------------------------------


@dataclass(frozen=True)
class SeenMembers:
    """Which members rows see.

    Attributes
    ----------
    rows : tuple of Axis
        Those of the factor; with them axes of which a row sees all members, one by one.
    views : list of tuples
        How each view sees the axes that tell members apart.
    free : mapping
        Those of these axes that are among the rows, by their position.
    """

    rows: tuple[Axis, ...]
    views: list[tuple[Any, ...]]
    free: Mapping[int, Axis]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return length(self.rows)

    def view_of(self, places: Sequence[Any]) -> int:
        """Return which view an access belongs to."""
        here = self.fixed(places)
        return next(k for k, view in enumerate(self.views) if _alike(self.fixed(view), here))

    def fixed(self, places: Sequence[Any]) -> list[Any]:
        """Return the places that a row tells."""
        return [place for i, place in enumerate(places) if i not in self.free]

    def index(self, view: int, axes: Sequence[Axis]) -> Any:
        """Return the member that each row sees."""
        places = [self.free.get(i, place) for i, place in enumerate(self.views[view])]
        sized = [(place, axis.size) for place, axis in zip(places, axes, strict=True)]
        return flat_index(sized, self.rows, self.count)


def seen_members(
    rows: tuple[Axis, ...], places: Iterable[Sequence[Any]], axes: Sequence[Axis]
) -> SeenMembers:
    """Find the members that accesses of a factor see, of the axes that tell them apart."""
    seen = list(places)
    free = {
        i: Axis(axis.name, axis.size)
        for i, axis in enumerate(axes)
        if not all(_is_told(p[i], rows) for p in seen)
    }
    sight = SeenMembers((*rows, *free.values()), [], free)
    for place in seen:
        if not any(_alike(sight.fixed(view), sight.fixed(place)) for view in sight.views):
            sight.views.append(tuple(place))
    return sight


def _is_told(place: Any, rows: tuple[Axis, ...]) -> bool:
    """Tell whether the row says where to look."""
    return set(_as_lookup(place).positions.axes) <= set(rows)


def _as_lookup(place: Any) -> Lookup:
    if isinstance(place, Lookup):
        return place
    return Lookup(Table(np.arange(place.size), (place,)))


def _alike(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return all(
        p is q or same_place(_as_lookup(p), _as_lookup(q)) for p, q in zip(a, b, strict=True)
    )


def placed(table: Table, pairs: Sequence[tuple[Any, Axis]], rows: tuple[Axis, ...]) -> Table:
    """Return coefficients over rows and new labels, for each place in a pair."""
    new: dict[Axis, Axis] = {}
    hot = []
    for place, axis in pairs:
        if isinstance(place, Lookup) or place in rows or place in new:
            source = place if isinstance(place, Lookup) else new.get(place, place)
            positions = _as_lookup(source).positions
            values = positions.values[..., None] == np.arange(axis.size)
            hot.append(Table(values.astype(np.float64), (*positions.axes, axis)))
        else:
            new[place] = axis
    operands = [Table(table.values, tuple(new.get(a, a) for a in table.axes)), *hot]
    return contract_tables(operands, (*rows, *(axis for _, axis in pairs)))


def whole(table: Table, labels: tuple[Axis, ...], shape: tuple[int, ...]) -> Array:
    """Return the values over all labels, in another shape."""
    sizes = tuple(axis.size for axis in labels)
    return np.broadcast_to(spread(table, labels), sizes).reshape(shape)


def length(axes: Iterable[Axis]) -> int:
    """Return how many members axes have."""
    return math.prod(axis.size for axis in axes)
