"""Held-out densities against refits: importance sampling, cross-validation, WAIC."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from posteriori.classification import BayesianLogisticRegression
from posteriori.numerics.calculus.pareto_smoothing import fit_generalized_pareto
from posteriori.regression import (
    BayesianLinearRegressor,
    LinearRegressor,
    PoissonRegressor,
    PolynomialBasis,
    RobustRegressor,
)
from posteriori.selection import held_out_density, leave_one_out, waic
from posteriori.selection.cross_validation import cross_validate, predict_fold, split_rows
from posteriori.selection.held_out import hold_out_by_draws


def rows(n=30, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, x @ [1.0, -0.5] + 0.3 + 0.5 * rng.normal(size=n)


def refits(model, x, y):
    found = np.empty(len(y))
    for n in range(len(y)):
        others = np.arange(len(y)) != n
        part = clone(model).fit(x[others], y[others])
        found[n] = part.predict_dist(x[[n]]).log_prob(y[[n]])[0]
    return found


def test_smoothed_importance_sampling_finds_exact_left_out_densities():
    x, y = rows()
    model = BayesianLinearRegressor(1.0, fit_intercept=False, noise_scale=0.5).fit(x, y)
    loo = leave_one_out(model.log_likelihood_draws(x, y, 20_000, 0))
    assert np.all(loo.pareto_shape < 0.5)
    np.testing.assert_allclose(loo.pointwise, refits(model, x, y), atol=0.02)
    assert loo.total == pytest.approx(refits(model, x, y).sum(), abs=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_smoothed_importance_sampling_follows_refits_of_laplace_posteriors(seed):
    x, _ = rows(60, seed)
    y = np.random.default_rng(seed).poisson(np.exp(1.0 + 0.5 * x[:, 0])).astype(float)
    model = PoissonRegressor().fit(x, y)
    held = held_out_density(model, x, y, draws=4000)
    assert held.method == "psis"
    assert held.total == pytest.approx(refits(model, x, y).sum(), abs=0.3)


def test_smoothing_keeps_equal_weights():
    loo = leave_one_out(np.full((100, 2), -1.5))
    np.testing.assert_allclose(loo.pointwise, -1.5)
    assert np.all(np.isneginf(loo.pareto_shape))


@pytest.mark.parametrize("shape", [0.2, 0.5, 1.0])
def test_the_shape_of_a_tail_is_found(shape):
    x = stats.genpareto(shape, scale=2.0).rvs(size=(20_000, 2), random_state=0)
    found, scale = fit_generalized_pareto(np.sort(x, axis=0))
    np.testing.assert_allclose(found, shape, atol=5 * (1 + shape) / np.sqrt(20_000))
    np.testing.assert_allclose(scale, 2.0, rtol=0.1)


def test_too_few_draws_are_refused():
    with pytest.raises(ValueError, match="at least 20 draws"):
        leave_one_out(np.zeros((10, 3)))


def test_waic_is_close_to_leaving_out_and_its_penalty_counts_parameters():
    x, y = rows(300)
    model = BayesianLinearRegressor(1.0, noise_precision=4.0, fit_intercept=False).fit(x, y)
    elpd, penalty = waic(model.log_likelihood_draws(x, y, 4000, 0))
    assert penalty.sum() == pytest.approx(model.effective_parameters_, abs=0.4)
    exact = model.leave_one_out_log_density(x, y).sum()
    assert elpd.sum() == pytest.approx(exact, abs=0.3)


def test_waic_of_two_draws_by_hand():
    logs = np.log([[0.2], [0.4]])
    elpd, penalty = waic(logs)
    assert penalty[0] == pytest.approx(0.5 * np.log(2.0) ** 2)
    assert elpd[0] == pytest.approx(np.log(0.3) - 0.5 * np.log(2.0) ** 2)


def test_closed_form_is_preferred():
    x, y = rows()
    model = BayesianLinearRegressor().fit(x, y)
    held = held_out_density(model, x, y)
    assert held.method == "leave-one-out"
    np.testing.assert_array_equal(held.pointwise, model.leave_one_out_log_density(x, y))
    assert held.accuracy == pytest.approx(model.expected_log_likelihood(x, y).sum())


def test_folds_are_those_of_scikit_learn():
    x, y = rows()
    model = BayesianLinearRegressor(hyperparameters="type-II").fit(x, y)
    held = held_out_density(model, x, y, folds=3, seed=4)
    assert held.method == "3-fold"
    for train, test in KFold(3, shuffle=True, random_state=4).split(x):
        part = clone(model).fit(x[train], y[train])
        np.testing.assert_allclose(
            held.pointwise[test], part.predict_dist(x[test]).log_prob(y[test])
        )


@pytest.mark.parametrize(
    ("model", "method"),
    [(BayesianLinearRegressor(), "leave-one-out"), (RobustRegressor(), "psis")],
)
def test_densities_are_of_targets_as_they_are_recorded(model, method):
    x, y = rows(60)
    recorded = np.round(y, 1)  # a fifth of the noise
    held = held_out_density(clone(model).fit(x, recorded), x, recorded, draws=8000)
    exact = cross_validate(model, x, recorded, folds=60, seed=0).log_density
    assert held.method == method
    np.testing.assert_allclose(held.pointwise, exact, atol=0.05)
    assert held.total == pytest.approx(exact.sum(), abs=0.3)


@pytest.mark.parametrize("model", [BayesianLinearRegressor(), RobustRegressor()])
def test_coarse_targets_are_held_out_in_folds(model):
    x, y = rows(60)
    coarse = np.rint(y)  # twice the noise: densities of single points would be too high
    held = held_out_density(clone(model).fit(x, coarse), x, coarse)
    assert held.method == "5-fold"
    folds = cross_validate(model, x, coarse, folds=5, seed=0).log_density
    np.testing.assert_array_equal(held.pointwise, folds)
    assert held.pointwise.max() <= 0.0  # probabilities of the units around whole numbers


def test_a_class_of_one_row_is_no_reason_to_rule_a_model_out():
    x, y = rows(60)
    labels = np.where(y > 0.3, "high", "low")
    labels[5] = "strange"
    model = make_pipeline(StandardScaler(), BayesianLogisticRegression())
    held = held_out_density(clone(model).fit(x, labels), x, labels)
    assert held.method == "5-fold"
    assert held.pointwise[5] == pytest.approx(-np.log(48 + 3))  # what a uniform prior leaves
    assert held.total > -60


def test_one_class_in_the_training_rows_leaves_the_rest_to_it():
    x, _ = rows(30)
    labels = np.where(np.arange(30) == 5, "rare", "usual")
    splits = split_rows(labels, 5, 0, classes=True)
    train, test = next(s for s in splits if 5 in s[1])
    model = BayesianLogisticRegression()
    found = predict_fold(model, x, labels, (train, test), np.array(["rare", "usual"]))
    share = 1.0 / (24 + 2)
    np.testing.assert_allclose(found.prediction, np.tile([share, 1.0 - share], (6, 1)))


def test_importance_sampling_that_fails_gives_way_to_folds():
    x, y = rows(25)
    y = np.rint(np.exp(y))
    x[0], y[0] = [9.0, 9.0], 400.0  # a row that alone decides on a direction
    held = held_out_density(PoissonRegressor(1e-4).fit(x, y), x, y)
    assert held.pareto_shape > 0.7
    assert held.method == "5-fold"


def test_a_pipeline_that_learns_from_all_rows_is_cross_validated():
    x, y = rows()
    scaled = make_pipeline(StandardScaler(), BayesianLinearRegressor()).fit(x, y)
    assert held_out_density(scaled, x, y).method == "5-fold"


def test_rows_come_in_blocks_with_the_same_draws(monkeypatch):
    x, y = rows()
    model = RobustRegressor().fit(x, y)
    whole = held_out_density(model, x, y)
    monkeypatch.setattr("posteriori.selection.held_out.IN_MEMORY", 7000)
    parts = held_out_density(model, x, y)
    np.testing.assert_allclose(parts.pointwise, whole.pointwise, rtol=1e-12)
    assert parts.waic == pytest.approx(whole.waic, rel=1e-12)


@pytest.mark.parametrize("model", [BayesianRidge(), LinearRegressor()])
def test_estimators_without_a_predictive_distribution_are_taken_as_normal(model):
    x, y = rows(200)
    held = held_out_density(clone(model).fit(x, y), x, y)
    exact = held_out_density(BayesianLinearRegressor().fit(x, y), x, y)
    assert held.total == pytest.approx(exact.total, abs=2.0)


def test_polynomials_of_any_table_type_are_held_out():
    pl = pytest.importorskip("polars")
    x, y = rows()
    model = make_pipeline(PolynomialBasis(), BayesianLinearRegressor(hyperparameters="type-II"))
    frame = pl.DataFrame(x, schema=["a", "b"])
    found = held_out_density(clone(model).fit(frame, y), frame, pl.Series(y))
    expected = held_out_density(clone(model).fit(x, y), x, y)
    np.testing.assert_allclose(found.pointwise, expected.pointwise)


def test_some_of_many_rows_tell_all():
    x, y = rows(4000)
    model = BayesianLinearRegressor().fit(x, y)
    exact = model.leave_one_out_log_density(x, y)
    whole = model.log_likelihood_draws(x, y, 1000, 0)

    def log_likelihood_of(some, size):
        return whole[:size, some]

    held = hold_out_by_draws(log_likelihood_of, len(y), 1000, seed=1)
    assert held.method == "psis of 2000 rows"
    assert abs(held.total - exact.sum()) < 5 * held.sampling_error < 1.0
    np.testing.assert_allclose(held.pointwise, exact, atol=0.02)
    elpd, penalty = waic(whole)
    assert held.waic == pytest.approx(elpd.sum(), abs=0.5)
    assert held.accuracy == pytest.approx(whole.mean(axis=0).sum(), abs=0.5)
    assert held.penalty == pytest.approx(penalty.sum(), rel=0.1)


def test_many_counts_are_told_by_some(monkeypatch):
    x, _ = rows(2000)
    y = np.random.default_rng(0).poisson(np.exp(0.5 * x[:, 0])).astype(float)
    model = PoissonRegressor().fit(x, y)
    every = held_out_density(model, x, y)
    monkeypatch.setattr("posteriori.selection.held_out._MOST_ROWS", 400)
    some = held_out_density(model, x, y)
    assert (some.method, every.method) == ("psis of 400 rows", "psis")
    assert abs(some.total - every.total) < 5 * some.sampling_error < 2.0


def test_a_closed_form_is_not_told_by_some():
    x, y = rows(5000)
    model = BayesianLinearRegressor().fit(x, y)
    held = held_out_density(model, x, y)
    assert held.method == "leave-one-out"
    np.testing.assert_array_equal(held.pointwise, model.leave_one_out_log_density(x, y))
    elpd, _ = waic(model.log_likelihood_draws(x, y, 1000, 0))
    assert held.waic == pytest.approx(elpd.sum(), abs=0.5)


def test_what_is_no_estimator_is_named():
    with pytest.raises(TypeError, match="estimator must be an estimator"):
        held_out_density("a", np.zeros((4, 1)), np.arange(4.0))
