"""Models as Forney-style factor graphs, against their joint density and the engine."""

import math

import numpy as np
import pytest

from posteriori import Gamma, MvNormal, Normal, PointMass
from posteriori.forney.forney_graph import ForneyGraph
from posteriori.modeling import Chain, Input, Model, dot


def fusion():
    m = Model()
    m.x = Normal(0.0, variance=4.0)
    m.y1 = Normal(m.x, variance=1.0)
    m.y2 = Normal(m.x, variance=2.0)
    return m


@pytest.mark.topic("004/3.31", "004/3.12")
def test_fusion_as_a_graph():
    graph = ForneyGraph.from_model(fusion(), {"y1": 1.0, "y2": 2.0})
    kinds = sorted(node.kind for node in graph.nodes.values())
    assert kinds == ["clamp", "clamp", "equality", "gaussian", "gaussian", "gaussian"]
    result = graph.sum_product()
    x = result.marginal("x")
    np.testing.assert_allclose(
        [x.mean, x.variance], [1.1428571428571428, 0.5714285714285714], rtol=1e-14
    )
    for edge in graph.edges:
        assert result.log_normalizer(edge) == pytest.approx(-3.514548588, abs=5e-10)
    assert result.marginal("y1") == PointMass(1.0)


def test_without_data_observables_are_half_edges():
    graph = ForneyGraph.from_model(fusion())
    assert graph.half_edges == ("y1", "y2")
    result = graph.sum_product()
    assert result.marginal("y2") == Normal(0.0, variance=6.0)
    assert result.log_total == pytest.approx(0.0, abs=1e-12)


def test_evaluate_is_the_joint_density():
    m = fusion()
    point = {"x": 0.3, "y1": 1.0, "y2": -1.0}
    graph = ForneyGraph.from_model(m)
    assert graph.evaluate(point) == pytest.approx(math.exp(m.log_joint(point)))
    assert graph.is_valid(point)
    clamped = ForneyGraph.from_model(m, {"y1": 1.0})
    assert clamped.evaluate(x=0.3, y2=-1.0) == pytest.approx(graph.evaluate(point))
    assert not clamped.is_valid(x=0.3, y2=-1.0, y1=2.0)
    positive = Model()
    positive.rate = Gamma(2.0, 1.0)
    assert not ForneyGraph.from_model(positive).is_valid(rate=-1.0)


@pytest.mark.topic("004/3.20", "004/3.21", "004/3.22", "004/3.23")
def test_linear_nodes_against_the_engine():
    m = Model()
    m.w = MvNormal([0.5, -0.5], cov=[[1.0, 0.3], [0.3, 2.0]])
    m.b = Normal(1.0, scale=2.0)
    m.y = Normal(dot([1.0, 2.0], m.w) + 3.0 * m.b - 1.0, variance=0.5)
    m.b2 = Normal(m.b / 2.0, precision=4.0)
    m.v = MvNormal(np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 1.0]]) @ m.w, cov=0.5 * np.eye(3))
    m.r = MvNormal(m.w[::-1] - np.array([1.0, 2.0]), precision=2.0 * np.eye(2))
    m.s = Normal(m.w[1], variance=0.7)
    data = {"y": 2.0, "b2": 0.2, "v": [1.0, 0.0, -1.0], "r": [0.1, 0.2], "s": 0.5}
    graph = ForneyGraph.from_model(m, data)
    kinds = {node.kind for node in graph.nodes.values()}
    assert {"addition", "gain", "dot", "equality", "gaussian", "clamp"} == kinds
    assert graph.is_tree
    result, post = graph.sum_product(), m.infer(data)
    w, b = result.marginal("w"), result.marginal("b")
    np.testing.assert_allclose(w.mean, post.w.mean, rtol=1e-9)
    np.testing.assert_allclose(w.cov, post.w.cov, rtol=1e-9)
    np.testing.assert_allclose([b.mean, b.variance], [post.b.mean, post.b.variance], rtol=1e-9)
    assert result.log_total == pytest.approx(float(post.log_evidence), rel=1e-9)


