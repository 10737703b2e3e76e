r"""The mean of a normal child, written in what is known: new parents are means and noise of their own.

A parent that is itself new is its own mean plus noise,

.. math:: y = K\theta + c + \epsilon, \quad \theta = Ax + b + \eta
          \quad\Rightarrow\quad y = KAx + Kb + c + K\eta + \epsilon,

so it is put into the mean, and its noise becomes one more independent variable of mean 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

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
    shape_of,
)
from posteriori.modeling.binding.planned_products import contract_tables
from posteriori.modeling.binding.products import Product
from posteriori.modeling.contract.requests import Anew
from posteriori.modeling.forms.linear_forms import Noise, Owners, SeenMoments, covariance, mean
from posteriori.modeling.forms.normal_rows import summed_lookups
from posteriori.numerics.types import Array

__all__ = ["Location", "locate_mean"]

#: A name that nobody can give to a variable.
_NOISE = "noise of {}"


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
        mean(expanded.products, (*factor.rows, *factor.events), expanded.owners),
        covariance(expanded.products, factor.rows, twins, expanded.owners),
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
        seen: set[int] = set()
        for access in product.accesses:
            node = self.owners.get(access.name)
            if node is None or isinstance(access, Switch):
                raise TypeError(
                    f"{self.factor.name} has no closed-form predictive here: {access.name} was "
                    "solved apart from the other variables"
                )
            if id(node) in seen:
                raise TypeError(
                    f"{self.factor.name} has no closed-form predictive here: it multiplies "
                    "variables that are believed in jointly"
                )
            seen.add(id(node))

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
            raise TypeError(
                f"{self.factor.name} has no closed-form predictive here: {name} is new and {kind}"
            )
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
    (seen,) = see_through(fresh, axes, places)
    return _as_product(seen)


def _as_product(term: Term) -> Product:
    return Product((term.table,), term.accesses)
