"""scikit-learn's contract for logistic models: its checks, frames, searches, pickles, errors."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from posteriori.classification import (
    BayesianLogisticRegression,
    LogisticRegression,
    ProbitRegression,
)
from posteriori.numerics import ConvergenceWarning
from tests.classification.oracles import overlapping
from tests.scikit_learn_checks import every_check

ESTIMATORS = [
    LogisticRegression(),
    LogisticRegression(ridge=1.0),
    BayesianLogisticRegression(),
    BayesianLogisticRegression(0.5, "polya-gamma", standardize=False),
    BayesianLogisticRegression(0.5, "variational"),
    BayesianLogisticRegression(2.0, "ep", standardize=False),
    ProbitRegression(),
    ProbitRegression(method="ep"),
    ProbitRegression(method="variational"),
]

#: Without intercepts predictions cannot follow the weights of classes, which scikit-learn checks.
WITHOUT_INTERCEPTS = [
    LogisticRegression(ridge=1.0, fit_intercept=False),
    BayesianLogisticRegression(2.0, "ep", fit_intercept=False),
    ProbitRegression(method="variational", fit_intercept=False),
]


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@every_check(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS + WITHOUT_INTERCEPTS)
def test_text_labels(estimator):
    X, y = overlapping(60, 2)
    names = np.array(["no", "yes"])[y]
    model, numbers = clone(estimator).fit(X, names), clone(estimator).fit(X, y)
    assert list(model.classes_) == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(X) == "yes", numbers.predict(X) == 1)
    belief = model.predict_dist(X[:3])
    assert belief.labels == ("no", "yes")
    np.testing.assert_allclose(belief.probabilities, model.predict_proba(X[:3]), rtol=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS + WITHOUT_INTERCEPTS)
def test_weights_are_frequencies(estimator):
    X, y = overlapping(50, 2)
    weight = np.arange(50) % 4
    repeated = clone(estimator).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    weighted = clone(estimator).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7)


@pytest.mark.parametrize("estimator", ESTIMATORS + WITHOUT_INTERCEPTS)
def test_weights_of_classes_are_those_of_their_rows(estimator):
    X, y = overlapping(50, 2, seed=1)
    names = np.array(["no", "yes"])[y]
    model = clone(estimator).set_params(class_weight={"yes": 2.0}).fit(X, names)
    rows = clone(estimator).fit(X, names, sample_weight=1.0 + y)
    np.testing.assert_allclose(model.predict_proba(X), rows.predict_proba(X), rtol=1e-9)
    balanced = clone(estimator).set_params(class_weight="balanced").fit(X, names)
    weight = np.where(y == 1, 25.0 / y.sum(), 25.0 / (50 - y.sum()))
    rows = clone(estimator).fit(X, names, sample_weight=weight)
    np.testing.assert_allclose(balanced.predict_proba(X), rows.predict_proba(X), rtol=1e-9)


def test_pickles_and_searches():
    X, y = overlapping(80, 3)
    model = LogisticRegression(0.1).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    search = GridSearchCV(LogisticRegression(), {"ridge": [0.1, 10.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.4


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LogisticRegression(ridge=-1.0), "ridge must be a finite number >= 0, got -1.0"),
        (LogisticRegression(tol=0.0), "tol must be a positive number, got 0.0"),
        (LogisticRegression(max_iter=0), "max_iter must be at least 1, got 0"),
        (LogisticRegression(class_weight={7: 1.0}), "class_weight names 7, which is none of"),
        (ProbitRegression(0.0), "prior_precision must be a positive number, got 0.0"),
        (
            ProbitRegression(method="polya-gamma"),
            "method must be one of 'laplace', 'variational', 'ep', got 'polya-gamma'",
        ),
    ],
)
def test_parameters_off_their_range(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_class_is_refused_by_name(estimator):
    with pytest.raises(ValueError, match="at least two classes, got one class: 'a'"):
        clone(estimator).fit([[0.0], [1.0]], ["a", "a"])


@pytest.mark.parametrize(
    "model", [ProbitRegression(), BayesianLogisticRegression(method="polya-gamma")]
)
def test_approximations_of_two_classes_name_the_one_that_takes_more(model):
    with pytest.raises(ValueError, match=r"got 3 classes; BayesianLogisticRegression.* takes more"):
        model.fit([[0.0], [1.0], [2.0]], [0, 1, 2])


@pytest.mark.parametrize("estimator", ESTIMATORS[2:])
def test_a_few_steps_are_reported_as_such(estimator):
    X, y = overlapping(60, 2)
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 steps.*Raise max_iter"):
        clone(estimator).set_params(max_iter=1).fit(X, y)
