r"""Autoregressions of series with gaps: beliefs about what is missing, and about weights and noise, in turn.

.. math:: \ln p(z_{\mathrm{seen}}) \ge H[q(z_{\mathrm{missing}})] + \ln\int p(w,\sigma^2)
          \exp\Big(\sum_t E_q[\ln N(z_t\mid w^\top x_t, \sigma^2)]\Big)\,dw\,d\sigma^2,

with :math:`x_t = (1, z_{t-1}, …, z_{t-p})`. The missing values are normal, with a precision that is banded
as each stands in p + 1 rows. What is uncertain of a row adds squares to it, and so it adds rows to
the regression that count for nothing but their squares.

Reference: docs/gallery/ar_order.md; H. Rue & S. Martino on K. Takahashi's recursion for the entries of an
inverse within its band, "Approximate Bayesian inference for hierarchical Gaussian Markov random fields", 2007.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "GapBelief",
    "RegressionRows",
    "believe_gaps",
    "expected_squares",
    "lagged_rows",
    "rows_with_gaps",
]


class GapBelief(NamedTuple):
    """A normal belief about M missing values.

    Attributes
    ----------
    places : (M,) of int < T
        Their steps.
    filled : (T,)
        The series with their means filled in.
    band : (M, p + 1)
        Covariances of each with itself and the p before it, in the order of missing values.
    entropies : (M,)
        Of each given later ones.
    """

    places: IntArray
    filled: Array
    band: Array
    entropies: Array

    def cov(self, first: int) -> Array:
        """Return the covariance of the values from the missing one with number ``first`` on."""
        size = len(self.places) - first
        made = np.zeros((size, size))
        for d in range(min(size, self.band.shape[1])):
            entries = self.band[first + d :, d]
            rows = np.arange(d, size)
            made[rows, rows - d] = made[rows - d, rows] = entries
        return made


class RegressionRows(NamedTuple):
    """Rows (R, 1 + p) and values (R,) of a regression, and the step (R,) that each counts for, or −1."""

    regressors: Array
    values: Array
    counts_for: IntArray


def lagged_rows(z: Array, order: int) -> Array:
    """Return 1 and the values before each, (T, 1 + p); before the first lie copies of it."""
    padded = np.concatenate([np.full(order, z[0]), z])
    columns = [padded[order - k : len(padded) - k] for k in range(1, order + 1)]
    return np.column_stack([np.ones(len(z)), *columns])


def believe_gaps(z: Array, order: int, squares: Array) -> GapBelief:
    """Return the belief about missing values, for a belief about the weights.

    Parameters
    ----------
    z : (T,)
        NaN is missing; neither the first nor the last is.
    order : int
        p.
    squares : (p + 2, p + 2)
        E[ccᵀ/σ²] of c = (1, −φ_1, …, −φ_p, −constant): what the noise is made of.
    """
    places = np.flatnonzero(np.isnan(z))
    windows = _windows(np.where(np.isnan(z), 0.0, z), order)
    precision, pulls = np.zeros((len(places), order + 1)), np.zeros(len(places))
    _gather_precision(places, windows, squares, precision, pulls)
    means, band = np.empty(len(places)), np.empty_like(precision)
    _invert_within_band(precision, pulls, means, band)
    filled = z.copy()
    filled[places] = means
    entropies = 0.5 * (1.0 + LOG_2PI) - np.log(precision[:, 0])
    return GapBelief(places, filled, band, entropies)


def expected_squares(belief: GapBelief, order: int) -> Array:
    """Return Σ E[vvᵀ] of v = (z_t, z_{t−1}, …, z_{t−p}, 1) over all steps but the first."""
    windows = _windows(belief.filled, order)[1:]
    sums = windows.T @ windows
    _add_covariances(belief.places, belief.band, len(belief.filled), sums)
    return sums


def _windows(z: Array, order: int) -> Array:
    """Return z_t, z_{t−1}, …, z_{t−p} and 1 of every step."""
    return np.column_stack([z, np.roll(lagged_rows(z, order), -1, axis=1)])


def rows_with_gaps(belief: GapBelief, order: int) -> RegressionRows:
    """Return the rows of all steps, each behind those of its uncertainty."""
    steps, width = len(belief.filled), order + 1
    starts = np.searchsorted(belief.places, np.arange(steps) - order)
    added = np.searchsorted(belief.places, np.arange(steps), side="right") - starts
    last = np.cumsum(added + 1) - 1  # the row of each step comes after those of its uncertainty
    regressors, values = np.zeros((last[-1] + 1, width)), np.zeros(last[-1] + 1)
    counts_for = np.full(len(values), -1)
    counts_for[last] = np.arange(steps)
    regressors[last], values[last] = lagged_rows(belief.filled, order), belief.filled
    root = np.empty((width, width))
    given = belief.places, belief.band, starts, added, last
    _add_uncertainty(*given, root, regressors, values)
    return RegressionRows(regressors, values, counts_for)


@kernel(allocates=False)
def _gather_precision(
    places: IntArray, windows: Array, squares: Array, precision: Array, pulls: Array
) -> None:
    """Add up what the rows say of the values that are missing in them."""
    steps, width = windows.shape
    order = width - 2
    for m in range(len(places)):
        for t in range(places[m], min(places[m] + order + 1, steps)):
            here = squares[t - places[m]]
            for j in range(width):
                pulls[m] -= here[j] * windows[t, j]
            for d in range(min(m, order) + 1):
                lag = t - places[m - d]
                if lag <= order:
                    precision[m, d] += here[lag]


@kernel(allocates=False)
def _invert_within_band(precision: Array, pulls: Array, means: Array, band: Array) -> None:
    """Fill in Λ⁻¹h, and the entries of Λ⁻¹ that lie within the band of Λ, which becomes its root."""
    count, width = precision.shape
    for m in range(count):  # Λ = LLᵀ, L h' = h
        means[m] = pulls[m]
        for d in range(min(m, width - 1), -1, -1):
            j = m - d
            for k in range(max(0, m - width + 1), j):
                precision[m, d] -= precision[m, m - k] * precision[j, j - k]
            if d > 0:
                precision[m, d] /= precision[j, 0]
                means[m] -= precision[m, d] * means[j]
        precision[m, 0] = math.sqrt(precision[m, 0])
        means[m] /= precision[m, 0]
    for m in range(count - 1, -1, -1):  # Lᵀ mean = h'; S_ij = δ_ij/L_ii² − Σ_{k>i} L_ki S_kj / L_ii
        far = min(m + width, count) - 1
        for k in range(m + 1, far + 1):
            means[m] -= precision[k, k - m] * means[k]
        means[m] /= precision[m, 0]
        for d in range(width):
            band[m, d] = 0.0
        for j in range(far, m - 1, -1):
            entry = 1.0 / precision[m, 0] if j == m else 0.0
            for k in range(m + 1, far + 1):
                entry -= precision[k, k - m] * band[max(j, k), abs(j - k)]
            band[j, j - m] = entry / precision[m, 0]


@kernel(allocates=False)
def _add_covariances(places: IntArray, band: Array, steps: int, sums: Array) -> None:
    """Add the covariances of missing values to the squares of all rows in which both stand."""
    order = band.shape[1] - 1
    for m in range(len(places)):
        for d in range(min(m, order) + 1):
            apart = places[m] - places[m - d]
            for lag in range(min(order - apart, steps - 1 - places[m]) + 1):
                sums[lag, lag + apart] += band[m, d]
                if d > 0:
                    sums[lag + apart, lag] += band[m, d]


@kernel(allocates=False)
def _add_uncertainty(
    places: IntArray,
    band: Array,
    starts: IntArray,
    added: IntArray,
    last: IntArray,
    root: Array,
    regressors: Array,
    values: Array,
) -> None:
    """Fill in a row for each column of the root of what is uncertain in the window of a step."""
    for t in range(len(starts)):
        begin, size = starts[t], added[t]
        for i in range(size):  # S = LLᵀ
            for j in range(i + 1):
                entry = band[begin + i, i - j]
                for k in range(j):
                    entry -= root[i, k] * root[j, k]
                root[i, j] = math.sqrt(max(entry, 0.0)) if i == j else 0.0
                if i != j and root[j, j] > 0.0:
                    root[i, j] = entry / root[j, j]
        for k in range(size):
            row = last[t] - size + k
            for i in range(k, size):
                lag = t - places[begin + i]
                if lag == 0:
                    values[row] = root[i, k]
                else:
                    regressors[row, lag] = root[i, k]
