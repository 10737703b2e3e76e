"""Prior variances of highest evidence with known noise, and the bound for two classes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit
from scipy.stats import multivariate_normal

from posteriori.inference.sparsity.relevance import RelevanceProblem, find_relevance
from posteriori.inference.sparsity.relevance_bound import raise_relevance_bound


def problem(n=25, d=6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, x[:, 0] * 2.0 - x[:, 1] + rng.normal(size=n)


@pytest.mark.parametrize("seed", range(3))
def test_known_noise(seed):
    x, y = problem(seed=seed)
    constant = -0.5 * len(y) * np.log(2.0 * np.pi)
    found = find_relevance(
        RelevanceProblem(x, y, 0.0, float(len(y)), constant, np.zeros(6), known_noise=True),
        np.ones(6),
    )

    def evidence(u):
        return multivariate_normal.logpdf(y, cov=np.eye(len(y)) + (x * u) @ x.T)

    assert found.converged
    assert found.noise_precision == 1.0
    assert np.isclose(found.log_evidence, evidence(found.variances))
    best = minimize(lambda v: -evidence(np.exp(v)), np.zeros(6), method="L-BFGS-B")
    assert found.log_evidence >= -best.fun - 1e-6
    for j in range(6):  # no column alone can be improved, pruned ones neither
        for step in (1e-3, -1e-3):
            moved = found.variances.copy()
            moved[j] = max(moved[j] + step, 0.0)
            assert evidence(moved) <= found.log_evidence + 1e-9


def bound_at(x, sign, variance, xi):
    """Return the bound of one column, written out: Jaakkola's in each row, a normal integral over w."""
    omega = np.tanh(0.5 * xi) / (2.0 * xi)
    constant = log_expit(xi) - 0.5 * xi + 0.5 * omega * xi**2
    precision = 1.0 / variance + omega @ x**2
    shift = 0.5 * sign @ x
    return constant.sum() + 0.5 * shift**2 / precision - 0.5 * np.log(variance * precision)


def test_one_column_by_a_general_solver_and_quadrature():
    rng = np.random.default_rng(1)
    x = rng.normal(size=12)
    sign = np.where(x + 0.8 * rng.normal(size=12) > 0, 1.0, -1.0)
    found = raise_relevance_bound(x[:, None], sign, tol=1e-12)
    assert found.converged
    assert found.kept.tolist() == [0]
    best = minimize(
        lambda v: -bound_at(x, sign, np.exp(v[0]), np.exp(v[1:])), np.zeros(13), tol=1e-12
    )
    assert np.isclose(found.bound, -best.fun, rtol=1e-6)
    # it lies below the evidence at the variance of its own choice
    nodes = np.linspace(-60.0, 60.0, 40_001)
    prior = np.exp(-0.5 * nodes**2 / np.exp(best.x[0])) / np.sqrt(2 * np.pi * np.exp(best.x[0]))
    likelihood = np.exp(log_expit(sign[:, None] * x[:, None] * nodes).sum(axis=0))
    exact = np.log((prior * likelihood).sum() * (nodes[1] - nodes[0]))
    assert found.bound < exact


def test_the_bound_never_falls():
    x, y = problem(40, 15)
    sign = np.where(y > 0, 1.0, -1.0)
    bounds = [raise_relevance_bound(x, sign, tol=1e-12, max_iter=n).bound for n in range(1, 8)]
    assert np.all(np.diff(bounds) >= -1e-10 * np.abs(bounds[:-1]))


def test_columns_that_say_nothing_are_left_out():
    rng = np.random.default_rng(3)
    sign = np.repeat([1.0, -1.0], 20)
    found = raise_relevance_bound(np.tile(rng.normal(size=(20, 3)), (2, 1)), sign)
    assert len(found.kept) == 0
    assert np.isclose(found.bound, 40 * np.log(0.5))
