"""Mixtures of normals by variational Bayes: enumeration, the notes' numbers, namings, gaps."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.exceptions import NotFittedError

from posteriori import MvNormal, NormalWishart, bayes
from posteriori.datasets import load_old_faithful
from posteriori.mixture import BayesianGaussianMixture
from tests.scikit_learn_checks import every_check


def faithful(standardised=False):
    x = np.array(load_old_faithful().data, dtype=float)
    return (x - x.mean(axis=0)) / x.std(axis=0) if standardised else x


@every_check(
    [
        BayesianGaussianMixture(2, random_state=0),
        BayesianGaussianMixture(
            3, weight_concentration_prior_type="dirichlet_process", random_state=0
        ),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.topic("004/9.17", "004/9.16", "004/9.4")
def test_old_faithful_as_in_the_notes_moves_from_three_clusters_to_two():
    means = [[3, 60], [4, 70], [2, 50], [2, 60], [3, 100], [4, 80]]
    prior = NormalWishart(
        np.array(means, float), np.ones(6), np.full(6, 3.0), np.array([np.diag([1, 0.01])] * 6)
    )
    given = {
        "prior": prior,
        "weight_concentration_prior": 0.01,
        "responsibilities_init": np.full((272, 6), 1 / 6),
        "tol": 1e-9,
    }
    stuck = BayesianGaussianMixture(6, **given, split_merge=False).fit(faithful())
    assert float(stuck.log_evidence_) == pytest.approx(-1185.106, abs=1e-3)
    assert (stuck.weights_ > 0.01).sum() == 3
    moved = BayesianGaussianMixture(6, **given).fit(faithful())
    assert float(moved.log_evidence_) == pytest.approx(-1165.138, abs=1e-3)
    counts = np.sort(moved.posterior_.weights.concentration - 0.01)[::-1]
    assert counts[:2] == pytest.approx([175.12, 96.88], abs=0.01)
    assert moved.symmetry_gain_ == 0.0  # components have names: priors of their own
    assert np.all(np.diff(moved.trace_) >= -1e-7)


@pytest.mark.topic("004/9.17", "004/9.16")
def test_old_faithful_with_a_shared_prior_about_the_mean():
    prior = NormalWishart(faithful().mean(axis=0), 1.0, 3.0, np.diag([1, 0.01]))
    b = BayesianGaussianMixture(
        6, prior=prior, weight_concentration_prior=0.01, random_state=0, tol=1e-9
    ).fit(faithful())
    bound = float(b.log_evidence_) - b.symmetry_gain_
    assert bound == pytest.approx(-1179.37248, abs=1e-4)
    assert b.means_[:2] == pytest.approx(np.array([[4.287, 79.942], [2.054, 54.682]]), abs=1e-2)


def test_evidence_counts_all_namings():
    prior = NormalWishart(np.zeros(2), 0.1, 4.0, np.eye(2) / 4)
    b = BayesianGaussianMixture(
        6, prior=prior, weight_concentration_prior=0.1, random_state=0, tol=1e-9
    ).fit(faithful(standardised=True))
    assert b.symmetry_gain_ == pytest.approx(np.log(30.0), abs=1e-4)
    assert float(b.log_evidence_) - b.symmetry_gain_ == pytest.approx(-463.7790, abs=1e-4)


@pytest.mark.topic("004/9.16")
def test_one_component_is_exact_and_says_so():
    x = faithful(standardised=True)
    prior = NormalWishart(np.zeros(2), 1.0, 3.0, np.eye(2))
    b = BayesianGaussianMixture(1, prior=prior).fit(x)
    assert b.log_evidence_.kind == "exact"
    exact = bayes(prior, lambda m, p: MvNormal(m, precision=p), x)
    assert float(b.log_evidence_) == pytest.approx(float(exact.log_evidence), abs=1e-8)
    assert float(b.log_evidence_) == pytest.approx(-560.8560645, abs=1e-6)
    x[0, 0] = np.nan
    assert BayesianGaussianMixture(1, prior=prior).fit(x).log_evidence_.kind == "bound"


def exact_evidence(x, prior, k, alpha):
    """Sum over all K^N labellings, parameters integrated out."""
    terms = []
    for labels in product(range(k), repeat=len(x)):
        labels = np.array(labels)
        counts = np.bincount(labels, minlength=k)
        term = gammaln(k * alpha) - gammaln(len(x) + k * alpha)
        term += (gammaln(counts + alpha) - gammaln(alpha)).sum()
        for j in range(k):
            if counts[j]:
                learned = bayes(prior, lambda m, p: MvNormal(m, precision=p), x[labels == j])
                term += float(learned.log_evidence)
        terms.append(term)
    return float(np.logaddexp.reduce(terms))


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_the_bound_is_below_the_sum_over_all_labellings(alpha):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-4, 1, size=(3, 2)), rng.normal(4, 1, size=(3, 2))])
    prior = NormalWishart(np.zeros(2), 0.2, 4.0, np.eye(2) / 2)
    b = BayesianGaussianMixture(
        2, prior=prior, weight_concentration_prior=alpha, random_state=0, tol=1e-10
    ).fit(x)
    exact = exact_evidence(x, prior, 2, alpha)
    assert float(b.log_evidence_) <= exact
    assert float(b.log_evidence_) >= exact - 3.0
    assert b.symmetry_gain_ > 0.5
    assert float(b.log_evidence_) == pytest.approx(b.trace_[-1] + b.symmetry_gain_, abs=1e-9)


@pytest.mark.parametrize("kind", ["dirichlet_distribution", "dirichlet_process"])
@pytest.mark.parametrize("gaps", [False, True])
def test_the_bound_never_falls(kind, gaps):
    x = faithful()[::2]
    if gaps:
        x[np.random.default_rng(0).random(x.shape) < 0.15] = np.nan
    b = BayesianGaussianMixture(
        5, weight_concentration_prior_type=kind, random_state=1, split_merge=False
    ).fit(x)
    assert np.all(np.diff(b.trace_) >= -1e-7)
    assert b.weights_.sum() == pytest.approx(1.0)
    assert np.all(np.diff(b.weights_) <= 1e-12)


def test_weights_equal_repeated_rows():
    x = faithful()[:80]
    times = np.random.default_rng(0).integers(0, 3, size=80)
    weighted = BayesianGaussianMixture(3, random_state=0).fit(x, sample_weight=times)
    repeated = BayesianGaussianMixture(3, random_state=0).fit(np.repeat(x, times, axis=0))
    assert float(weighted.log_evidence_) == pytest.approx(float(repeated.log_evidence_), abs=1e-4)
    assert weighted.log_evidence_.comparable(repeated.log_evidence_)


def test_evidence_moves_with_affine_maps_of_rows_and_prior():
    x = faithful()
    a, b = np.array([[2.0, 0.1], [0.5, 30.0]]), np.array([100.0, -7.0])
    prior = NormalWishart(x.mean(axis=0), 0.5, 5.0, np.diag([0.3, 0.002]))
    back = np.linalg.inv(a)
    moved = NormalWishart(a @ x.mean(axis=0) + b, 0.5, 5.0, back.T @ np.diag([0.3, 0.002]) @ back)
    one = BayesianGaussianMixture(3, prior=prior, random_state=0, tol=1e-9).fit(x)
    two = BayesianGaussianMixture(3, prior=moved, random_state=0, tol=1e-9).fit(x @ a.T + b)
    shift = len(x) * np.log(np.linalg.det(a))
    assert float(two.log_evidence_) + shift == pytest.approx(float(one.log_evidence_), abs=1e-4)


def test_a_prior_serves_rows_without_spread():
    prior = NormalWishart(np.zeros(2), 1.0, 4.0, np.eye(2))
    b = BayesianGaussianMixture(2, prior=prior, random_state=0).fit([[1.0, 2.0]])
    exact = exact_evidence(np.array([[1.0, 2.0]]), prior, 2, 0.5)
    assert float(b.log_evidence_) <= exact + 1e-9
    same = BayesianGaussianMixture(1, prior=prior).fit([[1.0, 2.0]] * 4)
    learned = bayes(prior, lambda m, p: MvNormal(m, precision=p), np.array([[1.0, 2.0]] * 4))
    assert float(same.log_evidence_) == pytest.approx(float(learned.log_evidence), abs=1e-9)


def test_the_predictive_of_one_component_is_the_belief_averaged_over():
    prior = NormalWishart([0.5, 1.0], 0.7, 4.0, [[1.0, 0.3], [0.3, 2.0]])
    x = np.random.default_rng(3).normal(size=(6, 2)) * [1.0, 3.0]
    model = BayesianGaussianMixture(1, prior=prior).fit(x)
    learned = bayes(prior, lambda m, p: MvNormal(m, precision=p), x)
    new = np.array([[0.0, 0.0], [2.0, -5.0], [-4.0, 9.0]])
    assert model.score_samples(new) == pytest.approx(learned.predictive.log_prob(new), abs=1e-9)


def test_the_predictive_is_a_mixture_of_students():
    b = BayesianGaussianMixture(3, random_state=0).fit(faithful())
    x = faithful()[:20]
    assert b.score_samples(x) == pytest.approx(b.model_.log_prob(x), abs=1e-9)
    rows, codes = b.sample(2000, rng=0)
    assert rows.shape == (2000, 2)
    assert np.bincount(codes, minlength=3) / 2000 == pytest.approx(b.weights_, abs=0.06)
    drawn = b.impute([[2.0, np.nan]], draws=500, rng=0)[:, 0, 1]
    assert drawn.mean() == pytest.approx(54.5, abs=2.0)


@pytest.mark.parametrize(
    ("make", "x", "error", "words"),
    [
        ({}, [[1.0, 5.0], [2.0, 5.0]], ValueError, "column 1 of X is constant"),
        ({}, [[1.0, 5.0]], ValueError, "1 sample"),
        ({}, [[1.0, np.nan], [2.0, np.nan]], ValueError, "column 1 of X has no entry"),
        ({"prior": "wide"}, [[1.0], [2.0]], TypeError, "prior must be a NormalWishart"),
        (
            {"weight_concentration_prior": 0.0},
            [[1.0], [2.0]],
            ValueError,
            "must be a positive number",
        ),
        ({"responsibilities_init": [[1.0]]}, [[1.0], [2.0]], ValueError, r"shape \(2, 1\)"),
        ({"responsibilities_init": [[1.0], [0.5]]}, [[1.0], [2.0]], ValueError, "sum to 1"),
        (
            {"prior": NormalWishart(np.zeros(2), 1.0, 4.0, np.eye(2))},
            [[1.0], [2.0]],
            ValueError,
            "prior is of 2 columns",
        ),
    ],
)
def test_bad_input_is_named(make, x, error, words):
    with pytest.raises(error, match=words):
        BayesianGaussianMixture(**make).fit(x)


def test_partitions_by_enumeration_and_by_draws():
    """The exact evidence is that of all labellings, and drawn partitions agree with the sum."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-3, 1, size=(3, 2)), rng.normal(3, 1, size=(3, 2))])
    prior = NormalWishart(np.zeros(2), 0.2, 4.0, np.eye(2) / 2)
    b = BayesianGaussianMixture(2, prior=prior, weight_concentration_prior=0.7)
    exact = b.enumerate_partitions(x)
    total = exact_evidence(x, prior, 2, 0.7)
    assert float(exact.log_evidence) == pytest.approx(total, abs=1e-9)
    assert exact.log_evidence.kind == "exact"
    drawn = b.sample_partitions(x, draws=2000, rng=0)
    assert drawn.similarity == pytest.approx(exact.similarity, abs=0.08)
    fitted = b.fit(x)
    assert float(fitted.log_evidence_) <= total


