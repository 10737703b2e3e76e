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

from posteriori.inference.messages.forest_order import RowFactor, View, find_order
from posteriori.inference.messages.row_messages import QuadraticRows, TableRows
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.labelled import Axis, Table, count_of, shape_of
from posteriori.modeling.binding.places import add_tables
from posteriori.modeling.forms.message_graph import BlockGraph, table_rows
from posteriori.modeling.forms.state_tables import evidence_table
from posteriori.modeling.variational.densities.addressing import collect
from posteriori.modeling.variational.densities.densities import row_density
from posteriori.modeling.variational.densities.monomials import LOG_ZERO
from posteriori.modeling.variational.messages.expected_rows import (
    ExpectedRows,
    SeenMembers,
    seen_members,
)
from posteriori.numerics.linalg import symmetrize
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


# -- conjugate variables ---------------------------------------------------------------------


def _conjugate_graph(near: Sequence[ExpectedRows], node: Any, block: Any) -> BlockGraph:
    (name,) = node.names
    graph = BlockGraph()
    events = shape_of(node.events)
    shapes = [events if width else () for width in node.family._natural_ndims]
    graph.add_natural(name, shape_of(node.lead), node.family, shapes)
    _add_natural_rows(graph, near, node, shapes)
    return graph


def _number_graph(near: Sequence[ExpectedRows], node: Any, block: Any) -> BlockGraph:
    (name,) = node.names
    graph, shapes = BlockGraph(), [()] * len(node.keys)
    graph.add_variable(name, shape_of(node.lead), tuple(shapes), node.read_message)
    _add_natural_rows(graph, near, node, shapes)
    return graph


def _add_natural_rows(
    graph: BlockGraph, near: Sequence[ExpectedRows], node: Any, shapes: Sequence[tuple[int, ...]]
) -> None:
    (name,) = node.names
    for rows in near:
        rule = _NaturalRows(rows, node, shapes)
        view = View(name, rule.sight.index(0, node.lead))
        factor = rows.factor
        made = RowFactor(factor.name, rule.sight.count, (view,), rule.send, sums=rule.sums)
        graph.add_factor(factor, rule.sight.rows, made, 0 if factor.name == name else None)


