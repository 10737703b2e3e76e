"""Logistic regression: optimal, equal to scikit-learn's, finite on separable data."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as Reference

from posteriori.classification import LogisticRegression
from posteriori.datasets import make_two_class_hard
from posteriori.numerics import ConvergenceWarning
from tests.classification.oracles import overlapping, separable

TIGHT = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("intercept", [True, False])
def test_equal_to_scikit_learn(classes, ridge, intercept):
    X, y = overlapping(400, classes, 3)
    X = X / X.std(axis=0)
    ours = LogisticRegression(ridge, fit_intercept=intercept).fit(X, y)
    strength = 1.0 / ridge if ridge else np.inf
    theirs = Reference(C=strength, fit_intercept=intercept, **TIGHT).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("ridge", [0.0, 2.0])
def test_gradient_vanishes_in_raw_units(classes, ridge):
    X, y = overlapping(300, classes, 3)
    model = LogisticRegression(ridge).fit(X, y)
    excess = (np.arange(classes) == y[:, None]) - model.predict_proba(X)  # t − p
    excess = excess[:, 1:] if classes == 2 else excess
    gradient = excess.T @ X - ridge * model.coef_
    np.testing.assert_allclose(gradient / np.abs(X).sum(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(excess.sum(axis=0), 0.0, atol=1e-8 * np.sqrt(300))
    log_p = model.predict_log_proba(X)
    assert model.log_likelihood_ == pytest.approx(log_p[np.arange(300), y].sum(), rel=1e-10)
    if ridge == 0:
        k = (classes - 1) * 4
        bic = -2 * model.log_likelihood_ + k * np.log(300)
        assert model.bic_ == pytest.approx(bic, rel=1e-8)


def test_long_tables_take_one_or_two_hessians_and_the_same_answer():
    X, y = overlapping(20_000, 2, 4)
    X = X / X.std(axis=0)
    theirs = Reference(C=np.inf, **TIGHT).fit(X, y)
    np.testing.assert_allclose(LogisticRegression().fit(X, y).coef_, theirs.coef_, atol=1e-8)


@pytest.mark.topic("000/G19")
def test_newton_steps_are_reweighted_least_squares():
    X, y = overlapping(80, 2)
    phi = np.column_stack([np.ones(80), (X - X.mean(axis=0)) / X.std(axis=0)])
    w = np.zeros(3)
    for _ in range(12):
        p = expit(phi @ w)
        r = p * (1 - p)
        hessian = phi.T @ (r[:, None] * phi)
        newton = w - np.linalg.solve(hessian, phi.T @ (p - y))
        z = phi @ w - (p - y) / r
        reweighted = np.linalg.solve(hessian, phi.T @ (r * z))  # the notes miss this R
        np.testing.assert_allclose(newton, reweighted, atol=1e-10)
        w = newton
    model = LogisticRegression().fit(phi[:, 1:], y)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), w, atol=1e-9)


@pytest.mark.topic("000/G18")
def test_stochastic_gradients_come_near_the_same_weights():
    X, y = overlapping(200, 2, seed=3)
    phi = np.column_stack([np.ones(200), (X - X.mean(axis=0)) / X.std(axis=0)])
    rng, w, steps = np.random.default_rng(0), np.zeros(3), 40_000
    mean = np.zeros(3)
    for step in range(steps):
        n = rng.integers(200)
        w -= 0.5 / np.sqrt(1 + step / 50) * (expit(phi[n] @ w) - y[n]) * phi[n]
        mean += w * (step >= steps // 2) / (steps - steps // 2)
    model = LogisticRegression().fit(phi[:, 1:], y)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), mean, atol=0.05)
    m = 10  # weights, where two Gaussians need means, a covariance and a class probability
    wide = LogisticRegression(1.0, fit_intercept=False).fit(np.eye(m), np.arange(m) % 2)
    assert wide.coef_.size == m
    assert 2 * m + m * (m + 1) // 2 + 1 == m * (m + 5) // 2 + 1 == 76


@pytest.mark.topic("000/G17")
@pytest.mark.topic("004/8.1")
@pytest.mark.topic("004/8.1b")
def test_the_boundary_is_where_the_predictor_is_zero():
    X, y = overlapping(100, 2)
    model = LogisticRegression().fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    on = np.array([[x1, -(w[0] * x1 + b) / w[1]] for x1 in (-5.0, 0.0, 7.0)])
    np.testing.assert_allclose(model.predict_proba(on), 0.5, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))


@pytest.mark.topic("004/8.11")
def test_gaussian_classes_have_the_weights_that_their_parameters_give():
    """w = Σ⁻¹(μ₁ − μ₀), b = −½μ₁ᵀΣ⁻¹μ₁ + ½μ₀ᵀΣ⁻¹μ₀ + ln(π₁/π₀): in one shot, or by iterations."""
    rng = np.random.default_rng(7)
    means, cov = np.array([[0.0, 1.0], [1.5, 0.5]]), np.array([[1.0, 0.4], [0.4, 0.8]])
    y = (rng.random(20_000) < 0.3).astype(int)
    X = means[y] + rng.normal(size=(20_000, 2)) @ np.linalg.cholesky(cov).T
    pulls = np.linalg.solve(cov, means.T).T
    level = -0.5 * (means * pulls).sum(axis=1)
    given = np.append(pulls[1] - pulls[0], level[1] - level[0] + np.log(0.3 / 0.7))
    model = LogisticRegression().fit(X, y)
    learned = np.append(model.coef_, model.intercept_)
    rows = np.column_stack([X, np.ones(len(X))])
    p = model.predict_proba(X)[:, 1]
    error = np.sqrt(np.diagonal(np.linalg.inv((rows * (p * (1 - p))[:, None]).T @ rows)))
    np.testing.assert_allclose((learned - given) / error, 0.0, atol=5.0)
    assert np.all(error < 0.06)


def hard_data(seed):
    hard = make_two_class_hard(rng=seed)
    return np.column_stack([hard["x1"], hard["x2"]]), np.asarray(hard["y"]).astype(int)


@pytest.mark.topic("004/8.10")
@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
def test_separability_is_seen_where_linear_programming_finds_it():
    seen = []
    for seed in range(30):
        X, y = hard_data(seed)
        model = LogisticRegression().fit(X, y)
        assert model.separable_ == separable(X, y)
        assert np.all(np.isfinite(model.coef_))
        assert model.score(X, y) == 1.0 if model.separable_ else model.score(X, y) > 0.95
        seen.append(model.separable_)
    assert 0 < sum(seen) < 30


def test_separable_data_end_in_a_warning_and_a_finite_answer():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    with pytest.warns(ConvergenceWarning, match="no maximum.*pass ridge > 0"):
        model = LogisticRegression().fit(X, [0, 0, 1, 1])
    assert model.separable_
    assert 0 < model.coef_[0, 0] < np.inf
    np.testing.assert_allclose(model.predict_proba([[1.5]]), 0.5, atol=1e-9)


def test_quasi_separable_data_and_several_classes():
    X = np.array([[0, 1.0], [0, 2], [0, 3], [0, 1.5], [1, 2], [1, 3], [1, 1]])
    y = np.array([0, 1, 0, 1, 1, 1, 1])
    assert separable(X, y)
    with pytest.warns(ConvergenceWarning, match="no maximum"):
        assert LogisticRegression().fit(X, y).separable_
    X, y = load_iris(return_X_y=True)
    assert separable(X, y)  # one species is apart from the others
    with pytest.warns(ConvergenceWarning, match="no maximum"):
        assert LogisticRegression().fit(X, y).separable_


def test_dependent_columns_share_their_weight():
    X, y = overlapping(150, 2)
    X = X / X.std(axis=0)
    single = LogisticRegression().fit(X, y)
    twice = LogisticRegression().fit(np.column_stack([X, X[:, 0], np.ones(150)]), y)
    assert not twice.separable_
    np.testing.assert_allclose(twice.coef_[0, [0, 2]], single.coef_[0, 0] / 2, atol=1e-7)
    assert twice.coef_[0, 3] == 0.0
    assert twice.log_likelihood_ == pytest.approx(single.log_likelihood_, rel=1e-10)