def test_partitions_need_no_fit():
    drawn = BayesianGaussianMixture(2).sample_partitions(faithful()[:30], draws=40, rng=0)
    assert drawn.similarity.shape == (30, 30)
    with pytest.raises(ValueError, match="column 1 of X is constant"):
        BayesianGaussianMixture(2).enumerate_partitions([[1.0, 2.0], [2.0, 2.0], [4.0, 2.0]])


@pytest.mark.parametrize("kind", ["dirichlet_distribution", "dirichlet_process"])
def test_fits_and_partitions_have_the_same_default_weights(kind):
    x = faithful(standardised=True)[:7]
    default = BayesianGaussianMixture(
        4, weight_concentration_prior_type=kind, random_state=0, tol=1e-9
    )
    told = {"dirichlet_distribution": 0.25, "dirichlet_process": 1.0}[kind]
    given = BayesianGaussianMixture(
        4,
        weight_concentration_prior=told,
        weight_concentration_prior_type=kind,
        random_state=0,
        tol=1e-9,
    )
    assert float(default.fit(x).log_evidence_) == pytest.approx(
        float(given.fit(x).log_evidence_), abs=1e-9
    )
    parts = (model.enumerate_partitions(x).log_evidence for model in (default, given))
    assert float(next(parts)) == pytest.approx(float(next(parts)), abs=1e-12)


