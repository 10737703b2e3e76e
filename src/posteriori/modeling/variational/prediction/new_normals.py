"""New members of normal variables: each is its mean, made of what is known, and noise of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.modeling.binding.bound import GAUSSIAN, BoundFactor, Layout
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
from posteriori.modeling.variational.densities.monomials import Product
from posteriori.modeling.variational.nodes.given_node import GivenNormals
from posteriori.modeling.variational.prediction.predictive_spread import Lookup as Beliefs, noise_of
from posteriori.modeling.variational.prediction.scene import Scene

__all__ = ["expanded_mean"]

#: A name that nobody can give to a variable.
_NOISE = "noise of {}"


def expanded_mean(
    scene: Scene, factor: BoundFactor, beliefs: Beliefs
) -> tuple[list[Product], dict[str, Any]]:
    """Write the mean of a factor in solved variables and noise of new ones.

    Returns
    -------
    products : list of Product
        The mean is their sum; labels other than the rows and events are summed over.
    owners : dict
        The nodes that answer for their variables.
    """
    owners: dict[str, Any] = {}
    done: list[Product] = []
    rest = [Product((t.table,), t.accesses) for t in factor.parameters["mean"].terms]
    while rest:
        product = rest.pop()
        new = next((a for a in product.accesses if a.name in scene.anew.unsolved), None)
        if new is None:
            _claim(scene, factor, product, owners)
            done.append(product)
            continue
        others = tuple(a for a in product.accesses if a is not new)
        for part in _parts(scene, factor, new, owners, beliefs):
            rest.append(Product(product.tables + part.tables, others + part.accesses))
    return done, owners


def _claim(scene: Scene, factor: BoundFactor, product: Product, owners: dict[str, Any]) -> None:
    """Find the node of each variable; a product must have one of each node at most."""
    seen: set[int] = set()
    for access in product.accesses:
        node = owners.get(access.name, scene.owners.get(access.name))
        if node is None or isinstance(access, Switch):
            raise TypeError(
                f"{factor.name} has no closed-form predictive here: {access.name} was solved apart "
                "from the other variables"
            )
        if id(node) in seen:
            raise TypeError(
                f"{factor.name} has no closed-form predictive here: it multiplies variables that "
                "are believed in jointly"
            )
        seen.add(id(node))
        owners[access.name] = node


def _parts(
    scene: Scene, child: BoundFactor, access: Access, owners: dict[str, Any], beliefs: Beliefs
) -> list[Product]:
    """Return a new normal variable, as some access sees it, as a sum."""
    name = access.name
    parent, *more = scene.anew.factors[name]
    if more or scene.anew.is_chain(name) or parent.family not in GAUSSIAN or _is_gated(parent):
        kind = "a chain" if more else f"{parent.family.__name__} behind an index or not normal"
        raise TypeError(
            f"{child.name} has no closed-form predictive here: {name} is new and {kind}"
        )
    layout: Layout = scene.anew.layouts[name]
    own = _NOISE.format(name)
    if own not in owners:
        owners[own] = _noise_node(own, parent, layout, beliefs)
    found = [Product((), (Access(own, access.places),))]
    for term in parent.parameters["mean"].terms:
        found.append(_moved(term, layout.axes, access.places))
    return found


def _noise_node(name: str, parent: BoundFactor, layout: Layout, beliefs: Beliefs) -> GivenNormals:
    """Return what new members have of their own: independent noise around 0."""
    variance = noise_of(parent, beliefs).variance
    if not np.all(np.isfinite(variance)):
        raise TypeError(
            f"new members of {parent.name} have no finite variance under the belief about their "
            "precision: more data, or a prior with a shape above 1, give them one"
        )
    twins = tuple(Axis("twin", axis.size) for axis in layout.events)
    axes = (*layout.axes, *twins)
    cov = Table(np.broadcast_to(variance, shape_of(axes)), axes)
    return GivenNormals(name, layout.axes, [Table(np.zeros(()), ()), cov], entropy=np.nan)


def _moved(term: Term, axes: tuple[Axis, ...], places: tuple[Any, ...]) -> Product:
    """Return a term of a mean as another factor sees it; labels that it sums over are renewed."""
    inner = {*term.table.axes, *labels_of(*term.accesses)} - set(axes)
    fresh = relabel([term], {a: Axis(a.name, a.size) for a in inner})
    ((table, accesses),) = see_through(fresh, axes, places)
    return Product((table,), accesses)


def _is_gated(factor: BoundFactor) -> bool:
    return any(isinstance(access, Switch) for access in factor.accesses)
