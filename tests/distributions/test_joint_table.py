"""Joint tables: the rules of probability against enumeration, and the numbers of the notes."""

import copy
import itertools
import math
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.distributions.categorical import Categorical
from posteriori.distributions.conditional_table import ConditionalTable
from posteriori.distributions.joint_table import JointTable, diagnostic_test
from posteriori.factors import Factor

SIZES = {"A": 2, "B": 3, "C": 2, "D": 4}


@st.composite
def tables(draw, min_axes=1, zeros=True):
    names = tuple(draw(st.permutations(sorted(SIZES)))[: draw(st.integers(min_axes, 4))])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = rng.exponential(size=[SIZES[name] for name in names])
    if zeros and draw(st.booleans()):
        cells.flat[:: int(rng.integers(2, 5))] = 0.0
        cells.flat[-1] += 1.0
    return JointTable(names, cells / cells.sum())


def rows(table):
    """List every cell as (assignment, probability)."""
    labels = [table.labels[name] for name in table.names]
    cells = zip(itertools.product(*labels), table.probabilities.ravel(), strict=True)
    return [(dict(zip(table.names, where, strict=True)), float(p)) for where, p in cells]


def brute(table, holds, given=lambda row: True):
    known = math.fsum(p for row, p in rows(table) if given(row))
    return math.fsum(p for row, p in rows(table) if given(row) and holds(row)) / known


def weather():
    cells = np.arange(1.0, 13.0).reshape(2, 3, 2)
    return JointTable(
        ["rain", "wind", "x"],
        cells / cells.sum(),
        {"rain": ["no", "yes"], "wind": ["calm", "breeze", "storm"]},
    )


# -- the sum rule and the product rule -------------------------------------------------------


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


# -- the numbers of the notes ----------------------------------------------------------------


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


# -- events ----------------------------------------------------------------------------------


@pytest.mark.topic("004/1.1", "000/A2")
@given(tables(min_axes=2), st.integers(0, 1), st.integers(0, 1))
def test_calculus_of_events(table, i, j):
    first, second = table.names[:2]
    a, b = table.event({first: i}), table.event({second: j})
    pa, pb = a.probability, b.probability
    assert (~a).probability == pytest.approx(1 - pa, abs=1e-14)
    assert (a | b).probability == pytest.approx(pa + pb - (a & b).probability, abs=1e-14)
    assert (~(a | b)).probability == pytest.approx((~a & ~b).probability, abs=1e-14)
    if pb > 0:
        assert (a & b).probability == pytest.approx(a.given(b) * pb, abs=1e-14)
    expected = brute(table, lambda row: row[first] == i and row[second] == j)
    assert table.event_probability({first: i}, {second: j}) == pytest.approx(expected, abs=1e-14)
    assert table.event_probability(f"{first}={i}, {second}={j}") == pytest.approx(
        expected, abs=1e-14
    )


@pytest.mark.topic("004/1.1")
def test_exclusive_and_exhaustive_events():
    dice = JointTable(["a", "b"], np.full((6, 6), 1 / 36), [range(1, 7)] * 2)
    faces = [{"a": face} for face in range(1, 7)]
    assert dice.mutually_exclusive(*faces)
    assert dice.collectively_exhaustive(*faces)
    total = sum(dice.event_probability(face, "b=3") for face in faces)
    assert total == pytest.approx(dice.event_probability("b=3"), abs=1e-15)
    assert not dice.mutually_exclusive("a=1", "b=1")
    assert not dice.collectively_exhaustive(*faces[:5])
    assert dice.event("a=1").independent_of(dice.event("b=1"))
    assert not dice.event("a=1").independent_of(dice.event(lambda a, b: a + b == 2))


def test_predicates_name_the_variables_they_use():
    dice = JointTable(["a", "b"], np.full((6, 6), 1 / 36), [range(1, 7)] * 2)
    assert dice.event_probability(lambda b, a: a - b == 2) == pytest.approx(4 / 36)
    assert dice.event_probability(lambda a: a > 4) == pytest.approx(1 / 3)
    assert dice.event_probability(lambda a: a == 6, given=lambda a, b: a + b >= 11) == (
        pytest.approx(2 / 3)
    )
    assert dice.event_probability(dice.event("a=1") | dice.event("b=1")) == pytest.approx(11 / 36)


