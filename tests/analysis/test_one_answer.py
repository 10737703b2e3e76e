"""``compare``, ``rank_models`` and ``select`` say the same of every candidate on the same folds."""

from inspect import signature

import numpy as np
import pandas as pd
import pytest

from posteriori import compare
from posteriori.analysis.comparisons.comparing import make_pipeline
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.selection import CANDIDATES, held_out_density, rank_models, select

N = 48
#: As few as there can be: every candidate is fitted to each of them twice.
FOLDS = 2
ROUNDED = ("whole", "tenths")
ZEROS = "many zeros"
RARE = ("two classes", "three classes")


def targets(kind, x):
    rng = np.random.default_rng(1)
    if kind == "whole":  # counts, and all of them positive
        return 1.0 + rng.poisson(np.exp(0.5 + 0.4 * x))
    if kind == ZEROS:
        return (rng.random(N) < 0.6) * (1.0 + rng.poisson(np.exp(1.0 + 0.4 * x)))
    if kind == "tenths":
        return np.round(np.exp(0.4 * x + 0.3 * rng.normal(size=N)), 1) + 0.1
    labels = np.where(x + rng.logistic(size=N) > 0, "a", "b" if kind == "three classes" else "a")
    labels[7] = "c"  # a class of one row: the fold that holds it out has none to learn from
    return labels


@pytest.fixture(scope="module")
def analysis_of():
    """Return a function that analyses a kind of target, once."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    table = {"x": x, "level": rng.choice(["low", "mid", "high"], size=N)}
    done = {}

    def analyse(kind, task):
        if (kind, task) not in done:
            frame = pd.DataFrame({**table, "y": targets(kind, x)})
            names = [c.name for c in PREDICTING if c.task == task and suits(c, kind)]
            done[kind, task] = compare(frame, "y", task=task, models=names, folds=FOLDS, jobs=1)
        return done[kind, task]

    return analyse


def n_classes(problem):
    return 0 if problem.classes is None else len(problem.classes)


def suits(candidate, kind):
    if candidate.task == "classification":
        return kind in RARE and candidate.targets in ("any", kind)
    if ZEROS in (candidate.targets, kind):
        return candidate.targets == kind
    return kind in ROUNDED and (candidate.targets != "counts" or kind == "whole")


def cases_of(candidate):
    """Return the kinds of targets that a candidate is tried with; all but the first are slow."""
    kinds = [kind for kind in (*ROUNDED, ZEROS, *RARE) if suits(candidate, kind)]
    for kind in kinds:
        marks = () if kind == kinds[0] else pytest.mark.slow
        name = f"{candidate.task}: {candidate.name}, {kind}"
        yield pytest.param(candidate, kind, marks=marks, id=name)


#: Those of a target; without one there is nothing that ``rank_models`` could be given.
PREDICTING = [c for c in CANDIDATES if c.task not in ("joint", "segments", "series")]
CASES = [case for candidate in PREDICTING for case in cases_of(candidate)]


#: Kernels whose search ends where it gains little: the last digits of rows move the end, and inducing points that
#: nearly repeat each other make that larger.
SEARCHED = {"Gaussian process", "Gaussian process (sparse)"}


def test_folds_are_the_same_where_none_are_asked_for():
    usual = {
        signature(f).parameters["folds"].default for f in (compare, rank_models, held_out_density)
    }
    assert len(usual) == 1


def test_every_candidate_is_tried():
    assert all(any(c is case.values[0] for case in CASES) for c in PREDICTING)


@pytest.fixture
def analysis(candidate, kind, analysis_of):
    return analysis_of(kind, candidate.task)


@pytest.mark.parametrize(("candidate", "kind"), CASES)
def test_densities_of_rows_are_the_same(candidate, kind, analysis):
    outcome, problem = analysis.outcomes[candidate.name], analysis.problem
    assert outcome.failure == ""
    assert np.isfinite(outcome.unseen.log_density).all()
    pipeline = make_pipeline(candidate, problem.kinds, n_classes(problem))
    pipeline.fit(problem.X, problem.y)
    held = held_out_density(pipeline, problem.X, problem.y, folds=FOLDS, draws=20)
    assert held.method == "2-fold"
    rtol = 1e-6 if candidate.name in SEARCHED else 1e-9
    np.testing.assert_allclose(held.pointwise, outcome.unseen.log_density, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "task"),
    [
        pytest.param("whole", "regression", marks=pytest.mark.slow),
        ("whole", "density"),
        ("two classes", "classification"),
        pytest.param("three classes", "classification", marks=pytest.mark.slow),
    ],
)
def test_the_same_model_is_the_best(kind, task, analysis_of):
    """Evidences of several groups: held-out densities rank, in all three."""
    analysis = analysis_of(kind, task)
    X, y, kinds = analysis.problem.X, analysis.problem.y, analysis.problem.kinds
    models = {
        o.name: make_pipeline(o.candidate, kinds, n_classes(analysis.problem))
        for o in analysis.outcomes.values()
        if o.name != AVERAGE  # made of the others
        and o.candidate.encoding != "codes"  # evidences of other inputs, which rank_models refuses
    }
    table = rank_models(models, X, y, folds=FOLDS, sensitivity=False, draws=20)
    assert {row.name for row in table} == set(models)
    ranked = [analysis.ranking[row.name].elpd for row in table]
    assert np.all(np.diff(ranked) <= 1e-6)  # with one column of numbers, some models are the same
    for row in table:
        assert row.elpd == pytest.approx(analysis.ranking[row.name].elpd, rel=1e-9)
        assert row.elpd_se == pytest.approx(analysis.ranking[row.name].elpd_se, rel=1e-9)
    assert repr(select(models, X, y, folds=FOLDS, draws=20)) == repr(
        analysis.outcomes[table.best].model
    )
