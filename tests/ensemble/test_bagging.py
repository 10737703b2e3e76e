"""Bagging: what the models are fitted to, what they say together, and of rows they have not seen."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import BaggingRegressor as PeerBagging
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression as LeastSquares, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from posteriori.classification import (
    BayesianLogisticRegression,
    ClassFrequencies,
    KNeighborsClassifier,
    NaiveBayes,
)
from posteriori.ensemble import BaggingClassifier, BaggingRegressor, committee_errors
from posteriori.regression import BayesianLinearRegressor, RobustRegressor


def numbers(n=80, d=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, x[:, 0] - np.sin(2 * x[:, 1]) + 0.5 * rng.normal(size=n)


def labels(n=80, d=3, seed=0):
    x, y = numbers(n, d, seed)
    return x, np.array(["low", "mid", "top"])[np.digitize(y, [-0.5, 0.8])]


class Spy(RegressorMixin, BaseEstimator):
    """Keeps the rows that it was fitted to, and predicts their mean."""

    def fit(self, X, y):
        self.X_, self.y_ = X, y
        return self

    def predict(self, X):
        return np.full(len(X), self.y_.mean())


class WeightedSpy(Spy):
    """The same with weights."""

    def fit(self, X, y, sample_weight=None):
        self.weight_ = sample_weight
        return super().fit(X, y)


class SlowClassifier(ClassifierMixin, BaseEstimator):
    """Is stopped by Ctrl-C at its third fit."""

    fits = 0

    def fit(self, X, y):
        SlowClassifier.fits += 1
        if SlowClassifier.fits == 3:
            raise KeyboardInterrupt
        self.classes_, counts = np.unique(y, return_counts=True)
        self.p_ = counts / counts.sum()
        return self

    def predict_proba(self, X):
        return np.tile(self.p_, (len(X), 1))


# -- what the models are fitted to ---------------------------------------------------------------


@pytest.mark.topic("002/K13", "000/K5")
def test_models_are_fitted_to_bootstrap_samples_and_averaged():
    x, y = numbers()
    model = BaggingRegressor(Spy(), 20, random_state=0).fit(x, y)
    for member in model.estimators_:
        assert len(member.y_) == len(y)  # with duplicates
        assert set(member.y_) <= set(y)
        assert len(set(member.y_)) < len(y)
    means = [member.y_.mean() for member in model.estimators_]
    np.testing.assert_allclose(model.predict(x[:2]), np.mean(means), rtol=1e-12)  # weights 1/B


def test_estimators_that_take_weights_are_given_counts():
    x, y = numbers()
    repeated = BaggingRegressor(Spy(), 4, random_state=0).fit(x, y)
    counted = BaggingRegressor(WeightedSpy(), 4, random_state=0).fit(x, y)
    for one, other in zip(repeated.estimators_, counted.estimators_, strict=True):
        assert other.weight_.sum() == len(y)
        assert (other.weight_ >= 1).all()
        expected = np.repeat(other.y_, other.weight_.astype(int))
        np.testing.assert_array_equal(np.sort(one.y_), np.sort(expected))


@pytest.mark.parametrize(
    "estimator",
    [BayesianLinearRegressor(), RobustRegressor(), DecisionTreeRegressor(max_depth=3)],
)
def test_weights_are_repeated_rows_in_any_order(estimator):
    x, y = numbers(30)
    rng = np.random.default_rng(1)
    times = rng.integers(0, 4, size=30)
    mixed = rng.permutation(30)
    bag = BaggingRegressor(estimator, 6, max_features=2, random_state=0)
    repeated = bag.fit(np.repeat(x, times, axis=0), np.repeat(y, times)).predict(x)
    weighted = bag.fit(x[mixed], y[mixed], sample_weight=times[mixed]).predict(x)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)


@pytest.mark.topic("000/K6", "002/K14")
def test_random_subspaces_are_columns_without_repetition():
    x, y = numbers(40, 10)
    model = BaggingRegressor(Spy(), 200, max_features=4, bootstrap=False, random_state=0).fit(x, y)
    seen = np.array(model.estimators_features_)
    assert seen.shape == (200, 4)
    assert (np.diff(seen, axis=1) > 0).all()  # sorted, none twice
    uses = np.bincount(seen.ravel(), minlength=10) / 200
    assert np.abs(uses - 0.4).max() < 5 * np.sqrt(0.4 * 0.6 / 200)
    for member, columns in zip(model.estimators_, seen, strict=True):
        np.testing.assert_array_equal(member.X_, x[:, columns])  # all rows, some columns
    assert not hasattr(model, "oob_error_")  # nothing is left out


@pytest.mark.topic("000/K6")
def test_a_model_sees_the_columns_that_were_chosen_for_it_when_it_predicts():
    x, y = numbers(60, 7)
    model = BaggingRegressor(LeastSquares(), 5, max_features=0.6, random_state=3).fit(x, y)
    said = [
        m.predict(x[:, c])
        for m, c in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    assert {len(c) for c in model.estimators_features_} == {4}
    np.testing.assert_allclose(model.predict(x), np.mean(said, axis=0), rtol=1e-12)


def test_a_share_without_replacement_has_no_duplicates():
    x, y = numbers(50)
    model = BaggingRegressor(Spy(), 10, max_samples=0.3, bootstrap=False, random_state=0).fit(x, y)
    for member in model.estimators_:
        assert len(member.y_) == len(set(member.y_)) == 15


# -- what they say together ----------------------------------------------------------------------


def test_probabilities_are_averaged_over_models_that_know_fewer_classes():
    x, y = labels(12)
    y[:] = "low"
    y[:5], y[5] = "mid", "top"
    model = BaggingClassifier(ClassFrequencies(), 40, random_state=0).fit(x, y)
    known = [member.classes_.tolist() for member in model.estimators_]
    assert ["low", "mid"] in known  # some bags have no row of the rare class
    p = np.zeros(3)
    for member in model.estimators_:
        own = dict(zip(member.classes_, member.predict_proba(x[:1])[0], strict=True))
        unknown = 3 - len(own)  # each has 1/(n + K)
        p += [own[c] * (1 - unknown / 15) if c in own else 1 / 15 for c in model.classes_]
    np.testing.assert_allclose(model.predict_proba(x)[0], p / 40, rtol=1e-12)
    np.testing.assert_allclose(model.predict_dist(x).probabilities, model.predict_proba(x))


def test_bags_of_one_class_are_constant():
    x, y = np.arange(6.0)[:, None], np.array(["a"] * 5 + ["b"])
    model = BaggingClassifier(BayesianLogisticRegression(), 30, random_state=0).fit(x, y)
    ones = [m for m in model.estimators_ if len(m.classes_) == 1]
    assert 0 < len(ones) < 30
    p = model.predict_proba(x)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert (p > 0).all()


@pytest.mark.topic("002/L1", "002/K13")
def test_a_majority_is_a_sum_of_signs():
    x, y = labels()
    two = np.where(y == "top", "yes", "no")
    model = BaggingClassifier(RidgeClassifier(), 9, vote="majority", random_state=0).fit(x, two)
    signs = np.array([np.where(m.predict(x) == "yes", 1.0, -1.0) for m in model.estimators_])
    np.testing.assert_array_equal(model.decision_function(x), signs.sum(axis=0))
    np.testing.assert_array_equal(model.predict(x), np.where(signs.sum(axis=0) > 0, "yes", "no"))
    assert not hasattr(model, "predict_proba")
    out = np.isfinite(model.oob_votes_[:, 0])
    assert out.sum() >= 75
    np.testing.assert_allclose(model.oob_votes_[out].sum(axis=1), 1.0, rtol=1e-12)


def test_numbers_have_a_mixture_where_models_have_distributions():
    x, y = numbers()
    model = BaggingRegressor(BayesianLinearRegressor(), 7, random_state=0).fit(x, y)
    mixed = model.predict_dist(x[:3])
    parts = [member.predict_dist(x[:3]) for member in model.estimators_]
    expected = np.mean([np.exp(part.log_prob(y[:3])) for part in parts], axis=0)
    np.testing.assert_allclose(np.exp(mixed.log_prob(y[:3])), expected, rtol=1e-12)
    np.testing.assert_allclose(mixed.mean, model.predict(x[:3]), rtol=1e-12)
    assert not hasattr(BaggingRegressor(LeastSquares()).fit(x, y), "predict_dist")


# -- rows that models have not seen ---------------------------------------------------------------


def test_unseen_rows_are_predicted_by_models_without_them():
    x, y = numbers(40)
    model = BaggingRegressor(BayesianLinearRegressor(), 8, random_state=0).fit(x, y)
    spies = BaggingRegressor(WeightedSpy(), 8, random_state=0).fit(x, y)
    total, logs, times = np.zeros(40), np.zeros(40), np.zeros(40)
    for member, spy in zip(model.estimators_, spies.estimators_, strict=True):
        out = ~np.isin(y, spy.y_)  # the same seed draws the same rows
        total += np.where(out, member.predict(x), 0.0)
        logs += np.where(out, np.exp(member.predict_dist(x).log_prob(y)), 0.0)
        times += out
    once = times > 0
    np.testing.assert_array_equal(np.isfinite(model.oob_prediction_), once)
    mean = total[once] / times[once]
    np.testing.assert_allclose(model.oob_prediction_[once], mean, rtol=1e-10)
    assert model.oob_error_ == pytest.approx(np.mean((mean - y[once]) ** 2), rel=1e-10)
    expected = np.log(logs[once] / times[once]).mean()
    assert model.oob_log_density_ == pytest.approx(expected, rel=1e-10)


def test_unseen_error_is_near_that_of_new_rows():
    x, y = labels(400)
    new, truth = labels(1000, seed=1)
    model = BaggingClassifier(KNeighborsClassifier(9), 20, random_state=0).fit(x, y)
    error = np.mean(model.predict(new) != truth)
    assert model.oob_error_ == pytest.approx(error, abs=3 * np.sqrt(error * (1 - error) / 400))
    codes = np.searchsorted(model.classes_, truth)
    fresh = model.predict_log_proba(new)[np.arange(1000), codes]
    assert model.oob_log_density_ == pytest.approx(fresh.mean(), abs=3 * fresh.std() / np.sqrt(400))


@pytest.mark.topic("000/K5", "002/K13")
def test_flexible_models_gain_and_stiff_ones_do_not():
    x, y = numbers(300)
    new, truth = numbers(2000, seed=1)
    gain = {}
    for name, estimator in (("tree", DecisionTreeRegressor()), ("line", LeastSquares())):
        model = BaggingRegressor(estimator, 60, random_state=0).fit(x, y)
        said = np.stack([member.predict(new) for member in model.estimators_], axis=1)
        found = committee_errors(said, truth)
        assert found.committee == pytest.approx(np.mean((model.predict(new) - truth) ** 2))
        gain[name] = found.individual / found.committee
    assert gain["tree"] > 1.7
    assert 1.0 <= gain["line"] < 1.03


def test_errors_agree_with_those_of_a_peer():
    x, y = numbers(400)
    ours = BaggingRegressor(DecisionTreeRegressor(), 80, random_state=0).fit(x, y)
    peer = PeerBagging(DecisionTreeRegressor(), 80, oob_score=True, random_state=0).fit(x, y)
    theirs = np.mean((peer.oob_prediction_ - y) ** 2)
    assert ours.oob_error_ == pytest.approx(theirs, rel=0.1)


# -- arguments and interruptions ------------------------------------------------------------------


def test_missing_entries_are_for_models_that_take_them():
    x, y = labels()
    x[3, 1] = np.nan
    model = BaggingClassifier(NaiveBayes(), 5, random_state=0).fit(x, y)
    assert np.isfinite(model.predict_proba(x)).all()
    with pytest.raises(ValueError, match="contains NaN in column 1, row 3"):
        BaggingClassifier(ClassFrequencies(), 5).fit(x, y)


def test_parts_of_pipelines_have_seeds_of_their_own():
    x, y = numbers()
    tree = make_pipeline(PolynomialFeatures(2), DecisionTreeRegressor(max_features=1))
    whole = BaggingRegressor(tree, 3, bootstrap=False, random_state=0)
    one, other = whole.fit(x, y).predict(x[:5] * 1.1), whole.fit(x, y).predict(x[:5] * 1.1)
    np.testing.assert_array_equal(one, other)
    states = {m[-1].random_state for m in whole.estimators_}
    assert len(states) == 3


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_fits_side_by_side_change_nothing(backend):
    x, y = labels(60)
    one = BaggingClassifier(DecisionTreeClassifier(), 4, random_state=0).fit(x, y)
    with parallel_config(backend=backend):
        two = BaggingClassifier(DecisionTreeClassifier(), 4, n_jobs=2, random_state=0).fit(x, y)
    np.testing.assert_array_equal(one.predict_proba(x), two.predict_proba(x))


def test_ctrl_c_keeps_the_models_so_far():
    x, y = labels()
    SlowClassifier.fits = 0
    with pytest.warns(ConvergenceWarning, match="stopped after 2 of 10 models"):
        model = BaggingClassifier(SlowClassifier(), 10, random_state=0).fit(x, y)
    assert len(model.estimators_) == 2
    assert np.isfinite(model.oob_error_)
    SlowClassifier.fits = 2
    with pytest.raises(KeyboardInterrupt):
        BaggingClassifier(SlowClassifier(), 10, random_state=0).fit(x, y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_estimators": 0}, "n_estimators must be at least 1, got 0"),
        ({"max_samples": 0.0}, "max_samples must be a share above 0.0 and up to 1.0"),
        ({"max_samples": 81}, "whole number from 1 to 80; got 81"),
        ({"max_features": 1.5}, "max_features must be a share"),
        ({"max_features": True}, "max_features must be a share"),
    ],
)
def test_wrong_amounts_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        BaggingRegressor(Spy(), **options).fit(*numbers())


def test_wrong_models_and_weights_are_refused():
    x, y = numbers()
    with pytest.raises(TypeError, match="estimator is a classifier: bag classifiers by"):
        BaggingRegressor(ClassFrequencies()).fit(x, y)
    with pytest.raises(ValueError, match=r"only where sample_weight holds whole numbers, got 0\.5"):
        BaggingRegressor(WeightedSpy(), max_samples=0.5, bootstrap=False).fit(
            x, y, sample_weight=np.full(80, 0.5)
        )
    with pytest.raises(TypeError, match="RidgeClassifier cannot say how probable a class is"):
        BaggingClassifier(RidgeClassifier()).fit(*labels())


@pytest.mark.parametrize("wrong", [None, "tree", DecisionTreeClassifier])
def test_what_is_no_estimator_is_named(wrong):
    with pytest.raises(TypeError, match="estimator must be an estimator, with fit and get_params"):
        BaggingClassifier(wrong).fit(np.zeros((4, 1)), [0, 1, 0, 1])
