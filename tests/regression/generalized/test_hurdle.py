"""Counts behind a hurdle: against Monte Carlo, and the two parts alone."""

import numpy as np
import pytest
from scipy import optimize, special
from sklearn.base import clone

from posteriori.analysis.saved.object_tree import from_tree, to_tree
from posteriori.classification import BayesianLogisticRegression
from posteriori.regression import HurdleRegressor, NegativeBinomialRegressor
from posteriori.regression.generalized.occurrence import OccurrenceRegressor


def problem(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    some = rng.random(n) < special.expit(-0.5 + X[:, 0])
    return X, some * (1.0 + rng.poisson(np.exp(0.5 + 0.4 * X[:, 1])))


def test_whether_there_are_any_is_the_mode_of_the_stated_posterior():
    X, y = problem()
    model = OccurrenceRegressor().fit(X, (y > 0) * 1.0)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    design = np.column_stack([np.ones(len(z)), z])
    centre = np.array([special.logit(((y > 0).sum() + 0.5) / (len(y) + 1.0)), 0.0, 0.0])

    def loss(w):
        along = (2.0 * (y > 0) - 1.0) * (design @ w)
        return -special.log_expit(along).sum() + 0.5 * ((w - centre) ** 2).sum()

    best = optimize.minimize(loss, centre, tol=1e-12)
    np.testing.assert_allclose(model.coef_ * X.std(axis=0), best.x[1:], atol=1e-5)
    p = special.expit(design @ best.x)
    bend = (design * (p * (1 - p))[:, None]).T @ design + np.eye(3)
    expected = -best.fun - 0.5 * np.linalg.slogdet(bend)[1]
    assert float(model.log_evidence_) == pytest.approx(expected, abs=1e-6)


def test_whether_there_are_any_agrees_with_the_classifier():
    X, y = problem(600)
    ours = OccurrenceRegressor().fit(X, (y > 0) * 1.0).predict(X)
    peer = BayesianLogisticRegression().fit(X, y > 0).predict_proba(X)[:, 1]
    assert np.abs(ours - peer).max() < 0.01


def test_probabilities_of_wide_posteriors_against_monte_carlo():
    X, y = problem(12)
    model = OccurrenceRegressor(1e-3).fit(X, (y > 0) * 1.0)
    rows = np.array([[0.0, 0.0], [3.0, -5.0], [40.0, 0.0]])
    eta = model.predictor(rows)
    z = np.random.default_rng(0).standard_normal((200_000, 1))
    sampled = special.expit(eta.mean + np.sqrt(eta.variance) * z)
    error = sampled.std(axis=0) / np.sqrt(len(z))
    assert np.all(np.abs(model.predict(rows) - sampled.mean(axis=0)) < 5.0 * error + 1e-4)


def test_evidence_adds_up_and_predictions_are_those_of_the_parts():
    X, y = problem()
    model, some = HurdleRegressor().fit(X, y), y > 0
    first = OccurrenceRegressor().fit(X, some * 1.0)
    second = NegativeBinomialRegressor().fit(X[some], y[some] - 1.0)
    parts = float(first.log_evidence_) + float(second.log_evidence_)
    assert float(model.log_evidence_) == pytest.approx(parts, rel=1e-12)
    rows = X[:5]
    p, made = first.predict(rows), model.predict_dist(rows)
    np.testing.assert_allclose(np.exp(made.log_prob(0.0)), 1.0 - p, rtol=1e-10)
    counts = np.arange(300.0)[:, None]
    np.testing.assert_allclose(np.exp(made.log_prob(counts)).sum(axis=0), 1.0, rtol=1e-6)
    np.testing.assert_allclose(model.predict(rows), made.mean, rtol=1e-3)
    draws = model.sample_targets(rows, 20_000, rng=0)
    error = draws.std(axis=0) / np.sqrt(20_000)
    assert np.all(np.abs(draws.mean(axis=0) - made.mean) < 5.0 * error)
    held = model.log_likelihood_draws(X, y, 4000, rng=1)
    mixed = np.log(np.exp(held).mean(axis=0))
    np.testing.assert_allclose(mixed, model.predict_dist(X).log_prob(y), atol=0.05)


def test_it_wins_where_zeros_have_a_reason_of_their_own_only():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(800, 1))
    plain = rng.negative_binomial(2.0, 2.0 / (2.0 + np.exp(0.5 + 0.5 * X[:, 0]))) * 1.0
    hidden = np.where(rng.random(800) < 0.4, 0.0, 1.0 + rng.poisson(4.0, 800))
    for y, better in ((plain, NegativeBinomialRegressor), (hidden, HurdleRegressor)):
        models = HurdleRegressor().fit(X, y), NegativeBinomialRegressor().fit(X, y)
        best = max(models, key=lambda m: float(m.log_evidence_))
        assert type(best) is better
        assert models[0].log_evidence_.comparable(models[1].log_evidence_)


def test_frequencies_equal_repeated_rows():
    X, y = problem(60)
    times = np.random.default_rng(1).integers(0, 4, size=60)
    weighted = HurdleRegressor().fit(X, y, sample_weight=times)
    repeated = HurdleRegressor().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert float(weighted.log_evidence_) == pytest.approx(float(repeated.log_evidence_), abs=1e-6)
    assert weighted.log_evidence_.comparable(repeated.log_evidence_)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


def test_groups_have_effects_in_both_parts_and_new_levels_are_predicted():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 12, 600)
    effect = rng.normal(size=(12, 2))
    some = rng.random(600) < special.expit(effect[town, 0])
    y = some * (1.0 + rng.poisson(np.exp(1.0 + 0.5 * effect[town, 1])))
    X = np.column_stack([rng.normal(size=600), town])
    model = HurdleRegressor(groups=[1]).fit(X, y)
    assert model.log_evidence_.kind == "type-II"
    for part, truth in ((model.occurrence_, effect[:, 0]), (model.excess_, effect[:, 1])):
        (found,) = part.group_effects_.values()
        assert np.corrcoef(found.mean, truth)[0, 1] > 0.9
    (stated,) = model.group_effects_.values()
    assert np.array_equal(stated.levels, np.arange(12))
    assert np.isfinite(model.predict(np.array([[0.0, 99.0]]))).all()


def test_it_comes_back_from_files():
    X, y = problem()
    model = HurdleRegressor().fit(X, y)
    tree, blocks = to_tree(model)
    again = from_tree(tree, b"".join(blocks))
    assert np.array_equal(again.predict_dist(X).quantile(0.9), model.predict_dist(X).quantile(0.9))


def test_no_row_is_expected_beyond_twice_the_largest_count():
    X, y = problem()
    model = HurdleRegressor().fit(X, y)
    rows = np.array([[0.0, 1e9], [1e9, 1e9], [1e100, -1e100], [50.0, 30.0]])
    assert np.all(model.predict(rows) < 2.0 * y.max())
    assert np.all(model.predict_dist(rows).mean < 2.0 * y.max())


def test_bad_counts_are_refused():
    X, y = problem(20)
    with pytest.raises(ValueError, match="zeros only"):
        HurdleRegressor().fit(X, np.zeros(20))
    with pytest.raises(ValueError, match="needs counts >= 0"):
        HurdleRegressor().fit(X, y - 1.0)
    with pytest.raises(ValueError, match="prior_precision"):
        HurdleRegressor(-1.0).fit(X, y)


def test_a_wider_prior():
    X, y = problem(40)
    model = HurdleRegressor(4.0).fit(X, y)
    assert model.with_prior_scaled(2.0).prior_precision == 1.0
    assert clone(model).prior_precision == 4.0