# -- further rows ----------------------------------------------------------------------------


def test_one_component_goes_on_as_if_all_rows_had_come_at_once() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(70, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]])
    prior = NormalWishart(np.zeros(2), mean_strength=0.1, dof=4.0, scale=np.eye(2))
    parts = BayesianGaussianMixture(1, prior=prior).fit(x[:40]).update(x[40:])
    whole = BayesianGaussianMixture(1, prior=prior).fit(x)
    for name in ("location", "mean_strength", "dof", "inverse_scale"):
        mine, theirs = (getattr(m.posterior_.components, name) for m in (parts, whole))
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


def test_components_that_lie_apart_go_on_as_if_all_rows_had_come_at_once() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(90, 2)) + 40.0 * (np.arange(90) % 3 == 0)[:, None]
    prior = NormalWishart(x.mean(axis=0), mean_strength=0.1, dof=4.0, scale=np.eye(2))
    options = {"prior": prior, "weight_concentration_prior": 1.0, "random_state": 0}
    parts = BayesianGaussianMixture(2, **options).fit(x[:45]).update(x[45:])
    whole = BayesianGaussianMixture(2, **options).fit(x)
    np.testing.assert_allclose(parts.means_, whole.means_, rtol=1e-6)
    np.testing.assert_allclose(parts.covariances_, whole.covariances_, rtol=1e-6)
    np.testing.assert_allclose(parts.weights_, whole.weights_, rtol=1e-6)
    assert not hasattr(parts, "log_evidence_")


def test_what_cannot_go_on_stays_as_it_was() -> None:
    x = np.random.default_rng(5).normal(size=(40, 2))
    sticks = BayesianGaussianMixture(2, weight_concentration_prior_type="dirichlet_process").fit(x)
    with pytest.raises(ValueError, match="fit all rows at once"):
        sticks.update(x)
    fitted = BayesianGaussianMixture(2, random_state=0).fit(x)
    before = fitted.means_.copy()
    refused = ((x[:, :1], "1 features"), (x[:0], "0 sample"), (np.full((3, 2), np.inf), "inf"))
    for wrong, said in refused:
        with pytest.raises(ValueError, match=said):
            fitted.update(wrong)
    np.testing.assert_array_equal(fitted.means_, before)
    with pytest.raises(NotFittedError):
        BayesianGaussianMixture(2).update(x)
