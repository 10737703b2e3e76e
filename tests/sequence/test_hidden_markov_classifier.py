"""Classes of sequences: Bayes' rule over hidden chains, and training that tells them apart."""

import warnings

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone

from posteriori.inference.mixtures.likelihood_ascent import PartsShape
from posteriori.inference.mixtures.mixture_rows import CompleteRows, GappyRows
from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.inference.sequences.discriminative_ascent import DiscriminativeProblem
from posteriori.inference.sequences.flat_emissions import FlatCounts, FlatNormals, FlatSymbols
from posteriori.numerics import ConvergenceWarning
from posteriori.sequence import HiddenMarkovClassifier


def sequences(seed, family):
    """Two classes whose rows are alike but whose order is not."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for r in range(16):
        stay = (0.85, 0.55)[r % 2]
        z = (rng.random(15) > stay).cumsum() % 2
        if family == "categorical":
            rows = (z + (rng.random(15) < 0.2)) % 2
        elif family == "poisson":
            rows = rng.poisson(2.0 + 4.0 * z)
        else:
            rows = np.column_stack([rng.normal(1.5 * z), rng.normal(size=15)])
        X.append(rows.reshape(15, -1))
        y.append(("calm", "wild")[r % 2])
    return X, y


def flat_normals(x, kind):
    rows = GappyRows if np.isnan(x).any() else CompleteRows
    return FlatNormals(rows.of(x, None, kind), PartsShape(2, 2, kind))


FLAT = {
    "normal": lambda x: flat_normals(x, "diagonal"),
    "mvnormal": lambda x: flat_normals(x, "full"),
    "categorical": lambda x: FlatSymbols(np.nan_to_num(x[:, 0], nan=-1.0).astype(int), 2, None),
    "poisson": lambda x: FlatCounts(x),
}


@pytest.mark.topic("003/H.10")
@pytest.mark.parametrize("family", FLAT)
@pytest.mark.parametrize(
    ("mask", "gaps"), [(np.ones((2, 2), bool), True), (np.triu(np.ones((2, 2), bool)), False)]
)
def test_the_gradient_of_fishers_identity_is_that_of_differences(family, mask, gaps):
    X, y = (part[:6] for part in sequences(0, family))
    x, labels = np.concatenate(X).astype(float), np.unique(y, return_inverse=True)[1]
    if gaps:
        x[np.random.default_rng(0).random(x.shape) < 0.2] = np.nan
    emission = FLAT[family](x)
    lengths, weights = np.full(len(X), 15), np.arange(1.0, 7.0) if gaps else None
    problem = DiscriminativeProblem(ChainRows(lengths, weights), labels, 2, 2, mask, emission)
    sizes = {"normal": 8, "mvnormal": 12, "categorical": 4, "poisson": 2}
    rng = np.random.default_rng(1)
    flat = rng.normal(0.0, 0.4, 2 + 2 * (2 + 4 + sizes[family]))
    if family == "mvnormal":  # roots are lower triangular
        for c in range(2):
            roots = flat[2 + c * 18 + 10 : 2 + (c + 1) * 18].reshape(2, 2, 2)
            roots[:, 0, 1] = 0.0
            roots[:, [0, 1], [0, 1]] = 0.8
    value, gradient = problem.value_and_gradient(flat)
    assert value < 0.0
    for i in range(len(flat)):
        step = np.zeros(len(flat))
        step[i] = 1e-5
        ends = [problem.value_and_gradient(flat + s * step)[0] for s in (1.0, -1.0)]
        if family == "mvnormal" and gradient[i] == 0.0:
            continue  # above the diagonal of a root
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=2e-6, rel=1e-5)


@pytest.mark.topic("003/H.10")
@pytest.mark.parametrize("family", ["normal", "mvnormal", "categorical", "poisson"])
def test_training_that_tells_apart_raises_the_objective(family):
    X, y = sequences(2, family)
    options = {"n_init": 1, "random_state": 0, "tol": 1e-2}
    generative = HiddenMarkovClassifier(2, family, **options).fit(X, y)
    told = HiddenMarkovClassifier(2, family, "discriminative", **options).fit(X, y)
    assert told.trace_[0] == pytest.approx(generative.objective_, rel=1e-6)
    assert told.objective_ > generative.objective_ + 0.1
    assert told.objective_ == pytest.approx(told.trace_[-1], rel=1e-6)
    assert np.diff(told.trace_).min() >= -1e-9 * abs(told.trace_[0])
    for model in (generative, told):
        p = model.predict_log_proba(X)
        chosen = p[np.arange(len(y)), np.unique(y, return_inverse=True)[1]]
        assert chosen.sum() == pytest.approx(model.objective_)


@pytest.mark.parametrize("family", ["normal", "mvnormal", "categorical", "poisson"])
def test_gaps_are_summed_out_in_both_trainings(family):
    X, y = sequences(2, family)
    X = [x.astype(float) for x in X]
    for x in X[::3]:
        x[4] = np.nan
        x[7, 0] = np.nan
    options = {"n_init": 1, "random_state": 0, "tol": 1e-2}
    generative = HiddenMarkovClassifier(2, family, **options).fit(X, y)
    told = HiddenMarkovClassifier(2, family, "discriminative", **options).fit(X, y)
    assert told.trace_[0] == pytest.approx(generative.objective_, rel=1e-6)
    assert told.objective_ == pytest.approx(told.trace_[-1], rel=1e-6)
    assert told.objective_ > generative.objective_


@pytest.mark.parametrize("training", ["generative", "discriminative"])
def test_weights_are_repeated_sequences(training):
    X, y = sequences(4, "poisson")
    weights = np.array([1, 2] * 8)
    options = {"n_init": 1, "random_state": 0, "tol": 1e-9, "max_iter": 12}
    model = HiddenMarkovClassifier(1, "poisson", training, **options)
    many = [x for x, w in zip(X, weights, strict=True) for _ in range(w)]
    names = [label for label, w in zip(y, weights, strict=True) for _ in range(w)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        weighed = clone(model).fit(X, y, sequence_weight=weights)
        listed = clone(model).fit(many, names)
    assert weighed.objective_ == pytest.approx(listed.objective_, rel=1e-6)
    np.testing.assert_allclose(weighed.class_log_prior_, listed.class_log_prior_, rtol=1e-4)
    with pytest.raises(ValueError, match="class calm have sequence_weight 0"):
        model.fit(X, y, sequence_weight=np.array([0, 1] * 8))


def test_classes_are_weighed_by_bayes_rule():
    X, y = sequences(3, "normal")
    model = HiddenMarkovClassifier(2, n_init=1, random_state=0).fit(X, y)
    joint = np.stack([m.log_prob(X) for m in model.models_], axis=1) + np.log([0.5, 0.5])
    np.testing.assert_allclose(
        model.predict_log_proba(X), joint - logsumexp(joint, axis=1, keepdims=True), rtol=1e-9
    )
    assert model.score(X, y) > 0.7
    table = np.concatenate(X)
    np.testing.assert_array_equal(model.predict(table, lengths=[15] * len(X)), model.predict(X))


def test_a_symbol_that_one_class_never_emits_excludes_it():
    X = [[["a"], ["b"], ["a"]], [["b"], ["a"]], [["c"], ["a"]], [["a"], ["c"], ["c"]]]
    model = HiddenMarkovClassifier(1, "categorical").fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[["b"]], [["c"]]]), np.eye(2))
    with pytest.raises(ValueError, match="sequence 0 of X is impossible under every class"):
        model.predict([[["b"], ["c"]]])


REFUSED = {
    "one label for all": ({}, ["a"], "a label for each of the 16 sequences"),
    "one class": ({}, ["a"] * 16, "got 1 class"),
    "training": ({"method": "both"}, None, "method must be"),
    "family": ({"method": "discriminative", "emission": "student-t"}, None, "takes emission"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    options, labels, message = REFUSED[case]
    X, y = sequences(0, "normal")
    model = HiddenMarkovClassifier(1, n_init=1, max_iter=3, tol=1.0).set_params(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, labels or y)


@pytest.mark.parametrize("training", ["generative", "discriminative"])
def test_probabilities_of_far_rows_add_up_to_one(training):
    """Log densities near −10²⁰⁰ are the same for both classes: none is more probable."""
    X = sequences(0, "normal")[0][:8]
    model = HiddenMarkovClassifier(1, "normal", training, random_state=0)
    model.fit([*X, *X], [0] * 8 + [1] * 8)
    far = [np.full_like(X[0], 1e100), np.full_like(X[0], -1e100)]
    np.testing.assert_allclose(model.predict_proba(far), 0.5)
