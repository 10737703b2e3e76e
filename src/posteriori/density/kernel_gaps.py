r"""Kernel densities of rows with gaps (NaN): what is seen of a row says which kernels it may come from.

With normal kernels of covariance H around rows :math:`r_n`, and the columns o that are seen,

.. math:: p(x_o) = \sum_n w_n\,N(x_o\mid r_{n,o}, H_{oo}), \qquad
   x_m\mid x_o \sim \sum_n p_n\,N\bigl(r_{n,m} + B(x_o - r_{n,o}),\ H_{mm} - BH_{om}\bigr), \quad
   B = H_{mo}H_{oo}^{-1}.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from posteriori.inference.gaps.gap_patterns import gap_patterns
from posteriori.numerics.blocks.block_sizes import IN_MEMORY, rows_per_block
from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, IntArray

__all__ = ["gap_moments", "seen_log_density"]


def seen_log_density(rows: Array, weights: Array, square: Array, x: Array) -> Array:
    """Return ln p of the seen entries of points (Q, D), 0 of those without any, (Q,).

    Parameters
    ----------
    rows, weights : (N, D), (N,)
        Where kernels are, and how often.
    square : (D, D)
        H.
    x : (Q, D)
    """
    found = np.zeros(len(x))
    for seen, here in _blocks(x, len(rows)):
        if seen.any():
            found[here] = log_sum_exp(_log_joint(rows, weights, square, x[here], seen), axis=1)
    return found


def gap_moments(rows: Array, weights: Array, square: Array, x: Array) -> tuple[Array, Array]:
    """Return means and variances of the entries of points, (Q, D) both: themselves and 0 where seen."""
    mean, variance = np.array(x), np.zeros_like(x)
    for seen, here in _blocks(x, len(rows)):
        gaps = ~seen
        if not gaps.any():
            continue
        joint = _log_joint(rows, weights, square, x[here], seen)
        p = np.exp(joint - log_sum_exp(joint, axis=1)[:, None])
        turn = np.linalg.solve(square[np.ix_(seen, seen)], square[np.ix_(seen, gaps)])  # Bᵀ
        fixed = rows[:, gaps] - rows[:, seen] @ turn
        centre = p @ fixed
        spread = np.maximum(p @ fixed**2 - centre**2, 0.0)
        left = np.diag(square)[gaps] - np.einsum("og,og->g", turn, square[np.ix_(seen, gaps)])
        mean[np.ix_(here, gaps)] = centre + x[np.ix_(here, seen)] @ turn
        variance[np.ix_(here, gaps)] = spread + left
    return mean, variance


def _blocks(x: Array, kernels: int) -> Iterator[tuple[Array, IntArray]]:
    """Yield which columns are seen, and the points of which they are, a few at a time."""
    seen, order, offsets, _ = gap_patterns(x)
    step = rows_per_block(kernels, IN_MEMORY)
    for pattern, first, last in zip(seen, offsets[:-1], offsets[1:], strict=True):
        for start in range(first, last, step):
            yield pattern, order[start : min(start + step, last)]


def _log_joint(rows: Array, weights: Array, square: Array, x: Array, seen: Array) -> Array:
    """Return ln w_n N(x_o | r_n, H_oo) of each point and kernel, (Q, N)."""
    share = np.log(weights / weights.sum())
    factor = np.linalg.cholesky(square[np.ix_(seen, seen)])
    if not seen.any():
        return np.broadcast_to(share, (len(x), len(rows)))
    ours, theirs = (
        scipy_linalg.solve_triangular(factor, part[:, seen].T, lower=True) for part in (x, rows)
    )
    distance = np.zeros((len(x), len(rows)))
    for d in range(len(ours)):  # differences keep digits that squares lose
        distance += np.subtract.outer(ours[d], theirs[d]) ** 2
    height = np.log(np.diag(factor)).sum() + 0.5 * seen.sum() * LOG_2PI
    return share - height - 0.5 * distance
