"""Committees of given models: means, mixtures and weighted majorities."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression as LeastSquares, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from posteriori.classification import (
    BayesianLogisticRegression,
    ClassFrequencies,
    KNeighborsClassifier,
)
from posteriori.ensemble import CommitteeClassifier, CommitteeRegressor
from posteriori.regression import BayesianLinearRegressor, RobustRegressor
from tests.ensemble.test_bagging import labels, numbers

MODELS = [("line", BayesianLinearRegressor()), ("robust", RobustRegressor())]
VOTERS = [
    ("logistic", BayesianLogisticRegression()),
    ("near", KNeighborsClassifier()),
    ("ridge", RidgeClassifier()),
]


@pytest.mark.topic("000/K1")
@pytest.mark.parametrize("weights", [None, [3.0, 1.0]])
def test_a_committee_predicts_the_mean_and_the_mixture(weights):
    x, y = numbers()
    shares = [0.5, 0.5] if weights is None else [0.75, 0.25]
    model = CommitteeRegressor(MODELS, weights=weights).fit(x, y)
    alone = [member.fit(x, y) for _, member in MODELS]
    expected = sum(w * member.predict(x) for w, member in zip(shares, alone, strict=True))
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-12)
    density = sum(
        w * np.exp(m.predict_dist(x).log_prob(y)) for w, m in zip(shares, alone, strict=True)
    )
    np.testing.assert_allclose(np.exp(model.predict_dist(x).log_prob(y)), density, rtol=1e-10)


@pytest.mark.topic("000/K1")
def test_probabilities_are_averaged():
    x, y = labels()
    model = CommitteeClassifier(VOTERS[:2], weights=[1, 4]).fit(x, y)
    parts = [member.fit(x, y).predict_proba(x) for _, member in VOTERS[:2]]
    np.testing.assert_allclose(model.predict_proba(x), 0.2 * parts[0] + 0.8 * parts[1], rtol=1e-12)


@pytest.mark.topic("002/L1")
def test_a_weighted_majority_is_the_sign_of_a_sum():
    x, y = labels()
    two = np.where(y == "top", "yes", "no")
    alpha = np.array([0.2, 0.5, 0.6])
    model = CommitteeClassifier(VOTERS, weights=alpha, vote="majority").fit(x, two)
    h = np.array([np.where(m.fit(x, two).predict(x) == "yes", 1, -1) for _, m in VOTERS])
    f = alpha @ h
    assert len(set(f.round(6))) > 2  # they do not always agree
    np.testing.assert_allclose(model.decision_function(x), f, atol=1e-12)
    np.testing.assert_array_equal(model.predict(x), np.where(f > 0, "yes", "no"))


@pytest.mark.topic("002/L1")
def test_of_several_classes_the_one_with_most_votes_is_chosen():
    x, y = labels()
    model = CommitteeClassifier(VOTERS, weights=[2, 2, 3], vote="majority").fit(x, y)
    said = [m.fit(x, y).predict(x) for _, m in VOTERS]
    for row, chosen in enumerate(model.predict(x)):
        votes = dict.fromkeys(model.classes_, 0.0)
        for weight, labels_said in zip([2, 2, 3], said, strict=True):
            votes[labels_said[row]] += weight
        assert chosen == max(votes, key=votes.get)


def test_models_see_tables_as_they_are():
    x, y = labels()
    table = pd.DataFrame({"a": x[:, 0], "kind": np.where(x[:, 1] > 0, "up", "down")})
    coded = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    models = [
        ("coded", make_pipeline(coded, BayesianLogisticRegression())),
        ("flat", make_pipeline(coded, ClassFrequencies())),
    ]
    model = CommitteeClassifier(models).fit(table, y, sample_weight=np.arange(80) % 3)
    assert model.feature_names_in_.tolist() == ["a", "kind"]
    assert model.score(table, y) > 0.4


def test_weights_of_rows_are_repeated_rows():
    x, y = labels(40)
    times = np.arange(40) % 3
    for vote, models in (("probabilities", VOTERS[:2]), ("majority", VOTERS)):
        model = CommitteeClassifier(models, vote=vote)
        one = model.fit(x, y, sample_weight=times).predict(x)
        other = model.fit(np.repeat(x, times, axis=0), np.repeat(y, times)).predict(x)
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="takes no sample_weight, so rows are repeated"):
        model.fit(x, y, sample_weight=times + 0.5)


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (CommitteeRegressor([]), ValueError, "models is empty"),
        (CommitteeRegressor(MODELS, weights=[1.0]), ValueError, "number for each of 2 models"),
        (CommitteeRegressor(MODELS, weights=[0.0, 0.0]), ValueError, "not all 0"),
        (CommitteeRegressor(MODELS, weights=[1.0, -1.0]), ValueError, "must not be negative"),
        (CommitteeRegressor(VOTERS), TypeError, "logistic is a classifier: committees of"),
        (CommitteeClassifier(MODELS), TypeError, "line is a regression: committees of"),
        (CommitteeClassifier(VOTERS, vote="all"), ValueError, "vote must be 'probabilities' or"),
    ],
)
def test_what_cannot_be_a_committee_is_refused(model, error, words):
    with pytest.raises(error, match=words):
        model.fit(*numbers())


def test_a_mean_without_distributions_states_none():
    x, y = numbers()
    model = CommitteeRegressor([*MODELS, ("plain", LeastSquares())]).fit(x, y)
    assert not hasattr(model, "predict_dist")
    assert np.isfinite(model.predict(x)).all()
