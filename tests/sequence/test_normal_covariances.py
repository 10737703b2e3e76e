"""Shared and spherical covariances, and mixtures in states: beliefs against dense sums over all labellings."""

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp, multigammaln

from posteriori import NormalWishart
from posteriori.sequence import HiddenMarkovModel
from tests.sequence.chain_oracles import all_paths, log_dirichlet_multinomial

MEAN, STRENGTH, DOF = np.array([0.5, -0.5]), 0.5, 5.0
INVERSE = np.array([[2.0, 0.3], [0.3, 1.0]])
PRIOR = NormalWishart(MEAN, STRENGTH, DOF, np.linalg.inv(INVERSE))


def rows(n=6):
    rng = np.random.default_rng(4)
    return rng.normal(size=(n, 2)) + 2.0 * (np.arange(n)[:, None] % 3 == 0)


def log_matrix_t(X, same):
    """ln p(X) of rows with one precision and means that are equal where ``same`` says so (dense)."""
    n, d = X.shape
    spread = np.eye(n) + same / STRENGTH
    about = X - MEAN
    scatter = INVERSE + about.T @ np.linalg.solve(spread, about)
    after = 0.5 * (DOF + n)
    return (
        -0.5 * n * d * np.log(np.pi)
        + multigammaln(after, d)
        - multigammaln(0.5 * DOF, d)
        - 0.5 * d * np.linalg.slogdet(spread)[1]
        + 0.5 * DOF * np.linalg.slogdet(INVERSE)[1]
        - after * np.linalg.slogdet(scatter)[1]
    )


def of_labels(X, z, covariance):
    """ln p(X | z), means and precisions integrated out."""
    if covariance == "shared":
        return log_matrix_t(X, z[:, None] == z)
    groups = [X[z == k] for k in np.unique(z)]
    if covariance == "full":
        return sum(log_matrix_t(g, np.ones((len(g), len(g)))) for g in groups)
    return sum(log_spherical(g) for g in groups)


def log_spherical(X):
    """ln p(X) of one state, its precision τ I integrated numerically under the prior given Λ = τI."""
    n, d = X.shape
    spread = np.eye(n) + 1.0 / STRENGTH
    square = np.trace((X - MEAN).T @ np.linalg.solve(spread, X - MEAN))
    trace = np.trace(INVERSE)

    def prior(tau):
        return tau ** (0.5 * d * (DOF - d - 1.0)) * np.exp(-0.5 * tau * trace)

    def joint(tau):
        return prior(tau) * tau ** (0.5 * n * d) * np.exp(-0.5 * tau * square)

    mass, total = (quad(f, 0.0, np.inf, epsrel=1e-11)[0] for f in (prior, joint))
    height = -0.5 * n * d * np.log(2.0 * np.pi) - 0.5 * d * np.linalg.slogdet(spread)[1]
    return height + np.log(total / mass)


def of_path(path, k):
    first, moves = np.zeros(k), np.zeros((k, k))
    first[path[0]] = 1.0
    np.add.at(moves, (path[:-1], path[1:]), 1.0)
    alpha = np.ones((k, k))
    return (
        log_dirichlet_multinomial(first, alpha[0]) + log_dirichlet_multinomial(moves, alpha).sum()
    )


def model(covariance, **options):
    return HiddenMarkovModel(
        2, "mvnormal", covariance=covariance, emission_prior=PRIOR, random_state=0, **options
    )


@pytest.mark.parametrize("covariance", ["full", "shared", "spherical"])
def test_evidence_of_labelled_rows_is_exact(covariance):
    X, z = rows(), np.array([0, 0, 1, 1, 0, 1])
    found = model(covariance).fit(X, states=z).log_evidence_
    assert found.kind == "exact"
    assert float(found) == pytest.approx(of_labels(X, z, covariance) + of_path(z, 2), rel=1e-10)


@pytest.mark.parametrize(
    "covariance", ["shared", pytest.param("spherical", marks=pytest.mark.slow)]
)
def test_evidence_lies_between_bound_and_estimate(covariance):
    X = rows()
    exact = logsumexp([of_labels(X, z, covariance) + of_path(z, 2) for z in all_paths(2, len(X))])
    m = model(covariance).fit(X)
    assert m.log_evidence_.kind == "bound"
    assert float(m.log_evidence_) < exact
    drawn = m.estimate_evidence(600)
    assert abs(float(drawn) - exact) <= 5.0 * drawn.error
    assert drawn.error < 0.3


