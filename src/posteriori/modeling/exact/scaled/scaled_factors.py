r"""Normal factors whose noise is a known multiple of one unknown precision or variance.

The unknown is a number τ that scales any noise, :math:`\tau\Lambda_i` with known
:math:`\Lambda_i`, or a matrix Λ that scales by numbers, :math:`w_i\Lambda`. Under a matrix the
entries of a vector may meet only in the noise: means are sums of whole vectors times numbers.
Then all entries are alike at :math:`\Lambda = I`, and each is a normal variable of its own.
Observed log-normal variables are normal in their logarithms, with density :math:`N(\ln y)/y`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.numbers.log_normal import LogNormal
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.inverse_wishart import InverseWishart
from posteriori.distributions.vectors.wishart import Wishart
from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor, Layout, child_term
from posteriori.modeling.binding.labelled import (
    Access,
    Axis,
    Polynomial,
    Table,
    Term,
    labels_of,
    shape_of,
    spread,
    substitute,
)
from posteriori.modeling.binding.places import member_index, same_places
from posteriori.modeling.contract.engine import Fit, Group

__all__ = [
    "MATRICES",
    "PRECISIONS",
    "SPREADS",
    "at_unit",
    "at_unit_precision",
    "entries_apart",
    "find_common_precision",
    "fits_common_precision",
    "is_there",
    "places_of_spread",
    "take_logarithms",
]

#: Which parameters of normal factors a family is the common part of.
SPREADS: dict[Any, tuple[str, ...]] = {
    Gamma: ("precision",),
    InverseGamma: ("variance", "cov"),
    Wishart: ("precision",),
    InverseWishart: ("cov",),
}
MATRICES = (Wishart, InverseWishart)
PRECISIONS = (Gamma, Wishart)


def fits_common_precision(group: Group) -> Fit:
    """Tell whether one unknown precision or variance scales the noise of every normal factor."""
    spread = find_common_precision(group.bound, group.names, group.factors)
    return Fit(spread is not None, spread)


def find_common_precision(
    bound: Bound, names: Sequence[str], factors: Sequence[BoundFactor]
) -> str | None:
    """Return the one unknown precision or variance that every normal factor is scaled by."""
    spreads = [n for n in names if bound.families[n] in SPREADS]
    if len(spreads) != 1:
        return None
    (name,) = spreads
    priors = [f for f in factors if f.name == name]
    if len(priors) != 1 or not all(p.is_known for p in priors[0].parameters.values()):
        return None
    others = [
        f._replace(family=Normal) if f.family is LogNormal and f.name in bound.observed else f
        for f in factors
        if f.name != name
    ]
    family = bound.families[name]
    if not all(_is_scaled(factor, name, family) for factor in others):
        return None
    gaps = set(names) - {f.name for f in factors}
    if bound.layouts[name].lead and gaps:
        return None
    if bound.layouts[name].lead and not _is_separate(bound, name, others):
        return None
    return name


def at_unit_precision(
    factor: BoundFactor,
    spread: str,
    family: Any,
    owners: Mapping[str, Any],
    layouts: Mapping[str, Layout],
) -> BoundFactor:
    """Return a factor with the common precision set to 1; refuse where it is not scaled by it."""
    if not _is_scaled(factor, spread, family):
        raise TypeError(
            f"{factor.name} has no closed-form predictive: its noise is not a multiple of {spread}"
        )
    tables = {n: _owner_table(places, layouts[n]) for n, places in owners.items() if n in layouts}
    if not _keeps_to_itself(factor, tables, spread, layouts[spread]):
        raise TypeError(
            f"{factor.name} has no closed-form predictive: it mixes members of {spread}"
        )
    return at_unit(factor, spread, family)


def at_unit(factor: BoundFactor, name: str, family: Any, tau: float = 1.0) -> BoundFactor:
    """Set the common precision to a number, or a common matrix to that number times I."""
    parameters = {}
    for key, poly in factor.parameters.items():
        value = tau if key == "precision" else 1.0 / tau
        terms = tuple(
            Term(Table(value * t.table.values, t.table.axes))
            if any(a.name == name for a in t.accesses)
            else t
            for t in poly.terms
        )
        parameters[key] = poly._replace(terms=terms)
    if family not in MATRICES:
        return factor._replace(parameters=parameters)
    rows = factor.rows + factor.events
    key = "precision" if "precision" in parameters else "variance"
    noise = parameters["precision" if key == "precision" else "cov"]
    apart = {"mean": parameters["mean"], key: Polynomial(noise.terms, (), rows)}
    return factor._replace(family=Normal, parameters=apart, rows=rows, events=())


def entries_apart(
    layouts: Mapping[str, Layout], factors: Iterable[BoundFactor]
) -> dict[str, Layout]:
    """Return the layouts in which the entries of the vectors are variables of their own."""
    apart = {}
    for factor in factors:
        plates, ints, events = layouts[factor.name]
        apart[factor.name] = Layout(plates, ints + events, ())
    return {**layouts, **apart}


def take_logarithms(
    bound: Bound, factors: Sequence[BoundFactor]
) -> tuple[Bound, list[BoundFactor], dict[str, float]]:
    """Return observed log-normal factors as normal ones of ln y, and −Σ ln y of each."""
    observed, found, heights = dict(bound.observed), [], {}
    for factor in factors:
        if factor.family is LogNormal:
            y = bound.observed[factor.name]
            if np.any(y <= 0):
                where = tuple(np.argwhere(y <= 0)[0])
                raise ValueError(
                    f"{factor.name} is log-normal and must be positive, "
                    f"got {y[where]:g} in row {where[0] if where else 0}"
                )
            observed[factor.name] = logs = np.log(y)
            heights[factor.name] = -float(np.nansum(logs))
            factor = factor._replace(family=Normal)
        found.append(factor)
    return bound._replace(observed=observed), found, heights


def places_of_spread(factor: BoundFactor, name: str, layout: Layout) -> Any:
    """Return which member of the spread each row of a factor has, (*rows)."""
    access = next(a for a in factor.accesses if a.name == name)
    places = access.places[: len(layout.lead)]
    return member_index(places, layout.lead, factor.rows).reshape(shape_of(factor.rows))


def is_there(factor: BoundFactor, bound: Bound) -> Any:
    """Mark the numbers of a child that are not missing."""
    labels = factor.rows + factor.events
    if factor.name not in bound.observed:
        return np.ones(shape_of(labels), dtype=bool)
    return ~np.isnan(child_term(factor, bound).table.over(labels))


# -- what is scaled --------------------------------------------------------------------------


def _is_scaled(factor: BoundFactor, name: str, family: Any) -> bool:
    """Tell whether a factor is normal, affine in its mean, with a known multiple of the spread."""
    keys = SPREADS[family]
    if factor.family not in GAUSSIAN or not set(keys) & set(factor.parameters):
        return False
    matrix = family in MATRICES
    for key, poly in factor.parameters.items():
        if key in keys:
            if not _is_multiple(poly, factor, name, matrix):
                return False
        elif not all(
            _is_affine(t.accesses, name) and (not matrix or _keeps_entries(t, factor))
            for t in poly.terms
        ):
            return False
    return True


def _is_multiple(poly: Polynomial, factor: BoundFactor, name: str, matrix: bool) -> bool:
    """Tell whether every term is a known multiple of the same members of the spread."""
    accesses = [t.accesses for t in poly.terms]
    if not all(len(a) == 1 and a[0].name == name and isinstance(a[0], Access) for a in accesses):
        return False
    first = accesses[0][0]
    rows = set(factor.rows)
    cut = len(first.places) - (2 if matrix else 0)
    if not labels_of(first._replace(places=first.places[:cut])) <= rows:
        return False
    if matrix and (
        first.places[cut:] != poly.axes[-2:]
        or not all(set(t.table.axes) <= rows for t in poly.terms)
    ):
        return False
    return all(same_places(first.places, a.places) for (a,) in accesses)


def _keeps_entries(term: Term, factor: BoundFactor) -> bool:
    """Tell whether a term of a mean is known, or whole vectors times numbers."""
    if not term.accesses:
        return True
    (access,) = term.accesses
    labels = labels_of(access._replace(places=access.places[:-1]))
    return (
        access.places[-1:] == factor.events
        and set(term.table.axes) <= set(factor.rows)
        and labels <= set(factor.rows)
    )


def _is_affine(accesses: tuple[Any, ...], name: str) -> bool:
    return len(accesses) < 2 and all(isinstance(a, Access) and a.name != name for a in accesses)


# -- whose noise -----------------------------------------------------------------------------


def _is_separate(bound: Bound, name: str, factors: Sequence[BoundFactor]) -> bool:
    """Tell whether each normal variable belongs to one member of the spread throughout."""
    layout = bound.layouts[name]
    regroups = bound.families[name] not in MATRICES
    owners: dict[str, Table] = {}
    for factor in factors:
        if factor.name in bound.observed:
            if regroups and factor.events and np.isnan(bound.observed[factor.name]).any():
                return False  # rows are regrouped by what they miss
            continue
        axes = bound.layouts[factor.name].axes
        if factor.name in owners or factor.places != axes:
            return False  # chains
        places = places_of_spread(factor, name, layout)
        owners[factor.name] = _owner_table(places, bound.layouts[factor.name])
    return all(_keeps_to_itself(factor, owners, name, layout) for factor in factors)


def _owner_table(places: Any, layout: Layout) -> Table:
    """Label the owners of a variable's members by its axes."""
    wide = np.reshape(places, np.shape(places) + (1,) * len(layout.events))
    return Table(np.broadcast_to(wide, layout.shape).astype(np.float64), layout.axes)


def _keeps_to_itself(
    factor: BoundFactor, owners: Mapping[str, Table], name: str, layout: Layout
) -> bool:
    if not layout.lead:
        return True
    mine = Table(places_of_spread(factor, name, layout), factor.rows)
    for term in factor.parameters["mean"].terms:
        for access in term.accesses:
            labels = _ordered_labels(access, factor.rows)
            seen = Polynomial((Term(Table(np.asarray(1.0), ()), (access,)),), (), labels)
            (found,) = substitute(seen, owners).terms
            if not np.all(spread(found.table, labels) == spread(mine, labels)):
                return False
    return True


def _ordered_labels(access: Access, rows: tuple[Axis, ...]) -> tuple[Axis, ...]:
    return (*rows, *(a for a in labels_of(access) if a not in rows))
