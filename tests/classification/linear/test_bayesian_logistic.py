"""Posteriors of linear classifiers: evidence and moments by quadrature, and the notes' examples."""

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp, ndtri

from posteriori.classification import BayesianLogisticRegression, ProbitRegression
from posteriori.distributions import PolyaGamma
from posteriori.inference.predictors.fixed_form import fit_normal_belief
from posteriori.inference.predictors.mode_finding import find_mode, laplace_evidence
from posteriori.inference.predictors.softmax_predictor import SoftmaxPredictor
from posteriori.inference.predictors.weight_belief import laplace_belief
from posteriori.inference.sparsity.relevance_bound import mean_polya_gamma
from tests.classification.oracles import (
    LOG_LINKS,
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


CASES = [(3, 0.2), (3, 1.0), (12, 0.2), (12, 1.0), (60, 0.2), (60, 1.0)]
LINKED = {"logistic": BayesianLogisticRegression, "probit": ProbitRegression}


def data(n):
    X, y = line(n, seed=n)
    y[:2] = [0, 1]
    return X, y


@pytest.mark.parametrize("link", sorted(LINKED))
def test_evidence_of_approximations(link):
    """Bounds are below, that of the best normal belief above others; propagation is the nearest."""
    errors, gaps = [], []
    kinds = ("ep", "laplace", "variational")
    for n, alpha in CASES:
        X, y = data(n)
        fits = [LINKED[link](alpha, kind).fit(X, y) for kind in kinds]
        assert [fit.log_evidence_.kind for fit in fits] == ["ep", "laplace", "bound"]
        exact, mean, cov = truth(fits[0], X, y, link)
        std = np.sqrt(np.diagonal(cov))
        errors.append([float(fit.log_evidence_) - exact for fit in fits])
        beliefs = [fit._weights for fit in fits] + [fits[1]._corrected]
        gaps.append([np.abs((belief.mean - mean) / std).max() for belief in beliefs])
        if link == "logistic":
            augmented = LINKED[link](alpha, "polya-gamma").fit(X, y)
            assert augmented.log_evidence_.kind == "bound"
            assert augmented.log_evidence_ < fits[2].log_evidence_ < exact
    errors, gaps = np.array(errors), np.array(gaps)
    assert np.all(errors[:, 2] < 0)
    assert np.abs(errors[:, 0]).mean() < np.abs(errors[:, 1:]).mean(axis=0).min()
    assert np.all(gaps[:, [0, 2]].max(axis=1) < gaps[:, 1])
    assert np.all(gaps[:, 3] < 0.5 * gaps[:, 1])  # Laplace's, corrected


@pytest.mark.parametrize("link", sorted(LINKED))
@pytest.mark.parametrize(("n", "alpha"), CASES)
def test_propagation_ends_where_a_sequential_one_does_and_misses_what_theory_says(link, n, alpha):
    """Up to a tenth of the leading term of its error, or 0.001, is left for later terms."""
    X, y = data(n)
    model = LINKED[link](alpha, "ep", tol=1e-11).fit(X, y)
    asked = prior(model, X, y, link)
    mean, cov, evidence, missed = sequential_propagation(*asked, link)
    belief = model._weights
    np.testing.assert_allclose(belief.mean, mean, atol=1e-8)
    np.testing.assert_allclose(belief.cov, cov, atol=1e-8)
    assert belief.log_evidence == pytest.approx(evidence, abs=1e-8)
    left = evidence_on_grid(*asked, link) - belief.log_evidence - missed
    assert abs(left) < max(0.1 * abs(missed), 1e-3)


@pytest.mark.parametrize("link", sorted(LINKED))
def test_variational_belief_is_the_best_normal_one(link):
    X, y = data(12)
    model = LINKED[link](0.5, "variational").fit(X, y)
    design, sign, precision, centre = prior(model, X, y, link)

    def log_joint(w):
        log_prior = -0.5 * (precision * (w - centre) ** 2).sum(axis=1)
        log_prior += 0.5 * np.log(precision / (2.0 * np.pi)).sum()
        return log_prior + LOG_LINKS[link](sign * (w @ design.T)).sum(axis=1)

    best = fit_normal_belief(log_joint, model._weights.mean, scale=0.7, nodes=40)
    np.testing.assert_allclose(model._weights.mean, best.belief.mean, atol=1e-5)
    np.testing.assert_allclose(model._weights.cov, best.belief.cov, atol=1e-5)
    assert float(model.log_evidence_) == pytest.approx(-best.free_energy, abs=1e-7)


def test_long_tables_are_not_corrected():
    X, y = line(4000)
    model = BayesianLogisticRegression().fit(X, y)
    assert model.corrected_posterior_ is model.posterior_
    other = BayesianLogisticRegression(method="ep").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=5e-4)


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
    for kind in ("laplace", "variational", "ep", "polya-gamma"):
        repeated = BayesianLogisticRegression(1.0, kind).fit(
            np.repeat(X, weight, axis=0), np.repeat(y, weight)
        )
        weighted = BayesianLogisticRegression(1.0, kind).fit(X, y, sample_weight=weight)
        assert float(weighted.log_evidence_) == pytest.approx(
            float(repeated.log_evidence_), abs=1e-8
        )
        assert weighted.log_evidence_.comparable(repeated.log_evidence_)


