"""Large tables: a sample ranks all models, the best and the simplest are fitted to all rows."""

import numpy as np
import pandas as pd
import pytest

from posteriori import analyze
from posteriori.analysis.fitting import staged

NAMES = [
    "constant",
    "linear",
    "linear (learned scale)",
    "linear (sparse)",
    "robust linear",
    "splines",
    "quadratic",
]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    y = x[:, 0] ** 2 + 0.5 * x[:, 1] + 0.1 * rng.normal(size=500)
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y})


@pytest.fixture(autouse=True)
def small_sizes(monkeypatch):
    monkeypatch.setattr(staged, "_LARGE", 400)
    monkeypatch.setattr(staged, "_SAMPLE", 100)


def rows_heard(table, **options):
    heard = []

    def hear(outcome, total, left):
        heard.append((outcome.name, len(outcome.unseen.log_density), total))

    return analyze(table, "y", models=NAMES, jobs=1, on_outcome=hear, **options), heard


def test_the_best_of_a_sample_and_the_simplest_see_all_rows(table):
    found, heard = rows_heard(table)
    assert [name for name, rows, _ in heard if rows == 100] == NAMES
    finalists = [name for name, rows, _ in heard if rows == 500]
    assert finalists[:2] == ["constant", "linear"]
    assert {"splines", "quadratic"} <= set(finalists[2:])
    assert len(finalists) == 5
    assert set(found.outcomes) == {*finalists, "average"}
    assert found.kept != "constant"
    said = "; ".join(found.notes)
    assert "7 of 7 models were ranked on 100 rows drawn from 500, by their score: " in said
    assert "of these went on to all 500 rows: constant, straight lines" in said


def test_small_tables_few_models_and_thorough_comparisons_have_one_stage(table):
    _, heard = rows_heard(table.iloc[:400])
    assert {rows for _, rows, _ in heard} == {400}
    _, heard = rows_heard(table, thorough=True)
    assert {rows for _, rows, _ in heard} == {500}
    found = analyze(table, "y", models=NAMES[:5], jobs=1)
    assert len(found.problem.y) == 500
    assert not any("drawn" in note for note in found.notes)


def end_early(monkeypatch, reached, how="time"):
    """Let only some models be fitted to all rows before the end."""
    honest, limits = staged.run_candidates, []

    def run(candidates, problem, *, time_limit, **options):
        limits.append(time_limit)
        if len(problem.y) == 100:
            return honest(candidates, problem, **options)
        return honest([c for c in candidates if c.name in reached], problem, **options)[0], how

    monkeypatch.setattr(staged, "run_candidates", run)
    return limits


@pytest.mark.parametrize("reached", [(), ("constant",)])
def test_a_limit_leaves_the_verdict_of_the_sample(table, monkeypatch, reached):
    limits = end_early(monkeypatch, reached)
    found, _ = rows_heard(table, time_limit=1000.0)
    assert limits[0] == 500.0
    assert 500.0 < limits[1] <= 1000.0
    assert len(found.problem.y) == 100
    assert len(found.target.values) == found.target.known.sum() == 100
    assert found.best_single in ("splines", "quadratic")
    assert "the time limit was reached" in found.notes
    np.testing.assert_array_equal(table["y"][found.target.known], found.problem.y)


def test_a_limit_leaves_the_simplest_model_of_all_rows(table, monkeypatch):
    end_early(monkeypatch, ("constant", "linear"))
    found, _ = rows_heard(table, time_limit=1000.0)
    assert len(found.problem.y) == 500
    assert found.best_single == "linear"
    assert "not tried and may do better" in found.verdict


def test_an_interrupted_sample_is_the_end(table, monkeypatch):
    def run(candidates, problem, **options):
        assert len(problem.y) == 100
        return honest(candidates[:2], problem, **options)[0], "interrupted"

    honest = staged.run_candidates
    monkeypatch.setattr(staged, "run_candidates", run)
    found, _ = rows_heard(table)
    assert found.interrupted
    assert found.best_single == "linear"
    assert any("2 of 7 models were ranked on 100 rows" in note for note in found.notes)


def test_classes_and_single_columns_have_two_stages_too(table):
    table["c"] = np.where(table["y"] > table["y"].median(), "high", "low")
    names = ["class frequencies", "naive Bayes", "linear discriminant", "quadratic discriminant"]
    names += ["logistic", "probit"]
    found = analyze(table.drop(columns="y"), "c", models=names, jobs=1)
    assert any("rows drawn from 500" in note for note in found.notes)
    assert len(found.problem.y) == 500
    alone = analyze({"e": np.exp(table["y"])}, "e", task="density", jobs=1)
    assert any("rows drawn from 500" in note for note in alone.notes)
    assert len(alone.problem.y) == 500
