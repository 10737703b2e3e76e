"""Directed graphs as values: families, order, cycles, and the graphs made from them."""

import pickle
from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given as examples, strategies as st

from posteriori.graphs import DirectedGraph, NodeSet, UndirectedGraph
from tests.graphs.small_graphs import NETWORK, dags, random_table

GRAPH = DirectedGraph(NETWORK)


@pytest.mark.topic("001/3.2")
@examples(dags())
def test_families_are_those_of_networkx(graph):
    other = graph.to_networkx()
    for node in graph.nodes:
        assert graph.parents(node) == set(other.predecessors(node))
        assert graph.children(node) == set(other.successors(node))
        assert graph.ancestors(node) == nx.ancestors(other, node)
        assert graph.descendants(node) == nx.descendants(other, node)


@examples(dags(), st.data())
def test_families_of_sets_leave_the_set_out(graph, data):
    chosen = data.draw(st.sets(st.sampled_from(graph.nodes)))
    for family in (graph.parents, graph.children, graph.ancestors, graph.descendants):
        expected = set().union(*(family(node) for node in chosen)) - chosen
        assert family(chosen) == expected
    assert not chosen & graph.markov_blanket(chosen)


@pytest.mark.topic("001/3.16", "000/P7", "003/G.8")
def test_markov_blankets_of_the_notes():
    blankets = {"A": "BC", "B": "ACD", "C": "ABDE", "D": "BCE", "E": "CD"}
    assert {node: set(GRAPH.markov_blanket(node)) for node in GRAPH} == {
        node: set(others) for node, others in blankets.items()
    }
    regression = DirectedGraph([("W", "T"), ("X", "T")])
    new = regression.expand_plates({"T": "n", "X": "n"}, {"n": 3})
    assert new.markov_blanket("T[2]") == {"X[2]", "W"}


@pytest.mark.topic("001/3.16", "000/P7", "003/G.8")
@examples(dags())
def test_a_node_is_separated_from_all_others_by_its_blanket_and_by_no_part_of_it(graph):
    for node in graph.nodes:
        blanket = graph.markov_blanket(node)
        others = set(graph.nodes) - blanket - {node}
        assert not others or graph.is_separated(node, others, blanket)
        for left_out in blanket:
            assert not graph.is_separated(node, left_out, blanket - {left_out})


# -- order and cycles ----------------------------------------------------------------------------


@pytest.mark.topic("001/3.1")
@examples(dags())
def test_parents_come_before_children(graph):
    order = graph.topological_order()
    assert sorted(order) == sorted(graph.nodes)
    assert all(order.index(a) < order.index(b) for a, b in graph.edges)


@pytest.mark.topic("001/3.1")
def test_order_and_cycle_of_the_notes():
    assert GRAPH.topological_order() == ("A", "B", "C", "D", "E")
    edges = [("A", "B"), ("A", "C"), ("C", "D"), ("D", "A")]
    with pytest.raises(ValueError, match="cycle A → C → D → A; leave an edge out"):
        DirectedGraph(edges)
    kept = DirectedGraph(edges, acyclic=False)
    assert kept.cycle == ("A", "C", "D")
    assert kept.parents("A") == {"D"}
    assert kept.descendants("D") == {"A", "B", "C"}
    with pytest.raises(ValueError, match="cycle A → C → D → A"):
        kept.topological_order()


@examples(st.lists(st.tuples(*[st.integers(0, 6)] * 2)))
def test_cycles_are_found_where_there_are_any(edges):
    graph = DirectedGraph(edges, acyclic=False)
    other = nx.DiGraph(edges)
    cycle = graph.cycle
    assert bool(cycle) == (not nx.is_directed_acyclic_graph(other))
    assert len(set(cycle)) == len(cycle)
    assert all(other.has_edge(a, b) for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True))


def test_long_cycles_are_named_in_part():
    edges = [(i, (i + 1) % 100) for i in range(100)]
    with pytest.raises(ValueError, match=r"10 → 11 → … \(100 nodes\) → 0;"):
        DirectedGraph(edges)
    with pytest.raises(ValueError, match="cycle A → A;"):
        DirectedGraph([("A", "A")])


# -- graphs of graphs ----------------------------------------------------------------------------


@examples(dags())
def test_moral_graph_links_parents(graph):
    expected = {frozenset(edge) for edge in graph.edges}
    for node in graph.nodes:
        expected |= {frozenset(pair) for pair in combinations(graph.parents(node), 2)}
    moral = graph.moral()
    assert {frozenset(edge) for edge in moral.edges} == expected
    assert moral.nodes == graph.skeleton().nodes == graph.nodes
    assert {frozenset(edge) for edge in graph.skeleton().edges} == set(map(frozenset, graph.edges))


def test_moral_graph_of_the_notes():
    assert GRAPH.moral() == UndirectedGraph([*NETWORK, ("A", "B")])


@examples(dags(), st.data())
def test_surgery(graph, data):
    chosen = data.draw(st.sets(st.sampled_from(graph.nodes)))
    cut = graph.without_incoming(chosen)
    assert cut.nodes == graph.nodes
    assert cut.edges == tuple((a, b) for a, b in graph.edges if b not in chosen)
    cut = graph.without_outgoing(chosen)
    assert cut.edges == tuple((a, b) for a, b in graph.edges if a not in chosen)


