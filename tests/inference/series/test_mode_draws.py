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
    precision = np.linalg.inv(cov)

    def log_likelihood(theta):
        return multivariate_normal(center, cov).logpdf(theta), precision @ (center - theta)

    peak = climb_to_peak(log_likelihood, PRIOR, PRIOR.mean)
    spread = cov + np.linalg.inv(PRIOR.precision)
    expected = multivariate_normal(PRIOR.mean, spread).logpdf(center)
    assert peak.log_integral == pytest.approx(expected, abs=1e-5)
    draws = draw_around_peaks([peak], PRIOR, 300, 100)
    values = multivariate_normal(center, cov).logpdf(draws.points)
    assert logsumexp(draws.log_weights + values) == pytest.approx(expected, abs=0.05)
    # no ratio exceeds the share of draws from the prior, a quarter
    assert np.exp(draws.log_weights).max() <= 4.0 / 400 + 1e-12
    moments = np.exp(draws.log_weights) @ draws.points
    np.testing.assert_allclose(moments / np.exp(draws.log_weights).sum(), PRIOR.mean, atol=0.2)


def test_a_second_mode_is_found_from_the_draw_that_weighs_most():
    prior = ParameterPrior(np.zeros(1), np.array([[1 / 9.0]]))

    def log_likelihood(theta):
        terms = norm([-4.0, 3.0], 0.3).logpdf(theta[0]) + np.log([0.3, 0.7])
        shares = np.exp(terms - logsumexp(terms))
        return logsumexp(terms), np.array([shares @ ((np.array([-4.0, 3.0]) - theta[0]) / 0.09)])

    first = climb_to_peak(log_likelihood, prior, np.array([-3.0]))
    assert first.at[0] == pytest.approx(-4.0, abs=0.1)
    draws = draw_around_peaks([first], prior, 300, 100)
    logs = draws.log_weights + np.array([log_likelihood(p)[0] for p in draws.points])
    weights = np.exp(logs - logsumexp(logs))
    second = next_peak(log_likelihood, prior, [first], draws.points, weights)
    assert second.at[0] == pytest.approx(3.0, abs=0.1)
    both = draw_around_peaks([first, second], prior, 300, 100)
    found = logsumexp(both.log_weights + [log_likelihood(p)[0] for p in both.points])
    grid = np.linspace(-15, 15, 30001)
    terms = [norm(c, 0.3).pdf(grid) * w for c, w in ((-4.0, 0.3), (3.0, 0.7))]
    expected = np.log((sum(terms) * norm(0, 3).pdf(grid)).sum() * 0.001)
    assert found == pytest.approx(expected, abs=0.05)
