"""What all classifiers do alike: names of classes, one class, several, strange labels, weights."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

import posteriori.classification as room
from posteriori.classification import (
    BayesianLogisticRegression,
    FisherDiscriminant,
    GaussianDiscriminant,
    GenerativeClassifier,
    KernelCentroid,
    KernelPerceptron,
    KNeighborsClassifier,
    LargeMarginPerceptron,
    LeastSquaresClassifier,
    LogisticRegression,
    NaiveBayes,
    Perceptron,
    ProbitRegression,
    RelevanceVectorClassifier,
)
from posteriori.decision import confusion, proper_scores
from posteriori.distributions import MvNormal, Normal, NormalInverseGamma
from tests.classification.generative.test_gaussian import some_rows

CLASSIFIERS = [
    BayesianLogisticRegression(),
    BayesianLogisticRegression(method="variational"),
    BayesianLogisticRegression(method="ep"),
    FisherDiscriminant(),
    GaussianDiscriminant(),
    GaussianDiscriminant("full"),
    GaussianDiscriminant("diagonal"),
    GaussianDiscriminant(method="ml", shrinkage="auto"),
    GenerativeClassifier(MvNormal),
    GenerativeClassifier(Normal, NormalInverseGamma(5.0, 0.1, 1.5, 1.0)),
    KNeighborsClassifier(),
    LeastSquaresClassifier(),
    LogisticRegression(ridge=0.1),
    NaiveBayes(),
    NaiveBayes(method="ml"),
    Perceptron(max_iter=30),
    ProbitRegression(),
    KernelCentroid(),
    KernelPerceptron(max_iter=30),
    LargeMarginPerceptron(random_state=0),
    RelevanceVectorClassifier(),
]
NAMES = np.array(["ash", "beech", "cedar"])

pytestmark = pytest.mark.filterwarnings(
    "ignore:Perceptron still has", "ignore:KernelPerceptron still has"
)


def over(estimators):
    return pytest.mark.parametrize("estimator", estimators, ids=lambda e: repr(e).replace(" ", ""))


each = over(CLASSIFIERS)
several = [
    (e, k) for e in CLASSIFIERS for k in (2, 3) if k == 2 or get_tags(e).classifier_tags.multi_class
]
weighted = [e for e in CLASSIFIERS if "class_weight" in e.get_params()]


def test_every_public_classifier_has_a_row():
    public = {name for name in room.__all__ if hasattr(getattr(room, name), "predict")}
    assert public - {type(estimator).__name__ for estimator in CLASSIFIERS} <= {"ClassFrequencies"}


@pytest.mark.parametrize(("estimator", "classes"), several, ids=str)
def test_names_of_classes_change_nothing_else(estimator, classes):
    X, y = some_rows(90, 2, classes)
    numbers, names = clone(estimator).fit(X, y), clone(estimator).fit(X, NAMES[y])
    assert names.classes_.tolist() == NAMES[:classes].tolist()
    np.testing.assert_array_equal(names.predict(X), NAMES[numbers.predict(X)])
    objects = clone(estimator).fit(X, NAMES[y].astype(object))
    np.testing.assert_array_equal(objects.predict(X), names.predict(X))
    assert names.score(X, NAMES[y]) > 1.3 / classes
    if hasattr(names, "predict_dist"):
        belief = names.predict_dist(X[:4])
        assert belief.labels == tuple(NAMES[:classes])
        np.testing.assert_allclose(belief.probabilities, numbers.predict_proba(X[:4]), rtol=1e-9)


@each
def test_order_of_labels_does_not_matter(estimator):
    X, y = some_rows(90, 2, 2)
    one, two = clone(estimator).fit(X, NAMES[y]), clone(estimator).fit(X, NAMES[1 - y])
    swapped = np.where(two.predict(X) == NAMES[0], NAMES[1], NAMES[0])
    assert (one.predict(X) == swapped).mean() > (
        0.9 if isinstance(estimator, Perceptron | KernelPerceptron) else 0.99
    )
    if hasattr(one, "predict_proba"):
        np.testing.assert_allclose(
            one.predict_proba(X), two.predict_proba(X)[:, ::-1], rtol=1e-5, atol=1e-7
        )


@each
def test_one_class_is_refused_by_name(estimator):
    X, _ = some_rows(10, 2, 2)
    with pytest.raises(ValueError, match=r"at least two classes, got one class: 'elm'"):
        clone(estimator).fit(X, ["elm"] * 10)


@each
def test_a_label_that_was_not_learned_counts_as_wrong(estimator):
    X, y = some_rows(90, 2, 2)
    model = clone(estimator).fit(X, NAMES[y])
    truth = NAMES[y].copy()
    truth[:9] = "cedar"
    assert set(model.predict(X)) <= set(NAMES[:2])
    right = (model.predict(X) == truth).mean()
    assert model.score(X, truth) == pytest.approx(right)
    table = confusion(truth, model.predict(X))
    assert table.labels.tolist() == NAMES.tolist()
    assert table.table[2].sum() == 9
    if hasattr(model, "predict_dist"):
        with pytest.raises(ValueError, match="y holds 'cedar', which is none of the labels"):
            proper_scores(truth, model.predict_dist(X))


@each
def test_gaps_and_wrong_widths_are_refused_by_name(estimator):
    X, y = some_rows(30, 2, 2)
    model = clone(estimator).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 2"):
        model.predict(np.column_stack([X, X[:, 0]]))
    with pytest.raises(ValueError, match=r"[Ii]nput y contains NaN|y .*NaN"):
        clone(estimator).fit(X, np.where(y == 0, np.nan, 1.0))
    broken = X.copy()
    broken[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        clone(estimator).fit(broken, y)


@over(weighted)
def test_weights_of_classes_are_frequencies(estimator):
    X, y = some_rows(90, 2, 2)
    heavy = clone(estimator).set_params(class_weight={"beech": 3}).fit(X, NAMES[y])
    repeated = np.where(y == 1, 3, 1)
    plain = clone(estimator).fit(np.repeat(X, repeated, axis=0), np.repeat(NAMES[y], repeated))
    np.testing.assert_allclose(
        heavy.decision_function(X), plain.decision_function(X), rtol=1e-6, atol=1e-8
    )
    both = clone(estimator).set_params(class_weight={"beech": 3})
    both.fit(X, NAMES[y], sample_weight=np.where(y == 1, 1 / 3, 1.0))
    once = clone(estimator).fit(X, NAMES[y])
    np.testing.assert_allclose(both.decision_function(X), once.decision_function(X), rtol=1e-6)
    even = clone(estimator).set_params(class_weight="balanced").fit(X, NAMES[y])
    share = len(y) / (2 * np.bincount(y))
    by_hand = clone(estimator).set_params(class_weight=dict(zip(NAMES[:2], share, strict=True)))
    np.testing.assert_allclose(
        even.decision_function(X), by_hand.fit(X, NAMES[y]).decision_function(X), rtol=1e-9
    )
    for wrong, message in [
        ({"elm": 2.0}, r"names 'elm', which is none of the classes \['ash', 'beech'\]"),
        ({"ash": 0.0}, "class_weight of 'ash' must be a positive number, got 0.0"),
        ("even", "must be a mapping from labels"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(estimator).set_params(class_weight=wrong).fit(X, NAMES[y])


@each
def test_a_failed_fit_leaves_the_model_as_it_was(estimator):
    X, y = some_rows(60, 2, 2)
    model = clone(estimator).fit(X, NAMES[y])
    before = model.predict(X)
    with pytest.raises(ValueError, match="two classes"):
        model.fit(X, ["elm"] * 60)
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.classes_.tolist() == ["ash", "beech"]


@pytest.mark.parametrize(("estimator", "classes"), several, ids=str)
def test_boundaries_part_the_chosen_classes(estimator, classes):
    X, y = some_rows(90, 2, classes)
    model = clone(estimator).fit(pd.DataFrame(X, columns=["length", "weight"]), NAMES[y])
    for a in range(classes):
        for b in set(range(classes)) - {a}:
            value = model.boundary(NAMES[a], NAMES[b]).value(X)
            chosen = model.predict(pd.DataFrame(X, columns=["length", "weight"]))
            assert (value[chosen == NAMES[b]] > -1e-12).all()
            assert (value[chosen == NAMES[a]] < 1e-12).all()
    if classes == 2:
        np.testing.assert_allclose(model.boundary().value(X), -value)  # the last pair was (1, 0)
        assert model.boundary().contour(((-9, 19), (-9, 19)), size=40)
    else:
        with pytest.raises(ValueError, match="name two of"):
            model.boundary()
