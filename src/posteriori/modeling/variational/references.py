"""Numbers far from 0: unknown locations are measured from a reference near the data.

A square such as (x − m)² loses all digits when it is expanded at 10⁸. With m = r + m̃ and x − r taken
first, everything that is expanded is of the size of the residuals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.modeling.binding import Bound, BoundFactor, Layout
from posteriori.modeling.gaussian_rows import child_term
from posteriori.modeling.tables import (
    Access,
    Axis,
    Polynomial,
    Switch,
    Table,
    Term,
    labels_of,
    multiply_tables,
    spread,
)
from posteriori.modeling.variational.addressing import seen
from posteriori.modeling.variational.densities import GAUSSIAN

__all__ = ["find_references", "measured_from", "restored"]

#: Data whose mean is this many standard deviations away from 0 get a reference.
_FAR = 30.0


def find_references(factors: Sequence[BoundFactor], bound: Bound) -> dict[str, Table]:
    """Return a reference for each normal variable that is the location of data far from 0."""
    found: dict[str, Table] = {}
    for factor in reversed(factors):
        if factor.family not in GAUSSIAN:
            continue
        target = _target(factor, bound, found)
        access = _location(factor, bound)
        if target is None or access is None or access.name in found:
            continue
        found[access.name] = _average(target, access, bound.layouts[access.name])
    return found


def measured_from(
    references: Mapping[str, Table], factors: Iterable[BoundFactor], layouts: Mapping[str, Layout]
) -> list[BoundFactor]:
    """Rewrite factors so that variables with a reference stand for their distance from it."""
    if not references:
        return list(factors)
    return [_rewritten(factor, references, layouts) for factor in factors]


# -- finding ---------------------------------------------------------------------------------


def _target(factor: BoundFactor, bound: Bound, found: Mapping[str, Table]) -> Table | None:
    """Return what the mean of a factor must be near to: its data, or its child's reference."""
    if factor.name not in bound.observed:
        reference = found.get(factor.name)
        axes = bound.layouts[factor.name].axes
        return None if reference is None else seen(reference, axes, factor.places)
    table = child_term(factor, bound).table
    there = table.values[np.isfinite(table.values)]
    if not there.size or abs(there.mean()) <= _FAR * there.std():
        return None
    return table


def _location(factor: BoundFactor, bound: Bound) -> Access | None:
    """Return the normal variable that a mean consists of, up to other terms."""
    for table, accesses in factor.parameters["mean"].terms:
        others = [a for a in accesses if not isinstance(a, Switch)]
        if len(others) == 1 and not table.axes and table.values == 1.0:
            (access,) = others
            if isinstance(access, Access) and bound.families[access.name] in GAUSSIAN:
                return access
    return None


def _average(target: Table, access: Access, layout: Layout) -> Table:
    """Average over everything but the integer and event axes of the variable."""
    kept = {
        place: axis
        for axis, place in zip(layout.axes, access.places, strict=True)
        if axis not in layout.plates and isinstance(place, Axis) and place in target.axes
    }
    gone = tuple(i for i, axis in enumerate(target.axes) if axis not in kept)
    values = np.nanmean(target.values, axis=gone) if gone else target.values
    return Table(np.asarray(values), tuple(kept[a] for a in target.axes if a in kept))


# -- rewriting -------------------------------------------------------------------------------


def _rewritten(
    factor: BoundFactor, references: Mapping[str, Table], layouts: Mapping[str, Layout]
) -> BoundFactor:
    """Put r + x for every x with a reference: in the mean, and for the child on its other side."""
    if "mean" not in factor.parameters:
        return factor
    mean = factor.parameters["mean"]
    terms: list[Term] = list(mean.terms)
    for term in mean.terms:
        moved = [a for a in term.accesses if a.name in references and isinstance(a, Access)]
        if len(moved) == 1:
            (access,) = moved
            values = seen(references[access.name], layouts[access.name].axes, access.places)
            rest = tuple(a for a in term.accesses if a is not access)
            terms.append(_reduced(Term(term.table, rest), values, mean.labels))
    if factor.name in references:
        own = seen(references[factor.name], layouts[factor.name].axes, factor.places)
        terms.append(Term(Table(-own.values, own.axes)))
    parameters = {**factor.parameters, "mean": Polynomial(tuple(terms), mean.plates, mean.axes)}
    return factor._replace(parameters=parameters)


def _reduced(term: Term, values: Table, labels: tuple[Axis, ...]) -> Term:
    """Multiply a term by constants, without switches that these do not depend on."""
    table = term.table
    accesses = []
    for access in term.accesses:
        if isinstance(access, Switch) and access.state not in (*table.axes, *values.axes):
            others = [labels_of(a) for a in term.accesses if a is not access]
            if not any(access.state in found for found in others):
                continue
        accesses.append(access)
    wanted = set(labels).union(*(labels_of(a) for a in accesses))
    return Term(multiply_tables(table, values, wanted), tuple(accesses))


def restored(values: Any, reference: Table, axes: tuple[Axis, ...]) -> Any:
    """Return means over a variable's axes with its reference added."""
    return values + spread(reference, axes)
