"""Small random graphs, and separation by its definition: every path, every inner node."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from posteriori.graphs import DirectedGraph, UndirectedGraph
from posteriori.tables import ConditionalTable, JointTable

NETWORK = [("A", "C"), ("B", "C"), ("B", "D"), ("C", "D"), ("C", "E"), ("D", "E")]  # figure 3.8
LETTERS = "ABCDEFGH"


@st.composite
def dags(draw, most=7):
    """Return a directed graph whose numbering of nodes is no topological order."""
    n = draw(st.integers(2, most))
    order = draw(st.permutations(LETTERS[:n]))
    pairs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 * n))
    return DirectedGraph(chosen, nodes=list(LETTERS[:n]))


@st.composite
def undirected(draw, most=7):
    n = draw(st.integers(2, most))
    pairs = [(a, b) for i, a in enumerate(LETTERS[:n]) for b in LETTERS[i + 1 : n]]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True))
    return UndirectedGraph(chosen, nodes=list(LETTERS[:n]))


@st.composite
def questions(draw, graphs):
    """Return a graph and three sets of its nodes, the first two not empty."""
    graph = draw(graphs)
    shuffled = draw(st.permutations(graph.nodes))
    cuts = sorted(draw(st.tuples(*[st.integers(0, len(shuffled) - 2)] * 2)))
    a, rest = shuffled[: 1 + cuts[0]], shuffled[1 + cuts[0] :]
    b, given = rest[: 1 + cuts[1] - cuts[0]], rest[1 + cuts[1] - cuts[0] :]
    return graph, a, b, given[: draw(st.integers(0, len(given)))]


def is_blocked(graph: nx.DiGraph, path: list, given: set) -> bool:
    """Tell whether some triple of a path blocks it."""
    for before, node, after in zip(path, path[1:], path[2:], strict=False):
        collider = graph.has_edge(before, node) and graph.has_edge(after, node)
        opened = ({node} | nx.descendants(graph, node)) & given
        if not opened if collider else node in given:
            return True
    return False


def all_paths(graph: nx.DiGraph, a: str, b: str) -> list[list]:
    return list(nx.all_simple_paths(graph.to_undirected(), a, b))


def separated_by_paths(graph: DirectedGraph, a, b, given) -> bool:
    other = graph.to_networkx()
    paths = [path for x in a for y in b for path in all_paths(other, x, y)]
    return all(is_blocked(other, path, set(given)) for path in paths)


def are_linked(graph, path) -> bool:
    """Tell whether each node of a path is linked with the next."""
    edges = {frozenset(edge) for edge in graph.edges}
    return all(frozenset(pair) in edges for pair in pairwise(path))


def random_table(graph: DirectedGraph, rng: np.random.Generator) -> JointTable:
    """Return a joint table of binary variables that has a graph, and else no structure."""
    tables = []
    for node in graph.topological_order():
        parents = tuple(graph.parents(node))
        cells = rng.dirichlet([1.0, 1.0], size=(2,) * len(parents))
        tables.append(ConditionalTable(node, parents, cells))
    return JointTable.from_conditionals(*tables)
