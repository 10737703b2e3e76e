"""Graphs that need no new edge take time in proportion to their edges."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.graphs.adjacency import link_both_ways
from posteriori.graphs.orders.clique_tree import make_clique_tree
from posteriori.graphs.orders.elimination_order import eliminate_all, weigh_sizes


@pytest.mark.parametrize("shape", ["chain", "star"])
def test_a_hundred_thousand_nodes(shape):
    n = 100_000
    first = np.arange(n - 1) if shape == "chain" else np.zeros(n - 1, dtype=np.int64)
    graph = link_both_ways(np.stack([first, np.arange(1, n)], axis=1), n)
    found = eliminate_all(graph, weigh_sizes(np.full(n, 2)), [np.arange(n)])
    tree = make_clique_tree(found, n)
    assert tree.n_cliques == n - 1
    assert tree.lengths.max() == 2
