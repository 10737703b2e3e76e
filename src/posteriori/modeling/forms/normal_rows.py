r"""Normal factors as rows of independent noise.

A normal factor says that child − mean has precision Λ. Multiplying by a root B of Λ (BᵀB = Λ)
leaves rows of independent unit noise; a scalar variance is the weight 1/v of its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout, child_term
from posteriori.modeling.binding.labelled import (
    Axis,
    Lookup,
    Polynomial,
    Table,
    Term,
    count_of,
    labels_of,
    look_up,
    multiply_tables,
    relabel,
    shape_of,
)
from posteriori.modeling.binding.places import one_hot
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.rank import factor_definite
from posteriori.numerics.types import Array

__all__ = [
    "Rows",
    "as_variance",
    "known_variance",
    "noise_cov",
    "residual_rows",
    "spread_of",
    "summed_lookups",
]

#: Powers that turn what a normal number is given into its variance.
_POWERS = {"variance": 1.0, "scale": 2.0, "precision": -1.0}


class Rows(NamedTuple):
    """Rows child − mean with independent noise of precision ``weight``."""

    child: tuple[Term, ...]
    mean: tuple[Term, ...]
    labels: tuple[Axis, ...]
    weight: Array
    log_scale: float = 0.0


def residual_rows(factor: BoundFactor, bound: Bound) -> list[Rows]:
    """Return child − mean, whitened where the noise has a matrix.

    A vector with missing entries is a row of its own kind: its noise is the marginal of those
    that are there. Rows are grouped by which entries they miss.
    """
    labels = factor.rows + factor.events
    terms = (child_term(factor, bound), *factor.parameters["mean"].terms)
    if factor.family is Normal:
        return [Rows(terms[:1], terms[1:], labels, _precision(factor, labels))]
    cov = noise_cov(factor)
    return [
        _whitened(terms_there, rows, event, cov_there)
        for terms_there, rows, event, cov_there in _by_pattern(terms, factor, bound, cov)
    ]


def summed_lookups(term: Term, labels: tuple[Axis, ...], layouts: Mapping[str, Layout]) -> Term:
    """Turn lookups at positions that are summed over into sums over the variable's own axis."""
    table, accesses = term
    for n, access in enumerate(accesses):
        for i, place in enumerate(access.places):
            if not isinstance(place, Lookup) or set(place.positions.axes) <= set(labels):
                continue
            whole = Axis("sum", layouts[access.name].axes[i].size)
            hot = one_hot(place.positions, whole)
            places = (*access.places[:i], whole, *access.places[i + 1 :])
            access = access._replace(places=places)
            accesses = (*accesses[:n], access, *accesses[n + 1 :])
            wanted = set(labels).union(labels_of(*accesses))
            table = multiply_tables(table, hot, wanted)
    return Term(table, accesses)


