"""A flat prior is the reference prior: the textbook's least squares, written out densely."""

import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from posteriori.regression import BayesianLinearRegressor, LogLinearRegressor
from tests.regression.oracles import LeastSquares, problem

pytestmark = pytest.mark.blas

LEVELS = np.array([0.005, 0.05, 0.5, 0.9, 0.995])
FLAT = {"number": 0.0, "vector": np.zeros(3), "matrix": np.zeros((3, 3))}


def design_of(X, intercept):
    return np.column_stack([X, np.ones(len(X))]) if intercept else X


@pytest.mark.parametrize("flat", FLAT.values(), ids=FLAT.keys())
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("noisy", [True, False])
@pytest.mark.parametrize("n", [5, 12, 200])
def test_intervals_are_those_of_least_squares(n, noisy, intercept, flat):
    X, y, rng = problem(n=n)
    v = rng.uniform(0.5, 2.0, size=n) if noisy else np.ones(n)
    truth = LeastSquares.fit(design_of(X, intercept), y, v)
    model = BayesianLinearRegressor(flat, fit_intercept=intercept).fit(X, y, noise_variance=v)
    weights, fresh = model.posterior_.marginal_mean(), rng.normal(size=(4, 3)) + 2.0
    assert weights.dof == truth.dof
    np.testing.assert_allclose(weights.location, truth.weights, rtol=1e-9)
    np.testing.assert_allclose(weights.scale, truth.variance * truth.inverse, rtol=1e-8, atol=1e-10)
    predicted, w = model.predict_dist(fresh, noise_variance=np.full(4, 1.7)), 1.7
    expected = truth.of_targets(design_of(fresh, intercept), w)
    for level in LEVELS:
        np.testing.assert_allclose(predicted.quantile(level), expected.ppf(level), rtol=1e-9)
    noise = model.posterior_.marginal_variance()
    chi2 = truth.dof * truth.variance / stats.chi2(truth.dof).ppf(1.0 - LEVELS)
    np.testing.assert_allclose([noise.quantile(p) for p in LEVELS], chi2, rtol=1e-9)


def test_fifteen_columns_of_twenty_rows_leave_five_degrees_of_freedom():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20, 15)), rng.normal(size=20)
    truth = LeastSquares.fit(X, y)
    model = BayesianLinearRegressor(prior_precision=0.0, fit_intercept=False).fit(X, y)
    assert (model.predict_dist(X).dof == 5.0).all()
    # the mean of an inverse gamma distribution of b = ½ RSS and a = 5/2
    assert model.noise_variance_ == pytest.approx(truth.variance * 5.0 / 3.0, rel=1e-10)


@pytest.mark.parametrize(("n", "d"), [(20, 15), (8, 3), (4, 1)])
def test_ninety_percent_intervals_hold_ninety_percent(n, d):
    rng = np.random.default_rng(n)
    model, tables, fresh, held = BayesianLinearRegressor(prior_precision=0.0), 400, 25, []
    for _ in range(tables):
        X, w, level = rng.normal(size=(n + fresh, d)), 5.0 * rng.normal(size=d), rng.normal()
        y = level + X @ w + rng.normal(size=n + fresh)
        predicted = model.fit(X[:n], y[:n]).predict_dist(X[n:])
        inside = (predicted.quantile(0.05) < y[n:]) & (y[n:] < predicted.quantile(0.95))
        held.append(inside.mean())
    assert 0.87 < np.mean(held) < 0.93
    assert abs(np.mean(held) - 0.9) < 5 * np.std(held) / np.sqrt(tables)


def test_known_noise_and_flat_weights_have_the_normal_intervals_of_least_squares():
    X, y, _ = problem(n=9)
    truth = LeastSquares.fit(design_of(X, True), y)
    model = BayesianLinearRegressor(0.0, noise_precision=2.0).fit(X, y)
    np.testing.assert_allclose(model.posterior_.mean, truth.weights, rtol=1e-10)
    np.testing.assert_allclose(model.posterior_.cov, truth.inverse / 2.0, rtol=1e-8, atol=1e-12)


def test_a_prior_that_is_flat_in_one_direction_takes_one_degree_of_freedom():
    """Seen in the complement of the flat column, the model is one of the other columns alone."""
    X, y, _ = problem(n=9)
    noise = {"noise_shape": 1.5, "noise_scale": 0.7, "fit_intercept": False}
    model = BayesianLinearRegressor([0.0, 2.0, 0.5], **noise).fit(X, y)
    across = np.linalg.qr(X[:, :1], mode="complete")[0][:, 1:].T
    other = BayesianLinearRegressor([2.0, 0.5], **noise).fit(across @ X[:, 1:], across @ y)
    mine, theirs = model.posterior_.marginal_mean(), other.posterior_.marginal_mean()
    assert mine.dof == theirs.dof == 3.0 + 8.0
    np.testing.assert_allclose(mine.location[1:], theirs.location, rtol=1e-10)
    np.testing.assert_allclose(mine.scale[1:, 1:], theirs.scale, rtol=1e-10)


