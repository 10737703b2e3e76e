"""Graphs of nodes and edges drawn: circles, with arrows where edges have a direction."""

from __future__ import annotations

from posteriori.drawing.drawing import Drawing
from posteriori.drawing.shapes import Line, Shape
from posteriori.graphs.edge_lists import as_nodes
from posteriori.graphs.graph_value import GraphValue
from posteriori.graphs.node_sets import Nodes
from posteriori.numerics.validation import hint

__all__ = ["draw_graph"]


def draw_graph(graph: GraphValue, given: Nodes = ()) -> Drawing:
    """Return a drawing of a directed or undirected graph, for SVG, DOT or Mermaid.

    Parameters
    ----------
    graph : DirectedGraph or UndirectedGraph
    given : node or iterable of nodes
        Nodes that are observed: they are shaded.

    Examples
    --------
    >>> from posteriori.graphs import DirectedGraph
    >>> print(draw_graph(DirectedGraph([("rain", "wet")]), given="wet").mermaid())
    flowchart TD
      n0(("rain"))
      n1(("wet"))
      n0 --> n1
      classDef observed fill:#d5dbe3
      class n1 observed
    """
    shaded = as_nodes(given, graph)
    for node in shaded:
        if node not in graph:
            raise ValueError(f"given names {node!r}, which is no node{hint(node, graph.nodes)}")
    key = {node: str(i) for i, node in enumerate(graph.nodes)}
    shapes = [Shape(key[node], str(node), "circle", node in shaded) for node in graph.nodes]
    lines = [Line(key[a], key[b], arrow=graph.directed) for a, b in graph.edges]
    return Drawing(tuple(shapes), tuple(lines))