@pytest.mark.topic("000/A2", "004/1.4")
@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([0.5, 0.6], "must sum to 1 .* got a sum of 1.1"),
        ([1.5, -0.5], "must not be negative, got -0.5"),
        ([0.0, 0.0], "got a sum of 0"),
        ([np.nan, 1.0], "must be finite"),
    ],
)
def test_what_is_no_distribution_is_refused(cells, message):
    with pytest.raises(ValueError, match=message):
        JointTable("A", cells)


def test_rounded_probabilities_are_renormalised():
    t = JointTable("A", [0.333333, 0.333333, 0.333333 + 5e-7])
    assert t.probabilities.sum() == pytest.approx(1.0, abs=1e-15)


# -- independence ----------------------------------------------------------------------------


@pytest.mark.topic("004/1.1")
def test_independence_and_conditional_independence():
    a = ConditionalTable("A", (), [0.3, 0.7])
    c = ConditionalTable("C", "A", [[0.9, 0.1], [0.4, 0.6]])
    b = ConditionalTable("B", "C", [[0.2, 0.8], [0.5, 0.5]])
    chain = JointTable.from_conditionals(a, c, b)
    assert chain.independent("A", "B", given="C")
    assert not chain.independent("A", "B")
    assert chain.mutual_information("A", "B", given="C") == pytest.approx(0.0, abs=1e-15)
    assert chain.mutual_information("A", "B") > 0.001
    collider = JointTable.from_conditionals(
        a,
        ConditionalTable("B", (), [0.4, 0.6]),
        ConditionalTable("C", ["A", "B"], [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]),
    )
    assert collider.independent("A", "B")
    assert not collider.independent("A", "B", given=["C"])
    assert collider.independent(["A"], ["B"], given=[])


def test_tolerance_of_independence():
    p = np.outer([0.3, 0.7], [0.2, 0.8])
    p[0, 0] += 1e-6
    p[0, 1] -= 1e-6
    t = JointTable(["A", "B"], p)
    assert not t.independent("A", "B")
    assert t.independent("A", "B", tolerance=1e-5)


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


# -- questions -------------------------------------------------------------------------------


@pytest.mark.topic("004/1.17")
def test_questions_may_be_written_in_many_ways():
    t = weather()
    expected = t.query("rain | wind=storm, x=1").probabilities
    for answer in (
        t.query("rain|wind=storm,x=1"),
        t.query("  rain  |  wind = storm ,  x = 1  "),
        t.query("rain | wind='storm', x=1.0"),
        t.query('rain | wind="storm"', {"x": 1}),
        t.query(["rain"], given={"wind": "storm", "x": 1}),
        t.query("rain", "x=1, wind=storm"),
    ):
        assert answer == Categorical(expected, labels=("no", "yes"))
    assert t.query("rain=yes | wind=storm, x=1") == pytest.approx(expected[1])
    assert t.query("rain=yes, x=1") == pytest.approx(t.event_probability("rain=yes, x=1"))
    several = t.query("x, rain | wind=calm")
    assert isinstance(several, JointTable)
    assert several.names == ("x", "rain")
    assert several.probabilities[1, 0] == pytest.approx(2 / (1 + 2 + 7 + 8))
    assert t.query("rain") == Categorical(t.marginal("rain").probabilities, labels=("no", "yes"))


def test_quotes_tell_text_from_numbers():
    t = JointTable(["A", "B"], np.full((2, 2), 0.25), {"A": [1, "1"]})
    skewed = JointTable(["A", "B"], [[0.1, 0.2], [0.3, 0.4]], {"A": [1, "1"]})
    assert t.query("A=1") == 0.25 * 2
    assert skewed.query("A=1") == pytest.approx(0.3)
    assert skewed.query("A='1'") == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("rian | x=1", "no axis 'rian'.*did you mean 'rain'"),
        ("rain | widn=storm", "no axis 'widn'.*did you mean 'wind'"),
        ("rain | wind=strom", "'wind' has no label 'strom'.*did you mean 'storm'"),
        ("rain | x=7", "'x' has no label '7'; its labels are 0, 1"),
        ("rain | wind", "gives no value for 'wind'"),
        ("rain | wind=", "gives no value for 'wind'"),
        ("rain | ", "nothing after the bar"),
        ("| wind=calm", "asks for nothing"),
        ("", "asks for nothing"),
        ("rain | x=1 | wind=calm", "two bars"),
        ("rain | rain=no", "both asked for and given"),
        ("rain | x=1, x=0", "'x' is given twice"),
        ("rain, rain", "'rain' twice"),
        ("rain, x=1", "ask for one of the two"),
        ("__import__('os')", "no axis"),
    ],
)
def test_bad_questions_are_explained(question, message):
    with pytest.raises(ValueError, match=message):
        weather().query(question)


