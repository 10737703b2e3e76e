"""Chains beside other normal unknowns are one group: against dense algebra and grids of the precision."""

import numpy as np
import pytest
from scipy import special, stats

from posteriori import Chain, Gamma, Input, Model, Normal
from tests.modeling.variational.models import variational
from tests.modeling.variational.nodes.chains_and_effects import (
    PAIRS,
    RATE,
    SHAPE,
    dense_moments,
    expected_log_joint,
    level_and_slope,
)


def _solved(pair):
    return pair.model().infer(pair.data, method="vmp", tol=1e-11)


def _flat(draws_or_means, names):
    return np.concatenate([np.ravel(draws_or_means[name]) for name in names])


@pytest.mark.parametrize("name", PAIRS)
def test_moments_are_those_of_the_dense_joint_at_the_expected_precision(name):
    pair = PAIRS[name]
    post = _solved(pair)
    mean, cov, _ = dense_moments(pair.rows, float(post.tau.mean))
    np.testing.assert_allclose(
        _flat({n: post[n].mean for n in pair.names}, pair.names), mean, atol=1e-5
    )
    joint = post.joint(*pair.names)
    np.testing.assert_allclose(joint.mean, mean, atol=1e-5)
    np.testing.assert_allclose(joint.cov, cov, atol=1e-5 * np.abs(cov).max())
    spread = np.concatenate(
        [
            np.ravel(np.sqrt(np.diagonal(v.cov, axis1=-2, axis2=-1)) if v.event_shape else v.std)
            for v in (post[n] for n in pair.names)
        ]
    )
    np.testing.assert_allclose(spread, np.sqrt(np.diag(cov)), rtol=1e-5)


@pytest.mark.parametrize("name", PAIRS)
def test_bound_and_entropy_are_those_of_dense_algebra(name):
    pair = PAIRS[name]
    post = _solved(pair)
    q = post.tau
    mean, cov, _ = dense_moments(pair.rows, float(q.mean))
    log_tau = float(special.digamma(q.shape) - np.log(q.rate))
    entropy = 0.5 * (len(mean) * (1 + np.log(2 * np.pi)) + np.linalg.slogdet(cov)[1])
    node = variational(post).informed.problem.owner[pair.names[0]]
    assert set(node.names) == set(pair.names)
    np.testing.assert_allclose(node.entropy()[0], entropy, rtol=1e-6)
    bound = expected_log_joint(pair.rows, mean, cov, float(q.mean), log_tau) + entropy
    bound -= float(q.kl(Gamma(SHAPE, RATE)))
    np.testing.assert_allclose(float(post.log_evidence), bound, rtol=1e-8)
    assert np.all(np.diff(variational(post).trace) >= -1e-10 * abs(bound))


@pytest.mark.parametrize("name", PAIRS)
def test_beliefs_are_near_those_of_a_grid_of_the_precision(name):
    pair = PAIRS[name]
    post = _solved(pair)
    grid = np.exp(np.linspace(np.log(1e-2), np.log(1e3), 600))
    found = [dense_moments(pair.rows, tau) for tau in grid]
    logs = [f[2] for f in found] + stats.gamma.logpdf(grid, SHAPE, scale=1 / RATE) + np.log(grid)
    weights = np.exp(logs - special.logsumexp(logs))
    mean = sum(w * f[0] for w, f in zip(weights, found, strict=True))
    second = sum(w * (np.diag(f[1]) + f[0] ** 2) for w, f in zip(weights, found, strict=True))
    exact = np.sqrt(second - mean**2)
    joint = post.joint(*pair.names)
    ratio = np.sqrt(np.diag(joint.cov)) / exact
    assert np.all(ratio > 0.85), ratio.min()
    assert np.all(ratio < 1.05), ratio.max()
    assert np.all(np.abs(joint.mean - mean) < 0.15 * exact)
    evidence = special.logsumexp(logs) + np.log(np.log(grid[1] / grid[0]))
    assert float(post.log_evidence) < evidence < float(post.log_evidence) + 1.0


def test_draws_have_the_covariances_of_chain_and_slope():
    pair = PAIRS["slope"]
    post = _solved(pair)
    draws = post.sample(20_000, rng=0)
    both = np.column_stack([draws["b"], draws["s"]])
    cov = post.joint("b", "s").cov
    error = np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / len(both))
    assert np.all(np.abs(np.cov(both.T) - cov) < 5 * error)


def test_prediction_knows_that_chain_and_slope_depend_on_one_another():
    length = 40
    pair = level_and_slope(length)
    x, y = pair.data["x"], pair.data["y"]
    ahead = np.array([1.1, 1.2, 1.3])
    post = pair.model().infer(x=np.r_[x, ahead], y=np.r_[y, [np.nan] * 3], method="vmp", tol=1e-11)
    mean, cov, _ = dense_moments(level_and_slope(length).rows, float(post.tau.mean))
    for k, at in enumerate(ahead):
        row = np.r_[at, np.zeros(length)]
        row[-1] = 1.0
        np.testing.assert_allclose(
            post.s.mean[length + k] + at * post.b.mean, row @ mean, rtol=1e-5
        )
        forecast = post.joint("b", "s").cov
        seen = np.zeros(len(forecast))
        seen[0], seen[1 + length + k] = at, 1.0
        np.testing.assert_allclose(
            seen @ forecast @ seen, row @ cov @ row + 0.09 * (k + 1), rtol=1e-5
        )
    predicted = _solved(pair).predict("y", x=ahead)
    total = row @ cov @ row + 0.27 + float(np.mean(post.tau.rate / (post.tau.shape - 1)))
    np.testing.assert_allclose(predicted.variance[2], total, rtol=0.15)


def _long(length: int):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((length, 3))
    y = np.cumsum(0.1 * rng.standard_normal(length)) + X @ [1.0, -2.0, 0.5]
    m = Model()
    m.X = Input("t")
    m.tau = Gamma(1.0, 1.0)
    m.w = Normal(0, variance=10).iid(3)
    m.s = Chain(Normal(0, variance=1), lambda s: Normal(s, variance=0.01), length="t")
    m.y = Normal(m.s + m.X @ m.w, precision=m.tau)
    return m, {"X": X, "y": y + rng.standard_normal(length)}


def _entries(post) -> int:
    node = variational(post).informed.problem.owner["w"]
    return node.solution.lower.shape[1]


def test_work_grows_with_the_length_of_the_chain():
    short, long = (m.infer(data, method="vmp") for m, data in map(_long, (2_000, 20_000)))
    assert _entries(long) < 10.1 * _entries(short)
    np.testing.assert_allclose(long.w.mean, [1.0, -2.0, 0.5], atol=5 * long.w.std.max())


def _held(sets: int, level: float = 0.9) -> float:
    rng = np.random.default_rng(11)
    length, held = 40, 0
    x = np.linspace(-1, 1, length)
    for _ in range(sets):
        m = level_and_slope(length).model()
        b, tau = 2.0 * rng.standard_normal(), rng.gamma(SHAPE, 1 / RATE)
        s = np.cumsum(np.r_[rng.standard_normal(), 0.3 * rng.standard_normal(length - 1)])
        y = s + b * x + rng.standard_normal(length) / np.sqrt(tau)
        low, high = m.infer(x=x, y=y, method="vmp").b.interval(level)
        held += low < b < high
    return held / sets


def test_intervals_of_the_slope_hold_the_truth():
    assert _held(60) >= 0.75  # 90 % less four standard errors of 60 sets


@pytest.mark.slow
def test_intervals_of_the_slope_hold_the_truth_in_many_sets():
    assert _held(400) >= 0.85
