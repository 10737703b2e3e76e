"""Importance draws against integrals that are known or summed on a grid."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from posteriori.inference.series.mode_draws import (
    ParameterPrior,
    climb_to_peak,
    draw_around_peaks,
    next_peak,
)

PRIOR = ParameterPrior(np.array([0.5, -1.0]), np.array([[0.5, 0.1], [0.1, 0.3]]))


def test_a_normal_likelihood_has_its_exact_evidence():
    center, cov = np.array([2.0, 1.0]), np.array([[0.3, 0.1], [0.1, 0.2]])
    likelihood = multivariate_normal(center, cov)
    peak = climb_to_peak(likelihood.logpdf, PRIOR, PRIOR.mean)
    spread = cov + np.linalg.inv(PRIOR.precision)
    expected = multivariate_normal(PRIOR.mean, spread).logpdf(center)
    assert peak.log_integral == pytest.approx(expected, abs=1e-5)
    draws = draw_around_peaks([peak], PRIOR, 300, 100)
    values = likelihood.logpdf(draws.points)
    assert logsumexp(draws.log_weights + values) == pytest.approx(expected, abs=0.05)
    # no ratio exceeds the share of draws from the prior, a quarter
    assert np.exp(draws.log_weights).max() <= 4.0 / 400 + 1e-12
    moments = np.exp(draws.log_weights) @ draws.points
    np.testing.assert_allclose(moments / np.exp(draws.log_weights).sum(), PRIOR.mean, atol=0.2)


def test_a_second_mode_is_found_from_the_draw_that_weighs_most():
    prior = ParameterPrior(np.zeros(1), np.array([[1 / 9.0]]))

    def log_likelihoods(thetas):
        return logsumexp(norm([-4.0, 3.0], 0.3).logpdf(thetas) + np.log([0.3, 0.7]), axis=1)

    first = climb_to_peak(log_likelihoods, prior, np.array([-3.0]))
    assert first.at[0] == pytest.approx(-4.0, abs=0.1)
    draws = draw_around_peaks([first], prior, 300, 100)
    logs = draws.log_weights + log_likelihoods(draws.points)
    weights = np.exp(logs - logsumexp(logs))
    second = next_peak(log_likelihoods, prior, [first], draws.points, weights)
    assert second.at[0] == pytest.approx(3.0, abs=0.1)
    both = draw_around_peaks([first, second], prior, 300, 100)
    found = logsumexp(both.log_weights + log_likelihoods(both.points))
    grid = np.linspace(-15, 15, 30001)
    terms = [norm(c, 0.3).pdf(grid) * w for c, w in ((-4.0, 0.3), (3.0, 0.7))]
    expected = np.log((sum(terms) * norm(0, 3).pdf(grid)).sum() * 0.001)
    assert found == pytest.approx(expected, abs=0.05)


def test_the_mode_is_found_where_the_likelihood_is_no_parabola():
    """Many numbers, heavy tails, a start from which a whole step would jump over the mode."""
    center = np.linspace(-2.0, 3.0, 7)
    prior = ParameterPrior(np.zeros(7), 1e-3 * np.eye(7))

    def log_likelihoods(thetas):
        return -8.0 * np.log1p((thetas - center) ** 2).sum(axis=1)

    peak = climb_to_peak(log_likelihoods, prior, center + 1.5)
    np.testing.assert_allclose(peak.at, center, atol=1e-2)
    np.testing.assert_allclose(peak.precision, 16.0 * np.eye(7), atol=0.3)
    assert peak.log_height == pytest.approx(float(prior.log_density(center)), abs=1e-3)
