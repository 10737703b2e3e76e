"""What a prediction under independent beliefs looks at: factors, and the nodes that answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from posteriori.distributions.composites.point_mass import PointMass
from posteriori.modeling.binding.bound import BoundFactor, Layout
from posteriori.modeling.binding.labelled import Table, substitute
from posteriori.modeling.contract.linear_forms import Owners, SeenMoments
from posteriori.modeling.contract.requests import Anew, Request, bind_anew
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.variational.densities.references import measured_from

__all__ = ["Scene", "believed", "make_scene", "set_scene"]


class Scene(NamedTuple):
    """Variables bound anew, with the beliefs of those that are not new.

    Attributes
    ----------
    anew : Anew
        Means are measured from the references of the nodes.
    owners : mapping
        What answers for each solved variable.
    belief : callable
        The marginal of a solved variable, by name.
    labels : mapping
        Names of categories.
    """

    anew: Anew
    owners: Owners
    belief: Callable[[str], Any]
    labels: Mapping[str, Any]


def make_scene(solved: Solved, request: Request) -> Scene:
    """Bind what a request needs; what is not new has the beliefs of the posterior."""
    anew = bind_anew(solved, request)
    kept = anew.layouts.keys() & solved.by_name.keys() - request.new
    owners, references = believed(solved, kept, anew.layouts)
    return set_scene(anew, owners, solved.believed, solved.bound.labels, references)


def set_scene(
    anew: Anew,
    owners: Owners,
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


def believed(
    solved: Solved, names: Iterable[str], layouts: Mapping[str, Layout]
) -> tuple[dict[str, SeenMoments], dict[str, Table]]:
    """Return what answers for solved variables, and what their means are measured from.

    Normal variables are left out whose spread is unknown and solved together with them.
    """
    owners: dict[str, SeenMoments] = {}
    references: dict[str, Table] = {}
    for name in names:
        result = solved.by_name[name]
        if not result.spread:
            owners |= result.answers([name])
            references |= result.references(name, layouts)
    return owners, references


def _with_values(factor: BoundFactor, values: Mapping[str, Table]) -> BoundFactor:
    if not values:
        return factor
    parameters = {key: substitute(poly, values) for key, poly in factor.parameters.items()}
    return factor._replace(parameters=parameters)
