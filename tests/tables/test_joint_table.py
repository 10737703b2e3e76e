"""Joint tables: the rules of probability against enumeration, and the numbers of the notes."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.distributions.counts.categorical import Categorical
from posteriori.factors import Factor
from posteriori.tables import ConditionalTable, JointTable, diagnostic_test
from tests.tables.small_tables import brute, rows, tables

# -- the sum rule and the product rule ---------------------------------------------------------


@pytest.mark.topic("003/P.1", "000/A2", "004/1.2")
@given(tables(), st.data())
def test_sum_rule(table, data):
    keep = data.draw(st.lists(st.sampled_from(table.names), min_size=1, unique=True))
    marginal = table.marginal(keep)
    assert marginal.names == tuple(keep)
    for row, p in rows(marginal):
        expected = brute(table, lambda other, row=row: row.items() <= other.items())
        assert p == pytest.approx(expected, abs=1e-14)
    assert marginal.probabilities.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.topic("004/1.2")
@given(tables(min_axes=2), st.data())
def test_order_of_elimination_is_irrelevant(table, data):
    order = data.draw(st.permutations(table.names))
    step = table
    for i in range(1, len(order)):
        step = step.marginal(order[i:])
    assert step.factor.allclose(table.marginal(order[-1:]).factor)


@pytest.mark.topic("003/P.1", "000/A2", "004/1.1")
@given(tables(min_axes=2), st.data())
def test_product_rule_and_back(table, data):
    cut = data.draw(st.integers(1, len(table.names) - 1))
    given, target = table.names[:cut], table.names[cut:]
    conditional = table.conditional(target, given)
    assert (conditional * table.marginal(given)).factor.allclose(table.factor, 1e-12)
    assert (table.marginal(given) * conditional).factor.allclose(table.factor, 1e-12)
    sums = conditional.factor.marginal(given).values
    possible = table.marginal(given).probabilities > 0
    np.testing.assert_allclose(sums, possible * 1.0, atol=1e-14)


@pytest.mark.topic("004/1.1")
@given(tables(min_axes=2, zeros=False))
def test_two_routes_to_a_belief_agree(table):
    """P(A | B) p(B) = p(B | A) p(A): Bayes' rule."""
    a, b = table.names[:2]
    one = table.conditional(a, b) * table.marginal(b)
    other = table.conditional(b, a) * table.marginal(a)
    assert one.factor.allclose(other.factor, 1e-12)


@pytest.mark.topic("000/A3", "004/1.5", "004/1.17")
@given(tables(min_axes=2, zeros=False), st.data())
def test_queries_agree_with_enumeration(table, data):
    names = data.draw(st.permutations(table.names))
    cut = data.draw(st.integers(1, len(names) - 1))
    target, known = names[:1], names[cut:]
    given = {name: data.draw(st.sampled_from(table.labels[name])) for name in known}
    text = f"{target[0]}|" + ",".join(f" {name} = {label}" for name, label in given.items())
    answer = table.query(text)
    assert isinstance(answer, Categorical)
    for label, p in zip(answer.labels, answer.probabilities, strict=True):
        expected = brute(
            table,
            lambda row, label=label: row[target[0]] == label,
            lambda row: given.items() <= row.items(),
        )
        assert p == pytest.approx(expected, abs=1e-13)
        assert table.query(f"{target[0]}={label}", given) == pytest.approx(expected, abs=1e-13)
    evidence = table.evidence(given)
    assert evidence == pytest.approx(brute(table, lambda row: given.items() <= row.items()))
    assert table.log_prob(given) == pytest.approx(math.log(evidence))


def test_posterior_times_evidence_is_likelihood_times_prior():
    t = diagnostic_test(0.3, 0.8, 0.9)
    posterior = t.query("D | T=1").probabilities
    likelihood = t.conditional("T", given="D").probabilities[:, 1]
    prior = t.marginal("D").probabilities
    np.testing.assert_allclose(posterior * t.evidence("T=1"), likelihood * prior, rtol=1e-14)


