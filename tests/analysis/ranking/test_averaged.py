"""The average of all candidates: its weights, its honest score, and that it can be kept."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from posteriori.analysis import compare, load_model, save_model
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.selection.averaging import ModelAverage
from posteriori.selection.comparison import Comparison
from posteriori.selection.stacking import (
    log_mixed,
    stacking_weights,
    weights_by_folds,
    weights_of_other_folds,
)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    x = rng.uniform(-2.0, 2.0, 120)
    noise = 0.3 * rng.standard_t(3, size=120)
    return pd.DataFrame({"x": x, "z": rng.normal(size=120), "y": np.exp(0.4 * x + noise)})


@pytest.fixture(scope="module")
def analysis(table):
    names = ["constant", "linear", "robust linear", "log-linear"]
    return compare(table, "y", models=names, jobs=1)


def test_weights_are_the_best_on_a_grid_of_the_simplex():
    rng = np.random.default_rng(0)
    logs = rng.normal(-1.0, [1.0, 0.7, 1.3], size=(40, 3))
    found = stacking_weights(logs)
    steps = np.linspace(0.0, 1.0, 101)
    a, b = np.meshgrid(steps, steps)
    grid = np.stack([a, b, 1.0 - a - b], axis=-1)[a + b <= 1.0]
    scores = np.log(np.exp(logs) @ grid.T).sum(axis=0)
    assert np.log(np.exp(logs) @ found).sum() >= scores.max() - 1e-9


def test_the_weights_of_a_fold_do_not_know_its_rows():
    rng = np.random.default_rng(1)
    logs = rng.normal(size=(30, 3))
    splits = [(np.arange(10, 30), np.arange(10)), (np.arange(10), np.arange(10, 30))]
    before = weights_of_other_folds(logs, splits)
    changed = logs.copy()
    changed[:10] += rng.normal(size=(10, 3))
    np.testing.assert_array_equal(weights_of_other_folds(changed, splits)[:10], before[:10])
    np.testing.assert_allclose(before.sum(axis=1), 1.0)


def fold_splits(n, folds):
    parts = np.array_split(np.random.default_rng(0).permutation(n), folds)
    return [(np.setdiff1d(np.arange(n), part), part) for part in parts]


def near_the_best(logs, limit):
    """Return which models are near the best, one at a time."""
    best = max(range(logs.shape[1]), key=lambda k: logs[:, k].sum())
    near = []
    for k in range(logs.shape[1]):
        gap = logs[:, best] - logs[:, k]
        error = np.std(gap) * np.sqrt(len(gap))
        near.append(k == best or limit == np.inf or gap.sum() <= limit * error)
    return np.array(near)


def test_levels_of_the_average_are_spread_over_all_between_0_and_1(analysis):
    level = analysis.outcomes[AVERAGE].unseen.level
    assert level.min() >= 0.0
    assert level.max() <= 1.0
    assert abs(level.mean() - 0.5) < 5 * np.sqrt(1 / 12 / len(level))


def test_which_models_are_near_enough_to_the_best_is_what_the_folds_say():
    chosen = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        logs = rng.normal([-1.0, -1.05, -1.3, -1.6], 0.6, size=(60, 4))
        splits = fold_splits(60, 5)
        scores, weights = {}, {}
        for limit in (np.inf, 2.0, 1.0):
            scores[limit] = 0.0
            for others, rows in splits:
                near = near_the_best(logs[others], limit)
                w = stacking_weights(logs[others][:, near])
                scores[limit] += np.log(np.exp(logs[rows][:, near]) @ w).sum()
            near = near_the_best(logs, limit)
            weights[limit] = np.zeros(4)
            weights[limit][near] = stacking_weights(logs[:, near])
        best = max(scores, key=scores.__getitem__)
        chosen.add(best)
        np.testing.assert_allclose(weights_by_folds(logs, splits), weights[best], atol=1e-9)
    assert len(chosen) > 1


def test_models_that_rule_out_a_row_never_stand_alone():
    logs = np.log(np.random.default_rng(0).uniform(0.2, 1.0, size=(20, 3)))
    logs[3, 0] = -np.inf
    found = weights_by_folds(logs, fold_splits(20, 4))
    assert found.sum() == pytest.approx(1.0)
    assert np.isfinite(log_mixed(logs, found)).all()
    logs[4, 1] = logs[5, 2] = -np.inf  # now each rules out a row
    found = weights_by_folds(logs, fold_splits(20, 4))
    assert np.isfinite(log_mixed(logs, found)).all()


def test_what_the_average_says_is_the_mixture_of_what_its_members_say(analysis):
    outcome = analysis.outcomes[AVERAGE]
    members = [row.name for row in analysis.single_rows]
    logs = np.stack([analysis.outcomes[name].unseen.log_density for name in members], axis=1)
    shares = weights_of_other_folds(logs, analysis.problem.splits)
    for _, rows in analysis.problem.splits:
        weights = shares[rows[0]]
        weights[weights < 0.01] = 0.0
        mixed = np.log(np.exp(logs[rows]) @ (weights / weights.sum()))
        np.testing.assert_allclose(outcome.unseen.log_density[rows], mixed, rtol=1e-10)


@pytest.mark.parametrize("loss", ["squared", "absolute", "log"])
def test_the_average_is_scored_by_the_numbers_that_it_predicts_when_saved(table, loss):
    names = ["constant", "linear", "robust linear", "log-linear"]
    found = compare(table, "y", models=names, loss=loss, jobs=1)
    outcome = found.outcomes[AVERAGE]
    logs = np.stack([found.outcomes[name].unseen.log_density for name in names], axis=1)
    shares = weights_of_other_folds(logs, found.problem.splits)
    for others, rows in found.problem.splits:
        weights = np.where(shares[rows[0]] < 0.01, 0.0, shares[rows[0]])
        members = {
            name: clone(found.outcomes[name].model).fit(
                found.problem.X.iloc[others], found.problem.y[others]
            )
            for name in names
        }
        of_fold = ModelAverage.of_fitted(
            members, dict(zip(names, weights / weights.sum(), strict=True))
        )
        saved = replace(found.table_model(AVERAGE), pipeline=of_fold)
        predicted = saved.predict_inputs(found.problem.X.iloc[rows]).iloc[:, 0]
        np.testing.assert_allclose(outcome.unseen.prediction[rows], predicted, rtol=1e-9)


def test_the_median_of_a_mixture_is_not_the_mean_of_medians():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2.0, 2.0, 120)
    narrow = 6.0 + x + 0.2 * rng.normal(size=120)
    wide = np.exp(1.8 + 0.3 * x + 0.8 * rng.normal(size=120))
    table = pd.DataFrame({"x": x, "y": np.where(np.arange(120) % 2, narrow, wide)})
    names = ["robust linear", "log-linear"]
    found = compare(table, "y", models=names, loss="absolute", jobs=1)
    parts = [found.outcomes[name].unseen for name in names]
    logs = np.stack([part.log_density for part in parts], axis=1)
    shares = weights_of_other_folds(logs, found.problem.splits)
    medians = np.stack([part.prediction for part in parts], axis=1)
    apart = np.abs((shares * medians).sum(axis=1) - found.outcomes[AVERAGE].unseen.prediction)
    assert apart.max() > 1e-3


def test_the_shares_are_those_that_all_rows_ask_for(analysis):
    shares = {row.name: row.weight for row in analysis.single_rows}
    assert sum(shares.values()) == pytest.approx(1.0)
    kept = analysis.outcomes[AVERAGE].model.weights_
    assert kept == {name: share for name, share in shares.items() if share > 0.0}
    assert np.isnan(analysis.ranking[AVERAGE].weight)


def test_on_noise_the_average_gains_nothing():
    """Nested weights are not flattered: over tables of noise the average is no better than a level."""
    gains = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        noise = pd.DataFrame(rng.normal(size=(40, 4)), columns=["a", "b", "c", "y"])
        found = compare(noise, "y", models=["constant", "linear", "robust linear"], jobs=1)
        gains.append(found.ranking[AVERAGE].elpd - found.ranking["constant"].elpd)
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert np.mean(gains) < 3.0 * error


def test_a_saved_average_predicts_as_before(analysis, table, tmp_path):
    model = analysis.table_model(AVERAGE)
    save_model(model, tmp_path / "average.po")
    again = load_model(tmp_path / "average.po")
    pd.testing.assert_frame_equal(again.predict(table.head(7)), model.predict(table.head(7)))
    assert again.name == AVERAGE


def test_an_average_of_classes_is_saved_too(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(90, 2))
    label = np.where(x[:, 0] + 0.7 * rng.normal(size=90) > 0.0, "up", "down")
    table = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": label})
    names = ["class frequencies", "logistic", "naive Bayes", "linear discriminant"]
    found = compare(table, "y", models=names, jobs=1)
    model = found.table_model(AVERAGE)
    members = found.outcomes[AVERAGE].model
    p = model.predict(table.head(5))["P(y=up)"].to_numpy()
    mixed = sum(
        share * members.models_[name].predict_proba(found.problem.X.head(5))[:, 1]
        for name, share in members.weights_.items()
    )
    np.testing.assert_allclose(p, mixed, rtol=1e-12)
    save_model(model, tmp_path / "m.po")
    again = load_model(tmp_path / "m.po").predict(table.head(5))
    np.testing.assert_allclose(again["P(y=up)"], p, rtol=1e-12)


def test_one_model_has_no_average(table):
    found = compare(table, "y", models=["linear"], jobs=1)
    assert [row.name for row in found.ranking] == ["linear"]
    assert "“straight lines” is the only model that was fitted" in found.verdict


def with_difference(found, errors):
    """Return findings whose average, of all in equal parts, is so many standard errors behind the best model."""
    rows = [
        replace(row, elpd_difference=-errors, elpd_difference_se=1.0)
        if row.name == AVERAGE
        else replace(row, weight=1.0 / (len(found.ranking.rows) - 1))
        for row in found.ranking.rows
    ]
    last = sorted(rows, key=lambda row: row.name == AVERAGE)  # the average is not first
    return replace(found, ranking=Comparison(last))


@pytest.mark.parametrize("errors", [0.9, 3.0])
def test_the_average_is_kept_though_it_is_not_first(table, errors):
    found = compare(table.iloc[:120], "y", models=["constant", "linear", "robust linear"], jobs=1)
    moved = with_difference(found, errors)
    assert moved.kept == moved.model.name == AVERAGE
    assert "“average of the models” is kept: an average is seldom surer" in " ".join(moved.reasons)


def test_a_model_that_has_all_of_the_average_is_kept_by_itself(table):
    found = with_difference(compare(table.iloc[:60], "y", models=["constant", "linear"]), 0.0)
    for share, kept in ((0.98, AVERAGE), (0.999, "linear")):
        shares = {"linear": share, "constant": 1.0 - share}
        rows = [replace(row, weight=shares.get(row.name, np.nan)) for row in found.ranking.rows]
        assert replace(found, ranking=Comparison(rows)).kept == kept


def test_a_single_model_is_kept_if_it_is_asked_for(table):
    asked = {"models": ["constant", "linear", "robust linear"], "jobs": 1}
    best = compare(table.iloc[:60], "y", single=True, **asked)
    assert best.kept == best.model.name == best.best_single != AVERAGE
    assert "single=True" in best.code("t.csv") or "single=True" in best.code()
    named = compare(table.iloc[:60], "y", save_model="straight lines (robust)", **asked)
    assert named.kept == named.model.name == "robust linear"
    with pytest.raises(ValueError, match="did you mean 'robust linear'"):
        compare(table, "y", save_model="robust linaer", **asked)
    with pytest.raises(ValueError, match="--single"):
        compare(table, "y", save_model="linear", single=True, **asked)
    with pytest.raises(ValueError, match="there is none"):
        compare(table, task="density", single=True)


def test_an_average_that_errs_more_than_no_column_is_not_kept(table):
    found = compare(table.iloc[:60], "y", models=["constant", "linear", "robust linear"], jobs=1)
    worse = {**found.metrics[AVERAGE], "RMSE": 2.0 * found.metrics["constant"]["RMSE"]}
    assert replace(found, metrics={**found.metrics, AVERAGE: worse}).kept != AVERAGE
