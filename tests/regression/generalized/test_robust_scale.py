"""The scale of robust regression, with the weights integrated out."""

import numpy as np
import pytest
from scipy import optimize, stats

from posteriori.regression import RobustRegressor


def line(n, d, seed=0, dof=4.0):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d) / np.sqrt(d)
    noise = rng.normal(size=n) if np.isinf(dof) else rng.standard_t(dof, size=n)
    return X, X @ w + 0.5 * noise, w


def log_marginal(theta, X, y):
    """ln p(y, θ) for normal noise: y ~ N(m, s²/α (1 + Z Zᵀ) + e²ᶿ I), with Z standardised."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    n = len(y)
    level = np.sort(y)[(n - 1) // 2]
    s = np.sort(np.abs(y - level))[(n - 1) // 2]
    cov = s**2 * (1.0 + Z @ Z.T) + np.exp(2.0 * theta) * np.eye(n)
    prior = stats.norm.logpdf(theta, np.log(s))
    return stats.multivariate_normal.logpdf(y, np.full(n, level), cov) + prior


@pytest.mark.parametrize(("n", "d"), [(61, 5), (61, 30), (61, 50), (41, 80)])
def test_scale_and_evidence_of_normal_noise_against_the_exact_marginal(n, d):
    X, y, _ = line(n, d, dof=np.inf)
    model = RobustRegressor(dof=np.inf).fit(X, y)
    start = np.log(model.scale_)
    best = optimize.minimize_scalar(
        lambda t: -log_marginal(t, X, y), bracket=(start - 0.2, start + 0.2)
    )
    at = np.linspace(best.x - 3.0, best.x + 3.0, 241)
    density = np.exp([log_marginal(t, X, y) + best.fun for t in at])
    area = density.sum() * (at[1] - at[0])
    std = np.sqrt(((at - best.x) ** 2 * density).sum() / density.sum())
    assert np.log(model.scale_) == pytest.approx(best.x, abs=0.05 * std)
    assert float(model.log_evidence_) == pytest.approx(np.log(area) - best.fun, abs=0.15)


@pytest.mark.parametrize(("n", "d"), [(60, 30), (60, 45), (60, 50)])
def test_many_columns_do_not_make_the_noise_vanish(n, d):
    """At the joint mode it does: ν = 4 lets as many rows as columns be fitted without error."""
    for seed in range(3):
        X, y, _ = line(n, d, seed)
        assert 0.2 < RobustRegressor().fit(X, y).scale_ < 1.25  # the truth is 0.5


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_levels_with_a_row_each_leave_noise(seed):
    """110 levels in 120 rows that differ in nothing: wide effects would fit all rows, and leave no noise."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.concatenate([np.arange(110), rng.integers(0, 110, 10)]))
    x = rng.normal(size=(120, 2))
    y = x @ [3.0, -2.0] + rng.normal(size=120)
    model = RobustRegressor(groups=[2]).fit(np.column_stack([x, codes]), y)
    new = rng.normal(size=(400, 2))
    truth = new @ [3.0, -2.0] + rng.normal(size=400)
    told = model.predict_dist(np.column_stack([new, np.full(400, -1)])).log_prob(truth)
    best = stats.norm.logpdf(truth, new @ [3.0, -2.0]).mean()
    assert told.mean() > best - 0.1  # it has to find weights, level and width from 120 rows
