"""Draws against what they were drawn from.

A mean of N draws must lie within five standard errors of what it estimates.
"""

import numpy as np
from scipy import optimize

__all__ = [
    "MANY",
    "assert_mean",
    "assert_mixture",
    "assert_normal",
    "assert_shares",
    "is_separable",
]

MANY = 40_000


def assert_mean(draws, expected):
    """Check that the mean of the rows is what is expected, up to five standard errors."""
    draws = np.asarray(draws, dtype=float)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - expected) <= 5 * error + 1e-12)


def assert_normal(draws, mean, cov):
    """Check the first two moments of rows (N, D) and their kurtosis, 3 for every direction."""
    centred = draws - mean
    assert_mean(centred, np.zeros(draws.shape[1]))
    assert_mean(centred[:, :, None] * centred[:, None, :], cov)
    assert_mean(centred**4 / np.diag(cov) ** 2, 3.0)


def assert_shares(labels, probabilities):
    assert_mean(labels[:, None] == np.arange(len(probabilities)), probabilities)


def assert_mixture(table):
    truth = table.truth
    assert_shares(table.y, truth["probabilities"])
    for k, (mean, cov) in enumerate(zip(truth["means"], truth["covs"], strict=True)):
        assert_normal(table.X[table.y == k], mean, cov)


def is_separable(table):
    """Ask a linear program for a line with t (wᵀx + b) >= 1 at every point."""
    t = 2 * table.y - 1
    rows = -t[:, None] * np.column_stack([table.X, np.ones(len(t))])
    answer = optimize.linprog(
        np.zeros(rows.shape[1]), A_ub=rows, b_ub=-np.ones(len(t)), bounds=(None, None)
    )
    return answer.status == 0