class _NaturalRows:
    """Rows whose messages are coefficients of sufficient statistics."""

    def __init__(self, rows: ExpectedRows, node: Any, shapes: Sequence[tuple[int, ...]]) -> None:
        self.rows, self.node, self.shapes = rows, node, shapes
        width = len(node.lead)
        seen = (access.places[:width] for access in rows.accesses)
        self.sight = seen_members(rows.factor.rows, seen, node.lead)
        if len(self.sight.views) > 1:
            raise TypeError(
                f"no messages to {node.names[0]}: rows of {rows.factor.name} see several members of it"
            )

    def send(self, rows: Any, slot: int, incoming: Any) -> tuple[Array, ...]:
        return tuple(part[rows] for part in self._coefficients(self.sight))

    def sums(self) -> tuple[Array, ...]:
        return self._coefficients(self.sight.added_up(self.node.lead))

    def _coefficients(self, sight: SeenMembers) -> tuple[Array, ...]:
        node = self.node
        found = [np.zeros((sight.count, *shape)) for shape in self.shapes]
        for stats, table in self.rows.expected(sight.given):
            places, part = stats[0].places, found[node.position(stats)]
            events = places[len(node.lead) :]
            inner = [(p, Axis("event", a.size)) for p, a in zip(events, node.events, strict=False)]
            table = collect(table, [*sight.pairs(places), *inner], sight.given)
            labels = (*sight.rows, *(axis for _, axis in inner))
            part += table.over(labels).reshape(part.shape)
        return tuple(symmetrize(p) if p.ndim == 3 else p for p in found)


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
            width = count_of(layout.axes[i] for i in inside)
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
        found = np.zeros((count_of(self.axes), self.size))
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
    is_number = len(node.names) == vectors.size == 1 and not vectors.layouts[name].events
    graph = BlockGraph()
    graph.add_normal(name, shape_of(vectors.axes), vectors.size, is_number=is_number)
    for rows in near:
        rule = _NormalRows(rows, vectors)
        sight, factor = rule.sight, rows.factor
        views = tuple(View(name, sight.index(k, vectors.axes)) for k in range(len(sight.views)))
        if len(views) == 1:
            made = RowFactor(factor.name, sight.count, views, rule.send, sums=rule.sums)
        else:
            made = RowFactor(factor.name, sight.count, views, rule.potentials().send)
        child = rule.own_view(factor) if factor.name in node.names else None
        graph.add_factor(factor, sight.rows, made, child)
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
        return QuadraticRows(*self._coefficients(self.sight), self.vectors.size)

    def sums(self) -> tuple[Array, Array]:
        return self._coefficients(self.sight.added_up(self.vectors.axes))

    def _coefficients(self, sight: SeenMembers) -> tuple[Array, Array]:
        """Return h and J of each row, for the vectors that it sees end to end."""
        vectors, width = self.vectors, self.vectors.size * len(sight.views)
        h, j = np.zeros((sight.count, width)), np.zeros((sight.count, width, width))
        for mine, table in self.rows.expected(sight.given):
            inner = [vectors.inner(a) for a in mine]
            outer = sight.pairs(vectors.places(mine[0]))
            table = collect(table, [*outer, *itertools.chain(*inner)], sight.given)
            axes = [tuple(axis for _, axis in part) for part in inner]
            values = table.over((*sight.rows, *itertools.chain(*axes)))
            values = values.reshape(sight.count, *map(count_of, axes))
            _add(h, j, [self._slice(sight, a) for a in mine], values)
        origin = vectors.origin()
        if origin is not None:
            rows = np.arange(sight.count)
            seen = [
                View("", sight.index(k, vectors.axes)).at(rows) for k in range(len(sight.views))
            ]
            from_origin = np.concatenate([origin[members] for members in seen], axis=1)
            h += np.einsum("rij,rj->ri", j, from_origin)  # h v' − ½ v'J v' with v' = v − r
        return h, j

    def _slice(self, sight: SeenMembers, access: Any) -> slice:
        start = sight.view_of(self.vectors.places(access)) * self.vectors.size
        part = self.vectors.slices[access.name]
        return slice(start + part.start, start + part.stop)


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
    graph = BlockGraph()
    for name, size in node.sizes.items():
        graph.add_states(name, size, bound)
    for rows in near:
        _add_states(graph, rows, node, block)
    for name in node.names:
        if name in bound.evidence:
            known = evidence_table(name, bound, node.sizes[name])
            graph.add_factor(None, known.rows, table_rows(known, bound))
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
    for mine, table in rows.expected(factor.rows):
        pairs = []
        for access in mine:
            here = sights[access.name]
            pairs += here.pairs(access.places)
            pairs.append((access.state, states[access.name, here.view_of(access.places)]))
        tables.append(collect(table, pairs, factor.rows))
    labels = (*sight.rows, *states.values())
    logs = Table(add_tables(tables, labels), labels).over(labels)
    logs = logs.reshape(sight.count, *shape_of(states.values()))
    rule = TableRows(np.where(logs < 0.1 * LOG_ZERO, -np.inf, logs))
    seen_by = tuple(View(n, sights[n].index(k, layouts[n].axes)) for n, k in views)
    made = RowFactor(factor.name, sight.count, seen_by, rule.send, rule.sweep)
    own = sights.get(factor.name)
    child = None if own is None else views.index((factor.name, own.view_of(factor.places)))
    graph.add_factor(factor, sight.rows, made, child)


_GRAPHS = {
    "statistics": _conjugate_graph,
    "numbers": _number_graph,
    "vectors": _normal_graph,
    "states": _discrete_graph,
}
