"""Densities integrate to one in the units of the table, and gaps are filled as dense algebra says."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from posteriori import compare
from posteriori.analysis.densities.joint_problem import fit_density, make_joint_problem
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.table.columns import describe_columns
from posteriori.distributions import MvStudentT
from posteriori.selection.candidates import CANDIDATES
from tests.analysis.densities.described_tables import customers, density_of, people

JOINT = {c.name: c for c in CANDIDATES if c.task == "joint"}


@pytest.fixture(scope="module")
def problem() -> Any:
    """Return a table of two columns in very different units."""
    frame = people(60)[["height", "weight"]]
    return make_joint_problem(frame, describe_columns(frame), 5, 0)[0]


@pytest.mark.parametrize("name", list(JOINT))
def test_densities_integrate_to_one(name: str, problem: Any) -> None:
    """On a grid of 40 standard deviations; tails of t beyond hold less than 1e-2 for two columns."""
    model = fit_density(problem, JOINT[name], np.arange(60))
    mean, unit = problem.X.mean(axis=0), problem.X.std(axis=0)
    steps = np.linspace(-20.0, 20.0, 401)
    grid = mean + unit * np.stack([p.ravel() for p in np.meshgrid(steps, steps)], axis=1)
    cell = np.prod(unit) * (steps[1] - steps[0]) ** 2
    assert np.exp(model.score_samples(grid)).sum() * cell == pytest.approx(1.0, abs=1e-2)


@pytest.mark.parametrize("name", list(JOINT))
def test_a_gap_is_integrated_over(name: str, problem: Any) -> None:
    """The density of what is seen, and mean and variance of what is not, by a sum over the other column."""
    model = fit_density(problem, JOINT[name], np.arange(60))
    center, unit = problem.X[:, 1].mean(), problem.X[:, 1].std()
    steps = np.linspace(-80.0, 80.0, 20_001)
    line = np.column_stack([np.full(len(steps), 1.75), center + unit * steps])
    joint = np.exp(model.score_samples(line))
    cell, seen = unit * (steps[1] - steps[0]), np.array([[1.75, np.nan]])
    total = joint.sum() * cell
    assert np.exp(model.score_samples(seen)[0]) == pytest.approx(total, rel=1e-3)
    (belief,) = model.gap_beliefs(seen)
    assert (belief.column, belief.rows.tolist()) == (1, [0])
    mean = (joint * line[:, 1]).sum() * cell / total
    assert belief.mean[0] == pytest.approx(mean, rel=1e-3)
    variance = (joint * (line[:, 1] - mean) ** 2).sum() * cell / total
    assert belief.variance[0] == pytest.approx(variance, rel=2e-2)


def test_fill_ins_of_the_normal_are_those_of_dense_algebra() -> None:
    """The predictive is one t: condition it on what is seen of each row."""
    table = people()
    found = compare(table, task="density", models=["normal"])
    model = found.table_model("normal")
    parts = model.pipeline[-1]._densities
    t = MvStudentT(parts.dof[0], parts.means[0], scale=parts.covs[0])
    new = people(12, seed=5)
    new.loc[::2, "weight"] = np.nan
    new.loc[::3, "luck"] = np.nan
    new.loc[5] = np.nan
    told = model.predict(new)
    for n, row in enumerate(new.to_numpy()):
        gaps = np.flatnonzero(np.isnan(row))
        seen = np.flatnonzero(~np.isnan(row))
        log_density = t.marginal(seen).log_prob(row[seen]) if len(seen) else 0.0
        assert told["log_density"][n] == pytest.approx(float(log_density), abs=1e-9)
        rest = t.condition(seen, row[seen]) if 0 < len(seen) < 3 else t
        for place, j in enumerate(gaps):
            name = table.columns[j]
            assert told[f"{name}_filled"][n] == pytest.approx(rest.mean[place], rel=1e-9)
            assert told[f"{name}_sd"][n] == pytest.approx(rest.std[place], rel=1e-9)
        for j in seen:
            name = table.columns[j]
            if f"{name}_filled" in told:
                assert told[f"{name}_filled"][n] == row[j]
                assert told[f"{name}_sd"][n] == 0.0


def test_only_columns_with_gaps_are_told() -> None:
    model = density_of("gaps").model
    assert list(model.predict(people(3))) == ["log_density"]
    one = people(3)
    one.loc[1, "weight"] = np.nan
    assert list(model.predict(one)) == ["log_density", "weight_filled", "weight_sd"]


def test_filled_gaps_are_near_what_was_there() -> None:
    """Known weights beside 90% intervals of ± 1.64 deviations, 60 rows: at least 45 hold them."""
    model, truth = density_of("gaps").model, people(60, seed=9)
    told = model.predict(truth.assign(weight=np.nan))
    off = (told["weight_filled"] - truth["weight"]) / told["weight_sd"]
    assert (np.abs(off) < 1.645).sum() >= 45
    assert told["weight_sd"].median() < 0.6 * truth["weight"].std()


def test_levels_and_dates_are_filled() -> None:
    """By enumeration of the levels of a column, and days that are days."""
    found = density_of("customers")
    model, table = found.table_model("latent classes"), customers().head(30)
    told = model.predict(table)
    missing = table["plan"].isna().to_numpy()
    assert set(told["plan_filled"]) <= {"year", "month"}
    assert (told["plan_filled"][~missing] == table["plan"][~missing]).all()
    assert (told["plan_sd"][~missing] == 1.0).all()
    for n in np.flatnonzero(missing):
        each = {
            level: model.predict(table.iloc[[n]].assign(plan=level))["log_density"].iloc[0]
            for level in ("year", "month")
        }
        best = max(each, key=lambda level: each[level])
        share = np.exp(each[best] - told["log_density"][n])
        assert told["plan_filled"][n] == best
        assert told["plan_sd"][n] == pytest.approx(share, rel=1e-9)
    assert set(told["paid_filled"]) <= {0.0, 1.0}
    assert told["since_filled"].dt.year.between(2019, 2024).all()
    assert (told["since_sd"][table["since"].isna()] > 1.0).all()  # days


def test_the_average_fills_with_all_members() -> None:
    found = density_of("gaps")
    average, codes = found.outcomes[AVERAGE].model[-1], found.problem.X
    joint = np.stack([m.score_samples(codes) for m in average.models], 1) + np.log(average.weights)
    shares = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    for place, belief in enumerate(average.gap_beliefs(codes)):
        parts = [m.gap_beliefs(codes)[place] for m in average.models]
        weight = shares[belief.rows]
        means = np.stack([part.mean for part in parts], axis=1)
        second = np.stack([part.variance + part.mean**2 for part in parts], axis=1)
        mean = (weight * means).sum(axis=1)
        np.testing.assert_allclose(belief.mean, mean, rtol=1e-9)
        np.testing.assert_allclose(
            belief.variance, (weight * second).sum(axis=1) - mean**2, rtol=1e-5
        )


def test_fill_ins_of_the_table_are_told() -> None:
    found = density_of("gaps")
    gaps = found.frame.isna().any(axis=1)
    assert list(found.fill_ins.index) == list(np.flatnonzero(gaps))
    total = int(found.frame.isna().sum().sum())
    assert f"{total} gaps in height, weight, luck were filled in" in found.verdict
    assert "gap" not in density_of("people").verdict
    assert isinstance(density_of("people").fill_ins, pd.DataFrame)
