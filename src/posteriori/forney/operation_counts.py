"""How many operations a sum of products takes, term by term and by messages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from posteriori.forney.schedules import find_schedule
from posteriori.forney.structure import GraphStructure

__all__ = ["OperationCounts", "Operations", "count_operations"]


class Operations(NamedTuple):
    """Numbers of elementary operations."""

    multiplications: int
    additions: int


class OperationCounts(NamedTuple):
    """The cost of a sum of products, term by term and by messages."""

    direct: Operations
    messages: Operations


def count_operations(graph: GraphStructure, target: str | None = None) -> OperationCounts:
    """Count operations for a marginal, or for the sum over all configurations.

    Terms one by one: a product of all factors in every cell of the joint table. By messages:
    every node multiplies in one message and sums over its edge before the next.
    """
    sizes = {edge: len(graph.labels(edge)) for edge in graph.edges}
    variables = {graph.edges[e].variable: size for e, size in sizes.items()}
    cells = math.prod(variables.values())
    factors = sum(node.is_factor for node in graph.nodes.values())
    left = 1 if target is None else sizes[target]
    direct = Operations(cells * (factors - 1), cells - left)
    if target is not None:
        return OperationCounts(direct, _count_marginal(graph, target, sizes))
    multiplications, additions = len(graph.components) - 1, 0
    for component in graph.components:
        edge = graph.edge_in(component)
        if edge is not None:
            cost = _count_marginal(graph, edge, sizes)
            multiplications += cost.multiplications
            additions += cost.additions + sizes[edge] - 1
    return OperationCounts(direct, Operations(multiplications, additions))


def _count_marginal(graph: GraphStructure, target: str, sizes: Mapping[str, int]) -> Operations:
    multiplications = additions = 0
    for edge, name in find_schedule(graph, target):
        node = graph.nodes[name]
        others = [e for e in node.edges if e != edge]
        if not node.is_factor:
            full = sum(not graph.edges[e].is_half for e in others)
            multiplications += max(0, full - 1) * sizes[edge]
            continue
        cells = math.prod(sizes[e] for e in node.edges)
        for other in others:
            multiplications += 0 if graph.edges[other].is_half else cells
            additions += cells - cells // sizes[other]
            cells //= sizes[other]
    if not graph.edges[target].is_half:
        multiplications += sizes[target]
    return Operations(multiplications, additions)
