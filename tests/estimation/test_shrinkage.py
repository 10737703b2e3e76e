"""Bias, variance and shrinkage of estimators, by formula and by simulation."""

import numpy as np
import pytest

from posteriori.distributions import MvNormal
from posteriori.estimation import (
    bias_variance,
    james_stein,
    james_stein_means,
    shrinkage_covariance,
    unbiased_covariance,
    unbiased_variance,
)
from posteriori.numerics import ConvergenceWarning

# -- bias and variance -------------------------------------------------------------------------


@pytest.mark.topic("000/B2", "003/P.8", "002/H10")
@pytest.mark.parametrize("n", [2, 5])
def test_bias_of_the_variance_and_its_correction(n):
    sigma2 = 2.0

    def sampler(rng):
        return rng.normal(1.0, np.sqrt(sigma2), size=n)

    ml = bias_variance(np.var, sampler, sigma2, 8000, rng=1)
    assert abs(ml.mean - (n - 1) / n * sigma2) < 5 * ml.bias_error
    corrected = bias_variance(unbiased_variance, sampler, sigma2, 8000, rng=1)
    assert abs(corrected.bias) < 5 * corrected.bias_error
    assert corrected.variance > ml.variance  # the price of no bias
    assert ml.mse < corrected.mse
    exact = 2 * sigma2**2 / (n - 1)
    assert abs(corrected.variance - exact) < 5 * corrected.variance_error


@pytest.mark.topic("002/H10", "003/P.8")
def test_mean_and_covariance_are_unbiased():
    cov = np.array([[2.0, 0.6], [0.6, 1.0]])
    truth = MvNormal([1.0, -1.0], cov=cov)
    mean = bias_variance(
        lambda x: x.mean(axis=0), lambda rng: truth.sample(8, rng=rng), truth.mean, 4000, rng=2
    )
    assert np.all(np.abs(mean.bias) < 5 * mean.bias_error)
    assert np.all(np.abs(mean.variance - np.diag(cov) / 8) < 5 * mean.variance_error)  # σ²/N
    assert mean.risk == pytest.approx(mean.mse.sum(), rel=1e-12)
    assert mean.mse == pytest.approx(mean.bias**2 + mean.variance * 3999 / 4000, rel=1e-10)
    found = bias_variance(
        unbiased_covariance, lambda rng: truth.sample(4, rng=rng), cov, 4000, rng=3
    )
    assert np.all(np.abs(found.bias) < 5 * found.bias_error)


def test_simulation_reports_progress_and_survives_interruption():
    seen = []
    bias_variance(
        np.mean, lambda rng: rng.normal(size=3), 0.0, 5, rng=0, callback=lambda *a: seen.append(a)
    )
    assert seen == [(i, 5) for i in range(1, 6)]

    def stop(done, total):
        if done == 10:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="stopped after 10 of 1000"):
        short = bias_variance(
            np.mean, lambda rng: rng.normal(size=3), 0.0, 1000, rng=0, callback=stop
        )
    assert short.n_repeats == 10
    again = [bias_variance(np.mean, lambda rng: rng.normal(size=3), 0.0, 20, rng=7) for _ in "ab"]
    assert again[0].mse == again[1].mse
    with pytest.raises(ValueError, match="returned shape"):
        bias_variance(lambda x: x, lambda rng: rng.normal(size=3), 0.0, 5)
    with pytest.raises(ValueError, match="at least 2"):
        bias_variance(np.mean, lambda rng: rng.normal(size=3), 0.0, 1)
    with pytest.raises(ValueError, match="at least 2 data points"):
        unbiased_variance([1.0])


# -- shrinkage ---------------------------------------------------------------------------------


@pytest.mark.topic("002/H11")
@pytest.mark.parametrize(("length", "risk"), [(0.0, 2.00), (1.0, 2.74), (5.0, 7.96)])
def test_risk_of_james_stein(length, risk):
    mu = np.zeros(10)
    mu[0] = length

    def sampler(rng):
        return mu + rng.normal(size=10)

    plain = bias_variance(
        lambda x: james_stein(x, positive_part=False).estimate, sampler, mu, 6000, rng=4
    )
    assert abs(plain.risk - risk) < 5 * plain.risk_error + 0.005
    assert plain.risk < 10.0  # the risk of the mean, whatever μ
    positive = bias_variance(lambda x: james_stein(x).estimate, sampler, mu, 6000, rng=4)
    assert positive.risk < plain.risk  # the same draws
    if length == 0:  # 10 − (n−2)² E[1/χ²₁₀] = 10 − 64/8
        assert abs(plain.risk - 2.0) < 5 * plain.risk_error


