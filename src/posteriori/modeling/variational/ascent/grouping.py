"""What is found out about a model before the ascent: which unknowns belong together, and how.

Which are believed in jointly, which lie on the plate of the data, which multiply one another, and
which have parts that could change places, unless priors tell these apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor
from posteriori.modeling.binding.labelled import Access, Axis, Switch, Table, Term
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.modeling.variational.ascent.linear_systems import LinearSystem, find_systems
from posteriori.modeling.variational.densities.monomials import Monomial
from posteriori.modeling.variational.nodes.normal_node import batch_axes, longest_vector
from posteriori.modeling.variational.nodes.sparse_numbers import SparseNumbers

__all__ = ["Bilinear", "Structure", "find_structure", "identified_by_priors"]

#: Normal vectors longer than this are not made by joining variables, unless few of their numbers meet.
LARGEST_JOINT = 2000


class Bilinear(NamedTuple):
    """Two normal variables that are multiplied and summed over one axis of each.

    Of the first there are ``vectors`` along that axis.
    """

    scores: str
    scores_axis: int
    loadings: str
    loadings_axis: int
    vectors: int


class Structure(NamedTuple):
    """How unknowns belong together.

    Attributes
    ----------
    groups : tuple of tuples of str
        Which are believed in jointly.
    plate : Axis or None
        The plate of the data: the largest that some group lies on with all its variables.
    local : tuple of tuples of str
        The groups on that plate.
    exchangeable : dict
        Variables whose parts could change places: "classes" or "factors".
    named : tuple of str
        Indices of unknown parameters whose priors are not the same for all classes.
    bilinears : tuple of Bilinear
    systems : tuple of LinearSystem
        Chains whose states are turned with their transition and all that multiplies them.
    """

    groups: tuple[tuple[str, ...], ...]
    plate: Axis | None
    local: tuple[tuple[str, ...], ...]
    exchangeable: dict[str, str]
    named: tuple[str, ...]
    bilinears: tuple[Bilinear, ...]
    systems: tuple[LinearSystem, ...]


def find_structure(
    bound: Bound,
    names: Sequence[str],
    factors: Sequence[BoundFactor],
    monomials: Sequence[Monomial],
    apart: Iterable[Iterable[str]] | str,
    groups: Sequence[tuple[str, ...]] | None = None,
) -> Structure:
    """Find out how unknowns belong together.

    Parameters
    ----------
    bound, names, factors, monomials
        The unknown variables and all that touches them.
    apart : iterable of sets of names, or "full"
        Within each, no two variables may be joined; by "full" none at all.
    groups : sequence of tuples of str, optional
        Where they are known.
    """
    if groups is None:
        foes = [names] if isinstance(apart, str) else apart
        groups = _group_variables(bound, names, factors, monomials, foes)
    plate = _data_plate(bound, groups)
    local = [g for g in groups if all(plate in bound.layouts[name].plates for name in g)]
    systems = find_systems(factors, bound)
    states = {system.states for system in systems}
    bilinears = _find_bilinears(factors, bound)
    exchangeable = _exchangeable_variables(bound, factors)
    return Structure(
        tuple(groups),
        plate,
        tuple(local),
        exchangeable,
        tuple(
            n
            for n, kind in exchangeable.items()
            if kind == "classes" and identified_by_priors(n, factors)
        ),
        tuple(pair for pair in bilinears if states.isdisjoint((pair.scores, pair.loadings))),
        tuple(systems),
    )


def _group_variables(
    bound: Bound,
    names: Sequence[str],
    factors: Sequence[BoundFactor],
    monomials: Sequence[Monomial],
    apart: Iterable[Iterable[str]],
) -> list[tuple[str, ...]]:
    """Return the groups, each of one kind: normal, discrete, or a single other variable.

    Normal variables that meet in a residual are joined unless they multiply one another;
    discrete ones that meet in a factor are joined.
    """
    rank = {name: i for i, name in enumerate(bound.layouts)}
    foes = _multiplied(bound, factors)
    for group in apart:
        members = list(group)
        foes |= {frozenset((a, b)) for a in members for b in members if a != b}
    groups: list[list[str]] = []
    sizes = {n: math.prod(bound.layouts[n].shape) for n in names}
    for name in sorted(names, key=lambda n: (sizes[n], rank[n])):
        kind = _kind(bound, name)
        if kind == "single":
            groups.append([name])
            continue
        friends = _meeting(name, factors, bound)
        near = [
            g
            for g in groups
            if _kind(bound, g[0]) == kind
            and friends & set(g)
            and not any(frozenset((name, other)) in foes for other in g)
        ]
        joined = [name]
        for group in near:
            trial = [*group, *joined]
            if any(frozenset((a, b)) in foes for a in group for b in joined):
                continue
            if kind == "normal" and not _fits(trial, bound, monomials):
                continue
            groups.remove(group)
            joined = trial
        groups.append(joined)
    return [tuple(sorted(g, key=rank.__getitem__)) for g in groups]


def _data_plate(bound: Bound, groups: Sequence[Sequence[str]]) -> Axis | None:
    """Return the largest named plate that some group lies on with all its variables."""
    found: dict[Axis, int] = {}
    for group in groups:
        plates = [set(bound.layouts[name].plates) for name in group]
        for axis in set.intersection(*plates):
            found[axis] = axis.size
    return max(found, key=lambda a: found[a]) if found else None


def _find_bilinears(factors: Sequence[BoundFactor], bound: Bound) -> list[Bilinear]:
    """Return the pairs whose product is summed over a common axis, the longer variable first."""
    found: dict[frozenset[str], Bilinear] = {}
    for factor in factors:
        if factor.family not in GAUSSIAN:
            continue
        for _, accesses in factor.parameters["mean"].terms:
            normal = [
                a for a in accesses if isinstance(a, Access) and bound.families[a.name] in GAUSSIAN
            ]
            if len(normal) != 2 or factor.name in {a.name for a in normal}:
                continue
            pair = _bilinear(normal, factor, bound)
            if pair is not None:
                found.setdefault(frozenset((pair.scores, pair.loadings)), pair)
    return list(found.values())


def _exchangeable_variables(bound: Bound, factors: Sequence[BoundFactor]) -> dict[str, str]:
    """Return the variables whose parts could change places: "classes" or "factors".

    These are indices of unknown parameters, and the longer one of normal variables that multiply.
    Each needs a start other than its prior, which tells none of its parts from the others.
    """
    found: dict[str, str] = {}
    for term in (term for factor in factors for term in factor.terms):
        switches = [a for a in term.accesses if isinstance(a, Switch)]
        if len(switches) < len(term.accesses):
            found |= {switch.name: "classes" for switch in switches}
        normal = [a.name for a in term.accesses if bound.families[a.name] in GAUSSIAN]
        if len(normal) > 1:
            longest = max(normal, key=lambda name: math.prod(bound.layouts[name].shape))
            found.setdefault(longest, "factors")
    return found


def _bilinear(normal: Sequence[Access], factor: BoundFactor, bound: Bound) -> Bilinear | None:
    shapes = bound.layouts
    a, b = sorted(normal, key=lambda x: -math.prod(shapes[x.name].shape))
    outer = {*factor.rows, *factor.events}
    for i, place in enumerate(a.places):
        if isinstance(place, Axis) and place not in outer and place in b.places:
            count = math.prod(n for j, n in enumerate(shapes[a.name].shape) if j != i)
            return Bilinear(a.name, i, b.name, b.places.index(place), count)
    return None


def _kind(bound: Bound, name: str) -> str:
    family = bound.families[name]
    return "normal" if family in GAUSSIAN else "discrete" if family in DISCRETE else "single"


def _multiplied(bound: Bound, factors: Sequence[BoundFactor]) -> set[frozenset[str]]:
    """Return pairs of normal variables that are factors of one product."""
    found = set()
    for factor in factors:
        for term in factor.terms:
            normal = [a.name for a in term.accesses if bound.families[a.name] in GAUSSIAN]
            if len(normal) != len(set(normal)):
                raise TypeError(
                    f"{factor.name} depends on a product of {normal[0]} with itself, "
                    "which is not normal; model it in another way"
                )
            found |= {frozenset((a, b)) for a in normal for b in normal if a != b}
    return found


def _meeting(name: str, factors: Sequence[BoundFactor], bound: Bound) -> set[str]:
    found: set[str] = set()
    for factor in factors:
        here = {factor.name} | {a.name for a in factor.accesses}
        if name in here:
            found |= here
    return {n for n in found if n not in bound.observed} - {name}


def _fits(names: Sequence[str], bound: Bound, monomials: Sequence[Monomial]) -> bool:
    """Tell whether a joint normal vector stays short, or few of its numbers meet."""
    apart = batch_axes(names, bound.layouts, monomials)
    if longest_vector(names, bound.layouts, apart) <= LARGEST_JOINT:
        return True
    touching = [m for m in monomials if any(a.name in names for a in m.accesses)]
    return SparseNumbers(names, bound.layouts, touching).fits


def identified_by_priors(name: str, factors: Sequence[BoundFactor]) -> bool:
    """Tell whether the classes of a discrete variable have other priors, or other known numbers.

    Parameters
    ----------
    name : str
        The discrete variable.
    factors : sequence of BoundFactor
    """
    chosen = [(f.name, term, switch) for f, term, switch in _choices(name, factors)]
    if any(child != name and _varies(term.table, switch.state) for child, term, switch in chosen):
        seen = {a.name for _, term, _ in chosen for a in term.accesses if a.name != name}
        alike = {_written(other, factors) for other in seen}
        if not seen or len(alike) > 1:  # a list of variables, or of numbers
            return True
    return any(
        _prior_varies(access.name, i, factors)
        for _, term, switch in chosen
        for access in term.accesses
        if not isinstance(access, Switch)
        for i, place in enumerate(access.places)
        if place is switch.state
    )


def _choices(
    name: str, factors: Sequence[BoundFactor]
) -> Iterator[tuple[BoundFactor, Term, Switch]]:
    """Yield where the variable chooses, and what."""
    for factor in factors:
        for term in factor.terms:
            for access in term.accesses:
                if isinstance(access, Switch) and access.name == name:
                    yield factor, term, access


def _varies(table: Table, axis: Axis) -> bool:
    """Tell whether a constant varies along a label."""
    if axis not in table.axes:
        return False
    along = np.moveaxis(table.values, table.axes.index(axis), 0)
    return bool(np.any(along != along[:1]))


def _prior_varies(name: str, axis: int, factors: Sequence[BoundFactor]) -> bool:
    """Tell whether a known number in the prior of a variable varies along one of its axes."""
    for factor in factors:
        if factor.name != name:
            continue
        place = factor.places[axis]
        if not isinstance(place, Axis) or any(_varies(t.table, place) for t in factor.terms):
            return True
    return False


def _written(name: str, factors: Sequence[BoundFactor]) -> Any:
    """Return the prior of a variable as far as it is known."""
    return tuple(
        (factor.family, key, term.table.values.tobytes(), tuple(a.name for a in term.accesses))
        for factor in factors
        if factor.name == name
        for key, poly in factor.parameters.items()
        for term in poly.terms
    )
