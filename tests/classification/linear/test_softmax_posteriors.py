"""Posteriors of more than two classes: quadrature, a slow propagation, and two classes as a special case."""

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.datasets import load_iris, load_wine

from posteriori.classification import BayesianLogisticRegression
from posteriori.inference.predictors.expectation_propagation import (
    fit_sites,
    softmax_sites,
    softmax_tilt,
)
from posteriori.inference.predictors.fixed_form import fit_normal_belief
from posteriori.inference.predictors.mode_finding import find_mode
from posteriori.inference.predictors.normal_bound import fit_normal_bound, move_to_mean
from posteriori.inference.predictors.site_predictors import SeveralPredictors
from posteriori.inference.predictors.softmax_averages import contrasts
from posteriori.inference.predictors.softmax_predictor import SoftmaxPredictor
from posteriori.inference.predictors.weight_belief import contrast_moments, laplace_belief
from posteriori.numerics.warnings import ConvergenceWarning
from tests.classification.oracles import overlapping

KINDS = ("laplace", "variational", "ep")


def slopes(n, seed):
    """Draw rows of one column without intercept: three classes have two contrast weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1)) * 1.5
    y = np.argmax(x * [1.0, -0.5, 0.2] + rng.gumbel(size=(n, 3)), axis=1)
    y[:3] = [0, 1, 2]
    return x, y


def log_joint(v, x, y, alpha):
    """Return ln p(y, v) at contrast weights (S, 2)."""
    eta = v @ contrasts(3).T
    log_p = log_softmax(eta[:, None, :] * x[None], axis=2)
    log_prior = -0.5 * alpha * (v**2).sum(axis=1) + np.log(alpha / (2.0 * np.pi))
    return log_prior + log_p[:, np.arange(len(y)), y].sum(axis=1)


def quadrature(x, y, alpha, nodes=121):
    """Return log evidence, mean and covariance of the contrast weights on a grid."""
    axis = np.linspace(-7.0, 7.0, nodes) / np.sqrt(alpha)
    v = np.stack([g.ravel() for g in np.meshgrid(axis, axis, indexing="ij")], axis=1)
    logs = np.concatenate([log_joint(part, x, y, alpha) for part in np.array_split(v, 20)])
    weight = np.exp(logs - logsumexp(logs))
    mean = weight @ v
    return (
        logsumexp(logs) + 2.0 * np.log(axis[1] - axis[0]),
        mean,
        ((v - mean) * weight[:, None]).T @ (v - mean),
    )


def fitted(kind, x, y, alpha):
    model = BayesianLogisticRegression(alpha, kind, fit_intercept=False, standardize=False)
    return model.fit(x, y)


@pytest.mark.parametrize(("n", "alpha"), [(4, 0.5), (12, 0.3), (40, 1.0)])
def test_evidence_and_moments_beside_quadrature(n, alpha):
    x, y = slopes(n, seed=n)
    exact, mean, cov = quadrature(x, y, alpha)
    fits = {kind: fitted(kind, x, y, alpha) for kind in KINDS}
    assert [fits[kind].log_evidence_.kind for kind in KINDS] == ["laplace", "bound", "ep"]
    assert float(fits["variational"].log_evidence_) < exact
    errors = {kind: abs(float(fit.log_evidence_) - exact) for kind, fit in fits.items()}
    assert errors["ep"] == min(errors.values())
    std = np.sqrt(np.diagonal(cov))
    gaps = {k: np.abs((fit._weights.mean - mean) / std).max() for k, fit in fits.items()}
    assert gaps["ep"] < 0.02
    assert max(gaps["ep"], gaps["variational"]) < gaps["laplace"]


@pytest.mark.parametrize("n", [5, 15])
def test_variational_belief_is_the_best_normal_one(n):
    x, y = slopes(n, seed=n)
    model = fitted("variational", x, y, 0.5)
    best = fit_normal_belief(lambda v: log_joint(v, x, y, 0.5), model._weights.mean, scale=0.7)
    np.testing.assert_allclose(model._weights.mean, best.belief.mean, atol=1e-5)
    np.testing.assert_allclose(model._weights.cov, best.belief.cov, atol=1e-5)
    assert float(model.log_evidence_) == pytest.approx(-best.free_energy, abs=1e-7)


def sequential_softmax(x, y, alpha, sweeps=40):
    """Expectation propagation a site at a time, its moments by dense grids around each cavity."""
    n, basis = len(x), contrasts(3)
    z = np.linspace(-8.0, 8.0, 81)
    share = np.exp(-0.5 * z * z)
    points = np.stack([g.ravel() for g in np.meshgrid(z, z, indexing="ij")], axis=1)
    share = np.outer(share, share).ravel() / share.sum() ** 2
    precision, shift = np.zeros((n, 2, 2)), np.zeros((n, 2))

    def belief():
        cov = np.linalg.inv(alpha * np.eye(2) + np.einsum("n,nij->ij", x[:, 0] ** 2, precision))
        return cov @ (x[:, 0] @ shift), cov

    def cavity(i):
        mean, cov = belief()
        centre, spread = x[i, 0] * mean, x[i, 0] ** 2 * cov
        v = np.linalg.inv(np.linalg.inv(spread) - precision[i])
        m = v @ (np.linalg.solve(spread, centre) - shift[i])
        eta = m + points @ np.linalg.cholesky(v).T
        return m, v, eta, softmax(eta @ basis.T, axis=1)[:, y[i]]

    for _ in range(sweeps):
        for i in range(n):
            m, v, eta, likelihood = cavity(i)
            q = share * likelihood / (share @ likelihood)
            mean = q @ eta
            cov = ((eta - mean) * q[:, None]).T @ (eta - mean)
            precision[i] = np.linalg.inv(cov) - np.linalg.inv(v)
            shift[i] = np.linalg.solve(cov, mean) - np.linalg.solve(v, m)
    log_scale = 0.0
    for i in range(n):
        _, _, eta, likelihood = cavity(i)
        site = np.exp(eta @ shift[i] - 0.5 * np.einsum("si,ij,sj->s", eta, precision[i], eta))
        log_scale += np.log((share @ likelihood) / (share @ site))
    mean, cov = belief()
    at = x * mean
    log_sites = (at * shift).sum() - 0.5 * np.einsum("ni,nij,nj->", at, precision, at)
    log_prior = -0.5 * alpha * mean @ mean + np.log(alpha)
    return mean, cov, log_scale + log_sites + log_prior + 0.5 * np.linalg.slogdet(cov)[1]


@pytest.mark.parametrize("n", [4, 9])
def test_parallel_sites_end_where_sequential_ones_do(n):
    x, y = slopes(n, seed=n)
    model = fitted("ep", x, y, 0.5)
    mean, cov, evidence = sequential_softmax(x, y, 0.5)
    np.testing.assert_allclose(model._weights.mean, mean, atol=1e-7)
    np.testing.assert_allclose(model._weights.cov, cov, atol=1e-7)
    assert float(model.log_evidence_) == pytest.approx(evidence, abs=1e-7)


@pytest.mark.parametrize("kind", ["variational", "ep"])
def test_two_classes_of_softmax_are_the_logistic_ones(kind):
    """The contrast of two classes is v = η/√2: an α of η is 2α of v."""
    X, y = overlapping(40, 2)
    single = BayesianLogisticRegression(0.5, kind).fit(X, y)
    design = single._standardization.of(X)
    prior_mean = np.zeros(design.shape[1])
    prior_mean[0] = np.log(y.mean() / (1.0 - y.mean())) / np.sqrt(2.0)
    precision = np.full(len(prior_mean), 1.0)

    def density_of(cov):
        spread = None if cov is None else contrast_moments(design, prior_mean, cov, 1)[1]
        return SoftmaxPredictor(design, y, 2, precision, prior_mean, None, spread)

    mode = find_mode(density_of(None), prior_mean)
    belief = fit_normal_bound(density_of, mode, precision)
    if kind == "ep":
        start = softmax_sites(*contrast_moments(design, belief.mean, belief.cov, 1), y)
        belief, _ = fit_sites(
            SeveralPredictors(design, 1), softmax_tilt(y), precision, prior_mean, start=start
        )
    np.testing.assert_allclose(belief.mean * np.sqrt(2.0), single._weights.mean, atol=1e-6)
    np.testing.assert_allclose(belief.cov * 2.0, single._weights.cov, atol=1e-6)
    assert belief.log_evidence == pytest.approx(float(single.log_evidence_), abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [3, 6])
def test_probabilities_are_means_over_the_belief(kind, classes):
    X, y = overlapping(60, classes, seed=4)
    model = BayesianLogisticRegression(1.0, kind).fit(X, y)
    new = np.array([[3.0, 3.0], [5.0, -10.0], [4.0, 20.0]])
    draws = model.corrected_posterior_.sample(40_000, rng=0).reshape(-1, classes, 3)
    p = softmax(draws[:, :, :2] @ new.T + draws[:, :, 2:], axis=1)
    error = p.std(axis=0) / np.sqrt(len(p))
    gap = np.abs(model.predict_proba(new).T - p.mean(axis=0))
    np.testing.assert_array_less(gap, 5 * error + 5e-4)
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", ["variational", "ep"])
def test_weights_are_repeated_rows(kind):
    X, y = overlapping(30, 3)
    weight = np.arange(30) % 3
    repeated = BayesianLogisticRegression(1.0, kind).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    weighted = BayesianLogisticRegression(1.0, kind).fit(X, y, sample_weight=weight)
    assert float(weighted.log_evidence_) == pytest.approx(float(repeated.log_evidence_), abs=1e-7)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)


def test_separable_classes_end_in_finite_beliefs():
    X = np.array([[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]])
    for kind in KINDS:
        model = BayesianLogisticRegression(1.0, kind).fit(X, [0, 0, 1, 1, 2, 2])
        np.testing.assert_array_equal(model.predict(X), [0, 0, 1, 1, 2, 2])
        assert np.isfinite(float(model.log_evidence_))


@pytest.mark.parametrize(("approximation", "alpha"), [("ep", 1e-4), ("variational", 1e-6)])
def test_what_does_not_settle_carries_no_evidence_of_its_own(approximation, alpha):
    x, y = (
        part[::12] for part in load_iris(return_X_y=True)
    )  # separable: the prior holds the weights
    with pytest.warns(ConvergenceWarning, match=f"steps of '{approximation}'.*those of 'laplace'"):
        model = BayesianLogisticRegression(alpha, approximation).fit(x, y)
    laplace = BayesianLogisticRegression(alpha).fit(x, y)
    assert model.log_evidence_.kind == "laplace"
    assert float(model.log_evidence_) == float(laplace.log_evidence_)
    np.testing.assert_array_equal(model.predict_proba(x), laplace.predict_proba(x))


def test_sites_that_do_not_come_nearer_are_given_up_early():
    x, y = (part[::12] for part in load_wine(return_X_y=True))
    with pytest.warns(ConvergenceWarning, match=r"did not converge in \d\d steps of 'ep'"):
        BayesianLogisticRegression(0.01, "ep", max_iter=1000).fit(x, y)


def test_few_steps_are_enough_where_they_are_short():
    x, y = overlapping(60, 3, seed=2)
    full = BayesianLogisticRegression(1.0, "ep").fit(x, y)
    with pytest.warns(ConvergenceWarning, match="did not converge in 8 steps"):
        near = BayesianLogisticRegression(1.0, "ep", max_iter=8).fit(x, y)
    assert near.log_evidence_.kind == "ep"
    assert float(near.log_evidence_) == pytest.approx(float(full.log_evidence_), abs=1e-3)


def several_classes(k, n=120, d=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = np.argmax(3.0 * x @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k)), axis=1)
    y[:k] = np.arange(k)
    return x, y


@pytest.mark.parametrize("k", [3, 6])
def test_moving_to_the_mean_is_one_round_of_the_bound(k):
    """The mean is where averaged likelihoods have no slope, the precision their curvature there."""
    x, y = several_classes(k)
    size = (k - 1) * x.shape[1]
    precision, mean = np.full(size, 0.5), np.zeros(size)

    def density_of(cov):
        spread = None if cov is None else contrast_moments(x, mean, cov, k - 1)[1]
        return SoftmaxPredictor(x, y, k, precision, mean, None, spread)

    mode = find_mode(density_of(None), mean)
    belief = laplace_belief(mode, precision)
    moved = move_to_mean(belief, density_of, mode)
    averaged = density_of(belief.cov)
    wanted = averaged.curvature(moved.mean)
    _, slope = averaged.value_and_gradient(moved.mean)
    assert np.abs(slope / np.sqrt(np.diagonal(wanted))).max() < 0.01
    assert np.abs((moved.mean - mode.point) / np.sqrt(np.diagonal(belief.cov))).max() > 0.1
    np.testing.assert_allclose(np.linalg.inv(moved.cov), wanted, rtol=1e-8, atol=1e-8)
    assert moved.log_evidence == belief.log_evidence


def test_averaged_log_posterior_has_the_derivatives_it_states():
    """Also where a Hessian is asked for at another point than the last gradient."""
    k = 5
    x, y = several_classes(k, n=30)
    root = np.random.default_rng(1).normal(size=(30, k - 1, k - 1))
    size = (k - 1) * x.shape[1]
    density = SoftmaxPredictor(
        x, y, k, np.ones(size), np.zeros(size), np.arange(30.0), root @ root.swapaxes(1, 2)
    )
    rng = np.random.default_rng(2)
    w, way, h = rng.normal(size=size), rng.normal(size=size), 1e-5
    (up, after), (down, before) = (density.value_and_gradient(w + s * h * way) for s in (1, -1))
    hessian, (_, gradient) = density.curvature(w), density.value_and_gradient(w)
    assert gradient @ way == pytest.approx((up - down) / (2 * h), rel=1e-6)
    np.testing.assert_allclose(hessian @ way, (before - after) / (2 * h), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(density.curvature(w), hessian)


@pytest.mark.parametrize("k", [3, 4])
def test_stated_posterior_is_that_of_all_class_weights(k):
    """(B ⊗ T) C (B ⊗ T)ᵀ with what all predictors share, which keeps its prior."""
    x, y = several_classes(k)
    model = BayesianLogisticRegression(0.3).fit(2.0 + 3.0 * x, y)
    turn = model._standardization.turn()
    whole = np.kron(contrasts(k), turn)
    shared = np.kron(np.full((k, 1), 1.0 / np.sqrt(k)), turn)
    cov = whole @ model._weights.cov @ whole.T + shared @ shared.T / 0.3
    np.testing.assert_allclose(model.posterior_.cov, cov, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.posterior_.mean, whole @ model._weights.mean, rtol=1e-10)
