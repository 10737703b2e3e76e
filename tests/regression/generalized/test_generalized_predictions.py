"""Predictive distributions of generalised regressions against Monte Carlo and simulation."""

import numpy as np
import pytest
from scipy import special

from posteriori.regression import (
    NegativeBinomialRegressor,
    OrdinalRegression,
    PoissonRegressor,
    RobustRegressor,
)

DRAWS = 200_000


def problem(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, rng.poisson(np.exp(0.5 + X @ [0.5, -0.5])).astype(float)


def draws(model, x, rng):
    """Predictors and log shapes of one row from the normal posterior."""
    design = model._standardization.of(x)
    w = rng.multivariate_normal(model._weights.mean, model._weights.cov, size=DRAWS)
    return w[:, : design.shape[1]] @ design[0], w[:, -1]


@pytest.mark.parametrize(
    "model", [PoissonRegressor(), NegativeBinomialRegressor(), RobustRegressor(dof=5.0)]
)
def test_predictive_distributions_against_monte_carlo(model):
    X, y = problem()
    rng = np.random.default_rng(1)
    model.fit(X, y)
    x = np.array([[1.0, -1.0]])
    eta, theta = draws(model, x, rng)
    if isinstance(model, RobustRegressor):
        sampled = eta + np.exp(theta) * rng.standard_t(5.0, size=DRAWS)
    elif isinstance(model, NegativeBinomialRegressor):
        r = np.exp(theta)
        sampled = rng.poisson(np.exp(eta) * rng.gamma(r) / r)
    else:
        sampled = rng.poisson(np.exp(eta))
    made = model.predict_dist(x)
    for at in np.quantile(sampled, [0.05, 0.3, 0.5, 0.7, 0.95]):
        share = (sampled <= at).mean()
        error = np.sqrt(share * (1 - share) / DRAWS)
        assert float(made.cdf(at)[0]) == pytest.approx(share, abs=5 * error + 1e-4)
    assert float(made.mean[0]) == pytest.approx(float(model.predict(x)[0]), rel=1e-4)


def test_ordered_probabilities_against_monte_carlo():
    X, y = problem(40)
    model = OrdinalRegression().fit(X, y.clip(0, 3))
    x = np.array([[2.0, -2.0]])
    w = np.random.default_rng(0).multivariate_normal(
        model.posterior_.mean, model.posterior_.cov, size=DRAWS
    )
    below = special.expit(w[:, 2:] - (w[:, :2] @ x[0])[:, None])
    found = np.cumsum(model.predict_proba(x)[0])[:-1]
    error = below.std(axis=0) / np.sqrt(DRAWS)
    assert np.all(np.abs(found - below.mean(axis=0)) < 5 * error)


def test_a_wide_posterior_of_large_counts_has_no_spikes():
    X, y = np.array([[0.0], [1.0]]), np.array([1e5, 1.2e5])
    made = PoissonRegressor().fit(X, y).predict_dist([[3.0]])
    low, high = (float(end[0]) for end in made.interval(0.5))
    log_p = np.array([float(made.log_prob(k)[0]) for k in np.linspace(low, high, 80).round()])
    turns = np.sum(np.diff(np.sign(np.diff(log_p))) != 0)
    assert turns <= 1


@pytest.mark.slow
@pytest.mark.parametrize("model", [PoissonRegressor(), RobustRegressor(dof=4.0)])
def test_predictive_intervals_hold_what_they_promise(model):
    """Random weights, targets from them: nine in ten fall in intervals of 0.9."""
    rng = np.random.default_rng(0)
    robust = isinstance(model, RobustRegressor)
    below = []
    for _ in range(400):
        X = rng.normal(size=(41, 2))
        eta = 1.0 + X @ rng.normal(size=2) * 0.5
        y = eta + rng.standard_t(4.0, size=41) if robust else rng.poisson(np.exp(eta)) * 1.0
        made = model.fit(X[:40], y[:40]).predict_dist(X[40:])
        low = 0.0 if robust else float(made.cdf(y[40] - 1.0)[0])
        high = float(made.cdf(y[40])[0])
        below.append(high if robust else low + rng.random() * (high - low))
    inside = np.mean((np.array(below) > 0.05) & (np.array(below) < 0.95))
    assert inside == pytest.approx(0.9, abs=5 * np.sqrt(0.9 * 0.1 / 400))
