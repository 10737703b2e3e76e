"""Smoothed disturbances against dense conditioning of the joint normal distribution."""

import numpy as np
import pytest

from posteriori.inference.series.auxiliary_residuals import auxiliary_residuals
from posteriori.inference.series.scalar_chain import NO_ENTRIES, Entries, ScalarChain


def _line(level: float, slope: float) -> ScalarChain:
    """A level and its slope; part 1 moves the level, part 2 the slope."""
    places = np.array([0, 1])
    return ScalarChain(
        np.array([[1.0, 0.0]]),
        Entries(np.array([0, 0, 1]), np.array([0, 1, 1]), np.ones((1, 3))),
        Entries(places, places, np.ones((1, 2))),
        np.array([1, 2]),
        np.zeros(2),
        np.diag([level, slope]),
        NO_ENTRIES,
        np.zeros(0, dtype=np.int64),
        np.zeros(2, dtype=bool),
    )


@pytest.mark.parametrize("gaps", [(), (3, 4, 11)])
def test_disturbances_are_those_of_the_dense_joint(gaps: tuple[int, ...]) -> None:
    """E[ε | y] and E[η | y] over the standard deviations of these means, all from one covariance."""
    count, noise, level, slope = 12, 0.7, 0.3, 0.05
    y = np.cumsum(np.random.default_rng(0).standard_normal(count))
    y[list(gaps)] = np.nan
    # unknowns: first state (2), then level and slope disturbances, then noises
    size = 2 + 2 * (count - 1) + count
    spread = np.diag(
        np.concatenate([[4.0, 0.5], np.tile([level, slope], count - 1), np.full(count, noise)])
    )
    design = np.zeros((count, size))
    state = np.zeros((2, size))
    state[0, 0] = state[1, 1] = 1.0
    for t in range(count):
        design[t] = state[0]
        design[t, 2 + 2 * (count - 1) + t] = 1.0
        if t < count - 1:
            state = np.array([[1.0, 1.0], [0.0, 1.0]]) @ state
            state[0, 2 + 2 * t] += 1.0
            state[1, 3 + 2 * t] += 1.0
    known = ~np.isnan(y)
    seen = design[known]
    weights = spread @ seen.T @ np.linalg.inv(seen @ spread @ seen.T)
    means = weights @ y[known]
    sds = np.sqrt(np.diag(weights @ seen @ spread))
    ratios = means / np.where(sds > 0.0, sds, 1.0)  # nothing is said of what no value sees
    done = auxiliary_residuals(_line(4.0, 0.5), np.array([noise, level, slope]), y)
    expected = ratios[2 + 2 * (count - 1) :]
    np.testing.assert_allclose(done.outliers[known], expected[known], rtol=1e-9)
    last = int(np.flatnonzero(known)[-1])
    jumps = ratios[2 : 2 + 2 * (count - 1)].reshape(-1, 2)
    np.testing.assert_allclose(done.shifts[:last, 0], jumps[:last, 0], rtol=1e-8)
    assert np.isnan(done.outliers[~known]).all()


def test_an_outlier_and_a_jump_stand_out() -> None:
    """A value that is off is an outlier at its step; a level that jumps is a shift before it."""
    rng = np.random.default_rng(1)
    y = rng.standard_normal(60)
    y[30:] += 12.0
    y[10] += 9.0
    done = auxiliary_residuals(_line(4.0, 1e-9), np.array([1.0, 0.05, 1e-9]), y)
    assert np.nanargmax(np.abs(done.outliers)) == 10
    assert np.nanargmax(np.abs(done.shifts[:, 0])) == 29
