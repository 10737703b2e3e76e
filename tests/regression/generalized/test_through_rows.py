"""More columns than rows: learned in the directions that the rows see, with the answers of dense algebra.

Rows that stand twice and count half say the same; twice as many are no fewer than the columns, so that
these fits take the other way.
"""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from posteriori.classification import BayesianLogisticRegression, ProbitRegression
from posteriori.classification.linear import bayesian_linear
from posteriori.inference.predictors.weight_belief import WeightBelief
from posteriori.regression import (
    BayesianLinearRegressor,
    NegativeBinomialRegressor,
    PoissonRegressor,
    RobustRegressor,
    ZeroInflatedRegressor,
)

pytestmark = pytest.mark.blas

N, D = 12, 25
_RNG = np.random.default_rng(7)
X = _RNG.normal(size=(N, D)) * _RNG.uniform(0.5, 3.0, D) + _RNG.normal(size=D)
X[:, 4] = 2.5  # a constant column
X[3] = X[2]  # rows that depend on one another
NEW = _RNG.normal(size=(6, D))
AMOUNTS = X[:, 0] + _RNG.normal(size=N)
COUNTS = _RNG.poisson(3.0, N)
SIGNS = np.array(["no", "yes"])[_RNG.integers(0, 2, N)]
CLASSES = np.array(["a", "b", "c"])[_RNG.integers(0, 3, N)]

FIXED = np.full(D, 2.0)
FIXED[[1, 5]] = np.inf
LINEAR = [
    {},
    {"fit_intercept": False},
    {"standardize": False},
    {"prior_precision": 3.0, "noise_precision": 2.0},
    {"prior_precision": FIXED},
    {"prior_precision": 2.0, "prior_mean": np.linspace(0, 1, D)},
    {"hyperparameters": "type-II"},
    {"hyperparameters": "type-II", "prior_mean": np.linspace(0, 1, D)},
    {"hyperparameters": "ard"},
    {"hyperparameters": "grid"},
]
REGRESSIONS = [(BayesianLinearRegressor(**given), AMOUNTS) for given in LINEAR] + [
    (RobustRegressor(max_iter=2000), AMOUNTS),
    (RobustRegressor(fit_intercept=False, dof=np.inf, max_iter=2000), AMOUNTS),
    (PoissonRegressor(4.0), COUNTS),
    (NegativeBinomialRegressor(), COUNTS),
    (ZeroInflatedRegressor(), COUNTS),
]
CLASSIFIERS = [
    (BayesianLogisticRegression(tol=1e-10), SIGNS),
    (BayesianLogisticRegression(standardize=False, fit_intercept=False), SIGNS),
    (BayesianLogisticRegression(hyperparameters="type-II"), SIGNS),
    (BayesianLogisticRegression(method="ep"), SIGNS),
    (BayesianLogisticRegression(method="variational"), CLASSES),
    (BayesianLogisticRegression(standardize=False, method="variational"), CLASSES),
    (ProbitRegression(method="ep", standardize=False), SIGNS),
]


