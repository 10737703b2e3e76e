"""Evidence of linear models against dense densities, quadrature and thermodynamic integration."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from posteriori.regression import BayesianLinearRegressor
from tests.regression.oracles import (
    integrated_log_evidence,
    known_noise_log_evidence,
    prior_predictive,
    problem,
)

pytestmark = pytest.mark.blas

PRECISIONS = {
    "isotropic": 0.7,
    "diagonal": np.array([0.5, 2.0, 4.0]),
    "full": np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.2], [0.1, -0.2, 3.0]]),
}


@pytest.mark.parametrize("name", PRECISIONS)
@pytest.mark.parametrize("mean", [None, (1.0, -2.0, 0.5)])
@pytest.mark.parametrize("intercept", [None, (0.7, 0.3)])
def test_known_noise_against_the_dense_normal(name, mean, intercept):
    X, y, rng = problem()
    v, beta = rng.uniform(0.5, 2.0, size=12), 3.0
    model = BayesianLinearRegressor(
        PRECISIONS[name],
        prior_mean=mean,
        noise_precision=beta,
        fit_intercept=intercept is not None,
        intercept_mean=None if intercept is None else intercept[0],
        intercept_precision=None if intercept is None else intercept[1],
    ).fit(X, y, noise_variance=v)
    in_noise = None if intercept is None else (intercept[0], intercept[1] / beta)
    centre, cov = prior_predictive(
        X, PRECISIONS[name] / beta, mean or 0.0, intercept=in_noise, variance=v
    )
    expected = known_noise_log_evidence(y, centre, cov, beta)
    assert float(model.log_evidence_) == pytest.approx(expected, rel=1e-11)
    assert model.log_evidence_.kind == "exact"
    assert model.log_evidence_.of == "y|X"


@pytest.mark.parametrize("name", PRECISIONS)
@pytest.mark.parametrize("intercept", [None, (0.7, 0.3)])
def test_integrated_noise_against_the_dense_student_t(name, intercept):
    X, y, rng = problem()
    v = rng.uniform(0.5, 2.0, size=12)
    model = BayesianLinearRegressor(
        PRECISIONS[name],
        fit_intercept=intercept is not None,
        intercept_mean=None if intercept is None else intercept[0],
        intercept_precision=None if intercept is None else intercept[1],
        noise_shape=1.5,
        noise_scale=0.8,
    ).fit(X, y, noise_variance=v)
    centre, cov = prior_predictive(X, PRECISIONS[name], intercept=intercept, variance=v)
    expected = integrated_log_evidence(y, centre, cov, 1.5, 0.8)
    assert float(model.log_evidence_) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_default_prior_is_unit_information_on_standardised_columns(fit_intercept):
    X, y, _ = problem()
    model = BayesianLinearRegressor(fit_intercept=fit_intercept).fit(X, y)
    spread = X.std(axis=0) if fit_intercept else np.sqrt((X**2).mean(axis=0))
    intercept = (y.mean(), 1.0) if fit_intercept else None
    variance = y.var() if fit_intercept else np.mean(y**2)
    centre, cov = prior_predictive(X, spread**2, intercept=intercept)
    expected = integrated_log_evidence(y, centre, cov, 1.0, 0.005 * variance)
    assert float(model.log_evidence_) == pytest.approx(expected, rel=1e-11)


def test_evidence_by_quadrature_over_two_weights():
    X, y, _ = problem(n=6, d=2)
    alpha, beta = 0.5, 1.5
    model = BayesianLinearRegressor(alpha, noise_precision=beta, fit_intercept=False).fit(X, y)
    centre, width = model.coef_, 12.0 * np.sqrt(np.diagonal(model.posterior_.cov))
    nodes, weights = np.polynomial.legendre.leggauss(120)
    u, v = (centre[j] + width[j] * nodes for j in (0, 1))
    w = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1)
    log_joint = stats.norm.logpdf(y, w @ X.T, beta**-0.5).sum(axis=-1)
    log_joint += stats.norm.logpdf(w, 0.0, alpha**-0.5).sum(axis=-1)
    total = special.logsumexp(log_joint, b=np.outer(weights * width[0], weights * width[1]))
    assert float(model.log_evidence_) == pytest.approx(total, rel=1e-10)


def test_evidence_by_thermodynamic_integration():
    """ln p(y) = ∫₀¹ E_t[ln p(y|w)] dt, with E_t under prior × likelihoodᵗ."""
    X, y, _ = problem(n=10)
    alpha, beta = 0.5, 1.5
    model = BayesianLinearRegressor(alpha, noise_precision=beta, fit_intercept=False).fit(X, y)

    def expected_log_likelihood(t):
        cov = np.linalg.inv(alpha * np.eye(3) + t * beta * X.T @ X)
        residual = y - X @ (t * beta * cov @ X.T @ y)
        squares = residual @ residual + np.trace(X @ cov @ X.T)
        return 0.5 * len(y) * np.log(beta / (2 * np.pi)) - 0.5 * beta * squares

    # t = s³ flattens the rise near t = 0
    value, _ = integrate.quad(
        lambda s: 3 * s**2 * expected_log_likelihood(s**3), 0.0, 1.0, epsabs=1e-11, limit=200
    )
    assert float(model.log_evidence_) == pytest.approx(value, abs=1e-8)


def test_evidence_is_the_probability_under_weights_from_the_prior():
    """Simple Monte Carlo, within 5 standard errors."""
    rng = np.random.default_rng(3)
    x = np.array([[-1.0], [0.3], [1.2]])
    y = np.array([-0.4, 0.5, 0.6])
    model = BayesianLinearRegressor(1.0, noise_precision=2.0, fit_intercept=False).fit(x, y)
    w = rng.normal(size=(400_000, 1))
    likelihood = np.exp(stats.norm.logpdf(y, w @ x.T, 2.0**-0.5).sum(axis=1))
    error = likelihood.std() / np.sqrt(len(w))
    assert abs(likelihood.mean() - np.exp(float(model.log_evidence_))) < 5 * error


def test_flat_intercept_is_the_limit_of_wide_ones_and_compares_with_its_like_only():
    X, y, _ = problem()
    flat = BayesianLinearRegressor(1.0, noise_precision=1.0, intercept_precision=0.0).fit(X, y)
    tiny = 1e-9
    wide = BayesianLinearRegressor(
        1.0, noise_precision=1.0, intercept_mean=0.0, intercept_precision=tiny
    ).fit(X, y)
    # N(c | 0, 1/κ) → √(κ/2π): a density of 1 in its place
    limit = float(wide.log_evidence_) - 0.5 * np.log(tiny / (2 * np.pi))
    assert float(flat.log_evidence_) == pytest.approx(limit, abs=1e-6)
    other = BayesianLinearRegressor(3.0, noise_precision=1.0, intercept_precision=0.0).fit(X, y)
    assert np.isfinite(flat.log_evidence_ - other.log_evidence_)
    with pytest.raises(ValueError, match="different questions"):
        _ = flat.log_evidence_ - wide.log_evidence_


def test_evidences_with_flat_intercepts_do_not_depend_on_the_origin_of_y():
    X, y, _ = problem()
    model = BayesianLinearRegressor(intercept_precision=0.0, noise_scale=1.0)
    here = float(model.fit(X, y).log_evidence_)
    there = float(model.fit(X, y + 1e3).log_evidence_)
    assert here == pytest.approx(there, rel=1e-9)


def test_evidence_of_chunks_is_that_of_the_chain_rule():
    """p(y₁, y₂) = p(y₁) p(y₂|y₁): the joint prediction of the second half."""
    X, y, _ = problem(n=14)
    settings = {"prior_precision": 0.7, "noise_scale": 0.8, "fit_intercept": False}
    half = BayesianLinearRegressor(**settings).fit(X[:8], y[:8])
    whole = BayesianLinearRegressor(**settings).fit(X, y)
    rest = half.predict_dist(X[8:], joint=True).log_prob(y[8:])
    assert float(whole.log_evidence_) == pytest.approx(float(half.log_evidence_) + rest, rel=1e-11)
