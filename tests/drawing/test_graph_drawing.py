"""Drawings of graphs have a shape for each node and a line for each edge."""

from xml.etree import ElementTree

import pytest

from posteriori.drawing import draw_graph
from posteriori.graphs import DirectedGraph, UndirectedGraph

GRAPH = DirectedGraph([("rain", "wet"), ("sprinkler", "wet"), ((0, 1), "rain")], nodes="alone")


@pytest.mark.topic("000/P20")
def test_all_nodes_and_edges_are_drawn():
    drawing = draw_graph(GRAPH, given=["wet", (0, 1)])
    assert [shape.label for shape in drawing.shapes] == list(map(str, GRAPH.nodes))
    assert [shape.label for shape in drawing.shapes if shape.shaded] == ["wet", "(0, 1)"]
    assert len(drawing.lines) == len(GRAPH.edges)
    assert all(line.arrow for line in drawing.lines)
    assert ElementTree.fromstring(drawing.svg()) is not None


def test_links_have_no_arrows():
    drawing = draw_graph(UndirectedGraph([(1, 2)]), given=1)
    assert not any(line.arrow for line in drawing.lines)
    assert [shape.shaded for shape in drawing.shapes] == [True, False]


def test_only_nodes_are_shaded():
    with pytest.raises(ValueError, match="given names 'rai', which is no node; did you mean"):
        draw_graph(GRAPH, given="rai")
