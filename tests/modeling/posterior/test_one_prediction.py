"""Predictions are a matter of the model: blocks of any kind that believe the same predict the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posteriori.distributions import Gamma, MvNormal, Normal
from posteriori.modeling import Input, Model

rng = np.random.default_rng(11)
X = rng.normal(size=(12, 2))
Y = X @ [2.0, -1.0] + 0.3 * rng.normal(size=12)
FIRST, SECOND = np.arange(12) % 3, np.arange(12) % 4


def regression() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.X = Input()
    m.a = Normal(0.0, variance=9.0)
    m.w = MvNormal(np.zeros(2), cov=np.eye(2))
    m.y = Normal(m.X @ m.w + m.a, variance=0.1)
    m.contrast = Normal(m.w[0] - m.w[1], variance=0.5)
    return m, {"X": X, "y": Y}


def groups() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.mu = Normal(0.0, variance=4.0)
    m.theta = Normal(m.mu, variance=1.0).iid("k")
    m.y = Normal(m.theta, variance=0.3).iid("n")
    m.gap = Normal(m.theta - m.mu, variance=0.2)
    return m, {"y": Y.reshape(3, 4)}


def vectors() -> tuple[Model, dict[str, Any]]:
    a = np.array([[1.0, 0.4], [0.0, 2.0]])
    m = Model()
    m.mu = MvNormal(np.zeros(2), cov=4.0 * np.eye(2))
    m.z = MvNormal(m.mu, cov=a @ a.T).iid("n")
    m.x = MvNormal(a @ m.z, cov=0.2 * np.eye(2))
    m.one = Normal(m.z[0] + m.mu[1], variance=0.2)
    return m, {"x": X}


def crossed() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.i, m.j = Input(), Input()
    m.u = Normal(0.0, variance=1.0).iid(3)
    m.v = Normal(0.0, variance=2.0).iid(4)
    m.y = Normal(m.u[m.i] + m.v[m.j], variance=0.3)
    m.total = Normal(m.u @ [1.0, 2.0, 3.0] - m.v[0], variance=0.1)
    return m, {"i": FIRST, "j": SECOND, "y": Y}


QUESTIONS: dict[Callable[[], Any], list[tuple[str, dict[str, Any]]]] = {
    regression: [("y", {}), ("y", {"X": 3.0 * X[:4]}), ("contrast", {})],
    groups: [
        *(("y", new) for new in ({}, {"k": 2}, {"n": 3}, {"k": 2, "n": 3})),
        *(("theta", {"k": 2}), ("gap", {}), ("gap", {"k": 2})),
    ],
    vectors: [("x", {}), ("x", {"n": 3}), ("z", {"n": 2}), ("one", {}), ("one", {"n": 2})],
    crossed: [("y", {}), ("y", {"i": [0, 2, 2], "j": [3, 3, 0]}), ("total", {})],
}
ASKED = [(build, *question) for build, asked in QUESTIONS.items() for question in asked]


@pytest.mark.parametrize(("build", "name", "keywords"), ASKED)
def test_one_joint_belief_predicts_as_the_exact_block(
    build: Callable[[], Any], name: str, keywords: Any
) -> None:
    model, data = build()
    exact = model.infer(data)
    believed = model.infer(data, factorize=[[]])
    assert (exact.log_evidence.kind, believed.log_evidence.kind) == ("exact", "bound")
    assert float(believed.log_evidence) == pytest.approx(float(exact.log_evidence), abs=1e-8)
    a, b = (post.predict(name, **keywords) for post in (exact, believed))
    assert type(a) is type(b)
    np.testing.assert_allclose(b.mean, a.mean, rtol=1e-8, atol=1e-10)
    spread = "cov" if a.event_shape else "variance"
    np.testing.assert_allclose(getattr(b, spread), getattr(a, spread), rtol=1e-8)


def test_exact_blocks_and_approximations_answer_together() -> None:
    m = Model()
    m.a = Normal(0.0, variance=4.0)
    m.x = Normal(m.a, variance=1.0).iid("n")
    m.mu = Normal(0.0, variance=9.0)
    m.tau = Gamma(2.0, rate=1.0)
    m.y = Normal(m.mu, precision=m.tau).iid("m")
    m.both = Normal(2.0 * m.a + m.mu, variance=0.5)
    post = m.infer(x=Y, y=3.0 + Y, method="vmp")
    assert post.log_evidence.kind == "bound"
    np.testing.assert_allclose(post.both.mean, 2.0 * post.a.mean + post.mu.mean)
    expected = 4.0 * post.a.variance + post.mu.variance + 0.5
    np.testing.assert_allclose(post.both.variance, expected)
