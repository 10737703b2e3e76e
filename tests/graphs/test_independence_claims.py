"""What graphs claim: against all statements, one by one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given as examples

from posteriori.graphs import DirectedGraph, UndirectedGraph, compare_independences
from tests.graphs.small_graphs import dags, random_table


def statements(graph):
    found = set()
    for a, b in combinations(graph.nodes, 2):
        rest = [node for node in graph.nodes if node not in (a, b)]
        for size in range(len(rest) + 1):
            for given in combinations(rest, size):
                if graph.is_separated(a, b, given):
                    found.add((a, b, given))
    return found


@pytest.mark.topic("000/P16")
@examples(dags(most=5))
def test_moral_graphs_lose_claims_and_make_none(graph):
    moral = graph.moral()
    found = list(compare_independences(graph, moral, most_given=None, limit=None))
    lost = {(a, b, given) for a, b, given, by in found if by == "first"}
    assert lost == statements(graph) - statements(moral)
    assert all(claim.claimed_by == "first" for claim in found)
    assert [len(claim.given) for claim in found] == sorted(len(claim.given) for claim in found)


@pytest.mark.topic("000/P16")
def test_a_square_is_no_directed_graph():
    square = UndirectedGraph([("A", "C"), ("C", "B"), ("B", "D"), ("D", "A")])
    directed = DirectedGraph([("A", "C"), ("A", "D"), ("B", "C"), ("B", "D")], nodes=square.nodes)
    claims = set(map(str, compare_independences(square, directed)))
    assert claims == {
        "A ⟂ B | C, D in the first only",
        "A ⟂ B in the second only",
    }


def test_tables_are_compared_as_well():
    graph = DirectedGraph([("A", "C"), ("B", "C")])
    table = random_table(graph, np.random.default_rng(0))
    assert list(compare_independences(graph, table)) == []
    assert next(compare_independences(table, graph.skeleton())).claimed_by == "first"


def test_claims_have_limits():
    empty = DirectedGraph(nodes=range(12))
    full = DirectedGraph(combinations(range(12), 2))
    assert len(list(compare_independences(empty, full))) == 100
    assert len(list(compare_independences(empty, full, most_given=0, limit=None))) == 66
    assert list(compare_independences(empty, full, limit=0)) == []


def test_nodes_must_be_the_same():
    graph = DirectedGraph([("rain", "wet")])
    with pytest.raises(ValueError, match="first has 'wet', the second does not; did you mean 'we'"):
        compare_independences(graph, DirectedGraph([("rain", "we")]))
    with pytest.raises(ValueError, match="second has 'snow', the first does not"):
        compare_independences(graph, DirectedGraph([("rain", "wet")], nodes="snow"))
    with pytest.raises(TypeError, match="second must be a graph or a table, got int"):
        compare_independences(graph, 3)
