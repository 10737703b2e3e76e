"""Every row is predicted by a model that has not seen it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import Pipeline

from posteriori.analysis.fitting.preparation import NumberColumns
from posteriori.classification import BayesianLogisticRegression, ClassFrequencies
from posteriori.regression import BayesianLinearRegressor, PoissonRegressor, RobustRegressor
from posteriori.selection.cross_validation import (
    join_folds,
    predict_fold,
    recording_step,
    repeated_value,
    split_rows,
)


def pipeline(model, names=("a", "b")):
    kinds = dict.fromkeys(names, "number")
    return Pipeline([("columns", NumberColumns(kinds)), ("model", model)])


def cross_fit(pipeline, X, y, splits, classes=None):
    return join_folds([predict_fold(pipeline, X, y, split, classes) for split in splits], splits)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    return X, X.to_numpy() @ [1.0, -2.0] + rng.normal(size=60) + 3.0


def test_predictions_are_those_of_cross_validation(data):
    X, y = data
    splits = split_rows(y, 5, 0, classes=False)
    flat = BayesianLinearRegressor(prior_precision=1e-9, intercept_precision=1e-9)
    found = cross_fit(pipeline(flat), X, y, splits)
    expected = cross_val_predict(pipeline(LinearRegression()), X, y, cv=splits)
    np.testing.assert_allclose(found.prediction, expected, rtol=1e-6, atol=1e-6)


def test_densities_and_levels_are_of_the_held_out_rows(data):
    X, y = data
    splits = split_rows(y, 3, 1, classes=False)
    found = cross_fit(pipeline(BayesianLinearRegressor()), X, y, splits)
    for train, rows in splits:
        model = pipeline(BayesianLinearRegressor()).fit(X.iloc[train], y[train])
        predictive = model[-1].predict_dist(model[:-1].transform(X.iloc[rows]))
        np.testing.assert_allclose(found.log_density[rows], predictive.log_prob(y[rows]))
        np.testing.assert_allclose(found.level[rows], predictive.cdf(y[rows]))


def test_the_pipeline_is_left_as_it_is(data):
    X, y = data
    given = pipeline(BayesianLinearRegressor())
    cross_fit(given, X, y, split_rows(y, 2, 0, classes=False))
    assert not hasattr(given[0], "scales_")


@pytest.mark.parametrize("model", [BayesianLinearRegressor(), PoissonRegressor()])
def test_probabilities_of_whole_targets_sum_to_one(model):
    """Densities and masses of integers become comparable: each is a distribution over them."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    y = rng.poisson(np.exp(1.0 + 0.3 * X["a"])).astype(float)
    train, row = np.arange(39), np.array([39])
    total = 0.0
    for value in range(-60, 80) if isinstance(model, BayesianLinearRegressor) else range(80):
        changed = np.append(y[:39], float(value))
        total += np.exp(predict_fold(pipeline(model), X, changed, (train, row)).log_density[0])
    assert total == pytest.approx(1.0, abs=2e-6)


def test_densities_of_other_targets_stay_densities(data):
    X, y = data
    splits = split_rows(y, 2, 0, classes=False)
    found = cross_fit(pipeline(BayesianLinearRegressor()), X, y, splits)
    finer = cross_fit(pipeline(BayesianLinearRegressor()), X, y / 100.0, splits)
    np.testing.assert_allclose(finer.log_density, found.log_density + np.log(100.0), rtol=1e-6)


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1.0, 2.0, 700.0], 1.0),
        ([-100.0, 200.0, 300.0], 1.0),
        ([0.1, 0.25, 19.99], 0.01),
        ([1e6 + 0.29, 1e6 + 0.5], 0.01),
        ([1e-5, 3e-5, 2.5e-4], 1e-5),
        ([1.0, 1.0 + 1e-12], 0.0),  # too fine to matter
        ([np.pi, np.e, 0.0], 0.0),
        ([0.0] * 4 + list(np.sqrt(np.arange(2.0, 90.0))), 0.0),  # few rows repeat
        (
            [0.0] * 20 + list(np.sqrt([2.0, 3.0, 5.0, 7.0])),
            np.median(np.diff([0, *np.sqrt([2, 3, 5, 7])])),
        ),
        ([1e300, 3e300], 1.0),
    ],
)
def test_targets_show_to_which_step_they_were_recorded(values, step):
    assert recording_step(np.array(values)) == pytest.approx(step, rel=1e-12)


