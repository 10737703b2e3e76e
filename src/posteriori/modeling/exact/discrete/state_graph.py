"""Discrete variables as a graph on which messages pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posteriori.modeling.forms.message_graph import BlockGraph, table_rows

if TYPE_CHECKING:
    from posteriori.modeling.exact.discrete.discrete_block import DiscreteBlock

__all__ = ["state_graph"]


def state_graph(block: DiscreteBlock) -> BlockGraph:
    """Return the graph of discrete variables: a node for each member."""
    bound = block.bound
    graph = BlockGraph()
    for name, size in block.sizes.items():
        graph.add_states(name, size, bound)
    known: list[Any] = [None] * (len(block.tables) - len(block.factors))
    for factor, table in zip([*block.factors, *known], block.tables, strict=True):
        last = len(table.views) - 1
        child = last if table.views[last].name == table.name else None
        graph.add_factor(factor, table.rows, table_rows(table, bound), child)
    return graph
