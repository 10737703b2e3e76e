"""Whole tables are described: the ranking, the verdict, and what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from posteriori import compare
from posteriori.analysis import Analysis, TableDensity
from posteriori.analysis.densities.joint_problem import joint_candidates, make_joint_problem
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.table.columns import describe_columns
from posteriori.numerics.evidence import LogEvidence
from posteriori.selection.candidates import CANDIDATES
from tests.analysis.densities.described_tables import (
    GAPPY,
    QUICK,
    TABLES,
    customers,
    density_of,
    people,
    with_gaps,
)

ALL = {c.name for c in CANDIDATES if c.task == "joint"}
ANY = {"independent columns", "latent classes"}
SUITED = {"people": ALL, "gaps": ALL - {"kernel density"}, "customers": ANY}


@pytest.mark.parametrize(
    ("table", "names"),
    [(TABLES[kind](), names) for kind, names in SUITED.items()]
    + [
        (people()[["luck"]], ALL - {"principal components", "factor analysis"}),
        (
            people(40).assign(**{f"x{k}": np.sin(np.arange(40.0) * k) for k in range(2, 6)}),
            ALL - {"kernel density"},
        ),
        (people().assign(sure=np.arange(120) % 2 == 0), ANY),
    ],
)
def test_densities_are_tried_that_suit(table: pd.DataFrame, names: set[str]) -> None:
    problem, _, _ = make_joint_problem(table, describe_columns(table), 5, 0)
    assert {c.name for c in joint_candidates(problem)} == names


@pytest.mark.parametrize("kind", list(TABLES))
def test_all_candidates_are_fitted(kind: str) -> None:
    found = density_of(kind)
    assert set(found.outcomes) == (set(GAPPY) if kind == "gaps" else SUITED[kind]) | {AVERAGE}
    assert not any(o.failure or o.warnings for o in found.outcomes.values())
    scores = [row.elpd for row in found.ranking]
    assert scores == sorted(scores, reverse=True)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("kind", ["people", "gaps"])
def test_what_goes_together_is_found(kind: str) -> None:
    """A table of normal columns: those that know it are first, and how far ahead is known.

    Of heights with correlation ρ = 9/√97 to weights, a row gains −½ ln(1 − ρ²) = 0.90 nats where both are seen.
    """
    found = density_of(kind)
    assert found.best_single in {"normal", "Student t", "principal components", "factor analysis"}
    flat = next(row for row in found.single_rows if row.name == "independent columns")
    both = found.frame[["height", "weight"]].notna().all(axis=1).sum()
    expected = 0.5 * both * np.log(97 / 16)
    assert -flat.elpd_difference == pytest.approx(expected, abs=4 * flat.elpd_difference_se)
    assert "The columns go together, “height” and “weight” most closely" in found.verdict


def test_columns_that_go_with_nothing_are_independent() -> None:
    rng = np.random.default_rng(1)
    table = {name: rng.normal(size=80) for name in "abc"}
    found = compare(table, task="density", models=QUICK)
    assert found.verdict.startswith("The columns tell next to nothing of one another")


def test_two_clouds_are_a_mixture() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(120, 2)) + 8.0 * (rng.random(120) < 0.4)[:, None]
    models = [*QUICK, "latent classes", "normal mixture"]
    found = compare({"a": x[:, 0], "b": x[:, 1]}, task="density", models=models)
    assert found.best_single in {"normal mixture", "latent classes"}


@pytest.mark.parametrize("kind", list(TABLES))
def test_evidences_are_of_the_same_table(kind: str) -> None:
    evidences = [o.evidence for o in density_of(kind).outcomes.values() if o.evidence is not None]
    assert len(evidences) >= 2
    first: LogEvidence = evidences[0]
    assert all(one.of == "X" and one.comparable(first) for one in evidences)
    shares = [row.probability for row in density_of(kind).ranking if row.of]
    assert sum(shares) == pytest.approx(1.0)


def test_units_move_densities_by_their_jacobian() -> None:
    table = people(60)
    plain = compare(table, task="density", models=QUICK)
    grams = compare(table.assign(height=1000 * table["height"]), task="density", models=QUICK)
    for name in QUICK:
        moved = grams.ranking[name].elpd - plain.ranking[name].elpd
        assert moved == pytest.approx(-60 * np.log(1000.0), rel=1e-6)


def test_rows_without_entries_and_rare_columns_are_left_out() -> None:
    table = with_gaps().assign(rare=np.where(np.arange(120) < 4, np.arange(120.0), np.nan))
    found = compare(table, task="density", models=QUICK)
    assert "1 row has no entry: left out" in found.notes
    assert "'rare': 4 entries only, too few to describe: left out" in " ".join(found.notes)
    assert [c.name for c in found.model.columns] == ["height", "weight", "luck"]
    assert found.problem.X.shape == (119, 3)
    assert found.log_density[-1] == 0.0
    assert (found.log_density[:-1] != 0.0).all()


def test_useless_columns_are_named() -> None:
    notes = " ".join(density_of("customers").notes)
    assert "'always': always 3" in notes
    assert "'never': every entry is missing: left out" in notes


@pytest.mark.parametrize("rows", [pytest.param(5, marks=pytest.mark.slow), 10])
def test_tiny_tables_are_described(rows: int) -> None:
    found = compare(people(rows), task="density")
    assert np.isfinite(found.ranking.rows[0].elpd)
    assert found.html("t.csv").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"a": [1.0] * 20}, {}, "no column is left to describe .'a': always 1.0: left out"),
        (
            {"a": [None] * 20, "b": [None] * 20},
            {},
            "no column is left to describe .'a': every entry",
        ),
        ({"a": [1.0, 2.5, 3.1, 4.2]}, {}, "4 rows with an entry; at least 5 are needed"),
        ({"a": []}, {}, "no column is left to describe"),
        (people(20), {"task": "auto"}, "name the column to predict with --target"),
        (people(20), {"task": "regression"}, "name the column to predict with --target"),
        (people(20), {"loss": "log"}, "the loss 'log' is for a target, and there is none"),
        (people(20), {"models": ["norml"]}, "did you mean 'normal'"),
        (people(20), {"drop": ["age"]}, "drop names 'age', which is no column"),
        (people(20), {"folds": 1}, "folds must be at least 2, got 1"),
        (
            with_gaps(20),
            {"models": ["kernel density"]},
            "'kernel density' is for numbers without gaps",
        ),
        (customers(), {"models": ["normal"]}, "'normal' is for numbers, which the columns are not"),
    ],
)
def test_refusals_name_the_remedy(table: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare(table, **{"task": "density", **options})


def test_hostile_numbers_are_refused_or_described() -> None:
    rng = np.random.default_rng(3)
    large = pd.DataFrame({"a": 1e300 * rng.normal(size=30), "b": rng.normal(size=30)})
    with pytest.raises(ValueError, match="the column 'a'"):
        compare(large, task="density")
    shifted = pd.DataFrame({"a": 1e8 + rng.normal(size=40), "b": 1e-9 * rng.normal(size=40)})
    found = compare(shifted, task="density", models=QUICK)
    assert not any(o.failure for o in found.outcomes.values())


def test_a_limit_of_time_is_told() -> None:
    found = compare(people(30), task="density", time_limit=0.0)
    assert "the time limit was reached" in found.notes
    assert found.verdict.startswith("No model could be fitted")
    assert not found.interrupted
    with pytest.raises(ValueError, match="no model could be fitted"):
        _ = found.model
    assert "not reached" in found.html("t.csv")


def test_a_target_is_still_asked_for_alone() -> None:
    found = compare(people(40), "height", task="density", models=["normal"])
    assert isinstance(found, Analysis)
    assert isinstance(density_of("people"), TableDensity)


def test_the_average_mixes_densities() -> None:
    found = density_of("gaps")
    outcome, codes = found.outcomes[AVERAGE], found.problem.X
    weights = {row.name: row.weight for row in found.ranking if row.weight > 0.0}
    members = [np.exp(found.outcomes[n].model[-1].score_samples(codes)) for n in weights]
    mixed = sum(w * p for w, p in zip(weights.values(), members, strict=True))
    np.testing.assert_allclose(np.exp(outcome.model[-1].score_samples(codes)), mixed, rtol=1e-9)
