"""Kernel ridge, features of kernels and relevance vectors, against dense algebra and finite features."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import NotFittedError

from posteriori.kernels import RBF, Function, Linear, Matern, Polynomial, Radial, White
from posteriori.numerics import ConvergenceWarning
from posteriori.regression import (
    BayesianLinearRegressor,
    KernelBasis,
    KernelRidge,
    LinearRegressor,
    RelevanceVectorRegressor,
)
from tests.scikit_learn_checks import every_check

#: Inputs and targets of the notes, with prior precision α = 2 and noise precision β = 25.
X2 = np.array([[-0.5], [0.5], [0.8]])
Y2 = -0.3 + 0.5 * X2[:, 0]
ALPHA, BETA = 2.0, 25.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@every_check(
    [
        KernelRidge(),
        RelevanceVectorRegressor(),
        KernelBasis(),
        KernelRidge(Matern(1.5) + 1.0, 0.1),
        KernelBasis(method="nystroem", n_components=8, random_state=0),
        KernelBasis(method="fourier", n_components=8, random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.topic("000/J2", "000/J13")
def test_one_prediction_three_ways():
    phi, new = np.column_stack([np.ones(3), X2]), np.array([[1.0, 0.2]])
    primal = np.linalg.solve(phi.T @ phi + ALPHA / BETA * np.eye(2), phi.T @ Y2)
    bayesian = BayesianLinearRegressor(ALPHA, noise_precision=BETA, fit_intercept=False)
    bayesian.fit(phi, Y2)
    dual = KernelRidge(Linear() + 1.0, ALPHA / BETA).fit(X2, Y2)
    for prediction in (new @ primal, bayesian.predict(new), dual.predict([[0.2]])):
        assert np.allclose(prediction, -0.18947909, atol=5e-9)
    features = (Linear() + 1.0).features(X2)
    assert np.allclose(np.sort(features.T @ dual.dual_coef_), np.sort(primal))  # w = Φᵀa


@pytest.mark.topic("000/J13", "002/N5")
def test_the_kernel_of_bayesian_regression_gives_its_mean_and_variance():
    phi, new = np.column_stack([np.ones(3), X2]), np.array([[1.0, 0.2]])
    k = Linear() * (1.0 / ALPHA)  # φᵀφ'/α
    noisy = k(phi) + np.eye(3) / BETA
    across = k(new, phi)
    mean = across @ np.linalg.solve(noisy, Y2)
    variance = k(new) + 1.0 / BETA - across @ np.linalg.solve(noisy, across.T)
    bayesian = BayesianLinearRegressor(ALPHA, noise_precision=BETA, fit_intercept=False)
    predicted = bayesian.fit(phi, Y2).predict_dist(new)
    assert np.allclose(predicted.mean, mean)
    assert np.allclose(predicted.variance, variance)
    assert np.allclose(variance, 0.05312805, atol=5e-9)


def rows(n=30, seed=0, columns=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, columns))
    return x, np.sin(2.0 * x[:, 0]) + 0.1 * rng.normal(size=n)


@pytest.mark.topic("000/J1", "002/N5")
@pytest.mark.parametrize("kernel", [RBF(0.8), Matern(1.5, 1.2), Polynomial(3, 1.0)], ids=str)
def test_ridge_is_the_mean_of_a_gaussian_process(kernel):
    (x, y), (new, _) = rows(), rows(7, seed=1)
    sigma2 = 0.3
    mean = kernel(new, x) @ np.linalg.inv(kernel(x) + sigma2 * np.eye(30)) @ y
    model = KernelRidge(kernel, sigma2).fit(x, y)
    assert np.allclose(model.predict(new), mean)
    assert np.allclose(
        model.predict(new), [sum(model.dual_coef_ * kernel(p[None], x)[0]) for p in new]
    )
    noise_in_the_kernel = KernelRidge(kernel + White(sigma2), 0.0).fit(x, y)
    assert np.allclose(noise_in_the_kernel.predict(new), mean)


def test_weights_are_repetitions():
    x, y = rows(12)
    often = np.array([1, 3, 0, 2, 1, 1, 4, 0, 1, 1, 2, 1])
    some = KernelRidge(penalty=0.2).fit(x, y, sample_weight=often)
    repeated = KernelRidge(penalty=0.2).fit(np.repeat(x, often, axis=0), np.repeat(y, often))
    assert np.allclose(some.predict(x), repeated.predict(x), rtol=1e-9)


def test_what_is_no_kernel_is_refused_by_its_eigenvalue():
    x, y = rows()
    with pytest.raises(ValueError, match=r"K \+ λI has the eigenvalue -.*raise penalty"):
        KernelRidge(Radial(lambda s: -s), 0.1).fit(x, y)
    with pytest.raises(TypeError, match=r"kernel must be a kernel of posteriori\.kernels or None"):
        KernelRidge("rbf").fit(x, y)


@pytest.mark.topic("002/G2", "002/G9", "002/F16")
@pytest.mark.parametrize("kernel", [RBF(0.7), Polynomial(2, 1.0), Function(lambda X, Z: X @ Z.T)])
def test_empirical_features_have_the_kernel_for_products(kernel):
    x, y = rows()
    phi = KernelBasis(kernel).fit_transform(x)
    gram = kernel(x)
    assert np.allclose(phi @ phi.T, gram, atol=1e-9 * np.abs(gram).max())
    # the kernel trick: what is linear in the features is kernel ridge
    linear = make_pipeline(KernelBasis(kernel), LinearRegressor(ridge=0.4, fit_intercept=False))
    new = rows(7, seed=1)[0]
    expected = KernelRidge(kernel, 0.4).fit(x, y).predict(new)
    assert np.allclose(linear.fit(x, y).predict(new), expected, atol=1e-8)


def test_approximate_features_come_nearer():
    x, _ = rows(200)
    gram = RBF(1.0)(x)
    for method in ("nystroem", "fourier"):
        errors = [
            np.abs(phi @ phi.T - gram).mean()
            for size in (10, 150)
            for phi in [KernelBasis(RBF(1.0), method, size, random_state=0).fit_transform(x)]
        ]
        assert errors[1] < 0.5 * errors[0]
    assert KernelBasis(RBF(1.0), "fourier", 10, random_state=0).fit_transform(x).shape == (200, 10)
    with pytest.raises(TypeError, match="the spectrum of"):
        KernelBasis(Linear(), "fourier").fit(x)


@pytest.mark.topic("000/J17")
def test_relevance_vectors_suffice():
    x, y = rows(60, columns=1)
    model = RelevanceVectorRegressor(RBF(0.7)).fit(x, y)
    assert len(model.relevance_) < 15
    assert np.array_equal(model.relevance_vectors_, x[model.relevance_])
    expected = RBF(0.7)(x, model.relevance_vectors_) @ model.dual_coef_ + model.intercept_
    assert np.allclose(model.predict(x), expected)
    assert model.score(x, np.sin(2.0 * x[:, 0])) > 0.97


def test_relevance_vectors_are_a_bayesian_regression_on_kernels():
    x, y = rows(40, columns=1)
    kernel = RBF(0.7)
    model = RelevanceVectorRegressor(kernel).fit(x, y)
    whole = BayesianLinearRegressor(hyperparameters="ard").fit(kernel(x), y)
    new = np.linspace(-3, 3, 9)[:, None]
    predicted, expected = model.predict_dist(new), whole.predict_dist(kernel(new, x))
    assert np.allclose(predicted.mean, expected.mean)
    assert np.allclose(predicted.variance, expected.variance)
    assert float(model.log_evidence_) == float(whole.log_evidence_)
    assert np.allclose(
        model.predict_dist(new, noise=False).variance + model.noise_variance_, predicted.variance
    )
    with pytest.raises(NotFittedError):
        RelevanceVectorRegressor().predict(x)