# -- from an order -------------------------------------------------------------------------------

ALARM = DirectedGraph([("B", "A"), ("Q", "A"), ("A", "J"), ("A", "M")])


@pytest.mark.topic("001/3.18", "000/P2")
@pytest.mark.parametrize(
    ("order", "n_edges", "n_numbers"), [("BQAJM", 4, 10), ("MJABQ", 6, 13), ("MJQBA", 10, 31)]
)
def test_burglary(order, n_edges, n_numbers):
    """Russell and Norvig: 10, 13 and 31 numbers for binary variables, by the order."""
    for oracle in (
        ALARM,
        random_table(ALARM, np.random.default_rng(0)),
        lambda x, y, given: ALARM.is_separated(x, y, given),
    ):
        graph = DirectedGraph.from_order(order, oracle)
        assert len(graph.edges) == n_edges
        assert sum(2 ** len(graph.parents(node)) for node in graph) == n_numbers
        assert graph.topological_order() == tuple(order) or order == "BQAJM"


@pytest.mark.topic("001/3.18", "000/P2")
@examples(dags(most=5), st.data())
def test_parents_are_minimal_and_suffice(graph, data):
    order = data.draw(st.permutations(graph.nodes))
    made = DirectedGraph.from_order(order, graph)
    assert made.nodes == tuple(order)
    for i, x in enumerate(order):
        parents, before = set(made.parents(x)), set(order[:i])
        assert parents <= before
        assert parents == before or graph.is_separated(x, before - parents, parents)
        for y in parents:
            assert not graph.is_separated(x, (before - parents) | {y}, parents - {y})
    if all(order.index(a) < order.index(b) for a, b in graph.edges):
        assert made == graph


def test_parents_suffice_where_they_are_not_unique():
    """A and its copy C tell the same of B: one of them is its parent."""
    table = random_table(DirectedGraph([("A", "C"), ("A", "B")]), np.random.default_rng(1))

    def independent(x, y, given):  # as if C were a copy of A
        merged = {"C": "A"}
        x, y, known = merged.get(x, x), merged.get(y, y), {merged.get(z, z) for z in given}
        return y in known or x in known or (x != y and table.is_independent(x, y, known))

    for order in permutations("ABC"):
        graph = DirectedGraph.from_order(order, independent)
        assert len(graph.edges) == 2


def test_orders_and_oracles_that_are_none():
    with pytest.raises(ValueError, match="order holds 'A' twice"):
        DirectedGraph.from_order(["A", "B", "A"], lambda x, y, given: True)
    with pytest.raises(TypeError, match=r"independent must be a graph.*got int"):
        DirectedGraph.from_order("AB", 3)
    with pytest.raises(ValueError, match="'Z', which is no node"):
        DirectedGraph.from_order("ABZ", ALARM)


# -- plates --------------------------------------------------------------------------------------


@pytest.mark.topic("000/P4", "001/3.4")
def test_plates_are_written_out():
    graph = DirectedGraph([("W", "T"), ("X", "T"), ("a", "W")])
    wide = graph.expand_plates({"T": "n", "X": ["n"]}, {"n": 3})
    assert wide.nodes == ("W", "T[0]", "T[1]", "T[2]", "X[0]", "X[1]", "X[2]", "a")
    assert set(wide.edges) == {("a", "W")} | {
        edge for i in range(3) for edge in [("W", f"T[{i}]"), (f"X[{i}]", f"T[{i}]")]
    }
    assert wide.is_separated("T[0]", "T[1]", given="W")
    assert not wide.is_separated("T[0]", "T[1]")


def test_plates_that_nest_and_cross():
    graph = DirectedGraph([("user", "rating"), ("film", "rating"), ("rating", "mean")])
    on = {"user": "u", "film": "f", "rating": ("u", "f")}
    wide = graph.expand_plates(on, {"u": 2, "f": 3})
    assert len(wide.nodes) == 2 + 3 + 6 + 1
    assert wide.parents("rating[1,2]") == {"user[1]", "film[2]"}
    assert len(wide.parents("mean")) == 6
    assert graph.expand_plates(on, {"u": 0, "f": 1}).nodes == ("film[0]", "mean")
    assert graph.expand_plates({}, {}) == graph


@pytest.mark.parametrize(
    ("plates", "sizes", "message"),
    [
        ({"Y": "n"}, {"n": 2}, "plates names 'Y', which is no node"),
        ({"T": "n"}, {"N": 2}, "plate 'n', which has no size in sizes; did you mean 'N'"),
        ({"T": "n"}, {"n": 1.5}, "whole numbers from 0 on, 'n' has 1.5"),
        ({"T": "n"}, {"n": -1}, "whole numbers from 0 on"),
        ({"T": ["n", "n"]}, {"n": 2}, "plates of 'T' must be distinct"),
        ({"T": "n"}, {"n": 2}, r"would be called 'T\[1\]'"),
    ],
)
def test_plates_that_are_none(plates, sizes, message):
    graph = DirectedGraph([("W", "T")], nodes="T[1]")
    with pytest.raises(ValueError, match=message):
        graph.expand_plates(plates, sizes)


