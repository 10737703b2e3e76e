"""Parts that could change places: integrals would average over all of their orders.

Classes of a mixture are told apart where one of them does not see an unknown at all, as in
``take([0, m.p], m.z)``, where the priors of their parameters lie apart, or where data have another
known parameter in each, as in ``take([-1, 1], m.z)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.modeling.binding.bound import GAUSSIAN, gap_name
from posteriori.modeling.binding.labelled import Axis, Lookup, Switch, Term
from posteriori.modeling.contract.engine import Group
from posteriori.modeling.nested.states import States
from posteriori.modeling.nested.unbounded import Free
from posteriori.numerics.types import Array

__all__ = ["are_exchangeable", "chosen_from", "classes_alike"]

#: Priors lie apart where the lower ends of one are above the upper ends of the other.
_LOWER, _UPPER = 0.05, 0.95
#: The upper end of a standard normal prior.
_UPPER_NORMAL = 1.6449


class _Part(NamedTuple):
    """An unknown parameter of a class: its family, and where its prior says that it lies."""

    family: Any
    low: float
    high: float

    def is_like(self, other: _Part) -> bool:
        apart = self.low > other.high or other.low > self.high
        return self.family is other.family and not apart


def are_exchangeable(items: Mapping[str, Free | States], group: Group) -> bool:
    """Tell whether classes, or signs of factors, could change places without a change of the model.

    Parameters
    ----------
    items : mapping
        Unknowns that would be integrated or summed over.
    group : Group
        Of these, a normal one that multiplies an inner normal one has a sign of its own, unless
        that is the previous member of a chain; those that an inner discrete variable chooses from
        are parameters of classes.
    """
    return _has_signs(items, group) or bool(classes_alike(items, group))


def classes_alike(items: Mapping[str, Free | States], group: Group) -> list[str]:
    """Return inner discrete variables of which two classes see unknowns that are alike."""
    names = sorted({switch.name for _, switch in chosen_from(items, group)})
    return [name for name in names if _has_classes_alike(name, items, group)]


def chosen_from(
    items: Mapping[str, Free | States], group: Group
) -> Iterator[tuple[list[Any], Switch]]:
    """Yield unknowns, as they are read together, and inner discrete variables that choose there."""
    for term in _terms(group):
        free = _free(term, items)
        for access in term.accesses:
            if free and isinstance(access, Switch) and access.name not in items:
                yield free, access


def _terms(group: Group) -> Iterator[Term]:
    return (term for factor in group.factors for term in factor.terms)


def _free(term: Term, items: Mapping[str, Free | States]) -> list[Any]:
    return [a for a in term.accesses if isinstance(items.get(a.name), Free)]


def _has_signs(items: Mapping[str, Free | States], group: Group) -> bool:
    families = group.bound.families
    for term in _terms(group):
        normal = {a.name for a in term.accesses if families[a.name] in GAUSSIAN}
        inner = normal - items.keys()
        if normal & items.keys() and not all(_follows_itself(n, group) for n in inner):
            return True
    return False


def _follows_itself(name: str, group: Group) -> bool:
    """Tell whether a variable is a chain, or the gaps of one."""
    variables = group.bound.variables
    return any(v.step is not None for n, v in variables.items() if name in (n, gap_name(n)))


def _has_classes_alike(name: str, items: Mapping[str, Free | States], group: Group) -> bool:
    """Tell whether two classes see unknowns that are alike, wherever they are seen."""
    known = {f.name for f in group.factors if all(p.is_known for p in f.parameters.values())}
    seen: list[list[list[_Part]]] = []
    for factor in group.factors:
        for poly in factor.parameters.values():
            chosen = [
                (term, switch.state)
                for term in poly.terms
                for switch in term.accesses
                if isinstance(switch, Switch) and switch.name == name and _free(term, items)
            ]
            if chosen:
                states = range(chosen[0][1].size)
                seen.append([_parts(chosen, k, items, known) for k in states])
    return any(
        all(_are_alike(classes[i], classes[j]) for classes in seen)
        and not any(_differs(term, name, i, j) for term in _known_terms(group))
        for i, j in combinations(range(len(seen[0])), 2)
    )


def _known_terms(group: Group) -> Iterator[Term]:
    """Yield known numbers that states choose from, of parameters that see no unknown number."""
    for factor in group.factors:
        if factor.name not in group.bound.observed:
            continue
        for poly in factor.parameters.values():
            if all(isinstance(a, Switch) for term in poly.terms for a in term.accesses):
                yield from poly.terms


def _differs(term: Term, name: str, i: int, j: int) -> bool:
    """Tell whether two classes choose other known numbers."""
    values, axes = term.table
    states = [a.state for a in term.accesses if a.name == name and a.state in axes]
    return any(
        not np.array_equal(*(values.take(k, axis=axes.index(state)) for k in (i, j)))
        for state in states
    )


def _parts(
    chosen: Sequence[tuple[Term, Axis]], k: int, items: Mapping[str, Any], known: set[str]
) -> list[_Part]:
    """Return the unknowns that class k sees."""
    found = []
    for term, state in chosen:
        values, axes = term.table
        if state in axes and not np.any(values.take(k, axis=axes.index(state))):
            continue
        for access in _free(term, items):
            item = items[access.name]
            ends = _ends(item) if access.name in known else (-np.inf, np.inf)
            members = (_at(end, item.shape, access.places, state, k) for end in ends)
            low, high = (np.min(next(members)), np.max(next(members)))
            found.append(_Part(type(item.prior), float(low), float(high)))
    return found


def _ends(item: Free) -> tuple[Any, Any]:
    """Return where the prior of each number begins and ends."""
    if item.is_simplex:  # rows and columns of moves change places together
        return -np.inf, np.inf
    if item.is_ordered:
        return np.arange(item.size), np.arange(item.size)
    prior = item.prior
    if isinstance(prior, MvNormal):
        return prior.mean - _UPPER_NORMAL * prior.std, prior.mean + _UPPER_NORMAL * prior.std
    return prior.quantile(_LOWER), prior.quantile(_UPPER)


def _at(end: Any, shape: tuple[int, ...], places: Sequence[Any], state: Axis, k: int) -> Array:
    """Return the numbers of the members that class k reads."""
    values = np.broadcast_to(end, shape)
    for axis, place in enumerate(places):
        if place is state:
            values = values.take([k], axis=axis)
        elif isinstance(place, Lookup) and state in place.labels:
            where = place.positions.values.take(k, axis=place.labels.index(state))
            values = values.take(np.unique(where), axis=axis)
    return values


def _are_alike(first: Sequence[_Part], second: Sequence[_Part]) -> bool:
    return len(first) == len(second) and all(
        any(a.is_like(b) for b in theirs)
        for own, theirs in ((first, second), (second, first))
        for a in own
    )
