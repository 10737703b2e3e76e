"""Relevance where the columns can fit the targets perfectly, against enumeration of all sets."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy import optimize, special

from posteriori.numerics import ConvergenceWarning
from posteriori.regression import BayesianLinearRegressor

pytestmark = pytest.mark.blas


def fitted(X, y, **options):
    return BayesianLinearRegressor(hyperparameters="ard", standardize=False, **options).fit(X, y)


SCALE = 0.01


def dense_log_evidence(X, y, u):
    """Return ln p(y | u) − b₀/σ² with y ~ N(0, σ²(I + XUXᵀ)) at the best σ², without intercept."""
    n, cov = len(y), np.eye(len(y)) + (X * u) @ X.T
    noise = (y @ np.linalg.solve(cov, y) + 2.0 * SCALE) / n
    return -0.5 * n * (np.log(2.0 * np.pi * noise) + 1.0) - 0.5 * np.linalg.slogdet(cov)[1]


def best_of_set(X, y, chosen):
    """Return the highest evidence of prior variances of these columns alone, by two climbs."""
    if not chosen:
        return dense_log_evidence(X, y, np.zeros(X.shape[1]))

    def loss(log_u):
        u = np.zeros(X.shape[1])
        u[list(chosen)] = np.exp(np.clip(log_u, -30, 30))
        return -dense_log_evidence(X, y, u)

    starts = [np.full(len(chosen), start) for start in (-2.0, 1.0)]
    found = [optimize.minimize(loss, x, method="Nelder-Mead") for x in starts]
    return -min(result.fun for result in found)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_no_set_of_up_to_two_columns_is_better(seed):
    """All of them are tried, counting 1/C(D, k) for the probability of a set."""
    rng = np.random.default_rng(seed)
    n, d = 7, 8
    X = rng.normal(size=(n, d))
    y = 3.0 * X[:, 2] + 0.5 * rng.normal(size=n)
    model = fitted(X, y, fit_intercept=False, noise_scale=SCALE)
    u = model.noise_precision_ / model.prior_precision_
    height = float(model.log_evidence_)
    assert height == pytest.approx(dense_log_evidence(X, y, u), abs=1e-8)
    height -= np.log(special.comb(d, np.count_nonzero(u)))
    for k in range(3):
        for chosen in combinations(range(d), k):
            other = best_of_set(X, y, chosen) - np.log(special.comb(d, k))
            assert other <= height + 1e-6


def test_one_scale_is_chosen_at_the_highest_evidence():
    """Against a fine scan of the dense evidence over both precisions."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(7, 12))
    y = X @ rng.normal(size=12) + rng.normal(size=7)
    model = BayesianLinearRegressor(
        hyperparameters="type-II", standardize=False, fit_intercept=False, noise_scale=SCALE
    ).fit(X, y)
    grid = np.exp(np.linspace(-25, 25, 5001))
    heights = [dense_log_evidence(X, y, np.full(12, u)) for u in grid]
    assert float(model.log_evidence_) == pytest.approx(max(heights), abs=1e-4)
    assert float(model.log_evidence_) >= max(heights)


def test_useless_columns_are_not_taken_for_more():
    rng = np.random.default_rng(1)
    taken = []
    for _ in range(20):
        X, y = rng.normal(size=(30, 60)), rng.normal(size=30)
        model = fitted(X, y)
        taken.append(int(np.isfinite(model.prior_precision_).sum()))
        assert 0.3 < model.noise_variance_ < 3.0
    assert np.median(taken) == 0


def test_few_columns_of_many_are_found():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 200))
    y = 2.0 * X[:, 5] - 1.5 * X[:, 17] + X[:, 100] + 4.0 + rng.normal(size=80)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = fitted(X, y)
    assert list(np.flatnonzero(np.isfinite(model.prior_precision_))) == [5, 17, 100]
    assert model.noise_variance_ == pytest.approx(1.0, abs=0.4)
    fresh = rng.normal(size=(4000, 200))
    truth = 2.0 * fresh[:, 5] - 1.5 * fresh[:, 17] + fresh[:, 100] + 4.0 + rng.normal(size=4000)
    low, high = (model.predict_dist(fresh).quantile(p) for p in (0.05, 0.95))
    assert 0.8 < np.mean((low < truth) & (truth < high)) < 0.95


def test_columns_that_depend_on_one_another_are_no_perfect_fit():
    """More columns than rows, of rank 3: they leave noise, and the evidence has its maximum."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(12, 3)) @ rng.normal(size=(3, 20))
    y = X[:, 0] + rng.normal(size=12)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        chosen = BayesianLinearRegressor(hyperparameters="type-II").fit(X, y)
    assert 0.1 < chosen.noise_variance_ < 5.0


def test_exact_targets_leave_the_noise_of_its_prior():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(20, 50))
    y = X[:, 3] - 2.0 * X[:, 7]
    model = fitted(X, y)
    assert list(np.flatnonzero(np.isfinite(model.prior_precision_))) == [3, 7]
    np.testing.assert_allclose(model.coef_[[3, 7]], [1.0, -2.0], atol=0.01)
    assert model.noise_variance_ == pytest.approx(0.01 * np.var(y) / 20, rel=0.2)
