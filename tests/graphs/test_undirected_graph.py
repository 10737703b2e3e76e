"""Undirected graphs: separation and cliques against networkx and by enumeration."""

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given as examples

from posteriori.graphs import UndirectedGraph
from tests.graphs.small_graphs import questions, undirected

NOTES = UndirectedGraph(
    [("A", "B"), ("A", "C"), ("C", "D"), ("B", "D"), ("B", "E"), ("D", "E")], nodes="F"
)


@pytest.mark.topic("000/P11")
@examples(questions(undirected()))
def test_sets_are_separated_if_no_path_is_left(question):
    graph, a, b, given = question
    left = graph.to_networkx()
    left.remove_nodes_from(given)
    expected = not any(nx.has_path(left, x, y) for x in a for y in b)
    assert graph.is_separated(a, b, given) == expected


@pytest.mark.topic("000/P9")
@examples(undirected())
def test_cliques_are_all_that_cannot_be_extended(graph):
    links = set(map(frozenset, graph.edges))
    cliques = [
        set(nodes)
        for size in range(1, len(graph) + 1)
        for nodes in combinations(graph.nodes, size)
        if all(frozenset(pair) in links for pair in combinations(nodes, 2))
    ]
    maximal = [clique for clique in cliques if not any(clique < other for other in cliques)]
    found = list(graph.maximal_cliques())
    assert len(found) == len(maximal)
    assert set(found) == set(map(frozenset, maximal))


@pytest.mark.topic("000/P9")
def test_cliques_of_the_notes():
    found = {"".join(sorted(clique)) for clique in NOTES.maximal_cliques()}
    assert found == {"AC", "AB", "CD", "BDE", "F"}


def test_cliques_come_one_by_one():
    parts = 25  # 3^25 cliques
    graph = UndirectedGraph(nx.complete_multipartite_graph(*[3] * parts).edges)
    found = list(graph.maximal_cliques(limit=100))
    assert len(set(found)) == 100
    assert all(len(clique) == parts for clique in found)


def test_a_large_clique_is_no_recursion():
    graph = UndirectedGraph(combinations(range(1100), 2))
    (clique,) = graph.maximal_cliques()
    assert len(clique) == 1100


@pytest.mark.topic("000/P12")
def test_the_blanket_is_the_neighbours():
    assert NOTES.markov_blanket("B") == {"A", "D", "E"}
    assert NOTES.neighbours(["B", "D"]) == {"A", "C", "E"}
    assert NOTES.is_separated("B", ["C", "F"], given=NOTES.markov_blanket("B"))


def test_edges_have_no_direction():
    graph = UndirectedGraph([("B", "A"), ("A", "B"), ("B", "C")])
    assert graph == UndirectedGraph([("C", "B"), ("A", "B")])
    assert hash(graph) == hash(UndirectedGraph([("C", "B"), ("A", "B")]))
    assert graph.edges == (("B", "A"), ("B", "C"))
    with pytest.raises(ValueError, match="from 'A' to itself"):
        UndirectedGraph([("A", "A")])
    assert UndirectedGraph.from_networkx(graph.to_networkx()) == graph
