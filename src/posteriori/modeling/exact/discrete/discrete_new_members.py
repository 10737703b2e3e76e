"""New members of discrete variables, and of what depends on discrete variables only.

Copies of the new variables join the block that was solved: nothing below them is observed, so the
posterior of the others stays as it is, and the copies get what it says about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.binding.labelled import Axis, Lookup, Term, relabel
from posteriori.modeling.contract.requests import Anew, Request
from posteriori.modeling.exact.discrete.discrete_block import DiscreteResult
from posteriori.modeling.exact.discrete.discrete_prediction import (
    block_with,
    combined_probabilities,
    mixture_over_states,
)
from posteriori.modeling.forms.state_tables import DISCRETE, views_of

if TYPE_CHECKING:
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["discrete_new_members"]

#: A name that nobody can give to a variable.
_COPY = "copy of {}"


def discrete_new_members(posterior: Posterior, request: Request, anew: Anew) -> Any:
    """Return the predictive of a variable that depends on discrete ones only, else None."""
    name, bound = request.name, posterior._plan.bound
    above = anew.above(name)
    discrete = bound.families[name] in DISCRETE
    if not (above or discrete) or any(bound.families[n] not in DISCRETE for n in above):
        return None
    if any(not isinstance(posterior._results[n], DiscreteResult) for n in above - anew.unsolved):
        return None
    copied = (above & anew.unsolved) | {name}
    old_axes = _axes_of_data(bound, anew, request)
    wide = _with_copies(bound, anew, copied, old_axes)
    factors = {n: [_copy(f, copied, old_axes) for f in anew.factors[n]] for n in copied}
    joined = (above - copied) | {_COPY.format(n) for n in copied}
    if discrete:
        block = block_with(posterior, wide, joined, [f for fs in factors.values() for f in fs])
        return block.solve().marginal(_COPY.format(name))
    (own,) = factors.pop(name)
    more = [f for fs in factors.values() for f in fs]
    block = block_with(posterior, wide, joined - {own.name}, more)
    views = views_of(own, block.sizes)
    return mixture_over_states(own, views, combined_probabilities(block, wide, own, views))


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
