"""Chains of a known number of steps on named plates: plates first, then time, as below them."""

from typing import Any

import numpy as np
import pytest

from posteriori import Bernoulli, Model, Normal
from posteriori.modeling import Chain, take


def walks(plates: bool = True) -> Model:
    m = Model()
    first: Any = Normal(0.0, variance=2.0)
    m.s = Chain(first.iid("g") if plates else first, lambda s: Normal(0.8 * s, variance=1.0), 4)
    m.y = Normal(m.s, variance=0.5)
    return m


def switches(plates: bool = True) -> Model:
    m = Model()
    first: Any = Bernoulli(0.3)
    m.s = Chain(
        first.iid("g") if plates else first, lambda s: Bernoulli(take([0.2, 0.9], s)), length=4
    )
    m.y = Normal(take([0.0, 1.0], m.s), variance=0.5)
    return m


@pytest.mark.parametrize("build", [walks, switches])
def test_series_are_rows_and_steps_are_columns(build: Any) -> None:
    y = np.arange(12.0).reshape(3, 4) / 6.0
    post = build().infer(y=y)
    single = [build(plates=False).infer(y=row) for row in y]
    for found in (post.s, post.predict("y")):
        assert found.batch_shape == (3, 4)
    np.testing.assert_allclose(post.s.mean, [one.s.mean for one in single], atol=1e-12)
    evidence = sum(float(one.log_evidence) for one in single)
    assert float(post.log_evidence) == pytest.approx(evidence, rel=1e-12)
    assert post.sample(5, rng=0)["s"].shape == (5, 3, 4)


@pytest.mark.parametrize("build", [walks, switches])
def test_simulated_series_can_be_observed(build: Any) -> None:
    values = build().simulate(plates={"g": 3}, rng=0)
    assert {name: value.shape for name, value in values.items()} == {"s": (3, 4), "y": (3, 4)}
    rows = [
        build(plates=False).log_joint(s=s, y=y)
        for s, y in zip(values["s"], values["y"], strict=True)
    ]
    assert build().log_joint(values) == pytest.approx(sum(rows), rel=1e-12)
    assert float(build().infer(values).log_evidence) == pytest.approx(sum(rows), rel=1e-12)


def test_steps_of_simulated_series_follow_each_other() -> None:
    m = Model()
    m.s = Chain(
        Normal([10.0, 20.0], variance=1e-12).iid("g"), lambda s: Normal(s + 1, variance=1e-12), 3
    )
    values = m.simulate(plates={"g": 2}, rng=0)["s"]
    assert values.shape == (2, 3, 2)
    expected = np.array([10.0, 20.0]) + np.arange(3.0)[:, None]
    np.testing.assert_allclose(values, np.broadcast_to(expected, (2, 3, 2)), atol=1e-4)


def test_gaps_inside_series_are_integrated_out() -> None:
    s = np.array([[0.5, np.nan, 1.0, 2.0], [1.0, 0.0, np.nan, np.nan]])
    y = np.arange(8.0).reshape(2, 4) / 4.0
    post = walks().infer(s=s, y=y)
    single = [walks(plates=False).infer(s=a, y=b) for a, b in zip(s, y, strict=True)]
    evidence = sum(float(one.log_evidence) for one in single)
    assert float(post.log_evidence) == pytest.approx(evidence, rel=1e-12)
    means = np.concatenate([one["s[missing]"].mean for one in single])
    np.testing.assert_allclose(post["s[missing]"].mean, means, rtol=1e-10)


def test_leaves_of_series_are_drawn_beside_them() -> None:
    m = walks()
    m.leaf = Normal(m.s, variance=1e-12)
    draws = m.infer(y=np.ones((3, 4))).sample(6, rng=0)
    assert draws["leaf"].shape == (6, 3, 4)
    np.testing.assert_allclose(draws["leaf"], draws["s"], atol=1e-4)
