"""Orders of elimination and trees of cliques, against elimination by sets."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.graphs.adjacency import Adjacency
from posteriori.graphs.orders.clique_tree import CliqueTree, make_clique_tree
from posteriori.graphs.orders.elimination_order import (
    Elimination,
    TableTooLargeError,
    eliminate_all,
    join_scopes,
    weigh_sizes,
)
from posteriori.numerics import compilation


@pytest.fixture(params=["plain", "compiled"], autouse=True)
def _mode(request, monkeypatch):
    monkeypatch.setattr(compilation, "_pays", lambda body, work: request.param == "compiled")


def random_scopes(rng: np.random.Generator, n: int) -> list[list[int]]:
    return [
        rng.choice(n, size=min(n, int(rng.integers(1, 4))), replace=False).tolist()
        for _ in range(rng.integers(0, 12))
    ]


def primal_graph(scopes: list[list[int]], n: int) -> Adjacency:
    start = np.cumsum([0, *map(len, scopes)])
    scope = np.array([v for s in scopes for v in s], dtype=np.int64)
    return join_scopes(start, scope, np.ones(n, dtype=np.int64))


def neighbours_of(graph: Adjacency) -> dict[int, set[int]]:
    bounds = zip(graph.start[:-1], graph.start[1:], strict=True)
    return {v: set(graph.neighbours[a:b].tolist()) for v, (a, b) in enumerate(bounds)}


def eliminate_sets(around: dict[int, set[int]], order: np.ndarray) -> list[set[int]]:
    """Return what each node is joined with when it goes, by the definition."""
    around = {v: set(others) for v, others in around.items()}
    found = []
    for v in order.tolist():
        joined = around.pop(v)
        for u in joined:
            around[u] |= joined - {u}
            around[u].discard(v)
        found.append(joined)
    return found


def cliques_of(tree: CliqueTree) -> list[frozenset[int]]:
    bounds = zip(tree.start[:-1], tree.start[1:], strict=True)
    return [frozenset(tree.nodes[a:b].tolist()) for a, b in bounds]


def eliminated(scopes: list[list[int]], n: int, **options: object) -> tuple[Adjacency, Elimination]:
    graph = primal_graph(scopes, n)
    groups = options.pop("groups", [np.arange(n)])
    return graph, eliminate_all(graph, weigh_sizes(np.full(n, 2)), groups, **options)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("by_weight", [False, True])
def test_nodes_are_joined_with_what_elimination_by_sets_joins(seed, by_weight):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    graph, found = eliminated(random_scopes(rng, n), n, by_weight=by_weight)
    assert sorted(found.order.tolist()) == list(range(n))
    expected = eliminate_sets(neighbours_of(graph), found.order)
    bounds = zip(found.start[:-1], found.start[1:], strict=True)
    assert [set(found.later[a:b].tolist()) for a, b in bounds] == expected


@pytest.mark.parametrize("seed", range(30))
def test_a_tree_holds_the_maximal_cliques_once_and_separators_are_what_neighbours_share(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    graph, found = eliminated(random_scopes(rng, n), n)
    joined = eliminate_sets(neighbours_of(graph), found.order)
    cliques = [{v} | later for v, later in zip(found.order.tolist(), joined, strict=True)]
    maximal = {frozenset(c) for c in cliques if not any(c < other for other in cliques)}
    tree = make_clique_tree(found, n)
    got = cliques_of(tree)
    assert len(got) == len(maximal)
    assert set(got) == maximal
    for c, above in enumerate(tree.above.tolist()):
        separator = set(tree.nodes[tree.start[c] :][: tree.shared[c]].tolist())
        assert separator == (got[c] & got[above] if above >= 0 else set())
        assert above == -1 or above > c
    for v in range(n):
        holders = [c for c, nodes in enumerate(got) if v in nodes]
        assert [c for c in holders if tree.above[c] not in holders] == [tree.home[v]]


def fill_and_size(around: dict[int, set[int]], v: int, sizes: np.ndarray) -> tuple[int, int]:
    """Return the edges that eliminating a node adds, and the cells of its table, by the definition."""
    joined = sorted(around[v])
    missing = sum(b not in around[a] for i, a in enumerate(joined) for b in joined[i + 1 :])
    return missing, int(np.prod(sizes[[v, *joined]]))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("by_weight", [False, True])
def test_every_node_that_goes_adds_no_edge_or_is_the_cheapest_of_all(seed, by_weight):
    rng = np.random.default_rng(seed)
    n = 25
    pairs = [[i, j] for i in range(n) for j in range(i) if rng.random() < 0.2]
    sizes = 2 ** rng.integers(1, 4, n)
    graph = primal_graph(pairs, n)
    found = eliminate_all(graph, weigh_sizes(sizes), [np.arange(n)], by_weight=by_weight)
    around = neighbours_of(graph)
    for v in found.order.tolist():
        costs = {u: fill_and_size(around, u, sizes) for u in around}
        if costs[v][0] > 0:
            ranked = {u: cost[::-1] if by_weight else cost for u, cost in costs.items()}
            assert ranked[v] == min(ranked.values())
        joined = around.pop(v)
        for u in joined:
            around[u] = (around[u] | joined) - {u, v}


def test_the_next_node_is_one_of_least_fill():
    # a wheel: the hub would add edges between all nodes of the rim that are not neighbours, a rim node one
    rim = [[i, (i + 1) % 6] for i in range(6)]
    _, found = eliminated(rim + [[6, i] for i in range(6)], 7)
    assert found.order[0] != 6
    assert found.order.tolist().index(6) >= 3


def test_least_weight_prefers_small_tables_where_fill_prefers_few_edges():
    # node 0 adds one edge but has huge neighbours; node 3 adds three edges between small ones
    scopes = [[0, 1], [0, 2], [3, 4], [3, 5], [3, 6], [1, 4], [2, 5], [1, 6], [2, 4]]
    sizes = np.array([2, 1000, 1000, 2, 2, 2, 2])
    graph = primal_graph(scopes, 7)
    fill = eliminate_all(graph, weigh_sizes(sizes), [np.arange(7)])
    weight = eliminate_all(graph, weigh_sizes(sizes), [np.arange(7)], by_weight=True)
    assert fill.order[0] in (0, 5, 6)
    assert weight.order[0] == 3


def test_elimination_ends_at_the_first_table_that_is_too_large():
    everyone = [list(range(8))]
    _, found = eliminated(everyone, 8, most_bits=8.0)  # 2⁸ cells are allowed
    assert len(found.order) == 8
    with pytest.raises(TableTooLargeError, match="8"):
        eliminated(everyone, 8, most_bits=7.9)


def test_groups_go_one_after_another_and_single_nodes_are_a_given_order():
    rng = np.random.default_rng(3)
    scopes = random_scopes(rng, 10)
    _, found = eliminated(scopes, 10, groups=[np.arange(5, 10), np.arange(5)])
    assert set(found.order[:5].tolist()) == set(range(5, 10))
    order = rng.permutation(10)
    _, given = eliminated(scopes, 10, groups=[order[i : i + 1] for i in range(10)])
    assert given.order.tolist() == order.tolist()


def test_what_is_not_free_has_no_neighbours():
    start, scope = np.array([0, 3]), np.array([0, 1, 2])
    graph = join_scopes(start, scope, np.array([1, 0, 1]))
    assert neighbours_of(graph) == {0: {2}, 1: set(), 2: {0}}


def test_residuals_are_of_one_level():
    _, found = eliminated([[0, 1, 2]], 3, groups=[np.array([0]), np.array([1, 2])])
    tree = make_clique_tree(found, 3, np.array([0, 1, 1]))
    residuals = [
        set(tree.nodes[tree.start[c] + tree.shared[c] : tree.start[c + 1]].tolist())
        for c in range(tree.n_cliques)
    ]
    assert residuals == [{0}, {1, 2}]
