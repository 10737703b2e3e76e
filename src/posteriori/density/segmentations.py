r"""All :math:`2^{M-1}` ways to cut a row of M cells into segments, summed by dynamic programming.

With f(i, j) the factor of a segment of cells i, …, j − 1, the sum over all ways to cut the first j
cells into s segments is

.. math:: A_s(j) = \sum_{i<j} A_{s-1}(i)\,f(i, j), \qquad A_0(j) = [j = 0],

and with :math:`B_s(j)` the same of the cells after j, the number of ways that pass an edge or use a
segment is a sum of products of both. Everything is kept as logarithms: for :math:`10^5` rows the terms
lie tens of thousands of nats apart.

Reference: P. Fearnhead, "Exact and efficient Bayesian inference for multiple changepoint problems",
2006.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.compilation import as_kernel_input, kernel
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = ["Segmentations", "sum_segmentations"]

#: Terms so many nats below the largest do not change a sum of a million of them: e^−50 10^6 < 2^−52.
_NEGLIGIBLE = 50.0


class Segmentations(NamedTuple):
    """Sums over all segmentations of M cells.

    Attributes
    ----------
    log_factors : (M + 1, M + 1)
        ln f(i, j); −inf for i >= j.
    before, after : (S + 1, M + 1)
        ln A_s(j) and ln B_s(j).
    """

    log_factors: Array
    before: Array
    after: Array

    @property
    def log_totals(self) -> Array:
        """Logarithms of the sums over segmentations into s = 1, …, S segments, (S,)."""
        return self.before[1:, -1]

    def log_edges(self, log_weights: Array) -> Array:
        """Return ln Σ of those with an edge before cell j, weighted by their number of segments.

        Parameters
        ----------
        log_weights : (S,)
            Of 1, …, S segments.

        Returns
        -------
        (M + 1,)
            Every segmentation has the edges 0 and M.
        """
        return log_sum_exp(self.before + self._completed(log_weights), axis=0)

    def log_segments(self, log_weights: Array) -> Array:
        """Return ln Σ of those that have i, …, j − 1 as a segment, weighted alike, (M + 1, M + 1)."""
        out = np.full_like(self.log_factors, -np.inf)
        completed = self._completed(log_weights)
        _join_ends(as_kernel_input(self.before[:-1].T), as_kernel_input(completed[1:].T), out)
        return out + self.log_factors

    def _completed(self, log_weights: Array) -> Array:
        """Return ln Σ_S w_S B_{S−s}(j), (S + 1, M + 1): what may follow s segments before j."""
        most = len(log_weights)
        made = np.empty_like(self.after)
        for s in range(most + 1):
            weights = np.concatenate(([-np.inf], log_weights))[s:]  # of s, …, S segments in all
            made[s] = log_sum_exp(weights[:, None] + self.after[: most + 1 - s], axis=0)
        return made


def sum_segmentations(log_factors: Array, most: int) -> Segmentations:
    """Return the sums over segmentations into at most ``most`` segments, in O(M² S)."""
    return Segmentations(
        log_factors,
        _sum_forwards(log_factors, most),
        _sum_forwards(log_factors[::-1, ::-1].T, most)[:, ::-1],
    )


def _sum_forwards(log_factors: Array, most: int) -> Array:
    before = np.full((most + 1, len(log_factors)), -np.inf)
    before[0, 0] = 0.0
    _forward(as_kernel_input(log_factors.T), before)
    return before


# -- compiled loops ------------------------------------------------------------------------------


@kernel
def _forward(log_factors: Array, before: Array) -> None:
    """Fill A_s(j) = Σ_i A_{s−1}(i) f(i, j); factors are (j, i)."""
    for s in range(1, before.shape[0]):
        for j in range(s, before.shape[1]):
            top = -np.inf
            for i in range(s - 1, j):
                top = max(top, before[s - 1, i] + log_factors[j, i])
            if top == -np.inf:
                continue
            total = 0.0
            for i in range(s - 1, j):
                term = before[s - 1, i] + log_factors[j, i] - top
                if term > -_NEGLIGIBLE:
                    total += np.exp(term)
            before[s, j] = top + np.log(total)


@kernel
def _join_ends(before: Array, after: Array, out: Array) -> None:
    """Fill Σ_s A_{s−1}(i) C_s(j) for i < j; both are (cell, s)."""
    for i in range(len(before)):
        for j in range(i + 1, len(before)):
            top = -np.inf
            for s in range(before.shape[1]):
                top = max(top, before[i, s] + after[j, s])
            if top == -np.inf:
                continue
            total = 0.0
            for s in range(before.shape[1]):
                term = before[i, s] + after[j, s] - top
                if term > -_NEGLIGIBLE:
                    total += np.exp(term)
            out[i, j] = top + np.log(total)