def _by_pattern(terms: tuple[Term, ...], factor: BoundFactor, bound: Bound, cov: Table) -> Any:
    """Yield the groups of rows that miss the same entries of their vectors."""
    (event,) = factor.events
    values = bound.observed.get(factor.name)
    if values is None or not np.isnan(values).any():
        yield terms, factor.rows, event, cov
        return
    flat = np.isnan(values).reshape(-1, event.size)
    patterns, which = np.unique(flat, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        there = np.flatnonzero(~pattern)
        if not len(there):
            continue
        kept = Axis("entry", len(there))
        chosen, rows = _pick_rows(np.flatnonzero(which.ravel() == k), factor.rows)
        part: tuple[Term, ...] = terms
        small: tuple[Term, ...] = (Term(cov),)
        for axis, index in chosen:
            part, small = look_up(part, axis, index), look_up(small, axis, index)
        part = look_up(part, event, Table(there, (kept,)))
        other = cov.axes[-2]
        twin = Axis("entry", len(there))
        small = look_up(look_up(small, event, Table(there, (kept,))), other, Table(there, (twin,)))
        yield part, rows, kept, _ordered(small[0].table, twin, kept)


def _pick_rows(
    positions: Any, rows: tuple[Axis, ...]
) -> tuple[list[tuple[Axis, Table]], tuple[Axis, ...]]:
    """Return lookups that keep some of the rows, which then lie on one axis."""
    if not rows:
        return [], ()
    picked = Axis("rows", len(positions))
    places = np.unravel_index(positions, [axis.size for axis in rows])
    tables = [(a, Table(np.asarray(p), (picked,))) for a, p in zip(rows, places, strict=True)]
    return tables, (picked,)


def _ordered(table: Table, row: Axis, column: Axis) -> Table:
    lead = tuple(a for a in table.axes if a is not row and a is not column)
    axes = (*lead, row, column)
    return Table(np.transpose(table.values, [table.axes.index(a) for a in axes]), axes)


def spread_of(factor: BoundFactor) -> tuple[str, Polynomial]:
    """Return the parameter of a normal factor that states its noise, with its name.

    Where rows have weights of their own, as those of a Student t factor have, it is the variance that
    both leave; or the weights, as long as they are unknown.
    """
    parts = {k: p for k, p in factor.parameters.items() if k not in ("mean", "weight")}
    ((key, poly),) = parts.items()
    weight = factor.parameters.get("weight")
    if weight is None or not poly.is_known:
        return key, poly
    if not weight.is_known:
        return "weight", weight
    variance = as_variance(key, poly.over(factor.rows), matrix=False) / weight.over(factor.rows)
    values = np.broadcast_to(variance, shape_of(factor.rows))
    return "variance", Polynomial((Term(Table(values, factor.rows), ()),), factor.rows, ())


def as_variance(key: str, value: Array, *, matrix: bool) -> Array:
    """Return a variance, or a covariance matrix, whatever it was given by."""
    if matrix:
        return explicit_inverse(value) if key == "precision" else value
    return value ** _POWERS[key]


def known_variance(factor: BoundFactor) -> Array:
    """Return the noise of a normal factor, (*rows) or (*rows, D, D), where it is known."""
    key, poly = spread_of(factor)
    return as_variance(key, poly.value(), matrix=bool(factor.events))


def noise_cov(factor: BoundFactor) -> Table:
    """Return the covariance with labels (rows that it varies with, another event axis, event)."""
    key, poly = spread_of(factor)
    if not poly.is_known:
        raise TypeError(f"{key} of {factor.name} is unknown: that takes more than one block")
    matrix = poly.value()
    varies = [i for i, a in enumerate(factor.rows) if any(a in t.table.axes for t in poly.terms)]
    pick = tuple(slice(None) if i in varies else 0 for i in range(len(factor.rows)))
    matrix = matrix[pick]
    try:
        factor_definite(matrix)
    except np.linalg.LinAlgError:
        raise ValueError(f"{key} of {factor.name} must be positive definite") from None
    (event,) = factor.events
    axes = (*(factor.rows[i] for i in varies), Axis("twin", event.size), event)
    return Table(as_variance(key, matrix, matrix=True), axes)


def _whitened(terms: tuple[Term, ...], rows: tuple[Axis, ...], event: Axis, cov: Table) -> Rows:
    """Multiply by B = L⁻¹, where L Lᵀ is the covariance."""
    lower = np.linalg.cholesky(cov.values)
    row = Axis("noise", event.size)
    inverse = explicit_inverse(lower)  # that of a triangle would load SciPy
    root = Table(inverse, (*cov.axes[:-2], row, event))
    logs = np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    count = count_of(rows)
    log_scale = -float(logs.mean()) * count
    white = tuple(_multiply_root(term, root, event) for term in terms)
    return Rows(white[:1], white[1:], (*rows, row), np.asarray(1.0), log_scale)


def _multiply_root(term: Term, root: Table, event: Axis) -> Term:
    summed = Axis("sum", event.size)
    (moved,) = relabel((term,), {event: summed})
    labelled = Table(root.values, (*root.axes[:-1], summed))
    wanted = {a for a in (*moved.table.axes, *labelled.axes) if a is not summed}
    wanted = wanted.union(labels_of(*moved.accesses))
    return Term(multiply_tables(moved.table, labelled, wanted), moved.accesses)


def _precision(factor: BoundFactor, labels: tuple[Axis, ...]) -> Array:
    key, poly = spread_of(factor)
    total = poly.over(labels)
    if not np.all(total > 0):
        where = tuple(np.argwhere(~(total > 0))[0])
        at = f" at index {', '.join(map(str, where))}" if where else ""
        raise ValueError(f"{key} of {factor.name} must be positive, got {total[where]:g}{at}")
    return total ** -_POWERS[key]