@pytest.mark.slow  # hundreds of draws by turns
@pytest.mark.parametrize("covariance", ["full", "shared", "spherical"])
def test_evidence_of_mixtures_in_states_counts_all_labels(covariance):
    X, (k, m) = rows(4), (2, 2)
    total = []
    for path in all_paths(k, len(X)):
        for inside in product(range(m), repeat=len(X)):
            inner, n = np.array(inside), np.zeros((k, m))
            np.add.at(n, (path, inner), 1.0)
            weights = log_dirichlet_multinomial(n, np.ones((k, m))).sum()
            total.append(of_labels(X, path * m + inner, covariance) + weights + of_path(path, k))
    fitted = HiddenMarkovModel(
        k,
        "mixture",
        covariance=covariance,
        mixture_components=m,
        emission_prior=PRIOR,
        random_state=0,
    ).fit(X)
    assert float(fitted.log_evidence_) < logsumexp(total)
    drawn = fitted.estimate_evidence(1500)
    assert abs(float(drawn) - logsumexp(total)) <= 5.0 * drawn.error
    assert drawn.error < 0.1


@pytest.mark.parametrize("method", ["variational", "map"])
@pytest.mark.parametrize("covariance", ["shared", "spherical"])
@pytest.mark.parametrize("emission", ["mvnormal", "mixture"])
def test_no_step_lowers_the_objective_of_a_covariance(method, covariance, emission):
    X = np.concatenate([rows(30), rows(30) + np.array([0.0, 3.0])])
    X[::7, 0] = np.nan
    m = HiddenMarkovModel(
        2, emission, method, covariance=covariance, random_state=0, n_init=1, accelerated=False
    ).fit(X)
    assert -np.diff(m.trace_).min() <= 1e-10 * abs(m.trace_[-1])
    assert m.predict(X).shape == (60,)
    assert np.isfinite(m.log_prob(X))


@pytest.mark.parametrize("covariance", ["shared", "spherical"])
def test_the_mode_is_stationary_in_every_direction(covariance):
    """ln p(X, z | θ) + ln p(θ) of labelled rows, written out, has its maximum at ``model_``."""
    X, z = rows(12), np.array([0, 1] * 6)
    emission = model(covariance, method="map").fit(X, states=z).model_.emission
    means, covs = np.asarray(emission.mean), np.asarray(emission.cov)

    def objective(means, covs):
        precisions, total = np.linalg.inv(covs), 0.0
        log_det = np.linalg.slogdet(precisions)[1]
        for x, k in zip(X, z, strict=True):
            shift = x - means[k]
            total += 0.5 * (log_det[k] - shift @ precisions[k] @ shift)
        for k in range(2):
            shift = means[k] - MEAN
            total += 0.5 * (log_det[k] - STRENGTH * shift @ precisions[k] @ shift)
        for k in range(1 if covariance == "shared" else 2):  # of precisions, τ where they are τI
            total += 0.5 * (DOF - 3.0) * log_det[k] - 0.5 * np.trace(INVERSE @ precisions[k])
        return total

    best, step = objective(means, covs), 1e-4
    for k in range(2):
        for i in range(2):
            for sign in (-1.0, 1.0):
                moved = means.copy()
                moved[k, i] += sign * step
                assert objective(moved, covs) < best
    changes = [np.eye(2)] if covariance == "spherical" else [np.eye(2), np.diag([1.0, -1.0]), 1.0]
    for change in changes:
        for sign in (-1.0, 1.0):
            assert objective(means, covs + sign * step * np.asarray(change)) < best


def test_free_parameters_count_a_shared_covariance_once():
    X = rows(40)
    counts = {
        c: HiddenMarkovModel(2, "mvnormal", "em", covariance=c, random_state=0, n_init=1)
        .fit(X)
        .n_parameters_
        for c in ("full", "shared", "spherical")
    }
    assert counts == {"full": 3 + 4 + 6, "shared": 3 + 4 + 3, "spherical": 3 + 4 + 2}


def test_one_column_has_the_same_evidence_under_every_covariance():
    X = rows(8)[:, :1]
    z = np.array([0, 1] * 4)
    found = [
        float(HiddenMarkovModel(1, "mvnormal", covariance=c).fit(X).log_evidence_)
        for c in ("full", "shared", "spherical")
    ]
    np.testing.assert_allclose(found, found[0], rtol=1e-12)
    of_two = [
        float(HiddenMarkovModel(2, "mvnormal", covariance=c).fit(X, states=z).log_evidence_)
        for c in ("full", "spherical")
    ]
    assert of_two[0] == pytest.approx(of_two[1], rel=1e-12)


def test_states_that_share_a_covariance_have_one_prior_of_it():
    told = NormalWishart(np.zeros((2, 2)), [1.0, 1.0], [4.0, 5.0], np.array([np.eye(2)] * 2))
    with pytest.raises(ValueError, match="one prior of it"):
        HiddenMarkovModel(2, "mvnormal", covariance="shared", emission_prior=told).fit(rows())
