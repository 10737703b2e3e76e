"""Data that cannot be used: every complaint names what is wrong and where."""

import re
from typing import Any

import numpy as np
import pytest

from posteriori import Bernoulli, MvNormal, Normal
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
