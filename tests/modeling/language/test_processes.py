"""Gaussian processes as variables of a model, against dense normal algebra."""

import numpy as np
import pytest
from scipy import integrate, stats

from posteriori import Gamma, Input, Model, MvNormal, Normal
from posteriori.kernels import RBF, Linear, White
from posteriori.modeling import GaussianProcess

SMOOTH = 2.0 * RBF(scale=1.5)
LINES = 0.5 * Linear()


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    x, new = rng.normal(size=(12, 2)), rng.normal(size=(4, 2))
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=12)
    y[3] = np.nan
    return x, y, new


def two_processes():
    m = Model()
    m.X = Input()
    m.level = Normal(0, variance=4.0)
    m.f = GaussianProcess(SMOOTH, at=m.X)
    m.g = GaussianProcess(LINES, at=m.X)
    m.y = Normal(m.level + m.f + m.g, variance=0.01)
    return m


def conditional(kernel, x, y, new, noise):
    """Return mean and covariance of a process at new points, by dense algebra."""
    seen = ~np.isnan(y)
    gram = kernel(x[seen]) + noise * np.eye(seen.sum())
    across = kernel(new, x[seen])
    mean = across @ np.linalg.solve(gram, y[seen])
    return mean, kernel(new) - across @ np.linalg.solve(gram, across.T)


def test_evidence_and_predictions(data):
    x, y, new = data
    post = two_processes().infer(X=x, y=y)
    kernel, seen = SMOOTH + LINES + 4.0, ~np.isnan(y)
    gram = kernel(x[seen]) + 0.01 * np.eye(seen.sum())
    exact = stats.multivariate_normal(np.zeros(seen.sum()), gram).logpdf(y[seen])
    assert np.isclose(float(post.log_evidence), exact, rtol=1e-9)
    assert post.log_evidence.kind == "exact"
    assert post.log_evidence.of == "y|X"
    mean, cov = conditional(kernel, x, y, new, 0.01)
    predicted = post.predict("y", X=new)
    assert np.allclose(predicted.mean, mean, rtol=1e-7)
    assert np.allclose(predicted.variance, np.diagonal(cov) + 0.01, rtol=1e-7)


def test_one_part_at_new_points(data):
    x, y, new = data
    part = two_processes().infer(X=x, y=y).predict("f", X=new)
    seen = ~np.isnan(y)
    gram = (SMOOTH + LINES + 4.0)(x[seen]) + 0.01 * np.eye(seen.sum())
    across = SMOOTH(new, x[seen])
    assert isinstance(part, MvNormal)
    assert np.allclose(part.mean, across @ np.linalg.solve(gram, y[seen]), rtol=1e-6, atol=1e-8)
    cov = SMOOTH(new) - across @ np.linalg.solve(gram, across.T)
    assert np.allclose(part.cov, cov, rtol=1e-6, atol=1e-8)


def test_unknown_noise(data):
    x, y, new = data
    x, y = np.delete(x, 3, axis=0), np.delete(y, 3)
    m = Model()
    m.X = Input()
    m.precision = Gamma(2, 1)
    m.f = GaussianProcess(SMOOTH, at=m.X)
    m.y = Normal(m.f, precision=m.precision)
    post = m.infer(X=x, y=y)

    def integrand(log_precision, power):
        precision = np.exp(log_precision)
        gram = SMOOTH(x) + np.eye(len(x)) / precision
        density = stats.multivariate_normal(np.zeros(len(x)), gram).pdf(y)
        weight = density * stats.gamma(2).pdf(precision) * precision
        return weight * conditional(SMOOTH, x, y, new[:1], 1.0 / precision)[0][0] ** power

    total, first = (
        integrate.quad(integrand, -8.0, 6.0, args=(power,), epsabs=0.0, epsrel=1e-9, limit=200)[0]
        for power in (0, 1)
    )
    assert np.isclose(float(post.log_evidence), np.log(total), atol=1e-4)
    assert np.isclose(post.predict("y", X=new).mean[0], first / total, rtol=1e-4)


def test_draws_have_the_covariance_of_the_kernel():
    x = np.array([[0.0], [0.5], [2.0]])
    m = Model()
    m.X = Input()
    m.f = GaussianProcess(SMOOTH + White(0.1), at=m.X)
    draws = m.simulate(40_000, X=x, rng=0)["f"]
    truth = (SMOOTH + White(0.1))(x)
    spread = np.sqrt((truth**2 + np.outer(truth.diagonal(), truth.diagonal())) / len(draws))
    assert np.all(np.abs(draws.T @ draws / len(draws) - truth) < 5.0 * spread)


def test_close_points_get_jitter():
    x = np.linspace(0.0, 1.0, 60)[:, None]
    m = Model()
    m.X = Input()
    m.f = GaussianProcess(SMOOTH, at=m.X)
    m.y = Normal(m.f, variance=0.01)
    y = np.cos(x[:, 0])
    gram = SMOOTH(x) + 0.01 * np.eye(60)
    exact = stats.multivariate_normal(np.zeros(60), gram).logpdf(y)
    assert np.isclose(float(m.infer(X=x, y=y).log_evidence), exact, atol=1e-3)


def test_refused(data):
    x, y, new = data
    with pytest.raises(TypeError, match=r"kernel must be a kernel, such as RBF"):
        GaussianProcess(np.eye(3), at=x)
    m = Model()
    m.place = Normal(0, variance=1).iid(3)
    m.f = GaussianProcess(SMOOTH, at=m.place)
    with pytest.raises(TypeError, match="must be known: an Input, or an array"):
        m.infer(f=np.zeros(3))
    post = two_processes().infer(X=x, y=y)
    with pytest.raises(
        ValueError, match=r"X must have a row for each new point.*got shape \(4, 1\)"
    ):
        post.predict("y", X=new[:, :1])
