"""Products of labelled tables, summed to some labels: planned once, then matrix products.

The order of the pairwise products is found by dynamic programming over subsets and remembered for
each combination of labels, so that a model's thousandth sweep plans nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.tables import Axis, Table, spread
from posteriori.numerics.types import Array

__all__ = ["add_tables", "contract_tables"]

#: Below this many terms in a sum, many small matrix products cost more than one loop over all.
_SMALL = 256

Labels = tuple[Axis, ...]


def contract_tables(tables: Sequence[Table], keep: Sequence[Axis]) -> Table:
    """Return Σ ∏ tables over all labels that are not kept.

    A kept label that no table has stays absent: the result does not depend on it.
    """
    if len(tables) == 1:
        return _summed(tables[0], frozenset(keep))
    live = list(tables)
    for i, j, labels in _path(tuple(t.axes for t in tables), frozenset(keep)):
        second, first = live.pop(j), live.pop(i)
        live.append(_pair(first, second, labels))
    return live[0]


def add_tables(tables: Sequence[Table], labels: Labels) -> Array:
    """Return the sum with axes in the order of ``labels``, of length 1 where no table has one."""
    total: Any = None
    for table in tables:
        values = spread(table, labels)
        total = values if total is None else total + values
    return np.zeros((1,) * len(labels)) if total is None else total


# -- planning --------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _path(scopes: tuple[Labels, ...], keep: frozenset[Axis]) -> tuple[tuple[int, int, Any], ...]:
    """Return pairwise steps (i, j, labels of the product), i < j, results appended at the end."""
    order = _best_tree(scopes, keep)
    live: list[Any] = [frozenset([i]) for i in range(len(scopes))]
    everyone = frozenset(range(len(scopes)))
    steps = []
    for left, right in order:
        i, j = sorted((live.index(left), live.index(right)))
        union = left | right
        labels = _labels_after(scopes, union, everyone - union, keep)
        del live[j], live[i]
        live.append(union)
        steps.append((i, j, labels))
    return tuple(steps)


def _labels_after(
    scopes: tuple[Labels, ...], done: frozenset[int], rest: frozenset[int], keep: frozenset[Axis]
) -> frozenset[Axis]:
    inside = frozenset(a for i in done for a in scopes[i])
    outside = keep.union(*(scopes[i] for i in rest))
    return inside & outside


def _best_tree(scopes: tuple[Labels, ...], keep: frozenset[Axis]) -> list[Any]:
    """Return the cheapest order of products, found over all subsets."""
    everyone = frozenset(range(len(scopes)))
    best: dict[frozenset[int], tuple[float, list[Any]]] = {
        frozenset([i]): (0.0, []) for i in everyone
    }
    held = {s: _labels_after(scopes, s, everyone - s, keep) for s in best}
    for size in range(2, len(scopes) + 1):
        for members in combinations(range(len(scopes)), size):
            whole = frozenset(members)
            held[whole] = _labels_after(scopes, whole, everyone - whole, keep)
            found: tuple[float, list[Any]] = (math.inf, [])
            for part in range(1, size // 2 + 1):
                for chosen in combinations(members, part):
                    left = frozenset(chosen)
                    right = whole - left
                    work = math.prod(float(a.size) for a in held[left] | held[right])
                    memory = math.prod(float(a.size) for a in held[whole])
                    cost = best[left][0] + best[right][0] + work + 4.0 * memory
                    if cost < found[0]:
                        found = (cost, [*best[left][1], *best[right][1], (left, right)])
            best[whole] = found
    return best[everyone][1]


# -- steps -----------------------------------------------------------------------------------


def _summed(table: Table, keep: frozenset[Axis]) -> Table:
    gone = tuple(i for i, axis in enumerate(table.axes) if axis not in keep)
    if not gone:
        return table
    axes = tuple(axis for axis in table.axes if axis in keep)
    return Table(np.asarray(table.values.sum(axis=gone)), axes)


def _pair(a: Table, b: Table, keep: frozenset[Axis]) -> Table:
    """Return the product of two tables, summed over what is not kept, by a matrix product."""
    if not a.axes or not b.axes:
        number, other = (a, b) if not a.axes else (b, a)
        return _summed(Table(other.values * number.values, other.axes), keep)
    shared = keep.union(set(a.axes) & set(b.axes))
    a, b = _summed(a, shared), _summed(b, shared)
    step = _step(a.axes, b.axes, keep)
    if not step.inner:
        return Table(spread(a, step.labels) * spread(b, step.labels), step.labels)
    first = a.values.transpose(step.first)
    second = b.values.transpose(step.second)
    sizes = [math.prod([x.size for x in part]) for part in step.parts]
    product = _multiply(first, second, *sizes)
    return Table(product.reshape([x.size for x in step.labels]), step.labels)


class _Step(NamedTuple):
    """How two tables are arranged for a matrix product."""

    labels: Labels
    inner: Labels
    first: tuple[int, ...]
    second: tuple[int, ...]
    parts: tuple[Labels, Labels, Labels, Labels]


@lru_cache(maxsize=4096)
def _step(a: Labels, b: Labels, keep: frozenset[Axis]) -> _Step:
    shared = set(a) & set(b)
    batch = tuple(x for x in a if x in shared and x in keep)
    inner = tuple(x for x in a if x in shared and x not in keep)
    left = tuple(x for x in a if x not in shared)
    right = tuple(x for x in b if x not in shared)
    first = tuple(a.index(x) for x in batch + left + inner)
    second = tuple(b.index(x) for x in batch + inner + right)
    return _Step(batch + left + right, inner, first, second, (batch, left, inner, right))


def _multiply(a: Array, b: Array, batch: int, left: int, inner: int, right: int) -> Array:
    """Return Σ_i a[batch, left, i] b[batch, i, right]."""
    if batch == 1:
        return a.reshape(left, inner) @ b.reshape(inner, right)
    a, b = a.reshape(batch, left, inner), b.reshape(batch, inner, right)
    if left * inner * right < _SMALL:
        return np.einsum("bli,bir->blr", a, b)
    return np.matmul(a, b)
