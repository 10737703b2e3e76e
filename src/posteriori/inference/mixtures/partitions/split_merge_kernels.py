"""Compiled splits and merges of clusters.

Two rows are chosen. If they share a cluster, its rows are divided between the two, in random order and then by
scans of Gibbs sampling, and a last scan proposes the split; if not, their clusters are proposed to merge, and
the last scan tells how probable the way back is.

Reference: S. Jain & R. Neal, "A split-merge Markov chain Monte Carlo procedure for the Dirichlet process
mixture model", Journal of Computational and Graphical Statistics 13, 2004; D. Dahl, "Sequentially-allocated
merge-split sampler for conjugate and nonconjugate Dirichlet process mixture models", 2005.
"""

from __future__ import annotations

import math

from posteriori.inference.mixtures.partitions.chain_kernels import (
    PartitionChain,
    exchange_clusters,
    open_cluster,
    random_number,
    retire_cluster,
)
from posteriori.inference.mixtures.partitions.cluster_kernels import (
    ClusterModel,
    clear_cluster,
    cluster_log_marginal,
    copy_cluster,
    drop_row,
    include_row,
    log_gain,
)
from posteriori.inference.mixtures.partitions.partition_prior import PartitionPrior
from posteriori.numerics.compilation import kernel

__all__ = ["split_or_merge"]

#: Scans that a proposed split is prepared by.
_SCANS = 3


@kernel(called="kernels")
def split_or_merge(
    model: ClusterModel, prior: PartitionPrior, chain: PartitionChain, compared: int
) -> None:
    """Choose two rows; propose to split their cluster, or to merge their two."""
    first = int(random_number(chain.random) * chain.labels.shape[0])
    second = _partner(model, chain, first, compared)
    a, b = chain.labels[first], chain.labels[second]
    c, split = chain.n[0], a == b
    number = prior.log_number[c + 1 if split else c] - prior.log_number[c if split else c - 1]
    if number == -math.inf:
        return
    count = _launch(model, prior, chain, first, second)
    for _ in range(_SCANS):
        _scan(model, prior, chain, count, False)
    if not split:  # the way back would have to end where the chain is
        for m in range(count):
            chain.wanted[m] = chain.labels[chain.members[m]] == b
    log_proposal = _scan(model, prior, chain, count, not split)
    gain = number + _log_split(model, prior, chain, count, first, second) - log_proposal
    if math.log(1.0 - random_number(chain.random)) >= (gain if split else -gain):
        return
    if split:
        _divide(model, chain, count, first, a)
    else:
        _join(model, chain, count, first, a, b)


@kernel(called="kernels")
def _partner(model: ClusterModel, chain: PartitionChain, first: int, compared: int) -> int:
    """Choose another row: of some random ones that whose density given the first is the most raised.

    The choice knows nothing of the partition, so it is the same before and after a move.
    """
    rows, spare = chain.labels.shape[0], chain.counts.shape[0]
    clear_cluster(model, chain.states, spare)
    include_row(model, chain.states, spare, first, chain.room)
    best, found = -math.inf, 0
    for _ in range(compared):
        i = int(random_number(chain.random) * (rows - 1))
        i += i >= first
        raised = log_gain(model, chain.states, spare, i, chain.room) - chain.alone[i]
        if raised > best:
            best, found = raised, i
    return found


@kernel(called="kernels")
def _launch(
    model: ClusterModel, prior: PartitionPrior, chain: PartitionChain, first: int, second: int
) -> int:
    """Divide the other rows of both clusters, in random order, between the chosen two; return their number."""
    a, b, spare, count = chain.labels[first], chain.labels[second], chain.counts.shape[0], 0
    for i in range(chain.labels.shape[0]):
        if (chain.labels[i] == a or chain.labels[i] == b) and i != first and i != second:
            at = int(random_number(chain.random) * (count + 1))
            chain.members[count] = chain.members[at]
            chain.members[at] = i
            count += 1
    for side in range(2):
        chain.ends[side] = first if side == 0 else second
        chain.halves[side] = 1
        clear_cluster(model, chain.states, spare + side)
        include_row(model, chain.states, spare + side, chain.ends[side], chain.room)
    for m in range(count):
        i = chain.members[m]
        side = (
            1
            if random_number(chain.random) < _probability(_log_odds(model, prior, chain, i))
            else 0
        )
        include_row(model, chain.states, spare + side, i, chain.room)
        chain.halves[side] += 1
        chain.side[m] = side
    return count


