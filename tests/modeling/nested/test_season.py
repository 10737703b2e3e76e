"""Noise on some components of a state only, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from posteriori import Chain, Model, MvNormal, Normal
from posteriori.distributions import Uniform
from tests.modeling.nested.dense_densities import log_densities

N = 16
#: Level, slope, and a season of four: of the season three are kept, the newest first.
MOVES = np.zeros((5, 5))
MOVES[:2, :2] = [[1.0, 1.0], [0.0, 1.0]]
MOVES[2, 2:] = -1.0
MOVES[3, 2] = MOVES[4, 3] = 1.0
SEEN = np.array([1.0, 0.0, 1.0, 0.0, 0.0])


def dense(level: float, season: float, noise: float):
    """The covariance of the data: states are sums of all noise before them."""
    powers = [np.linalg.matrix_power(MOVES, k) for k in range(N)]
    step = np.diag([level**2, 0.0, season**2, 0.0, 0.0])
    cov = noise**2 * np.eye(N)
    for s in range(N):
        for t in range(N):
            total = powers[s] @ powers[t].T
            for k in range(1, min(s, t) + 1):
                total = total + powers[s - k] @ step @ powers[t - k].T
            cov[s, t] += SEEN @ total @ SEEN
    return cov


def test_trend_and_season_with_noise_on_some_components():
    """The slope and the older seasons have none; the spreads of level and season are unknown."""
    y = np.random.default_rng(2).multivariate_normal(np.zeros(N), dense(0.4, 0.2, 0.3))
    m = Model()
    m.level = Uniform(0.05, 1.5)
    m.season = Uniform(0.05, 1.0)
    on_level, on_season = np.diag([1.0, 0, 0, 0, 0]), np.diag([0, 0, 1.0, 0, 0])
    m.s = Chain(
        MvNormal(np.zeros(5), cov=np.eye(5)),
        lambda s: MvNormal(
            MOVES @ s, cov=m.level * m.level * on_level + m.season * m.season * on_season
        ),
        length="t",
    )
    m.y = Normal(SEEN @ m.s, scale=0.3)
    post = m.infer(y=y)
    assert post.log_evidence.kind == "quadrature"
    level = 0.05 + 1.45 * (np.arange(30) + 0.5) / 30
    season = 0.05 + 0.95 * (np.arange(24) + 0.5) / 24
    known = dense(0.0, 0.0, 0.3)  # the variances of both noises enter linearly
    of_level, of_season = dense(1.0, 0.0, 0.3) - known, dense(0.0, 1.0, 0.3) - known
    a, b = level[:, None, None, None], season[:, None, None]
    logs = log_densities(y, known + a**2 * of_level + b**2 * of_season)
    weights = np.exp(logs - logsumexp(logs))
    assert float(post.log_evidence) == pytest.approx(logsumexp(logs - np.log(720)), abs=5e-3)
    assert float(post.level.mean) == pytest.approx(weights.sum(1) @ level, abs=5e-3)
    assert float(post.season.mean) == pytest.approx(weights.sum(0) @ season, abs=5e-3)