def test_conditioning_on_the_impossible_is_refused():
    t = JointTable(["A", "B"], [[0.5, 0.5], [0.0, 0.0]])
    with pytest.raises(ValueError, match="A=1 has probability 0"):
        t.query("B | A=1")
    with pytest.raises(ValueError, match="A=1 has probability 0"):
        t.conditional("B", "A").at("A=1")
    with pytest.raises(ValueError, match="probability 0"):
        t.event_probability("B=1", given="A=1")
    assert t.evidence("A=1") == 0.0
    assert t.log_prob("A=1") == -math.inf


@pytest.mark.topic("004/1.3")
def test_a_derivation_names_its_rules():
    chain = JointTable.from_conditionals(
        ConditionalTable("A", (), [0.3, 0.7]),
        ConditionalTable("C", "A", [[0.9, 0.1], [0.4, 0.6]]),
        ConditionalTable("B", "C", [[0.2, 0.8], [0.5, 0.5]]),
    )
    answer, steps = chain.query("A | B=1", trace=True)
    assert answer == chain.query("A | B=1")
    assert [step.rule for step in steps] == ["m", "p", "s", "s", "p"]
    assert [step.text for step in steps[:4]] == [
        "p(B | A, C) = p(B | C)",
        "p(A, C, B) = p(A) p(C | A) p(B | C)",
        "p(A, B=1) = Σ_C p(A, B=1, C)",
        f"p(B=1) = Σ_A p(A, B=1) = {chain.evidence('B=1'):.6g}",
    ]
    assert steps[4].text.startswith("p(A | B=1) = p(A, B=1) / p(B=1) = (")
    assert str(steps[0]) == "(m) p(B | A, C) = p(B | C)"


@pytest.mark.topic("004/1.3")
def test_derivation_without_evidence_is_a_sum():
    steps = weather().query("rain", trace=True).steps
    assert [step.rule for step in steps] == ["m", "s"]
    assert steps[1].text == "p(rain) = Σ_wind Σ_x p(rain, wind, x) = (0.269231, 0.730769)"
    assert len(weather().query(["rain", "wind", "x"], trace=True).steps) == 1
    event = weather().query("rain=yes | x=1", trace=True)
    assert event.steps[-1].text.startswith("p(rain=yes | x=1) = p(rain=yes, x=1) / p(x=1) = 0.7")


# -- building and leaving --------------------------------------------------------------------


