"""Power iteration, codes, counts, and the matrix identities that the course relies on."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.distributions import Categorical, MvNormal
from posteriori.mathematics import (
    from_one_hot,
    geometric_sum,
    is_idempotent,
    joint_table_parameters,
    one_hot,
    power_iteration,
    rayleigh_quotient,
)
from posteriori.numerics import ConvergenceWarning, check_gradient, gradient

pytestmark = pytest.mark.blas

RNG = np.random.default_rng(5)
A, B = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 4))
SYMMETRIC = A + A.T


# -- power iteration ---------------------------------------------------------------------------


@pytest.mark.topic("001/2.19")
def test_power_method_step_by_step():
    found = power_iteration([[2.0, 1.0], [1.0, 2.0]], [1.0, 0.0])
    expected = [2.2360680, 2.8635642, 2.9836955, 2.9981730, 2.9997968]
    np.testing.assert_allclose(found.norms[:5], expected, atol=5.1e-8)
    with pytest.warns(ConvergenceWarning):
        five = power_iteration([[2.0, 1.0], [1.0, 2.0]], [1.0, 0.0], max_iter=6)
    v = np.array([1.0, 0.0])
    for _ in range(5):
        v = np.array([[2.0, 1.0], [1.0, 2.0]]) @ v
        v /= np.linalg.norm(v)
    np.testing.assert_allclose(v, [0.71001067, 0.70419091], atol=5.1e-9)
    assert five.residual > 1e-3
    np.testing.assert_allclose(found.eigenvector, np.sqrt([0.5, 0.5]), atol=1e-10)
    assert found.eigenvalue == pytest.approx(3.0, abs=1e-12)
    assert found.ratio == pytest.approx(1 / 3, abs=1e-3)  # |λ₂/λ₁|
    assert found.converged


@pytest.mark.topic("001/2.19")
@pytest.mark.parametrize("seed", range(5))
def test_leading_eigenpair_and_its_sign(seed):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    values = np.array([-5.0, 3.0, 2.0, 1.0, 0.5, 0.0])  # the norm of A v would answer +5
    a = basis @ np.diag(values) @ basis.T
    found = power_iteration(0.5 * (a + a.T), rng=seed)
    assert found.eigenvalue == pytest.approx(-5.0, abs=1e-9)
    assert abs(found.eigenvector @ basis[:, 0]) == pytest.approx(1.0, abs=1e-9)
    assert found.norms[-1] == pytest.approx(5.0, abs=1e-9)


@pytest.mark.topic("001/2.19")
def test_a_start_orthogonal_to_the_answer_is_replaced():
    a = np.diag([1.0, 4.0, 2.0])
    found = power_iteration(a, [1.0, 0.0, 0.0], rng=0)
    assert found.eigenvalue == pytest.approx(4.0, abs=1e-9)
    assert found.n_restarts >= 1


@pytest.mark.topic("001/2.19")
def test_a_tiny_gap_warns():
    with pytest.warns(ConvergenceWarning, match="nearly agree"):
        found = power_iteration(np.diag([1.0, 1.0 - 1e-7]), [1.0, 1.0], max_iter=500)
    assert not found.converged
    assert found.ratio == pytest.approx(1.0, abs=1e-4)
    with pytest.warns(ConvergenceWarning, match="nearly agree"):  # ±1: no dominant |eigenvalue|
        power_iteration([[0.0, 1.0], [1.0, 0.0]], [1.0, 0.5], max_iter=50)


def test_zero_matrix_and_bad_arguments():
    assert power_iteration(np.zeros((2, 2)), rng=0).eigenvalue == 0.0
    assert power_iteration([[7.0]], rng=0).eigenvalue == 7.0
    with pytest.raises(ValueError, match="symmetric"):
        power_iteration([[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="start must be a nonzero vector of 2"):
        power_iteration(np.eye(2), [0.0, 0.0])


@given(
    st.lists(st.floats(-10, 10), min_size=4, max_size=4).filter(lambda v: max(map(abs, v)) > 0.1)
)
def test_rayleigh_quotients_lie_between_the_extreme_eigenvalues(v):
    values = np.linalg.eigvalsh(SYMMETRIC)
    quotient = rayleigh_quotient(SYMMETRIC, v)
    assert values[0] - 1e-12 <= quotient <= values[-1] + 1e-12
    vectors = np.linalg.eigh(SYMMETRIC)[1]
    assert rayleigh_quotient(SYMMETRIC, vectors[:, -1]) == pytest.approx(values[-1], rel=1e-12)


# -- predicates, counts, codes -----------------------------------------------------------------


@pytest.mark.topic("001/1.4")
def test_projections_are_idempotent():
    b = RNG.normal(size=5)
    b /= np.linalg.norm(b)
    assert is_idempotent(np.eye(5) - np.outer(b, b))
    assert is_idempotent(np.outer(b, b))
    x = RNG.normal(size=(9, 3))
    assert is_idempotent(x @ np.linalg.solve(x.T @ x, x.T))  # the hat matrix
    assert not is_idempotent(np.eye(5) - 2.0 * np.outer(b, b))  # a reflection
    with pytest.raises(ValueError, match="square"):
        is_idempotent(x)


@pytest.mark.topic("001/1.10")
@given(st.integers(1, 12), st.integers(0, 10))
def test_geometric_sums(k, m):
    assert geometric_sum(k, m) == sum(k ** (i - 1) for i in range(1, m + 1))
    assert joint_table_parameters(k, m) == k**m - 1
    assert joint_table_parameters(k, m) == sum(k ** (i - 1) * (k - 1) for i in range(1, m + 1))
    if k > 1:
        assert k * geometric_sum(k, m) == (k ** (m + 1) - k) // (k - 1)


@pytest.mark.topic("001/1.10")
def test_parameters_of_a_joint_table():
    assert joint_table_parameters(10, 4) == 9999
    assert joint_table_parameters(2, 100) == 2**100 - 1
    near = 1.0 + 1e-9
    p, q = near.as_integer_ratio()
    exact = Fraction(sum(p**i * q ** (999 - i) for i in range(1000)), q**999)
    assert geometric_sum(near, 1000) == pytest.approx(float(exact), rel=1e-14)
    assert geometric_sum(0.5, 60) == pytest.approx(2.0, rel=1e-15)
    with pytest.raises(ValueError, match="n_values"):
        joint_table_parameters(0, 3)


@pytest.mark.topic("003/P.5", "004/5.2")
def test_one_of_k_code():
    assert one_hot(3, 6, first=1).tolist() == [0, 0, 1, 0, 0, 0]
    assert Categorical.sufficient(2, n_categories=6)[0].tolist() == [0, 0, 1, 0, 0, 0]
    assert from_one_hot([0, 0, 1, 0, 0, 0], first=1) == 3
    mu = Categorical.fit([0, 2, 2, 1, 2], n_categories=4).probabilities
    np.testing.assert_allclose(mu, one_hot([0, 2, 2, 1, 2], 4).mean(axis=0), rtol=1e-15)


@pytest.mark.topic("004/5.2")
@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=1, max_size=4))
def test_codes_survive_the_round_trip(codes):
    vectors = one_hot(codes, 6)
    assert vectors.shape == (*np.shape(codes), 6)
    np.testing.assert_array_equal(from_one_hot(vectors), codes)
    np.testing.assert_array_equal(vectors.sum(axis=-1), 1.0)


def test_codes_that_are_none_are_named():
    with pytest.raises(ValueError, match="between 0 and 2, got 3"):
        one_hot([0, 3], 3)
    with pytest.raises(ValueError, match="whole"):
        one_hot([0.5], 3)
    with pytest.raises(ValueError, match="whole numbers >= 1, got 0"):
        one_hot([0, 1], 3, first=1)
    with pytest.raises(ValueError, match="single 1"):
        from_one_hot([[0.2, 0.8]])
    with pytest.raises(ValueError, match="single 1"):
        from_one_hot([[1, 1, 0]])


# -- identities --------------------------------------------------------------------------------


@pytest.mark.topic("000/L1", "004/5.12")
def test_transposes_inverses_and_determinants():
    inverse = np.linalg.inv
    np.testing.assert_allclose((A @ B).T, B.T @ A.T, rtol=1e-13)
    np.testing.assert_allclose(inverse(A @ B), inverse(B) @ inverse(A), rtol=1e-9)
    np.testing.assert_allclose(inverse(A).T, inverse(A.T), rtol=1e-9)
    assert np.linalg.det(A.T) == pytest.approx(np.linalg.det(A), rel=1e-12)
    assert np.linalg.det(inverse(A)) == pytest.approx(1 / np.linalg.det(A), rel=1e-12)
    assert np.trace(A @ B @ SYMMETRIC) == pytest.approx(np.trace(SYMMETRIC @ A @ B), rel=1e-12)


@pytest.mark.topic("001/1.5")
def test_a_gram_matrix_is_a_sum_of_outer_products():
    x = RNG.normal(size=(4, 7))
    np.testing.assert_allclose(x @ x.T, sum(np.outer(c, c) for c in x.T), rtol=1e-12, atol=1e-13)


@pytest.mark.topic("001/1.6", "001/1.7", "001/1.8", "001/1.9", "004/5.12")
def test_gradients_of_quadratic_forms():
    x = RNG.normal(size=4)
    wide = RNG.normal(size=(3, 4))
    assert check_gradient(lambda b: b @ SYMMETRIC @ b, 2 * SYMMETRIC @ x, x).ok
    assert check_gradient(lambda b: b @ A @ b, (A + A.T) @ x, x).ok
    assert not check_gradient(lambda b: b @ A @ b, 2 * A @ x, x).ok
    assert check_gradient(lambda v: v @ v, 2 * x, x).ok
    assert check_gradient(lambda v: (wide @ v) @ (wide @ v), 2 * wide.T @ wide @ x, x).ok


@pytest.mark.topic("004/5.12")
def test_gradients_with_respect_to_a_matrix():
    a, b = RNG.normal(size=4), RNG.normal(size=4)
    spd = A @ A.T + np.eye(4)
    assert check_gradient(lambda m: np.linalg.slogdet(m)[1], np.linalg.inv(spd).T, spd).ok
    assert check_gradient(lambda m: np.trace(m @ B), B.T, A).ok
    assert check_gradient(lambda m: np.trace(B @ m), B.T, A).ok
    assert check_gradient(lambda m: np.trace(m @ B @ m.T), A @ (B + B.T), A).ok
    assert check_gradient(lambda m: a @ m @ b, np.outer(a, b), A).ok


@pytest.mark.topic("000/L2")
def test_derivative_of_a_normal_density_by_its_covariance():
    cov = A @ A.T + np.eye(4)
    mean, x = RNG.normal(size=4), RNG.normal(size=4)
    pull = np.linalg.solve(cov, x - mean)
    claimed = -0.5 * np.linalg.inv(cov) + 0.5 * np.outer(pull, pull)
    # differences stay within symmetric matrices: an off-diagonal pair moves together
    numeric = gradient(lambda c: MvNormal(mean, cov=0.5 * (c + c.T)).log_prob(x), cov)
    np.testing.assert_allclose(numeric, claimed, atol=1e-8)
