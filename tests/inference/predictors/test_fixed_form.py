"""The best normal belief, against exact posteriors and a grid of beliefs."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from posteriori import MvNormal, Normal
from posteriori.inference import fit_normal_belief


def log_coin(x: np.ndarray) -> np.ndarray:
    """3 heads and 1 tail under a uniform prior, in log odds."""
    return 4 * x - 6 * np.logaddexp(0, x)


@pytest.mark.topic("004/9.14", "004/9.12")
def test_a_normal_joint_is_fitted_exactly() -> None:
    cov = np.array([[2.0, 0.6], [0.6, 1.0]])
    exact = MvNormal([1.0, -2.0], cov=cov)
    found = fit_normal_belief(lambda x: exact.log_prob(x) - 3.0, [0.0, 0.0], nodes=8)
    assert found.converged
    assert_allclose(found.belief.mean, exact.mean, atol=1e-4)
    assert_allclose(found.belief.cov, cov, atol=1e-4)
    assert_allclose(found.free_energy, 3.0, atol=1e-8)


@pytest.mark.topic("004/9.14", "004/9.12")
def test_no_belief_of_a_grid_is_better() -> None:
    found = fit_normal_belief(log_coin, 0.0)

    def f(mean: float, std: float) -> float:
        q = stats.norm(mean, std)
        lost, _ = integrate.quad(
            lambda x: q.pdf(x) * log_coin(x), mean - 12 * std, mean + 12 * std, epsabs=1e-12
        )
        return -lost - q.entropy()

    at = found.belief.mean, found.belief.std
    assert_allclose(found.free_energy, f(*at), atol=1e-9)
    for step in (-0.02, 0.02):
        assert f(at[0] + step, at[1]) > found.free_energy
        assert f(at[0], at[1] + step) > found.free_energy
    assert found.free_energy > math.log(20.0)  # the evidence is 1/20


@pytest.mark.topic("004/9.14")
def test_complexity_less_accuracy_is_the_same_number() -> None:
    """KL(q ‖ p(z)) − E[ln p(x | z)] for a normal prior and a logistic likelihood."""
    prior = Normal(0.0, variance=4.0)

    def log_likelihood(x: np.ndarray) -> np.ndarray:
        return 3 * x - 4 * np.logaddexp(0, x)

    found = fit_normal_belief(lambda x: prior.log_prob(x) + log_likelihood(x), 0.0)
    q = stats.norm(found.belief.mean, found.belief.std)
    accuracy, _ = integrate.quad(lambda x: q.pdf(x) * log_likelihood(x), -10, 12, epsabs=1e-12)
    assert_allclose(found.free_energy, float(found.belief.kl(prior)) - accuracy, atol=1e-9)


def test_what_cannot_be_fitted_is_said() -> None:
    with pytest.raises(ValueError, match="24 nodes in 5 dimensions"):
        fit_normal_belief(lambda x: -np.sum(x**2, axis=1), np.zeros(5))
    with pytest.raises(ValueError, match=r"not finite around mean=0\.0"):
        fit_normal_belief(lambda x: np.where(x > 0, -x, -np.inf), 0.0)
