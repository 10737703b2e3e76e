"""Discrete models and data that cannot be, and what is said of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Normal,
)
from posteriori.modeling import Chain, Model, take
from tests.modeling.discrete_models import (
    EMISSION,
    MU,
    PI,
    Y,
    an_impossible_regime,
    regions,
)


def impossible_leaf() -> Model:
    m = Model()
    m.z = Categorical([0.5, 0.5]).iid("n")
    m.y = Bernoulli(take([0.0, 0.0], m.z))
    return m


def contradiction() -> Model:
    m = Model()
    m.z = Categorical([0.5, 0.5]).iid("n")
    m.x = Bernoulli(take([0.0, 1.0], m.z))
    m.y = Bernoulli(take([1.0, 0.0], m.z))
    return m


def stuck_chain() -> Model:
    m = Model()
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(np.eye(2), z)), length="t")
    m.y = Bernoulli(take([0.0, 1.0], m.z))
    return m


def stuck_series() -> Model:
    m = Model()
    m.z = Chain(
        Categorical([0.5, 0.5]).iid("s"), lambda z: Categorical(take(np.eye(2), z)), length="t"
    )
    m.y = Bernoulli(take([0.0, 1.0], m.z))
    return m


def stuck_members() -> Model:
    m = Model()
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(np.eye(2), z)), length=3)
    m.y = Bernoulli(take([0.0, 1.0], m.z))
    return m


def contradiction_of_rows() -> Model:
    m = Model()
    m.z = Categorical([0.5, 0.5]).iid(2)
    m.x = Bernoulli(take([0.0, 1.0], m.z))
    m.y = Bernoulli(take([1.0, 0.0], m.z))
    return m


def contradiction_in_a_network() -> Model:
    m = Model()
    m.a = Bernoulli(0.5)
    m.b = Bernoulli(take([0.0, 1.0], m.a))
    m.x = Bernoulli(take([0.0, 1.0], m.a))
    m.y = Bernoulli(take([0.0, 1.0], m.b))
    return m


def ring_of_one_colour() -> Model:
    m = Model()
    m.c = Bernoulli(0.5).iid(3)
    m.like = Bernoulli(take(take(np.eye(2), m.c[[0, 1, 2]]), m.c[[1, 2, 0]]))
    return m


def indexed(table: Any, index: Callable[[], Any]) -> Model:
    m = Model()
    m.i = index()
    m.y = Normal(take(table, m.i), variance=1.0)
    return m


def computed_index() -> Model:
    m = Model()
    m.i = Bernoulli(0.5)
    m.y = Normal(take(MU, 2.0 * m.i), variance=1.0)
    return m


def unnormalised() -> Model:
    m = Model()
    m.a = Categorical([0.5, 0.5])
    m.b = Categorical(take([[0.5, 0.6], [0.1, 0.9]], m.a))
    return m


def too_large() -> Model:
    m = Model()
    for i in range(24):
        m[f"c{i}"] = Categorical(np.full(4, 0.25))
    m.y = Normal(sum((m[f"c{i}"] for i in range(1, 24)), start=1.0 * m.c0), variance=1.0)
    return m


@pytest.mark.parametrize(
    ("build", "data", "error", "words"),
    [
        (impossible_leaf, {"y": [0, 1]}, ValueError, r"value of y at n=1 is impossible"),
        (
            contradiction_of_rows,
            {"x": [0, 0.5], "y": [1, 1]},
            ValueError,
            "value of x at index 1 is impossible in every state of z",
        ),
        (contradiction, {"x": [0, 1], "y": [1, 1]}, ValueError, r"no state of z .* n=1"),
        (stuck_chain, {"y": [1, 1, 0]}, ValueError, r"no state of z is possible at t=2 given"),
        (stuck_series, {"y": [[1, 1], [1, 0]]}, ValueError, r"state of z is possible at s=1, t=1"),
        (stuck_members, {"y": [1, 1, 0]}, ValueError, r"no state of z is possible at index 2"),
        (
            an_impossible_regime,
            {"y": [0, 1, 0, 0]},
            ValueError,
            r"no state of z is possible at t=3 .*, whatever the state of g",
        ),
        (contradiction_of_rows, {"x": [0, 1], "y": [1, 1]}, ValueError, r"of z .* at index 1$"),
        (contradiction_in_a_network, {"x": 0, "y": 1}, ValueError, r"no state of [ab] is possible"),
        (ring_of_one_colour, {"like": [1, 1, 0]}, ValueError, r"no state of c\[\d\] is possible"),
        (lambda: indexed(MU, lambda: Bernoulli(0.5)), {"y": 0.0}, ValueError, "3 rows.*2 states"),
        (unnormalised, {"b": 0}, ValueError, "parameters of b: .*sum to 1"),
        (lambda: indexed(MU, lambda: Normal(0.0, variance=1.0)), {"y": 0.0}, TypeError, "index"),
        (lambda: indexed(MU, lambda: Beta(1.0, 1.0)), {"y": 0.0}, TypeError, "index"),
        (computed_index, {"y": 0.0}, TypeError, "variable itself can be an index"),
        (regions, {"z": [np.nan, 3.0], "y": [0.0, 1.0]}, ValueError, "states 0 to 2, got 3"),
        (too_large, {"y": 30.0}, MemoryError, "cells"),
    ],
)
def test_refusals(build, data, error, words) -> None:
    with pytest.raises(error, match=words):
        build().infer(data)


def test_a_chain_keeps_its_number_of_states() -> None:
    m = Model()
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(EMISSION, z)), length="t")
    m.y = Normal(take(MU, m.z), variance=1.0)
    with pytest.raises(ValueError, match="keeps its number of states"):
        m.infer(y=Y)
