"""Latent autoregressions far from their priors: against weighted draws by a filter written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import logsumexp

from posteriori import Chain, Gamma, Model, Normal


def series(coefficient: float, length: int, scale: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = np.zeros(length)
    x[0] = rng.normal()
    for t in range(1, length):
        x[t] = coefficient * x[t - 1] + rng.normal()
    return scale * (x + rng.normal(size=length))


def latent(shape: float, rate: float) -> Model:
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.tau = Gamma(shape=shape, rate=rate)
    m.nu = Gamma(shape=shape, rate=rate)
    m.x = Chain(Normal(0.0, variance=1.0), lambda x: Normal(m.a * x, precision=m.tau), length="t")
    m.y = Normal(m.x, precision=m.nu)
    return m


def log_joint(u: np.ndarray, y: np.ndarray, shape: float, rate: float) -> np.ndarray:
    """Return ln p(y, a, ln τ, ln ν) at rows of u, by Kalman's filter."""
    a, log_tau, log_nu = u.T
    mean, variance = np.zeros(len(u)), np.ones(len(u))
    total = stats.norm.logpdf(a)
    for log_precision in (log_tau, log_nu):
        total = total + stats.gamma.logpdf(np.exp(log_precision), shape, scale=1 / rate)
        total = total + log_precision
    for value in y:
        spread = variance + np.exp(-log_nu)
        total = total + stats.norm.logpdf(value, mean, np.sqrt(spread))
        gain = variance / spread
        mean, variance = mean + gain * (value - mean), (1 - gain) * variance
        mean, variance = a * mean, a**2 * variance + np.exp(-log_tau)
    return total


def top(fall, start: np.ndarray):
    """Return a t density around the lowest place near a start, wider than the curvature there."""
    found = start
    for _ in range(2):
        options = {"maxiter": 300, "xatol": 1e-2, "fatol": 1e-3}
        found = optimize.minimize(fall, found, method="Nelder-Mead", options=options).x
    eye, h = np.eye(3), 0.3
    hessian = np.array(
        [
            [
                fall(found + h * (i + j))
                - fall(found + h * (i - j))
                - fall(found - h * (i - j))
                + fall(found - h * (i + j))
                for j in eye
            ]
            for i in eye
        ]
    ) / (4 * h**2)
    values, axes = np.linalg.eigh(hessian)
    cov = (axes / np.maximum(values, 0.02)) @ axes.T
    return stats.multivariate_t(found, 2.0 * cov, df=4)


def weighted_draws(y: np.ndarray, starts: list[list[float]], shape: float, rate: float):
    """Return ln p(y), its error and the mean of a, from draws around the tops near some starts."""
    unit = np.array([np.sum(y**2) ** -0.5, 0.3, 0.3])  # ln p varies over such steps

    def fall(v):
        return -float(log_joint((v * unit)[None], y, shape, rate)[0])

    tops = [top(fall, np.array(start) / unit) for start in starts]
    rng = np.random.default_rng(0)
    draws = np.concatenate([t.rvs(20_000, random_state=rng) for t in tops])
    log_q = logsumexp([t.logpdf(draws) for t in tops], axis=0) - np.log(len(tops))
    logs = log_joint(draws * unit, y, shape, rate) + np.log(unit).sum() - log_q
    weights = np.exp(logs - logs.max())
    error = np.std(weights) / np.mean(weights) / np.sqrt(len(weights))
    mean = unit[0] * (weights @ draws[:, 0]) / weights.sum()
    return logsumexp(logs) - np.log(len(draws)), error, mean


def on_a_grid(y: np.ndarray, shape: float, rate: float) -> float:
    """Return ln p(y) from a grid of all three numbers."""
    coefficients, logs = np.arange(-3.6, 3.6, 0.1), np.arange(-13.0, 4.5, 0.25)
    precisions = [axis.ravel() for axis in np.meshgrid(logs, logs, indexing="ij")]
    rows = [
        log_joint(np.stack([np.full(len(logs) ** 2, a), *precisions], axis=1), y, shape, rate)
        for a in coefficients
    ]
    return float(logsumexp(rows) + np.log(0.1 * 0.25**2))


@pytest.mark.parametrize(
    ("coefficient", "length"),
    [
        (1.05, 60),
        pytest.param(1.1, 100, marks=pytest.mark.slow),
        (1.2, 50),
        pytest.param(1.2, 100, marks=pytest.mark.slow),
    ],
)
def test_explosive_series(coefficient, length):
    y = series(coefficient, length, 1.0, 1)
    post = latent(2.0, 1.0).infer(y=y)
    log_evidence, error, mean = weighted_draws(y, [[coefficient, 0.0, 0.0]], 2.0, 1.0)
    assert error < 0.05
    assert float(post.log_evidence) == pytest.approx(log_evidence, abs=5 * error)
    assert float(post.a.mean) == pytest.approx(mean, abs=0.2 * float(post.a.std))


@pytest.mark.parametrize("scale", [1e-3, 1e-1, pytest.param(1e1, marks=pytest.mark.slow), 1e2])
def test_series_in_other_units_than_the_priors(scale):
    """Where the data leave a to its prior, ln p drops at |a| = 1 as at an edge: within 0.1 nats."""
    y = series(0.9, 40, scale, 2)
    post = latent(1.0, 1.0).infer(y=y)
    assert float(post.log_evidence) == pytest.approx(on_a_grid(y, 1.0, 1.0), abs=0.1)


@pytest.mark.slow
def test_proper_priors_have_proper_posteriors():
    """Sixty sets of all sizes, units and coefficients end in an answer."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        coefficient = rng.choice([0.3, 0.8, 0.95, 1.0, 1.05, 1.15])
        y = series(coefficient, int(rng.choice([20, 40, 80])), 10.0 ** rng.integers(-3, 4), seed)
        post = latent(*[(1.0, 1.0), (2.0, 1.0), (2.0, 0.1)][rng.integers(3)]).infer(y=y)
        assert np.isfinite(float(post.log_evidence))
        assert post.log_evidence.error < 0.3