def test_a_value_that_many_rows_share_is_found():
    y = np.concatenate([np.full(30, 2.5), np.linspace(0, 1, 70)])
    assert repeated_value(y) == (2.5, 0.3)
    assert repeated_value(y[30:]) is None
    assert repeated_value(np.array([1.0, 1.0, 2.0, 3.0])) is None


def test_probabilities_of_recorded_targets_sum_to_one(data):
    """Targets with one decimal place: the average densities times the step are a distribution."""
    X, y = data
    possible = np.round(np.arange(-40.0, 40.0, 0.1), 1)
    rows = np.arange(60, 60 + len(possible))
    longer = pd.concat([X, X.iloc[[0] * len(possible)]], ignore_index=True)
    targets = np.append(np.round(y, 1), possible)
    model = pipeline(BayesianLinearRegressor())
    found = predict_fold(model, longer, targets, (np.arange(60), rows))
    assert 0.1 * np.exp(found.log_density).sum() == pytest.approx(1.0, abs=1e-6)


def test_no_model_is_better_for_being_narrower_than_the_step():
    """Nine in ten targets are 0.0: a spike there has the density of the whole step at most."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    y = np.where(rng.random(200) < 0.9, 0.0, rng.gamma(4.0, 20.0, 200).round(1))
    splits = split_rows(y, 4, 0, classes=False)
    robust = cross_fit(pipeline(RobustRegressor()), X, y, splits).log_density
    linear = cross_fit(pipeline(BayesianLinearRegressor()), X, y, splits).log_density
    assert robust.max() <= np.log(10.0) + 1e-12
    assert linear.sum() > robust.sum()


# -- classes -------------------------------------------------------------------------------------


def test_classes_are_spread_evenly():
    y = np.repeat(["a", "b", "c"], [50, 20, 10])
    for train, rows in split_rows(y, 5, 0, classes=True):
        assert sorted(np.append(train, rows)) == list(range(80))
        assert list(np.unique(y[rows], return_counts=True)[1]) == [10, 4, 2]


@pytest.mark.parametrize("classes", [True, False])
def test_every_row_is_held_out_once(classes):
    y = np.array([0] * 17 + [1] * 2 + [2])  # a class with fewer rows than folds
    splits = split_rows(y, 5, 3, classes=classes)
    held = np.concatenate([rows for _, rows in splits])
    assert sorted(held) == list(range(20))
    for train, rows in splits:
        assert set(train).isdisjoint(rows)
        assert len(train) + len(rows) == 20


def test_a_class_that_training_lacks_has_what_a_uniform_prior_leaves():
    X = pd.DataFrame({"a": np.arange(12.0), "b": np.arange(12.0) ** 2})
    y = np.array(["u", "v"] * 5 + ["v", "w"])
    classes = np.unique(y)
    splits = split_rows(y, 3, 0, classes=True)
    found = cross_fit(pipeline(ClassFrequencies()), X, y, splits, classes=classes)
    np.testing.assert_allclose(found.prediction.sum(axis=1), 1.0, rtol=1e-12)
    assert np.isfinite(found.log_density).all()
    seen = next(len(train) for train, rows in splits if 11 in rows)
    assert found.prediction[11, 2] == pytest.approx(1.0 / (seen + 3))
    chosen = found.prediction[np.arange(12), np.searchsorted(classes, y)]
    np.testing.assert_allclose(found.log_density, np.log(chosen), rtol=1e-12)


def test_class_probabilities_are_those_of_each_fold(data):
    X, y = data
    labels = np.where(y > 3, "high", "low")
    splits = split_rows(labels, 3, 0, classes=True)
    found = cross_fit(
        pipeline(BayesianLogisticRegression()), X, labels, splits, classes=np.unique(labels)
    )
    expected = cross_val_predict(
        pipeline(BayesianLogisticRegression()), X, labels, cv=splits, method="predict_proba"
    )
    np.testing.assert_allclose(found.prediction, expected, rtol=1e-10)
