"""Copies of discrete variables for their new members, which join the block that was solved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.binding.labelled import Axis, Lookup, Term, relabel
from posteriori.modeling.contract.requests import Anew, Request

__all__ = ["Copies", "copy_new_members"]

#: A name that nobody can give to a variable.
_COPY = "copy of {}"


class Copies(NamedTuple):
    """New members of variables under names of their own.

    Attributes
    ----------
    bound : Bound
        The model with the copies.
    factors : mapping to lists of BoundFactor
        Of each variable that was copied, over its copy.
    joined : set of str
        The copies, and the variables of the data that they depend on.
    """

    bound: Bound
    factors: Mapping[str, list[BoundFactor]]
    joined: set[str]

    def name_of(self, name: str) -> str:
        """Return what the copy of a variable is called."""
        return _COPY.format(name)


def copy_new_members(bound: Bound, request: Request, anew: Anew) -> Copies:
    """Copy a variable, and those that it depends on of which the data say nothing."""
    above = anew.above(request.name)
    copied = (above & anew.unsolved) | {request.name}
    old_axes = _axes_of_data(bound, anew, request)
    factors = {n: [_copy(f, copied, old_axes) for f in anew.factors[n]] for n in copied}
    joined = (above - copied) | {_COPY.format(n) for n in copied}
    return Copies(_with_copies(bound, anew, copied, old_axes), factors, joined)


def _axes_of_data(bound: Bound, anew: Anew, request: Request) -> dict[Axis, Axis]:
    """Map axes that were bound anew to those of the data, where they have the same members."""
    plates = {axis.name: axis for layout in bound.layouts.values() for axis in layout.plates}
    found: dict[Axis, Axis] = {}
    for name, layout in anew.layouts.items():
        found |= {a: plates[a.name] for a in layout.plates if a.name not in request.sizes}
        if name not in request.new:
            found |= dict(zip(layout.axes, bound.layouts[name].axes, strict=True))
    return found


def _with_copies(bound: Bound, anew: Anew, copied: set[str], axes: Mapping[Axis, Axis]) -> Bound:
    names = {n: _COPY.format(n) for n in copied}
    layouts = {
        new: Layout(*(tuple(axes.get(a, a) for a in part) for part in anew.layouts[n]))
        for n, new in names.items()
    }
    return bound._replace(
        layouts={**bound.layouts, **layouts},
        families={**bound.families, **{new: bound.families[n] for n, new in names.items()}},
        labels={**bound.labels, **{new: bound.labels[n] for n, new in names.items()}},
    )


def _copy(factor: BoundFactor, copied: set[str], axes: Mapping[Axis, Axis]) -> BoundFactor:
    """Rename new variables, and label axes as the data do."""

    def renamed(term: Term) -> Term:
        accesses = tuple(
            a._replace(name=_COPY.format(a.name)) if a.name in copied else a for a in term.accesses
        )
        return term._replace(accesses=accesses)

    def moved(labels: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(axes.get(a, a) for a in labels)

    parameters = {
        key: poly._replace(
            terms=tuple(renamed(term) for term in relabel(poly.terms, axes)),
            plates=moved(poly.plates),
            axes=moved(poly.axes),
        )
        for key, poly in factor.parameters.items()
    }
    places = tuple(
        Lookup(p.positions._replace(axes=moved(p.positions.axes)))
        if isinstance(p, Lookup)
        else axes.get(p, p)
        for p in factor.places
    )
    return BoundFactor(
        _COPY.format(factor.name),
        factor.family,
        parameters,
        moved(factor.rows),
        moved(factor.events),
        places,
    )
