"""Posteriors of linear classifiers: evidence and moments by quadrature, and the notes' examples."""

import mpmath
import numpy as np
import pytest
from scipy.special import expit, log_expit, logsumexp, ndtri

from posteriori.classification import BayesianLogisticRegression, ProbitRegression
from posteriori.distributions import PolyaGamma
from posteriori.inference.mode_finding import find_mode, laplace_evidence
from posteriori.inference.polya_gamma import mean_polya_gamma
from posteriori.inference.softmax_predictor import SoftmaxPredictor
from posteriori.inference.weight_belief import laplace_belief
from tests.classification.oracles import (
    evidence_on_grid,
    log_joint_on_grid,
    overlapping,
    sequential_propagation,
)


def line(n, seed=0, slope=1.5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1)) * 2.0 + 1.0
    return x, (rng.random(n) < expit(slope * x[:, 0] - 1.0)).astype(int)


def prior(model, X, y, link):
    """Return design, signs, and precisions and means of the priors of standardised weights."""
    design = model._standardization.of(X)
    share = y.mean()
    level = np.log(share / (1 - share)) if link == "logistic" else ndtri(share)
    mean = np.append(level, np.zeros(design.shape[1] - 1))
    return design, 2.0 * y - 1.0, np.full(len(mean), model.prior_precision), mean


def truth(model, X, y, link):
    """Return log evidence, mean and covariance of the standardised weights by quadrature."""
    asked = prior(model, X, y, link)
    points, log_joint, _ = log_joint_on_grid(*asked, link)
    weight = np.exp(log_joint - logsumexp(log_joint))
    centre = weight @ points
    offset = points - centre
    return evidence_on_grid(*asked, link), centre, (offset * weight[:, None]).T @ offset


def test_evidence_of_logistic_approximations():
    """The bound is below; over a table of cases expectation propagation is the nearest."""
    errors, gaps = [], []
    kinds = ("ep", "laplace", "variational")
    for n, alpha in [(3, 0.2), (3, 1.0), (12, 0.2), (12, 1.0), (60, 0.2), (60, 1.0)]:
        X, y = line(n, seed=n)
        y[:2] = [0, 1]
        fits = [BayesianLogisticRegression(alpha, kind).fit(X, y) for kind in kinds]
        assert [fit.log_evidence_.kind for fit in fits] == ["ep", "laplace", "bound"]
        exact, mean, cov = truth(fits[0], X, y, "logistic")
        std = np.sqrt(np.diagonal(cov))
        errors.append([float(fit.log_evidence_) - exact for fit in fits])
        gaps.append([np.abs((fit._weights.mean - mean) / std).max() for fit in fits])
    errors, gaps = np.array(errors), np.array(gaps)
    assert np.all(errors[:, 2] < 0)
    assert np.all(np.abs(errors[:, 0]) < 0.04)
    ep, laplace, bound = np.abs(errors).mean(axis=0)
    assert ep < laplace < bound
    assert np.all(gaps[:, 0] < gaps[:, 1:].min(axis=1))
    assert np.all(gaps[:, 0] < 0.03)


@pytest.mark.parametrize("n", [4, 25])
def test_probit_beliefs_are_near_quadrature(n):
    X, y = line(n, seed=n)
    y[:2] = [0, 1]
    laplace = ProbitRegression(0.5).fit(X, y)
    ep = ProbitRegression(0.5, "ep").fit(X, y)
    exact, mean, cov = truth(ep, X, y, "probit")
    assert abs(float(ep.log_evidence_) - exact) < 0.03
    assert abs(float(laplace.log_evidence_) - exact) < 0.03
    std = np.sqrt(np.diagonal(cov))
    gaps = [np.abs((fit._weights.mean - mean) / std).max() for fit in (ep, laplace)]
    assert gaps[0] < 0.02
    assert gaps[0] < gaps[1]
    np.testing.assert_allclose(np.sqrt(np.diagonal(ep._weights.cov)), std, rtol=0.1)


@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize(
    ("link", "model"),
    [("probit", ProbitRegression(0.5, "ep")), ("logistic", BayesianLogisticRegression(0.5, "ep"))],
)
def test_parallel_sites_end_where_sequential_ones_do(link, model, n):
    X, y = line(n, seed=n)
    y[:2] = [0, 1]
    belief = model.fit(X, y)._weights
    mean, cov, evidence = sequential_propagation(*prior(model, X, y, link), link)
    np.testing.assert_allclose(belief.mean, mean, atol=1e-6)
    np.testing.assert_allclose(belief.cov, cov, atol=1e-6)
    assert belief.log_evidence == pytest.approx(evidence, abs=1e-6)


def test_one_probit_row_is_matched_exactly():
    X = np.array([[1.0], [0.0]])  # the second row is the same for all weights: ln ½
    model = ProbitRegression(1.0, "ep", fit_intercept=False, standardize=False).fit(X, [1, 0])
    assert float(model.log_evidence_) == pytest.approx(2 * np.log(0.5), abs=1e-12)
    # E[w Φ(w)]/½ = 2 φ(0)/√2 = 1/√π
    assert model.coef_[0, 0] == pytest.approx(1 / np.sqrt(np.pi), abs=1e-12)
    assert model.posterior_.cov[0, 0] == pytest.approx(1 - 1 / np.pi, abs=1e-12)


