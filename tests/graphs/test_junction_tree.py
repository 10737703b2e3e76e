"""Triangulations and junction trees: by their definitions, and against networkx."""

from collections import Counter
from itertools import combinations, permutations
from math import prod

import networkx as nx
import pytest
from hypothesis import given as examples, strategies as st

from posteriori.graphs import DirectedGraph, UndirectedGraph
from tests.graphs.small_graphs import NETWORK, undirected

MORAL = DirectedGraph(NETWORK).moral()
SQUARE = UndirectedGraph([("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")])


def as_tree(tree):
    graph = nx.Graph()
    graph.add_nodes_from(range(len(tree.cliques)))
    graph.add_edges_from(tree.edges)
    return graph


@st.composite
def orders(draw, graph):
    return draw(st.sampled_from(["min-fill", "min-weight", draw(st.permutations(graph.nodes))]))


@examples(undirected(), st.data())
def test_triangulated_graphs_are_chordal(graph, data):
    order = data.draw(orders(graph))
    wide = graph.triangulate(order)
    assert wide.nodes == graph.nodes
    assert set(map(frozenset, wide.edges)) >= set(map(frozenset, graph.edges))
    assert nx.is_chordal(wide.to_networkx())
    if nx.is_chordal(graph.to_networkx()) and isinstance(order, str):
        assert wide == graph


@examples(undirected(), st.data())
def test_an_order_links_those_who_are_left(graph, data):
    order = data.draw(st.permutations(graph.nodes))
    left = graph.to_networkx()
    expected = set(map(frozenset, graph.edges))
    for node in order:
        pairs = list(combinations(left[node], 2))
        expected |= set(map(frozenset, pairs))
        left.add_edges_from(pairs)
        left.remove_node(node)
    assert set(map(frozenset, graph.triangulate(order).edges)) == expected


@examples(undirected(), st.data())
def test_cliques_that_share_nodes_share_them_with_all_between(graph, data):
    order = data.draw(orders(graph))
    sizes = {node: data.draw(st.integers(1, 5)) for node in graph.nodes}
    tree = graph.junction_tree(sizes, order)
    cliques, links = tree.cliques, as_tree(tree)
    assert set(cliques) == set(graph.triangulate(order, sizes).maximal_cliques())
    assert len(set(cliques)) == len(cliques)
    assert nx.is_forest(links)
    for node in graph.nodes:
        assert nx.is_connected(links.subgraph(i for i, c in enumerate(cliques) if node in c))
    for (i, j), shared in zip(tree.edges, tree.separators, strict=True):
        assert shared == cliques[i] & cliques[j]
    assert tree.cells == sum(prod(sizes[node] for node in clique) for clique in cliques)
    assert tree.width == max(map(len, cliques)) - 1


def test_junction_tree_of_the_notes():
    tree = MORAL.junction_tree()
    assert set(tree.cliques) == {frozenset("ABC"), frozenset("BCD"), frozenset("CDE")}
    assert set(tree.separators) == {frozenset("BC"), frozenset("CD")}
    assert (tree.width, tree.cells) == (2, 24)
    assert MORAL.junction_tree(dict.fromkeys("ABCDE", 10)).cells == 3000


def test_the_largest_table_of_each_order():
    """Of the 24 orders that leave E for last, 2 need three variables at once, 16 four, 6 five."""
    widths = [MORAL.junction_tree(order=[*order, "E"]).width for order in permutations("ABCD")]
    assert Counter(width + 1 for width in widths) == {3: 2, 4: 16, 5: 6}


def test_sizes_choose_between_fills():
    sizes = {
        "A": 10,
        "B": 2,
        "C": 10,
        "D": 2,
    }  # B and D should be joined: tables of 40 cells, not 200
    assert SQUARE.junction_tree(sizes, "min-weight").cells == 80
    assert SQUARE.junction_tree(sizes, ["B", "A", "C", "D"]).cells == 400


def test_parts_are_trees_of_their_own():
    tree = UndirectedGraph([("A", "B"), ("C", "D")], nodes="E").junction_tree()
    assert tree.edges == ()
    assert set(tree.cliques) == {frozenset("AB"), frozenset("CD"), frozenset("E")}
    assert (tree.width, tree.cells) == (1, 10)
    assert str(tree).startswith("JunctionTree(3 cliques, width 1, 10 cells)\n  {")
    assert UndirectedGraph().junction_tree().cliques == ()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SQUARE.triangulate("min-fil"), "'min-fil'; did you mean 'min-fill'"),
        (lambda: SQUARE.triangulate(["A", "B", "C"]), "order must name all nodes, 'D' is missing"),
        (lambda: SQUARE.triangulate(["A", "B", "C", "E"]), "order names 'E', which is no node"),
        (lambda: SQUARE.triangulate(["A", "A", "B", "C"]), "order holds 'A' twice"),
        (lambda: SQUARE.junction_tree({"A": 2}), "sizes has no entry for 'B'"),
        (lambda: SQUARE.junction_tree({"Z": 2}), "sizes names 'Z', which is no node"),
        (lambda: SQUARE.junction_tree({"A": 0}), "whole numbers from 1 on, 'A' has 0"),
        (lambda: SQUARE.junction_tree({"A": 1.5}), "whole numbers from 1 on, 'A' has 1.5"),
    ],
)
def test_orders_and_sizes_that_are_none(make, message):
    with pytest.raises(ValueError, match=message):
        make()
