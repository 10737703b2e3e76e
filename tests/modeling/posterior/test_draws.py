"""Joint posterior draws against marginals and joint distributions, for every kind of block."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from posteriori import Bernoulli, Beta, Categorical, Gamma, MvNormal, Normal, Poisson
from posteriori.modeling import Chain, Input, Model, take
from tests.modeling import conjugate_models as conjugate, scaled_models as scaled
from tests.modeling.exact import test_gaussian as gaussian

SIZE = 4000
ERRORS = 5.0


def assert_same_mean(draws: np.ndarray, expected: Any) -> None:
    """Compare averages of draws (S, ...) with their expectation."""
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - expected) <= ERRORS * error + 1e-12)


def assert_joint(draws: Mapping[str, Any], names: Any, mean: Any, cov: Any) -> None:
    flat = np.concatenate([draws[n].reshape(SIZE, -1) for n in names], axis=1)
    assert_same_mean(flat, mean)
    deviation = flat - mean
    assert_same_mean(deviation[:, :, None] * deviation[:, None, :], cov)


@pytest.mark.parametrize("name", gaussian.CASES)
def test_normal_blocks(name: str) -> None:
    case = gaussian.CASES[name]
    post = case.build().infer(case.data)
    draws = post.sample(SIZE, rng=1)
    assert {n: d.shape for n, d in draws.items()} == {
        n: (SIZE, *shape) for n, shape in case.shapes.items()
    }
    joint = post.joint(*case.shapes)
    assert_joint(draws, case.shapes, joint.mean, joint.cov)


@pytest.mark.parametrize("name", scaled.CASES)
def test_common_precision(name: str) -> None:
    case = scaled.CASES[name]
    post = case.build().infer(case.data)
    draws = post.sample(SIZE, rng=2)
    precision = draws["tau"]
    assert_same_mean(precision, post.tau.mean)
    root = precision**0.5 if isinstance(post.tau, Gamma) else precision**-0.5
    for variable, shape in case.shapes.items():
        assert draws[variable].shape == (SIZE, *shape)
    # freed of its precision, what is left is normal with the covariance at unit precision
    joint = post.joint(*case.shapes)
    flat = np.concatenate([draws[n].reshape(SIZE, -1) for n in case.shapes], axis=1)
    unit = (flat - joint.mean) * root[:, None]
    a, b = post.tau.shape, post.tau.rate if isinstance(post.tau, Gamma) else post.tau.scale
    assert_same_mean(unit[:, :, None] * unit[:, None, :], joint.scale * a / b)


def test_each_group_has_its_own_precision() -> None:
    post = scaled.groups().infer(g=scaled.GROUP, y=scaled.Y)
    draws = post.sample(SIZE, rng=3)
    for name, values in draws.items():
        assert values.shape[1:] == np.shape(post[name].mean)
        assert_same_mean(values, post[name].mean)


@pytest.mark.parametrize("name", conjugate.CASES)
def test_conjugate_blocks(name: str) -> None:
    case = conjugate.CASES[name]
    post = conjugate.one_for_each_group(case).infer(g=conjugate.GROUP, y=case.data)
    (unknown,) = post.sample(1, rng=0)
    draws = post.sample(SIZE, rng=4)[unknown]
    assert_same_mean(draws, post[unknown].mean)


def test_many_groups_are_drawn_at_once() -> None:
    m = Model()
    m.mu = Normal(0.0, variance=10.0)
    m.theta = Normal(m.mu, variance=2.0).iid("g")
    m.y = Normal(m.theta, variance=0.5)
    y = np.random.default_rng(0).normal(size=200_000)
    post = m.infer(y=y)
    draws = post.sample(3, rng=0)
    z = (draws["theta"] - post.theta.mean) / np.sqrt(post.theta.variance)
    assert np.abs(z.std() - 1.0) < ERRORS / np.sqrt(2 * z.size)


def leaves() -> Model:
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.y = Normal(m.a, variance=1.0)
    m.leaf = Normal(2.0 * m.a, variance=0.5).iid(2)
    m.p = Beta(2.0, 3.0)
    m.flip = Bernoulli(m.p).iid("n")
    m.z = Categorical([0.2, 0.8])
    m.w = Normal(take([0.0, 1.0], m.z), variance=0.1)
    return m


def test_leaves_follow_their_parents() -> None:
    post = leaves().infer(y=1.0, flip=[1, 0, 1], w=0.6)
    draws = post.sample(SIZE, rng=5)
    assert list(draws) == ["a", "leaf", "p", "z"]
    assert_same_mean(draws["leaf"], post.leaf.mean)
    noise = draws["leaf"] - 2.0 * draws["a"][:, None]
    assert_same_mean(noise**2, 0.5)
    assert_same_mean(draws["z"].astype(float), post.z.probabilities[1])


def deep_leaves() -> Model:
    """Leaves of leaves: chains, plates in another order, states with and without names."""
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.y = Normal(m.a, variance=1.0).iid("n")
    m.b = Normal(m.a, variance=0.3).iid("h")
    m.c = Chain(
        Normal(m.a, variance=0.2).iid("h").iid("g"),
        lambda c: Normal(m.b + 0.5 * c, variance=0.1),
        length=3,
    )
    m.u = Input("g")
    m.v = Input("h")
    m.d = MvNormal(m.a * np.ones(2), cov=np.eye(2))
    m.kind = Categorical([0.2, 0.3, 0.5], labels=("low", "middle", "high")).iid("h")
    m.e = Normal(take([0.0, 2.0, 5.0], m.kind) + m.a, variance=0.01)
    m.coin = Bernoulli(0.25)
    m.fixed = Normal(7.0, variance=2.0).iid(2)
    return m


def test_leaves_of_leaves() -> None:
    post = deep_leaves().infer(y=[0.5, 1.5], u=np.zeros(4), v=np.zeros(2))
    draws = post.sample(SIZE, rng=8)
    shapes = {n: d.shape[1:] for n, d in draws.items()}
    assert shapes == {
        "a": (),
        "b": (2,),
        "c": (4, 2, 3),
        "d": (2,),
        "kind": (2,),
        "e": (2,),
        "coin": (),
        "fixed": (2,),
    }
    a, b, c = draws["a"], draws["b"], draws["c"]
    assert_same_mean((b - a[:, None]) ** 2, 0.3)
    first = c[..., 0] - a[:, None, None]
    assert_same_mean(first**2, 0.2)
    steps = c[..., 1:] - 0.5 * c[..., :-1] - b[:, None, :, None]
    assert_same_mean(steps, 0.0)
    assert_same_mean(steps**2, 0.1)
    assert_same_mean(steps[:, 0, :, 0] * steps[:, 1, :, 0], 0.0)
    assert_same_mean((draws["d"] - a[:, None]) ** 2, 1.0)
    assert_same_mean((draws["kind"] == "high").astype(float), 0.5)
    level = {"low": 0.0, "middle": 2.0, "high": 5.0}
    noise = draws["e"] - np.vectorize(level.get)(draws["kind"]) - a[:, None]
    assert_same_mean(noise**2, 0.01)
    assert draws["coin"].dtype.kind == "i"
    assert_same_mean(draws["coin"].astype(float), 0.25)
    assert_same_mean(draws["fixed"], 7.0)
    assert np.std(draws["fixed"][:, 0] - draws["fixed"][:, 1]) > 1.5


def test_leaves_of_known_labels() -> None:
    m = Model()
    m.z = Categorical([0.2, 0.8], labels=("low", "high")).iid("n")
    m.y = Normal(take([0.0, 3.0], m.z), variance=1.0)
    m.leaf = Normal(take([-5.0, 5.0], m.z), variance=0.01)
    draws = m.infer(y=[0.1, 1.6, 2.9]).sample(SIZE, rng=9)
    assert_same_mean(draws["leaf"] - np.where(draws["z"] == "high", 5.0, -5.0), 0.0)


def test_the_same_seed_gives_the_same_draws() -> None:
    post = leaves().infer(y=1.0, flip=[1, 0, 1], w=0.6)
    first, second = post.sample(3, rng=7), post.sample(3, rng=7)
    assert all(np.array_equal(first[n], second[n]) for n in first)


def test_draws_of_several_blocks_share_one_stream() -> None:
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(2), cov=np.eye(2))
    m.y = Normal(m.X @ m.w, variance=1.0)
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, variance=1.0), length="t")
    m.x = Normal(m.s, variance=1.0)
    m.rate = Gamma(2.0, 1.0)
    m.count = Poisson(m.rate)
    post = m.infer(X=gaussian.X, y=gaussian.Y, x=[1.0, 2.0], count=3)
    draws = post.sample(SIZE, rng=6)
    both = draws["s"][:, 0] * (draws["rate"] - post.rate.mean)
    assert_same_mean(both, 0.0)


def test_many_simulations_have_the_moments_of_the_model() -> None:
    m = Model()
    m.mu = Normal(1.0, variance=4.0)
    m.s = Chain(Normal(m.mu, variance=1.0), lambda s: Normal(0.5 * s, variance=1.0), length="t")
    m.z = Categorical([0.2, 0.8]).iid("n")
    m.y = Normal(take([0.0, 10.0], m.z) + m.mu, variance=1.0)
    draws = m.simulate(40_000, plates={"t": 3, "n": 2}, rng=0)
    assert {k: v.shape[1:] for k, v in draws.items()} == {"mu": (), "s": (3,), "z": (2,), "y": (2,)}
    # s_t = ½ s_{t−1} + noise, s_1 = mu + noise: variances 5, 9/4, 25/16
    np.testing.assert_allclose(draws["s"].mean(axis=0), [1.0, 0.5, 0.25], atol=0.06)
    np.testing.assert_allclose(draws["s"].var(axis=0), [5.0, 2.25, 1.5625], rtol=0.05)
    np.testing.assert_allclose(draws["y"].mean(axis=0), 9.0, atol=0.12)
    joint = np.cov(draws["y"], rowvar=False)  # both share mu: 16 + 4 + 1, and 4
    np.testing.assert_allclose(joint, [[21.0, 4.0], [4.0, 21.0]], rtol=0.15)
    held = m.simulate(5, plates={"t": 3, "n": 2}, rng=0, mu=2.0)
    assert held["mu"].shape == ()
    assert held["y"].shape == (5, 2)
