"""Sums and products of polynomials: ``+ * @`` align labels and relabel what is summed over."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from posteriori.modeling.binding.labelled import (
    Axis,
    Polynomial,
    Table,
    Term,
    labels_of,
    look_up,
    multiply_tables,
    relabel,
    sum_out,
)

__all__ = ["add", "align", "contract", "multiply", "sum_last"]


def align(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Give two polynomials common labels: plates by name, array axes from the right."""
    plates = a.plates + tuple(p for p in b.plates if p not in a.plates)
    long, short = (a, b) if len(a.axes) >= len(b.axes) else (b, a)
    lead = len(long.axes) - len(short.axes)
    terms = {id(a): a.terms, id(b): b.terms}
    axes = list(long.axes[:lead])
    rows = set(long.rows)
    for x, y in zip(long.axes[lead:], short.axes, strict=True):
        if x in long.rows or y in short.rows:
            rows |= {x, y}
        if x is y:
            axes.append(x)
        elif y.size == 1:
            terms[id(short)] = look_up(terms[id(short)], y, Table(np.zeros(()), ()))
            axes.append(x)
        elif x.size == 1:
            terms[id(long)] = look_up(terms[id(long)], x, Table(np.zeros(()), ()))
            axes.append(y)
        elif x.size == y.size:
            terms[id(short)] = relabel(terms[id(short)], {y: x})
            axes.append(x)
        else:
            raise ValueError(f"axes of length {x.size} and {y.size} do not fit together")
    kept = frozenset(rows & set(axes))
    return tuple(Polynomial(terms[id(p)], plates, tuple(axes), kept) for p in (a, b))  # type: ignore[return-value]


def add(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return a + b."""
    a, b = align(a, b)
    return a._replace(terms=a.terms + b.terms)


def multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return a · b, elementwise."""
    a, b = align(a, b)
    return a._replace(terms=_products(a.terms, b.terms, a.labels))


def contract(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return a @ b as NumPy has it: a's last axis with b's last but one, or its only one."""
    if not a.axes or not b.axes:
        raise ValueError("both sides of @ must have an axis to sum over")
    inner = -2 if len(b.axes) > 1 else -1
    x, y = a.axes[-1], b.axes[inner]
    if x.size != y.size:
        raise ValueError(f"@ cannot join axes of length {x.size} and {y.size}")
    shared = Axis("sum", x.size)
    columns = tuple(Axis(axis.name, axis.size) for axis in b.axes[inner:][1:])
    new = {y: shared, **dict(zip(b.axes[inner:][1:], columns, strict=True))}
    left = Polynomial(relabel(a.terms, {x: shared}), a.plates, a.axes[:-2])
    right = Polynomial(relabel(b.terms, new), b.plates, b.axes[:inner])
    left, right = align(left, right)
    axes = left.axes + a.axes[-2:-1] + columns
    terms = _products(left.terms, right.terms, left.plates + axes)
    return Polynomial(terms, left.plates, axes)


def sum_last(poly: Polynomial) -> Polynomial:
    """Return the sum over the last axis."""
    summed = Axis("sum", poly.axes[-1].size)
    labels = poly.plates + poly.axes[:-1]
    terms = []
    for table, accesses in relabel(poly.terms, {poly.axes[-1]: summed}):
        wanted = set(labels).union(labels_of(*accesses))
        terms.append(Term(sum_out(table, wanted), accesses))
    return Polynomial(tuple(terms), poly.plates, poly.axes[:-1])


def _products(a: Iterable[Term], b: Iterable[Term], labels: tuple[Axis, ...]) -> tuple[Term, ...]:
    second = tuple(b)
    return tuple(_product(s, t, labels) for s in a for t in second)


def _product(s: Term, t: Term, labels: tuple[Axis, ...]) -> Term:
    accesses = s.accesses + t.accesses
    wanted = set(labels).union(labels_of(*accesses))
    return Term(multiply_tables(s.table, t.table, wanted), accesses)
