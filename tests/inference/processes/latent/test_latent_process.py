"""Functions behind classes: against quadrature over three rows, finite differences, repeated rows."""

import numpy as np
import pytest

from posteriori.inference.predictors.class_curves import logistic_curve, probit_curve
from posteriori.inference.predictors.expectation_propagation import logistic_tilt, probit_tilt
from posteriori.inference.predictors.softmax_averages import contrasts
from posteriori.inference.processes.latent.latent_likelihoods import SingleLatent, SoftmaxLatent
from posteriori.inference.processes.latent.latent_process import fit_latent
from posteriori.inference.processes.latent.latent_search import LatentObjective
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.kernels import RBF, Linear, Matern
from posteriori.numerics.lazy import special

SIGN = np.array([1.0, -1.0, 1.0])
POINTS = np.array([[0.0], [0.7], [2.0]])
KERNEL = 1.5 * RBF(1.0)
LINKS = {
    "logistic": (logistic_curve, logistic_tilt, special.expit),
    "probit": (probit_curve, probit_tilt, special.ndtr),
}
APPROXIMATIONS = ["laplace", "ep", "variational"]


def single(link, sign, frequency=None):
    curve, tilt, _ = LINKS[link]
    return SingleLatent(curve(sign), tilt(sign), frequency)


def grid(gram, nodes=40):
    """Return values (S, 3) of a function at three rows, and their prior weights."""
    z, w = np.polynomial.hermite_e.hermegauss(nodes)
    points = np.stack(np.meshgrid(z, z, z, indexing="ij"), axis=-1).reshape(-1, 3)
    weights = np.prod(np.stack(np.meshgrid(w, w, w, indexing="ij"), axis=-1), axis=-1).ravel()
    return points @ np.linalg.cholesky(gram).T, weights / weights.sum()


def exact(link, gram):
    """Return log evidence, means and variances of the function at three rows, by quadrature."""
    f, weights = grid(gram)
    mass = weights * np.prod(LINKS[link][2](SIGN * f), axis=1)
    total = mass.sum()
    mean = mass @ f / total
    return np.log(total), mean, mass @ (f - mean) ** 2 / total


def slopes_of(function, at, step=1e-4):
    shifts = step * np.eye(len(at))
    return np.array([(function(at + s) - function(at - s)) / (2.0 * step) for s in shifts])


@pytest.mark.parametrize("link", LINKS)
class TestQuadrature:
    def test_expectation_propagation_is_nearly_exact(self, link):
        gram = KERNEL(POINTS)
        value, mean, variance = exact(link, gram)
        fit = fit_latent(gram, single(link, SIGN), "ep")
        assert fit.converged
        assert np.isclose(fit.log_evidence, value, atol=2e-3)
        found, spread = fit.moments(gram, np.diagonal(gram))
        assert np.allclose(found[:, 0], mean, atol=5e-3)
        assert np.allclose(spread[:, 0, 0], variance, rtol=1e-2)

    def test_the_bound_lies_below_and_near(self, link):
        gram = KERNEL(POINTS)
        value, mean, _ = exact(link, gram)
        fit = fit_latent(gram, single(link, SIGN), "variational")
        assert value - 0.02 < fit.log_evidence < value
        assert np.allclose(fit.function[:, 0], mean, atol=0.05)

    def test_laplace_sits_at_the_mode(self, link):
        gram = KERNEL(POINTS)
        value, _, _ = exact(link, gram)
        fit = fit_latent(gram, single(link, SIGN), "laplace")
        f = fit.function[:, 0]
        curve = LINKS[link][0](SIGN)(f, 0.0, slice(None))
        assert np.allclose(np.linalg.solve(gram, f), curve.slope, atol=1e-6)
        precision = np.linalg.inv(gram) + np.diag(curve.curvature)
        _, spread = fit.moments(gram, np.diagonal(gram))
        assert np.allclose(spread[:, 0, 0], np.diagonal(np.linalg.inv(precision)))
        expected = curve.value.sum() - 0.5 * f @ np.linalg.solve(gram, f)
        expected -= 0.5 * np.linalg.slogdet(gram @ precision)[1]
        assert np.isclose(fit.log_evidence, expected)
        assert np.isclose(fit.log_evidence, value, atol=0.1)


