"""Beliefs about missing values of an autoregression against dense matrices."""

import numpy as np
import pytest

from posteriori.inference.series.gappy_regression import (
    believe_gaps,
    expected_squares,
    lagged_rows,
    rows_with_gaps,
)

CASES = [(0, [3]), (1, [2, 3, 7]), (3, [1, 2, 5, 9, 10]), (6, [1, 2, 3, 4, 6, 10])]
STEPS = 12


def make(order, missing):
    rng = np.random.default_rng(order)
    z = rng.normal(size=STEPS)
    z[missing] = np.nan
    root = rng.normal(size=(order + 2, order + 2))
    return z, root @ root.T + np.eye(order + 2)


def windows(order):
    """From (z_0 … z_{T−1}, 1) to z_t, …, z_{t−p}, 1 of every step but the first: before it lie its copies."""
    made = np.zeros((STEPS, order + 2, STEPS + 1))
    for t in range(STEPS):
        for lag in range(order + 1):
            made[t, lag, max(t - lag, 0)] = 1.0
        made[t, -1, -1] = 1.0
    return made[1:]


@pytest.mark.parametrize(("order", "missing"), CASES)
def test_missing_values_are_those_of_the_joint_precision(order, missing):
    z, squares = make(order, missing)
    made = windows(order)
    joint = np.einsum("tia,ij,tjb->ab", made, squares, made)
    known = [i for i in range(STEPS + 1) if i not in missing]
    values = np.append(z, 1.0)[known]
    precision = joint[np.ix_(missing, missing)]
    found = believe_gaps(z, order, squares)
    np.testing.assert_array_equal(found.places, missing)
    mean = -np.linalg.solve(precision, joint[np.ix_(missing, known)] @ values)
    np.testing.assert_allclose(found.filled[missing], mean, atol=1e-12)
    np.testing.assert_array_equal(np.delete(found.filled, missing), np.delete(z, missing))
    cov = np.linalg.inv(precision)
    for first in range(len(missing)):
        apart = np.abs(np.subtract.outer(*2 * [np.arange(first, len(missing))])) <= order
        ours = found.cov(first)[apart]
        np.testing.assert_allclose(ours, cov[first:, first:][apart], atol=1e-12)
    entropy = 0.5 * np.linalg.slogdet(2 * np.pi * np.e * cov)[1]
    assert found.entropies.sum() == pytest.approx(entropy, abs=1e-12)


@pytest.mark.parametrize(("order", "missing"), CASES)
def test_rows_have_the_expected_squares(order, missing):
    z, squares = make(order, missing)
    found = believe_gaps(z, order, squares)
    whole = np.zeros((STEPS + 1, STEPS + 1))
    whole[np.ix_(missing, missing)] = found.cov(0)  # zero where no row asks
    mean = np.append(found.filled, 1.0)
    whole += np.outer(mean, mean)
    rows = rows_with_gaps(found, order)
    ours = np.column_stack([rows.values, rows.regressors[:, 1:], rows.regressors[:, 0]])
    counted = np.flatnonzero(rows.counts_for >= 0)
    np.testing.assert_array_equal(rows.counts_for[counted], np.arange(STEPS))
    np.testing.assert_array_equal(rows.regressors[counted], lagged_rows(found.filled, order))
    together = np.einsum("tia,ab,tjb->ij", windows(order), whole, windows(order))
    np.testing.assert_allclose(expected_squares(found, order), together, atol=1e-11)
    for t, window in enumerate(windows(order), start=1):
        mine = ours[counted[t - 1] + 1 : counted[t] + 1]
        np.testing.assert_allclose(mine.T @ mine, window @ whole @ window.T, atol=1e-12)
