"""Numeric derivatives against the identities of matrix calculus."""

import numpy as np
import pytest

from posteriori import MvNormal
from posteriori.numerics import check_gradient, check_hessian, gradient, hessian, jacobian

RNG = np.random.default_rng(8)
A = RNG.normal(size=(3, 3))
B = RNG.normal(size=(3, 3))
X = RNG.normal(size=3)
SPD = B @ B.T + np.eye(3)


@pytest.mark.topic("001/1.6")
def test_gradient_of_a_quadratic_form():
    """∇ xᵀAx = (A + Aᵀ)x, which is 2Ax for symmetric A."""
    assert check_gradient(lambda x: x @ A @ x, (A + A.T) @ X, X, tol=1e-9).ok
    assert check_gradient(lambda x: x @ SPD @ x, 2 * SPD @ X, X, tol=1e-9).ok
    assert not check_gradient(lambda x: x @ A @ x, 2 * A @ X, X).ok  # only for symmetric A
    assert check_hessian(lambda x: x @ A @ x, A + A.T, X).ok


@pytest.mark.topic("001/1.7")
def test_gradient_of_the_squared_norm():
    """∇ ‖x‖² = 2x."""
    check = check_gradient(lambda x: np.linalg.norm(x) ** 2, lambda x: 2 * x, X, tol=1e-9)
    assert check.ok
    assert check_hessian(lambda x: x @ x, 2 * np.eye(3), X).ok


@pytest.mark.topic("001/1.8")
def test_gradient_of_the_squared_norm_of_a_linear_map():
    """∇ ‖Ax‖² = 2AᵀAx."""
    tall = RNG.normal(size=(5, 3))
    check = check_gradient(lambda x: np.linalg.norm(tall @ x) ** 2, 2 * tall.T @ tall @ X, X)
    assert check.ok
    assert check.error < 1e-9


@pytest.mark.topic("001/1.9")
def test_the_checker_tells_right_from_wrong():
    right = check_gradient(lambda x: np.sin(x).sum(), np.cos, X)
    assert right.ok
    assert right.error < 1e-9
    np.testing.assert_allclose(right.numeric, np.cos(X), rtol=1e-9)
    wrong = check_gradient(lambda x: np.sin(x).sum(), lambda x: np.cos(x) + np.eye(3)[1] / 100, X)
    assert not wrong.ok
    assert wrong.error == pytest.approx(0.01 / (1 + abs(np.cos(X[1]))), rel=1e-5)
    assert not check_hessian(lambda x: x @ A @ x, A, X).ok


@pytest.mark.topic("004/5.12")
def test_matrix_derivatives():
    """∂ ln|A| = A⁻ᵀ, ∂ Tr[AB] = Bᵀ, ∂ xᵀAx = xxᵀ with respect to A."""
    log_det = check_gradient(lambda a: np.linalg.slogdet(a)[1], np.linalg.inv(SPD).T, SPD)
    assert log_det.error < 1e-8
    trace = check_gradient(lambda a: np.trace(a @ B), B.T, A)
    assert trace.error < 1e-9
    quadratic = check_gradient(lambda a: X @ a @ X, np.outer(X, X), A)
    assert quadratic.error < 1e-9


@pytest.mark.topic("000/L2")
def test_derivative_of_the_gaussian_log_density_with_respect_to_the_covariance():
    """∂ ln N(x; m, Σ)/∂Σ = −½Σ⁻¹ + ½Σ⁻¹(x−m)(x−m)ᵀΣ⁻¹; it vanishes at the ML covariance."""
    m = np.array([0.3, -0.2, 0.5])
    inverse = np.linalg.inv(SPD)
    shift = inverse @ (X - m)

    def log_density(cov):
        return MvNormal(m, cov=0.5 * (cov + cov.T)).log_prob(X)

    check = check_gradient(log_density, 0.5 * (np.outer(shift, shift) - inverse), SPD)
    assert check.error < 1e-8

    data = RNG.normal(size=(40, 3)) @ A
    best = MvNormal.fit(data)

    def likelihood(cov):
        return MvNormal(best.mean, cov=0.5 * (cov + cov.T)).log_prob(data).sum()

    at_top = check_gradient(likelihood, np.zeros((3, 3)), best.cov, tol=1e-5)
    assert at_top.ok


def test_jacobian_has_a_column_per_argument():
    f = lambda v: np.array([v[0] * v[1], np.exp(v[0])])  # noqa: E731
    np.testing.assert_allclose(
        jacobian(f, [0.5, 2.0]), [[2.0, 0.5], [np.exp(0.5), 0.0]], rtol=1e-9, atol=1e-9
    )
    matrix_valued = jacobian(lambda v: np.outer(v, v), [1.0, 2.0])
    assert matrix_valued.shape == (2, 2, 2)


def test_gradient_keeps_the_shape_of_its_argument():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(gradient(lambda m: (m**3).sum(), x), 3 * x**2, rtol=1e-9, atol=1e-9)


def test_hessian_is_symmetric_and_right():
    f = lambda v: v[0] ** 2 * v[1] + np.cos(v[1])  # noqa: E731
    h = hessian(f, [1.5, 0.4])
    np.testing.assert_allclose(h, [[0.8, 3.0], [3.0, -np.cos(0.4)]], rtol=1e-5)
    np.testing.assert_array_equal(h, h.T)


def test_step_follows_the_size_of_the_argument():
    assert gradient(lambda x: x[0] ** 2, [1e8]) == pytest.approx(2e8, rel=1e-9)


def test_a_claim_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"shape \(2,\), expected \(3,\)"):
        check_gradient(lambda x: x @ x, np.zeros(2), X)
