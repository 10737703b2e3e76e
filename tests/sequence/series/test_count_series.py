"""Counts against products of negative binomials and quadrature over the discount."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp
from scipy.stats import nbinom

from posteriori.distributions import Gamma
from posteriori.sequence import CountSeries

Y = np.array([3.0, 5, 4, np.nan, 6, 5, 12, 14, 11, 13, 9])


def log_evidence(y, delta, a, b):
    total = 0.0
    for t, count in enumerate(y):
        if t:
            a, b = delta * a, delta * b
        if not np.isnan(count):
            total += nbinom.logpmf(count, a, b / (b + 1))
            a, b = a + count, b + 1
    return total


@pytest.mark.parametrize("delta", [0.3, 0.8, 1.0])
def test_evidence_given_a_discount_is_exact(delta):
    model = CountSeries(delta, prior=Gamma(2.0, rate=0.4)).fit(Y)
    assert float(model.log_evidence_) == pytest.approx(log_evidence(Y, delta, 2.0, 0.4), abs=1e-9)
    assert model.log_evidence_.kind == "exact"


def test_without_forgetting_counts_share_one_rate():
    y = Y[~np.isnan(Y)]
    model = CountSeries(1.0, prior=Gamma(2.0, rate=0.4)).fit(y)
    a, b = 2.0 + y.sum(), 0.4 + len(y)
    expected = gammaln(a) - gammaln(2.0) + 2.0 * np.log(0.4) - a * np.log(b) - gammaln(y + 1).sum()
    assert float(model.log_evidence_) == pytest.approx(expected, abs=1e-9)
    assert model.level_.mean == pytest.approx(a / b)


def test_integrated_evidence_is_the_integral():
    model = CountSeries(prior=Gamma(2.0, rate=0.4)).fit(Y)
    shift = 30.0
    total = quad(lambda d: np.exp(log_evidence(Y, d, 2.0, 0.4) + shift), 0, 1, epsabs=1e-12)[0]
    assert float(model.log_evidence_) == pytest.approx(np.log(total) - shift, abs=1e-8)
    assert model.log_evidence_.kind == "quadrature"
    mean = quad(lambda d: d * np.exp(log_evidence(Y, d, 2.0, 0.4) + shift), 0, 1)[0] / total
    assert model.discount_ == pytest.approx(mean, abs=1e-8)


def test_updated_is_refitted():
    prior = Gamma(2.0, rate=0.4)
    whole = CountSeries(prior=prior).fit(Y)
    parts = CountSeries(prior=prior).fit(Y[:6]).update(Y[6:9]).update(Y[9:])
    np.testing.assert_allclose(parts.log_predictive_, whole.log_predictive_, atol=1e-9)
    np.testing.assert_allclose(parts.forecast(1).mean, whole.forecast(1).mean, rtol=1e-9)


def test_one_step_ahead_is_a_mixture_over_discounts():
    prior = Gamma(2.0, rate=0.4)
    ahead = CountSeries(prior=prior).fit(Y).forecast(3)
    grid = (np.arange(400) + 0.5) / 400
    before = log_evidence(Y, grid, 2.0, 0.4)
    for count in (3.0, 10.0, 20.0):
        after = log_evidence([*Y, count], grid, 2.0, 0.4)
        expected = logsumexp(after) - logsumexp(before)
        assert ahead.log_prob(count)[0] == pytest.approx(expected, abs=1e-4)
    # the level is a martingale: further steps have the same mean, but for the paths behind them
    assert ahead.mean[1:] == pytest.approx(ahead.mean[0], rel=0.05)
    assert (np.diff(ahead.variance) > 0).all()


def test_a_constant_series_is_taken_and_said():
    with pytest.warns(UserWarning, match=r"y is constant \(3\); .* StructuralSeries repeat it"):
        model = CountSeries().fit(np.full(12, 3))
    np.testing.assert_array_equal(model.forecast(2).median, [3, 3])


@pytest.mark.parametrize("size", [1e12, 1e15])
def test_huge_counts_are_forecast(size):
    rng = np.random.default_rng(0)
    y = np.rint(size + np.sqrt(size) * rng.normal(size=40))
    dist = CountSeries().fit(y).forecast(2)
    q = dist.quantile(0.9)
    assert (np.abs(q - size) < 10.0 * np.sqrt(size)).all()
    assert (dist.cdf(q) >= 0.9).all()
    assert (dist.cdf(q - 1.0) < 0.9 + 1e-9).all()
