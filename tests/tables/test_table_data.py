"""Tables from data and conditionals, to draws and frames, and as values."""

import copy
import math
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from posteriori.factors import Factor
from posteriori.tables import ConditionalTable, JointTable, diagnostic_test
from tests.tables.small_tables import weather

# -- building and leaving ----------------------------------------------------------------------


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
        (lambda: weather().is_independent("rain", "rain"), ValueError, "'rain' twice"),
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


# -- being a value -----------------------------------------------------------------------------


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
        "import sys; from posteriori.tables.joint_table import JointTable;"
        "JointTable('A', [0.5, 0.5]).query('A'); print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
