"""Prequential evidence is a probability: sums over labels and counts, and integrals, are 1."""

import itertools

import numpy as np
import pytest
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from posteriori import Normal
from posteriori.classification import (
    BayesianLogisticRegression,
    ClassFrequencies,
    GaussianDiscriminant,
    KNeighborsClassifier,
    LogisticRegression,
)
from posteriori.ensemble import RandomForestClassifier, RandomForestRegressor
from posteriori.numerics import LogEvidence
from posteriori.regression import BayesianLinearRegressor, PoissonRegressor, RobustRegressor
from posteriori.selection import ModelSet, prequential_evidence

NAMES = np.array(["a", "b", "c"])


class Picky(ClassifierMixin, BaseEstimator):
    """Refuses fewer than five rows."""

    def fit(self, X, y):
        if len(X) < 5:
            raise ValueError("too few")
        self.model_ = ClassFrequencies().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class MeanAndSpread(RegressorMixin, BaseEstimator):
    """Normal around the mean of its rows, with a variance of four."""

    def fit(self, X, y):
        self.mean_ = y.mean()
        return self

    def predict_dist(self, X):
        return Normal(np.full(len(X), self.mean_), variance=4.0)


def some_rows(n, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def total_over_labels(estimator, n, classes, seed=0):
    x = some_rows(n)
    labels = itertools.product(NAMES[:classes], repeat=n)
    every = [prequential_evidence(estimator, x, np.array(y), NAMES[:classes], seed) for y in labels]
    return special.logsumexp([float(one) for one in every])


CLASSIFIERS = [
    BayesianLogisticRegression(),
    ClassFrequencies(),
    GaussianDiscriminant(),
    GaussianNB(),
    KNeighborsClassifier(3),
    LogisticRegression(ridge=0.1),
    make_pipeline(StandardScaler(), ClassFrequencies()),
]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_probabilities_of_all_labellings_sum_to_one(estimator):
    assert total_over_labels(estimator, 5, 2) == pytest.approx(0.0, abs=1e-9)


def test_three_classes_sum_to_one():
    assert total_over_labels(GaussianNB(), 5, 3) == pytest.approx(0.0, abs=1e-9)


def test_a_refusal_is_answered_by_the_constant_model():
    assert total_over_labels(Picky(), 9, 2) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_forests_sum_to_one():
    forest = RandomForestClassifier(3, random_state=0)
    assert total_over_labels(forest, 6, 2, seed=4) == pytest.approx(0.0, abs=1e-9)


def test_blocks_are_predicted_by_the_rows_before_them():
    x = some_rows(30)
    y = NAMES[np.digitize(x[:, 0], [-0.4, 0.4])]
    found = prequential_evidence(KNeighborsClassifier(3), x, y, rng=5)
    order = np.random.default_rng(5).permutation(30)
    x, codes = x[order], np.searchsorted(NAMES, y[order])
    total = 0.0
    for n, code in enumerate(codes[:4]):  # Laplace's rule: (N_k + 1)/(n + K)
        total += np.log(((codes[:n] == code).sum() + 1) / (n + 3))
    for start, stop in ((4, 8), (8, 15), (15, 30)):
        model = KNeighborsClassifier(3).fit(x[:start], codes[:start])
        p = np.full((stop - start, 3), 1.0 / (start + 3))
        p[:, model.classes_] = model.predict_proba(x[start:stop])
        p[:, model.classes_] *= 1.0 - (3 - len(model.classes_)) / (start + 3)
        total += np.log(p[np.arange(stop - start), codes[start:stop]]).sum()
    assert float(found) == pytest.approx(total, rel=1e-10)
    assert found.kind == "prequential"
    assert found.of == "y|X"


def test_all_fits_together_see_about_as_many_rows_as_one():
    class Counting(ClassFrequencies):
        rows = 0

        def fit(self, X, y, sample_weight=None):
            Counting.rows += len(X)
            return super().fit(X, y)

    for n in (64, 100, 999, 1000):
        Counting.rows = 0
        prequential_evidence(Counting(), some_rows(n), np.arange(n) % 2)
        assert 0.9 * n - 5 < Counting.rows <= n + np.log2(n)


# -- numbers -------------------------------------------------------------------------------------


def all_numbers(count):
    """Return nodes and weights of an integral over all numbers, by a map from (−1, 1)."""
    t, weights = np.polynomial.legendre.leggauss(count)
    return 3.0 * t / (1 - t**2), weights * 3.0 * (1 + t**2) / (1 - t**2) ** 2


def integral_beyond_first_block(estimator, count):
    """Integrate the density of the last of five rows, given the others.

    A fit to the first three predicts both that follow.
    """
    x, order = some_rows(5, 1), np.random.default_rng(0).permutation(5)
    y = np.array([0.3, -1.2, 0.7, 2.0, 0.4])
    others = float(prequential_evidence(estimator, x, y))
    model = clone(estimator).fit(x[order[:3]], y[order[:3]])
    others -= float(model.predict_dist(x[order[4:]]).log_prob(y[order[4:]])[0])
    total = 0.0
    for at, weight in zip(*all_numbers(count), strict=True):
        y[order[4]] = at
        total += weight * np.exp(float(prequential_evidence(estimator, x, y)) - others)
    return total


@pytest.mark.parametrize(
    "estimator",
    [
        BayesianLinearRegressor(),
        RobustRegressor(),
        pytest.param(RandomForestRegressor(5, random_state=0), marks=pytest.mark.slow),
    ],
    ids=lambda e: type(e).__name__,
)
def test_densities_of_the_last_number_integrate_to_one(estimator):
    assert integral_beyond_first_block(estimator, 100) == pytest.approx(1.0, abs=1e-5)


def test_densities_of_two_numbers_integrate_to_one():
    x, order = some_rows(5, 1), np.random.default_rng(0).permutation(5)
    y = np.array([0.3, -1.2, 0.7, 2.0, 0.4])
    seen = y[order[:3]]
    first = prequential_evidence(MeanAndSpread(), x[order[:3]], seen)  # nothing but a first block
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    at = seen.mean() + 2.0 * nodes
    weights = weights * 2.0 * np.exp(nodes**2 / 2)
    total = 0.0
    for (a, wa), (b, wb) in itertools.product(zip(at, weights, strict=True), repeat=2):
        y[order[3:]] = a, b
        joint = float(prequential_evidence(MeanAndSpread(), x, y))
        total += wa * wb * np.exp(joint - float(first))
    assert total == pytest.approx(1.0, abs=1e-9)


def test_counts_sum_to_one():
    x, order = some_rows(5, 1), np.random.default_rng(0).permutation(5)
    y = np.array([2.0, 0.0, 3.0, 1.0, 4.0])
    model = PoissonRegressor()
    logs = []
    for last in range(80):
        targets = y.copy()
        targets[order[4]] = last
        logs.append(float(prequential_evidence(model, x, targets)))
    own = model.fit(x[order[:3]], y[order[:3]]).predict_dist(x[order[4:]])
    rest = logs[0] - float(own.log_prob(np.array([0.0]))[0])
    assert np.exp(special.logsumexp(logs) - rest) == pytest.approx(1.0, abs=1e-6)


def test_the_first_block_is_told_by_its_own_scale():
    y = np.array([1.0, 2.0, 4.0, 1.5])
    found = float(prequential_evidence(BayesianLinearRegressor(), np.zeros((4, 1)), y))
    m, s2 = y.mean(), y.var()
    # NormalGamma(m, ½, 2, s²): the predictive density of each number given those before it
    kappa, a, b, expected = 0.5, 2.0, s2, 0.0
    order = np.random.default_rng(0).permutation(4)
    for value in y[order]:
        scale2 = b * (kappa + 1) / (a * kappa)
        t = (value - m) ** 2 / scale2
        expected += (
            special.gammaln(a + 0.5) - special.gammaln(a) - 0.5 * np.log(2 * a * np.pi * scale2)
        )
        expected -= (a + 0.5) * np.log1p(t / (2 * a))
        b += 0.5 * kappa * (value - m) ** 2 / (kappa + 1)
        m, kappa, a = (kappa * m + value) / (kappa + 1), kappa + 1, a + 0.5
    assert found == pytest.approx(expected, rel=1e-10)


def test_the_first_block_ends_with_a_number_that_differs():
    x, y = some_rows(40), np.ones(40)
    y[np.random.default_rng(0).permutation(40)[25:]] = np.arange(15.0)
    assert np.isfinite(float(prequential_evidence(BayesianLinearRegressor(), x, y)))


def test_scaling_numbers_scales_their_density():
    x, y = some_rows(50), some_rows(50)[:, 0] + some_rows(50, seed=1)[:, 1]
    one = prequential_evidence(BayesianLinearRegressor(), x, y)
    other = prequential_evidence(BayesianLinearRegressor(), x, 8.0 * y)
    assert float(other) == pytest.approx(float(one) - 50 * np.log(8.0), rel=1e-9)


def test_a_model_that_learns_has_more_evidence_than_a_constant():
    x = some_rows(200)
    y = 2.0 * x[:, 0] + some_rows(200, seed=1)[:, 0]
    line = prequential_evidence(BayesianLinearRegressor(), x, y)
    flat = prequential_evidence(BayesianLinearRegressor(np.inf), x, y)
    assert line - flat > 100
    exact = clone(BayesianLinearRegressor()).fit(x, y).log_evidence_
    assert abs(float(line) - float(exact)) < 30  # of one size, though of another question


# -- what compares, and what is refused ------------------------------------------------------------


def test_it_compares_with_its_like_only():
    x = some_rows(60)
    y = x[:, 0] > 0.2
    near = prequential_evidence(KNeighborsClassifier(), x, y)
    flat = prequential_evidence(ClassFrequencies(), x, y)
    exact = ClassFrequencies().fit(x, y).log_evidence_
    assert near.comparable(flat)
    assert ModelSet({"near": near, "flat": flat}).log_evidence.kind == "prequential"
    assert near.fingerprint == exact.fingerprint
    assert not near.comparable(exact)
    with pytest.raises(ValueError, match="take prequential_evidence of both"):
        ModelSet({"near": near, "flat": exact})


def test_sets_of_models_know_every_kind():
    evidences = {
        "a": LogEvidence(-1.0, kind="quadrature"),
        "b": LogEvidence(-1.0, kind="exact"),
    }
    assert ModelSet(evidences).log_evidence.kind == "quadrature"


def test_a_seed_gives_the_same_number_and_another_one_nearly():
    x = some_rows(300)
    y = np.where(x[:, 0] + 0.5 * some_rows(300, seed=1)[:, 0] > 0, "yes", "no")
    values = [
        float(prequential_evidence(BayesianLogisticRegression(), x, y, rng=seed))
        for seed in (0, 0, 1, 2)
    ]
    assert values[0] == values[1]
    assert values[0] != values[2]
    assert np.ptp(values) < 20


@pytest.mark.parametrize(
    ("model", "y", "error", "words"),
    [
        (ClassFrequencies(), ["a"] * 8, ValueError, "at least two classes, got"),
        (BayesianLinearRegressor(), np.ones(8), ValueError, "numbers that differ"),
        (BayesianLinearRegressor(), [np.nan, *range(7)], ValueError, "y is nan in row 0"),
        (BayesianLinearRegressor(), [1e300, *range(7)], ValueError, "y"),
        (Ridge(), np.arange(8.0), TypeError, "cannot say how probable a row is"),
        (ClassFrequencies(0.0), [0, 1] * 4, ValueError, "concentration must be a positive number"),
    ],
)
def test_what_has_no_such_evidence_is_refused(model, y, error, words):
    with pytest.raises(error, match=words):
        prequential_evidence(model, some_rows(8), y)


def test_labels_are_among_the_classes():
    with pytest.raises(ValueError, match="y holds 'c', which is none of classes"):
        prequential_evidence(ClassFrequencies(), some_rows(6), NAMES[[0, 1, 2] * 2], ["a", "b"])
