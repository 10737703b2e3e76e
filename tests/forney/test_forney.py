"""Forney-style factor graphs against brute force."""

import math

import numpy as np
import pytest

from posteriori.factors import Factor, contract
from posteriori.forney import find_schedule, loopy_sum_product
from posteriori.forney.forney_graph import ForneyGraph
from posteriori.forney.operation_counts import Operations

pytestmark = pytest.mark.blas


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
    n = 1200  # more than Python's limit
    step = np.array([[0.9, 0.1], [0.2, 0.8]])
    factors = [Factor("x0", [0.5, 0.5])]
    factors += [Factor([f"x{i}", f"x{i + 1}"], step) for i in range(n)]
    result = ForneyGraph.from_factors(factors).sum_product()
    np.testing.assert_allclose(result.marginal(f"x{n}").values, [2 / 3, 1 / 3], rtol=1e-9)
    assert result.log_total == pytest.approx(0.0, abs=1e-9)


def test_names_of_factors():
    graph = ForneyGraph.from_factors({"prior": table(["x1"])}, channel=table(["x1", "x2"]))
    assert list(graph.nodes) == ["prior", "channel"]
    assert repr(graph) == "ForneyGraph(2 tabular; 2 edges; a tree)"
    with pytest.raises(TypeError, match="must be a Factor"):
        ForneyGraph.from_factors([1.0])
    with pytest.raises(ValueError, match="two factors"):
        ForneyGraph.from_factors({"f": table(["x1"])}, f=table(["x1"]))
