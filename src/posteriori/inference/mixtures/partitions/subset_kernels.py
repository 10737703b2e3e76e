"""Compiled sums and maxima over all partitions of a few rows, by dynamic programming over subsets.

A subset is a whole number whose bits are its rows. The block that holds the lowest row of a subset is
chosen first, so each partition is met once: 3^N / 2 steps for each number of blocks.
"""

from __future__ import annotations

import math

from posteriori.inference.mixtures.partitions.cluster_kernels import (
    ClusterModel,
    clear_cluster,
    cluster_log_marginal,
    include_row,
)
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["best_partitions", "block_log_marginals", "sum_over_partitions"]


@kernel
def block_log_marginals(model: ClusterModel, states: Array, room: Array, out: Array) -> None:
    """Write ln p(rows of S) for every subset S to out (2^N,); 0 for the empty one."""
    out[0] = 0.0
    for subset in range(1, out.shape[0]):
        clear_cluster(model, states, 0)
        rest, i = subset, 0
        while rest:
            if rest & 1:
                include_row(model, states, 0, i, room)
            rest >>= 1
            i += 1
        out[subset] = cluster_log_marginal(model, states, 0)


@kernel
def sum_over_partitions(blocks: Array, sizes: IntArray, room: Array, out: Array) -> None:
    """Write ln Σ Π exp(blocks) over partitions of S into c blocks to out (2^N, C + 1)."""
    most = out.shape[1] - 1
    out[:, :] = -math.inf
    out[0, 0] = 0.0
    for subset in range(1, blocks.shape[0]):
        rest = subset & (subset - 1)  # without the lowest row, whose block is chosen
        room[:] = 0.0
        for last in range(2):  # first the largest term, then the sum
            left = rest
            while True:
                block = blocks[subset ^ left]
                for c in range(min(left, 1), min(sizes[left], most - 1) + 1):
                    term = block + out[left, c]
                    if last:
                        room[c + 1] += math.exp(term - out[subset, c + 1])
                    else:
                        out[subset, c + 1] = max(out[subset, c + 1], term)
                if left == 0:
                    break
                left = (left - 1) & rest
        for c in range(1, min(sizes[subset], most) + 1):
            out[subset, c] += math.log(room[c])


@kernel
def best_partitions(
    scores: Array, sizes: IntArray, margin: float, best: Array, first: IntArray
) -> None:
    """Write the largest Σ scores over partitions of S into c blocks to best (2^N, C + 1).

    The block of the lowest row goes to ``first``. A partition is preferred to an earlier one, which
    has a larger first block or a later one, only if it is better by ``margin``.
    """
    most = best.shape[1] - 1
    best[:, :] = -math.inf
    best[0, 0] = 0.0
    for subset in range(1, scores.shape[0]):
        rest = subset & (subset - 1)
        left = 0
        while True:
            score = scores[subset ^ left]
            for c in range(min(left, 1), min(sizes[left], most - 1) + 1):
                term = score + best[left, c]
                if term > best[subset, c + 1] + margin:
                    best[subset, c + 1] = term
                    first[subset, c + 1] = subset ^ left
            left = (left - rest) & rest  # the next larger subset of rest
            if left == 0:
                break
