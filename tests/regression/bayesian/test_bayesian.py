"""Posterior and predictions of Bayesian linear regression against dense algebra and simulation."""

import numpy as np
import pytest

from posteriori.distributions import (
    Mixture,
    MvNormal,
    MvStudentT,
    Normal,
    StudentT,
    VectorNormalInverseGamma,
)
from posteriori.regression import BayesianLinearRegressor, LinearRegressor
from tests.regression.oracles import prior_predictive, problem

pytestmark = pytest.mark.blas

FULL = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.2], [0.1, -0.2, 3.0]])


def with_ones(X):
    return np.column_stack([X, np.ones(len(X))])


@pytest.mark.parametrize("precision", [0.7, np.array([0.5, 2.0, 4.0]), FULL])
def test_posterior_with_known_noise(precision):
    X, y, rng = problem()
    mean, v = np.array([1.0, -2.0, 0.5]), rng.uniform(0.5, 2.0, size=12)
    model = BayesianLinearRegressor(
        precision, prior_mean=mean, noise_precision=3.0, fit_intercept=False
    ).fit(X, y, noise_variance=v)
    prior = precision if np.ndim(precision) == 2 else np.diag(np.broadcast_to(precision, 3))
    A = prior + 3.0 * X.T @ (X / v[:, None])
    expected = np.linalg.solve(A, prior @ mean + 3.0 * X.T @ (y / v))
    assert isinstance(model.posterior_, MvNormal)
    np.testing.assert_allclose(model.posterior_.mean, expected, rtol=1e-11)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-11)
    np.testing.assert_allclose(model.posterior_.cov, np.linalg.inv(A), rtol=1e-10)
    assert model.intercept_ == 0.0


def dense_prediction(X, y, new, precision, kappa, level, variance, new_variance):
    """Condition the dense joint of old and new targets (unit noise)."""
    both, v = np.concatenate([X, new]), np.concatenate([variance, new_variance])
    centre = np.average(X, axis=0, weights=1.0 / variance)
    Z = both - centre
    cov = Z @ np.linalg.solve(np.diag(np.broadcast_to(precision, 3)), Z.T) + 1.0 / kappa
    cov = cov + np.diag(v)
    n = len(X)
    gain = np.linalg.solve(cov[:n, :n], cov[:n, n:]).T
    return level + gain @ (y - level), cov[n:, n:] - gain @ cov[:n, n:], cov[:n, :n]


