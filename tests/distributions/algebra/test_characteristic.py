"""Characteristic functions against integrals, and the central limit."""

import numpy as np
import pytest
from scipy import stats

from posteriori.distributions import (
    Beta,
    Binomial,
    Exponential,
    Gamma,
    Laplace,
    Mixture,
    MvNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
    Uniform,
    central_limit,
    characteristic_function,
    expect,
)
from tests.distributions.oracles import density

STANDARD = Normal(0.0, variance=1.0)


# -- characteristic functions ------------------------------------------------------------------


@pytest.mark.topic("004/4.2")
def test_characteristic_function_of_a_normal_vector():
    d = MvNormal([1.0, -2.0], cov=[[1.0, 0.5], [0.5, 2.0]])
    t = np.array([[0.3, -0.2], [0.0, 0.0]])
    expected = np.exp(1j * t @ d.mean - 0.5 * np.einsum("ni,ij,nj->n", t, d.cov, t))
    np.testing.assert_allclose(characteristic_function(d, t), expected, rtol=1e-14)
    draws = d.sample(100_000, rng=5)
    np.testing.assert_allclose(np.exp(1j * draws @ t[0]).mean(), expected[0], atol=0.02)


FORMS = [
    Normal(0.3, variance=2.0),
    Gamma(0.7, 2.0),
    Exponential(2.0),
    Uniform(-1.0, 3.0),
    Laplace(0.3, 0.7),
    Poisson(2.5),
    Binomial(6, 0.3),
    NegativeBinomial(2.5, 0.4),
    Mixture([0.3, 0.7], Normal([0.0, 3.0], variance=[1.0, 2.0])),
    StudentT(6.0, 0.5, scale=1.0),
    Beta(2.0, 3.0),
]


@pytest.mark.parametrize("p", FORMS, ids=lambda d: type(d).__name__)
def test_characteristic_functions_are_expectations(p):
    for t in (-1.3, 0.4, 3.0):
        cosine = expect(p, lambda x, t=t: np.cos(t * x))
        sine = expect(p, lambda x, t=t: np.sin(t * x))
        assert characteristic_function(p, t) == pytest.approx(cosine + 1j * sine, abs=2e-6)


# -- the central limit -------------------------------------------------------------------------


@pytest.mark.topic("004/4.2")
@pytest.mark.parametrize(
    "p", [Exponential(1.0), Uniform(0.0, 1.0), Laplace(1.0, 2.0), Binomial(1, 0.3)]
)
def test_standardised_sums_approach_the_normal(p):
    before = np.inf
    for n in (2, 8, 32, 128):
        found = central_limit(p, n)
        assert found.distance < before
        assert found.distance <= found.bound
        before = found.distance
        assert found.standardised.mean == pytest.approx(0.0, abs=1e-5)
        assert found.standardised.variance == pytest.approx(1.0, abs=1e-4)


@pytest.mark.topic("004/4.2")
def test_the_distance_of_known_sums_to_the_normal():
    x = np.linspace(0, 200, 400_001)
    for n in (4, 16):
        exact = np.abs(stats.gamma(n).cdf(x) - stats.norm(n, n**0.5).cdf(x)).max()
        assert central_limit(Exponential(1.0), n).distance == pytest.approx(exact, abs=2e-4)
    k = np.arange(101)
    above = stats.binom(100, 0.3).cdf(k)
    normal = stats.norm(30, 21**0.5).cdf(k)
    exact = max(np.abs(above - normal).max(), np.abs(np.append(0, above[:-1]) - normal).max())
    assert central_limit(Binomial(1, 0.3), 100).distance == pytest.approx(exact, abs=1e-10)
    assert central_limit(STANDARD, 10).distance < 1e-6


@pytest.mark.topic("004/4.2")
def test_powers_of_a_peaked_function_become_gaussian():
    x = np.linspace(-1.0, 1.0, 2001)
    for n in (10, 1000):
        power = Beta(1 + n, 1 + n)  # (x(1−x))ⁿ, normalised
        normal = Normal(power.mean, variance=power.variance)
        at = 0.5 + x * 2 * power.std
        gap = np.abs(density(power, at) / density(normal, at) - 1).max()
        assert gap < 1.0 / n
