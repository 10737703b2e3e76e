"""Weighed draws of factor models, beside draws of the prior."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from posteriori.inference.components.factor_beliefs import FactorPrior, learn_factor_beliefs
from posteriori.inference.components.factor_draws import FactorDraws

PRIOR = FactorPrior((2.0, 1.0), (3.0, 1.0), 1.0)
X = np.array([[0.5, -0.2], [-1.0, -0.6], [0.9, 0.7]])


def evidence_by_prior(shared, size=40_000):
    """Return ln p(X), and its standard error, by the mean likelihood of draws of the prior."""
    rng = np.random.default_rng(1)
    alpha = rng.gamma(2.0, 1.0, size)
    w = rng.standard_normal((size, 2)) / np.sqrt(alpha)[:, None]
    mu = rng.standard_normal((size, 2))
    tau = rng.gamma(3.0, 1.0, (size, 1 if shared else 2))
    cov = w[:, :, None] * w[:, None, :] + (1.0 / tau)[:, :, None] * np.eye(2)
    about = X - mu[:, None, :]
    distance = np.einsum("sni,sij,snj->s", about, np.linalg.inv(cov), about)
    logs = -0.5 * (distance + 3 * np.log(np.linalg.det(2 * np.pi * cov)))
    one = multivariate_normal(mu[0], cov[0]).logpdf(X).sum()
    assert logs[0] == pytest.approx(one)
    ratios = np.exp(logs - logs.max())
    return np.log(ratios.mean()) + logs.max(), ratios.std() / ratios.mean() / size**0.5


@pytest.mark.parametrize("shared", [True, False])
def test_the_mean_of_the_ratios_is_the_evidence(shared):
    """E_q[p(X, θ)/q(θ)] = p(X) holds for densities with all their constants only."""
    found = learn_factor_beliefs(X, 1, PRIOR, shared=shared, tol=1e-9, max_iter=500)
    draws = FactorDraws(found.parameters, PRIOR, X, np.zeros(2), np.ones(2))
    drawn = draws.draw_belief(20_000, np.random.default_rng(0))
    log_ratios = draws.log_joint(drawn) - drawn.log_density
    estimate = logsumexp(log_ratios) - np.log(len(log_ratios))
    ratios = np.exp(log_ratios - estimate)
    truth, error = evidence_by_prior(shared)
    assert abs(estimate - truth) < 5 * np.hypot(error, ratios.std() / len(ratios) ** 0.5)
    assert found.trace[-1] < log_ratios.mean() < estimate  # Jensen, twice


def test_what_is_told_is_in_the_units_of_the_data():
    found = learn_factor_beliefs(X, 1, PRIOR, shared=False, tol=1e-9, max_iter=500)
    plain, moved = (
        FactorDraws(found.parameters, PRIOR, X, centre, scale).draw_belief(
            5, np.random.default_rng(0)
        )
        for centre, scale in (
            (np.zeros(2), np.ones(2)),
            (np.array([3.0, 4.0]), np.array([2.0, 10.0])),
        )
    )
    assert np.allclose(moved.values["mean"], [3.0, 4.0] + [2.0, 10.0] * plain.values["mean"])
    unit = np.outer([2.0, 10.0], [2.0, 10.0])
    assert np.allclose(moved.values["covariance"], unit * plain.values["covariance"])
