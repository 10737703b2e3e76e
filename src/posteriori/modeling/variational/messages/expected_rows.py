r"""What each row of a factor says about one group of variables, under the beliefs of all others.

.. math:: \ln\mu_{f\to x}(x) = E_{q(\text{others})}[\ln f(x, \text{others})]

row by row, as coefficients of what the group's log density is made of, and summed over rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.labelled import Axis, Table, count_of, labels_of
from posteriori.modeling.binding.places import flat_index, same_places
from posteriori.modeling.binding.products import Product
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.nodes.node import Node

__all__ = ["ExpectedRows", "SeenMembers", "seen_members"]


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
        self, factor: BoundFactor, products: Sequence[Product], node: Node, problem: Problem
    ) -> None:
        self.factor, self.node, self.problem = factor, node, problem
        self.products = [p for p in products if self._mine(p)]

    def _mine(self, product: Product) -> tuple[Any, ...]:
        return tuple(a for a in product.accesses if a.name in self.node.names)

    @property
    def accesses(self) -> Iterator[Any]:
        """How the factor sees variables of the node."""
        return itertools.chain.from_iterable(self._mine(p) for p in self.products)

    def expected(self, rows: tuple[Axis, ...]) -> Iterator[tuple[tuple[Any, ...], Table]]:
        """Yield accesses of the node and their coefficients, summed over all but some rows."""
        for product in self.products:
            mine = self._mine(product)
            keep = frozenset(labels_of(*mine)).union(rows)
            yield mine, self.problem.coefficient(product, self.node, keep, self.factor.rows)


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
        return count_of(self.rows)

    @property
    def given(self) -> tuple[Axis, ...]:
        """The rows of the factor itself."""
        return self.rows[: len(self.rows) - len(self.free)]

    def view_of(self, places: Sequence[Any]) -> int:
        """Return which view an access belongs to."""
        here = self.fixed(places)
        return next(k for k, view in enumerate(self.views) if same_places(self.fixed(view), here))

    def fixed(self, places: Sequence[Any]) -> list[Any]:
        """Return the places that a row tells."""
        return [place for i, place in enumerate(places) if i not in self.free]

    def pairs(self, places: Sequence[Any]) -> list[tuple[Any, Axis]]:
        """Return the other places, with the rows that stand for them."""
        return [(places[i], axis) for i, axis in self.free.items()]

    def index(self, view: int, axes: Sequence[Axis]) -> Any:
        """Return the member that each row sees; None for the r-th."""
        places = [self.free.get(i, place) for i, place in enumerate(self.views[view])]
        return flat_index(places, axes, self.rows)

    def added_up(self, axes: Sequence[Axis]) -> SeenMembers:
        """Return the same with a single row for each member, along the axes that tell them apart."""
        return SeenMembers(tuple(axes), self.views, dict(enumerate(axes)))


def seen_members(
    rows: tuple[Axis, ...], places: Iterable[Sequence[Any]], axes: Sequence[Axis]
) -> SeenMembers:
    """Find the members that accesses of a factor see, of the axes that tell them apart."""
    seen = list(places)
    free = {
        i: Axis(axis.name, axis.size)
        for i, axis in enumerate(axes)
        if not all(set(p[i].labels) <= set(rows) for p in seen)
    }
    sight = SeenMembers((*rows, *free.values()), [], free)
    for place in seen:
        if not any(same_places(sight.fixed(view), sight.fixed(place)) for view in sight.views):
            sight.views.append(tuple(place))
    return sight