SPREADS = ("variance", "precision", "scale")


def three_forms(message):
    """Mean and variance, then weighted mean and precision, then natural parameters."""
    return [
        float(np.squeeze(part))
        for part in (
            *(message.mean, message.variance),
            *(message.weighted_mean, message.precision),
            *message.natural,
        )
    ]


def forms_of(mean, variance):
    return [mean, variance, *((mean / variance, 1.0 / variance) * 2)]


@pytest.mark.topic("004/3.27", "004/3.28", "004/3.20")
@pytest.mark.parametrize("spread", SPREADS)
def test_addition_node_of_a_model(spread):
    m = Model()
    m.x = Normal(1.0, **{spread: 1.0})
    m.y = Normal(2.0, **{spread: 1.0})
    m.z = Normal(m.x + m.y, **{spread: 1.0})
    result = ForneyGraph.from_model(m, {"z": 3.0}).sum_product()
    total = result.graph.edges["addition 1"]
    forward = result.messages["addition 1", "addition 1"].distribution
    np.testing.assert_allclose(three_forms(forward), forms_of(3.0, 2.0), rtol=1e-14)
    (noise,) = (node for node in total.nodes if node != "addition 1")
    backward = result.messages["addition 1", noise].distribution
    np.testing.assert_allclose(three_forms(backward), forms_of(3.0, 1.0), rtol=1e-14)
    to_x = result.messages["x", "addition 1"].distribution
    np.testing.assert_allclose(three_forms(to_x), forms_of(1.0, 2.0), rtol=1e-14)
    to_y = result.messages["y", "addition 1"].distribution
    np.testing.assert_allclose(three_forms(to_y), forms_of(2.0, 2.0), rtol=1e-14)


@pytest.mark.topic("004/3.29", "004/3.30", "004/3.21", "004/3.22")
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("kind", ["gain", "dot"])
def test_gain_and_dot_nodes_of_a_model(kind, spread):
    m = Model()
    if kind == "gain":
        m.x = Normal(1.0, **{spread: 1.0})
        m.y = Normal(4.0 * m.x, **{spread: 1.0})
    else:
        m.x = MvNormal([1.0], cov=[[1.0]])
        m.y = Normal(dot([4.0], m.x), **{spread: 1.0})
    result = ForneyGraph.from_model(m, {"y": 2.0}).sum_product()
    node = f"{kind} 1"
    forward = result.messages[node, node].distribution
    np.testing.assert_allclose(three_forms(forward), forms_of(4.0, 16.0), rtol=1e-14)
    backward = result.messages["x", node].distribution
    np.testing.assert_allclose(three_forms(backward), [0.5, 1 / 16, 8.0, 16.0, 8.0, 16.0])


@pytest.mark.topic("004/3.19")
def test_equality_node_of_a_model():
    graph = ForneyGraph.from_model(fusion(), {"y1": 1.0, "y2": 2.0})
    result = graph.sum_product()
    (equality,) = (node for node in graph.nodes.values() if node.kind == "equality")
    sent = {
        next(n for n in graph.edges[edge].nodes if n != equality.name): three_forms(
            result.messages[edge, equality.name].distribution
        )
        for edge in equality.edges
    }
    # what the other two say: precisions 1/4, 1 and 1/2, weighted means 0, 1 and 1
    np.testing.assert_allclose(sent["p(x)"], forms_of(2.0 / 1.5, 1.0 / 1.5), rtol=1e-14)
    np.testing.assert_allclose(sent["p(y1|x)"], forms_of(1.0 / 0.75, 1.0 / 0.75), rtol=1e-14)
    np.testing.assert_allclose(sent["p(y2|x)"], forms_of(1.0 / 1.25, 1.0 / 1.25), rtol=1e-14)