def test_a_given_prior_of_the_noise_stands_beside_flat_weights():
    X, y, _ = problem(n=3)
    model = BayesianLinearRegressor(0.0, fit_intercept=False, noise_shape=2.0, noise_scale=3.0)
    noise = model.fit(X, y).posterior_.marginal_variance()  # three weights take all three rows
    assert noise.shape == 2.0
    assert noise.scale == pytest.approx(3.0, rel=1e-12)


# -- consistent ways to the same answer ---------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_stream_merge_weights_and_saving_agree(intercept):
    X, y, rng = problem(n=14)
    flat = BayesianLinearRegressor(0.0, fit_intercept=intercept)
    counts = rng.integers(0, 4, size=14)
    repeated = np.repeat(np.arange(14), counts)
    whole = clone(flat).fit(X[repeated], y[repeated])
    weighted = clone(flat).fit(X, y, sample_weight=counts)
    stream = clone(flat)
    for part in np.array_split(repeated, 9):  # the first parts alone determine nothing
        stream.partial_fit(X[part], y[part])
    halves = [clone(flat).partial_fit(X[p], y[p]) for p in np.array_split(repeated, 2)]
    saved = pickle.loads(pickle.dumps(whole))
    for other in (weighted, stream, halves[0].merge(halves[1]), saved):
        mine, theirs = whole.predict_dist(X), other.predict_dist(X)
        for dof in (mine.dof, theirs.dof):
            assert (dof == len(repeated) - 3 - intercept).all()
        np.testing.assert_allclose(theirs.mean, mine.mean, rtol=1e-9)
        np.testing.assert_allclose(theirs.scale, mine.scale, rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_left_out_densities_are_those_of_refits(intercept):
    X, y, rng = problem(n=8)
    v = rng.uniform(0.5, 2.0, size=8)
    flat = BayesianLinearRegressor(0.0, fit_intercept=intercept)
    found = flat.fit(X, y, noise_variance=v).leave_one_out_log_density(X, y, noise_variance=v)
    for n in range(8):
        rest = np.arange(8) != n
        truth = LeastSquares.fit(design_of(X, intercept)[rest], y[rest], v[rest])
        expected = truth.of_targets(design_of(X, intercept)[[n]], v[n]).logpdf(y[n])
        assert found[n] == pytest.approx(expected[0], rel=1e-8)


def test_rows_that_the_others_cannot_predict_have_no_density():
    X, y, _ = problem(n=4)
    flat = BayesianLinearRegressor(0.0, fit_intercept=False).fit(X, y)
    assert np.isneginf(flat.leave_one_out_log_density(X, y)).all()  # three rows, three weights
    X, y = np.ones((4, 1)), np.array([1.0, 1.0, 1.0, 2.0])
    flat.fit(X, y)  # without the last, the others leave no noise
    assert np.isneginf(flat.leave_one_out_log_density(X, y)).tolist() == [False] * 3 + [True]


def test_draws_have_the_posterior_of_least_squares():
    X, y, _ = problem(n=10)
    truth = LeastSquares.fit(design_of(X, True), y).of_weights()
    draws = BayesianLinearRegressor(0.0).fit(X, y).sample_weights(20_000, rng=1)
    for j in range(4):
        below = np.mean(draws[:, j] < truth.ppf(0.9)[j])
        assert abs(below - 0.9) < 5 * np.sqrt(0.09 / 20_000)


def test_a_flat_prior_of_any_width_is_flat():
    X, y, _ = problem(n=10)
    model = BayesianLinearRegressor(0.0).fit(X, y)
    wider = model.with_prior_scaled(4.0).fit(X, y)
    np.testing.assert_array_equal(wider.predict_dist(X).scale, model.predict_dist(X).scale)
    assert (wider.predict_dist(X).dof == 6.0).all()


# -- refused in words -----------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_no_more_rows_than_weights_are_refused(intercept):
    flat = BayesianLinearRegressor(0.0, fit_intercept=intercept)
    for n in range(2, 4 + intercept):
        X, y, _ = problem(n=n)
        with pytest.raises(ValueError, match=r"prior_precision is flat.* give .*prior.precision"):
            clone(flat).fit(X, y)
    X, y, _ = problem(n=3 + intercept)
    words = f"{3 + intercept} rows leave nothing .* beside {3 + intercept} weights"
    with pytest.raises(ValueError, match=words):
        flat.fit(X, y)


def test_a_perfect_fit_is_refused():
    X, _, _ = problem(n=10)
    for y in (X @ [1.0, 2.0, 3.0] + 1.0, np.ones(10)):
        with pytest.raises(ValueError, match=r"fit the targets perfectly.*noise_scale="):
            BayesianLinearRegressor(0.0).fit(X, y)


@pytest.mark.parametrize("known", [None, 2.0])
def test_evidence_is_refused_with_the_remedy(known):
    X, y, _ = problem(n=10)
    for model in (
        BayesianLinearRegressor(0.0, noise_precision=known).fit(X, y),
        BayesianLinearRegressor([0.0, 1.0, 1.0], noise_precision=known).fit(X, y),
        LogLinearRegressor(0.0, noise_precision=known).fit(X, np.exp(y / 9.0)),
    ):
        with pytest.raises(AttributeError, match=r"improper prior .* positive prior precision"):
            _ = model.log_evidence_
