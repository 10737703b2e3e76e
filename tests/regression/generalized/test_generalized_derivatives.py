"""Log posteriors of generalised regressions: derivatives against finite differences."""

import numpy as np
import pytest
from scipy import stats

from posteriori.estimators.estimator_rows import Rows
from posteriori.inference.predictors.curves.ordered_curves import ordered_curve, ordered_rows
from posteriori.inference.predictors.generalized_linear import LinearPredictor
from posteriori.regression import (
    NegativeBinomialRegressor,
    PoissonRegressor,
    RobustRegressor,
)
from posteriori.regression.generalized.ordinal import _Thresholds

RNG = np.random.default_rng(3)
X = np.column_stack([np.ones(20), RNG.normal(size=(20, 2))])
COUNTS = RNG.negative_binomial(2, 0.3, size=20).astype(float)
REALS = X @ [1.0, 2.0, -1.0] + RNG.standard_t(2, size=20)
FREQUENCY = RNG.integers(1, 4, size=20).astype(float)

#: estimator, targets, and points (weights, then a log shape)
CASES = [
    (PoissonRegressor(), COUNTS, 3),
    (NegativeBinomialRegressor(), COUNTS, 4),
    (NegativeBinomialRegressor(), COUNTS + 0.3, 4),
    (RobustRegressor(dof=1.5), REALS, 4),
    (RobustRegressor(dof=np.inf), REALS, 4),
]


def density(estimator, y, size):
    _, unit, _ = estimator._centre(Rows(X, y, FREQUENCY, None))
    precision = np.diag(np.linspace(0.5, 2.0, size)) / unit**2
    return LinearPredictor(X, estimator._likelihood(y), precision, np.full(size, 0.1), FREQUENCY)


def thresholds(k=4):
    codes = RNG.integers(0, k, size=20)
    codes[:k] = np.arange(k)
    return _Thresholds(X[:, 1:], codes, FREQUENCY, 0.7)


def points(size, n=6):
    return 0.7 * np.random.default_rng(5).normal(size=(n, size))


def differences(function, w, step):
    return np.array(
        [(function(w + e) - function(w - e)) / (2 * step) for e in step * np.eye(len(w))]
    )


def check(made, w):
    gradient = made.value_and_gradient(w)[1]
    numeric = differences(lambda v: made.value_and_gradient(v)[0], w, 1e-5)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6)
    curvature = made.curvature(w)
    numeric = -differences(lambda v: made.value_and_gradient(v)[1], w, 1e-5)
    np.testing.assert_allclose(curvature, numeric, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("estimator", "y", "size"), CASES)
def test_derivatives(estimator, y, size):
    made = density(estimator, y, size)
    for w in points(size):
        check(made, w)


@pytest.mark.parametrize("classes", [2, 4])
def test_derivatives_of_thresholds(classes):
    made = thresholds(classes)
    for w in points(2 + classes - 1):
        w[2:] = np.sort(w[2:]) + 0.2 * np.arange(classes - 1)
        check(made, w)


@pytest.mark.parametrize("eta", [-200.0, 0.0, 300.0])
def test_ordered_likelihood_keeps_its_digits_far_in_the_tails(eta):
    row = ordered_rows(np.array([-1.0 - eta]), np.array([1.0 - eta]))  # p = σ(1 − η) − σ(−1 − η)
    far = -abs(eta) + np.log(np.exp(1.0) - np.exp(-1.0))
    assert row.value[0] == pytest.approx(far if eta else np.log(np.tanh(0.5)), rel=1e-12)
    assert row.above[0] + row.below[0] == pytest.approx(np.sign(eta), abs=1e-12)


@pytest.mark.parametrize("log_shape", [-3.0, 0.0, 2.0, 12.0])
def test_likelihoods_are_those_of_the_distributions(log_shape):
    eta = np.linspace(-2.0, 3.0, 20)
    rows = slice(0, 20)
    mean, r = np.exp(eta), np.exp(log_shape)
    poisson = PoissonRegressor()._likelihood(COUNTS)(eta, 0.0, rows).value
    np.testing.assert_allclose(poisson, stats.poisson(mean).logpmf(COUNTS), rtol=1e-12)
    negative = NegativeBinomialRegressor()._likelihood(COUNTS)(eta, log_shape, rows).value
    expected = stats.nbinom(r, r / (r + mean)).logpmf(COUNTS)
    np.testing.assert_allclose(negative, expected, rtol=1e-9, atol=1e-9)
    robust = RobustRegressor(dof=3.0)
    robust._finest = 0.0
    t = robust._likelihood(REALS)(eta, log_shape, rows).value
    np.testing.assert_allclose(t, stats.t(3.0, eta, r).logpdf(REALS), rtol=1e-12)


def test_exact_data_have_a_scale_of_their_resolution():
    # a width of 1e-8 of the spread stays, so the density of a perfect fit is bounded
    robust = RobustRegressor()
    robust._centre(Rows(X, REALS, None, None))
    at = [robust._likelihood(REALS)(REALS, t, slice(0, 20)).value.sum() for t in (-30.0, -300.0)]
    assert at[0] == pytest.approx(at[1], rel=1e-6)
    assert np.isfinite(at[1])


def test_ordered_curves_are_those_of_thresholds():
    codes, thresholds = np.array([0, 1, 2]), np.array([-1.0, 0.5])
    eta, step = np.array([0.3, -0.2, 1.7]), 1e-4
    curve = ordered_curve(codes, thresholds)
    below = 1.0 / (1.0 + np.exp(-(thresholds - eta[:, None])))
    p = np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=((0, 0), (0.0, 1.0))))
    here, up, down = (curve(eta + s, 0.0, slice(None)) for s in (0.0, step, -step))
    assert np.allclose(np.exp(here.value), p[np.arange(3), codes])
    assert np.allclose(here.slope, (up.value - down.value) / (2.0 * step), atol=1e-7)
    assert np.allclose(here.curvature, (down.slope - up.slope) / (2.0 * step), atol=1e-7)
