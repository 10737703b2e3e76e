r"""Products of many factors, summed or maximised over what is not wanted.

:math:`\sum_{x \setminus \text{keep}} \prod_i \phi_i` by elimination: one variable after another is
summed out of the product of the few factors that hold it. In the order of
:mod:`posteriori.graphs.orders` the variable with the smallest table comes next. The product in
front of a sum is never written down; the two are one product of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from posteriori.factors.axes import Axes, Label, Names, as_names, pair, refuse_axis
from posteriori.factors.cells import _SMALL, contract_cells
from posteriori.factors.factor import Factor, _make
from posteriori.factors.scaled_cells import BITS, ScaledCells, scale_logs, tighten
from posteriori.graphs.orders.elimination_order import eliminate_all, join_scopes, weigh_sizes

__all__ = ["Decoding", "contract", "decode"]

#: More cells than this in one table are refused before the memory is asked for.
_MOST_CELLS = 1 << 34

#: Orders of elimination that are remembered, the latest.
_PLANS = 1 << 12
#: Products of logarithms are written down in slices of about this many cells.
_SLICE = 1 << 22


class Decoding(NamedTuple):
    """The most probable assignment and the logarithm of its value."""

    assignment: dict[str, Label]
    log_value: float


class Step(NamedTuple):
    """Replace the factors at ``parts`` (one or two) by their product, summed down to ``keep``."""

    parts: tuple[int, ...]
    keep: tuple[str, ...]


def contract(factors: Iterable[Factor], keep: Names = ()) -> Factor:
    r"""Multiply factors and sum out every axis but ``keep``.

    Parameters
    ----------
    factors : iterable of Factor
        Axes of the same name must have the same labels. No factors make the number 1.
    keep : str or iterable of str
        The axes of the result, in order.

    Returns
    -------
    Factor
        :math:`\sum \prod_i \phi_i`, not normalised.

    Raises
    ------
    ValueError
        When no factor has an axis of ``keep``, or labels differ.
    MemoryError
        When even the best order found needs a table too large to hold.

    Notes
    -----
    Cost O(n K^w) for n variables of K labels, w the width of the greedy order.

    Examples
    --------
    >>> chain = [Factor(["A", "B"], [[0.9, 0.1], [0.2, 0.8]]), Factor("A", [0.5, 0.5])]
    >>> contract(chain, "B").values
    array([0.55, 0.45])
    """
    live = list(factors)
    chosen = as_names(keep, "keep")
    if not live:
        live = [Factor.scalar(1.0)]
    for step in _eliminate(tuple(factor._axes for factor in live), chosen):
        parts = [live[i] for i in step.parts]
        live.append(
            _contract_two(parts[0], parts[1], step.keep)
            if len(parts) == 2
            else parts[0].marginal(step.keep)
        )
    return live[-1].transpose(chosen)


def decode(factors: Iterable[Factor]) -> Decoding:
    r"""Return the assignment that maximises the product of factors.

    Elimination with max in place of Σ, then the best labels are read off in reverse order.

    Raises
    ------
    ValueError
        When the product is 0 everywhere.

    Examples
    --------
    >>> rain = Factor("R", [0.7, 0.3], labels={"R": ["dry", "wet"]})
    >>> wet = Factor(["R", "G"], [[0.9, 0.1], [0.05, 0.95]], labels={"R": ["dry", "wet"]})
    >>> decode([rain, wet]).assignment
    {'R': 'dry', 'G': 0}
    """
    live = list(factors) or [Factor.scalar(1.0)]
    names = dict.fromkeys(name for factor in live for name in factor.names)
    products = []
    for step in _eliminate(tuple(factor._axes for factor in live), ()):
        product = live[step.parts[0]]
        for i in step.parts[1:]:
            product = product * live[i]
        if len(step.keep) < len(product.names):
            products.append(product)
        live.append(product.maximum(step.keep))
    log_value = live[-1].log_total
    if log_value == -np.inf:
        raise ValueError("the product of the factors is 0 everywhere: nothing can be decoded")
    best: dict[str, Label] = {}
    for product in reversed(products):
        best |= product.restrict(best).argmax()
    return Decoding({name: best[name] for name in names}, log_value)


class _Pair(NamedTuple):
    """How two tables contract."""

    axes: Axes
    #: What to sum each table down to first, where that saves work.
    alone: tuple[tuple[str, ...], tuple[str, ...]] | None
    numbers: tuple[list[int], list[int], list[int]]
    subscripts: str
    small: bool
    log2_terms: float
    nothing_summed: bool


def _contract_two(a: Factor, b: Factor, keep: tuple[str, ...]) -> Factor:
    """Multiply two factors and sum down to ``keep`` without writing the product down."""
    plan = _pair_plan(a._axes, b._axes, keep)
    if plan.alone is not None:
        return _contract_two(a.marginal(plan.alone[0]), b.marginal(plan.alone[1]), keep)
    if plan.nothing_summed:
        return (a * b).transpose(keep)
    left, right = a._scaled, b._scaled
    if not _fits(left, right, plan):
        left, right = tighten(left), tighten(right)
        if not _fits(left, right, plan):
            return _contract_logs(_make(a._axes, left), _make(b._axes, right), keep)
    assert left.exponent is not None
    assert right.exponent is not None
    if plan.small:
        cells = np.einsum(plan.subscripts, left.cells, right.cells)
    else:
        cells = contract_cells(left.cells, right.cells, *plan.numbers)
    low, high = left.low + right.low, left.high + right.high + plan.log2_terms
    return _make(plan.axes, ScaledCells(cells, left.exponent + right.exponent, low, high))


def _contract_logs(a: Factor, b: Factor, keep: tuple[str, ...]) -> Factor:
    """Contract tables of very wide range; a large product is made one slice at a time."""
    union = pair(a._axes, b._axes).axes
    if union.size <= _SLICE or not keep:
        return (a * b).marginal(keep)
    sizes = {name: union.shape[union.position[name]] for name in keep}
    name = max(sizes, key=sizes.__getitem__)
    rest = tuple(other for other in keep if other != name)
    slices = [
        _contract_two(a.restrict({name: label}), b.restrict({name: label}), rest)._scaled.logs()
        for label in union.labels[union.position[name]]
    ]
    axes = union.select(union.position[other] for other in (name, *rest))
    return _make(axes, scale_logs(np.stack(slices))).transpose(keep)


def _fits(a: ScaledCells, b: ScaledCells, plan: _Pair) -> bool:
    """Tell whether plain numbers hold every product and every sum."""
    return a.low + b.low >= -BITS and a.high + b.high + plan.log2_terms <= BITS


@lru_cache(_PLANS)
def _pair_plan(a: Axes, b: Axes, keep: tuple[str, ...]) -> _Pair:
    union = pair(a, b).axes
    kept = set(keep)
    alone_a = tuple(n for n in a.names if n in kept or n in b.position)
    alone_b = tuple(n for n in b.names if n in kept or n in a.position)
    nothing_alone = alone_a == a.names and alone_b == b.names
    number = union.position
    numbers = (
        [number[n] for n in a.names],
        [number[n] for n in b.names],
        [number[n] for n in keep],
    )
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    subscripts = ""
    if len(union.names) <= len(letters):
        left, right, out = ("".join(letters[i] for i in group) for group in numbers)
        subscripts = f"{left},{right}->{out}"
    axes = union.select(number[n] for n in keep)
    return _Pair(
        axes=axes,
        alone=None if nothing_alone or union.size <= _SMALL else (alone_a, alone_b),
        numbers=numbers,
        subscripts=subscripts,
        small=bool(subscripts) and union.size <= _SMALL,
        log2_terms=math.log2(union.size // axes.size),
        nothing_summed=len(keep) == len(union.names),
    )


@lru_cache(_PLANS)
def _eliminate(scopes: tuple[Axes, ...], keep: tuple[str, ...]) -> tuple[Step, ...]:
    """Plan which factors to join, in which order, and what to sum out on the way."""
    sizes = _sizes(scopes)
    for name in keep:
        if name not in sizes:
            refuse_axis(name, tuple(sizes))
    joining = _Joining(scopes, sizes, keep)
    for name in _order(scopes, sizes, keep):
        held = joining.holders[name]
        if held:  # not summed out yet beside another one
            joining.join_all(held, alone=True)
    joining.join_all(joining.live)
    return tuple(joining.steps)


def _order(scopes: tuple[Axes, ...], sizes: Mapping[str, int], keep: tuple[str, ...]) -> list[str]:
    """Return the names to be summed out, the smallest table next."""
    names = list(sizes)
    place = {name: v for v, name in enumerate(names)}
    start = np.cumsum([0, *(len(axes.names) for axes in scopes)])
    scope = np.array([place[name] for axes in scopes for name in axes.names], dtype=np.int64)
    graph = join_scopes(start, scope, np.ones(len(names), dtype=np.int64))
    kept = set(keep)
    groups = [
        np.array([place[name] for name in names if (name in kept) is last], dtype=np.int64)
        for last in (False, True)
    ]
    weights = weigh_sizes(list(sizes.values()))
    order = eliminate_all(graph, weights, groups, by_weight=True).order
    return [names[v] for v in order if names[v] not in kept]


class _Joining:
    """Factors at hand by number, and the steps that made them."""

    def __init__(
        self, scopes: tuple[Axes, ...], sizes: Mapping[str, int], keep: tuple[str, ...]
    ) -> None:
        self.sizes, self.kept = sizes, set(keep)
        self.steps: list[Step] = []
        self.n_given = len(scopes)
        self.live = {i: frozenset(axes.names) for i, axes in enumerate(scopes)}
        self.holders: dict[str, set[int]] = {name: set() for name in sizes}
        for i, scope in self.live.items():
            for name in scope:
                self.holders[name].add(i)

    def join_all(self, parts: Iterable[int], *, alone: bool = False) -> None:
        """Multiply factors two at a time, small ones first; one alone is summed where that is asked for."""
        first, *others = sorted(parts, key=self._cells)
        if alone and not others:
            self._join((first,))
        for i in others:
            first = self._join((first, i))

    def _join(self, parts: tuple[int, ...]) -> int:
        scope = frozenset().union(*(self.live[i] for i in parts))
        rest = tuple(
            name
            for name in self.sizes
            if name in scope and (name in self.kept or self.holders[name] - set(parts))
        )
        new = self.n_given + len(self.steps)
        for i in parts:
            for name in self.live.pop(i):
                self.holders[name].discard(i)
        self.live[new] = frozenset(rest)
        for name in rest:
            self.holders[name].add(new)
        self.steps.append(Step(parts, rest))
        _check_memory(rest, self.sizes)
        return new

    def _cells(self, i: int) -> int:
        return math.prod(self.sizes[name] for name in self.live[i])


def _sizes(scopes: tuple[Axes, ...]) -> Mapping[str, int]:
    """Return the size of every axis; the labels of axes of one name must agree."""
    first: dict[str, Axes] = {}
    for axes in scopes:
        for name in axes.names:
            if first.setdefault(name, axes) is not axes:
                pair(first[name], axes)
    return {name: axes.shape[axes.position[name]] for name, axes in first.items()}


def _check_memory(names: tuple[str, ...], sizes: Mapping[str, int]) -> None:
    cells = math.prod(sizes[name] for name in names)
    if cells > _MOST_CELLS or len(names) > 64:
        raise MemoryError(
            f"summing out exactly needs a table of {cells:.3g} cells over {len(names)} axes; "
            "fix more axes by evidence, or use an approximate method"
        )
