"""Data that cannot be used: every complaint names what is wrong and where."""

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from posteriori import Bernoulli, Categorical, MvNormal, Normal
from posteriori.modeling import Chain, Input, Model


def regression() -> Model:
    m = Model()
    m.X = Input("n")
    m.w = MvNormal(np.zeros(2), cov=np.eye(2))
    m.y = Normal(m.X @ m.w, variance=1.0)
    return m


def heteroscedastic() -> Model:
    m = Model()
    m.v = Input("n")
    m.x = Normal(0.0, variance=1.0)
    m.y = Normal(m.x, variance=m.v)
    return m


def known_noise() -> Model:
    m = Model()
    m.v = Input("n")
    m.y = Normal(0.0, variance=m.v)
    return m


def walk() -> Model:
    m = Model()
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, variance=1.0), length="t")
    m.y = Normal(m.s, variance=1.0)
    return m


def coins() -> Model:
    m = Model()
    m.p = Input("n")
    m.y = Bernoulli(m.p)
    return m


CASES: dict[str, tuple[Model, dict[str, Any], str]] = {
    "missing input": (
        regression(),
        {"X": [[1.0, 2.0], [np.nan, 0.0]], "y": [0.0, 1.0]},
        "input X must be finite, got nan at index 1, 0",
    ),
    "infinite input": (
        regression(),
        {"X": [[1.0, 2.0], [0.0, np.inf]], "y": [0.0, 1.0]},
        "input X must be finite, got inf at index 1, 1",
    ),
    "infinite observation": (
        regression(),
        {"X": np.ones((2, 2)), "y": [0.0, -np.inf]},
        "y must be finite, or NaN where it is missing, got -inf at index 1",
    ),
    "infinite observation of a chain": (
        walk(),
        {"y": [0.0, np.inf, np.nan]},
        "y must be finite, or NaN where it is missing, got inf at index 1",
    ),
    "impossible": (
        coins(),
        {"p": [0.5, 0.0, 0.0], "y": [1, 0, 1]},
        "the data have probability 0: the value of y at n=2 is impossible",
    ),
    "impossible beside a gap": (
        coins(),
        {"p": [0.5, 0.0, 1.0], "y": [1, np.nan, 0]},
        "the data have probability 0: the value of y at n=2 is impossible",
    ),
    "bad known parameter": (
        coins(),
        {"p": [0.5, 1.5], "y": [1, 0]},
        "parameters of y: probability must lie between 0 and 1, got 1.5",
    ),
    "negative variance of data": (
        known_noise(),
        {"v": [1.0, -2.0], "y": [1.0, 0.0]},
        "parameters of y: variance must be positive, got -2",
    ),
    "negative variance below an unknown": (
        heteroscedastic(),
        {"v": [1.0, -2.0], "y": [1.0, 0.0]},
        "variance of y must be positive, got -2 at index 1",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_infer_says_what_is_wrong_and_where(name: str) -> None:
    model, data, message = CASES[name]
    with pytest.raises(ValueError, match=re.escape(message)):
        model.infer(data)


def test_the_joint_density_of_impossible_values_is_zero() -> None:
    assert coins().log_joint(p=[0.0, 0.5], y=[1, 1]) == -np.inf


def test_inputs_of_predictions_are_finite() -> None:
    post = regression().infer(X=np.ones((2, 2)), y=[0.0, 1.0])
    with pytest.raises(ValueError, match="input X must be finite, got nan at index 0, 1"):
        post.predict("y", X=[[1.0, np.nan]])


# -- what numbers may come in ------------------------------------------------------------------

NUMBERS = np.array([1.0, np.nan, 2.5])


@pytest.mark.parametrize(
    "values",
    [
        [1.0, None, 2.5],
        [1.0, float("nan"), 2.5],
        np.ma.array([1.0, 7.0, 2.5], mask=[False, True, False]),
        pd.Series([1.0, None, 2.5]),
        pd.Series([1.0, None, 2.5], dtype="Float64"),
        pl.Series([1.0, None, 2.5]),
        np.array([1.0, np.nan, 2.5], dtype=np.float32),
        np.array([1.0, None, np.float64(2.5)], dtype=object),
    ],
    ids=lambda v: type(v).__name__,
)
def test_missing_numbers_of_any_kind(values: Any) -> None:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.y = Normal(m.mu, variance=1.0).iid("n")
    found, wanted = m.infer(y=values), m.infer(y=NUMBERS)
    assert found.mu == wanted.mu
    assert float(found.log_evidence) == float(wanted.log_evidence)


def test_masked_inputs_are_not_known() -> None:
    masked = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 0], [0, 1]])
    with pytest.raises(ValueError, match="input X must be finite, got nan at index 1, 1"):
        regression().infer(X=masked, y=[0.0, 1.0])


