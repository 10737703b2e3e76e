"""Normal matrices, and their joint law with a precision, against normal vectors."""

import numpy as np
import pytest

from posteriori.distributions import MatrixNormal, MatrixNormalWishart, NormalWishart

pytestmark = pytest.mark.blas

U = np.array([[1.0, 0.3], [0.3, 0.8]])
V = np.array([[1.0, 0.2, 0.1], [0.2, 0.7, 0.0], [0.1, 0.0, 0.5]])
M = np.arange(6.0).reshape(2, 3)


def test_a_matrix_normal_is_a_normal_vector_row_after_row():
    d, e = MatrixNormal(M, U, V), MatrixNormal(M + 0.1, 2 * U, V + 0.1 * np.eye(3))
    x = d.sample(5, rng=0)
    flat = x.reshape(5, 6)
    np.testing.assert_allclose(d.log_prob(x), d.vec().log_prob(flat), rtol=1e-12)
    np.testing.assert_allclose(d.vec().cov, np.kron(U, V), rtol=1e-15)
    assert d.entropy() == pytest.approx(d.vec().entropy(), rel=1e-13)
    assert d.kl(e) == pytest.approx(d.vec().kl(e.vec()), rel=1e-12)
    same = MatrixNormal(M, 3.0 * U, V / 3.0)
    assert same.kl(d) == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose(d.variance, np.outer(np.diag(U), np.diag(V)))
    np.testing.assert_allclose(d.std**2, d.variance)
    with pytest.raises(TypeError, match="within one family"):
        d.kl(d.vec())
    with pytest.raises(ValueError, match="2 x 3"):
        MatrixNormal(M.T, U, V)
    with pytest.raises(ValueError, match="matrix"):
        MatrixNormal([1.0, 2.0], U, V)


def test_rows_and_columns_of_a_matrix_normal():
    d = MatrixNormal(M, U, V)
    rows = d.marginal_rows([1])
    np.testing.assert_allclose(rows.vec().cov, d.vec().marginal([3, 4, 5]).cov)
    columns = d.marginal_columns([2, 0])
    np.testing.assert_allclose(columns.mean, M[:, [2, 0]])
    np.testing.assert_allclose(columns.vec().cov, d.vec().marginal([2, 0, 5, 3]).cov)
    assert d.transpose().transpose() == d
    x = d.sample(rng=1)
    assert d.transpose().log_prob(x.T) == pytest.approx(d.log_prob(x), rel=1e-13)


def test_matrix_normal_wishart_is_the_composition_of_its_two_laws():
    d = MatrixNormalWishart(M, U, 7.0, V)
    s = d.sample(4, rng=1)
    for i in range(4):
        given = d.given_precision(s.precision[i]).log_prob(s.weights[i])
        together = d.marginal_precision().log_prob(s.precision[i]) + given
        assert d.log_prob((s.weights[i], s.precision[i])) == pytest.approx(together, rel=1e-12)
    np.testing.assert_allclose(d.mean.weights, M)
    np.testing.assert_allclose(d.mean.precision, 7.0 * V)
    e = MatrixNormalWishart(M + 0.2, 1.5 * U, 9.0, V + 0.1 * np.eye(3))
    draws = d.sample(40_000, rng=2)
    ratio = d.log_prob(draws) - e.log_prob(draws)
    assert abs(ratio.mean() - d.kl(e)) < 5 * ratio.std() / 200
    surprise = -d.log_prob(draws)
    assert abs(surprise.mean() - d.entropy()) < 5 * surprise.std() / 200
    assert np.all(np.abs(draws.weights.mean(axis=0) - M) < 5 * np.sqrt(d.variance.weights / 40_000))


def test_with_one_input_it_is_the_normal_wishart():
    scale = [[0.12, 0.03], [0.03, 0.1]]
    d = MatrixNormalWishart([[0.3, -0.2]], [[1.7]], 12.0, scale)
    e = NormalWishart([0.3, -0.2], 1.7, 12.0, scale)
    precision = np.array([[1.0, 0.2], [0.2, 1.5]])
    assert d.log_prob(([[0.1, 0.4]], precision)) == pytest.approx(
        e.log_prob(([0.1, 0.4], precision)), rel=1e-13
    )
    assert d.entropy() == pytest.approx(e.entropy(), rel=1e-13)
    for one, other in zip(d.natural, e.natural, strict=True):
        np.testing.assert_allclose(np.ravel(one), np.ravel(other), rtol=1e-13)
    with pytest.raises(ValueError, match="inputs"):
        MatrixNormalWishart(M.T, U, 7.0, V)
    with pytest.raises(ValueError, match="dof"):
        _ = MatrixNormalWishart(M, U, 3.5, V).variance


def test_the_natural_form_updates_multi_output_regression():
    """Y = XW + E: natural parameters of the posterior are those of the prior plus statistics."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 2))
    y = x @ M + rng.normal(size=(40, 3))
    prior = MatrixNormalWishart(np.zeros((2, 3)), np.eye(2), 5.0, np.eye(3))
    n1, n2, n3, n4 = prior.natural
    posterior = MatrixNormalWishart.from_natural(
        n1 + 20.0, n2 - 0.5 * y.T @ y, n3 + (x.T @ y).ravel(), n4 - 0.5 * x.T @ x
    )
    strength = np.eye(2) + x.T @ x
    mean = np.linalg.solve(strength, x.T @ y)
    np.testing.assert_allclose(posterior.location, mean, rtol=1e-11)
    np.testing.assert_allclose(posterior.mean_precision, strength, rtol=1e-13)
    assert posterior.dof == pytest.approx(45.0)
    residual = np.eye(3) + y.T @ y - mean.T @ strength @ mean
    np.testing.assert_allclose(np.linalg.inv(posterior.scale), residual, rtol=1e-9)
