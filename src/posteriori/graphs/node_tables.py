"""Factors of the nodes of a tabular graph, over its edges or over its variables."""

from __future__ import annotations

import numpy as np

from posteriori.factors import Factor
from posteriori.graphs.forney_nodes import Node
from posteriori.graphs.structure import GraphStructure

__all__ = ["tables_on_edges", "tables_on_variables"]


def tables_on_edges(graph: GraphStructure, node: Node) -> list[Factor]:
    """Return the factor of a node over its edges; equality as identities of pairs."""
    if node.is_factor:
        return [node.table().rename(dict(zip(node.roles, node.edges, strict=True)))]
    first, *others = node.edges
    labels = graph.labels(first)
    return [Factor([first, o], np.eye(len(labels)), [labels, labels]) for o in others]


def tables_on_variables(graph: GraphStructure) -> dict[str, Factor]:
    """Return the factors over variables by node; equality nodes, which only copy, have none."""
    found = {}
    for name, node in graph.nodes.items():
        if node.is_factor:
            edges = zip(node.roles, node.edges, strict=True)
            found[name] = node.table().rename({r: graph.edges[e].variable for r, e in edges})
    return found