def test_whole_numbers_and_truth_values_are_numbers() -> None:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.y = Normal(m.mu, variance=1.0).iid("n")
    wanted = m.infer(y=[1.0, 0.0]).mu
    for values in ([1, 0], [True, False], np.array([1, 0], dtype=np.uint8)):
        assert m.infer(y=values).mu == wanted


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1.0", "2.0"], r"y must hold numbers, got '1.0' at index 0; strings .*astype\(float\)"),
        ([1.0, "two"], "y must hold numbers, got '1.0' at index 0"),
        (np.array([1.0, "two"], dtype=object), "y must hold numbers, got 'two' at index 1"),
        ([1.0, 2.0j], r"y must hold numbers, got \(1\+0j\) at index 0"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "y must hold numbers, got 2020-01-01"),
        ([{}, 1.0], r"y must hold numbers, got \{\} at index 0"),
    ],
)
def test_what_is_no_number(values: Any, words: str) -> None:
    m = Model()
    m.y = Normal(0.0, variance=1.0).iid("n")
    with pytest.raises(TypeError, match=words):
        m.infer(y=values)
    m = Model()
    m.x = Input("n")
    m.y = Normal(m.x, variance=1.0)
    with pytest.raises(TypeError, match=words.replace("y must", "input x must")):
        m.infer(x=values, y=np.zeros(len(values)))


def test_data_are_no_variables_and_no_distributions() -> None:
    m = Model()
    m.mu = Normal(0.0, variance=1.0)
    m.y = Normal(m.mu, variance=1.0).iid("n")
    with pytest.raises(TypeError, match="y is given mu, which has no value yet; data are numbers"):
        m.infer(y=m.mu)
    with pytest.raises(TypeError, match="y is given mu, which has no value yet"):
        m.infer(y=[1.0, m.mu])
    with pytest.raises(TypeError, match=r"y is given a Normal distribution; .* sample\(\)"):
        m.infer(y=Normal(0.0, variance=1.0))


@pytest.mark.parametrize(
    ("shape", "hint"),
    [
        ((7, 1, 2), r"repeat the variable with \.iid"),
        ((2, 7), "rows are members of n: give its transpose"),
        ((7, 2, 1), r"take the only column, as in x\[:, 0\]"),
        ((7, 3), r"have shape \(7, 3\)$"),
    ],
)
def test_other_shapes(shape: tuple[int, ...], hint: str) -> None:
    m = Model()
    m.y = MvNormal(np.zeros(2), cov=np.eye(2)).iid("n")
    with pytest.raises(ValueError, match=hint):
        m.infer(y=np.zeros(shape))


def test_a_number_is_no_plate() -> None:
    m = Model()
    m.y = Normal(0.0, variance=1.0).iid("n")
    with pytest.raises(
        ValueError, match=r"plates n but .* give an array with an axis for each plate"
    ):
        m.infer(y=1.0)


@pytest.mark.parametrize("data", [np.zeros(3), [1.0], pd.DataFrame({"y": [1.0, 2.0]}), 3.0])
def test_data_have_names(data: Any) -> None:
    m = Model()
    m.y = Normal(0.0, variance=1.0).iid("n")
    with pytest.raises(TypeError, match=rf"by name, as in infer\(x=.*got {type(data).__name__}"):
        m.infer(data)


def test_complaints_name_the_expression() -> None:
    m = Model()
    m.z = Categorical([0.2, 0.3, 0.5]).iid("n")
    m.mu = Normal(0.0, variance=1.0).iid(3)
    m.y = Normal(m.mu[m.z], variance=1.0)
    with pytest.raises(IndexError, match=r"in mu\[z\]: an index must lie between 0 and 2, got 5"):
        m.infer(z=[0, 5], y=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"z has states 0 to 2, got 5 at index 1$"):
        m.infer(z=[0, 5, np.nan], y=[1.0, 2.0, 3.0])
    m = Model()
    m.w = Normal(0.0, variance=1.0).iid(3)
    m.y = Normal(np.ones((2, 2)) @ m.w, variance=1.0)
    with pytest.raises(ValueError, match=r"in \(Constant\(2, 2\) @ w\): @ cannot join axes"):
        m.infer(y=[1.0, 2.0])
