"""Laplace's evidence from values of a function: against the weights' way, finite differences, singular kernels."""

import numpy as np
import pytest

from posteriori.inference.predictors.class_curves import logistic_curve, probit_curve
from posteriori.inference.predictors.expectation_propagation import logistic_tilt, probit_tilt
from posteriori.inference.processes.latent.function_mode import (
    covariance_of,
    find_function,
    score_function,
)
from posteriori.inference.processes.latent.latent_likelihoods import SingleLatent
from posteriori.inference.processes.latent.latent_process import fit_latent
from posteriori.inference.processes.mean_effects import NO_MEAN, MeanEffects
from posteriori.kernels import Linear, Matern

RNG = np.random.default_rng(0)
X = RNG.normal(size=(25, 2))
SIGN = np.where(X[:, 0] + 0.5 * RNG.normal(size=25) > 0, 1.0, -1.0)
TIMES = RNG.integers(1, 4, 25).astype(float)
KERNEL = 2.0 * Matern(0.5, [1.0, 3.0]) + Linear()
LIKELIHOODS = {
    "logistic": SingleLatent(logistic_curve(SIGN), logistic_tilt(SIGN)),
    "probit": SingleLatent(probit_curve(SIGN), probit_tilt(SIGN)),
    "weighted": SingleLatent(logistic_curve(SIGN), logistic_tilt(SIGN), TIMES),
}
MEANS = {"zero": NO_MEAN, "lines": MeanEffects(0.0, 2.0, np.zeros(2), np.ones(2))}


def evidence(kernel, likelihood, mean=NO_MEAN, start=None):
    gram = covariance_of(kernel, X, mean)
    mode = find_function(gram, likelihood, start)
    return mode, gram


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("mean", MEANS)
class TestAgreement:
    def test_it_is_that_of_the_weights(self, name, mean):
        mode, gram = evidence(KERNEL, LIKELIHOODS[name], MEANS[mean])
        whole = np.tril(gram) + np.tril(gram, -1).T
        fit = fit_latent(whole, LIKELIHOODS[name])
        # the curvature of the weights is that 1e-6 standard deviations before the mode
        assert np.isclose(mode.log_evidence, fit.log_evidence, atol=25 * 1e-6)
        assert np.allclose(mode.function, fit.function[:, 0], atol=1e-7)
        slope, curvature = LIKELIHOODS[name].bends(mode.function[:, None])
        assert np.allclose(mode.a, slope[:, 0], atol=1e-8)
        log_det = np.linalg.slogdet(np.eye(25) + whole * curvature[:, 0, 0])[1]
        height = LIKELIHOODS[name].log_mass(mode.function) - 0.5 * mode.a @ mode.function
        assert np.isclose(mode.log_evidence, height - 0.5 * log_det, rtol=1e-10)
        assert np.allclose(whole @ mode.a, mode.function, atol=1e-9)

    def test_slopes(self, name, mean):
        likelihood, at, step = LIKELIHOODS[name], KERNEL.log_parameters, 1e-4
        mode, gram = evidence(KERNEL, likelihood, MEANS[mean])
        found = score_function(mode, gram, KERNEL, X, likelihood)

        def value(logs):
            return evidence(KERNEL.with_log_parameters(logs), likelihood, MEANS[mean])[
                0
            ].log_evidence

        shifts = step * np.eye(len(at))
        expected = [(value(at + s) - value(at - s)) / (2.0 * step) for s in shifts]
        assert np.allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_a_start_far_away_leads_to_the_same_mode():
    likelihood = LIKELIHOODS["logistic"]
    first = evidence(KERNEL, likelihood)[0]
    for start in (100.0 * RNG.normal(size=25), first.a, 0.9 * first.a):
        again = evidence(KERNEL, likelihood, start=start)[0]
        assert np.isclose(again.log_evidence, first.log_evidence, rtol=1e-12)


def test_singular_covariances_need_no_jitter():
    """A function that is a line: one direction of 25."""
    likelihood, kernel = LIKELIHOODS["logistic"], Linear()
    mode, gram = evidence(kernel, likelihood)
    whole = np.tril(gram) + np.tril(gram, -1).T
    w = X.T @ mode.a  # f = XXᵀa
    slope = likelihood.bends((X @ w)[:, None]).slope[:, 0]
    assert np.allclose(X.T @ slope, w, atol=1e-8)
    curvature = likelihood.bends((X @ w)[:, None]).curvature[:, 0, 0]
    log_det = np.linalg.slogdet(np.eye(2) + X.T @ (curvature[:, None] * X))[1]
    expected = likelihood.log_mass(X @ w) - 0.5 * w @ w - 0.5 * log_det
    assert np.isclose(mode.log_evidence, expected, rtol=1e-10)
    assert np.allclose(whole @ mode.a, X @ w)


def test_covariances_that_are_none_are_refused():
    with pytest.raises(ValueError, match="Mercer"):
        find_function(-9.0 * np.eye(25), LIKELIHOODS["logistic"])
