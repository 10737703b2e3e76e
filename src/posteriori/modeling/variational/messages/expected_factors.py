r"""Groups of variables and the factors around them, as graphs between which messages pass.

.. math:: \mu_{f\to x}(x) \propto \exp E_{q(\text{others})}[\ln f(x, \text{others})]

is the message of variational message passing. A group that is solved as a vector or a single variable
receives it whole; along a chain these expected factors are those of an exact chain, between whose
members sum–product messages pass.

Reference: J. Winn & C. M. Bishop, "Variational message passing", JMLR 6, 2005.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.inference.messages.forest_order import Batch, RowFactor, View, find_order
from posteriori.inference.messages.row_messages import QuadraticRows, TableRows
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.labelled import Axis, Table
from posteriori.modeling.forms.message_graph import (
    BlockGraph,
    Edge,
    natural_reader,
    normal_reader,
    state_reader,
    table_rows,
)
from posteriori.modeling.forms.state_tables import evidence_table
from posteriori.modeling.variational.densities.addressing import collect
from posteriori.modeling.variational.densities.densities import row_density
from posteriori.modeling.variational.densities.monomials import LOG_ZERO
from posteriori.modeling.variational.densities.planned_products import add_tables
from posteriori.modeling.variational.messages.expected_rows import (
    ExpectedRows,
    SeenMembers,
    length,
    placed,
    seen_members,
    whole,
)
from posteriori.numerics.types import Array

__all__ = ["node_graphs"]


def node_graphs(result: Any) -> list[BlockGraph]:
    """Return, for each group of a variational result, what its factors expect it to be."""
    block, problem = result.approximation, result.problem
    written = [(factor, row_density(factor, block.bound)) for factor in block.factors]
    graphs = []
    for node in problem.nodes:
        near = [
            ExpectedRows(factor, products, node, problem)
            for factor, products in written
            if any(a.name in node.names for p in products for a in p.accesses)
        ]
        graphs.append(_GRAPHS[node.form](near, node.whole(), block))
    return graphs


def _add_factor(
    graph: BlockGraph,
    factor: BoundFactor,
    sight: SeenMembers,
    made: RowFactor,
    children: Sequence[bool],
) -> None:
    number = len(graph.factors)
    for slot, (view, is_child) in enumerate(zip(made.views, children, strict=True)):
        graph.edges.append(Edge(factor, view.variable, is_child, sight.rows, number, slot))
    graph.factors.append(made)


# -- conjugate variables ---------------------------------------------------------------------


def _conjugate_graph(near: Sequence[ExpectedRows], node: Any, block: Any) -> BlockGraph:
    (name,) = node.names
    family, lead = node.family, node.lead
    events = tuple(axis.size for axis in node.events)
    shapes = tuple(events if width else () for width in family._natural_ndims)
    members = tuple(axis.size for axis in lead)
    graph = BlockGraph(
        {name: Batch(length(lead), shapes)},
        [],
        [],
        {name: natural_reader(family)},
        {name: members},
    )
    for rows in near:
        rule = _NaturalRows(rows, node)
        sight, factor = rule.sight, rows.factor
        made = RowFactor(
            factor.name,
            sight.count,
            (View(name, sight.index(0, lead)),),
            rule.send,
            sums=rule.sums,
        )
        _add_factor(graph, factor, sight, made, (factor.name == name,))
    return graph


class _NaturalRows:
    """Rows whose messages are coefficients of sufficient statistics."""

    def __init__(self, rows: ExpectedRows, node: Any) -> None:
        self.rows, self.node = rows, node
        width = len(node.lead)
        seen = (access.places[:width] for access in rows.accesses)
        self.sight = seen_members(rows.factor.rows, seen, node.lead)
        if len(self.sight.views) > 1:
            raise TypeError(
                f"no messages to {node.names[0]}: rows of {rows.factor.name} see several members of it"
            )

    def send(self, rows: Any, slot: int, incoming: Any) -> tuple[Array, ...]:
        found = self._zeros(self.sight.rows)
        for (stat,), table in self.rows.by_row():
            events = stat.places[len(self.node.lead) :]
            inner = [
                (p, Axis("event", a.size)) for p, a in zip(events, self.node.events, strict=False)
            ]
            free = [(stat.places[i], axis) for i, axis in self.sight.free.items()]
            table = placed(table, [*free, *inner], self.rows.factor.rows)
            labels = (*self.sight.rows, *(axis for _, axis in inner))
            found[stat.component] += whole(table, labels, found[stat.component].shape)
        return tuple(part[rows] for part in self._symmetric(found))

    def sums(self) -> tuple[Array, ...]:
        found = self._zeros(self.node.lead)
        for (stat,), table in self.rows.summed():
            axes = self.node.axes(stat.component)
            table = collect(table, list(zip(stat.places, axes, strict=True)))
            found[stat.component] += whole(table, axes, found[stat.component].shape)
        return self._symmetric(found)

    def _zeros(self, lead: tuple[Axis, ...]) -> list[Array]:
        events = tuple(axis.size for axis in self.node.events)
        widths = self.node.family._natural_ndims
        return [np.zeros((length(lead), *(events if width else ()))) for width in widths]

    def _symmetric(self, parts: list[Array]) -> tuple[Array, ...]:
        widths = self.node.family._natural_ndims
        return tuple(
            0.5 * (part + np.swapaxes(part, -1, -2)) if width == 2 else part
            for part, width in zip(parts, widths, strict=True)
        )


# -- normal variables ------------------------------------------------------------------------


class _Vectors:
    """Variables as vectors: the axes that tell these apart, and those inside them."""

    def __init__(self, apart: Mapping[str, tuple[int, ...]], block: Any) -> None:
        self.layouts = {name: block.bound.layouts[name] for name in apart}
        self.apart = apart
        first = next(iter(apart))
        self.axes = tuple(self.layouts[first].axes[i] for i in apart[first])
        self.inside: dict[str, tuple[int, ...]] = {}
        self.slices: dict[str, slice] = {}
        self.size = 0
        for name, layout in self.layouts.items():
            inside = tuple(i for i in range(len(layout.axes)) if i not in self.apart[name])
            width = length(layout.axes[i] for i in inside)
            self.inside[name] = inside
            self.slices[name] = slice(self.size, self.size + width)
            self.size += width
        self.block = block

    def places(self, access: Any) -> tuple[Any, ...]:
        """Return how an access sees the axes that tell vectors apart."""
        return tuple(access.places[i] for i in self.apart[access.name])

    def inner(self, access: Any) -> list[tuple[Any, Axis]]:
        """Return how an access sees the axes inside, with new labels for these."""
        axes = self.layouts[access.name].axes
        return [(access.places[i], Axis("inner", axes[i].size)) for i in self.inside[access.name]]

    def origin(self) -> Array | None:
        """Return what the vectors are measured from, (members, size)."""
        if self.block.references.keys().isdisjoint(self.layouts):
            return None
        found = np.zeros((length(self.axes), self.size))
        for name, layout in self.layouts.items():
            if name in self.block.references:
                whole = self.block.restored(name, np.zeros(layout.shape))
                order = (*self.apart[name], *self.inside[name])
                found[:, self.slices[name]] = np.transpose(whole, order).reshape(len(found), -1)
        return found


def _normal_graph(near: Sequence[ExpectedRows], node: Any, block: Any) -> BlockGraph:
    """Let messages pass along a chain; where its factors close loops, it is one vector."""
    *finer, coarsest = node.splits()
    for apart in finer:
        graph = _vector_graph(near, node, _Vectors(apart, block))
        try:
            find_order(graph.variables, graph.factors)
        except ValueError:
            continue
        return graph
    return _vector_graph(near, node, _Vectors(coarsest, block))


def _vector_graph(near: Sequence[ExpectedRows], node: Any, vectors: _Vectors) -> BlockGraph:
    name = " & ".join(node.names)
    n = vectors.size
    is_number = len(node.names) == n == 1 and not vectors.layouts[name].events
    graph = BlockGraph(
        {name: Batch(length(vectors.axes), ((n,), (n, n)))},
        [],
        [],
        {name: normal_reader(is_number=is_number)},
        {name: tuple(axis.size for axis in vectors.axes)},
    )
    for rows in near:
        rule = _NormalRows(rows, vectors)
        sight, factor = rule.sight, rows.factor
        views = tuple(View(name, sight.index(k, vectors.axes)) for k in range(len(sight.views)))
        own = factor.name in node.names and rule.own_view(factor)
        children = [factor.name in node.names and k == own for k in range(len(views))]
        if len(views) == 1:
            made = RowFactor(factor.name, sight.count, views, rule.send, sums=rule.sums)
        else:
            made = RowFactor(factor.name, sight.count, views, rule.potentials().send)
        _add_factor(graph, factor, sight, made, children)
    return graph


class _NormalRows:
    """Rows whose messages are coefficients of normal vectors and their products."""

    def __init__(self, rows: ExpectedRows, vectors: _Vectors) -> None:
        self.rows, self.vectors = rows, vectors
        seen = map(vectors.places, rows.accesses)
        self.sight = seen_members(rows.factor.rows, seen, vectors.axes)

    def own_view(self, factor: BoundFactor) -> int:
        """Return which view is the child of the factor."""
        return self.sight.view_of([factor.places[i] for i in self.vectors.apart[factor.name]])

    def send(self, rows: Any, slot: int, incoming: Any) -> tuple[Array, Array]:
        return self.potentials().send(rows, slot, incoming)

    def potentials(self) -> QuadraticRows:
        """Return the expected log density of every row."""
        n, count = self.vectors.size, self.sight.count
        width = n * len(self.sight.views)
        h, j = np.zeros((count, width)), np.zeros((count, width, width))
        lead = self.rows.factor.rows
        for mine, table in self.rows.by_row():
            free = self._free(mine[0])
            pairs = [self.vectors.inner(a) for a in mine]
            table = placed(table, [*free, *itertools.chain.from_iterable(pairs)], lead)
            axes = [tuple(axis for _, axis in part) for part in pairs]
            labels = (*self.sight.rows, *itertools.chain.from_iterable(axes))
            values = whole(table, labels, (count, *map(length, axes)))
            _add(h, j, [self._slice(a) for a in mine], values)
        origins = self._origins()
        if origins is not None:
            h += np.einsum("rij,rj->ri", j, origins)  # h v' − ½ v'J v' with v' = v − r
        return QuadraticRows(h, j, n)

    def _free(self, access: Any) -> list[tuple[Any, Axis]]:
        places = self.vectors.places(access)
        return [(places[i], axis) for i, axis in self.sight.free.items()]

    def _slice(self, access: Any) -> slice:
        start = self.sight.view_of(self.vectors.places(access)) * self.vectors.size
        part = self.vectors.slices[access.name]
        return slice(start + part.start, start + part.stop)

    def _origins(self) -> Array | None:
        origin = self.vectors.origin()
        if origin is None:
            return None
        rows = np.arange(self.sight.count)
        axes = self.vectors.axes
        seen = [View("", self.sight.index(k, axes)).at(rows) for k in range(len(self.sight.views))]
        return np.concatenate([origin[members] for members in seen], axis=1)

    def sums(self) -> tuple[Array, Array]:
        n, count = self.vectors.size, length(self.vectors.axes)
        h, j = np.zeros((count, n)), np.zeros((count, n, n))
        for mine, table in self.rows.summed():
            apart = list(zip(self.vectors.places(mine[0]), self.vectors.axes, strict=True))
            pairs = [self.vectors.inner(a) for a in mine]
            table = collect(table, [*apart, *itertools.chain.from_iterable(pairs)])
            axes = [tuple(axis for _, axis in part) for part in pairs]
            labels = (*self.vectors.axes, *itertools.chain.from_iterable(axes))
            values = whole(table, labels, (count, *map(length, axes)))
            _add(h, j, [self.vectors.slices[a.name] for a in mine], values)
        origin = self.vectors.origin()
        if origin is not None:
            h += np.einsum("rij,rj->ri", j, origin)
        return h, j


def _add(h: Array, j: Array, parts: Sequence[slice], values: Array) -> None:
    """Add a coefficient of one vector to h, or of two to −J and its transpose."""
    if len(parts) == 1:
        h[:, parts[0]] += values
        return
    a, b = parts
    j[:, a, b] -= values
    j[:, b, a] -= np.swapaxes(values, -1, -2)


# -- discrete variables ----------------------------------------------------------------------


def _discrete_graph(near: Sequence[ExpectedRows], node: Any, block: Any) -> BlockGraph:
    bound = block.bound
    graph = BlockGraph({}, [], [], {}, {})
    for name, size in node.sizes.items():
        graph.shapes[name] = bound.layouts[name].shape
        graph.variables[name] = Batch(length(bound.layouts[name].axes), ((size,), (size,)))
        graph.readers[name] = state_reader(bound.families[name], bound.labels.get(name))
    for rows in near:
        _add_states(graph, rows, node, block)
    for name in node.names:
        if name in bound.evidence:
            known = evidence_table(name, bound, node.sizes[name])
            number = len(graph.factors)
            graph.edges.append(Edge(None, name, False, known.rows, number, 0))
            graph.factors.append(table_rows(known, bound))
    return graph


def _add_states(graph: BlockGraph, rows: ExpectedRows, node: Any, block: Any) -> None:
    """Add the rows of a factor as expected log tables over the states that they see."""
    factor, layouts = rows.factor, block.bound.layouts
    sights = {}
    for name in dict.fromkeys(access.name for access in rows.accesses):
        seen = [access.places for access in rows.accesses if access.name == name]
        sights[name] = seen_members(factor.rows, seen, layouts[name].axes)
    views = [(name, k) for name, sight in sights.items() for k in range(len(sight.views))]
    if len(views) > 1 and any(sight.free for sight in sights.values()):
        raise TypeError(
            f"no messages to {', '.join(sights)}: rows of {factor.name} see many members at once"
        )
    sight = next(iter(sights.values()))
    states = {view: Axis("state", node.sizes[view[0]]) for view in views}
    tables = []
    for mine, table in rows.by_row():
        pairs = []
        for access in mine:
            here = sights[access.name]
            pairs += [(access.places[i], axis) for i, axis in here.free.items()]
            pairs.append((access.state, states[access.name, here.view_of(access.places)]))
        tables.append(placed(table, pairs, factor.rows))
    labels = (*sight.rows, *states.values())
    shape = (sight.count, *(axis.size for axis in states.values()))
    logs = whole(Table(add_tables(tables, labels), labels), labels, shape)
    rule = TableRows(np.where(logs < 0.1 * LOG_ZERO, -np.inf, logs))
    seen_by = tuple(View(n, sights[n].index(k, layouts[n].axes)) for n, k in views)
    made = RowFactor(factor.name, sight.count, seen_by, rule.send, rule.sweep)
    own = factor.name in sights and sights[factor.name].view_of(factor.places)
    children = [name == factor.name and k == own for name, k in views]
    _add_factor(graph, factor, sight, made, children)


_GRAPHS = {
    "statistics": _conjugate_graph,
    "vectors": _normal_graph,
    "states": _discrete_graph,
}