def test_conditionals_come_in_causal_order():
    test = ConditionalTable("T", "D", [[0.85, 0.15], [0.05, 0.95]])
    prior = ConditionalTable("D", (), [0.99, 0.01])
    with pytest.raises(ValueError, match="causes come first"):
        JointTable.from_conditionals(test, prior)
    with pytest.raises(ValueError, match="two tables give the distribution of 'D'"):
        JointTable.from_conditionals(prior, prior)
    with pytest.raises(ValueError, match="labels of axis 'D' differ"):
        JointTable.from_conditionals(ConditionalTable("D", (), [1, 0], [["no", "yes"]]), test)
    with pytest.raises(TypeError, match="got Factor"):
        JointTable.from_conditionals(Factor("D", [1, 1]))
    with pytest.raises(ValueError, match="at least one table"):
        JointTable.from_conditionals()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ConditionalTable("T", "D", [[0.5, 0.5], [0.5, 0.6]]), ValueError, "for D=1.*1.1"),
        (lambda: ConditionalTable("T", "D", [0.5, 0.5]), ValueError, "do not fit a table"),
        (lambda: ConditionalTable("T", "T", np.eye(2)), ValueError, "'T' twice"),
        (lambda: ConditionalTable((), "T", [0.5, 0.5]), ValueError, "at least one name"),
        (lambda: ConditionalTable("T", "D"), TypeError, "needs probabilities"),
        (lambda: ConditionalTable("T", "D", np.eye(2)).at({}), ValueError, "for 'D'"),
        (lambda: weather().marginal("rian"), ValueError, "did you mean 'rain'"),
        (lambda: weather().marginal(()), ValueError, "at least one name"),
        (lambda: weather().conditional("rain", "rain"), ValueError, "'rain' twice"),
        (lambda: weather().independent("rain", "rain"), ValueError, "'rain' twice"),
        (lambda: weather().event_probability(), TypeError, "at least one event"),
        (lambda: weather().event_probability({"rain": 3}), ValueError, "no label 3"),
        (lambda: weather().event(lambda rian: True), ValueError, "did you mean 'rain'"),
        (lambda: weather().event(weather().event("x=1")), ValueError, "another table"),
        (lambda: weather().event("x=1") & weather().event("x=0"), ValueError, "different tables"),
        (lambda: weather().kl(JointTable("A", [1.0])), ValueError, "same names and labels"),
        (lambda: weather().entropy(unit="hartley"), ValueError, "unit must be"),
        (lambda: weather().marginals, AttributeError, "did you mean 'marginal'"),
        (lambda: diagnostic_test(1.2, 0.5, 0.5), ValueError, "prevalence must lie"),
        (lambda: weather() * 2, TypeError, "unsupported operand"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


COLUMNS = {"A": ["x", "y", "y", "x", "y"], "B": [0, 1, 1, 1, 0]}


@pytest.mark.parametrize(
    "data",
    [
        COLUMNS,
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS).astype({"A": "category"}),
        pl.DataFrame(COLUMNS),
        pl.DataFrame(COLUMNS).with_columns(pl.col("A").cast(pl.Categorical)),
        {name: np.array(column) for name, column in COLUMNS.items()},
    ],
    ids=["columns", "pandas", "pandas categories", "polars", "polars categories", "arrays"],
)
def test_tables_are_counted_from_any_frame(data):
    t = JointTable.from_data(data)
    assert t.labels == {"A": ("x", "y"), "B": (0, 1)}
    np.testing.assert_allclose(t.probabilities, [[0.2, 0.2], [0.2, 0.4]], rtol=1e-15)
    assert JointTable.from_data(data, names=["B"]).names == ("B",)


def test_counting_with_weights_labels_and_pseudocounts():
    t = JointTable.from_data(COLUMNS, weights=[1, 0, 0, 2, 1])
    np.testing.assert_allclose(t.probabilities, [[0.25, 0.5], [0.25, 0.0]], rtol=1e-15)
    t = JointTable.from_data({"A": ["x", "x"]}, labels={"A": ["z", "x"]}, pseudocount=1.0)
    assert t.query("A=z") == pytest.approx(0.25)
    t = JointTable.from_data(np.array([[0, 1], [1, 1]]), names=["a", "b"])
    assert t.shape == (2, 1)
    mixed = JointTable.from_data({"A": [1, "a", (2, 3), 1]})
    assert mixed.query(["A"]).probabilities.max() == 0.5
    flags = JointTable.from_data({"A": [True, False, True]})
    assert flags.query("A=True") == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: JointTable.from_data({"A": [1, 2], "B": [1]}), ValueError, "same length"),
        (lambda: JointTable.from_data({"A": []}), ValueError, "empty"),
        (lambda: JointTable.from_data({}), ValueError, "no columns"),
        (lambda: JointTable.from_data({"A": [1.0, np.nan]}), ValueError, "'A' .* row 1"),
        (lambda: JointTable.from_data({"A": ["x", None]}), ValueError, "missing value in row 1"),
        (lambda: JointTable.from_data(COLUMNS, ["a"]), ValueError, "no column 'a'.*mean 'A'"),
        (lambda: JointTable.from_data(np.eye(2)), ValueError, "needs that many names"),
        (lambda: JointTable.from_data(np.ones(3), ["a"]), ValueError, r"got shape \(3,\)"),
        (
            lambda: JointTable.from_data(COLUMNS, labels={"A": ["x"]}),
            ValueError,
            "'A' holds 'y' in row 1",
        ),
        (lambda: JointTable.from_data(COLUMNS, labels={"Q": ["x"]}), ValueError, "no column"),
        (lambda: JointTable.from_data(COLUMNS, weights=[1]), ValueError, "weights must have"),
        (lambda: JointTable.from_data(COLUMNS, pseudocount=-1), ValueError, "pseudocount"),
    ],
)
def test_bad_data_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_samples_follow_the_table_and_read_back():
    t = weather()
    n = 50_000
    draws = t.sample(n, rng=1)
    assert list(draws) == ["rain", "wind", "x"]
    back = JointTable.from_data(draws, labels=t.labels)
    spread = np.sqrt(t.probabilities * (1 - t.probabilities) / n)
    assert np.all(np.abs(back.probabilities - t.probabilities) < 5 * spread)
    assert np.array_equal(t.sample(10, rng=2)["wind"], t.sample(10, rng=2)["wind"])
    one = t.sample(rng=0)
    assert set(one) == {"rain", "wind", "x"}
    assert one["rain"] in ("no", "yes")


