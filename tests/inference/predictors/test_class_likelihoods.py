"""Likelihoods of classes on linear predictors: derivatives, symmetries, means under uncertainty."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, ndtr

from posteriori.inference.predictors.class_curves import (
    logistic_curve,
    logistic_mean,
    probit_corrected,
    probit_curve,
    probit_mean,
)
from posteriori.inference.predictors.softmax_averages import contrasts, softmax_with_log_sum
from posteriori.inference.predictors.softmax_predictor import SoftmaxPredictor

CURVES = {"logistic": logistic_curve, "probit": probit_curve}
LOG_LINKS = {
    "logistic": lambda m: -mpmath.log1p(mpmath.exp(-m)),
    "probit": lambda m: mpmath.log(mpmath.erfc(-m / mpmath.sqrt(2)) / 2),
}
MARGINS = [-1e3, -250.0, -199.0, -40.0, -3.0, -1e-3, 0.0, 0.7, 6.0, 30.0]


@pytest.mark.parametrize("link", sorted(CURVES))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("margin", MARGINS)
def test_values_and_derivatives_have_all_their_digits(link, sign, margin):
    eta = np.array([sign * margin])
    curve = CURVES[link](np.array([sign]))(eta, 0.0, slice(None))
    # exp(−250) and erfc(−21) − 2 are lost beside larger numbers in fewer digits
    with mpmath.workdps(60 if link == "probit" and margin < 0.0 else 500):
        f = LOG_LINKS[link]
        m = mpmath.mpf(margin)
        value, slope, bend = f(m), mpmath.diff(f, m), -mpmath.diff(f, m, 2)
    np.testing.assert_allclose(curve.value, float(value), rtol=1e-13)
    np.testing.assert_allclose(curve.slope, sign * float(slope), rtol=1e-12)
    np.testing.assert_allclose(curve.curvature, float(bend), rtol=1e-10)


@pytest.mark.topic("004/8.2")
def test_scaled_probit_is_near_the_logistic():
    a = np.linspace(-10, 10, 200_001)
    difference = np.abs(expit(a) - ndtr(np.sqrt(np.pi / 8.0) * a)).max()
    assert difference == pytest.approx(0.0176712, abs=1e-7)
    curve = logistic_curve(np.ones(3))(np.array([-2.0, 0.5, 3.0]), 0.0, slice(None))
    s = expit(np.array([-2.0, 0.5, 3.0]))
    np.testing.assert_allclose(curve.curvature, s * (1 - s), rtol=1e-14)  # σ′ = σ(1 − σ)


PREDICTIVES = [
    (1.0, 1.0, 0.69673, 0.70229, 0.70001),
    (2.0, 4.0, 0.77520, 0.78280, 0.77684),
    (-1.5, 0.5, 0.20387, 0.19506, 0.20239),
    (3.0, 25.0, 0.71396, 0.71620, 0.71344),
    (0.0, 3.0, 0.5, 0.5, 0.5),
]


@pytest.mark.topic("004/8.6")
@pytest.mark.parametrize(("mean", "variance", "exact", "probit", "corrected"), PREDICTIVES)
def test_predictive_of_the_notes(mean, variance, exact, probit, corrected):
    mean, variance = np.array(mean), np.array(variance)
    assert float(logistic_mean(mean, variance)) == pytest.approx(exact, abs=6e-6)
    assert float(probit_corrected(mean, variance)) == pytest.approx(corrected, abs=6e-6)
    scale = np.sqrt(np.pi / 8.0)  # Φ(m/√(λ⁻² + v)) = E Φ(λη): the notes print λ² for λ⁻²
    assert float(probit_mean(scale * mean, scale**2 * variance)) == pytest.approx(probit, abs=6e-6)


@pytest.mark.parametrize("variance", [1e-4, 0.3, 5.0, 100.0, 1e5])
@pytest.mark.parametrize("mean", [-8.0, -0.2, 2.0])
def test_logistic_mean_is_the_integral(mean, variance):
    s = np.sqrt(variance)

    def inner(z):
        return expit(mean + s * z) * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)

    edge = np.clip(-mean / s, -9, 9)
    exact = quad(inner, -10, edge, epsabs=1e-13)[0] + quad(inner, edge, 10, epsabs=1e-13)[0]
    assert float(logistic_mean(np.array(mean), np.array(variance))) == pytest.approx(
        exact, abs=1e-8
    )


def test_probit_correction_is_as_near_as_it_says():
    mean, variance = np.meshgrid(np.linspace(-100, 100, 801), np.logspace(-2, 4, 61))
    difference = np.abs(probit_corrected(mean, variance) - logistic_mean(mean, variance))
    assert 0.017 < difference.max() < 0.018


def test_contrasts_are_orthonormal_and_sum_to_zero():
    for k in (2, 3, 7):
        basis = contrasts(k)
        np.testing.assert_allclose(basis.T @ basis, np.eye(k - 1), atol=1e-15)
        np.testing.assert_allclose(basis.sum(axis=0), 0.0, atol=1e-15)


@pytest.mark.topic("004/8.8")
@pytest.mark.topic("000/G20")
def test_softmax_slopes():
    a = np.array([0.3, -1.0, 2.0])
    p = softmax_with_log_sum(a[None])[0][0]
    slopes = np.array(
        [(softmax_with_log_sum((a + h)[None])[0][0] - p) / 1e-6 for h in 1e-6 * np.eye(3)]
    ).T
    np.testing.assert_allclose(np.diag(p) - np.outer(p, p), slopes, atol=1e-6)


@pytest.mark.topic("000/G20")
@pytest.mark.topic("004/8.7")
@pytest.mark.parametrize("weighted", [False, True])
def test_softmax_posterior_has_the_derivatives_it_states(weighted):
    rng = np.random.default_rng(1)
    x, codes = rng.normal(size=(40, 3)), rng.integers(0, 4, 40)
    f = rng.integers(1, 4, 40).astype(float) if weighted else None
    density = SoftmaxPredictor(x, codes, 4, rng.random(9), rng.normal(size=9), f)
    w = rng.normal(size=9)
    _, gradient = density.value_and_gradient(w)
    steps = 1e-5 * np.eye(9)
    value = lambda v: density.value_and_gradient(v)[0]  # noqa: E731
    slope = lambda v: density.value_and_gradient(v)[1]  # noqa: E731
    numeric = np.array([(value(w + h) - value(w - h)) / 2e-5 for h in steps])
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-7)
    numeric = np.array([(slope(w - h) - slope(w + h)) / 2e-5 for h in steps])
    np.testing.assert_allclose(density.curvature(w), numeric, rtol=1e-6, atol=1e-7)


def test_softmax_of_k_weight_vectors_is_singular_and_that_of_contrasts_is_not():
    rng = np.random.default_rng(2)
    x, codes = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    density = SoftmaxPredictor(x, codes, 3, np.zeros(4), np.zeros(4))
    p = np.full((60, 3), 1 / 3)
    full = np.block(
        [
            [(x * (p[:, k] * ((k == j) - p[:, j]))[:, None]).T @ x for j in range(3)]
            for k in range(3)
        ]
    )
    assert np.linalg.matrix_rank(full) == 4
    turn = np.kron(contrasts(3), np.eye(2))
    np.testing.assert_allclose(density.curvature(np.zeros(4)), turn.T @ full @ turn, atol=1e-12)


def test_shares_of_classes_are_rows_that_count_so_often():
    rng = np.random.default_rng(3)
    x, shares, f = rng.normal(size=(30, 2)), rng.dirichlet(np.ones(3), 30), rng.random(30)
    precision, mean, w = rng.random(4), rng.normal(size=4), rng.normal(size=4)
    shared = SoftmaxPredictor(x, shares, 3, precision, mean, f)
    counted = SoftmaxPredictor(
        np.repeat(x, 3, axis=0),
        np.tile([0, 1, 2], 30),
        3,
        precision,
        mean,
        (f[:, None] * shares).ravel(),
    )
    for one, other in zip(shared.value_and_gradient(w), counted.value_and_gradient(w), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(shared.curvature(w), counted.curvature(w), rtol=1e-12)
