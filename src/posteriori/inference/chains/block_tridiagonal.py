r"""Normal vectors in a row, each coupled to the next: solves with a block-tridiagonal precision.

.. math:: q(v) \propto \exp\Big(\sum_t h_t^T v_t - \tfrac12 v_t^T D_t v_t - v_t^T E_t v_{t+1}\Big)

Elimination from the first to the last leaves :math:`S_{t+1} = D_{t+1} - E_t^T S_t^{-1} E_t`; means,
covariances and those of neighbours come back in reverse order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array

__all__ = ["TridiagonalSolution", "solve_block_tridiagonal"]


class TridiagonalSolution(NamedTuple):
    """Moments of every series.

    Attributes
    ----------
    mean : (S, T, n)
    cov : (S, T, n, n)
    cross : (S, T - 1, n, n)
        Cov[v_t, v_{t+1}].
    log_det : (S,)
        Of the precision.
    """

    mean: Array
    cov: Array
    cross: Array
    log_det: Array


def solve_block_tridiagonal(diagonal: Array, coupling: Array, h: Array) -> TridiagonalSolution:
    """Return means, covariances and the log determinant.

    Parameters
    ----------
    diagonal : (S, T, n, n)
        D, symmetric.
    coupling : (S, T - 1, n, n)
        E between each vector and the next.
    h : (S, T, n)

    Raises
    ------
    ValueError
        When the precision is not positive definite.
    """
    mean, cov = np.empty(h.shape), np.empty(diagonal.shape)
    cross, log_det = np.empty(coupling.shape), np.empty(len(h))
    d, e, linear = (np.ascontiguousarray(a, dtype=np.float64) for a in (diagonal, coupling, h))
    if not _solve(d, e, linear, mean, cov, cross, log_det):
        raise ValueError("the precision of a chain is not positive definite")
    return TridiagonalSolution(mean, cov, cross, log_det)


@kernel
def _solve(
    diagonal: Array,
    coupling: Array,
    h: Array,
    mean: Array,
    cov: Array,
    cross: Array,
    log_det: Array,
) -> bool:
    series, length, n = h.shape
    gain = np.empty((max(length - 1, 1), n, n))  # S_t⁻¹ E_t
    inverse = np.empty((length, n, n))
    half = np.empty((length, n))
    for s in range(series):
        total = 0.0
        for t in range(length):
            block = diagonal[s, t].copy()
            right = h[s, t].copy()
            if t > 0:
                back = coupling[s, t - 1].T
                block -= back @ gain[t - 1]
                right -= back @ half[t - 1]
            factor = np.zeros((n, n))
            for j in range(n):  # Cholesky, by rows
                for i in range(j, n):
                    value = 0.5 * (block[i, j] + block[j, i])
                    for k in range(j):
                        value -= factor[i, k] * factor[j, k]
                    if i == j:
                        if not value > 0.0:
                            return False
                        factor[j, j] = np.sqrt(value)
                        total += np.log(value)
                    else:
                        factor[i, j] = value / factor[j, j]
            root = np.zeros((n, n))  # inverse of the factor
            for j in range(n):
                for i in range(j, n):
                    value = 1.0 if i == j else 0.0
                    for k in range(j, i):
                        value -= factor[i, k] * root[k, j]
                    root[i, j] = value / factor[i, i]
            inverse[t] = root.T @ root
            half[t] = inverse[t] @ right
            if t < length - 1:
                gain[t] = inverse[t] @ coupling[s, t]
        last = length - 1
        mean[s, last] = half[last]
        cov[s, last] = inverse[last]
        for t in range(length - 2, -1, -1):
            mean[s, t] = half[t] - gain[t] @ mean[s, t + 1]
            cross[s, t] = -gain[t] @ cov[s, t + 1]
            cov[s, t] = inverse[t] - cross[s, t] @ gain[t].T
        log_det[s] = total
    return True