def test_weights_of_sites_are_repeated_sites():
    X, y = line(30)
    weight = np.arange(30) % 3
    for kind in ("laplace", "variational", "ep"):
        repeated = BayesianLogisticRegression(1.0, kind).fit(
            np.repeat(X, weight, axis=0), np.repeat(y, weight)
        )
        weighted = BayesianLogisticRegression(1.0, kind).fit(X, y, sample_weight=weight)
        assert float(weighted.log_evidence_) == pytest.approx(
            float(repeated.log_evidence_), abs=1e-8
        )
        assert weighted.log_evidence_.comparable(repeated.log_evidence_)


def test_mean_of_polya_gamma():
    xi = np.array([0.0, 1e-5, 1e-4, 0.3, 5.0, 80.0])
    np.testing.assert_allclose(mean_polya_gamma(xi), PolyaGamma(1.0, xi).mean, rtol=1e-8)


class TiltedNormal:
    """The notes' one-dimensional example, ln f = −z²/2 + ln σ(20z + 4)."""

    def value_and_gradient(self, z):
        a = 20 * z[0] + 4
        return float(-0.5 * z[0] ** 2 + log_expit(a)), -z + 20 * expit(-a)

    def curvature(self, z):
        a = 20 * z[0] + 4
        return np.array([[1 + 400 * expit(a) * expit(-a)]])


@pytest.mark.topic("004/8.4")
def test_laplace_approximation_of_the_notes():
    mode = find_mode(TiltedNormal(), np.zeros(1), tol=1e-12)
    root = mpmath.findroot(lambda z: -z + 20 / (1 + mpmath.exp(20 * z + 4)), 0.07)
    assert mode.point[0] == pytest.approx(float(root), abs=1e-12)
    assert mode.point[0] == pytest.approx(0.07747958, abs=5e-9)
    assert mode.precision[0, 0] == pytest.approx(2.5435885, abs=1e-7)
    assert np.exp(laplace_evidence(mode)) == pytest.approx(1.5609078, abs=1e-7)


@pytest.mark.topic("004/8.3")
@pytest.mark.topic("004/8.5")
@pytest.mark.topic("004/8.9")
def test_laplace_posterior_is_the_mode_with_its_curvature():
    X, y = overlapping(80, 2)
    X = np.column_stack([X / X.std(axis=0), np.ones(80)])  # the bias by a column of ones
    model = BayesianLogisticRegression(0.7, fit_intercept=False, standardize=False).fit(X, y)
    w, sign = model.coef_[0], 2.0 * y - 1.0
    right = expit(sign * (X @ w))
    gradient = -0.7 * w + (sign * (1 - right)) @ X
    np.testing.assert_allclose(gradient, 0.0, atol=1e-7)
    precision = 0.7 * np.eye(3) + (X * (right * (1 - right))[:, None]).T @ X
    np.testing.assert_allclose(np.linalg.inv(model.posterior_.cov), precision, rtol=1e-7, atol=1e-9)


def test_softmax_evidence_of_two_classes_is_the_logistic_one():
    """K weight vectors N(0, 1/α) of two classes differ by N(0, 2/α)."""
    X, y = line(20)
    single = BayesianLogisticRegression(0.5, fit_intercept=False, standardize=False).fit(X, y)
    density = SoftmaxPredictor(X, y, 2, np.ones(1), np.zeros(1))
    mode = find_mode(density, np.zeros(1))
    belief = laplace_belief(mode, np.ones(1))
    assert belief.log_evidence == pytest.approx(float(single.log_evidence_), abs=1e-9)
    assert mode.point[0] * np.sqrt(2.0) == pytest.approx(single.coef_[0, 0], abs=1e-7)


def test_softmax_probabilities_are_means_over_the_posterior():
    X, y = overlapping(60, 3, seed=4)
    model = BayesianLogisticRegression(0.3).fit(X, y)
    assert model.posterior_.mean.shape == (9,)
    new = np.array([[3.0, 3.0], [5.0, -10.0], [0.0, 40.0], [8.0, 60.0]])
    draws = model.posterior_.sample(200_000, rng=0).reshape(-1, 3, 3)
    eta = draws[:, :, :2] @ new.T + draws[:, :, 2:]
    p = np.exp(eta - logsumexp(eta, axis=1, keepdims=True)).mean(axis=0).T
    np.testing.assert_allclose(model.predict_proba(new), p, atol=0.02)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-9)


def test_far_away_the_posterior_is_less_certain_than_its_mean():
    X, y = line(15)
    model = BayesianLogisticRegression().fit(X, y)
    far = np.array([[50.0]])
    eta = model.predictor(far)
    assert model.predict_proba(far)[0, 1] < expit(eta.mean)[0]
    assert float(eta.mean[0]) == pytest.approx(50 * model.coef_[0, 0] + model.intercept_[0])
