"""Forney-style factor graphs against brute force, and models as graphs against their joint."""

import math

import numpy as np
import pytest

from posteriori import Gamma, MvNormal, Normal, PointMass
from posteriori.factors import Factor, contract
from posteriori.modeling import Chain, Input, Model, dot
from posteriori.modeling.forney import ForneyGraph
from posteriori.modeling.message_passing import Operations, find_schedule, loopy_sum_product


def table(names, seed=0, size=2):
    """A random table; variables have different numbers of labels."""
    names = list(names)
    shape = [size + int(name[1:]) % 2 for name in names]
    return Factor(names, np.random.default_rng(seed).uniform(0.1, 1.0, size=shape))


def brute(factors, keep):
    """The product of all tables, cell by cell, summed down to one variable."""
    joint = Factor.scalar(1.0)
    for factor in factors:
        joint = joint * factor
    return joint.marginal(keep)


def seven():
    """f_a(x1) f_b(x2) f_c(x1,x2,x3) f_d(x4) f_e(x3,x4,x5) f_f(x5,x6,x7) f_g(x7)."""
    scopes = {
        "fa": ["x1"],
        "fb": ["x2"],
        "fc": ["x1", "x2", "x3"],
        "fd": ["x4"],
        "fe": ["x3", "x4", "x5"],
        "ff": ["x5", "x6", "x7"],
        "fg": ["x7"],
    }
    return {name: table(scope, seed) for seed, (name, scope) in enumerate(scopes.items())}


# -- structure ---------------------------------------------------------------------------------


@pytest.mark.topic("004/3.2")
def test_edges_and_half_edges():
    graph = ForneyGraph.from_factors(
        a=table(["x1", "x2", "x3"]), b=table(["x3", "x4", "x5"]), c=table(["x4"])
    )
    assert set(graph.edges) == {"x1", "x2", "x3", "x4", "x5"}
    assert set(graph.half_edges) == {"x1", "x2", "x5"}
    assert graph.edges["x3"].nodes == ("a", "b")
    assert graph.edges["x4"].nodes == ("b", "c")
    assert set(graph.neighbours("b")) == {"a", "c"}
    assert graph.nodes["b"].edges == ("x3", "x4", "x5")
    assert graph.is_tree


@pytest.mark.topic("004/3.3")
def test_configurations():
    a = Factor(["x1", "x2"], [[0.0, 2.0], [3.0, 4.0]])
    b = Factor("x2", [5.0, 7.0], [["low", "high"]])
    with pytest.raises(ValueError, match="labels"):
        ForneyGraph.from_factors([a, b])
    b = Factor("x2", [5.0, 7.0])
    graph = ForneyGraph.from_factors([a, b])
    assert graph.evaluate(x1=1, x2=1) == pytest.approx(28.0)
    assert graph.evaluate({"x1": 0, "x2": 0}) == 0.0
    assert not graph.is_valid(x1=0, x2=0)
    assert graph.is_valid(x1=0, x2=1)
    space = list(graph.configurations())
    assert len(space) == 4
    total = sum(graph.evaluate(point) for point in space)
    assert total == pytest.approx(math.exp(graph.sum_product().log_total))
    with pytest.raises(ValueError, match="no value for 'x2'"):
        graph.evaluate(x1=1)


@pytest.mark.topic("004/3.4")
def test_equality_nodes_are_inserted():
    factors = [table(["x1", "x2"], 1), table(["x2", "x3"], 2), table(["x2", "x4"], 3)]
    graph = ForneyGraph.from_factors(factors)
    assert [node.kind for node in graph.nodes.values()].count("equality") == 1
    assert {edge.name for edge in graph.edges.values() if edge.variable == "x2"} == {
        "x2",
        "x2'",
        "x2''",
    }
    assert all(len(edge.nodes) <= 2 for edge in graph.edges.values())
    # inference on the copies equals inference on the original product
    result = graph.sum_product()
    for variable in ("x1", "x2", "x3", "x4"):
        expected = brute(factors, variable).normalize()
        assert result.marginal(variable).allclose(expected.factor)
        assert result.log_total == pytest.approx(expected.log_total)
    for copy in ("x2'", "x2''"):
        np.testing.assert_allclose(
            result.marginal(copy).values, result.marginal("x2").values, rtol=1e-12
        )
    # copies that differ are impossible, and the sum over the copies is the original function
    point = {"x1": 0, "x2": 1, "x3": 0, "x4": 1}
    assert graph.evaluate(point) == pytest.approx(
        math.prod(math.exp(f.log_value({n: point[n] for n in f.names})) for f in factors)
    )
    assert graph.evaluate({**point, "x2'": 0}) == 0.0


