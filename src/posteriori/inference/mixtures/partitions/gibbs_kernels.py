"""Compiled moves of a chain of partitions, one row at a time.

Reference: R. Neal, "Markov chain sampling methods for Dirichlet process mixture models", Journal of
Computational and Graphical Statistics 9, 2000, algorithm 3.
"""

from __future__ import annotations

import math
from typing import Any

from posteriori.inference.mixtures.partitions.chain_kernels import (
    PartitionChain,
    exchange_clusters,
    open_cluster,
    random_number,
    retire_all,
    retire_cluster,
)
from posteriori.inference.mixtures.partitions.cluster_kernels import (
    ClusterModel,
    clear_cluster,
    cluster_log_marginal,
    copy_cluster,
    drop_row,
    gather_rows,
    include_row,
    log_gain,
)
from posteriori.inference.mixtures.partitions.partition_prior import PartitionPrior
from posteriori.inference.mixtures.partitions.split_merge_kernels import split_or_merge
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["impute_rows", "run_sweeps"]

#: Rows of which the one most like another is taken: of ten clusters the same one, most likely.
_COMPARED = 16


@kernel(allocates=False)
def run_sweeps(
    model: ClusterModel, prior: PartitionPrior, chain: PartitionChain, labels: Any, trace: Array
) -> None:
    """Move a chain as often as there is room for its labels (T, N) and its trace (T, 2).

    The trace holds the log joint probability of rows and partition, but for carriers, and the number of
    clusters. Statistics are added up anew before each sweep, so that rounding does not add up.
    """
    for t in range(labels.shape[0]):
        _gather_all(model, chain)
        for i in range(chain.labels.shape[0]):
            _move_row(model, prior, chain, i)
        if chain.labels.shape[0] > 1:
            split_or_merge(model, prior, chain, 1)
            split_or_merge(model, prior, chain, _COMPARED)
        _write_labels(chain, labels, t)
        trace[t, 0] = _log_joint(model, prior, chain)
        trace[t, 1] = chain.n[0]


@kernel(allocates=False)
def impute_rows(
    model: ClusterModel,
    prior: PartitionPrior,
    chain: PartitionChain,
    order: IntArray,
    start: int,
    draw: bool,
) -> float:
    """Put rows into clusters one after another, each given the earlier ones; return Σ ln p(x_t | earlier).

    The first ``start`` rows of the order are in clusters already. Without ``draw`` the others go where
    ``chain.labels`` says; clusters are then numbered 0, 1, … in it.
    """
    if start == 0:
        retire_all(chain)
    total = 0.0
    for t in range(start, order.shape[0]):
        i = order[t]
        top = _weigh_clusters(model, prior, chain, i)
        norm = _weight_of_all(chain, top)
        total += top + math.log(norm) - math.log(t + prior.total)
        j = _pick(chain, top, norm) if draw else chain.place[chain.labels[i]]
        _enter(model, chain, i, j)
    return total


# -- one row at a time -------------------------------------------------------------------------


@kernel(called="kernels")
def _gather_all(model: ClusterModel, chain: PartitionChain) -> None:
    for j in range(chain.n[0]):
        clear_cluster(model, chain.states, chain.active[j])
    for i in range(chain.labels.shape[0]):
        include_row(model, chain.states, chain.labels[i], i, chain.room)


@kernel(called="kernels")
def _move_row(model: ClusterModel, prior: PartitionPrior, chain: PartitionChain, i: int) -> None:
    """Draw the cluster of row i given those of all others."""
    old, spare = chain.labels[i], chain.counts.shape[0]
    if chain.counts[old] == 1:
        retire_cluster(chain, old)
    else:
        copy_cluster(chain.states, old, spare)
        if not drop_row(model, chain.states, spare, i, chain.room):
            gather_rows(model, chain.states, spare, chain.labels, old, i, chain.room)
        chain.counts[old] -= 1
        exchange_clusters(chain.states, old, spare)
    top = _weigh_clusters(model, prior, chain, i)
    j = _pick(chain, top, _weight_of_all(chain, top))
    if chain.active[j] == old and chain.counts[old] > 0:
        chain.counts[old] += 1
        exchange_clusters(chain.states, old, spare)  # as it was
    else:
        _enter(model, chain, i, j)


@kernel(called="kernels")
def _weigh_clusters(
    model: ClusterModel, prior: PartitionPrior, chain: PartitionChain, i: int
) -> float:
    """Write ln p(cluster) p(row i | cluster) of all clusters and a new one; return the largest."""
    c, top = chain.n[0], -math.inf
    for j in range(c):
        k = chain.active[j]
        n = chain.counts[k]
        weight = prior.log_size[n + 1] - prior.log_size[n]
        weight += log_gain(model, chain.states, k, i, chain.room)
        chain.weights[j] = weight
        top = max(top, weight)
    opened = prior.log_number[c + 1] - prior.log_number[c] + prior.log_size[1]
    chain.weights[c] = opened + chain.alone[i]
    return max(top, chain.weights[c])


@kernel(called="kernels")
def _weight_of_all(chain: PartitionChain, top: float) -> float:
    total = 0.0
    for j in range(chain.n[0] + 1):
        total += math.exp(chain.weights[j] - top)
    return total


@kernel(called="kernels")
def _pick(chain: PartitionChain, top: float, norm: float) -> int:
    """Draw one of the weighed clusters; rounding never makes it an impossible one."""
    left, found = random_number(chain.random) * norm, 0
    for j in range(chain.n[0] + 1):
        weight = math.exp(chain.weights[j] - top)
        if weight > 0.0:
            found = j
            left -= weight
            if left < 0.0:
                break
    return found


@kernel(called="kernels")
def _enter(model: ClusterModel, chain: PartitionChain, i: int, j: int) -> None:
    """Put row i into the j-th cluster, which is opened if it is empty."""
    k = chain.active[j]
    if chain.counts[k] == 0:
        open_cluster(model, chain, k)
    include_row(model, chain.states, k, i, chain.room)
    chain.counts[k] += 1
    chain.labels[i] = k


# -- what is kept ------------------------------------------------------------------------------


@kernel(called="kernels")
def _log_joint(model: ClusterModel, prior: PartitionPrior, chain: PartitionChain) -> float:
    total = prior.log_number[chain.n[0]]
    for j in range(chain.n[0]):
        k = chain.active[j]
        total += prior.log_size[chain.counts[k]]
        total += cluster_log_marginal(model, chain.states, k)
    return total


@kernel(called="kernels")
def _write_labels(chain: PartitionChain, labels: Any, t: int) -> None:
    """Number clusters in the order of their first rows."""
    for j in range(chain.n[0]):
        chain.numbers[chain.active[j]] = -1
    count = 0
    for i in range(chain.labels.shape[0]):
        k = chain.labels[i]
        if chain.numbers[k] < 0:
            chain.numbers[k] = count
            count += 1
        labels[t, i] = chain.numbers[k]
