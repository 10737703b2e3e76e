"""What a prediction under independent beliefs looks at: factors, and the nodes that answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from posteriori.distributions.composites.point_mass import PointMass
from posteriori.modeling.binding.bound import BoundFactor, Layout
from posteriori.modeling.binding.labelled import Table, substitute
from posteriori.modeling.contract.requests import Anew, Request, bind_anew
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.variational.densities.references import measured_from

__all__ = ["Scene", "make_scene", "moved_references", "set_scene"]


class Scene(NamedTuple):
    """Variables bound anew, with the beliefs of those that are not new.

    Attributes
    ----------
    anew : Anew
        Means are measured from the references of the nodes.
    owners : mapping
        The node that answers for each solved variable.
    belief : callable
        The marginal of a solved variable, by name.
    labels : mapping
        Names of categories.
    """

    anew: Anew
    owners: Mapping[str, Any]
    belief: Callable[[str], Any]
    labels: Mapping[str, Any]


def make_scene(solved: Solved, request: Request) -> Scene:
    """Bind what a request needs; what is not new has the beliefs of the posterior."""
    anew = bind_anew(solved, request)
    kept = anew.layouts.keys() & solved.by_name.keys() - request.new
    owners: dict[str, Any] = {}
    references: dict[str, Table] = {}
    for name in kept:
        result = solved.by_name[name]
        if name in result.nodes:
            owners[name] = result.nodes[name]
            references |= moved_references(result, [name], anew.layouts)
    return set_scene(anew, owners, solved.believed, solved.bound.labels, references)


def set_scene(
    anew: Anew,
    owners: Mapping[str, Any],
    belief: Callable[[str], Any],
    labels: Mapping[str, Any],
    references: Mapping[str, Table],
) -> Scene:
    """Put points in the place of variables that are believed to be there, and measure means."""
    points = {n: b for n in owners if isinstance(b := belief(n), PointMass)}
    values = {n: Table(b.location, anew.layouts[n].axes) for n, b in points.items()}
    kept = {n: table for n, table in references.items() if n not in points}
    factors = {
        name: measured_from(kept, [_with_values(f, values) for f in parts], anew.layouts)
        for name, parts in anew.factors.items()
    }
    return Scene(anew._replace(factors=factors), owners, belief, labels)


def moved_references(
    result: Any, names: Iterable[str], layouts: Mapping[str, Layout]
) -> dict[str, Table]:
    """Return what variables are measured from, over the axes of another binding."""
    found = {}
    for name in names:
        if name in result.approximation.references:
            values, labels = result.approximation.references[name]
            old = result.approximation.bound.layouts[name].axes
            new = dict(zip(old, layouts[name].axes, strict=True))
            found[name] = Table(values, tuple(new[a] for a in labels))
    return found


def _with_values(factor: BoundFactor, values: Mapping[str, Table]) -> BoundFactor:
    if not values:
        return factor
    parameters = {key: substitute(poly, values) for key, poly in factor.parameters.items()}
    return factor._replace(parameters=parameters)
