"""Rows that belong to something: the same components under every assignment, against one another and Bayes' rule."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

from posteriori.distributions import Normal
from posteriori.mixture import GaussianMixture, KMeans
from posteriori.numerics.logspace import log_sum_exp
from posteriori.sequence import FactorialHiddenMarkovModel, HiddenMarkovChain, HiddenMarkovModel
from tests.inference.latent.cases import (
    BELIEVED,
    CASES,
    SIZES,
    TOL,
    chain_of,
    fitted_chain,
    fitted_mixture,
    groups,
)

LIKELY = [name for name, case in CASES.items() if case.likely is not None]
LABELLED = [name for name, case in CASES.items() if case.classifier is not None]
ALONE = [name for name, case in CASES.items() if case.alone is not None]
ROWS = sum(SIZES)


def same_states(one, other, x):
    """Return whether two models divide rows alike, whatever they call the parts."""
    ones = [np.ones(len(x), dtype=int)] * isinstance(one, HiddenMarkovModel)
    p = one.predict_proba(x, lengths=ones[0]) if ones else one.predict_proba(x)
    p = np.concatenate(p) if isinstance(p, list) else p
    return np.allclose(p, other.predict_proba(x), atol=1e-6)


def log_prob_of(model, x):
    """Return ln p of each row."""
    if isinstance(model, HiddenMarkovModel):
        return model.log_prob(x, lengths=np.ones(len(x), dtype=int))
    return model.log_prob(x)


# -- chain of length 1 = mixture -----------------------------------------------------------


@pytest.mark.parametrize("name", BELIEVED)
def test_chain_of_single_rows_is_a_mixture(name):
    """The evidence, all namings of states or components counted, and what is predicted; by default priors."""
    chain, mixture = fitted_chain(name), fitted_mixture(name, concentration=None)
    assert float(chain.log_evidence_) == pytest.approx(float(mixture.log_evidence_), abs=1e-9)
    assert chain.symmetry_gain_ == pytest.approx(mixture.symmetry_gain_, abs=1e-9)
    assert chain.log_evidence_.comparable(mixture.log_evidence_)
    x = CASES[name].x[::5]
    assert same_states(chain, mixture, x)
    np.testing.assert_allclose(log_prob_of(chain, x), log_prob_of(mixture, x), atol=1e-6)


@pytest.mark.parametrize("name", LIKELY)
def test_most_likely_chain_of_single_rows_is_a_mixture(name):
    chain, mixture = fitted_chain(name, method="em"), fitted_mixture(name, likely=True)
    imagined = 1e-4 * (
        name in ("counts", "Student columns")
    )  # a millionth of a row, or fits in steps
    assert chain.log_likelihood_ == pytest.approx(mixture.log_likelihood_, abs=1e-8 + imagined)
    np.testing.assert_allclose(
        log_prob_of(chain, CASES[name].x), log_prob_of(mixture, CASES[name].x), atol=1e-4
    )


# -- labels: naive Bayes and discriminants -------------------------------------------------


def labelled_chain(name, concentration):
    """Return a chain of single rows whose states are known."""
    chain = chain_of(CASES[name], initial_concentration=concentration)
    with pytest.warns(UserWarning, match="never left"):  # there are no moves
        return chain.fit(CASES[name].x, lengths=np.ones(ROWS, dtype=int), states=groups())


@pytest.mark.parametrize("name", LABELLED)
def test_labelled_states_are_naive_bayes_or_a_discriminant(name):
    case = CASES[name]
    classifier = case.classifier().fit(case.x, groups())
    chain = labelled_chain(name, 1.0)
    assert chain.log_evidence_.kind == "exact"
    assert float(chain.log_evidence_) == pytest.approx(float(classifier.log_evidence_), rel=1e-10)
    assert same_states(chain, classifier, case.x[::5])


@pytest.mark.parametrize("name", sorted({*LABELLED} & {*BELIEVED}))
def test_rows_that_are_sure_of_their_component_are_labelled(name):
    """Where the shares of rows are 0 and 1 the bound of one naming is ln p(X, y)."""
    case, mixture = CASES[name], fitted_mixture(name)
    shares = mixture.predict_proba(case.x)
    lost = np.abs(shares - np.rint(shares)).sum()
    classifier = case.classifier().fit(case.x, mixture.predict(case.x))
    plain = float(mixture.log_evidence_) - mixture.symmetry_gain_
    assert plain - float(classifier.log_evidence_) == pytest.approx(0.0, abs=1e-9 + 10 * lost)
    assert plain >= float(classifier.log_evidence_) - 1e-9


# -- one component = Bayes' rule -----------------------------------------------------------


@pytest.mark.parametrize("name", ALONE)
def test_one_component_is_the_rule_of_bayes(name):
    case = CASES[name]
    exact = case.alone(case.x)
    for model in (fitted_mixture(name, 1), fitted_chain(name, 1)):
        assert float(model.log_evidence_) == pytest.approx(exact, rel=1e-11)
        assert model.log_evidence_.kind == "exact"


# -- hard assignment = k-means -------------------------------------------------------------


def test_hard_assignment_to_equal_spheres_is_the_objective_of_k_means():
    """Max over z of ln p(X, z) is −J/2σ² + const."""
    x, variance = CASES["normal rows"].x, 2.0
    start = x[[0, -1]]
    means = KMeans(2, init=start, split_merge=False, tol=0.0).fit(x)
    mixture = GaussianMixture(
        2,
        covariance="spherical",
        assignment="hard",
        weights_init=[0.5, 0.5],
        means_init=start,
        precisions_init=[1.0 / variance] * 2,
        fixed=("weights", "covariances"),
    ).fit(x)
    constant = -ROWS * np.log(2.0) - 0.5 * x.size * np.log(2.0 * np.pi * variance)
    expected = constant - 0.5 * means.inertia_ / variance
    assert mixture.trace_[-1] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(mixture.means_, means.cluster_centers_, rtol=1e-9)


# -- runs and several chains ---------------------------------------------------------------


def switching(rows=60):
    """Return rows of a chain that stays for a while."""
    rng = np.random.default_rng(4)
    states = np.cumsum(rng.random(rows) < 0.15) % 2
    return rng.normal(size=(rows, 2)) + np.array([[0.0, 1.0], [5.0, -3.0]])[states]


def test_geometric_runs_are_a_plain_chain():
    x = switching()
    start = HiddenMarkovChain(
        [0.4, 0.6], [[0.7, 0.3], [0.2, 0.8]], Normal([[0.0, 1.0], [5.0, -3.0]], variance=1.5)
    )
    options = {"method": "em", "start": start, "max_iter": 1, "tol": 1e9}
    plain = HiddenMarkovModel(2, **options).fit(x)
    runs = HiddenMarkovModel(2, durations="table", max_duration=300, **options).fit(x)
    assert runs.trace_[0] == pytest.approx(plain.trace_[0], rel=1e-12)
    np.testing.assert_allclose(
        runs.model_.emission.mean, plain.model_.emission.mean, rtol=1e-9
    )  # what rows say of states is the same


def test_one_factorial_chain_is_a_chain():
    x = switching()
    chain = HiddenMarkovModel(
        2, emission="mvnormal", covariance="shared", method="em", tol=1e-10, random_state=0
    ).fit(x)
    factorial = FactorialHiddenMarkovModel((2,), tol=1e-10, random_state=0).fit(x)
    assert factorial.log_likelihood_ == pytest.approx(chain.log_likelihood_, abs=1e-6)
    np.testing.assert_allclose(
        np.sort(np.diag(factorial.transition_[0])),
        np.sort(np.diag(chain.model_.transition)),
        atol=1e-4,
    )


# -- weights, names, gaps, streams ---------------------------------------------------------


@pytest.mark.parametrize("name", BELIEVED)
def test_weights_are_repeated_rows(name):
    case = CASES[name]
    times = np.random.default_rng(5).integers(1, 3, ROWS)
    again, ones = np.repeat(case.x, times, axis=0), np.ones(ROWS, dtype=int)
    make = {"n_components": 2, "tol": TOL, "random_state": 0}
    mixtures = [
        case.mixture(**make).fit(case.x, sample_weight=times.astype(float)),
        case.mixture(**make).fit(again),
    ]
    chains = [
        chain_of(case).fit(case.x, lengths=ones, sequence_weight=times.astype(float)),
        chain_of(case).fit(again, lengths=np.ones(len(again), dtype=int)),
    ]
    for one, other in (mixtures, chains):
        assert float(one.log_evidence_) == pytest.approx(float(other.log_evidence_), abs=1e-8)
        assert one.log_evidence_.comparable(other.log_evidence_)


@pytest.mark.parametrize("name", BELIEVED)
def test_neither_the_order_of_rows_nor_names_matter(name):
    case = CASES[name]
    order = np.random.default_rng(6).permutation(ROWS)
    first = np.eye(2)[groups()] * 0.8 + 0.1
    make = {"n_components": 2, "tol": TOL, "responsibilities_init": first}
    given = case.mixture(**make).fit(case.x)
    make["responsibilities_init"] = first[order][:, ::-1]
    other = case.mixture(**make).fit(case.x[order])
    assert float(other.log_evidence_) == pytest.approx(float(given.log_evidence_), abs=1e-9)
    np.testing.assert_allclose(np.sort(other.weights_), np.sort(given.weights_), atol=1e-6)
    chain = fitted_chain(name)
    moved = chain_of(case).fit(case.x[order], lengths=np.ones(ROWS, dtype=int))
    assert float(moved.log_evidence_) == pytest.approx(float(chain.log_evidence_), abs=1e-9)


VALUES = {"codes": np.arange(3.0), "counts": np.arange(200.0), "kinds of columns": np.arange(200.0)}


@pytest.mark.parametrize("name", BELIEVED)
def test_gaps_are_summed_out(name):
    """A row without its last entry has the sum of the densities of all that this could be."""
    case = CASES[name]
    row = case.x[3].copy()
    grid = VALUES.get(name, np.linspace(row[-1] - 400.0, row[-1] + 400.0, 160_001))
    whole = np.repeat(row[None], len(grid), axis=0)
    whole[:, -1] = grid
    missing = row.copy()
    missing[-1] = np.nan
    step = np.log(grid[1] - grid[0])
    for model in (fitted_mixture(name), fitted_chain(name)):
        summed = log_sum_exp(log_prob_of(model, whole)) + step
        assert log_prob_of(model, missing[None])[0] == pytest.approx(float(summed), abs=1e-3)


@pytest.mark.parametrize("name", sorted({*ALONE} - {"normal rows"}))  # vectors: a bound
def test_gaps_of_one_component_are_left_out_of_the_evidence(name):
    case = CASES[name]
    x = np.where(np.random.default_rng(7).random(case.x.shape) < 0.2, np.nan, case.x)
    x = x[~np.isnan(x).all(axis=1)]
    exact = case.alone(x)
    ones = np.ones(len(x), dtype=int)
    mixture = case.mixture(n_components=1).fit(x)
    assert float(mixture.log_evidence_) == pytest.approx(exact, rel=1e-10)
    assert float(chain_of(case, 1).fit(x, lengths=ones).log_evidence_) == pytest.approx(
        exact, rel=1e-10
    )


def test_a_stream_of_one_component_is_its_batch():
    case = CASES["normal rows"]
    streamed = case.mixture(n_components=1).fit(case.x[:15]).update(case.x[15:])
    whole = case.mixture(n_components=1).fit(case.x)
    np.testing.assert_allclose(streamed.means_, whole.means_, rtol=1e-10)
    np.testing.assert_allclose(streamed.covariances_, whole.covariances_, rtol=1e-10)


def test_labels_count_first_states_by_dirichlet_and_multinomial():
    """What labels add to the evidence of rows is ln B(α + n)/B(α)."""
    case = CASES["counts"]
    chain = labelled_chain("counts", 0.5)
    rows = sum(case.alone(case.x[groups() == k]) for k in range(2))
    n = np.array(SIZES)
    labels = gammaln(0.5 + n).sum() - gammaln(1.0 + ROWS) - 2 * gammaln(0.5) + gammaln(1.0)
    assert float(chain.log_evidence_) == pytest.approx(rows + labels, rel=1e-11)