@pytest.mark.topic("002/H11")
def test_james_stein_formula_and_its_variants():
    x = np.array([3.0, -1.0, 2.0, 1.0, 0.5])
    found = james_stein(x, variance=0.4)
    np.testing.assert_allclose(found.estimate, (1 - 3 * 0.4 / (x @ x)) * x, rtol=1e-14)
    assert found.shrinkage == pytest.approx(3 * 0.4 / (x @ x), rel=1e-14)
    tiny = np.full(5, 0.1)
    assert james_stein(tiny).estimate.tolist() == [0.0] * 5
    np.testing.assert_allclose(
        james_stein(tiny, positive_part=False).estimate, (1 - 3 / 0.05) * tiny, rtol=1e-12
    )
    moved = james_stein(x + 7.0, variance=0.4, centre=7.0)
    np.testing.assert_allclose(moved.estimate, found.estimate + 7.0, rtol=1e-14)
    middle = james_stein(x, variance=0.4, centre="mean")
    shift = x - x.mean()
    np.testing.assert_allclose(
        middle.estimate, x.mean() + (1 - 2 * 0.4 / (shift @ shift)) * shift, rtol=1e-13
    )
    batch = james_stein(np.stack([x, tiny]), variance=[0.4, 1.0])
    np.testing.assert_allclose(batch.estimate[0], found.estimate)
    np.testing.assert_array_equal(james_stein(np.zeros(3)).estimate, np.zeros(3))
    with pytest.raises(ValueError, match="fewer than 3 means, got 2"):
        james_stein([1.0, 2.0])
    with pytest.raises(ValueError, match="fewer than 4 means"):
        james_stein([1.0, 2.0, 3.0], centre="mean")


@pytest.mark.topic("002/H11")
@pytest.mark.parametrize("variance", [None, 4.0])
def test_james_stein_on_several_means(variance):
    mu = np.linspace(-0.5, 0.5, 8)
    n = 10

    def sampler(rng):
        return mu + 2.0 * rng.normal(size=(n, 8))

    shrunk = bias_variance(
        lambda x: james_stein_means(x, variance).estimate, sampler, mu, 2000, rng=5
    )
    plain = bias_variance(lambda x: x.mean(axis=0), sampler, mu, 2000, rng=5)
    assert abs(plain.risk - 8 * 4.0 / n) < 5 * plain.risk_error
    assert shrunk.risk < 0.75 * plain.risk
    x = sampler(np.random.default_rng(0))
    known = james_stein_means(x, 4.0)
    np.testing.assert_allclose(known.estimate, james_stein(x.mean(axis=0), 4.0 / n).estimate)
    mean, dof = x.mean(axis=0), 8 * (n - 1)
    estimated = dof / (dof + 2) * x.var(axis=0, ddof=1).mean() / n
    expected = (1.0 - 6 * estimated / (mean @ mean)) * mean
    np.testing.assert_allclose(james_stein_means(x, positive_part=False).estimate, expected)


def test_shrunken_covariances():
    rng = np.random.default_rng(6)
    truth = np.diag(np.linspace(0.5, 2.0, 20))
    x = rng.normal(size=(15, 20)) @ np.sqrt(truth)
    sample = np.cov(x.T, bias=True)
    for method in ("ledoit-wolf", "oas"):
        found = shrinkage_covariance(x, method)
        a = found.shrinkage
        target = np.trace(sample) / 20 * np.eye(20)
        np.testing.assert_allclose(found.cov, (1 - a) * sample + a * target, rtol=1e-10, atol=1e-12)
        assert np.linalg.norm(found.cov - truth) < np.linalg.norm(sample - truth)
        assert np.isfinite(found.distribution.log_prob(x[0]))
    # the weight that Ledoit and Wolf derive: b²/d², both estimated
    z = x - x.mean(axis=0)
    d2 = ((sample - target) ** 2).sum()
    b2 = sum(((np.outer(row, row) - sample) ** 2).sum() for row in z) / 15**2
    assert shrinkage_covariance(x).shrinkage == pytest.approx(min(b2, d2) / d2, rel=1e-9)
    with pytest.raises(ValueError, match='"ledoit-wolf" or "oas"'):
        shrinkage_covariance(x, "mcd")
    with pytest.raises(ValueError, match="at least two rows"):
        shrinkage_covariance(x[0])
