"""Factors behind unknown indices: one component for each state, on labels of their own."""

from __future__ import annotations

from typing import NamedTuple

from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.labelled import Axis, Polynomial, Switch, Term, labels_of, relabel
from posteriori.modeling.binding.products import same_switch

__all__ = ["Opened", "open_gates"]


class Opened(NamedTuple):
    """A factor whose rows are counted for each state of the variables that it depends on.

    Attributes
    ----------
    factor : BoundFactor
        Without switches; the labels of the states follow its rows.
    switches : tuple of Switch
        What each of these labels is a state of.
    """

    factor: BoundFactor
    switches: tuple[Switch, ...]


def open_gates(factor: BoundFactor) -> Opened:
    """Turn the states of all indices into labels of the rows."""
    switches: list[Switch] = []
    new: dict[Axis, Axis] = {}
    for poly in factor.parameters.values():
        for term in poly.terms:
            for access in term.accesses:
                if not isinstance(access, Switch) or access.state in new:
                    continue
                if not labels_of(access) - {access.state} <= set(factor.rows):
                    raise TypeError(
                        f"one {factor.name} depends on a whole row of {access.name} at once, which "
                        "has no closed-form predictive"
                    )
                twin = next((s for s in switches if same_switch(s, access)), None)
                if twin is None:
                    switches.append(access)
                    twin = access
                new[access.state] = twin.state
    states = tuple(s.state for s in switches)
    parameters = {}
    for key, poly in factor.parameters.items():
        cut = len(poly.axes) - factor.family._parameters[key]
        terms = tuple(_without_switches(t) for t in relabel(poly.terms, new))
        axes = (*poly.axes[:cut], *states, *poly.axes[cut:])
        parameters[key] = Polynomial(terms, poly.plates, axes)
    opened = factor._replace(parameters=parameters, rows=(*factor.rows, *states))
    return Opened(opened, tuple(switches))


def _without_switches(term: Term) -> Term:
    return term._replace(accesses=tuple(a for a in term.accesses if not isinstance(a, Switch)))
