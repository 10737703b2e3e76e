r"""Normal factors as rows of independent noise.

A normal factor says that child − mean has precision Λ. Multiplying by a root B of Λ (BᵀB = Λ)
leaves rows of independent unit noise; a scalar variance is the weight 1/v of its row. Rows see a variable
by coefficients of one of its vectors, and an index that says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.inference.gaussian.equations import Equation, Link
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout, child_term
from posteriori.modeling.binding.labelled import (
    Access,
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
from posteriori.modeling.binding.places import flat_index, member_index, one_hot
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.rank import factor_definite
from posteriori.numerics.types import Array

__all__ = [
    "Rows",
    "Split",
    "add_link",
    "as_variance",
    "flat_weight",
    "known_variance",
    "make_link",
    "negated_link",
    "noise_cov",
    "observed_rows",
    "residual_rows",
    "size_of",
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


class Split(NamedTuple):
    """Which axes of a variable are handled one by one, and which together."""

    batch: tuple[int, ...]
    dense: tuple[int, ...]


def make_link(
    term: Term,
    access: Access,
    labels: tuple[Axis, ...],
    split: Split,
    layouts: Mapping[str, Layout],
) -> Link:
    """Return how rows with the given labels see a variable: coefficients and an index."""
    count = count_of(labels)
    axes = layouts[access.name].axes
    summed = tuple(access.places[i] for i in split.dense if _is_summed(access.places[i], labels))
    values = term.table.over(labels + summed).reshape(count, *shape_of(summed))
    if len(summed) < len(split.dense):
        values = _one_hot_columns(values, access, split, axes, labels, count)
    places, members = ([of[i] for i in split.batch] for of in (access.places, axes))
    index = flat_index(places, members, labels)
    return Link(access.name, values.reshape(count, size_of(axes, split.dense)), index)


def add_link(links: dict[tuple[str, bytes], Link], link: Link) -> None:
    """Add a link, or its coefficients to one that sees the same vectors."""
    index = link.index
    if index is not None and index.strides == (0,):
        index = index[:1]  # all rows see the one vector
    key = (link.name, b"" if index is None else index.tobytes())
    known = links.get(key)
    if known is not None:
        link = known._replace(coefficients=known.coefficients + link.coefficients)
    links[key] = link


def negated_link(link: Link) -> Link:
    """Return the link with −K; a common row stays a single one in memory."""
    k = link.coefficients
    if k.strides[0] == 0:
        return link._replace(coefficients=np.broadcast_to(-k[:1], k.shape))
    return link._replace(coefficients=-k)


def observed_rows(equation: Equation) -> Equation:
    """Leave out rows whose datum is missing."""
    missing = np.isnan(equation.constant)
    if not missing.any():
        return equation
    kept = np.flatnonzero(~missing)
    links = tuple(
        Link(
            link.name,
            _take_rows(link.coefficients, kept),
            kept if link.index is None else _take_rows(link.index, kept),
        )
        for link in equation.links
    )
    return Equation(
        equation.constant[kept], _take_rows(equation.weight, kept), links, equation.log_scale
    )


def _take_rows(values: Array, kept: Any) -> Array:
    """Return some rows; one that stands for all stays a single one in memory."""
    if values.strides[0] == 0:
        return np.broadcast_to(values[:1], (len(kept), *values.shape[1:]))
    return values.take(kept, axis=0)


def flat_weight(weight: Array, shape: tuple[int, ...], count: int) -> Array:
    """Return weights (R,); a common one stays a single number in memory."""
    if weight.size == 1:
        return np.broadcast_to(weight.reshape(()), (count,))
    return np.broadcast_to(weight, shape).reshape(count)


def size_of(axes: tuple[Axis, ...], chosen: tuple[int, ...]) -> int:
    """Return how many numbers the chosen axes span."""
    return count_of([axes[i] for i in chosen])


def _is_summed(place: Any, labels: tuple[Axis, ...]) -> bool:
    return isinstance(place, Axis) and place not in labels


def _one_hot_columns(
    values: Array,
    access: Access,
    split: Split,
    axes: tuple[Axis, ...],
    labels: tuple[Axis, ...],
    count: int,
) -> Array:
    """Give dense axes that are read at one position a column for each position."""
    out = values
    for position, i in enumerate(split.dense):
        place = access.places[i]
        if _is_summed(place, labels):
            continue
        hot = np.zeros((count, axes[i].size))
        hot[np.arange(count), member_index([place], [axes[i]], labels)] = 1.0
        shape = [count] + [1] * (out.ndim)
        shape[position + 1] = axes[i].size
        out = np.expand_dims(out, position + 1) * hot.reshape(shape)
    return out
