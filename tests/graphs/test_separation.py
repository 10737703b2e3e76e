"""Separation in directed graphs: by paths, by moral graphs, in tables, and in networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given as examples, strategies as st

from posteriori.graphs import DirectedGraph
from posteriori.tables import ConditionalTable, JointTable
from tests.graphs.small_graphs import (
    NETWORK,
    dags,
    is_blocked,
    questions,
    random_table,
    separated_by_paths,
)

FORK = DirectedGraph([("C", "A"), ("C", "B")])
CHAIN = DirectedGraph([("A", "C"), ("C", "B")])
COLLIDER = DirectedGraph([("A", "C"), ("B", "C"), ("C", "D")])


@pytest.mark.topic("000/P6", "001/3.15", "003/G.7")
@examples(questions(dags()))
def test_separation_is_that_of_every_path(question):
    graph, a, b, given = question
    separation = graph.separation(a, b, given)
    assert graph.is_separated(a, b, given) is separation.separated is bool(separation)
    assert separation.separated == separated_by_paths(graph, a, b, given)


@examples(questions(dags(most=8)))
def test_separation_is_that_of_networkx(question):
    graph, a, b, given = question
    expected = nx.is_d_separator(graph.to_networkx(), set(a), set(b), set(given))
    assert graph.is_separated(a, b, given) == expected


@examples(questions(dags()))
def test_separation_is_that_of_the_moral_graph_of_ancestors(question):
    graph, a, b, given = question
    asked = {*a, *b, *given}
    kept = asked | graph.ancestors(asked)
    part = DirectedGraph([edge for edge in graph.edges if kept.issuperset(edge)], kept)
    assert graph.is_separated(a, b, given) == part.moral().is_separated(a, b, given)


@pytest.mark.topic("001/3.11", "003/G.5")
@examples(questions(dags(most=5)), st.integers(0, 2**32 - 1))
def test_what_is_separated_is_independent_and_little_else(question, seed):
    graph, a, b, given = question
    table = random_table(graph, np.random.default_rng(seed))
    assert graph.is_separated(a, b, given) == table.is_independent(a, b, given, tolerance=1e-12)


@examples(questions(dags()))
def test_the_open_path_is_one(question):
    graph, a, b, given = question
    path = graph.separation(a, b, given).path
    if path is None:
        return
    other = graph.to_networkx()
    assert path.is_open
    assert path.blocked_by == ()
    assert len(set(path.nodes)) == len(path.nodes)
    assert path.nodes[0] in a
    assert path.nodes[-1] in b
    for x, arrow, y in zip(path.nodes, path.arrows, path.nodes[1:], strict=False):
        assert other.has_edge(x, y) if arrow == "→" else other.has_edge(y, x)
    assert not is_blocked(other, list(path.nodes), set(given))


# -- the notes -----------------------------------------------------------------------------------


@pytest.mark.topic("001/3.15", "000/P6")
def test_network_of_the_notes():
    graph = DirectedGraph(NETWORK)
    assert graph.is_separated("A", "D", given=["B", "C"])
    assert not graph.is_separated("A", "D", given="C")
    assert graph.separation("A", "D", given="C").path.nodes == ("A", "C", "B", "D")
    assert repr(graph.separation("A", "D", given="C")) == (
        "A and D are not separated given C:\n"
        "A → C ← B → D is open\n"
        "  C lets pass: collider, given\n"
        "  B lets pass: fork, not given"
    )


@pytest.mark.topic("001/3.12")
def test_fork():
    flu = JointTable.from_conditionals(
        ConditionalTable("C", (), [0.9, 0.1]),
        ConditionalTable("A", "C", [[0.8, 0.2], [0.3, 0.7]]),
        ConditionalTable("B", "C", [[0.95, 0.05], [0.2, 0.8]]),
    )
    assert not FORK.is_separated("A", "B")
    assert FORK.is_separated("A", "B", given="C")
    assert not flu.is_independent("A", "B")
    assert flu.is_independent("A", "B", given="C")
    assert flu.query("A=1 | B=1") > flu.query("A=1")  # a runny nose is likelier with fever


@pytest.mark.topic("001/3.13")
def test_chain():
    late = JointTable.from_conditionals(
        ConditionalTable("A", (), [0.7, 0.3]),
        ConditionalTable("C", "A", [[0.9, 0.1], [0.2, 0.8]]),
        ConditionalTable("B", "C", [[0.95, 0.05], [0.3, 0.7]]),
    )
    assert not CHAIN.is_separated("A", "B")
    assert CHAIN.is_separated("A", "B", given="C")
    assert not late.is_independent("A", "B")
    assert late.is_independent("A", "B", given="C")


@pytest.mark.topic("001/3.14", "000/P6", "003/G.7")
def test_collider_and_its_descendant():
    assert COLLIDER.is_separated("A", "B")
    assert not COLLIDER.is_separated("A", "B", given="C")
    assert not COLLIDER.is_separated("A", "B", given="D")
    path = COLLIDER.separation("A", "B", given="D").path
    assert path.roles == ("collider",)
    assert path.reasons == ("its descendant D is given",)
    crash = JointTable.from_conditionals(
        ConditionalTable("A", (), [0.6, 0.4]),
        ConditionalTable("B", (), [0.7, 0.3]),
        ConditionalTable("C", ["A", "B"], [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]),
        ConditionalTable("D", "C", [[0.9, 0.1], [0.2, 0.8]]),
    )
    assert crash.is_independent("A", "B")
    assert not crash.is_independent("A", "B", given="D")
    assert crash.query("A=1 | C=1, B=0") > crash.query("A=1 | C=1")  # explaining away


@pytest.mark.topic("000/P6", "000/P5")
def test_independence_without_separation():
    """Separation is sound; where a link copies, the table knows more than the graph."""
    copied = JointTable.from_conditionals(
        ConditionalTable("A", (), [0.3, 0.7]),
        ConditionalTable("C", "A", [[1.0, 0.0], [0.0, 1.0]]),
        ConditionalTable("B", "C", [[0.9, 0.1], [0.4, 0.6]]),
    )
    assert not CHAIN.is_separated("C", "B", given="A")
    assert copied.is_independent("C", "B", given="A")


# -- paths ---------------------------------------------------------------------------------------


@pytest.mark.topic("000/P6")
@examples(dags(), st.data())
def test_paths_are_all_paths_the_shortest_first(graph, data):
    a, b = data.draw(st.permutations(graph.nodes))[:2]
    rest = [node for node in graph.nodes if node not in (a, b)]
    given = data.draw(st.sets(st.sampled_from(rest))) if rest else set()
    other = graph.to_networkx()
    found = list(graph.paths(a, b, given, limit=None))
    expected = sorted(map(tuple, nx.all_simple_paths(other.to_undirected(), a, b)))
    assert sorted(path.nodes for path in found) == expected
    lengths = [len(path.nodes) for path in found]
    assert lengths == sorted(lengths)
    for path in found:
        assert path.is_open == (not is_blocked(other, list(path.nodes), given))
        triples = zip(path.nodes, path.nodes[1:], path.nodes[2:], strict=False)
        blocking = [t[1] for t in triples if is_blocked(other, list(t), given)]
        assert list(path.blocked_by) == blocking


def test_paths_between_sets_do_not_pass_through_them():
    graph = DirectedGraph([("A", "B"), ("B", "C"), ("C", "D"), ("A", "D")])
    found = {path.nodes for path in graph.paths(["A", "B"], ["C", "D"])}
    assert found == {("B", "C"), ("A", "D")}


def test_paths_come_one_by_one():
    n = 40  # more than 2^38 paths
    graph = DirectedGraph([(i, j) for i in range(n) for j in range(i + 1, n)])
    found = list(graph.paths(0, n - 1, limit=5))
    assert [len(path.nodes) for path in found] == [2, 3, 3, 3, 3]
    assert len(list(graph.paths(0, n - 1))) == 50


def test_blocked_paths_say_why():
    (path,) = COLLIDER.paths("A", "B")
    assert repr(path) == (
        "A → C ← B is blocked\n  C blocks: collider, neither it nor a descendant is given"
    )
    (path,) = CHAIN.paths("A", "B", given="C")
    assert repr(path) == "A → C → B is blocked\n  C blocks: chain, given"
    assert repr(COLLIDER.separation("A", "B")) == "A and B are separated: every path is blocked"


# -- bad questions, large graphs -----------------------------------------------------------------


def test_questions_that_have_no_answer():
    graph = DirectedGraph([("rain", "wet"), ("sprinkler", "wet")])
    with pytest.raises(ValueError, match=r"b names 'sprinkle'.*did you mean 'sprinkler'"):
        graph.is_separated("rain", "sprinkle")
    with pytest.raises(ValueError, match="a and given must not overlap, 'rain' is in both"):
        graph.separation("rain", "wet", given=["rain"])
    with pytest.raises(ValueError, match="a and b must not overlap"):
        graph.is_separated(["rain", "wet"], ["wet"])
    with pytest.raises(ValueError, match="a needs at least one node"):
        graph.is_separated([], "wet")
    with pytest.raises(ValueError, match=r"given names \['rain'\], which is no node"):
        graph.paths("sprinkler", "wet", given=[["rain"]])


@pytest.mark.parametrize("question", ["is_separated", "separation", "paths"])
def test_cycles_have_no_separation(question):
    graph = DirectedGraph([("A", "B"), ("B", "A"), ("B", "C")], acyclic=False)
    with pytest.raises(ValueError, match="cycle A → B → A; separation is not defined"):
        getattr(graph, question)("A", "C")


def test_large_graphs_are_searched_by_compiled_loops():
    n, rng = 30_000, np.random.default_rng(0)
    ends = rng.integers(0, n, size=(3 * n, 2))
    edges = np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1)
    graph = DirectedGraph(edges, nodes=range(n))
    other = graph.to_networkx()
    answers = set()
    for size in (0, 1000, 10_000, 28_000):
        a, b, *given = rng.permutation(n)[: 2 + size].tolist()
        answers.add(graph.is_separated(a, b, given))
        assert graph.is_separated(a, b, given) == nx.is_d_separator(other, {a}, {b}, set(given))
        path = graph.separation(a, b, given).path
        assert path is None or not is_blocked(other, list(path.nodes), set(given))
    assert answers == {True, False}


def test_long_chains_are_no_recursion():
    chain = DirectedGraph([(i, i + 1) for i in range(3000)])
    assert len(chain.separation(0, 3000).path.nodes) == 3001
    assert chain.is_separated(0, 3000, given=1500)
    assert len(chain.descendants(0)) == 3000
    assert next(chain.paths(0, 3000, given=1500)).blocked_by == (1500,)