def test_softmax_against_quadrature():
    """Three rows with three classes, two contrasts each."""
    gram, codes = 0.8 * np.eye(3), np.array([0, 1, 2])  # rows one by one: two dimensions each
    z, w = np.polynomial.hermite_e.hermegauss(60)
    v = np.sqrt(0.8) * np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.outer(w, w).ravel() / w.sum() ** 2
    p = special.softmax(v @ contrasts(3).T, axis=1)
    value = np.log(weights @ p).sum()
    for approximation, error in {"ep": 1e-3, "variational": 0.02, "laplace": 0.1}.items():
        fit = fit_latent(gram, SoftmaxLatent(codes, 3), approximation)
        assert np.isclose(fit.log_evidence, value, atol=error)
        if approximation == "variational":
            assert fit.log_evidence < value


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("link", [*LINKS, "softmax"])
def test_slopes_in_the_kernel(link, approximation):
    rng = np.random.default_rng(0)
    X, times = rng.normal(size=(8, 2)), rng.integers(1, 3, 8).astype(float)
    codes = np.array([0, 1, 2, 0, 1, 2, 1, 0])
    sign = np.where(codes == 0, 1.0, -1.0)
    likelihood = SoftmaxLatent(codes, 3, times) if link == "softmax" else single(link, sign, times)
    kernel, mean = 2.0 * Matern(2.5, [1.0, 2.0]) + 0.3 * Linear(), MeanEffects(0.0, 2.0)

    def evidence(v):
        objective = LatentObjective(X, likelihood, mean, approximation, tol=1e-10, max_iter=500)
        return objective(kernel.with_log_parameters(v))

    _, gradient = evidence(kernel.log_parameters)
    expected = slopes_of(lambda v: evidence(v)[0], kernel.log_parameters)
    assert np.allclose(gradient, expected, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_frequencies_are_repeated_rows(approximation):
    times = np.array([2, 1, 3])
    again = np.repeat(np.arange(3), times)
    gram = KERNEL(POINTS)
    counted = fit_latent(gram, single("logistic", SIGN, times.astype(float)), approximation)
    # a repeated row has the same function: its matrix is singular, up to jitter
    repeated = fit_latent(
        gram[np.ix_(again, again)] + 1e-9 * np.eye(6),
        single("logistic", SIGN[again]),
        approximation,
    )
    assert np.isclose(counted.log_evidence, repeated.log_evidence, atol=1e-5)


def test_a_start_that_is_near_changes_nothing():
    gram, likelihood = KERNEL(POINTS), single("logistic", SIGN)
    cold = fit_latent(gram, likelihood)
    warm = fit_latent(gram, likelihood, start=cold.function + 0.1)
    assert np.isclose(cold.log_evidence, warm.log_evidence, atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_sites_of_a_kernel_that_is_near_lead_to_the_same_belief(classes):
    rng = np.random.default_rng(2)
    X, times = rng.normal(size=(12, 1)), rng.integers(1, 3, 12).astype(float)
    codes = np.digitize(X[:, 0], [-0.5, 0.5][: classes - 1])
    likelihood = SoftmaxLatent(codes, 3, times)
    if classes == 2:
        likelihood = single("logistic", 2.0 * codes - 1.0, times)
    other = fit_latent(KERNEL(X), likelihood, "ep")
    gram = 1.3 * KERNEL(X)
    cold = fit_latent(gram, likelihood, "ep")
    for sites in (other.sites(times), cold.sites(times)):
        warm = fit_latent(gram, likelihood, "ep", sites=sites)
        assert np.isclose(warm.log_evidence, cold.log_evidence, atol=1e-8)
        assert np.allclose(warm.function, cold.function, atol=1e-6)
    assert warm.n_iter < cold.n_iter  # its own sites are the end


def test_sites_need_moments():
    with pytest.raises(ValueError, match="log-concave"):
        fit_latent(KERNEL(POINTS), SingleLatent(logistic_curve(SIGN)), "ep")
