"""The worked network of five binary variables: every number, by every engine."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from posteriori import Bernoulli, Categorical, Model, take
from posteriori.factors import Factor
from posteriori.graphs import DirectedGraph
from posteriori.networks import BayesianNetwork, FactorGraph
from posteriori.tables import ConditionalTable
from tests.networks.random_networks import joint_of


def binary(target: str, given: str, ones: object) -> ConditionalTable:
    """Return the table of a binary variable from the probabilities of 1."""
    p = np.asarray(ones, dtype=float)
    return ConditionalTable(target, list(given), np.stack([1.0 - p, p], axis=-1))


@pytest.fixture(scope="module")
def bn() -> BayesianNetwork:
    return BayesianNetwork(
        binary("A", "", 0.4),
        binary("B", "", 0.3),
        binary("C", "AB", [[0.1, 0.5], [0.4, 0.9]]),
        binary("D", "CB", [[0.2, 0.6], [0.3, 0.8]]),
        binary("E", "CD", [[0.05, 0.5], [0.4, 0.95]]),
    )


@pytest.mark.topic("001/3.3", "001/3.19", "001/3.33", "000/R5", "000/R8", "003/G.2")
@pytest.mark.parametrize("method", [None, "enumeration", "variable elimination", "junction tree"])
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("C=1", 0.352),
        ("D=1", 0.375),
        ("E=1", 0.36241),
        ("A=1 | E=1", 0.5004276924),
        ("A=1 | D=1", 0.4288),
        ("A=1 | C=1", 0.625),
        ("A=1 | C=1, B=1", 0.5454545455),
        ("A=1 | C=1, B=0", 0.7272727273),
    ],
)
def test_probabilities(bn, question, expected, method):
    assert bn.query(question, method=method) == pytest.approx(expected, abs=5e-11)


@pytest.mark.topic("003/G.6")
def test_explaining_away(bn):
    # once the effect is known, one cause speaks against the other
    assert bn.query("A=1 | B=1") == pytest.approx(bn.query("A=1"))
    assert bn.query("A=1 | C=1, B=1") < bn.query("A=1 | C=1") < bn.query("A=1 | C=1, B=0")


@pytest.mark.topic("001/3.20", "001/3.21", "000/R4")
def test_tables_of_variable_elimination(bn):
    first, second, third, last = bn.elimination("E", order=["A", "B", "C", "D"])
    np.testing.assert_allclose(
        first.message.transpose(["B", "C"]).values, [[0.78, 0.22], [0.34, 0.66]]
    )
    np.testing.assert_allclose(
        second.message.transpose(["D", "C"]).values, [[0.4776, 0.1474], [0.1704, 0.2046]]
    )
    assert third.variable == "C"
    np.testing.assert_allclose(last.message.values, [0.63759, 0.36241])


@pytest.mark.topic("001/3.22")
def test_of_the_24_orders_two_are_good(bn):
    largest = Counter(
        max(len(step.product.names) for step in bn.elimination("E", order=order))
        for order in itertools.permutations("ABCD")
    )
    assert largest == {3: 2, 4: 16, 5: 6}
    assert bn.plan().width == 2


@pytest.mark.topic("000/R6")
def test_the_most_probable_state(bn):
    best = bn.most_probable()
    assert best.assignment == dict.fromkeys("ABCDE", 0)
    assert np.exp(best.log_value) == pytest.approx(0.28728)


@pytest.mark.topic("001/3.35")
def test_the_junction_tree(bn):
    tree = bn.graph.moral().junction_tree()
    assert {frozenset(c) for c in tree.cliques} == {
        frozenset("ABC"),
        frozenset("BCD"),
        frozenset("CDE"),
    }
    assert not bn.to_factor_graph().is_tree
    merged = bn.to_factor_graph().merge("A", "B", "C")
    assert not merged.is_tree
    assert merged.log_partition() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.topic("001/3.17")
def test_full_conditionals_in_every_configuration(bn):
    joint = joint_of(bn)
    for states in itertools.product([0, 1], repeat=5):
        state = dict(zip("ABCDE", states, strict=True))
        for name in "ABCDE":
            rest = {other: value for other, value in state.items() if other != name}
            np.testing.assert_allclose(
                bn.full_conditional(name, rest).probabilities, joint.query(name, rest).probabilities
            )


@pytest.mark.topic("001/3.7", "001/3.8", "003/G.4")
def test_parameters_of_four_variables_of_ten_states():
    def made(parents: dict[str, str]) -> BayesianNetwork:
        return BayesianNetwork(
            *(
                ConditionalTable(name, list(given), np.full([10] * (len(given) + 1), 0.1))
                for name, given in parents.items()
            )
        )

    assert made({"A": "", "B": "A", "C": "AB", "D": "ABC"}).n_parameters == 9999
    assert made({"A": "", "B": "A", "C": "AB", "D": "C"}).n_parameters == 1089


@pytest.mark.topic("001/3.23", "001/3.27", "001/3.28", "001/3.29")
def test_factors_on_each_side_of_a_variable():
    rng = np.random.default_rng(0)
    scopes = {
        "f1": "1",
        "f2": "2",
        "f6": "123",
        "f9": "36",
        "f5": "6",
        "f7": "34",
        "f3": "4",
        "f8": "45",
        "f4": "5",
    }
    graph = FactorGraph(
        {
            f: Factor([f"X{i}" for i in scope], rng.random([2] * len(scope)))
            for f, scope in scopes.items()
        }
    )
    sides = set(graph.subtrees("X3").values())
    assert sides == {
        frozenset({"f1", "f2", "f6"}),
        frozenset({"f5", "f9"}),
        frozenset({"f3", "f4", "f7", "f8"}),
    }
    messages = graph.messages()
    x3 = messages.to_variable["f6", "X3"] * messages.to_variable["f9", "X3"]
    assert messages.to_factor["f7", "X3"].allclose(x3)
    arriving = graph.factors["f7"] * messages.to_factor["f7", "X4"]
    assert messages.to_variable["f7", "X3"].allclose(arriving.marginal("X3"))


@pytest.mark.topic("000/P10")
def test_the_partition_function_of_three_spins():
    # exp(x y) on the edges of a triangle of spins: Z = 2 e^3 + 6 e^-1
    weights = np.exp([[1.0, -1.0], [-1.0, 1.0]])
    pairs = ["ab", "bc", "ca"]
    graph = FactorGraph({p: Factor(list(p), weights) for p in pairs})
    assert np.exp(graph.log_partition()) == pytest.approx(2.0 * np.exp(3.0) + 6.0 * np.exp(-1.0))


@pytest.mark.topic("000/R1")
def test_messages_along_a_chain_are_products_of_matrices():
    rng = np.random.default_rng(1)
    links = [rng.random((3, 3)) for _ in range(4)]
    graph = FactorGraph({f"l{i}": Factor([f"x{i}", f"x{i + 1}"], m) for i, m in enumerate(links)})
    forward = np.ones(3) @ links[0] @ links[1]
    backward = links[2] @ links[3] @ np.ones(3)
    messages = graph.messages()
    np.testing.assert_allclose(messages.to_variable["l1", "x2"].values, forward)
    np.testing.assert_allclose(messages.to_variable["l2", "x2"].values, backward)
    p = forward * backward
    np.testing.assert_allclose(graph.marginals()["x2"].probabilities, p / p.sum())


@pytest.mark.topic("000/P4", "001/3.4")
def test_a_plate_is_its_copies():
    # p(w) Π_n p(t_n | w) in the model language, and with the copies written out; 0.3 and the table are constants
    table, seen = [[0.8, 0.2], [0.1, 0.9]], [1, 0, 1]
    m = Model()
    m.w = Bernoulli(0.3)
    m.t = Bernoulli(take([0.2, 0.9], m.w)).iid("n")
    copies = [ConditionalTable(f"t[{n}]", "w", table) for n in range(3)]
    bn = BayesianNetwork(ConditionalTable("w", (), [0.7, 0.3]), *copies)
    assert bn.graph == DirectedGraph([("w", "t")]).expand_plates({"t": "n"}, {"n": 3})
    given = {f"t[{n}]": state for n, state in enumerate(seen)}
    post = m.infer(t=seen)
    assert bn.log_prob(given) == pytest.approx(float(post.log_evidence), abs=1e-12)
    assert bn.query("w=1", given) == pytest.approx(float(post.w.mean), abs=1e-12)
    shapes = {shape.key: shape for shape in m.draw(data={"t": seen}).shapes}
    assert set(shapes) == {"w", "t"}  # constants are no random variables
    assert [key for key, shape in shapes.items() if shape.shaded] == ["t"]


@pytest.mark.topic("001/3.6")
def test_one_of_k_states():
    mu = np.array([0.2, 0.5, 0.3])
    one = Categorical(mu)
    for k, code in enumerate(np.eye(3)):
        assert one.log_prob(k) == pytest.approx(code @ np.log(mu))  # ln Π μ_i^{x_i}
    assert BayesianNetwork(ConditionalTable("x", (), mu)).n_parameters == 2


@pytest.mark.topic("000/P20", "003/G.1")
def test_a_picture_has_a_card_for_each_variable(bn):
    drawing = bn.draw("E=1")
    cards = {shape.key: shape for shape in drawing.shapes}
    assert {key for key, shape in cards.items() if shape.shaded} == {"E"}
    assert dict(cards["A"].bars)["1"] == pytest.approx(0.5004276924, abs=5e-11)
    assert {(line.start, line.end) for line in drawing.lines} == set(bn.graph.edges)
    assert drawing.dot().count("->") == len(bn.graph.edges)
    assert "50.0 %" in drawing.svg()


@pytest.mark.topic("000/P1")
def test_one_joint_distribution_has_several_graphs(bn):
    # p(A) p(B|A) p(C|A,B) = p(C) p(A|C) p(B|A,C); with what is independent left out, the first needs fewer arrows
    joint = bn.query(["A", "B", "C"])
    made = []
    for order in ("ABC", "CAB"):
        parts = [joint.conditional(order[i], list(order[:i])) for i in range(3)]
        made.append(BayesianNetwork(*parts))
    for network in made:
        assert network.query(["A", "B", "C"]).factor.allclose(joint.factor, 1e-12)
        assert np.exp(network.to_factor_graph().log_partition()) == pytest.approx(1.0)
    assert made[0].graph != made[1].graph
    assert len(DirectedGraph.from_order("ABC", joint).edges) == 2
    assert len(DirectedGraph.from_order("CAB", joint).edges) == 3
