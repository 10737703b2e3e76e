"""Angles: digits, divergences and the distribution function of the von Mises family."""

import mpmath
import numpy as np
import pytest
from mpmath import cos, exp, log, pi, quad, sqrt

from posteriori.distributions import VonMises
from tests.distributions.oracles import high_precision


@pytest.mark.parametrize("concentration", [0.0, 1e-9, 0.5, 39.0, 41.0, 1e4, 1e12])
def test_von_mises_keeps_its_digits(concentration):
    d = VonMises(0.4, concentration)
    width = 1.0 / np.sqrt(1.0 + concentration)

    def log_density(x, m, k):
        return k * (cos(x - m) - 1) - log(2 * pi * mpmath.besseli(0, k) * exp(-k))

    for x in 0.4 + width * np.array([-1.5, 0.0, 0.01, 2.0]):
        if concentration < 1e12:
            expected = high_precision(log_density, x, 0.4, concentration)
        else:  # the series of I₀ ends: e⁻ᵏ I₀ = (1 + 1/8k)/√(2πk)
            expected = high_precision(
                lambda x, m, k: k * (cos(x - m) - 1) - log(sqrt(2 * pi / k) * (1 + 1 / (8 * k))),
                x,
                0.4,
                concentration,
            )
        np.testing.assert_allclose(d.log_prob(x), expected, rtol=1e-13, atol=1e-15)
    if concentration:
        expected = high_precision(
            lambda k: (
                1 - mpmath.besseli(1, k) / mpmath.besseli(0, k)
                if k < 1e6
                else 1 / (2 * k) + 1 / (8 * k**2)
            ),
            concentration,
        )
        np.testing.assert_allclose(d.circular_variance, expected, rtol=1e-12)
        back = VonMises.from_mean_params(*d.mean_params)
        rtol = 1e-9 + 4e-16 * concentration  # the length of the mean holds 1 − R to rounding
        np.testing.assert_allclose(back.concentration, concentration, rtol=rtol, atol=1e-15)


@pytest.mark.parametrize("concentration", [50.0, 1e6, 1e12])
def test_von_mises_divergence_of_near_members(concentration):
    for change in (1e-6, 0.3):
        p, q = VonMises(0.0, concentration), VonMises(0.0, concentration * (1 + change))
        ratio = q.concentration / p.concentration
        normal = 0.5 * (ratio - 1 - np.log1p(ratio - 1))  # of N(0, 1/κ), to order 1/κ
        np.testing.assert_allclose(p.kl(q), normal, rtol=2.0 / concentration + 1e-8, atol=1e-16)


@pytest.mark.parametrize("concentration", [0.0, 0.3, 8.0, 300.0, 1e8])
def test_von_mises_cdf_is_an_integral_and_its_inverse_inverts(concentration):
    d = VonMises(-3.0, concentration)
    assert d.cdf(-3.0) == pytest.approx(0.5, rel=1e-15)
    width = min(np.pi, 4.0 / np.sqrt(concentration + 1e-9))
    x = -3.0 + width * np.array([-0.99, -0.5, -0.01, 0.3, 0.9])

    def mass(x, k):
        pieces = mpmath.linspace(-pi, min(x, pi), 60)
        return quad(lambda u: exp(-2 * k * mpmath.sin(u / 2) ** 2), pieces)

    if concentration < 1e3:
        below = [high_precision(mass, v, concentration, digits=20) for v in [*(x + 3.0), np.inf]]
        np.testing.assert_allclose(d.cdf(x), np.divide(below[:-1], below[-1]), rtol=1e-11)
    np.testing.assert_allclose(d.quantile(d.cdf(x)), x, rtol=0, atol=1e-12 * width + 1e-15)
    np.testing.assert_array_equal(d.cdf([-7.0, 1.0]), [0.0, 1.0])
    np.testing.assert_allclose(d.quantile([0.0, 1.0]), [-3.0 - np.pi, -3.0 + np.pi], rtol=1e-15)


def test_von_mises_accepts_any_angle():
    d = VonMises(0.5 + 2 * np.pi, 3.0)
    assert d.mean == pytest.approx(0.5, abs=1e-14)
    x = np.array([-1.0, 2.0])
    np.testing.assert_allclose(d.log_prob(x + 6 * np.pi), d.log_prob(x), rtol=1e-12)
    fitted = [VonMises.fit(np.array([2.9, -2.9, 3.1]) + turn) for turn in (0.0, 2 * np.pi)]
    np.testing.assert_allclose(fitted[0]._key(), fitted[1]._key(), rtol=1e-9)
    assert abs(fitted[0].mean) > 3.0  # across the cut, not at 0
    low, high = VonMises(3.1, 50.0).interval(0.9)
    assert high - low < 0.5
