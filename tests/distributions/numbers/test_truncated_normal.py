"""The truncated normal keeps its digits far in the tails, and mirrors itself."""

import mpmath
import numpy as np
import pytest
from mpmath import erfc, exp, fabs, log, quad, sqrt

from posteriori import Normal
from posteriori.distributions import TruncatedNormal
from tests.distributions.oracles import high_precision


def truncated_moments(low, high, mean, scale):
    """Mean and variance by integration with many digits, in units of the parent."""
    a, b = (low - mean) / scale, (high - mean) / scale
    near = a if a > 0 else b if b < 0 else mpmath.mpf(0)
    reach = 100 / (8 + fabs(near))
    ends = [max(a, near - reach), near, min(b, near + reach)]
    ends = mpmath.linspace(ends[0], ends[1], 12) + mpmath.linspace(ends[1], ends[2], 12)[1:]
    ends = sorted(set(ends))
    mass, first, second = (
        quad(lambda u, k=k: (u - near) ** k * exp(-(u * u - near * near) / 2), ends)
        for k in range(3)
    )
    return mean + scale * (near + first / mass), scale**2 * (second / mass - (first / mass) ** 2)


@pytest.mark.parametrize(
    ("low", "high"),
    [(30.0, 31.0), (30.0, np.inf), (-np.inf, -30.0), (-1.0, 2.0), (1e6, 2e6), (5.0, 5.0 + 1e-6)],
)
def test_truncated_normal_moments_keep_their_digits(low, high):
    d = TruncatedNormal(0.0, low, high, scale=1.0)
    low, high = max(low, -1e7), min(high, 1e7)
    mean = high_precision(lambda *p: truncated_moments(*p)[0], low, high, 0.0, 1.0, digits=40)
    variance = high_precision(lambda *p: truncated_moments(*p)[1], low, high, 0.0, 1.0, digits=40)
    np.testing.assert_allclose(d.mean, mean, rtol=1e-14)
    np.testing.assert_allclose(d.variance, variance, rtol=1e-10)


def test_truncated_normal_far_in_the_tail():
    d = TruncatedNormal(1.0, 31.0, np.inf, scale=1.0)  # 30 standard deviations out
    upper = high_precision(lambda z: log(erfc(z / sqrt(mpmath.mpf(2))) / 2), 30.0)
    for x in (31.0, 31.02, 31.4):
        expected = -0.5 * (x - 1.0) ** 2 - 0.5 * np.log(2 * np.pi) - upper
        np.testing.assert_allclose(d.log_prob(x), expected, rtol=1e-11, atol=1e-12)
        share = high_precision(
            lambda z, a: 1 - erfc(z / sqrt(mpmath.mpf(2))) / erfc(a / sqrt(mpmath.mpf(2))),
            x - 1.0,
            30.0,
        )
        np.testing.assert_allclose(d.cdf(x), share, rtol=1e-11)
        np.testing.assert_allclose(d.quantile(d.cdf(x)), x, rtol=1e-13)
    draws = d.sample(50_000, rng=5)
    assert abs(draws.mean() - d.mean) < 5 * d.std / np.sqrt(len(draws))
    assert draws.min() >= 31.0


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.5, 0.7), (40.0, np.inf), (-np.inf, -1e5), (-2.0, 0.1), (-1e-9, 1e-9), (3, 9)],
)
def test_truncated_normal_draws_and_quantiles(low, high):
    d = TruncatedNormal(0.0, low, high, scale=1.0)
    q = np.array([1e-9, 0.02, 0.5, 0.97, 1 - 1e-9])
    x = d.quantile(q)
    assert np.all(np.diff(x) > 0)
    spread = float(d.std)
    rounding = np.exp(d.log_prob(x)) * np.spacing(np.abs(x).max())  # of x itself
    assert np.all(np.abs(d.cdf(x) - q) <= 1e-12 * q + rounding)
    np.testing.assert_array_equal(d.quantile([0.0, 1.0]), [low, high])
    draws = d.sample(20_000, rng=1)
    assert low <= draws.min() <= draws.max() <= high
    assert abs((draws - d.mean).mean()) < 5 * spread / np.sqrt(len(draws))
    np.testing.assert_array_equal(d.log_prob([low - 1.0, high + 1.0]), -np.inf)


def test_truncated_normal_is_a_mirror_image():
    d, e = TruncatedNormal(1.0, 2.0, 7.0, scale=0.5), TruncatedNormal(-1.0, -7.0, -2.0, scale=0.5)
    x = np.array([2.0, 2.1, 4.0])
    np.testing.assert_allclose(d.log_prob(x), e.log_prob(-x), rtol=1e-15)
    np.testing.assert_allclose(d.mean, -e.mean, rtol=1e-15)
    np.testing.assert_allclose(d.cdf(x), 1 - e.cdf(-x), rtol=1e-13)
    assert d.parent == Normal(1.0, variance=0.25)
    assert d.kl(TruncatedNormal(1.0, 3.0, 7.0, scale=0.5)) == np.inf