@pytest.mark.topic("004/3.4")
@pytest.mark.parametrize("count", [3, 4, 5, 9])
def test_a_variable_of_many_factors_is_copied_by_a_chain(count):
    factors = [table(["x0", f"x{i + 1}"], i) for i in range(count)]
    graph = ForneyGraph.from_factors(factors)
    equalities = [node for node in graph.nodes.values() if node.kind == "equality"]
    assert len(equalities) == count - 2
    assert all(len(node.edges) == 3 for node in equalities)
    assert graph.is_tree
    result = graph.sum_product()
    assert result.marginal("x0").allclose(brute(factors, "x0").normalize().factor)


def test_copies_do_not_take_the_names_of_variables():
    factors = [Factor(["x", "x'"], [[1.0, 2.0], [3.0, 4.0]])] + [Factor("x", [1.0, 3.0])] * 3
    graph = ForneyGraph.from_factors(factors)
    assert graph.edges["x'"].variable == "x'"
    assert graph.sum_product().marginal("x'").allclose(brute(factors, "x'").normalize().factor)


@pytest.mark.topic("004/3.5")
def test_independence_is_read_off_the_graph():
    # p(x1, x2 | x3) p(x3, x5 | x4) p(x4)
    graph = ForneyGraph.from_factors(
        [table(["x1", "x2", "x3"], 1), table(["x3", "x5", "x4"], 2), table(["x4"], 3)]
    )
    assert graph.is_separated("x1", ["x4", "x5"], given="x3")
    assert not graph.is_separated("x1", "x5")
    assert not graph.is_separated("x1", "x2", given="x3")
    with pytest.raises(KeyError, match="x9"):
        graph.is_separated("x1", "x9")


def test_parts_that_do_not_touch():
    graph = ForneyGraph.from_factors(
        [table(["x1", "x2"], 1), table(["x3"], 2), Factor.scalar(3.0), table(["x2"], 4)]
    )
    assert len(graph.components) == 3
    assert graph.is_tree
    total = brute([node.parameters["factor"] for node in graph.nodes.values()], ()).log_total
    assert graph.sum_product().log_total == pytest.approx(total)


# -- closing the box ---------------------------------------------------------------------------


@pytest.mark.topic("004/3.8")
def test_the_distributive_law_saves_operations():
    graph = ForneyGraph.from_factors([Factor("x", [2.0, 3.0]), Factor("y", [5.0, 7.0])])
    counts = graph.count_operations()
    assert counts.direct == Operations(multiplications=4, additions=3)
    assert counts.messages == Operations(multiplications=1, additions=2)
    assert graph.sum_product().log_total == pytest.approx(math.log(60.0))


@pytest.mark.topic("004/3.8")
def test_operations_of_a_chain_by_hand():
    # Σ f(x1,x2) g(x2,x3), target x3, 2 or 3 labels (x1, x3: 3, x2: 2)
    graph = ForneyGraph.from_factors([table(["x1", "x2"]), table(["x2", "x3"])])
    counts = graph.count_operations("x3")
    assert counts.direct == Operations(18, 15)
    # Σ_x1: 6 cells to 2, 4 additions; times g: 6 multiplications; Σ_x2: 6 to 3, 3 additions
    assert counts.messages == Operations(6, 7)