# -- being a value -------------------------------------------------------------------------------


def test_a_graph_is_a_value():
    same = DirectedGraph(reversed(NETWORK), nodes=list("EDCBA"))
    assert same == GRAPH
    assert hash(same) == hash(GRAPH)
    assert DirectedGraph(NETWORK[1:], nodes="A") != GRAPH
    assert GRAPH.skeleton() != GRAPH
    assert DirectedGraph(NETWORK * 2) == GRAPH
    assert eval(repr(GRAPH)) == GRAPH
    assert repr(DirectedGraph(nodes=["A", 1])) == "DirectedGraph([], nodes=['A', 1])"
    assert repr(DirectedGraph([(i, i + 1) for i in range(99)])) == (
        "DirectedGraph(100 nodes, 99 edges)"
    )
    assert pickle.loads(pickle.dumps(GRAPH)) == GRAPH
    assert "A" in GRAPH
    assert ["A"] not in GRAPH
    assert len(GRAPH) == 5
    with pytest.raises(AttributeError, match="is a value"):
        GRAPH.nodes = ()
    with pytest.raises(ValueError, match="read-only"):
        GRAPH._pairs[0] = 1


def test_sets_of_nodes_keep_their_order():
    nodes = GRAPH.parents("E")
    assert list(nodes) == ["C", "D"]
    assert isinstance(nodes, NodeSet)
    assert nodes == {"D", "C"}
    assert {"D", "C"} == nodes
    assert hash(nodes) == hash(frozenset("CD"))
    assert repr(nodes) == "{'C', 'D'}"
    assert str(nodes) == "C, D"
    assert pickle.loads(pickle.dumps(nodes))._order == ("C", "D")


def test_nodes_are_anything_hashable():
    cells = DirectedGraph([((0, 0), (0, 1)), ((0, 1), (1, 1))])
    assert cells.parents((0, 1)) == {(0, 0)}
    assert cells.is_separated((0, 0), (1, 1), given=(0, 1))
    assert cells.is_separated((0, 0), (1, 1), given=[(0, 1)])
    array = DirectedGraph(np.array([[3, 1], [1, 2]]))
    assert array.nodes == (1, 2, 3)
    assert array.ancestors(2) == {1, 3}
    assert array == DirectedGraph([(3, 1), (1, 2)])
    assert DirectedGraph(np.array([["a", "b"]]), nodes="c").nodes == ("c", "a", "b")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: DirectedGraph(["AB"]), ValueError, "an edge is a pair of nodes, got 'AB'"),
        (lambda: DirectedGraph([("A", "B", "C")]), ValueError, "an edge is a pair of nodes"),
        (lambda: DirectedGraph([3]), ValueError, "an edge is a pair of nodes, got 3"),
        (lambda: DirectedGraph("AB"), TypeError, "edges must be pairs of nodes, got 'AB'"),
        (lambda: DirectedGraph([(["A"], "B")]), TypeError, "nodes must be hashable"),
        (lambda: DirectedGraph(nodes=[["A"]]), TypeError, "nodes must be hashable"),
        (lambda: DirectedGraph(np.zeros((3, 3), int)), ValueError, r"shape \(E, 2\), got \(3, 3\)"),
        (lambda: GRAPH.parents("F"), ValueError, "nodes names 'F', which is no node; the nodes"),
        (lambda: GRAPH.without_incoming(["A", "a"]), ValueError, "did you mean 'A'"),
    ],
)
def test_what_is_no_graph(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_networkx_and_back():
    other = GRAPH.to_networkx()
    assert DirectedGraph.from_networkx(other) == GRAPH
    assert UndirectedGraph.from_networkx(other.to_undirected()) == GRAPH.skeleton()
    assert list(other.nodes) == list(GRAPH.nodes)
    with pytest.raises(ValueError, match=r"UndirectedGraph\.from_networkx reads it"):
        DirectedGraph.from_networkx(other.to_undirected())
    with pytest.raises(ValueError, match="a directed one, UndirectedGraph needs an undirected"):
        UndirectedGraph.from_networkx(other)
    with pytest.raises(TypeError, match="a graph of networkx, got list"):
        DirectedGraph.from_networkx([("A", "B")])
    cyclic = nx.DiGraph([(1, 2), (2, 1)])
    with pytest.raises(ValueError, match="cycle 1 → 2 → 1"):
        DirectedGraph.from_networkx(cyclic)
    assert DirectedGraph.from_networkx(cyclic, acyclic=False).cycle == (1, 2)
    assert DirectedGraph.from_networkx(nx.MultiDiGraph([(1, 2), (1, 2)])).edges == ((1, 2),)


def test_a_graph_without_nodes():
    empty = DirectedGraph()
    assert empty.topological_order() == ()
    assert empty.moral().nodes == ()
    assert list(empty.moral().maximal_cliques()) == []
    assert empty.cycle == ()
