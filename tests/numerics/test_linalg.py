"""Cholesky factors, their jitter, and what is computed from them."""

import numpy as np
import pytest

from posteriori.numerics import cholesky_jittered
from posteriori.numerics.linalg import (
    inverse_from_factor,
    log_det_from_factor,
    outer,
    quadratic_form,
    symmetrize,
    triangular_inverse,
)

pytestmark = pytest.mark.blas


def stack(*shape, seed=0):
    b = np.random.default_rng(seed).normal(size=(*shape, shape[-1]))
    return b @ np.swapaxes(b, -1, -2) + 0.5 * np.eye(shape[-1])


def test_a_positive_definite_matrix_needs_no_jitter():
    a = stack(4)
    factor = cholesky_jittered(a)
    assert factor.jitter == 0.0
    np.testing.assert_allclose(factor.lower @ factor.lower.T, a, rtol=1e-13)
    np.testing.assert_array_equal(factor.lower, np.tril(factor.lower))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_singular_matrix_gets_jitter_of_its_own_size_and_says_how_much(scale):
    a = scale * np.ones((3, 3))
    lower, jitter = cholesky_jittered(a)
    assert 0 < jitter <= 1e-10 * scale
    np.testing.assert_allclose(lower @ lower.T, a + jitter * np.eye(3), rtol=1e-12)


def test_jitter_stays_on_the_lowest_rung_that_works():
    a = np.diag([1.0, 1.0, -1e-9])
    assert cholesky_jittered(a).jitter == pytest.approx(1e-8 * 2 / 3)


@pytest.mark.parametrize(
    "a", [np.diag([1.0, -0.1]), -np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]])]
)
def test_an_indefinite_matrix_is_refused_with_its_eigenvalue(a):
    smallest = np.linalg.eigvalsh(a)[0]
    with pytest.raises(ValueError, match=f"smallest eigenvalue {smallest:.6g}"):
        cholesky_jittered(a)


def test_factors_of_a_stack():
    a = stack(5, 2, 3)
    lower, jitter = cholesky_jittered(a)
    assert jitter == 0.0
    np.testing.assert_allclose(lower @ np.swapaxes(lower, -1, -2), a, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("shape", [(1,), (4,), (3, 2), (2, 3, 4), (20, 5, 3)])
def test_inverse_and_determinant_come_from_the_factor(shape):
    a = stack(*shape, seed=1)
    lower = np.linalg.cholesky(a)
    identity = np.broadcast_to(np.eye(shape[-1]), a.shape)
    np.testing.assert_allclose(triangular_inverse(lower) @ lower, identity, atol=1e-12)
    inverse = inverse_from_factor(lower)
    np.testing.assert_allclose(inverse @ a, identity, atol=1e-11)
    np.testing.assert_array_equal(inverse, np.swapaxes(inverse, -1, -2))
    np.testing.assert_allclose(log_det_from_factor(lower), np.linalg.slogdet(a)[1], rtol=1e-11)


def test_small_pieces():
    a = np.arange(8.0).reshape(2, 2, 2)
    np.testing.assert_array_equal(symmetrize(a)[0], [[0.0, 1.5], [1.5, 3.0]])
    x, y = np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([3.0, 4.0])
    np.testing.assert_array_equal(outer(x, y)[0], [[3.0, 4.0], [6.0, 8.0]])
    np.testing.assert_array_equal(quadratic_form(a, x), [1 * 0 + 2 * (1 + 2) + 4 * 3, 7.0])