def test_predictions_with_known_noise_against_the_dense_joint():
    X, y, rng = problem()
    new, v, new_v = rng.normal(size=(4, 3)), rng.uniform(0.5, 2, 12), rng.uniform(0.5, 2, 4)
    model = BayesianLinearRegressor(
        0.6, noise_precision=2.0, intercept_mean=0.4, intercept_precision=0.8
    ).fit(X, y, noise_variance=v)
    mean, cov, _ = dense_prediction(X, y, new, 0.3, 0.4, 0.4, v, new_v)
    each = model.predict_dist(new, noise_variance=new_v)
    assert isinstance(each, Normal)
    np.testing.assert_allclose(each.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(each.variance, np.diagonal(cov) / 2.0, rtol=1e-10)
    jointly = model.predict_dist(new, joint=True, noise_variance=new_v)
    assert isinstance(jointly, MvNormal)
    np.testing.assert_allclose(jointly.cov, cov / 2.0, rtol=1e-9)
    free = model.predict_dist(new, noise=False)
    np.testing.assert_allclose(free.variance, (np.diagonal(cov) - new_v) / 2.0, rtol=1e-9)
    np.testing.assert_allclose(
        model.function_covariance(new), (cov - np.diag(new_v)) / 2.0, rtol=1e-8
    )


def test_predictions_with_integrated_noise_against_the_dense_joint():
    X, y, rng = problem()
    new, one, four = rng.normal(size=(4, 3)), np.ones(12), np.ones(4)
    model = BayesianLinearRegressor(
        0.6, intercept_mean=0.4, intercept_precision=0.8, noise_shape=1.5, noise_scale=0.7
    ).fit(X, y)
    mean, cov, old = dense_prediction(X, y, new, 0.6, 0.8, 0.4, one, four)
    a = 1.5 + 6.0
    b = 0.7 + 0.5 * (y - 0.4) @ np.linalg.solve(old, y - 0.4)
    each, jointly = model.predict_dist(new), model.predict_dist(new, joint=True)
    assert isinstance(each, StudentT)
    assert isinstance(jointly, MvStudentT)
    np.testing.assert_allclose(each.dof, 2 * a)
    np.testing.assert_allclose(each.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(each.scale**2, b / a * np.diagonal(cov), rtol=1e-9)
    np.testing.assert_allclose(jointly.scale, b / a * cov, rtol=1e-9)
    predicted, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(predicted, mean, rtol=1e-10)
    np.testing.assert_allclose(std, each.std, rtol=1e-12)
    np.testing.assert_allclose(model.predict(new), mean, rtol=1e-10)
    assert model.noise_variance_ == pytest.approx(b / (a - 1), rel=1e-10)


def test_posterior_of_weights_intercept_and_noise():
    """The prior at the column means, in terms of (w, b), has precision Λ + κ(x̄, 1)(x̄, 1)ᵀ."""
    X, y, _ = problem()
    model = BayesianLinearRegressor(
        0.6, intercept_mean=0.4, intercept_precision=0.8, noise_shape=1.5, noise_scale=0.7
    ).fit(X, y)
    mark = np.append(X.mean(axis=0), 1.0)
    prior = np.diag([0.6, 0.6, 0.6, 0.0]) + 0.8 * np.outer(mark, mark)
    prior_mean = np.array([0.0, 0.0, 0.0, 0.4])
    design = with_ones(X)
    A = prior + design.T @ design
    mean = np.linalg.solve(A, prior @ prior_mean + design.T @ y)
    posterior = model.posterior_
    assert isinstance(posterior, VectorNormalInverseGamma)
    np.testing.assert_allclose(posterior.location, mean, rtol=1e-9)
    np.testing.assert_allclose(posterior.mean_precision, A, rtol=1e-9)
    misfit = y @ y + prior_mean @ prior @ prior_mean - mean @ A @ mean
    assert posterior.scale == pytest.approx(0.7 + 0.5 * misfit, rel=1e-9)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), mean, rtol=1e-9)


def test_posterior_with_intercept_and_known_noise():
    X, y, _ = problem()
    model = BayesianLinearRegressor(0.6, noise_precision=2.0, intercept_precision=0.0).fit(X, y)
    design = with_ones(X)
    A = np.diag([0.6, 0.6, 0.6, 0.0]) + 2.0 * design.T @ design
    np.testing.assert_allclose(model.posterior_.cov, np.linalg.inv(A), rtol=1e-8)
    np.testing.assert_allclose(
        model.posterior_.mean, np.linalg.solve(A, 2.0 * design.T @ y), rtol=1e-9
    )


@pytest.mark.parametrize("hyperparameters", ["fixed", "type-II", "ard", "grid"])
def test_equivalent_kernel_smooths_the_targets(hyperparameters):
    X, y, rng = problem(n=20)
    v, new = rng.uniform(0.5, 2.0, size=20), rng.normal(size=(5, 3))
    model = BayesianLinearRegressor(hyperparameters=hyperparameters)
    model.fit(X, y, noise_variance=v)
    kernel = model.equivalent_kernel(new, X, noise_variance=v)
    assert kernel.shape == (5, 20)
    np.testing.assert_allclose(kernel @ y, model.predict(new), rtol=1e-9)


def test_draws_have_the_moments_of_the_posterior():
    X, y, _ = problem()
    model = BayesianLinearRegressor().fit(X, y)
    draws = model.sample_weights(40_000, rng=1)
    marginal = model.posterior_.marginal_mean()
    error = marginal.std / np.sqrt(40_000)
    assert np.all(np.abs(draws.mean(axis=0) - marginal.mean) < 5 * error)
    np.testing.assert_allclose(np.cov(draws.T), marginal.cov, rtol=0.05, atol=0.05)
    functions = model.sample_functions(X[:4], 40_000, rng=1)
    np.testing.assert_allclose(functions, draws[:, :3] @ X[:4].T + draws[:, 3:], rtol=1e-12)
    spread = np.sqrt(np.diagonal(model.function_covariance(X[:4])))
    np.testing.assert_allclose(functions.std(axis=0), spread, rtol=0.05)


def test_the_same_seed_draws_the_same():
    X, y, _ = problem()
    model = BayesianLinearRegressor(hyperparameters="grid").fit(X, y)
    np.testing.assert_array_equal(model.sample_weights(5, rng=3), model.sample_weights(5, rng=3))