@pytest.mark.topic("004/3.9", "004/3.10")
def test_closing_boxes_of_the_worked_example():
    factors = seven()
    graph = ForneyGraph.from_factors(factors)
    left = graph.close_box(["fa", "fb", "fc"])
    assert left.names == ("x3",)
    assert left.allclose(contract([factors[n] for n in ("fa", "fb", "fc")], "x3"))
    inner = graph.close_box(["ff", "fg"])
    assert inner.names == ("x5",)
    expected = np.einsum("ijk,k->i", factors["ff"].values, factors["fg"].values)
    np.testing.assert_allclose(inner.values, expected, rtol=1e-13)
    right = graph.close_box(["fd", "fe", "ff", "fg"])
    marginal = left * right
    assert marginal.allclose(brute(factors.values(), "x3"))
    everything = graph.close_box(graph.nodes)
    assert everything.names == ()
    assert everything.log_total == pytest.approx(brute(factors.values(), ()).log_total)
    kept = graph.close_box(["ff", "fg"], keep="x6")
    assert set(kept.names) == {"x5", "x6"}
    with pytest.raises(KeyError, match="no node 'fz'"):
        graph.close_box(["fz"])
    with pytest.raises(ValueError, match="keep"):
        graph.close_box(["fa"], keep="x7")


@pytest.mark.topic("004/3.9")
def test_boxes_around_equality_nodes_and_cycles():
    factors = [
        table(["x1", "x2"], 1),
        table(["x2", "x3"], 2),
        table(["x1", "x3"], 3),
        table(["x2"]),
    ]
    graph = ForneyGraph.from_factors(factors)
    assert not graph.is_tree
    assert graph.close_box(graph.nodes).log_total == pytest.approx(brute(factors, ()).log_total)
    box = graph.close_box(["f1", "f4", "= x2"])
    assert set(box.names) == {"x1", "x2'"}


# -- messages ----------------------------------------------------------------------------------


@pytest.mark.topic("004/3.10", "004/3.11", "004/3.12", "004/3.15", "004/3.16", "004/3.17b")
def test_messages_of_the_worked_example():
    factors = seven()
    graph = ForneyGraph.from_factors(factors)
    result = graph.sum_product()
    assert result.forward("x1").allclose(factors["fa"])
    assert result.forward("x2").allclose(factors["fb"])
    assert result.forward("x4").allclose(factors["fd"])
    assert result.backward("x7").allclose(factors["fg"])
    assert result.backward("x6") is None  # a half-edge: the message 1
    assert result.forward("x3").allclose(graph.close_box(["fa", "fb", "fc"]))
    assert result.backward("x5").allclose(graph.close_box(["ff", "fg"]))
    assert result.backward("x3").allclose(graph.close_box(["fd", "fe", "ff", "fg"]))
    for edge in graph.edges:
        expected = brute(factors.values(), edge).normalize()
        assert result.marginal(edge).allclose(expected.factor)
        assert result.log_normalizer(edge) == pytest.approx(expected.log_total, abs=1e-12)
    assert result.log_total == pytest.approx(brute(factors.values(), ()).log_total)
    counts = graph.count_operations("x3")
    assert sum(counts.messages) < sum(counts.direct) / 5


@pytest.mark.topic("004/3.13")
def test_the_schedule_starts_at_the_leaves():
    graph = ForneyGraph.from_factors(seven())
    schedule = find_schedule(graph)
    assert len(schedule) == len(set(schedule)) == 6 * 2 + 1  # both ways on edges, once on x6
    seen = set()
    for edge, node in schedule:
        for other in graph.nodes[node].edges:
            if other != edge and not graph.edges[other].is_half:
                (source,) = (n for n in graph.edges[other].nodes if n != node)
                assert (other, source) in seen
        seen.add((edge, node))
    toward = find_schedule(graph, "x3")
    assert set(toward) < set(schedule)
    assert ("x6", "ff") not in toward
    assert len(toward) == 7


@pytest.mark.topic("004/3.17")
def test_observations_are_clamps():
    factors = seven()
    graph = ForneyGraph.from_factors(factors, clamp={"x6": 1, "x3": 0})
    result = graph.sum_product()
    joint = Factor.scalar(1.0)
    for factor in factors.values():
        joint = joint * factor
    rest = joint.reduce({"x6": 1, "x3": 0})
    for name in rest.names:
        assert result.marginal(name).allclose(rest.marginal(name).normalize().factor)
    assert result.log_total == pytest.approx(rest.log_total)
    np.testing.assert_allclose(result.marginal("x3").values[0], 1.0)
    assert not graph.is_valid({f"x{i}": 0 for i in range(1, 8)})
    with pytest.raises(ValueError, match="no label 5"):
        ForneyGraph.from_factors(factors, clamp={"x6": 5})
    with pytest.raises(ValueError, match="no factor has"):
        ForneyGraph.from_factors(factors, clamp={"x9": 0})


