"""Log-linear regression against the log-normal distribution itself."""

import numpy as np
import pytest
from scipy import integrate, stats

from posteriori.numerics import ConvergenceWarning
from posteriori.regression import BayesianLinearRegressor, LogLinearRegressor
from posteriori.selection import rank_models
from tests.scikit_learn_checks import every_check


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@every_check([LogLinearRegressor(), LogLinearRegressor(hyperparameters="type-II")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def known(alpha=0.5, beta=4.0):
    return LogLinearRegressor(alpha, noise_precision=beta, fit_intercept=False)


def test_the_evidence_is_that_of_a_log_normal_vector():
    X, y = np.array([[1.0], [2.0], [-0.5]]), np.array([2.0, 7.0, 0.4])
    cov = X @ X.T / 0.5 + np.eye(3) / 4.0
    expected = stats.multivariate_normal(np.zeros(3), cov).logpdf(np.log(y)) - np.log(y).sum()
    assert float(known().fit(X, y).log_evidence_) == pytest.approx(expected, rel=1e-12)


def test_the_evidence_of_one_target_integrates_to_one():
    def density(y):
        return np.exp(float(known().fit([[1.5]], [y]).log_evidence_))

    total = integrate.quad(density, 0, 1, epsabs=1e-9)[0]
    total += integrate.quad(lambda t: density(np.exp(t)) * np.exp(t), 0, 20, epsabs=1e-9)[0]
    assert total == pytest.approx(1.0, abs=1e-7)


def test_the_predictive_density_is_log_normal():
    X, y = np.array([[1.0], [2.0], [-0.5]]), np.array([2.0, 7.0, 0.4])
    model = known().fit(X, y)
    precision = 0.5 + 4.0 * (X**2).sum()
    mean = 4.0 * (X[:, 0] @ np.log(y)) / precision
    spread = np.sqrt(1.2**2 / precision + 0.25)
    peer = stats.lognorm(spread, scale=np.exp(1.2 * mean))
    predictive = model.predict_dist([[1.2]])
    assert predictive.log_prob(3.0)[0] == pytest.approx(peer.logpdf(3.0), rel=1e-12)
    assert predictive.quantile(0.05)[0] == pytest.approx(peer.ppf(0.05), rel=1e-9)
    assert model.predict([[1.2]])[0] == pytest.approx(peer.mean(), rel=1e-12)


@pytest.mark.parametrize("hyperparameters", ["fixed", "type-II", "grid"])
def test_predictions_add_up_to_the_targets(hyperparameters):
    """Averaged over tables and fresh rows they are the mean of what comes; medians are 27% below."""
    rng = np.random.default_rng(6)
    ratios = []
    for _ in range(40):
        X, fresh = rng.normal(size=(400, 2)), rng.normal(size=(500, 2))
        y = np.exp(1.0 + X @ [0.5, -0.3] + 0.8 * rng.normal(size=400))
        truth = np.exp(1.0 + fresh @ [0.5, -0.3] + 0.5 * 0.8**2)
        model = LogLinearRegressor(hyperparameters=hyperparameters).fit(X, y)
        ratios.append(model.predict(fresh).mean() / truth.mean())
    assert abs(np.mean(ratios) - 1.0) < 5 * np.std(ratios) / np.sqrt(len(ratios))


def test_other_units_of_the_target_cost_their_jacobian_in_evidence_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.exp(X[:, 0] + rng.normal(size=30))
    one, cents = LogLinearRegressor().fit(X, y), LogLinearRegressor().fit(X, 100.0 * y)
    np.testing.assert_allclose(one.coef_, cents.coef_, rtol=1e-9)
    np.testing.assert_allclose(100.0 * one.predict(X), cents.predict(X), rtol=1e-9)
    moved = float(one.log_evidence_) - float(cents.log_evidence_)
    assert moved == pytest.approx(30 * np.log(100.0), rel=1e-9)


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(1)
    X, y, times = rng.normal(size=(12, 2)), rng.gamma(2.0, size=12), rng.integers(0, 3, 12)
    weighted = LogLinearRegressor().fit(X, y, sample_weight=times)
    repeated = LogLinearRegressor().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.log_evidence_.comparable(repeated.log_evidence_)
    assert float(weighted.log_evidence_) == pytest.approx(float(repeated.log_evidence_), rel=1e-10)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-10)


def test_it_compares_with_a_linear_model():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 1))
    factors = np.exp(1.0 + 0.7 * X[:, 0] + 0.5 * rng.normal(size=80))
    models = {"log": LogLinearRegressor(), "linear": BayesianLinearRegressor()}
    assert rank_models(models, X, factors).best == "log"
    shifted = 20.0 + 0.7 * X[:, 0] + 0.5 * rng.normal(size=80)
    table = rank_models(models, X, shifted)
    assert abs(table["log"].log_evidence - table["linear"].log_evidence) < 10  # nearly linear here


def test_draws_are_those_of_the_predictive():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 1))
    y = np.exp(X[:, 0] + 0.3 * rng.normal(size=40))
    model = LogLinearRegressor(1.0, noise_precision=9.0).fit(X, y)
    draws = model.sample_targets(X[:2], 20_000, rng=4)
    exact = model.predict_dist(X[:2]).quantile(0.25)
    share = (draws < exact).mean(axis=0)
    assert np.abs(share - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 20_000)
    held = model.log_likelihood_draws(X, y, 4000, rng=5)
    mixed = np.log(np.exp(held).mean(axis=0))
    np.testing.assert_allclose(mixed, model.predict_dist(X).log_prob(y), atol=0.02)


def test_targets_that_are_not_positive_are_refused():
    with pytest.raises(ValueError, match="needs positive targets, got 0"):
        LogLinearRegressor().fit([[1.0], [2.0]], [1.0, 0.0])
