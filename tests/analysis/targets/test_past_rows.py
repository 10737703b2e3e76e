"""Scores by origins: what is told of a row comes from the rows before it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from posteriori import compare
from posteriori.analysis.comparisons.comparing import fit_target, make_pipeline
from posteriori.analysis.targets.past_rows import some_after_origins
from posteriori.selection.candidates import candidates_for
from posteriori.selection.cross_validation import split_origins

FEW = {"models": ["constant", "linear"], "jobs": 1}


def drifting(rows: int = 90, seed: int = 0) -> pd.DataFrame:
    """Return rows in no order, whose target rises with the day, some of them on one day."""
    rng = np.random.default_rng(seed)
    day = rng.integers(0, 60, rows)
    x = rng.normal(size=rows)
    date = (pd.Timestamp("2021-03-01") + pd.to_timedelta(day, unit="D")).strftime("%Y-%m-%d")
    return pd.DataFrame({"day": date, "x": x, "y": 0.1 * day + x + 0.3 * rng.normal(size=rows)})


@pytest.mark.parametrize("folds", [2, 5])
def test_origins_part_the_rows_in_time(folds):
    times = np.random.default_rng(1).integers(0, 40, 200).astype(float)
    pairs = split_origins(times, folds)
    assert len(pairs) == folds
    for before, held in pairs:
        assert times[before].max() < times[held].min()
        np.testing.assert_array_equal(np.sort(before), np.flatnonzero(times < times[held].min()))
    told = np.concatenate([held for _, held in pairs])
    assert len(np.unique(told)) == len(told)
    np.testing.assert_array_equal(
        np.sort(np.concatenate([told, pairs[0][0]])), np.arange(len(times))
    )
    sizes = [len(held) for _, held in pairs]
    assert max(sizes) < 1.5 * min(sizes)


def test_too_few_times_are_refused():
    with pytest.raises(ValueError, match="several times"):
        split_origins(np.zeros(20), 5)


def test_predictions_are_those_of_models_of_earlier_rows():
    table = drifting()
    found = compare(table, "y", time="day", **FEW)
    problem, (X, y) = found.problem, found.problem.learned
    assert len(y) == len(table)
    first = len(problem.past.y)
    candidate = candidates_for("regression", ["linear"])[0]
    said = found.outcomes["linear"].unseen.prediction
    for fold, (_, held) in enumerate(problem.splits):
        begin = problem.X["day"].to_numpy()[held].min()
        earlier = X["day"].to_numpy() < begin
        by_hand = make_pipeline(candidate, problem.kinds, 0, problem.seasons)
        by_hand.fit(X[earlier].reset_index(drop=True), y[earlier])
        expected = by_hand.predict(problem.X.iloc[held])
        np.testing.assert_allclose(said[held], expected, rtol=1e-9)
        told = fit_target(problem, candidate, fold)
        np.testing.assert_allclose(told.prediction, expected, rtol=1e-9)
    # and each row of the table stands where the target says that it is
    rows = np.flatnonzero(found.target.known)
    np.testing.assert_array_equal(table["y"].to_numpy()[rows], problem.y)
    assert first + len(rows) == len(table)


def test_what_is_kept_has_learned_from_all_rows():
    table = drifting()
    by_origins = compare(table, "y", time="day", save_model="linear", **FEW)
    at_random = compare(table, "y", save_model="linear", **FEW)
    said = by_origins.model.predict(table)["y_mean"]
    np.testing.assert_allclose(said, at_random.model.predict(table)["y_mean"], rtol=1e-9)
    assert by_origins.model.facts["rows"] == len(table)
    assert any("scored by origins" in note for note in by_origins.notes)
    assert not any("held out at random" in note for note in by_origins.notes)
    assert any("held out at random" in note for note in at_random.notes)
    assert 'time="day"' in by_origins.code() or "time='day'" in by_origins.code()


@pytest.mark.parametrize("options", [{"loss": "absolute"}, {"target": "late"}, {"folds": 2}])
def test_other_questions_have_origins_too(options):
    table = drifting()
    table["late"] = np.where(table["y"] + table["x"] > 3.0, "yes", "no")
    target = options.pop("target", "y")
    models = None if target == "y" else ["class frequencies", "logistic"]
    asked = {**FEW, **({"models": models} if models else {})}
    found = compare(table, target, time="day", **asked, **options)
    assert np.isfinite(found.unseen.log_density).all()
    assert len(found.unseen.log_density) == len(found.problem.y)
    assert "<html" in found.html()


def test_some_rows_keep_their_origins():
    problem = compare(drifting(), "y", time="day", **FEW).problem
    rows = np.arange(0, len(problem.y), 2)
    some = some_after_origins(problem, rows)
    assert len(some.splits) == len(problem.splits)
    for earlier, (_, held) in zip(some.past.before, some.splits, strict=True):
        assert set(rows[held]) <= set(range(len(problem.y)))
        if len(earlier):
            assert some.X["day"][earlier].max() < some.X["day"][held].min()
    np.testing.assert_array_equal(some.y, problem.y[rows])


@pytest.mark.parametrize(
    ("time", "says"),
    [("month", "time names 'month'"), ("word", "holds no dates and no numbers")],
)
def test_columns_that_are_no_times_are_refused(time, says):
    table = drifting().assign(word=["a", "b", "c"] * 30)
    with pytest.raises(ValueError, match=says):
        compare(table, "y", time=time, **FEW)


def test_missing_times_are_refused():
    table = drifting()
    table.loc[3, "day"] = None
    with pytest.raises(ValueError, match="'day' is missing in 1 row"):
        compare(table, "y", time="day", **FEW)


def test_a_series_is_said_to_flatter():
    days = pd.date_range("2020-01-01", periods=60).strftime("%Y-%m-%d")
    y = np.sin(np.arange(60) / 9.0) + np.random.default_rng(0).normal(0, 0.1, 60)
    found = compare({"day": days, "y": y}, "y", models=["constant", "splines"], jobs=1)
    assert "--time day" in found.verdict
    assert "flatters" in found.verdict
    again = compare({"day": days, "y": y}, "y", models=["constant", "splines"], jobs=1, time="day")
    assert "flatters" not in again.verdict
    assert again.metrics["splines"]["RMSE"] > found.metrics["splines"]["RMSE"]
