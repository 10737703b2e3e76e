"""A discrete block made of log tables, and the joint beliefs of the states that each table joins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from posteriori.modeling.binding.bound import Bound
from posteriori.modeling.binding.labelled import Axis, Lookup, Table, seen, shape_of
from posteriori.modeling.binding.places import add_tables, compact
from posteriori.modeling.exact.discrete.discrete_account import table_belief
from posteriori.modeling.exact.discrete.discrete_block import DiscreteBlock, DiscreteResult
from posteriori.modeling.exact.discrete.discrete_graph import Graph
from posteriori.modeling.exact.discrete.discrete_order import Order
from posteriori.modeling.exact.discrete.plate_elimination import sum_to
from posteriori.modeling.forms.state_tables import StateTable, View
from posteriori.modeling.variational.nodes.state_scopes import Scope

__all__ = ["TableBlock", "table_beliefs", "table_of_scope", "table_of_states"]


class TableBlock(DiscreteBlock):
    """A discrete block whose log tables are given.

    Parameters
    ----------
    bound : Bound
    sizes : mapping
        Number of states of each variable.
    tables : sequence of StateTable
    """

    def __init__(
        self, bound: Bound, sizes: Mapping[str, int], tables: Sequence[StateTable]
    ) -> None:
        super().__init__(bound, (), ())
        self.sizes = dict(sizes)
        self.names = tuple(sizes)
        self.__dict__["tables"] = list(tables)

    @cached_property
    def planned(self) -> Order:
        """The order, whose chain is one of many sweeps."""
        order = super().planned
        if order.graph.chain is None:
            return order
        chain = order.graph.chain._replace(repeated=True)
        return order._replace(graph=order.graph._replace(chain=chain))


def table_of_states(name: str, state: Axis, logits: Table, start: int) -> StateTable:
    """Return the log weights of each member's own states in one start."""
    axes = logits.axes[1:-1]
    table = Table(logits.values[start], logits.axes[1:])
    return StateTable(name, table, axes, (View(name, axes, state),))


def table_of_scope(scope: Scope, parts: Sequence[Table], restart: Axis, start: int) -> StateTable:
    """Return the log weights of states that meet in one start, without axes that do not matter."""
    states = tuple(s.state for s in scope.switches)
    labels = (*scope.rows, *states)
    values = add_tables(parts, (restart, *labels))
    values = values[min(start, len(values) - 1)]
    full = values.shape[: len(scope.rows)] + shape_of(states)
    table = compact(np.broadcast_to(values, full), labels)
    views = tuple(View(s.name, s.places, s.state) for s in scope.switches)
    return StateTable(scope.switches[-1].name, table, scope.rows, views)


def table_beliefs(result: DiscreteResult, first: int = 0) -> list[Table]:
    """Return the joint probabilities of what each table joins, under its own labels.

    Parameters
    ----------
    result : DiscreteResult
    first : int
        Tables before this one are left out.
    """
    block = result.block
    graph = block.graph
    if any(len(nodes) > 1 for nodes in graph.nodes.values()):
        names = ", ".join(block.names)
        raise TypeError(f"members of {names} meet in too many ways to be learned from together")
    found, local = [], -1
    for i, table in enumerate(block.tables):
        step = graph.placements[i].is_step
        local += not step
        if i < first:
            continue
        if step:
            found.append(_of_pairs(table, graph, result.solved.pairs[1]))
        else:
            _, belief = table_belief(block.planned, result.solved, local)
            found.append(_of_states(table, graph, belief))
    return found


def _of_states(table: StateTable, graph: Graph, belief: Table) -> Table:
    nodes = {name: node for name, (node,) in graph.nodes.items()}
    joined = {view.name: nodes[view.name] for view in table.views}
    found = sum_to(belief, set(nodes.values()), joined.values())
    for view in table.views:
        node = nodes[view.name]
        found = seen(found, (node, *graph.plates[node]), (view.state, *view.places))
    return found


def _of_pairs(table: StateTable, graph: Graph, pairs: Table) -> Table:
    chain = graph.chain
    assert chain is not None
    before = dict(zip(chain.nodes, chain.before, strict=True))
    new: dict[Axis, Axis] = {}
    for view in table.views:
        (node,) = graph.nodes[view.name]
        for own, place in zip(graph.plates[node], view.places, strict=True):
            if isinstance(place, Lookup):
                assert place.run is not None
                assert place.run.label is not None
                new[chain.arrival] = place.run.label
                new[node if place.run.start else before[node]] = view.state
            else:
                new[own] = place
        if node in chain.static:
            new[node] = view.state
    nodes = {*chain.nodes, *chain.before, *chain.static}
    kept = sum_to(pairs, nodes, new)
    return kept.relabelled(new)
