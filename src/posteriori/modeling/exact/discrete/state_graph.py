"""Discrete variables as a graph on which messages pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.inference.messages.forest_order import Batch
from posteriori.modeling.forms.message_graph import BlockGraph, Edge, state_reader, table_rows

if TYPE_CHECKING:
    from posteriori.modeling.exact.discrete.discrete_block import DiscreteBlock

__all__ = ["state_graph"]


def state_graph(block: DiscreteBlock) -> BlockGraph:
    """Return the graph of discrete variables: a node for each member."""
    bound = block.bound
    graph = BlockGraph({}, [], [], {}, {})
    for name, size in block.sizes.items():
        graph.shapes[name] = bound.layouts[name].shape
        count = int(np.prod(graph.shapes[name]))
        graph.variables[name] = Batch(count, ((size,), (size,)))
        graph.readers[name] = state_reader(bound.families[name], bound.labels.get(name))
    known: list[Any] = [None] * (len(block.tables) - len(block.factors))
    for factor, table in zip([*block.factors, *known], block.tables, strict=True):
        for slot, view in enumerate(table.views):
            is_child = view.name == table.name and slot == len(table.views) - 1
            number = len(graph.factors)
            graph.edges.append(Edge(factor, view.name, is_child, table.rows, number, slot))
        graph.factors.append(table_rows(table, bound))
    return graph
