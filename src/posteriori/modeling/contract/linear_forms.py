r"""Mean and covariance of the mean of a normal child, under what is believed of the variables above it.

A parent that is itself new is its own mean plus noise of its own,

.. math:: y = K\theta + c + \epsilon, \quad \theta = Ax + b + \eta
          \quad\Rightarrow\quad y = KAx + Kb + c + K\eta + \epsilon,

so it is put into the mean, and its noise becomes one more independent variable of mean 0. What is left is
a sum :math:`m = \sum_i s_i` of products of variables that are believed in independently,

.. math:: \mathrm{Cov}[s_i, s_j] = \prod_v E[v\,v'] - \prod_v E[v]\,E[v'],\qquad
          E[v\,v'] = E[v]\,E[v'] + \mathrm{Cov}[v, v'],

so the product without covariances is left out instead of being subtracted: nothing cancels. Sums
that are linear in variables with a root B of their covariance have the covariance
:math:`(\sum_i K_i B_i)(\sum_i K_i B_i)^T`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.modeling.binding.bound import GAUSSIAN, BoundFactor
from posteriori.modeling.binding.labelled import (
    Access,
    Axis,
    Switch,
    Table,
    Term,
    labels_of,
    relabel,
    see_through,
    seen,
    shape_of,
    spread,
)
from posteriori.modeling.binding.places import add_tables, same_members
from posteriori.modeling.binding.products import (
    Product,
    axes_of,
    contract_tables,
    multiply_products,
)
from posteriori.modeling.contract.requests import Anew, no_closed_form
from posteriori.modeling.forms.normal_rows import summed_lookups
from posteriori.numerics.types import Array

__all__ = [
    "Expectation",
    "Location",
    "Noise",
    "Owners",
    "Root",
    "SeenMoments",
    "locate_mean",
    "member_covariance",
]

#: A name that nobody can give to a variable.
_NOISE = "noise of {}"

#: A sum of products of tables.
Expectation = list[tuple[Table, ...]]


class Root(NamedTuple):
    """B with Cov[a, b] = Σ B_a B_b over the column, a label that all have."""

    table: Table
    column: Axis


class SeenMoments(Protocol):
    """What answers for some variables: their moments as the rows of a factor see them."""

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        """Return the expectation of a product of accesses."""

    def covariance(self, a: Any, b: Any) -> Expectation:
        """Return Cov[a, b] of two accesses."""

    def root(self, access: Any) -> Root | None:
        """Return a root of the covariance of all variables; None where there is none."""


#: What answers for which variable.
Owners = Mapping[str, SeenMoments]


class Noise(NamedTuple):
    """Noise of the members of a new variable, independent between them, with mean 0.

    Attributes
    ----------
    axes : tuple of Axis
        The variable's own axes.
    cov : Table
        Over these and a second label for each event axis.
    """

    axes: tuple[Axis, ...]
    cov: Table

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        """Return 0."""
        return [(Table(np.zeros(()), ()),)]

    def covariance(self, a: Any, b: Any) -> Expectation:
        """Return the covariance of two accesses, 0 between members."""
        return [member_covariance(self.cov, self.axes, a, b)]

    def root(self, access: Any) -> None:
        """There is none for all members."""


class Location(NamedTuple):
    """Mean (*rows, E) of the mean of a factor, and its covariance (*rows, E, E)."""

    mean: Array
    cov: Array


def locate_mean(
    anew: Anew, factor: BoundFactor, owners: Owners, noise: Callable[[BoundFactor], Array]
) -> Location:
    """Return what is known of the mean of a normal factor.

    Parameters
    ----------
    anew : Anew
    factor : BoundFactor
    owners : mapping
        What answers for each solved variable.
    noise : callable
        The variance that new members of a factor have around their mean.
    """
    expanded = _Expanded(anew, factor, owners, noise)
    twins = {axis: Axis("twin", axis.size) for axis in factor.events}
    return Location(
        _mean(expanded.products, (*factor.rows, *factor.events), expanded.owners),
        _covariance(expanded.products, factor.rows, twins, expanded.owners),
    )


class _Expanded:
    """The mean of a factor as a sum of products of solved variables and noise of new ones.

    Labels other than the rows and events are summed over.
    """

    def __init__(
        self,
        anew: Anew,
        factor: BoundFactor,
        owners: Owners,
        noise: Callable[[BoundFactor], Array],
    ) -> None:
        self.anew = anew
        self.factor = factor
        self.noise = noise
        self.owners: dict[str, SeenMoments] = dict(owners)
        self.layouts = dict(anew.layouts)
        self.products: list[Product] = []
        rest = [_as_product(t) for t in factor.parameters["mean"].terms]
        while rest:
            product = rest.pop()
            new = next((a for a in product.accesses if a.name in anew.unsolved), None)
            if new is None:
                self._require_owners(product)
                self.products.append(self._summed(product))
                continue
            others = tuple(a for a in product.accesses if a is not new)
            for part in self._parts(new):
                rest.append(Product(product.tables + part.tables, others + part.accesses))

    def _require_owners(self, product: Product) -> None:
        """Refuse variables that nothing answers for, and products of what is believed in jointly."""
        met: set[int] = set()
        for access in product.accesses:
            node = self.owners.get(access.name)
            if node is None or isinstance(access, Switch):
                reason = f"{access.name} was solved apart from the other variables"
                raise no_closed_form(self.factor.name, reason)
            if id(node) in met:
                reason = "it multiplies variables that are believed in jointly"
                raise no_closed_form(self.factor.name, reason)
            met.add(id(node))

    def _summed(self, product: Product) -> Product:
        """Return a product with one table, without lookups at positions that are summed over."""
        labels = (*self.factor.rows, *self.factor.events)
        table, *more = product.tables
        if more:
            table = contract_tables(product.tables, {*labels, *labels_of(*product.accesses)})
        return _as_product(summed_lookups(Term(table, product.accesses), labels, self.layouts))

    def _parts(self, access: Access) -> list[Product]:
        """Return a new normal variable, as some access sees it, as a sum."""
        name = access.name
        parent, *more = self.anew.factors[name]
        gated = any(isinstance(a, Switch) for a in parent.accesses)
        if more or self.anew.is_chain(name) or parent.family not in GAUSSIAN or gated:
            kind = "a chain" if more else f"{parent.family.__name__} behind an index or not normal"
            raise no_closed_form(self.factor.name, f"{name} is new and {kind}")
        layout, own = self.layouts[name], _NOISE.format(name)
        if own not in self.owners:
            axes = (*layout.axes, *(Axis("twin", axis.size) for axis in layout.events))
            cov = Table(np.broadcast_to(self.noise(parent), shape_of(axes)), axes)
            self.owners[own], self.layouts[own] = Noise(layout.axes, cov), layout
        found = [Product((), (Access(own, access.places),))]
        for term in parent.parameters["mean"].terms:
            found.append(_moved(term, layout.axes, access.places))
        return found


def _moved(term: Term, axes: tuple[Axis, ...], places: tuple[object, ...]) -> Product:
    """Return a term of a mean as another factor sees it; labels that it sums over are renewed."""
    inner = {*term.table.axes, *labels_of(*term.accesses)} - set(axes)
    fresh = relabel([term], {a: Axis(a.name, a.size) for a in inner})
    (found,) = see_through(fresh, axes, places)
    return _as_product(found)


def _as_product(term: Term) -> Product:
    return Product((term.table,), term.accesses)


def member_covariance(cov: Table, axes: tuple[Axis, ...], a: Any, b: Any) -> tuple[Table, ...]:
    """Return the covariance of two accesses to independent members, a product of tables."""
    twins = cov.axes[len(axes) :]
    lead = len(axes) - len(twins)
    places = (*a.places, *b.places[lead:])
    return (seen(cov, cov.axes, places), *same_members(a.places[:lead], b.places[:lead]))


def _mean(products: Sequence[Product], labels: tuple[Axis, ...], owners: Owners) -> Array:
    """Return E[m] over some labels."""
    total: Any = 0.0
    for product in products:
        means = [table for a in product.accesses for (table,) in owners[a.name].expect([a])]
        total = total + spread(_contract(product, means, labels), labels)
    return np.broadcast_to(total, tuple(axis.size for axis in labels))


def _covariance(
    products: Sequence[Product],
    rows: tuple[Axis, ...],
    twins: Mapping[Axis, Axis],
    owners: Owners,
) -> Array:
    """Return Cov[m, m'] over rows, event axes and their twins; the variance without events.

    Parameters
    ----------
    products : sequence of Product
    rows : tuple of Axis
        Labels that both sides share.
    twins : mapping
        From event axes to their labels on the second side.
    owners : mapping
    """
    labels = (*rows, *twins, *twins.values())
    linear: dict[Axis, list[Table]] = {}
    done, rest = list[Product](), list[Product]()
    for product in products:
        root = _root(product, owners)
        if root is not None:
            part = _contract(product, [root.table], (*rows, *twins, root.column))
            linear.setdefault(root.column, []).append(part)
        if product.accesses:
            (rest if root is None else done).append(product)
    total: Any = 0.0
    for column, parts in linear.items():
        total = total + _square(add_tables(parts, (*rows, *twins, column)), len(twins))
    pairs = (itertools.product(a, b) for a, b in ((rest, rest), (rest, done), (done, rest)))
    for s, t in itertools.chain.from_iterable(pairs):
        if _nodes(s, owners).isdisjoint(_nodes(t, owners)):
            continue  # independent
        (both,) = multiply_products([s], [t], rows, twins)
        for choice in itertools.islice(_choices(both, owners), 1, None):
            total = total + spread(_contract(both, choice, labels), labels)
    return np.broadcast_to(total, tuple(axis.size for axis in labels))


def _root(product: Product, owners: Owners) -> Root | None:
    """Return the root of what a product is linear in; None where it has none."""
    roots = [owners[access.name].root(access) for access in product.accesses]
    return roots[0] if len(roots) == 1 else None


def _nodes(product: Product, owners: Owners) -> set[int]:
    """Return what answers for the variables of a product."""
    return {id(owners[access.name]) for access in product.accesses}


def _square(root: Array, events: int) -> Array:
    """Return R Rᵀ of each row, or |R|² of rows without events."""
    return np.einsum("...ei,...fi->...ef" if events else "...i,...i->...", root, root)


def _choices(product: Product, owners: Owners) -> Iterator[list[Table]]:
    """Yield the addends of the expectation, that of the means alone first."""
    parts: dict[int, tuple[SeenMoments, list[Any]]] = {}
    for access in product.accesses:
        node = owners[access.name]
        parts.setdefault(id(node), (node, []))[1].append(access)
    answers = [_moments(node, accesses) for node, accesses in parts.values()]
    for choice in itertools.product(*answers):
        yield list(itertools.chain.from_iterable(choice))


def _moments(node: SeenMoments, accesses: Sequence[Any]) -> list[tuple[Table, ...]]:
    """Return the product of the means and, of two accesses, their covariance."""
    means = tuple(table for a in accesses for (table,) in node.expect([a]))
    return [means] if len(accesses) == 1 else [means, *node.covariance(*accesses)]


def _contract(product: Product, more: Sequence[Table], labels: tuple[Axis, ...]) -> Table:
    """Sum the product over all other labels; one that no table has counts its members."""
    tables = [*product.tables, *more]
    present = {axis for table in tables for axis in table.axes}
    summed = axes_of(product) - present - set(labels)
    if summed:
        copies = math.prod(axis.size for axis in summed)
        tables.append(Table(np.asarray(float(copies)), ()))
    return contract_tables(tables, labels)
