"""Factor graphs of tables: messages, beliefs and partition functions, against the whole product."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.factors import Factor
from posteriori.networks import BayesianNetwork, FactorGraph
from tests.networks.random_networks import random_network


def tree(seed: int, n: int = 7) -> FactorGraph:
    """Return a random tree of factors over one, two or three variables."""
    rng = np.random.default_rng(seed)
    factors, names = {}, ["x0"]
    while len(names) < n:
        new = [f"x{len(names) + k}" for k in range(int(rng.integers(1, 3)))]
        scope = [str(rng.choice(names)), *new]
        factors[f"f{len(factors)}"] = Factor(
            scope, rng.random([2 + (int(v[1:]) % 2) for v in scope])
        )
        names += new
    factors["leaf"] = Factor(names[-1], rng.random(2 + (int(names[-1][1:]) % 2)))
    return FactorGraph(factors)


def whole(graph: FactorGraph) -> Factor:
    product = Factor.scalar(1.0)
    for factor in graph.factors.values():
        product = product * factor
    return product


@pytest.mark.topic("000/R2", "000/R3", "000/P18", "001/3.26", "001/3.31", "001/3.32")
@pytest.mark.parametrize("seed", range(15))
def test_messages_give_marginals_beliefs_and_the_partition_function(seed):
    graph = tree(seed)
    product = whole(graph)
    assert graph.is_tree
    messages = graph.messages()
    assert len(messages) == 2 * len(graph.edges)
    for v, found in graph.marginals().items():
        expected = product.marginal(v)
        np.testing.assert_allclose(found.probabilities, expected.probabilities)
        reached = Factor.scalar(1.0)
        for f in graph.holders[v]:
            reached = reached * messages.to_variable[f, v]
        assert reached.allclose(expected)
    for name, belief in graph.beliefs().items():
        assert belief.factor.allclose(
            product.marginal(graph.factors[name].names).normalize().factor
        )
    assert graph.log_partition() == pytest.approx(product.log_total)


@pytest.mark.topic("001/3.30", "000/R6")
def test_a_leaf_factor_sends_itself_and_a_leaf_variable_sends_one():
    f, g = Factor("x", [0.3, 0.9]), Factor(["x", "y"], [[1.0, 2.0], [3.0, 4.0]])
    messages = FactorGraph({"f": f, "g": g}).messages()
    assert messages.to_variable["f", "x"].allclose(f)
    np.testing.assert_allclose(messages.to_factor["g", "y"].values, [1.0, 1.0])
    largest = FactorGraph({"f": f, "g": g}).messages(maximize=True)
    assert largest.to_variable["f", "x"].allclose(f)
    np.testing.assert_allclose(largest.to_variable["g", "y"].values, [2.7, 3.6])


@pytest.mark.parametrize("seed", range(8))
def test_largest_messages_meet_at_the_largest_value(seed):
    graph = tree(seed)
    best = whole(graph).log_values.max()
    messages = graph.messages(maximize=True)
    for v in graph.variables:
        product = Factor.scalar(1.0)
        for f in graph.holders[v]:
            product = product * messages.to_variable[f, v]
        assert product.log_values.max() == pytest.approx(best)
    assert graph.most_probable().log_value == pytest.approx(best)


@pytest.mark.topic("001/3.25", "000/R9")
def test_loops_are_refused_until_factors_are_merged():
    rng = np.random.default_rng(0)
    pairs = [("a", "b"), ("b", "c"), ("c", "a")]
    graph = FactorGraph({x + y: Factor([x, y], rng.random((2, 2))) for x, y in pairs})
    assert not graph.is_tree
    with pytest.raises(ValueError, match="has a loop"):
        graph.messages()
    merged = graph.merge("ab", "bc").merge("ab·bc", "ca", into="all")
    assert merged.is_tree
    for v, found in merged.marginals().items():
        np.testing.assert_allclose(found.probabilities, graph.marginals()[v].probabilities)
    assert graph.given("a=0").is_tree


@pytest.mark.topic("001/3.27")
def test_subtrees_part_the_factors():
    graph = tree(3)
    for v in graph.variables:
        parts = graph.subtrees(v)
        assert set(parts) == set(graph.holders[v])
        together = [name for part in parts.values() for name in part]
        assert sorted(together) == sorted(graph.factors)


@pytest.mark.topic("001/3.24", "000/P17")
@pytest.mark.parametrize("seed", range(5))
def test_the_factor_graph_of_a_network(seed):
    bn = random_network(seed)
    graph = bn.to_factor_graph()
    assert graph.log_partition() == pytest.approx(0.0, abs=1e-12)
    for name, found in graph.marginals().items():
        np.testing.assert_allclose(found.probabilities, bn.query(name).probabilities, atol=1e-12)


def test_long_chains_pass_messages_in_linear_time():
    bn = BayesianNetwork.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], 300)
    assert len(bn.to_factor_graph().messages()) == 2 * (2 * 300 - 1)


def test_bad_factors():
    with pytest.raises(TypeError, match="must be a Factor"):
        FactorGraph({"f": [1.0, 2.0]})
    with pytest.raises(ValueError, match="where another factor has"):
        FactorGraph({"f": Factor("x", [1.0, 2.0]), "g": Factor("x", [1.0, 2.0, 3.0])})
    graph = tree(0)
    with pytest.raises(ValueError, match="no factor"):
        graph.merge("f0", "leef")
    with pytest.raises(TypeError, match="must be a mapping of names to factors, got list"):
        FactorGraph([Factor("x", [1.0, 2.0])])
    with pytest.raises(ValueError, match="0 everywhere"):
        FactorGraph({"f": Factor("x", [0.0, 0.0])}).marginals()
