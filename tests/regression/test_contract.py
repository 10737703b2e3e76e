"""scikit-learn's contract for linear models: its checks, frames, pipelines, searches, pickles."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from posteriori.numerics import ConvergenceWarning
from posteriori.regression import BayesianLinearRegressor, LinearRegressor
from tests.regression.oracles import problem
from tests.scikit_learn_checks import every_check

ESTIMATORS = [
    LinearRegressor(),
    LinearRegressor(ridge=1.0),
    BayesianLinearRegressor(),
    BayesianLinearRegressor(2.0, noise_precision=1.0),
    BayesianLinearRegressor(missing="error", fit_intercept=False),
    BayesianLinearRegressor(hyperparameters="type-II"),
    BayesianLinearRegressor(hyperparameters="ard"),
    BayesianLinearRegressor(hyperparameters="grid"),
]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@every_check(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("estimator", ESTIMATORS[:3:2])
def test_frames(library, estimator):
    frames = pytest.importorskip(library)
    X, y, _ = problem()
    frame = frames.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    model = clone(estimator).fit(frame, frames.Series(y))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(model.coef_, clone(estimator).fit(X, y).coef_, rtol=1e-12)
    wrong = frames.DataFrame({"b": X[:, 1], "a": X[:, 0], "c": X[:, 2]})
    with pytest.raises(ValueError, match="feature names"):
        model.predict(wrong)


def test_pipelines_and_searches():
    X, y, _ = problem(n=40)
    pipeline = make_pipeline(StandardScaler(), BayesianLinearRegressor())
    assert cross_val_score(pipeline, X, y, cv=4).shape == (4,)
    search = GridSearchCV(LinearRegressor(), {"ridge": [0.0, 1.0, 100.0]}, cv=4).fit(X, y)
    assert search.best_params_["ridge"] in (0.0, 1.0)


@pytest.mark.parametrize("estimator", ESTIMATORS[2:])
def test_pickles_keep_the_posterior(estimator):
    X, y, _ = problem(n=30)
    model = clone(estimator).fit(X, y)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert other.log_evidence_ == model.log_evidence_
