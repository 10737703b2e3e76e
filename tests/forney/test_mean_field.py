"""Mean field and Bethe free energies on tables, against sums over all configurations."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from posteriori import Bernoulli, Gamma, Normal
from posteriori.factors import Factor
from posteriori.forney import (
    ForneyGraph,
    LocalBeliefs,
    bethe_free_energy,
    local_beliefs,
    loopy_sum_product,
    mean_field,
    mean_field_energy,
    variational_message,
)
from posteriori.modeling import Model, bethe_free_energy_of, take
from posteriori.numerics.warnings import ConvergenceWarning


def tree(seed: int = 0) -> dict[str, Factor]:
    """Factors without a cycle; x is seen by three of them, so that a graph copies it."""
    rng = np.random.default_rng(seed)
    return {
        "a": Factor("x", rng.random(2)),
        "b": Factor(["x", "y"], rng.random((2, 3))),
        "c": Factor(["x", "z"], rng.random((2, 2))),
        "d": Factor(["z", "u", "v"], rng.random((2, 3, 2))),
    }


def ring(strength: float, seed: int = 1) -> dict[str, Factor]:
    """Three variables, each coupled with the next, and a push on each."""
    rng = np.random.default_rng(seed)
    pairs = [("x", "y"), ("y", "z"), ("z", "x")]
    couplings = {
        a + b: Factor([a, b], np.exp(strength * rng.standard_normal((2, 2)))) for a, b in pairs
    }
    return couplings | {f"on {n}": Factor(n, rng.random(2)) for n in "xyz"}


def log_sum(factors: dict[str, Factor]) -> float:
    """Add up the product of all factors over all configurations, one by one."""
    sizes = {n: len(f.labels[n]) for f in factors.values() for n in f.names}
    total = 0.0
    for states in itertools.product(*(range(k) for k in sizes.values())):
        at = dict(zip(sizes, states, strict=True))
        total += math.prod(f.values[tuple(at[n] for n in f.names)] for f in factors.values())
    return math.log(total)


def energy_by_hand(factors: dict[str, Factor], q: dict[str, np.ndarray]) -> float:
    """Return Σ q ln(q / f) over all configurations."""
    sizes = {n: len(p) for n, p in q.items()}
    total = 0.0
    for states in itertools.product(*(range(k) for k in sizes.values())):
        at = dict(zip(sizes, states, strict=True))
        belief = math.prod(q[n][at[n]] for n in sizes)
        f = math.prod(t.values[tuple(at[n] for n in t.names)] for t in factors.values())
        total += belief * math.log(belief / f)
    return total


# -- mean field ----------------------------------------------------------------------------------


@pytest.mark.topic("004/9.22")
@pytest.mark.parametrize("factors", [tree(), ring(1.0)], ids=["tree", "ring"])
@pytest.mark.parametrize("as_graph", [False, True])
def test_the_free_energy_is_that_of_the_sum_over_configurations(
    factors: dict[str, Factor], as_graph: bool
) -> None:
    """On the graph, too, where equality nodes copy a variable: its entropy counts once."""
    rng = np.random.default_rng(3)
    sizes = {n: len(f.labels[n]) for f in factors.values() for n in f.names}
    q = {n: rng.dirichlet(np.ones(k)) for n, k in sizes.items()}
    beliefs = {n: Factor(n, p) for n, p in q.items()}
    given = ForneyGraph.from_factors(factors) if as_graph else factors.values()
    assert_allclose(mean_field_energy(given, beliefs), energy_by_hand(factors, q), rtol=1e-12)


@pytest.mark.topic("004/9.23")
def test_a_message_is_the_exponential_of_the_expected_log() -> None:
    f = np.random.default_rng(0).random((2, 3, 2))
    q, r = np.array([0.2, 0.5, 0.3]), np.array([0.9, 0.1])
    told = variational_message(
        Factor(["a", "b", "c"], f), "a", {"b": Factor("b", q), "c": Factor("c", r)}
    )
    want = [
        math.exp(sum(q[j] * r[k] * math.log(f[i, j, k]) for j in range(3) for k in range(2)))
        for i in range(2)
    ]
    assert_allclose(told.values, want, rtol=1e-13)


@pytest.mark.topic("004/9.23", "004/9.24")
def test_the_product_of_messages_minimises_the_local_free_energy() -> None:
    factors = ring(1.5)
    found = mean_field(factors.values())
    fixed = {n: b.values for n, b in found.beliefs.items()}

    def f(p: float) -> float:
        return energy_by_hand(factors, {**fixed, "y": np.array([1.0 - p, p])})

    best = optimize.minimize_scalar(f, bounds=(1e-6, 1 - 1e-6), options={"xatol": 1e-10})
    assert_allclose(best.x, fixed["y"][1], atol=1e-6)


@pytest.mark.topic("000/T1", "000/T4", "004/9.15", "004/9.24")
@pytest.mark.parametrize("factors", [tree(), ring(2.0)], ids=["tree", "ring"])
def test_rounds_lower_the_free_energy_and_stop_above_the_truth(factors: dict[str, Factor]) -> None:
    found = mean_field(factors.values())
    assert found.converged
    assert np.all(np.diff(found.trace) < 1e-12)
    q = {n: b.values for n, b in found.beliefs.items()}
    assert_allclose(found.free_energy, energy_by_hand(factors, q), rtol=1e-12)
    assert found.free_energy > -log_sum(factors)


@pytest.mark.topic("000/T1", "004/9.15", "004/9.23b")
@pytest.mark.parametrize("coupling", [0.5, 1.5])
def test_two_binary_variables_end_where_the_mean_is_tanh_of_the_mean(coupling: float) -> None:
    """Two spins exp(J s t): m = tanh(J m), which has m = 0 only for J ≤ 1 and ±m beyond."""
    agree = Factor(["s", "t"], np.exp(coupling * np.array([[1.0, -1.0], [-1.0, 1.0]])))
    up, down = (mean_field([agree], start={"s": p}, tol=1e-16) for p in ([0.1, 0.9], [0.9, 0.1]))
    if coupling > 1:
        m = optimize.brentq(lambda m: m - math.tanh(coupling * m), 0.1, 1.0, xtol=1e-14)
    else:
        m = 0.0
    for found, sign in ((up, 1), (down, -1)):
        for name in "st":
            q = found.beliefs[name].values
            assert_allclose(q[1] - q[0], sign * m, atol=1e-6)


@pytest.mark.topic("004/9.23b")
def test_one_pass_is_not_enough_even_on_a_tree() -> None:
    factors = tree()
    with pytest.warns(ConvergenceWarning):
        once = mean_field(factors.values(), max_iter=1)
    assert once.free_energy > mean_field(factors.values()).free_energy + 1e-6


@pytest.mark.topic("000/T1")
def test_independent_factors_are_solved_exactly() -> None:
    factors = {"a": Factor("x", [1.0, 3.0]), "b": Factor("y", [2.0, 2.0, 1.0])}
    found = mean_field(factors.values())
    assert_allclose(found.beliefs["y"].values, [0.4, 0.4, 0.2], rtol=1e-14)
    assert_allclose(found.free_energy, -math.log(20.0), rtol=1e-14)


@pytest.mark.topic("000/T1", "004/9.15")
@pytest.mark.parametrize("start", [[0.99, 0.01], [0.01, 0.99]])
def test_the_model_language_has_the_same_fixed_points(start: list[float]) -> None:
    """Either cause explains the wet grass: there are two, and the start chooses."""
    m = Model()
    m.rain = Bernoulli(0.2)
    m.sprinkler = Bernoulli(take([0.4, 0.05], m.rain))
    m.wet = Bernoulli(take(take([[0.01, 0.9], [0.85, 0.99]], m.rain), m.sprinkler))
    post = m.infer(wet=1, factorize="full", tol=1e-14, init={"rain": start})
    tables = [
        Factor("rain", [0.8, 0.2]),
        Factor(["rain", "sprinkler"], [[0.6, 0.4], [0.95, 0.05]]),
        Factor(["rain", "sprinkler"], [[0.01, 0.9], [0.85, 0.99]]),
    ]
    found = mean_field(tables, tol=1e-14, start={"rain": start})
    assert_allclose(found.free_energy, -float(post.log_evidence), rtol=1e-9)
    assert_allclose(post.rain.probability, found.beliefs["rain"].values[1], atol=1e-5)
    assert (post.rain.probability > 0.5) == (start[1] > 0.5)


def test_clamps_are_obeyed_and_impossible_pairs_refused() -> None:
    graph = ForneyGraph.from_factors(tree(), clamp={"u": 2})
    assert_allclose(mean_field(graph).beliefs["u"].values, [0.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="no state of 'x' is possible"):
        mean_field([Factor(["x", "y"], np.eye(2))])
    with pytest.raises(ValueError, match="start names 'w'"):
        mean_field([Factor("x", [1.0, 2.0])], start={"w": [0.5, 0.5]})
    with pytest.raises(ValueError, match="must have 2 entries"):
        mean_field([Factor("x", [1.0, 2.0])], start={"x": [0.5, 0.5, 0.0]})


# -- Bethe ---------------------------------------------------------------------------------------


@pytest.mark.topic("004/9.25")
@pytest.mark.parametrize("seed", range(4))
def test_bethe_is_exact_on_trees(seed: int) -> None:
    factors = tree(seed)
    graph = ForneyGraph.from_factors(factors)
    beliefs = local_beliefs(graph.sum_product())
    assert_allclose(float(bethe_free_energy(graph, beliefs)), -log_sum(factors), rtol=1e-12)


@pytest.mark.topic("004/9.25")
def test_bethe_is_only_close_around_a_loop() -> None:
    """The weaker the coupling, the closer; mean field is worse, and Bethe is no bound."""
    away = []
    for strength in (0.2, 0.5, 1.0):
        factors = ring(strength)
        graph = ForneyGraph.from_factors(factors)
        found = loopy_sum_product(graph, tolerance=1e-13)
        value = float(bethe_free_energy(graph, local_beliefs(found)))
        away.append(abs(value + log_sum(factors)))
        assert away[-1] > 1e-6
        assert away[-1] < mean_field(factors.values()).free_energy + log_sum(factors)
    assert away == sorted(away)


@pytest.mark.topic("004/9.26")
def test_fixed_points_of_sum_product_are_stationary_points_of_bethe() -> None:
    """Along every direction that keeps beliefs of factors and edges in agreement, the slope is 0."""
    graph = ForneyGraph.from_factors(ring(1.0))
    found = local_beliefs(loopy_sum_product(graph, tolerance=1e-14))
    names = list(graph.edges)

    def shifted(edge: str, pair: str | None, step: float) -> float:
        """Move probability of one edge, or only the dependence of one pair."""
        nodes, edges = dict(found.nodes), dict(found.edges)
        if pair is not None:
            swing = step * np.array([[1.0, -1.0], [-1.0, 1.0]])
            nodes[pair] = Factor(nodes[pair].names, nodes[pair].values + swing)
        else:
            edges[edge] = Factor(edge, edges[edge].values + step * np.array([1.0, -1.0]))
            for name in graph.edges[edge].nodes:
                nodes[name] = follow(name, edge, step)
        return float(bethe_free_energy(graph, LocalBeliefs(nodes, edges)))

    def follow(name: str, edge: str, step: float) -> Factor:
        """Give a node's belief the edge's new marginal and leave its other marginals alone."""
        old = found.nodes[name]
        axis = old.names.index(edge)
        shape = [1] * len(old.names)
        shape[axis] = 2
        rest = np.prod(old.shape) / 2
        moved = old.values + step * np.array([1.0, -1.0]).reshape(shape) / rest
        return Factor(old.names, moved)

    pairs = [n for n, node in graph.nodes.items() if len(node.edges) == 2]
    assert len(pairs) == 3
    for pair in pairs:
        slope = (shifted("", pair, 1e-5) - shifted("", pair, -1e-5)) / 2e-5
        assert abs(slope) < 1e-7
    for edge in names:
        if any(graph.nodes[n].kind == "equality" for n in graph.edges[edge].nodes):
            continue  # copies can only move together
        slope = (shifted(edge, None, 1e-5) - shifted(edge, None, -1e-5)) / 2e-5
        assert abs(slope) < 1e-7


@pytest.mark.topic("004/9.25", "004/3.31")
def test_two_sensors_have_the_number_of_the_notes() -> None:
    m = Model()
    m.x = Normal(0.0, variance=4.0)
    m.y1 = Normal(m.x, variance=1.0)
    m.y2 = Normal(m.x, variance=2.0)
    f = bethe_free_energy_of(m.infer(y1=1.0, y2=2.0))
    assert_allclose(float(f), 3.514548588, atol=5e-10)
    assert f.edges.keys() == {"x"}


@pytest.mark.topic("004/9.25")
def test_bethe_of_models_is_exact_on_trees_and_not_around_loops() -> None:
    m = Model()
    m.a = Normal(0.0, variance=2.0)
    m.b = Normal(m.a, variance=1.0)
    m.c = Normal(m.b, variance=1.0)
    m.y = Normal(m.b, variance=0.5).iid("n")
    m.w = Normal(m.c, variance=0.5)
    post = m.infer(y=[0.4, 1.0, 0.3], w=2.0)
    exact = float(post.log_evidence)
    assert_allclose(float(bethe_free_energy_of(post)), -exact, rtol=1e-12)
    m.v = Normal(m.a - m.c, variance=0.5)
    post = m.infer(y=[0.4, 1.0, 0.3], w=2.0, v=0.3)
    assert abs(float(bethe_free_energy_of(post)) + float(post.log_evidence)) > 1e-3


@pytest.mark.topic("004/9.25")
def test_bethe_of_discrete_models_is_exact_on_trees() -> None:
    m = Model()
    m.a = Bernoulli(0.3)
    m.b = Bernoulli(take([0.2, 0.7], m.a))
    m.y = Bernoulli(take([0.1, 0.8], m.b)).iid("n")
    post = m.infer(y=[1, 1, 0])
    assert_allclose(float(bethe_free_energy_of(post)), -float(post.log_evidence), rtol=1e-12)


def test_beliefs_that_disagree_and_plates_are_refused() -> None:
    graph = ForneyGraph.from_factors(tree())
    beliefs = local_beliefs(graph.sum_product())
    edges = {**beliefs.edges, "y": Factor("y", [0.2, 0.2, 0.6])}
    with pytest.raises(ValueError, match="the belief about node 'b' has the marginal"):
        bethe_free_energy(graph, LocalBeliefs(beliefs.nodes, edges))
    m = Model()
    m.theta = Gamma(2.0, rate=1.0).iid("g")
    m.y = Normal(0.0, precision=m.theta)
    with pytest.raises(ValueError, match="theta is on a plate"):
        bethe_free_energy_of(m.infer(y=[1.0, 2.0]))
