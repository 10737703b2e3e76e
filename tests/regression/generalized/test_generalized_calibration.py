"""Posteriors of generalised regressions by simulation: truths fall where the posterior says.

Weights are drawn from the prior and targets from the model, again and again; the share of posterior
probability below each true weight is then uniform. The priors of intercepts, thresholds and scales are
centred on the data, so that only weights, and the dispersion of counts, can be drawn from theirs.
"""

import numpy as np
import pytest
from scipy import special, stats

from posteriori.regression import (
    NegativeBinomialRegressor,
    OrdinalRegression,
    PoissonRegressor,
    RobustRegressor,
)

ROUNDS, ROWS, COLUMNS = 300, 100, 2


def poisson(eta, rng):
    return rng.poisson(np.exp(1.0 + eta))


def negative_binomial(eta, rng):
    r = np.exp(rng.normal())
    return rng.poisson(np.exp(1.0 + eta) * rng.gamma(r, size=ROWS) / r)


def robust(eta, rng):
    return eta + rng.standard_t(4.0, size=ROWS)


def ordinal(eta, rng):
    below = special.expit(np.array([-1.0, 0.5]) - eta[:, None])
    return (rng.random((ROWS, 1)) > below).sum(axis=1)


def standard_columns(rng):
    x = rng.normal(size=(ROWS, COLUMNS))
    return (x - x.mean(axis=0)) / x.std(axis=0)


def shares_below_the_truth(model, simulate):
    rng = np.random.default_rng(0)
    shares = np.empty((ROUNDS, COLUMNS))
    for share in shares:
        X, w = standard_columns(rng), rng.normal(size=COLUMNS)
        posterior = model.fit(X, simulate(X @ w, rng)).posterior_
        std = np.sqrt(np.diagonal(posterior.cov))
        share[:] = special.ndtr((w - posterior.mean[:COLUMNS]) / std[:COLUMNS])
    return shares


def assert_coverage(shares, level):
    """Central intervals hold the truth as often as they say, to five standard errors."""
    inside = np.mean(np.abs(shares - 0.5) < 0.5 * level)
    assert inside == pytest.approx(level, abs=5 * np.sqrt(level * (1 - level) / shares.size))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "simulate"),
    [
        (PoissonRegressor(), poisson),
        (NegativeBinomialRegressor(), negative_binomial),
        (RobustRegressor(dof=4.0), robust),
        (OrdinalRegression(), ordinal),
    ],
)
def test_weights_fall_evenly_over_their_posteriors(model, simulate):
    shares = shares_below_the_truth(model, simulate)
    assert stats.kstest(shares.ravel(), "uniform").pvalue > 1e-4
    for level in (0.5, 0.9):
        assert_coverage(shares, level)


@pytest.mark.slow
def test_dispersion_falls_in_its_intervals():
    """The mode of ln r leans from its mean, by less than half a standard deviation."""
    rng = np.random.default_rng(1)
    z = np.empty(ROUNDS)
    for i in range(ROUNDS):
        X, w, log_count = standard_columns(rng), rng.normal(size=COLUMNS), rng.normal()
        r = np.exp(log_count)
        y = rng.poisson(np.exp(1.0 + X @ w) * rng.gamma(r, size=ROWS) / r)
        model = NegativeBinomialRegressor().fit(X, y)
        z[i] = (log_count - np.log(model.count_)) / np.sqrt(model._weights.cov[-1, -1])
    for level in (0.5, 0.9):
        assert_coverage(special.ndtr(z), level)
    assert abs(z.mean()) < 0.5