@pytest.mark.topic("004/1.6")
def test_a_conditional_is_a_distribution_one_way_and_a_likelihood_the_other():
    grid = np.linspace(0.0, 1.0, 101)
    coin = ConditionalTable("y", "theta", np.stack([1 - grid, grid], axis=1), {"theta": grid})
    np.testing.assert_allclose(coin.factor.marginal("theta").values, 1.0, rtol=1e-15)
    likelihood = coin.factor.reduce({"y": 1}).values
    np.testing.assert_allclose(likelihood, grid, atol=1e-15)
    assert np.trapezoid(likelihood, grid) == pytest.approx(0.5, abs=1e-12)


# -- the numbers of the notes ------------------------------------------------------------------


@pytest.mark.topic("004/1.7", "000/A3")
def test_diagnosis():
    for t in (
        JointTable(["D", "T"], [[0.99 * 0.85, 0.99 * 0.15], [0.01 * 0.05, 0.01 * 0.95]]),
        diagnostic_test(prevalence=0.01, sensitivity=0.95, specificity=0.85),
    ):
        answer = t.query("D | T=1")
        assert answer.labels == (0, 1)
        np.testing.assert_allclose(answer.probabilities, [0.9398734177, 0.0601265823], atol=5e-11)
        assert t.evidence("T=1") == pytest.approx(0.158, abs=1e-15)
        assert t.query("D=1 | T=0") == pytest.approx(0.00059382, abs=5e-9)


def bag():
    """One ball of unknown colour, a white one added, one drawn."""
    colours = ["white", "black"]
    return JointTable.from_conditionals(
        ConditionalTable("unknown", (), [0.5, 0.5], [colours]),
        ConditionalTable("drawn", "unknown", [[1, 0], [0.5, 0.5]], [colours, colours]),
    )


@pytest.mark.topic("004/1.8")
def test_bag():
    # The ball that is left is white exactly if the unknown one was.
    assert bag().query("unknown=white | drawn=white") == pytest.approx(2 / 3, abs=1e-15)


@pytest.mark.topic("004/1.9")
def test_urn():
    colours = {"first": ["red", "green"], "second": ["red", "green"]}
    urn = JointTable.from_conditionals(
        ConditionalTable("first", (), [5 / 12, 7 / 12], {"first": colours["first"]}),
        ConditionalTable("second", "first", [[4 / 11, 7 / 11], [5 / 11, 6 / 11]], colours),
    )
    assert urn.query("first=red") == pytest.approx(5 / 12, abs=1e-15)
    assert urn.query("first=red | second=green") == pytest.approx(5 / 11, abs=1e-15)
    assert urn.query("second=red") == pytest.approx(5 / 12, abs=1e-15)


@pytest.mark.topic("003/I.1", "003/I.5", "003/I.7", "000/O2", "000/O4", "000/O6", "000/O7")
def test_information_of_a_small_table():
    t = JointTable(["x", "y"], [[0.4, 0.1], [0.1, 0.4]])
    assert t.entropy("x", unit="bits") == pytest.approx(1.0, abs=1e-15)
    assert t.entropy(unit="bits") == pytest.approx(1.7219280949, abs=5e-11)
    assert t.conditional_entropy("y", "x", unit="bits") == pytest.approx(0.7219280949, abs=5e-11)
    assert t.mutual_information("x", "y", unit="bits") == pytest.approx(0.2780719051, abs=5e-11)
    assert t.entropy() == pytest.approx(1.7219280949 * math.log(2), abs=5e-11)


@pytest.mark.topic("000/O1")
def test_surprise_is_minus_the_log_of_the_probability():
    t = JointTable("x", [0.25, 0.75, 0.0])
    assert t.event("x=0").information(unit="bits") == pytest.approx(2.0, abs=1e-15)
    assert t.event("x=1").information() == pytest.approx(-math.log(0.75), abs=1e-15)
    assert t.event("x=2").information() == math.inf
    assert t.event(lambda: True).information() == 0.0


