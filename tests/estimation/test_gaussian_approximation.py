"""Laplace's approximation: exact for quadratics, and better the more data there are."""

import numpy as np
import pytest
from scipy import special, stats

from posteriori.distributions import Gamma, MvNormal, Normal, Poisson, bayes
from posteriori.estimation import laplace_approximation


def test_laplace_is_exact_for_a_quadratic_log_joint():
    rng = np.random.default_rng(3)
    design, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    prior = MvNormal(np.zeros(3), cov=2.0 * np.eye(3))

    def log_joint(w):
        return prior.log_prob(w) + Normal(design @ w, variance=0.5).log_prob(y).sum()

    found = laplace_approximation(log_joint, np.ones(3), of="y|X")
    precision = design.T @ design / 0.5 + np.eye(3) / 2.0
    mean = np.linalg.solve(precision, design.T @ y / 0.5)
    np.testing.assert_allclose(found.mode, mean, atol=1e-7)
    np.testing.assert_allclose(found.distribution.precision, precision, rtol=1e-6)
    cov = 0.5 * np.eye(12) + 2.0 * design @ design.T
    exact = stats.multivariate_normal(np.zeros(12), cov).logpdf(y)
    assert float(found.log_evidence) == pytest.approx(exact, abs=1e-6)
    assert found.log_evidence.kind == "laplace"
    assert found.log_evidence.of == "y|X"


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_the_error_of_laplace_falls_with_the_number_of_data(n):
    prior = Gamma(2.0, 1.0)
    x = np.arange(n) % 7
    exact = float(bayes(prior, Poisson, x).log_evidence)

    def log_joint(rate):
        if rate <= 0:
            return -np.inf
        return prior.log_prob(rate) + Poisson(rate).log_prob(x).sum()

    found = laplace_approximation(log_joint, 1.0)
    a = 2.0 + x.sum()
    # Stirling: ln Γ(a) against (a − ½) ln(a−1) − (a−1) + ½ ln 2π
    stirling = special.gammaln(a) - ((a - 0.5) * np.log(a - 1) - (a - 1) + 0.5 * np.log(2 * np.pi))
    assert exact - float(found.log_evidence) == pytest.approx(stirling, abs=1e-6)
    assert 0 < exact - float(found.log_evidence) < 1 / n
    assert isinstance(found.distribution, Normal)


def test_laplace_needs_a_strict_mode():
    with pytest.raises(ValueError, match="strictly concave"):
        laplace_approximation(lambda t: -((t[0] + t[1]) ** 2), [0.3, 0.4])
    with pytest.raises(ValueError, match="number or a vector"):
        laplace_approximation(lambda t: -np.sum(t**2), np.ones((2, 2)))
