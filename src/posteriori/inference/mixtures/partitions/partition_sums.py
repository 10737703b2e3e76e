r"""Exact sums over all partitions of a few rows.

With :math:`f(B) = w(|B|)\,p(x_B)` of a block, the sum over partitions of S into c blocks is

.. math:: Z_c(S) = \sum_{B\ni\min S} f(B)\,Z_{c-1}(S\setminus B), \qquad
          p(X) = \sum_c v(c)\,Z_c(\{1,\dots,N\}),

and :math:`p(B\mid X) = f(B)\sum_c v(c+1)\,Z_c(\bar B)/p(X)` is the probability that B is a block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.mixtures.partitions.cluster_kernels import ClusterModel
from posteriori.inference.mixtures.partitions.conjugate_clusters import cluster_room
from posteriori.inference.mixtures.partitions.partition_prior import PartitionPrior
from posteriori.inference.mixtures.partitions.subset_kernels import (
    best_partitions,
    block_log_marginals,
    sum_over_partitions,
)
from posteriori.numerics.lazy import special
from posteriori.numerics.logspace import log_sum_exp, softmax
from posteriori.numerics.types import Array, IntArray

__all__ = ["MOST_ROWS", "PartitionSums", "sum_partitions"]

#: Rows that all partitions are summed of: 3^15 / 2 steps take a second, each further row three times as long.
MOST_ROWS = 15
#: Nats by which a partition must be better than another of larger blocks; rounding is smaller.
_MARGIN = 1e-9


class PartitionSums(NamedTuple):
    """The posterior over all partitions of N rows.

    Attributes
    ----------
    log_evidence : float
        ln p(X).
    number : (C,)
        Probabilities of 1, 2, …, C blocks.
    blocks : (2^N,)
        Probability that a subset, by the bits of its place, is a block.
    most_probable : (N,)
        Labels of the most probable partition.
    """

    log_evidence: float
    number: Array
    blocks: Array
    most_probable: IntArray

    @property
    def similarity(self) -> Array:
        """Probabilities (N, N) that two rows share a block."""
        bits = _bits(len(self.most_probable))
        return np.minimum(bits.T @ (self.blocks[:, None] * bits), 1.0)

    def nearest_partition(self) -> IntArray:
        r"""Return the partition of least expected variation of information.

        Of blocks C it is, but for what does not depend on them,
        :math:`\sum_C |C|\ln|C| - 2\sum_C\sum_B p(B)\,|B\cap C|\ln|B\cap C|`: a sum over blocks, so that the
        least one is found as the most probable partition is.
        """
        sizes = _sizes(len(self.most_probable))
        # u(n) = n ln n is Σ_j C(n, j) μ_j, so Σ_B p(B) u(|B ∩ C|) = Σ_{T ⊆ C} μ_|T| p(T in one block)
        n = np.arange(len(self.most_probable) + 1.0)
        whole = special.xlogy(n, n)
        together = _sum_over_supersets(self.blocks)
        shared = _sum_over_subsets(_differences(whole)[sizes] * together)
        return _best(2.0 * shared - whole[sizes], np.zeros(len(n)))


def sum_partitions(model: ClusterModel, prior: PartitionPrior) -> PartitionSums:
    """Sum over all partitions of the rows of a model; time O(3^N), memory O(N 2^N).

    Parameters
    ----------
    model : ClusterModel
        Of N <= 15 rows.
    prior : PartitionPrior
        Of N rows.
    """
    rows = len(model.features)
    if rows > MOST_ROWS:
        raise ValueError(
            f"all partitions are summed of at most {MOST_ROWS} rows, got {rows}; "
            "sample_partitions takes any number"
        )
    sizes, most = _sizes(rows), prior.most_blocks
    log_blocks = np.empty(2**rows)
    block_log_marginals(model, *cluster_room(model, 1), log_blocks)
    log_blocks += prior.log_size[sizes]
    sums = np.empty((2**rows, most + 1))
    sum_over_partitions(log_blocks, sizes, np.empty(most + 1), sums)
    log_number = prior.log_number[: most + 1]
    terms = sums[-1] + log_number
    total = float(log_sum_exp(terms))
    # v(c + 1) Z_c(rows that B leaves)
    rest = log_sum_exp(sums[::-1, :most] + log_number[1:], axis=1)
    blocks = np.exp(log_blocks + rest - total)
    blocks[0] = 0.0
    most_probable = _best(log_blocks, log_number)
    return PartitionSums(total + model.log_carrier, softmax(terms[1:]), blocks, most_probable)


def _best(scores: Array, log_number: Array) -> IntArray:
    """Return labels of the partition of largest Σ scores + log_number; of equals that of fewer blocks."""
    rows, most = len(scores).bit_length() - 1, len(log_number) - 1
    best = np.empty((len(scores), most + 1))
    first = np.zeros(best.shape, dtype=np.int64)
    best_partitions(scores, _sizes(rows), _MARGIN, best, first)
    totals = best[-1] + log_number
    c = int(np.argmax(totals >= totals.max() - _MARGIN))
    labels, left = np.empty(rows, dtype=np.int64), len(scores) - 1
    for label in range(c):
        block = int(first[left, c - label])
        labels[(block >> np.arange(rows)) & 1 == 1] = label
        left ^= block
    return labels


def _bits(rows: int) -> Array:
    """Return which rows (N columns) each of the 2^N subsets holds."""
    return ((np.arange(2**rows)[:, None] >> np.arange(rows)) & 1).astype(np.float64)


def _sizes(rows: int) -> IntArray:
    return _bits(rows).sum(axis=1).astype(np.int64)


def _differences(u: Array) -> Array:
    """Return μ with u(n) = Σ_j C(n, j) μ_j: differences of u at 0."""
    return np.array([np.diff(u, j)[0] for j in range(len(u))])


def _sum_over_subsets(a: Array) -> Array:
    cube = a.reshape((2,) * (len(a).bit_length() - 1))
    for axis in range(cube.ndim):
        cube = np.cumsum(cube, axis=axis)
    return cube.ravel()


def _sum_over_supersets(a: Array) -> Array:
    return _sum_over_subsets(a[::-1])[::-1]