@pytest.mark.parametrize("family", [BayesianLogisticRegression, ProbitRegression])
def test_rows_that_count_less_than_once(family):
    """Twenty copies of a row that count a twentieth each are nearly that row."""
    X, y = line(30)
    whole = family(1.0, "ep").fit(X, y)
    parts = family(1.0, "ep").fit(
        np.repeat(X, 20, axis=0), np.repeat(y, 20), sample_weight=np.full(600, 0.05)
    )
    np.testing.assert_allclose(parts._weights.mean, whole._weights.mean, atol=0.02)
    np.testing.assert_allclose(parts._weights.cov, whole._weights.cov, rtol=0.05, atol=0.01)
    assert float(parts.log_evidence_) == pytest.approx(float(whole.log_evidence_), abs=0.2)


def test_the_bound_of_polya_gammas_is_the_highest_of_its_kind():
    """Where each row bends by tanh(ξ/2)/2ξ, no other ξ lead higher."""
    X, y = line(25)
    model = BayesianLogisticRegression(0.5, "polya-gamma", tol=1e-10).fit(X, y)
    design, sign, precision, centre = prior(model, X, y, "logistic")
    shift = precision * centre + 0.5 * sign @ design

    def negative(log_xi):
        xi = np.exp(log_xi)
        bend = np.tanh(0.5 * xi) / (2.0 * xi)
        total = np.diag(precision) + (design.T * bend) @ design
        fit = shift @ np.linalg.solve(total, shift) - precision @ centre**2
        volume = np.log(precision).sum() - np.linalg.slogdet(total).logabsdet
        return -0.5 * (fit + volume) - np.sum(log_expit(xi) - 0.5 * xi + 0.5 * bend * xi**2)

    best = minimize(negative, np.zeros(25), method="BFGS", options={"gtol": 1e-7})
    assert float(model.log_evidence_) == pytest.approx(-best.fun, abs=1e-8)


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
    draws = model.corrected_posterior_.sample(200_000, rng=0).reshape(-1, 3, 3)
    eta = draws[:, :, :2] @ new.T + draws[:, :, 2:]
    p = np.exp(eta - logsumexp(eta, axis=1, keepdims=True)).mean(axis=0).T
    np.testing.assert_allclose(model.predict_proba(new), p, atol=5e-3)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-9)


def test_far_away_the_posterior_is_less_certain_than_its_mean():
    X, y = line(15)
    model = BayesianLogisticRegression().fit(X, y)
    far = np.array([[50.0]])
    eta = model.predictor(far)
    assert model.predict_proba(far)[0, 1] < expit(eta.mean)[0]
    assert float(eta.mean[0]) == pytest.approx(float(model.corrected_posterior_.mean @ [50.0, 1.0]))
