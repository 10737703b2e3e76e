"""Negative binomial and beta-binomial counts keep their digits at every size."""

import numpy as np
import pytest
from mpmath import binomial, log, loggamma
from scipy import stats

from posteriori.distributions import BetaBinomial, NegativeBinomial
from tests.distributions.oracles import high_precision


def negative_binomial_log_prob(x, r, mean):
    return (
        loggamma(x + r) - loggamma(r) - loggamma(x + 1)
        + r * log(r / (r + mean)) + x * log(mean / (r + mean))
    )  # fmt: skip


@pytest.mark.parametrize("count", [1e-6, 0.3, 5.0, 150.0, 1e4, 1e8, 1e15])
@pytest.mark.parametrize("mean", [1e-3, 2.0, 300.0, 1e7])
def test_negative_binomial_keeps_its_digits(count, mean):
    d = NegativeBinomial(count, mean=mean)
    sd = np.sqrt(mean + mean**2 / count)
    points = np.unique(np.floor(mean + sd * np.array([-1.0, 0.0, 0.5, 3.0])).clip(0.0))
    for x in points:
        expected = high_precision(negative_binomial_log_prob, x, count, mean)
        np.testing.assert_allclose(d.log_prob(x), expected, rtol=2e-12, atol=1e-13)
    np.testing.assert_allclose(d.log_prob(points), [d.log_prob(x) for x in points], rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e8])
@pytest.mark.parametrize("trials", [5, 1000, 10**7])
def test_beta_binomial_keeps_its_digits(scale, trials):
    a, b = 2.0 * scale, 3.0 * scale

    def log_mass(x, n, a, b):
        choose = log(binomial(n, x)) if n < 2000 else -log(n + 1) - log_beta(n - x + 1, x + 1)
        return choose + log_beta(x + a, n - x + b) - log_beta(a, b)

    def log_beta(a, b):
        return loggamma(a) + loggamma(b) - loggamma(a + b)

    d = BetaBinomial(trials, a, b)
    for x in np.floor(trials * np.array([0.2, 0.4, 0.41, 0.9])):
        expected = high_precision(log_mass, x, float(trials), a, b)
        np.testing.assert_allclose(d.log_prob(x), expected, rtol=2e-12)


def test_table_of_masses_equals_single_points():
    for d in (NegativeBinomial(2.5, 0.2), BetaBinomial(400, 0.7, 90.0)):
        x = d.sample(500, rng=2)
        np.testing.assert_allclose(d.log_prob(x), [d.log_prob(v) for v in x], rtol=1e-13)


def test_negative_binomial_quantile_reaches_far_tails():
    d = NegativeBinomial(0.01, mean=5.0)
    q = np.array([0.5, 0.99, 1 - 1e-9])
    np.testing.assert_array_equal(d.quantile(q), stats.nbinom(0.01, d.probability).ppf(q))
    assert d.quantile(1.0) == np.inf
    skewed = BetaBinomial(10**5, 0.01, 100.0)
    x = skewed.quantile(1 - 1e-5)
    assert skewed.cdf(x) >= 1 - 1e-5 > skewed.cdf(x - 1)