def both_ways(model, y):
    """Return fits through the rows and through the columns."""
    other = type(model)(**model.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        other.fit(np.concatenate([X, X]), np.concatenate([y, y]), np.full(2 * N, 0.5))
    return model, other


def require_equal(one, other):
    # a learned precision is found to 2 %, and the evidence is flat there
    rtol = 2e-2 if getattr(one, "method", "") and one.hyperparameters == "type-II" else 2e-5
    for name in ("coef_", "intercept_", "effective_parameters_"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-6, err_msg=name
        )
    assert float(one.log_evidence_) == pytest.approx(float(other.log_evidence_), abs=1e-5)


@pytest.mark.parametrize(("model", "y"), REGRESSIONS, ids=lambda v: str(v)[:60])
def test_regression_through_rows_is_that_through_columns(model, y):
    one, other = both_ways(model, y)
    require_equal(one, other)
    for rows in (X, NEW):
        mine, theirs = one.predict_dist(rows), other.predict_dist(rows)
        np.testing.assert_allclose(mine.mean, theirs.mean, rtol=2e-5, atol=1e-6)
        np.testing.assert_allclose(mine.quantile(0.95), theirs.quantile(0.95), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(("model", "y"), CLASSIFIERS, ids=lambda v: str(v)[:60])
def test_classification_through_rows_is_that_through_columns(model, y, monkeypatch):
    one = clone(model).fit(X, y)  # rows that count half are other sites of expectation propagation
    monkeypatch.setattr(bayesian_linear, "is_wide", lambda table: False)
    other = clone(model).fit(X, y)
    require_equal(one, other)
    # the mean of a skewed posterior is found to 1 % of its standard deviation
    np.testing.assert_allclose(one.predict_proba(NEW), other.predict_proba(NEW), atol=2e-3)


@pytest.mark.parametrize(
    ("model", "y"),
    [*REGRESSIONS[-5:], CLASSIFIERS[0], CLASSIFIERS[4]],
    ids=lambda v: str(v)[:60],
)
def test_posteriors_of_all_weights_are_equal(model, y):
    one, other = both_ways(model, y)
    np.testing.assert_allclose(one.posterior_.mean, other.posterior_.mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(one.posterior_.cov, other.posterior_.cov, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("given", [LINEAR[0], LINEAR[1], LINEAR[5]], ids=str)
def test_the_posterior_of_weights_and_noise_is_dense_algebra(given):
    """Precision S² + XᵀX, with the intercept's prior, in units of the noise."""
    model = BayesianLinearRegressor(**given).fit(X, AMOUNTS)
    centred = X - X.mean(axis=0) if model.fit_intercept else X
    scale = np.sqrt((centred**2).mean(axis=0))
    scale[4] = 1.0 if model.fit_intercept else scale[4]
    prior = np.diag(scale**2) if not given.get("prior_precision") else 2.0 * np.eye(D)
    precision = prior + centred.T @ centred
    found = np.asarray(model.posterior_.mean_precision)
    inverse = np.linalg.inv(found)[:D, :D]
    np.testing.assert_allclose(inverse, np.linalg.inv(precision), rtol=1e-7, atol=1e-9)


def test_weights_are_drawn_from_the_posterior():
    model = BayesianLinearRegressor(hyperparameters="type-II", prior_mean=0.3).fit(X, AMOUNTS)
    draws = model.sample_weights(40_000, rng=0)
    truth = model.posterior_
    error = 5.0 * np.asarray(truth.std) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - truth.mean) < error)
    size = np.outer(truth.std, truth.std)
    assert np.all(np.abs(np.cov(draws.T) - truth.cov) < 5.0 * np.sqrt(2.0 / len(draws)) * size)


def test_beliefs_about_seen_directions_draw_like_dense_ones():
    rng = np.random.default_rng(1)
    seen = np.linalg.qr(rng.normal(size=(6, 3)))[0]
    root = rng.normal(size=(7, 7))
    belief = WeightBelief(rng.normal(size=13), root @ root.T, 0.0, 1, True, 0.0, seen, 0.7)
    dense = belief.dense()
    draws = belief.draw(60_000, rng)
    std = np.sqrt(np.diagonal(dense.cov))
    assert np.all(np.abs(draws.mean(axis=0) - dense.mean) < 5.0 * std / np.sqrt(len(draws)))
    error = 5.0 * np.sqrt(2.0 / len(draws)) * np.outer(std, std)
    assert np.all(np.abs(np.cov(draws.T) - dense.cov) < error)
    rows = rng.normal(size=(4, 6))
    one = belief._replace(mean=belief.mean[:6], cov=belief.cov[:3, :3])
    np.testing.assert_allclose(one.predictors(rows), one.dense().predictors(rows), rtol=1e-12)


def test_streams_of_few_rows_are_one_table():
    model = BayesianLinearRegressor().fit(X, AMOUNTS)
    stream = BayesianLinearRegressor()
    for part in np.array_split(np.arange(N), 4):
        stream.partial_fit(X[part], AMOUNTS[part])
    np.testing.assert_allclose(stream.coef_, model.coef_, rtol=1e-9, atol=1e-12)
    halves = [BayesianLinearRegressor().fit(X[r], AMOUNTS[r]) for r in (slice(0, 9), slice(9, N))]
    merged = halves[0].merge(halves[1])
    assert float(merged.log_evidence_) == pytest.approx(float(model.log_evidence_), abs=1e-9)
    more = np.concatenate([X, NEW, NEW + 1.0, NEW - 2.0])
    y = more[:, 0] - more[:, 1]
    for part in (slice(N, N + 9), slice(N + 9, None)):  # columns are no longer more
        stream.partial_fit(more[part], y[part])
    whole = BayesianLinearRegressor().fit(more, np.concatenate([AMOUNTS, y[N:]]))
    np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        BayesianLinearRegressor(),
        BayesianLinearRegressor(hyperparameters="ard"),
        BayesianLinearRegressor(hyperparameters="grid"),
        RobustRegressor(),
    ],
    ids=str,
)
def test_ten_thousand_columns_need_no_matrix_of_their_squares(model):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(12, 10_000))
    y = rows[:, 0] + rng.normal(size=12)
    tracemalloc.start()
    model.fit(rows, y).predict_dist(rows[:2])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # one such matrix has 800 MB