def test_draws_never_hit_what_is_impossible():
    t = JointTable(["A", "B"], [[0.0, 0.5], [0.5, 0.0]])
    draws = t.sample(10_000, rng=0)
    assert np.all(draws["A"] != draws["B"])


def test_frame_has_a_row_per_cell():
    frame = weather().to_frame()
    assert list(frame.columns) == ["rain", "wind", "x", "probability"]
    assert len(frame) == 12
    assert frame["probability"].sum() == pytest.approx(1.0)
    weighted = JointTable.from_data(frame, ["rain", "wind", "x"], weights=frame["probability"])
    same = weighted.factor.transpose(weather().names)
    assert np.allclose(same.marginal("rain").values, weather().marginal("rain").probabilities)


# -- being a value ---------------------------------------------------------------------------


def test_a_table_is_a_value():
    t = weather()
    assert t == weather()
    assert hash(t) == hash(weather())
    assert t != t.marginal(["rain", "wind"])
    assert copy.deepcopy(t) == t == pickle.loads(pickle.dumps(t))
    with pytest.raises(AttributeError, match="a value"):
        t.factor = None
    with pytest.raises(ValueError, match="read-only"):
        t.probabilities[0] = 1.0
    c = t.conditional("rain", "wind")
    assert c == t.conditional("rain", "wind")
    assert hash(c) == hash(t.conditional("rain", "wind"))
    assert c != t.conditional("wind", "rain")
    with pytest.raises(AttributeError, match="a value"):
        c.target = ()
    assert copy.deepcopy(c) == c == pickle.loads(pickle.dumps(c))
    assert t.mode == {"rain": "yes", "wind": "storm", "x": 1}


def test_tables_print_aligned():
    t = JointTable(["D", "wind"], [[0.99, 0.01]], [["no"], ["calm", "storm"]])
    assert repr(t) == (
        "JointTable over D, wind\nD   wind   probability\nno  calm   0.99\nno  storm  0.01"
    )
    assert repr(t.conditional("wind", "D")).startswith("p(wind | D)\nD   wind   probability\n")


def test_small_tables_are_exact_in_rational_arithmetic():
    """The numbers of the diagnosis, computed with fractions."""
    prior, hit, false = Fraction(1, 100), Fraction(95, 100), Fraction(15, 100)
    exact = prior * hit / (prior * hit + (1 - prior) * false)
    assert diagnostic_test(0.01, 0.95, 0.85).query("D=1|T=1") == pytest.approx(
        float(exact), rel=1e-14
    )


def test_improbable_evidence_keeps_its_digits():
    """Two hypotheses, a thousand observations of probability e^-3 and e^-3.1 each."""
    logs = np.array([-3000.0, -3100.0])
    joint = Factor.from_log("H", logs) * Factor("H", [0.5, 0.5])
    t = JointTable.from_factor(joint)
    assert t.query("H=1") == pytest.approx(math.exp(-100.0), rel=1e-9)


def test_pandas_is_loaded_only_for_frames():
    code = (
        "import sys; from posteriori.distributions.joint_table import JointTable;"
        "JointTable('A', [0.5, 0.5]).query('A'); print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
