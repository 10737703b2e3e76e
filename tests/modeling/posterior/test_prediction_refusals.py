"""Questions about new members that have no answer, and what they are answered with."""

from typing import Any

import numpy as np
import pytest

from posteriori.distributions import (
    Normal,
)
from posteriori.modeling import Chain, Input, Model
from tests.modeling.prediction_models import Y, by_index, groups, mean, regression


def plated_regression() -> Model:
    m = Model()
    m.x = Input("n")
    m.z = Input("n")
    m.w = Normal(0.0, variance=4.0)
    m.y = Normal(m.w * m.x + m.z, variance=0.5)
    return m


LINE = {"x": np.arange(7.0), "z": np.ones(7), "y": Y}
INDEX = {"g": [0, 0, 1, 1, 2, 2, 2], "y": Y}


@pytest.mark.parametrize(
    ("build", "data", "name", "keywords", "message"),
    [
        (mean, {"y": Y}, "yy", {}, "no variable 'yy' to predict; did you mean 'y'"),
        (mean, {"y": Y}, "speed", {}, "it has mu, y"),
        (plated_regression, LINE, "x", {}, "x is an input"),
        (mean, {"y": Y}, "y", {"m": 3}, "no input or plate 'm'; it has n"),
        (plated_regression, LINE, "y", {"xx": [1.0]}, "did you mean 'x'"),
        (by_index, INDEX, "y", {"members": 3}, "theta repeats a fixed number of times"),
        (mean, {"y": Y}, "y", {"n": 0}, "n must be at least 1 new member, got 0"),
        (mean, {"y": Y}, "y", {"n": -2}, "n must be at least 1 new member, got -2"),
        (groups, {"y": Y}, "mu", {"n": 2}, "mu does not lie on plate 'n'"),
        (plated_regression, LINE, "y", {"n": 2}, "x lies on plate 'n': give it for the 2 new"),
        (plated_regression, LINE, "y", {"x": [1.0]}, "z lies on plate 'n': give it for the 1 new"),
        (plated_regression, LINE, "y", {"x": [1.0], "z": [1.0, 2.0]}, "z has 2 on it; give as"),
        (plated_regression, LINE, "y", {"n": 3, "x": [1.0], "z": [1.0]}, "gets 3 new members but"),
        (plated_regression, LINE, "y", {"x": [], "z": []}, "x has no members on plate 'n'"),
        (plated_regression, LINE, "y", {"x": 1.0, "z": 1.0}, "x has plates n but"),
    ],
)
def test_questions_without_sense_are_answered_with_a_remedy(
    build: Any, data: Any, name: str, keywords: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        build().infer(data).predict(name, **keywords)


@pytest.mark.parametrize("count", [2.0, "two", [1, 2], None])
def test_members_are_counted_by_whole_numbers(count: Any) -> None:
    with pytest.raises(TypeError, match="n is a plate: give the number of its new members"):
        mean().infer(y=Y).predict("y", n=count)


def test_the_rows_of_an_input_must_fit() -> None:
    post = regression().infer(X=np.ones((7, 3)), y=Y)
    with pytest.raises(ValueError, match="@ cannot join axes of length 2 and 3"):
        post.predict("y", X=np.ones((4, 2)))


def panel() -> Model:
    m = Model()
    m.s = Chain(Normal(1.0, variance=2.0).iid("n"), lambda s: Normal(0.5 * s, variance=1.0), "t")
    m.y = Normal(m.s + 3.0, variance=0.1)
    return m


def test_new_chains_follow_their_prior() -> None:
    post = panel().infer(y=np.ones((3, 2)))
    variance = np.array([2.0, 1.5, 1.375])
    for name, shift, noise in (("s", 0.0, 0.0), ("y", 3.0, 0.1)):
        new = post.predict(name, n=4)
        assert new.batch_shape == (3, 4)
        np.testing.assert_allclose(new.mean, np.tile([[1.0], [0.5], [0.25]], 4) + shift)
        np.testing.assert_allclose(new.variance, np.tile(variance[:, None], 4) + noise)


def test_chains_without_data_are_predicted() -> None:
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.y = Normal(m.a, variance=1.0)
    m.b = Normal(0.0, variance=1.0)
    m.s = Chain(Normal(m.b, variance=1.0), lambda s: Normal(s, variance=1.0), length=3)
    m.leaf = Normal(m.s + m.b, variance=0.5)
    m.other = Chain(Normal(m.a, variance=1.0), lambda s: Normal(s, variance=1.0), length=3)
    post = m.infer(y=1.0)
    np.testing.assert_allclose(post.s.variance, [2.0, 3.0, 4.0])
    np.testing.assert_allclose(post.leaf.variance, 4.0 + np.array([1.0, 2.0, 3.0]) + 0.5)
    with pytest.raises(TypeError, match="other is a new chain, together with a"):
        _ = post.other


def test_a_variable_is_asked_for_by_its_name() -> None:
    m = mean()
    with pytest.raises(TypeError, match=r'as in predict\("y"\), got y'):
        m.infer(y=Y).predict(m.y)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["self", "name", "inputs"])
def test_inputs_and_plates_may_have_any_name(name: str) -> None:
    m = Model()
    m[name] = Input("n")
    m.w = Normal(0.0, variance=1.0)
    m.y = Normal(m.w * m[name], variance=1.0)
    new = m.infer({name: [1.0, 2.0], "y": [1.0, 2.0]}).predict("y", **{name: [3.0]})
    np.testing.assert_allclose(new.mean, [2.5])


def test_other_questions_without_sense() -> None:
    post = mean().infer(y=Y)
    with pytest.raises(ValueError, match="joint needs the names"):
        post.joint()
    with pytest.raises(ValueError, match="size must be at least 1 draw, got 0"):
        post.sample(0)
    with pytest.raises(KeyError, match="no variable 'speed'; it has mu, y"):
        post["speed"]


def test_the_joint_distribution_of_what_was_not_observed() -> None:
    m = mean()
    m.new = Normal(m.mu, variance=2.0)
    m.others = Normal(m.mu, variance=2.0).iid(3)
    post = m.infer(y=Y)
    alone = post.joint("new")
    np.testing.assert_allclose(alone.mean, [post.mu.mean])
    np.testing.assert_allclose(alone.cov, [[post.mu.variance + 2.0]])
    for names in (("mu", "new"), ("others",)):
        with pytest.raises(TypeError, match=r"no observation depends on .*sample\(\) draws all"):
            post.joint(*names)
