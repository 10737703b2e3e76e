"""Events and questions: many ways to write them, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.distributions.counts.categorical import Categorical
from posteriori.tables import ConditionalTable
from posteriori.tables.joint_table import JointTable
from tests.tables.small_tables import brute, tables, weather

# -- events ------------------------------------------------------------------------------------


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


# -- questions ---------------------------------------------------------------------------------


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
        ("rian | x=1", "no variable 'rian'.*did you mean 'rain'"),
        ("rain | widn=storm", "no variable 'widn'.*did you mean 'wind'"),
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
        ("__import__('os')", "no variable"),
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