@pytest.mark.parametrize("hyperparameters", ["fixed", "type-II", "ard", "grid"])
def test_stream_equals_batch_equals_merge(hyperparameters):
    X, y, rng = problem(n=60)
    f, v = rng.integers(1, 4, size=60).astype(float), rng.uniform(0.5, 2.0, size=60)
    batch = BayesianLinearRegressor(hyperparameters=hyperparameters).fit(X, y, f, v)
    stream = BayesianLinearRegressor(hyperparameters=hyperparameters)
    for rows in np.array_split(rng.permutation(60), 7):
        stream.partial_fit(X[rows], y[rows], f[rows], v[rows])
    one, two = np.arange(25), np.arange(25, 60)
    parts = [
        BayesianLinearRegressor(hyperparameters=hyperparameters).partial_fit(
            X[rows], y[rows], f[rows], v[rows]
        )
        for rows in (one, two)
    ]
    for other in (stream, parts[0].merge(parts[1])):
        np.testing.assert_allclose(other.coef_, batch.coef_, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(other.intercept_, batch.intercept_, rtol=1e-8)
        assert float(other.log_evidence_) == pytest.approx(float(batch.log_evidence_), rel=1e-10)
        assert other.log_evidence_.comparable(batch.log_evidence_)
        mean, std = other.predict(X[:5], return_std=True)
        expected_mean, expected_std = batch.predict(X[:5], return_std=True)
        np.testing.assert_allclose(mean, expected_mean, rtol=1e-8)
        np.testing.assert_allclose(std, expected_std, rtol=1e-8)


def test_merging_leaves_both_models_as_they_were():
    X, y, _ = problem(n=20)
    a = BayesianLinearRegressor().fit(X[:10], y[:10])
    b = BayesianLinearRegressor().fit(X[10:], y[10:])
    before = a.coef_.copy()
    a.merge(b)
    np.testing.assert_array_equal(a.coef_, before)
    with pytest.raises(ValueError, match="3 and 2 columns"):
        a.merge(BayesianLinearRegressor().fit(X[:, :2], y))


@pytest.mark.parametrize("hyperparameters", ["fixed", "type-II", "ard", "grid"])
def test_frequencies_are_repeated_rows(hyperparameters):
    X, y, rng = problem(n=15)
    f = rng.integers(0, 4, size=15)
    weighted = BayesianLinearRegressor(hyperparameters=hyperparameters).fit(X, y, f)
    repeated = BayesianLinearRegressor(hyperparameters=hyperparameters)
    repeated.fit(np.repeat(X, f, axis=0), np.repeat(y, f))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8, atol=1e-12)
    assert float(weighted.log_evidence_) == pytest.approx(float(repeated.log_evidence_), rel=1e-10)


def test_missing_targets_say_nothing():
    X, y, _ = problem(n=20)
    gaps = y.copy()
    gaps[[2, 7, 11]] = np.nan
    seen = ~np.isnan(gaps)
    model = BayesianLinearRegressor(missing="drop").fit(X, gaps)
    other = BayesianLinearRegressor().fit(X[seen], y[seen])
    np.testing.assert_array_equal(model.coef_, other.coef_)
    assert model.log_evidence_ == other.log_evidence_
    with pytest.raises(ValueError, match=r"NaN in row 2.*missing='drop'"):
        BayesianLinearRegressor().fit(X, gaps)
    with pytest.raises(ValueError, match="no row is left"):
        BayesianLinearRegressor(missing="drop").fit(X, np.full(20, np.nan))


