"""Classifiers by kernels: agreement with linear ones, rings, and bounds against quadrature."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import make_circles
from sklearn.neighbors import NearestCentroid

from posteriori.classification import (
    KernelCentroid,
    KernelPerceptron,
    LargeMarginPerceptron,
    Perceptron,
    RelevanceVectorClassifier,
)
from posteriori.kernels import RBF, Linear, Polynomial
from posteriori.numerics import ConvergenceWarning
from tests.classification.generative.test_gaussian import some_rows
from tests.scikit_learn_checks import every_check

RINGS = make_circles(80, noise=0.05, factor=0.4, random_state=0)


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@every_check(
    [
        KernelCentroid(),
        KernelPerceptron(max_iter=20),
        LargeMarginPerceptron(random_state=0),
        RelevanceVectorClassifier(max_iter=10),
        RelevanceVectorClassifier(),
        KernelCentroid(Linear()),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.topic("002/C9", "000/J1")
@pytest.mark.filterwarnings("ignore:Perceptron still has", "ignore:KernelPerceptron still has")
@pytest.mark.parametrize("classes", [2, 3])
def test_with_a_linear_kernel_it_is_the_perceptron(classes):
    x, y = some_rows(60, 2, classes)
    x = x + 5.0 * y[:, None]
    flat = Perceptron(max_iter=50).fit(x, y)
    dual = KernelPerceptron(Linear(), max_iter=50).fit(x, y)
    assert dual.n_updates_ == flat.n_updates_
    assert np.allclose(dual.dual_coef_.T @ dual.support_vectors_, flat.coef_)
    assert np.allclose(dual.intercept_, flat.intercept_)


@pytest.mark.topic("002/C9", "002/F16", "000/J17")
def test_rings_are_separable_in_feature_space():
    x, y = RINGS
    model = KernelPerceptron(RBF(0.5)).fit(x, y)
    assert model.converged_
    assert model.score(x, y) == 1.0
    assert model.n_support_ == len(model.support_) < 40
    # the map [x₁, x₂, x₁², x₂², x₁x₂] does as well, and a line does not
    bent = np.column_stack([x, x**2, x[:, 0] * x[:, 1]])
    assert Perceptron().fit(bent, y).converged_
    with pytest.warns(ConvergenceWarning, match=r"KernelPerceptron still has \d+ of 80 rows wrong"):
        KernelPerceptron(Linear(), max_iter=30).fit(x, y)


@pytest.mark.topic("002/G8")
def test_nearest_mean():
    x, y = some_rows(90, 2, 3)
    model = KernelCentroid(Linear()).fit(x, y)
    assert np.array_equal(model.predict(x), NearestCentroid().fit(x, y).predict(x))
    means = np.stack([x[y == k].mean(axis=0) for k in range(3)])
    expected = np.linalg.norm(x[:, None] - means, axis=2)
    assert np.allclose(model.distances(x), expected, atol=1e-6)
    assert np.allclose(model.novelty(x), expected.min(axis=1), atol=1e-6)


@pytest.mark.topic("002/G8")
def test_means_in_feature_space_tell_rings_apart_and_what_is_new():
    x, y = RINGS
    model = KernelCentroid(RBF(0.5)).fit(x, y)
    assert model.score(x, y) == 1.0
    assert KernelCentroid(Linear()).fit(x, y).score(x, y) < 0.8
    assert model.novelty([[5.0, 5.0]])[0] > model.novelty(x).max()


def soft_margin(x, t, penalty):
    """Return the least objective, as a quadratic program in w, b and slacks."""
    n, d = x.shape
    start = np.concatenate([np.zeros(d + 1), np.ones(n)])
    found = minimize(
        lambda v: v[d + 1 :].mean() + penalty * v[:d] @ v[:d],
        start,
        jac=lambda v: np.concatenate([2.0 * penalty * v[:d], [0.0], np.full(n, 1.0 / n)]),
        method="SLSQP",
        bounds=[(None, None)] * (d + 1) + [(0.0, None)] * n,
        constraints={
            "type": "ineq",
            "fun": lambda v: t * (x @ v[:d] + v[d]) - 1.0 + v[d + 1 :],
            "jac": lambda v: np.column_stack([t[:, None] * x, t, np.eye(n)]),
        },
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.success
    return found.fun


@pytest.mark.topic("002/C7")
@pytest.mark.parametrize("penalty", [1.0, 0.1, 0.01])
def test_large_margins_reach_the_least_objective(penalty):
    x, y = some_rows(40, 2, 2)
    x = x + np.array([100.0, -3.0])
    t = 2.0 * y - 1.0
    model = LargeMarginPerceptron(penalty, random_state=0).fit(x, y)
    w, b = model.coef_[0], model.intercept_[0]
    reached = np.maximum(0.0, 1.0 - t * (x @ w + b)).mean() + penalty * w @ w
    assert np.isclose(reached, model.objective_[-1], rtol=1e-9)
    best = soft_margin(x - x.mean(axis=0), t, penalty)
    assert best - 1e-9 <= reached <= best + 3e-3  # three times what is asked for
    assert np.isclose(model.margin_, 1.0 / np.linalg.norm(w))
    assert np.array_equal(model.boundary().value(x) > 0, model.predict(x) == 1)


@pytest.mark.topic("002/C7")
def test_little_penalty_finds_the_widest_margin():
    x = np.array([[-2.0, 0.3], [-1.0, -0.7], [1.0, 0.6], [2.5, -0.2]])
    model = LargeMarginPerceptron(0.05, tol=1e-4, max_iter=20_000, random_state=0)
    model.fit(x, [0, 0, 1, 1])
    half = 0.5 * np.linalg.norm(x[2] - x[1])  # between the nearest pair
    assert np.isclose(model.margin_, half, rtol=0.05)


def test_relevance_vectors_of_rings():
    x, y = RINGS
    model = RelevanceVectorClassifier(RBF(0.6)).fit(x, y)
    assert model.score(x, y) == 1.0
    assert len(model.relevance_) < 10
    columns = RBF(0.6)(x, model.relevance_vectors_)
    score = columns @ model.dual_coef_ + model.intercept_
    stated = model.predict_proba(x)
    assert np.allclose(model.decision_function(x), np.log(stated[:, 1] / stated[:, 0]))
    assert np.array_equal(np.sign(model.decision_function(x)), np.sign(score))
    draws = np.random.default_rng(0).multivariate_normal(
        model.posterior_.mean, model.posterior_.cov, size=20_000
    )
    wide = columns if model.intercept_ == 0.0 else np.column_stack([columns, np.ones(len(x))])
    p = expit(wide[:8] @ draws.T)
    error = p.std(axis=1) / np.sqrt(20_000)
    assert np.all(np.abs(p.mean(axis=1) - model.predict_proba(x)[:8, 1]) < 5 * error + 1e-12)


def test_several_classes_are_refused_where_two_are_meant():
    x, y = some_rows(30, 2, 3)
    for model in (RelevanceVectorClassifier(), LargeMarginPerceptron()):
        with pytest.raises(ValueError, match=r"Only binary .*\.OneVsRestClassifier"):
            model.fit(x, y)


@pytest.mark.topic("002/G9")
def test_exclusive_or_by_a_polynomial():
    corners, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    assert KernelPerceptron(Polynomial(2)).fit(corners, y).score(corners, y) == 1.0
