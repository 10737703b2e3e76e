"""Forney-style graphs drawn: boxes for factors, lines for variables."""

from __future__ import annotations

from posteriori.drawing import Box, Drawing, Line, Shape
from posteriori.forney.forney_nodes import Edge, Node
from posteriori.forney.structure import GraphStructure

__all__ = ["draw_forney"]

_SYMBOLS = {"equality": "=", "addition": "+", "gain": "A", "dot": "xᵀy", "gaussian": "N"}


def draw_forney(graph: GraphStructure) -> Drawing:
    """Return a Forney-style graph: boxes for factors, lines for variables."""
    shapes = [_shape(node) for node in graph.nodes.values()]
    lines = []
    for name, edge in graph.edges.items():
        shown = "" if name in graph.nodes else name
        if edge.is_half:
            end = f"end of {name}"
            shapes.append(Shape(end, "", "end", plates=graph.nodes[edge.nodes[0]].plates))
            lines.append(Line(edge.nodes[0], end, shown, arrow=False))
        else:
            lines.append(Line(*_toward_data(graph, edge), shown, arrow=False))
    boxes = tuple(Box(key, label) for key, label in graph.plates.items())
    return Drawing(tuple(shapes), tuple(lines), boxes)


def _shape(node: Node) -> Shape:
    if node.kind == "clamp":
        return Shape(node.name, "", "point", True, node.name, node.plates)
    label = node.name if node.kind == "tabular" else _SYMBOLS.get(node.kind, node.kind)
    return Shape(node.name, label, "square", False, node.name, node.plates)


def _toward_data(graph: GraphStructure, edge: Edge) -> tuple[str, str]:
    """Order the ends of an edge from the node that makes the variable to the one that reads it."""
    first, second = edge.nodes
    makes = [_makes(graph.nodes[name], edge.name) for name in edge.nodes]
    return (second, first) if makes[1] > makes[0] else (first, second)


def _makes(node: Node, edge: str) -> int:
    if node.kind == "clamp":
        return 0
    if node.kind == "equality":
        return 2 * (edge != node.edges[0])
    return 1 if node.kind == "tabular" else 2 * (edge == node.edges[0])