def test_limits_of_the_prior_precision():
    X, y, _ = problem()
    least = LinearRegressor(fit_intercept=False).fit(X, y)
    flat = BayesianLinearRegressor(0.0, noise_precision=2.0, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(flat.coef_, least.coef_, rtol=1e-11)
    np.testing.assert_allclose(flat.posterior_.cov, np.linalg.inv(2.0 * X.T @ X), rtol=1e-9)
    with pytest.raises(AttributeError, match="improper prior"):
        _ = flat.log_evidence_
    huge = 1e12
    strong = BayesianLinearRegressor(huge, noise_precision=2.0, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(strong.coef_, 2.0 / huge * X.T @ y, rtol=1e-9)
    np.testing.assert_allclose(strong.posterior_.cov, np.eye(3) / huge, rtol=1e-9, atol=1e-20)
    fixed = BayesianLinearRegressor(
        np.inf, prior_mean=[1.0, 2.0, 3.0], noise_precision=2.0, fit_intercept=False
    ).fit(X, y)
    np.testing.assert_array_equal(fixed.coef_, [1.0, 2.0, 3.0])
    assert fixed.effective_parameters_ == 0.0
    np.testing.assert_allclose(fixed.predict_dist(X).variance, 0.5)


def test_an_infinite_precision_fixes_one_weight():
    X, y, _ = problem()
    model = BayesianLinearRegressor(
        [0.5, np.inf, 0.5], prior_mean=[0.0, 2.0, 0.0], noise_precision=2.0, fit_intercept=False
    ).fit(X, y)
    other = BayesianLinearRegressor(0.5, noise_precision=2.0, fit_intercept=False)
    other.fit(X[:, [0, 2]], y - 2.0 * X[:, 1])
    np.testing.assert_allclose(model.coef_[[0, 2]], other.coef_, rtol=1e-11)
    assert model.coef_[1] == 2.0
    assert float(model.log_evidence_) == pytest.approx(float(other.log_evidence_), rel=1e-12)


@pytest.mark.parametrize("hyperparameters", ["fixed", "grid"])
def test_effective_parameters_are_the_trace_of_the_smoother(hyperparameters):
    X, y, _ = problem(n=20)
    model = BayesianLinearRegressor(hyperparameters=hyperparameters, fit_intercept=False).fit(X, y)
    trace = np.trace(model.equivalent_kernel(X, X))
    assert model.effective_parameters_ == pytest.approx(trace, rel=1e-10)


def test_grid_predictions_are_mixtures():
    X, y, _ = problem(n=20)
    model = BayesianLinearRegressor(hyperparameters="grid").fit(X, y)
    each = model.predict_dist(X[:4])
    assert isinstance(each, Mixture) or type(each).__name__ == "UnivariateMixture"
    mean, std = model.predict(X[:4], return_std=True)
    np.testing.assert_allclose(each.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(each.std, std, rtol=1e-10)
    jointly = model.predict_dist(X[:4], joint=True)
    np.testing.assert_allclose(np.sqrt(np.diagonal(jointly.cov)), std, rtol=1e-10)
    noise = np.eye(4) * model.noise_variance_
    np.testing.assert_allclose(model.function_covariance(X[:4]) + noise, jointly.cov, rtol=1e-9)


@pytest.mark.parametrize("worlds", [400, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("prior", ["known", "integrated"])
def test_predictive_intervals_are_calibrated(prior, worlds):
    """Worlds drawn from the prior: 80 % intervals hold 80 % of new targets (5 standard errors)."""
    rng = np.random.default_rng(5)
    hits = 0
    X, new = rng.normal(size=(8, 2)), rng.normal(size=(1, 2))
    known = (
        {"noise_precision": 1.0} if prior == "known" else {"noise_shape": 2.0, "noise_scale": 1.5}
    )
    for _ in range(worlds):
        variance = 1.0 if prior == "known" else 1.5 / rng.standard_gamma(2.0)
        w = rng.normal(size=2) * np.sqrt(variance)
        y = X @ w + rng.normal(size=8) * np.sqrt(variance)
        target = new[0] @ w + rng.normal() * np.sqrt(variance)
        model = BayesianLinearRegressor(1.0, fit_intercept=False, **known).fit(X, y)
        low, high = model.predict_dist(new).interval(0.8)
        hits += bool(low[0] <= target <= high[0])
    assert abs(hits / worlds - 0.8) < 5 * np.sqrt(0.8 * 0.2 / worlds)


def test_prior_predictive_oracle_is_the_model_of_the_docstring():
    """Guard of the oracle: simulate c + (x − x̄)ᵀw + ε and compare the covariance."""
    X, _, rng = problem(n=5)
    draws = 200_000
    w, c = rng.normal(size=(draws, 3)) / np.sqrt(2.0), 1.0 + rng.normal(size=(draws, 1))
    y = c + w @ (X - X.mean(axis=0)).T + rng.normal(size=(draws, 5))
    mean, cov = prior_predictive(X, 2.0, intercept=(1.0, 1.0))
    np.testing.assert_allclose(y.mean(axis=0), mean, atol=5 * np.sqrt(cov.max() / draws))
    np.testing.assert_allclose(np.cov(y.T), cov, atol=0.03 * cov.max())
