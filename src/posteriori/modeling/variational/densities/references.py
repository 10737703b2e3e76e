"""Numbers far from 0: unknown locations are measured from a reference near the data.

A square such as (x − m)² loses all digits when it is expanded at 10⁸. With m = r + m̃ and x − r taken
first, everything that is expanded is of the size of the residuals. Numbers that floating point cannot
hold even so, too large or too far from their prior, are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from posteriori.modeling.binding.bound import (
    GAUSSIAN,
    Bound,
    BoundFactor,
    Layout,
    child_term,
    gap_name,
)
from posteriori.modeling.binding.labelled import (
    Access,
    Axis,
    Polynomial,
    Switch,
    Table,
    Term,
    count_of,
    labels_of,
    multiply_tables,
    seen,
    shape_of,
    spread,
)
from posteriori.modeling.forms.normal_rows import known_variance, spread_of
from posteriori.numerics.rank import ROUNDING
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_squares

__all__ = ["find_references", "measured_from", "with_holes"]

#: Data whose mean is this many standard deviations away from 0 get a reference.
_FAR = 30.0

#: Rows from which weights of known columns are estimated.
_ROWS = 4096

#: Products of squares of larger numbers overflow.
_LARGEST = 1e100

#: Standard deviations between a prior and its data: a square of 10¹⁴ leaves two digits of a nat.
_FARTHEST = 1e7


def find_references(factors: Sequence[BoundFactor], bound: Bound) -> dict[str, Table]:
    """Return a reference for each normal variable that is the location of data far from 0.

    Raises
    ------
    ValueError
        When numbers are so large, or priors so far from the data, that squares keep no digits.
    """
    found: dict[str, Table] = {}
    for factor in reversed(factors):
        if factor.family not in GAUSSIAN:
            continue
        _require_moderate(factor, bound)
        gaps = gap_name(factor.name)
        if gaps in bound.layouts and gaps not in found:
            data = with_holes(factor, bound)
            if _is_far(data):
                found[gaps] = Table(np.asarray(np.nanmean(data.values)), ())
        target = _target(factor, bound, found)
        if target is None:
            continue
        levels = _levels(factor, factors, target, bound, found)
        if _is_far(target) or factor.name in found:
            found = levels | found
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
    """Return what the unknown part of a mean must be near to, if data tell."""
    if factor.name in bound.observed:
        table = _without_known(factor, with_holes(factor, bound))
        return table if np.isfinite(table.values).any() else None
    reference = found.get(factor.name)
    if reference is None:
        return None
    axes = bound.layouts[factor.name].axes
    return _without_known(factor, seen(reference, axes, factor.places))


def _levels(
    factor: BoundFactor,
    factors: Sequence[BoundFactor],
    target: Table,
    bound: Bound,
    found: Mapping[str, Table],
) -> dict[str, Table]:
    """Return where a target puts the variable that it consists of; refuse priors too far from it."""
    access = _location(factor, factors, bound, float(np.nanmean(target.values)))
    if access is not None:
        levels = {access.name: _average(target, access, bound.layouts[access.name])}
    elif _is_far(target) or factor.name in found:
        levels = _fitted(factor, target, bound, found)
    else:
        return {}
    if sum(bool(accesses) for _, accesses in factor.parameters["mean"].terms) == 1:
        _require_near(levels, partial(_width, target, access, levels, bound), factors, bound)
    return levels


def _width(
    target: Table, access: Access | None, levels: Mapping[str, Table], bound: Bound
) -> float:
    """Return how far a target may be from its level without being far."""
    left = target.values
    if access is not None:
        axes = bound.layouts[access.name].axes
        left = left - spread(seen(levels[access.name], axes, access.places), target.axes)
    return _FAR * float(np.nanstd(left))


def _is_far(table: Table) -> bool:
    there = table.values[np.isfinite(table.values)]
    return bool(there.size and abs(there.mean()) > _FAR * there.std())


def _without_known(factor: BoundFactor, table: Table) -> Table:
    """Subtract the known part of the mean."""
    known = [t for t, accesses in factor.parameters["mean"].terms if not accesses]
    here = {a for t in (table, *known) for a in t.axes}
    labels = tuple(a for a in (*factor.rows, *factor.events) if a in here)
    values = spread(table, labels)
    for t in known:
        values = values - spread(t, labels)
    return Table(values, labels)


def with_holes(factor: BoundFactor, bound: Bound) -> Table:
    """Return the data of a factor, NaN where the numbers are unknowns of their own."""
    table = child_term(factor, bound).table
    own = [
        mask
        for mask, accesses in factor.parameters["mean"].terms
        if [a.name for a in accesses] == [gap_name(factor.name)]
    ]
    if not own:
        return table
    missing = spread(own[-1], table.axes) != 0.0  # the child's own gaps are added last
    return Table(np.where(missing, np.nan, table.values), table.axes)


def _location(
    factor: BoundFactor, factors: Sequence[BoundFactor], bound: Bound, target: float
) -> Access | None:
    """Return the normal variable that a mean consists of, up to terms that are nearer to 0."""
    candidates = []
    for table, accesses in factor.parameters["mean"].terms:
        others = [a for a in accesses if not isinstance(a, Switch)]
        if len(others) == 1 and not table.axes and table.values == 1.0:
            (access,) = others
            if isinstance(access, Access) and bound.families[access.name] in GAUSSIAN:
                candidates.append(access)
    return min(candidates, key=lambda a: _distance(a.name, factors, target), default=None)


def _distance(name: str, factors: Sequence[BoundFactor], target: float) -> float:
    """Return how far from the data a variable is expected, as far as that is known."""
    means = [f.parameters["mean"] for f in factors if f.name == name]
    known = [float(np.mean(poly.value())) for poly in means if poly.is_known]
    return min((abs(value - target) for value in known), default=0.0)


def _average(target: Table, access: Access, layout: Layout) -> Table:
    """Average over everything but the integer and event axes of the variable."""
    kept = _told_apart(target, access, layout)
    gone = tuple(i for i, axis in enumerate(target.axes) if axis not in kept)
    there = np.isfinite(target.values)
    total = np.where(there, target.values, 0.0).sum(axis=gone)
    count = there.sum(axis=gone)
    middle = np.nanmean(target.values)  # for members without data
    values = np.where(count > 0, total / np.maximum(count, 1), middle)
    return Table(values, tuple(kept[a] for a in target.axes if a in kept))


def _told_apart(target: Table, access: Access, layout: Layout) -> dict[Axis, Axis]:
    """Return the integer and event axes of a variable that labels of a target tell apart."""
    return {
        place: axis
        for axis, place in zip(layout.axes, access.places, strict=True)
        if axis not in layout.plates and isinstance(place, Axis) and place in target.axes
    }


# -- weights of known columns ----------------------------------------------------------------


def _fitted(
    factor: BoundFactor, target: Table, bound: Bound, found: Mapping[str, Table]
) -> dict[str, Table]:
    """Return weights whose products with what is known are near to the target.

    In ``X @ w`` a column of ones makes its weight a level: all weights are measured from the least
    squares, found from some of the rows.
    """
    for table, accesses in factor.parameters["mean"].terms:
        others = [a for a in accesses if not isinstance(a, Switch)]
        if len(others) != 1 or not isinstance(others[0], Access) or others[0].name in found:
            continue
        (access,) = others
        layout = bound.layouts[access.name]
        rows = (*factor.rows, *factor.events)
        columns = {
            place: axis
            for axis, place in zip(layout.axes, access.places, strict=True)
            if isinstance(place, Axis) and place in table.axes and place not in rows
        }
        known = all(a in rows or a in columns for a in table.axes)
        if bound.families[access.name] in GAUSSIAN and known:
            weights = _least_squares(target, table, access, layout, columns)
            if weights is not None:
                return {access.name: weights}
    return {}


def _least_squares(
    target: Table, table: Table, access: Access, layout: Layout, columns: Mapping[Axis, Axis]
) -> Table | None:
    """Return weights over the columns, for each integer and event axis that rows tell apart."""
    apart = _told_apart(target, access, layout)
    rest = tuple(a for a in target.axes if a not in apart)
    labels, cells = (*apart, *rest), count_of(apart)
    y = spread(target, labels).reshape(cells, -1)
    x = table.over((*labels, *columns)).reshape(cells, y.shape[1], -1)
    some = slice(None, None, max(1, y.shape[1] // _ROWS))
    weights = np.stack([_solved(b[some], a[some]) for a, b in zip(y, x, strict=True)])
    left = y - np.einsum("cnk,ck->cn", x, weights)
    if not np.nansum(left**2) < 1e-2 * np.nansum(y**2):
        return None
    axes = (*apart.values(), *columns.values())
    return Table(weights.reshape(shape_of(axes)), axes)


def _solved(x: Any, y: Any) -> Any:
    there = np.isfinite(y)
    return np.linalg.lstsq(x[there], y[there], rcond=ROUNDING)[0]


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
    wanted = set(labels).union(labels_of(*accesses))
    return Term(multiply_tables(table, values, wanted), tuple(accesses))


# -- refusing --------------------------------------------------------------------------------


def _require_moderate(factor: BoundFactor, bound: Bound) -> None:
    """Refuse data and known means whose squares overflow."""
    if factor.name in bound.observed:
        require_squares(f"the data of {factor.name}", bound.observed[factor.name], _LARGEST)
    for table, accesses in factor.parameters["mean"].terms:
        if not accesses:
            require_squares(f"the known mean of {factor.name}", table.values, _LARGEST)


def _require_near(
    levels: Mapping[str, Table],
    width: Callable[[], float],
    factors: Sequence[BoundFactor],
    bound: Bound,
) -> None:
    """Refuse known priors so far from where the data are that nothing can be told from rounding.

    Parameters
    ----------
    levels : mapping to Table
        Where the data put variables.
    width : callable
        Returns how far the data themselves reach.
    factors, bound
    """
    for factor in factors:
        if factor.name not in levels or factor.family not in GAUSSIAN:
            continue
        if not all(poly.is_known for poly in factor.parameters.values()):
            continue
        labels = (*factor.rows, *factor.events)
        data = spread(levels[factor.name], bound.layouts[factor.name].axes)
        if data.ndim != len(labels):  # the first member of a chain
            continue
        center, deviation = factor.parameters["mean"].value(), _known_deviation(factor)
        away = np.abs(data - center)
        distance = away / deviation
        worst = np.unravel_index(np.argmax(distance), distance.shape)
        if distance[worst] > _FARTHEST and away[worst] > width():
            mean, scale, where = (
                np.broadcast_to(a, distance.shape)[worst] for a in (center, deviation, data)
            )
            raise ValueError(
                f"the prior of {factor.name} expects {mean:.4g} ± {scale:.2g} but the data put it near "
                f"{where:.4g}, {distance[worst]:.1g} standard deviations away: rounding errors would "
                "decide; give it a wider prior, or check the units of the data"
            )


def _known_deviation(factor: BoundFactor) -> Array:
    """Return the standard deviation of each number of a normal factor whose noise is known."""
    variance = known_variance(factor)
    if factor.events:
        variance = np.diagonal(variance, axis1=-2, axis2=-1)
    if np.any(variance <= 0):
        raise ValueError(f"{spread_of(factor)[0]} of {factor.name} must be positive")
    return np.sqrt(variance)