@kernel(called="kernels")
def _log_odds(model: ClusterModel, prior: PartitionPrior, chain: PartitionChain, i: int) -> float:
    """Return the log odds that row i is of the second half."""
    spare, n, o = chain.counts.shape[0], chain.halves[0], chain.halves[1]
    odds = prior.log_size[o + 1] - prior.log_size[o] - prior.log_size[n + 1] + prior.log_size[n]
    odds += log_gain(model, chain.states, spare + 1, i, chain.room)
    return odds - log_gain(model, chain.states, spare, i, chain.room)


@kernel(called="kernels")
def _probability(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds))


@kernel(called="kernels")
def _scan(
    model: ClusterModel, prior: PartitionPrior, chain: PartitionChain, count: int, forced: bool
) -> float:
    """Draw the half of each member given the others, or take the wanted one; return the log probability."""
    spare, total = chain.counts.shape[0], 0.0
    for m in range(count):
        i, side = chain.members[m], chain.side[m]
        copy_cluster(chain.states, spare + side, spare + 2)
        if not drop_row(model, chain.states, spare + 2, i, chain.room):
            _gather_half(model, chain, count, side, m)
        exchange_clusters(chain.states, spare + side, spare + 2)
        chain.halves[side] -= 1
        odds = _log_odds(model, prior, chain, i)
        if forced:
            new = 1 if chain.wanted[m] else 0
        else:
            new = 1 if random_number(chain.random) < _probability(odds) else 0
        against = -odds if new else odds  # ln p = −ln(1 + e^against)
        total -= max(against, 0.0) + math.log1p(math.exp(-abs(against)))
        if new == side:
            exchange_clusters(chain.states, spare + side, spare + 2)
        else:
            include_row(model, chain.states, spare + new, i, chain.room)
        chain.halves[new] += 1
        chain.side[m] = new
    return total


@kernel(called="kernels")
def _gather_half(
    model: ClusterModel, chain: PartitionChain, count: int, side: int, left_out: int
) -> None:
    spare = chain.counts.shape[0]
    clear_cluster(model, chain.states, spare + 2)
    include_row(model, chain.states, spare + 2, chain.ends[side], chain.room)
    for m in range(count):
        if chain.side[m] == side and m != left_out:
            include_row(model, chain.states, spare + 2, chain.members[m], chain.room)


@kernel(called="kernels")
def _log_split(
    model: ClusterModel,
    prior: PartitionPrior,
    chain: PartitionChain,
    count: int,
    first: int,
    second: int,
) -> float:
    """Return ln p(two halves) − ln p(one cluster), but for the number of clusters."""
    spare = chain.counts.shape[0]
    clear_cluster(model, chain.states, spare + 2)
    include_row(model, chain.states, spare + 2, first, chain.room)
    include_row(model, chain.states, spare + 2, second, chain.room)
    for m in range(count):
        include_row(model, chain.states, spare + 2, chain.members[m], chain.room)
    gain = prior.log_size[chain.halves[0]] + prior.log_size[chain.halves[1]]
    gain -= prior.log_size[count + 2]
    gain += cluster_log_marginal(model, chain.states, spare)
    gain += cluster_log_marginal(model, chain.states, spare + 1)
    return gain - cluster_log_marginal(model, chain.states, spare + 2)


@kernel(called="kernels")
def _divide(model: ClusterModel, chain: PartitionChain, count: int, first: int, old: int) -> None:
    """Give the first row's half a cluster of its own."""
    spare, new = chain.counts.shape[0], chain.active[chain.n[0]]
    open_cluster(model, chain, new)
    copy_cluster(chain.states, spare, new)
    copy_cluster(chain.states, spare + 1, old)
    chain.counts[new], chain.counts[old] = chain.halves[0], chain.halves[1]
    chain.labels[first] = new
    for m in range(count):
        if chain.side[m] == 0:
            chain.labels[chain.members[m]] = new


@kernel(called="kernels")
def _join(
    model: ClusterModel, chain: PartitionChain, count: int, first: int, a: int, b: int
) -> None:
    """Put the first row's cluster into the other."""
    copy_cluster(chain.states, chain.counts.shape[0] + 2, b)
    chain.counts[b] = count + 2
    chain.labels[first] = b
    for m in range(count):
        chain.labels[chain.members[m]] = b
    retire_cluster(chain, a)
