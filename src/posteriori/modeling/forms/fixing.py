"""A model some of whose unknowns are given values, without binding it anew: at one point, or many."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.binding.labelled import (
    Axis,
    Polynomial,
    Table,
    Term,
    look_up,
    substitute,
)
from posteriori.numerics.types import Array

__all__ = [
    "at_point",
    "fix",
    "fix_at_points",
    "fix_factors",
    "repeat_at_points",
    "repeat_layouts",
    "some_at_once",
    "with_points",
]


def fix(bound: Bound, values: Mapping[str, Array]) -> Bound:
    """Return the model with some unknowns observed."""
    factors = fix_factors(bound.factors, bound, values)
    return bound._replace(
        factors=factors,
        observed={**bound.observed, **values},
        given={**bound.given, **values},
    )


def fix_factors(
    factors: Collection[BoundFactor], bound: Bound, values: Mapping[str, Array]
) -> tuple[BoundFactor, ...]:
    """Return factors with the values of some unknowns in their parameters."""
    tables = {name: Table(value, bound.layouts[name].axes) for name, value in values.items()}
    return tuple(
        factor._replace(
            parameters={key: substitute(poly, tables) for key, poly in factor.parameters.items()}
        )
        if any(access.name in values for access in factor.accesses)
        else factor
        for factor in factors
    )


# -- many points: one more plate ---------------------------------------------------------------


def fix_at_points(
    factors: Collection[BoundFactor],
    layouts: Mapping[str, Layout],
    values: Mapping[str, Array],
    points: Axis,
) -> tuple[BoundFactor, ...]:
    """Return factors with values (K, ...) of some unknowns at K points.

    Factors that the values touch get the points as the first of their rows, the others stay as they
    are.
    """
    tables = {name: Table(value, (points, *layouts[name].axes)) for name, value in values.items()}
    return tuple(_at_all(factor, tables, points) for factor in factors)


def some_at_once(values: Mapping[str, Array], count: int) -> Iterator[dict[str, Array]]:
    """Yield the values at some points after another, ``count`` at most."""
    for start in range(0, len(next(iter(values.values()))), count):
        yield {name: v[start : start + count] for name, v in values.items()}


def repeat_at_points(
    factors: Collection[BoundFactor], names: Collection[str], points: Axis
) -> tuple[BoundFactor, ...]:
    """Return factors in which some unknowns have a copy of their own at each of some points."""
    return tuple(_repeated(factor, names, points) for factor in factors)


def with_points(bound: Bound, values: Mapping[str, Array], points: Axis) -> Bound:
    """Return the model with some unknowns observed at each of some points, which are a plate."""
    found = repeat_layouts(bound, values, points)
    return found._replace(observed={**bound.observed, **values})


def repeat_layouts(bound: Bound, names: Collection[str], points: Axis) -> Bound:
    """Return the model with some variables on a plate of points."""
    layouts = dict(bound.layouts)
    for name in names:
        plates, ints, events = layouts[name]
        layouts[name] = Layout((points, *plates), ints, events)
    return bound._replace(layouts=layouts)


def at_point(factor: BoundFactor, points: Axis, k: int) -> BoundFactor:
    """Return a factor at one of its points."""
    where = Table(np.asarray(k), ())
    parameters = {
        key: poly._replace(
            terms=look_up(poly.terms, points, where),
            plates=tuple(a for a in poly.plates if a is not points),
        )
        for key, poly in factor.parameters.items()
    }
    rows = tuple(a for a in factor.rows if a is not points)
    places = tuple(p for p in factor.places if p is not points)
    return factor._replace(parameters=parameters, rows=rows, places=places)


def _repeated(factor: BoundFactor, names: Collection[str], points: Axis) -> BoundFactor:
    is_child, has_points = factor.name in names, points in factor.rows
    parameters = {}
    for key, poly in factor.parameters.items():
        terms = tuple(Term(t.table, _seen_there(t.accesses, names, points)) for t in poly.terms)
        plates = poly.plates if points in poly.plates else (points, *poly.plates)
        parameters[key] = poly._replace(terms=terms, plates=plates)
    return factor._replace(
        parameters=parameters,
        rows=factor.rows if has_points else (points, *factor.rows),
        places=(points, *factor.places) if is_child else factor.places,
    )


def _seen_there(accesses: Collection[Any], names: Collection[str], points: Axis) -> tuple[Any, ...]:
    """Return how variables are seen that have a copy at each point."""
    return tuple(a._replace(places=(points, *a.places)) if a.name in names else a for a in accesses)


def _at_all(factor: BoundFactor, tables: Mapping[str, Table], points: Axis) -> BoundFactor:
    is_child = factor.name in tables
    if not is_child and not any(access.name in tables for access in factor.accesses):
        return factor
    return factor._replace(
        parameters={
            key: substitute(_seen_at(poly, tables, points), tables)
            for key, poly in factor.parameters.items()
        },
        rows=(points, *factor.rows),
        places=(points, *factor.places) if is_child else factor.places,
    )


def _seen_at(poly: Polynomial, tables: Mapping[str, Table], points: Axis) -> Polynomial:
    """Return an expression one of whose plates are the points, at which it sees the tables."""
    terms = tuple(Term(t.table, _seen_there(t.accesses, tables, points)) for t in poly.terms)
    return poly._replace(terms=terms, plates=(points, *poly.plates))
