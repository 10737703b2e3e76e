"""Products of labelled tables and variables, and their sums over labels: planned once, then matrix products.

The order of the pairwise products is found by dynamic programming over subsets and remembered for
each combination of labels, so that a model's thousandth sweep plans nothing.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.binding.labelled import (
    Axis,
    Switch,
    Table,
    count_of,
    labels_of,
    relabel_access,
)
from posteriori.modeling.binding.places import same_places
from posteriori.numerics.types import Array

__all__ = [
    "Contraction",
    "Product",
    "axes_of",
    "contract_tables",
    "merged",
    "multiply_products",
    "same_switch",
    "with_labels",
    "without_idle_switches",
]

#: Below this many terms in a sum, many small matrix products cost more than one loop over all.
_SMALL = 256

#: Up to this many terms, one loop over all labels costs less than the steps of a plan.
_TINY = 4096

_LETTERS = string.ascii_letters

Labels = tuple[Axis, ...]


class Product(NamedTuple):
    """Tables times statistics; labels that the context does not have are summed over."""

    tables: tuple[Table, ...] = ()
    accesses: tuple[Any, ...] = ()


def axes_of(product: Any) -> set[Axis]:
    """Return all labels of a product."""
    found = {axis for table in product.tables for axis in table.axes}
    return found.union(labels_of(*product.accesses))


def multiply_products(
    a: Iterable[Product],
    b: Iterable[Product],
    outer: Iterable[Axis],
    moved: Mapping[Axis, Axis] | None = None,
) -> list[Product]:
    """Return the product of two sums; the second may have some labels moved first.

    Parameters
    ----------
    a, b : iterables of Product
    outer : iterable of Axis
        Labels that both share; the others of ``b`` are its own and get fresh names.
    moved : mapping, optional
        Labels of ``b`` to replace.
    """
    right, kept = list(b), set(outer)
    return [_times(s, t, kept, moved or {}) for s in a for t in right]


def with_labels(product: Product, new: Mapping[Axis, Axis]) -> Product:
    """Replace labels."""
    if not new:
        return product
    return Product(
        tuple(table.relabelled(new) for table in product.tables),
        tuple(relabel_access(access, new) for access in product.accesses),
    )


def merged(product: Product) -> Product:
    """Let switches of the same variable share their state: 1[z=i] 1[z=j] = 1[z=i] δ(i, j)."""
    kept: list[Any] = []
    states: dict[Axis, Axis] = {}
    for access in product.accesses:
        twin = next((k for k in kept if same_switch(k, access)), None)
        if twin is None:
            kept.append(access)
        else:
            states[access.state] = twin.state
    return with_labels(Product(product.tables, tuple(kept)), states)


def same_switch(a: Any, b: Any) -> bool:
    """Tell whether two accesses are switches of the same members of a variable."""
    if not (isinstance(a, Switch) and isinstance(b, Switch)):
        return False
    return a.name == b.name and same_places(a.places, b.places)


def without_idle_switches(product: Product) -> Product:
    """Drop switches whose state nothing depends on: their probabilities sum to 1."""
    kept = []
    for i, access in enumerate(product.accesses):
        others = Product(product.tables, tuple(a for j, a in enumerate(product.accesses) if j != i))
        if isinstance(access, Switch) and access.state not in axes_of(others):
            continue
        kept.append(access)
    return Product(product.tables, tuple(kept))


def _times(s: Product, t: Product, outer: set[Axis], moved: Mapping[Axis, Axis]) -> Product:
    own = axes_of(t) - outer - set(moved)
    t = with_labels(t, {**moved, **{axis: Axis(axis.name, axis.size) for axis in own}})
    return merged(Product(s.tables + t.tables, s.accesses + t.accesses))


def contract_tables(
    tables: Sequence[Table], keep: Iterable[Axis], over: frozenset[Axis] = frozenset()
) -> Table:
    """Return Σ ∏ tables over all labels that are not kept.

    A kept label that no table has stays absent: the result does not depend on it.

    Parameters
    ----------
    tables : sequence of Table
    keep : iterable of Axis
    over : frozenset of Axis
        Labels to sum over, also where no table has them: such a sum counts the members.
    """
    return Contraction(keep, over)(tables)


class Contraction:
    """A sum of products of tables to be taken many times, planned anew when their labels change.

    Parameters
    ----------
    keep, over
        As of :func:`contract_tables`.
    """

    __slots__ = ("_answer", "_plan", "_scopes", "_tables", "keep", "over")

    def __init__(self, keep: Iterable[Axis], over: frozenset[Axis] = frozenset()) -> None:
        self.keep = keep if isinstance(keep, frozenset) else frozenset(keep)
        self.over = over
        self._scopes: tuple[Labels, ...] | None = None
        self._tables: Sequence[Table] | None = None

    def again(self, tables: Sequence[Table]) -> Table:
        """Return the answer, remembered where the tables are those of the last time."""
        if tables is not self._tables:
            self._tables, self._answer = tables, self(tables)
        return self._answer

    def __call__(self, tables: Sequence[Table]) -> Table:
        scopes = tuple([axes for _, axes in tables])
        if scopes != self._scopes:
            self._scopes, self._plan = scopes, _plan(scopes, self.keep, self.over)
        plan = self._plan
        if not tables:
            return Table(np.asarray(float(_copies(plan))), ())
        values = _run(plan, [values for values, _ in tables])
        return Table(values * _copies(plan) if plan.absent else values, plan.labels)


def _copies(plan: _Plan) -> int:
    return count_of(plan.absent)


# -- planning --------------------------------------------------------------------------------


class _Step(NamedTuple):
    """How two operands are arranged for a matrix product, or spread for a plain one.

    Attributes
    ----------
    i, j : int
        The operands; the product is appended at the end.
    gone : pair of tuples of int
        Axes that only one of them has and nobody needs.
    order : pair of tuples of int
        Of the axes that remain.
    spread : pair of index tuples, or None
        New axes of a plain product.
    counts : (int, int, int)
        Leading axes of the first: common ones, its own, summed ones.
    """

    i: int
    j: int
    gone: tuple[tuple[int, ...], ...]
    order: tuple[tuple[int, ...], ...]
    spread: tuple[tuple[Any, ...], ...] | None
    counts: tuple[int, int, int]


class _Plan(NamedTuple):
    """What to do with operands of known labels.

    Attributes
    ----------
    labels : tuple of Axis
        Of the result.
    absent : tuple of Axis
        Summed over, although no operand has them.
    gone : tuple of int
        Axes of a single operand to sum over.
    subscripts : str
        One loop over all, if not empty.
    steps : tuple of _Step
    """

    labels: Labels
    absent: Labels
    gone: tuple[int, ...] = ()
    subscripts: str = ""
    steps: tuple[_Step, ...] = ()


@lru_cache(maxsize=4096)
def _plan(scopes: tuple[Labels, ...], keep: frozenset[Axis], over: frozenset[Axis]) -> _Plan:
    present = dict.fromkeys(a for scope in scopes for a in scope)
    absent = tuple(a for a in over if a not in present and a not in keep)
    labels = tuple(a for a in present if a in keep)
    if len(scopes) < 2:
        gone = tuple(i for scope in scopes for i, a in enumerate(scope) if a not in keep)
        return _Plan(labels, absent, gone)
    if count_of(present) <= _TINY and len(present) <= len(_LETTERS):
        letters = dict(zip(present, _LETTERS, strict=False))
        *words, result = ("".join(letters[a] for a in scope) for scope in (*scopes, labels))
        return _Plan(labels, absent, subscripts=f"{','.join(words)}->{result}")
    live, steps = list(scopes), []
    for i, j, kept in _path(scopes, keep):
        second, first = live.pop(j), live.pop(i)
        if _own_cells(first, second) > _own_cells(
            second, first
        ):  # long loops: the larger side last
            i, j, first, second = j, i, second, first
        step, product = _arrange(i, j, first, second, kept)
        steps.append(step)
        live.append(product)
    return _Plan(live[0], absent, steps=tuple(steps))


def _own_cells(a: Labels, b: Labels) -> int:
    return math.prod([axis.size for axis in a if axis not in b])


def _arrange(i: int, j: int, a: Labels, b: Labels, keep: frozenset[Axis]) -> tuple[_Step, Labels]:
    """Return a step and the labels of its product."""
    shared = set(a) & set(b)
    wanted = shared | keep
    gone = tuple(tuple(n for n, x in enumerate(own) if x not in wanted) for own in (a, b))
    a, b = (tuple(x for x in own if x in wanted) for own in (a, b))
    batch = tuple(x for x in a if x in shared and x in keep)
    inner = tuple(x for x in a if x in shared and x not in keep)
    left, right = (tuple(x for x in own if x not in shared) for own in (a, b))
    labels = batch + left + right
    sides = (batch + left + inner, batch + inner + right) if inner else (labels, labels)
    order = tuple(
        tuple(own.index(x) for x in side if x in own)
        for own, side in zip((a, b), sides, strict=True)
    )
    spreads = tuple(tuple(slice(None) if x in own else None for x in labels) for own in (a, b))
    counts = (len(batch), len(left), len(inner))
    return _Step(i, j, gone, order, None if inner else spreads, counts), labels


def _path(scopes: tuple[Labels, ...], keep: frozenset[Axis]) -> list[tuple[int, int, Any]]:
    """Return pairwise steps (i, j, labels of the product), i < j, results appended at the end."""
    everyone = frozenset(range(len(scopes)))

    @cache
    def labels(part: frozenset[int]) -> frozenset[Axis]:
        inside = frozenset(a for i in part for a in scopes[i])
        return inside & keep.union(*(scopes[i] for i in everyone - part))

    @cache
    def cheapest(whole: frozenset[int]) -> tuple[float, list[Any]]:
        """Return the cost of the best order of products, found over all subsets, and the order."""
        found: tuple[float, list[Any]] = (0.0 if len(whole) == 1 else math.inf, [])
        for size in range(1, len(whole) // 2 + 1):
            for left in map(frozenset, combinations(sorted(whole), size)):
                right = whole - left
                work, memory = (_cells(a) for a in (labels(left) | labels(right), labels(whole)))
                cost = cheapest(left)[0] + cheapest(right)[0] + work + 4.0 * memory
                if cost < found[0]:
                    found = (cost, [*cheapest(left)[1], *cheapest(right)[1], (left, right)])
        return found

    live, steps = [frozenset([i]) for i in everyone], []
    for left, right in cheapest(everyone)[1]:
        i, j = sorted((live.index(left), live.index(right)))
        del live[j], live[i]
        live.append(left | right)
        steps.append((i, j, labels(left | right)))
    return steps


def _cells(labels: Iterable[Axis]) -> float:
    return math.prod(float(axis.size) for axis in labels)


# -- steps -----------------------------------------------------------------------------------


def _run(plan: _Plan, live: list[Array]) -> Array:
    if plan.gone:
        return np.asarray(live[0].sum(axis=plan.gone))
    if plan.subscripts:
        return np.asarray(np.einsum(plan.subscripts, *live))
    for step in plan.steps:
        first, second = live[step.i], live[step.j]
        del live[max(step.i, step.j)], live[min(step.i, step.j)]
        live.append(_pair(step, first, second))
    return live[0]


def _pair(step: _Step, a: Array, b: Array) -> Array:
    """Return the product of two operands, summed over what is not kept."""
    if step.gone[0]:
        a = a.sum(axis=step.gone[0])
    if step.gone[1]:
        b = b.sum(axis=step.gone[1])
    a, b = a.transpose(step.order[0]), b.transpose(step.order[1])
    if step.spread is not None:
        return a[step.spread[0]] * b[step.spread[1]]
    batch, left, inner = step.counts
    lead, own = a.shape[:batch], a.shape[batch : batch + left]
    summed, rest = a.shape[batch + left :], b.shape[batch + inner :]
    sizes = [math.prod(part) for part in (lead, own, summed, rest)]
    return _multiply(a, b, *sizes).reshape(lead + own + rest)


def _multiply(a: Array, b: Array, batch: int, left: int, inner: int, right: int) -> Array:
    """Return Σ_i a[batch, left, i] b[batch, i, right]."""
    if batch == 1:
        return a.reshape(left, inner) @ b.reshape(inner, right)
    a, b = a.reshape(batch, left, inner), b.reshape(batch, inner, right)
    if left * inner * right < _SMALL:
        return np.einsum("bli,bir->blr", a, b)
    return np.matmul(a, b)
