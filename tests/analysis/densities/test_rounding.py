"""Nobody wins by a needle on a repeated value: no component or kernel is narrower than the rounding."""

import numpy as np
import pandas as pd
import pytest

from posteriori import compare
from posteriori.analysis.densities.joint_problem import fit_density, make_joint_problem
from posteriori.analysis.table.columns import describe_columns
from posteriori.density import KernelDensity
from posteriori.selection.candidates import CANDIDATES

JOINT = {c.name: c for c in CANDIDATES if c.task == "joint"}


def rounded(step: float, rows: int = 300) -> pd.DataFrame:
    """Return a normal column that shows a few values only, and one that is fine."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=rows)
    coarse = np.round((10.0 + 1.2 * step * size) / step) * step
    return pd.DataFrame({"coarse": np.round(coarse, 6), "fine": size + rng.normal(size=rows)})


@pytest.mark.parametrize("step", [1.0, 0.01])
def test_a_rounded_normal_is_a_normal(step: float) -> None:
    """A needle on each of the six values would gain about ln √(2πe) + … nats a row without bound."""
    found = compare(
        rounded(step), task="density", models=["normal", "normal mixture", "kernel density"]
    )
    np.testing.assert_allclose(found.problem.steps, [step, 0.0])
    for name in ("normal mixture", "kernel density"):
        row = found.ranking[name]
        ahead = row.elpd - found.ranking["normal"].elpd
        assert ahead < 5.0, name  # of 300 rows: what a mixture gains by chance


#: The largest density of a normal of variance δ²/12, times δ; Student's t of that scale has less.
HIGHEST = np.sqrt(6.0 / np.pi)


def with_repeats(rows: int = 200) -> pd.DataFrame:
    """Return whole numbers and tenths, nearly all of which are the same: variances are below δ²/12."""
    rng = np.random.default_rng(1)
    moved = [-1.0, 0.0, 1.0, 2.0]
    a, b = rng.choice(moved, size=(2, rows), p=[0.01, 0.97, 0.01, 0.01])
    return pd.DataFrame({"a": 3.0 + a, "b": np.round(0.5 + 0.1 * b, 1)})


@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize("name", list(JOINT))
def test_no_component_is_narrower_than_a_step(name: str, opened: bool) -> None:
    """No mixture of components of variance >= δ²/12 is denser than one, in each column and in both.

    Also of rows that lie on the recorded values themselves, where nothing else bounds the density.
    """
    frame = with_repeats()
    problem, converted, _ = make_joint_problem(frame, describe_columns(frame), 5, 0)
    np.testing.assert_allclose(problem.steps, [1.0, 0.1])
    if not opened:
        problem = problem._replace(X=problem.encoder.transform(converted))
    model = fit_density(problem, JOINT[name], np.arange(len(frame)))
    for j, grid in enumerate((np.arange(1.0, 6.0, 0.02), np.arange(0.3, 0.8, 0.002))):
        points = np.full((len(grid), 2), np.nan)
        points[:, j] = grid
        density = problem.steps[j] * np.exp(model.score_samples(points))
        assert density.max() <= HIGHEST * (1.0 + 1e-9)
    both = problem.steps.prod() * np.exp(model.score_samples(problem.X))
    assert both.max() <= HIGHEST**2 * (1.0 + 1e-9)


def test_the_ranking_is_not_won_by_a_needle() -> None:
    """Nearly all rows lie on one value; none is worth more than what a component there may say."""
    found = compare(with_repeats()[["a"]], task="density")
    assert found.problem.steps == [1.0]
    for outcome in found.outcomes.values():
        if outcome.unseen is not None:
            assert outcome.unseen.log_density.max() <= np.log(HIGHEST) + 1e-9


def test_kernels_are_at_least_as_wide_as_a_rounding_error() -> None:
    frame = rounded(1.0).assign(coarse=lambda t: (t["fine"] > 2.0).astype(float))  # mostly 0
    problem, _, _ = make_joint_problem(frame, describe_columns(frame), 5, 0)
    model = fit_density(problem, JOINT["kernel density"], np.arange(len(frame)))
    assert model.bandwidth_[0] == pytest.approx(1.0 / np.sqrt(12.0))
    assert KernelDensity().fit(problem.X).bandwidth_[0] < 0.9 / np.sqrt(12.0)


def test_numbers_lie_within_their_steps() -> None:
    frame = rounded(0.5)
    frame["day"] = pd.date_range("2020-01-01", periods=len(frame))[
        np.random.default_rng(3).permutation(len(frame))
    ]
    problem, converted, _ = make_joint_problem(frame, describe_columns(frame), 5, 0)
    np.testing.assert_allclose(problem.steps, [0.5 / 5, 0.0, 1.0 / 365.25])  # 0.1 is in use
    moved = problem.X - problem.encoder.transform(converted)
    assert (np.abs(moved) <= 0.5 * problem.steps).all()
    np.testing.assert_allclose(moved[:, 0].var(), problem.steps[0] ** 2 / 12, rtol=0.2)
