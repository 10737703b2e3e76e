"""Large tables: a sample ranks all models, the best and the simplest are fitted to all rows."""

import numpy as np
import pandas as pd
import pytest

from posteriori import compare
from posteriori.analysis.fitting import running

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
    monkeypatch.setattr(running, "_LARGE", 400)
    monkeypatch.setattr(running, "_SAMPLE", 100)


def rows_heard(table, **options):
    heard = []

    def hear(outcome, total, left):
        heard.append((outcome.name, len(outcome.unseen.log_density), total))

    return compare(table, "y", models=NAMES, jobs=1, on_outcome=hear, **options), heard


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
    found = compare(table, "y", models=NAMES[:5], jobs=1)
    assert len(found.problem.y) == 500
    assert not any("drawn" in note for note in found.notes)


def end_early(monkeypatch, reached, how="time"):
    """Let only some models be fitted to all rows before the end."""
    honest, limits = running.run_candidates, []

    def run(candidates, problem, *, time_limit, **options):
        limits.append(time_limit)
        if len(problem.X) == 100:
            return honest(candidates, problem, **options)
        return honest([c for c in candidates if c.name in reached], problem, **options)[0], how

    monkeypatch.setattr(running, "run_candidates", run)
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

    honest = running.run_candidates
    monkeypatch.setattr(running, "run_candidates", run)
    found, _ = rows_heard(table)
    assert found.interrupted
    assert found.best_single == "linear"
    assert any("2 of 7 models were ranked on 100 rows" in note for note in found.notes)


def test_classes_and_single_columns_have_two_stages_too(table):
    table["c"] = np.where(table["y"] > table["y"].median(), "high", "low")
    names = ["class frequencies", "naive Bayes", "linear discriminant", "quadratic discriminant"]
    names += ["logistic", "probit"]
    found = compare(table.drop(columns="y"), "c", models=names, jobs=1)
    assert any("rows drawn from 500" in note for note in found.notes)
    assert len(found.problem.y) == 500
    names = ["normal", "log-normal", "Student t", "normal mixture", "kernel density"]
    names += ["adaptive histogram"]
    alone = compare({"e": np.exp(table["y"])}, "e", task="density", models=names, jobs=1)
    assert any("rows drawn from 500" in note for note in alone.notes)
    assert len(alone.problem.y) == 500


JOINT = [
    "independent columns",
    "normal",
    "Student t",
    "principal components",
    "factor analysis",
    "kernel density",
]


@pytest.fixture
def plane():
    rng = np.random.default_rng(1)
    side = rng.choice([-3.0, 3.0], size=500)
    frame = pd.DataFrame({"a": side + rng.normal(size=500), "b": side + rng.normal(size=500)})
    frame.loc[7] = np.nan
    return frame


def test_densities_of_all_columns_have_two_stages_too(plane):
    heard = []

    def hear(outcome, total, left):
        heard.append((outcome.name, len(outcome.unseen.log_density)))

    found = compare(plane, task="density", models=JOINT, jobs=1, on_outcome=hear)
    assert [name for name, rows in heard if rows == 100] == JOINT
    finalists = [name for name, rows in heard if rows == 499]
    assert finalists[0] == "independent columns"
    assert "kernel density" in finalists
    assert len(finalists) == 4
    assert set(found.outcomes) == {*finalists, "average"}
    assert found.best_single == "kernel density"
    assert any("6 of 6 models were ranked on 100 rows drawn from 499" in n for n in found.notes)
    assert len(found.rows) == 499
    assert 7 not in found.rows
    assert found.log_density[7] == 0.0
    assert np.isfinite(found.log_density).all()


def test_a_limit_leaves_the_density_of_the_sample(plane, monkeypatch):
    end_early(monkeypatch, ())
    found = compare(plane, task="density", models=JOINT, jobs=1, time_limit=1000.0)
    assert len(found.rows) == len(found.problem.X) == 100
    assert 7 not in found.rows
    np.testing.assert_allclose(found.problem.X, plane.to_numpy()[found.rows], atol=1e-3)
    told = found.log_density
    np.testing.assert_array_equal(told[found.rows], found.outcomes[found.kept].unseen.log_density)
    assert told[7] == 0.0
    assert np.isnan(told).sum() == 399
    assert "the time limit was reached" in found.notes


def test_a_sample_that_no_density_can_learn_from_decides_nothing(plane):
    drawn = np.random.default_rng(0).permutation(499)[:100]
    others = np.setdiff1d(np.arange(499), drawn)
    rare = plane.drop(index=7).reset_index(drop=True).assign(c=np.nan)
    rare.loc[others[:8], "c"] = np.arange(8.0)
    found = compare(rare, task="density", models=[*JOINT[:5], "latent classes"], jobs=1)
    assert len(found.problem.X) == 499
    assert sum(not row.failure for row in found.single_rows) >= 3


def test_a_thorough_description_fits_all_densities_to_all_rows(plane):
    heard = []
    compare(
        plane,
        task="density",
        jobs=1,
        thorough=True,
        models=JOINT,
        on_outcome=lambda outcome, total, left: heard.append(len(outcome.unseen.log_density)),
    )
    assert heard == [499] * 6