def test_scaled_vectors_and_inputs():
    m = Model()
    m.x = Input()
    m.a = MvNormal([1.0, 2.0], cov=np.eye(2))
    m.c = Normal(0.5, variance=1.0)
    m.u = MvNormal(np.array([2.0, -1.0]) * m.a + m.x, cov=np.eye(2))
    m.t = Normal(m.x @ m.a, variance=0.3)
    data = {"x": [0.5, 1.5], "u": [1.0, 1.0], "t": 4.0}
    result, post = ForneyGraph.from_model(m, data).sum_product(), m.infer(data)
    np.testing.assert_allclose(result.marginal("a").mean, post.a.mean, rtol=1e-9)
    np.testing.assert_allclose(result.marginal("a").cov, post.a.cov, rtol=1e-9)
    assert result.log_total == pytest.approx(float(post.log_evidence), rel=1e-9)


def test_missing_observations_are_not_clamped():
    graph = ForneyGraph.from_model(fusion(), {"y1": 1.0, "y2": np.nan})
    assert "clamp y2" not in graph.nodes
    x = graph.sum_product().marginal("x")
    np.testing.assert_allclose([x.mean, x.variance], [0.8, 0.8])
    expected = fusion().log_joint(x=0.5, y1=1.0, y2=3.0)
    assert graph.log_evaluate(x=0.5, y2=3.0) == pytest.approx(expected)


def test_a_loop_of_normal_variables_is_detected():
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.b = Normal(m.a, variance=0.5)
    m.c = Normal(m.a - m.b, variance=0.7)
    graph = ForneyGraph.from_model(m, {"c": 1.0})
    assert not graph.is_tree
    with pytest.raises(ValueError, match="cycle"):
        graph.sum_product()


def test_folded_models_say_why_no_messages_pass():
    m = Model()
    m.mu = Normal(0.0, variance=1.0)
    m.y = Normal(m.mu, variance=1.0).iid("n")
    with pytest.raises(ValueError, match="y has several members"):
        ForneyGraph.from_model(m, {"y": np.ones(3)}).sum_product()
    graph = ForneyGraph.from_model(m)  # without data, plates have no size
    with pytest.raises(ValueError, match="'n' has no size"):
        graph.sum_product()
    assert "p(y|mu)" in graph.nodes
    chain = Model()
    chain.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, variance=1.0), length="t")
    chain.y = Normal(chain.s, variance=1.0)
    folded = ForneyGraph.from_model(chain, {"y": np.ones(4)})
    assert not folded.is_tree
    with pytest.raises(ValueError, match="several members"):
        folded.sum_product()
    values = {"s": np.zeros(4)}
    assert folded.log_evaluate(values) == pytest.approx(
        chain.log_joint(s=np.zeros(4), y=np.ones(4))
    )
    with pytest.raises(TypeError, match="discrete graphs only"):
        folded.close_box(["clamp y"])
    with pytest.raises(ValueError, match="no variable or input 'q'"):
        ForneyGraph.from_model(chain, {"q": 1.0})


def test_long_sums_need_no_recursion():
    m = Model()
    m.x = Normal(0.0, variance=1.0)
    total = m.x + 0.0
    for _ in range(1500):
        total = total + 1.0
    m.y = Normal(total, variance=1.0)
    graph = ForneyGraph.from_model(m, {"y": 1500.0})
    np.testing.assert_allclose(graph.sum_product().marginal("x").mean, 0.0, atol=1e-9)


def test_terminal_nodes_of_any_family_send_themselves():
    m = Model()
    m.tau = Gamma(2.0, 1.0)
    assert ForneyGraph.from_model(m).sum_product().marginal("tau") == Gamma(2.0, 1.0)
    m.y = Normal(0.0, precision=m.tau)
    with pytest.raises(ValueError, match=r"no message rule|gaussian"):
        ForneyGraph.from_model(m, {"y": 1.0}).sum_product()
