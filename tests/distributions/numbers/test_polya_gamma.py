"""The Pólya-gamma family: both tails, moments and draws."""

import mpmath
import numpy as np
import pytest
from scipy import integrate, special

from posteriori.distributions import PolyaGamma
from tests.distributions.oracles import high_precision


def alternating_series(x, b, c):
    """Polson, Scott & Windle, eq. 6, with as many digits as cancel."""
    total = mpmath.mpf(0)
    for n in range(150):
        weight = mpmath.gamma(n + b) / mpmath.gamma(n + 1) * (2 * n + b)
        total += (-1) ** n * weight * mpmath.exp(-((2 * n + b) ** 2) / (8 * x))
    total *= 2 ** (b - 1) / mpmath.gamma(b) / mpmath.sqrt(2 * mpmath.pi * x**3)
    return mpmath.log(mpmath.cosh(c / 2) ** b * mpmath.exp(-c * c * x / 2) * total)


@pytest.mark.parametrize("b", [0.05, 0.3, 1.0, 2.5, 7.0, 40.0])
@pytest.mark.parametrize("share", [0.001, 0.02, 0.1, 0.25, 0.6, 1.5])
def test_polya_gamma_density_in_both_tails(b, share):
    x = share * b
    if share > 1 and b > 10:
        x = 0.5 * b
    exact = high_precision(alternating_series, x, b, 1.3, digits=120)
    assert PolyaGamma(b, 1.3).log_prob(x) == pytest.approx(exact, rel=1e-13, abs=1e-13)


def test_polya_gamma_far_out():
    d = PolyaGamma(1.7, 0.8)
    x = np.array([1e-40, 1e-9, 1e6, 1.6e10, 1.8e10, 1e40])
    values = d.log_prob(x)
    assert np.all(np.isfinite(values))
    assert values[0] == pytest.approx(-(1.7**2) / 8e-40, rel=1e-12)
    assert (values[4] - values[3]) / 2e9 == pytest.approx(-0.5 * np.pi**2 - 0.32, rel=1e-6)


@pytest.mark.parametrize("c", [0.0, 1e-9, 1e-3, 0.0499, 0.0501, 1.0, -3.0, 40.0, 1e5])
def test_polya_gamma_moments(c):
    d = PolyaGamma(2.5, c)

    def mean(t):
        return 2.5 / (2 * t) * mpmath.tanh(t / 2) if t else mpmath.mpf(2.5) / 4

    def variance(t):
        if not t:
            return mpmath.mpf(2.5) / 24
        return 2.5 * (2 * mpmath.tanh(t / 2) - t * mpmath.sech(t / 2) ** 2) / (4 * t**3)

    assert d.mean == pytest.approx(high_precision(mean, c), rel=1e-14)
    assert d.variance == pytest.approx(high_precision(variance, c), rel=1e-10)


@pytest.mark.parametrize(("b", "c"), [(1.0, 0.0), (1.0, 4.0), (3.0, 1.0), (0.4, 2.0), (5.5, 0.0)])
def test_polya_gamma_draws_and_laplace_transform(b, c):
    d = PolyaGamma(b, c)
    draws = d.sample(40_000, rng=5)
    assert abs(draws.mean() - d.mean) < 5 * d.std / 200
    for t in (0.5, 4.0, 30.0):
        expected = d.laplace_transform(t)
        values = np.exp(-t * draws)
        assert abs(values.mean() - expected) < 5 * values.std() / 200
        slow, _ = integrate.quad(
            lambda x, t=t: np.exp(d.log_prob(x) - t * x), 1e-12, np.inf, limit=200
        )
        assert slow == pytest.approx(expected, abs=1e-7)
    with pytest.raises(ValueError, match="negative"):
        d.laplace_transform(-1.0)


def test_polya_gamma_turns_a_logistic_likelihood_into_normals():
    for psi in (-2.0, 0.3, 5.0):
        half = 0.5 * np.exp(0.5 * psi) * PolyaGamma(1.0).laplace_transform(0.5 * psi**2)
        assert half == pytest.approx(special.expit(psi), rel=1e-13)


@pytest.mark.parametrize("shape", [5e-324, 1e-310, 1e-200])
def test_draws_of_vanishing_shapes_are_numbers(shape):
    drawn = PolyaGamma(shape).sample(20, rng=0)
    assert (drawn >= 0.0).all()
    assert (drawn < np.inf).all()