@pytest.mark.topic("004/3.1")
def test_irrelevant_factors_cost_nothing():
    # p(x2 | x3) in p(x1) p(x2, x3) p(x4) p(x5 | x4)
    pair = table(["x2", "x3"], 1)
    factors = [table(["x1"], 2), pair, table(["x4"], 3), table(["x5", "x4"], 4)]
    graph = ForneyGraph.from_factors(factors, clamp={"x3": 1})
    expected = pair.reduce({"x3": 1}).normalize().factor
    assert graph.sum_product().marginal("x2").allclose(expected)
    nodes = {node for _, node in find_schedule(graph, "x2")}
    assert nodes == {"f2", "clamp x3"}


@pytest.mark.topic("004/3.14")
def test_loopy_graphs_are_detected():
    factors = [table(["x1", "x2"], 1), table(["x2", "x3"], 2), table(["x3", "x1"], 3)]
    graph = ForneyGraph.from_factors(factors)
    assert not graph.is_tree
    with pytest.raises(ValueError, match="cycle: f") as caught:
        graph.sum_product()
    assert all(name in str(caught.value) for name in ("f1", "f2", "f3"))
    answer = loopy_sum_product(graph)
    assert answer.converged
    exact = brute(factors, "x1").normalize().factor
    assert np.abs(answer.marginal("x1").values - exact.values).max() < 0.05  # near, not exact
    assert not loopy_sum_product(graph, max_iter=1).converged
    damped = loopy_sum_product(graph, damping=0.5, max_iter=300)
    np.testing.assert_allclose(
        damped.marginal("x1").values, answer.marginal("x1").values, atol=1e-8
    )
    with pytest.raises(ValueError, match="damping"):
        loopy_sum_product(graph, damping=1.0)


def test_loopy_messages_are_exact_on_a_tree():
    graph = ForneyGraph.from_factors(seven())
    answer, exact = loopy_sum_product(graph), graph.sum_product()
    for edge in graph.edges:
        np.testing.assert_allclose(
            answer.marginal(edge).values, exact.marginal(edge).values, rtol=1e-8
        )


def test_two_factors_with_two_common_variables_are_a_cycle():
    graph = ForneyGraph.from_factors([table(["x1", "x2"], 1), table(["x1", "x2"], 2)])
    assert not graph.is_tree
    with pytest.raises(ValueError, match=r"f1 - f2 - f1|f2 - f1 - f2"):
        graph.sum_product()


def test_random_trees_by_brute_force():
    rng = np.random.default_rng(3)
    for trial in range(10):
        factors = [table([f"x{i}"], trial) for i in rng.choice(6, size=3)]
        factors += [
            table([f"x{rng.integers(child)}", f"x{child}"], 10 * trial + child)
            for child in range(1, 6)
        ]
        result = ForneyGraph.from_factors(factors).sum_product()
        for i in range(6):
            expected = brute(factors, f"x{i}").normalize()
            assert result.marginal(f"x{i}").allclose(expected.factor)
            assert result.log_normalizer(f"x{i}") == pytest.approx(expected.log_total)


def test_long_chains_need_no_recursion():
    n = 2000
    step = np.array([[0.9, 0.1], [0.2, 0.8]])
    factors = [Factor("x0", [0.5, 0.5])]
    factors += [Factor([f"x{i}", f"x{i + 1}"], step) for i in range(n)]
    result = ForneyGraph.from_factors(factors).sum_product()
    np.testing.assert_allclose(result.marginal(f"x{n}").values, [2 / 3, 1 / 3], rtol=1e-9)
    assert result.log_total == pytest.approx(0.0, abs=1e-9)


# -- models ------------------------------------------------------------------------------------


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


def test_names_of_factors():
    graph = ForneyGraph.from_factors({"prior": table(["x1"])}, channel=table(["x1", "x2"]))
    assert list(graph.nodes) == ["prior", "channel"]
    assert repr(graph) == "ForneyGraph(2 tabular; 2 edges; a tree)"
    with pytest.raises(TypeError, match="must be a Factor"):
        ForneyGraph.from_factors([1.0])
    with pytest.raises(ValueError, match="two factors"):
        ForneyGraph.from_factors({"f": table(["x1"])}, f=table(["x1"]))