@pytest.mark.topic("000/O5")
def test_kl_breaks_the_triangle_inequality():
    p, q, r = (JointTable("x", [1 - mu, mu]) for mu in (0.5, 0.25, 0.1))
    assert p.kl(q) == pytest.approx(0.14384, abs=5e-6)
    assert q.kl(r) == pytest.approx(0.09233, abs=5e-6)
    assert p.kl(r) == pytest.approx(0.51083, abs=5e-6)
    assert p.kl(q) + q.kl(r) < p.kl(r)
    assert p.kl(p) == 0.0
    assert p.kl(JointTable("x", [1.0, 0.0])) == math.inf
    assert p.kl(r, unit="bits") == pytest.approx(p.kl(r) / math.log(2))


@pytest.mark.topic("004/1.16")
def test_belief_is_the_limit_of_frequencies():
    coin = JointTable("toss", [0.6, 0.4], [["head", "tail"]])
    n = 20_000
    share = np.mean(coin.sample(n, rng=0)["toss"] == "tail")
    assert abs(share - 0.4) < 5 * math.sqrt(0.4 * 0.6 / n)


# -- independence ------------------------------------------------------------------------------


@pytest.mark.topic("004/1.1", "000/P5", "001/3.11")
def test_independence_and_conditional_independence():
    a = ConditionalTable("A", (), [0.3, 0.7])
    c = ConditionalTable("C", "A", [[0.9, 0.1], [0.4, 0.6]])
    b = ConditionalTable("B", "C", [[0.2, 0.8], [0.5, 0.5]])
    chain = JointTable.from_conditionals(a, c, b)
    assert chain.is_independent("A", "B", given="C")
    assert not chain.is_independent("A", "B")
    assert chain.mutual_information("A", "B", given="C") == pytest.approx(0.0, abs=1e-15)
    assert chain.mutual_information("A", "B") > 0.001
    collider = JointTable.from_conditionals(
        a,
        ConditionalTable("B", (), [0.4, 0.6]),
        ConditionalTable("C", ["A", "B"], [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]),
    )
    assert collider.is_independent("A", "B")
    assert not collider.is_independent("A", "B", given=["C"])
    assert collider.is_independent(["A"], ["B"], given=[])


def test_tolerance_of_independence():
    p = np.outer([0.3, 0.7], [0.2, 0.8])
    p[0, 0] += 1e-6
    p[0, 1] -= 1e-6
    t = JointTable(["A", "B"], p)
    assert not t.is_independent("A", "B")
    assert t.is_independent("A", "B", tolerance=1e-5)


@pytest.mark.topic("000/O4", "000/O6", "003/I.5", "003/I.7")
@given(tables(min_axes=2))
def test_laws_of_information(table):
    x, y = table.names[:2]
    joint = table.entropy([x, y])
    assert joint == pytest.approx(table.entropy(x) + table.conditional_entropy(y, x), abs=1e-12)
    assert joint == pytest.approx(table.entropy(y) + table.conditional_entropy(x, y), abs=1e-12)
    shared = table.mutual_information(x, y)
    assert shared >= 0.0
    assert shared == pytest.approx(table.entropy(x) - table.conditional_entropy(x, y), abs=1e-12)
    assert shared == pytest.approx(table.mutual_information(y, x), abs=1e-14)
    if len(table.names) > 2:
        z = table.names[2]
        left = table.mutual_information(x, [y, z])
        assert left == pytest.approx(
            table.mutual_information(x, z) + table.mutual_information(x, y, given=z), abs=1e-12
        )


@pytest.mark.topic("000/O2")
def test_entropy_of_independent_variables_adds():
    t = JointTable.from_factor(Factor("A", [1, 2, 3]) * Factor("B", [4, 5]))
    assert t.entropy() == pytest.approx(t.entropy("A") + t.entropy("B"), abs=1e-14)
