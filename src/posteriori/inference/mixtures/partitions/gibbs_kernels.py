"""Compiled moves of a chain of partitions: one row at a time, and splits and merges of clusters.

A chain keeps the statistics of its clusters in rows of a table; ``active`` lists which rows are in use,
the first ``n[0]`` of it, and ``place`` where a cluster stands in that list. Three rows beyond the last
cluster are room to work in.

Reference: R. Neal, "Markov chain sampling methods for Dirichlet process mixture models", 2000, algorithm 3;
S. Jain & R. Neal, "A split-merge Markov chain Monte Carlo procedure for the Dirichlet process mixture
model", Journal of Computational and Graphical Statistics 13, 2004; D. Dahl, "Sequentially-allocated
merge-split sampler for conjugate and nonconjugate Dirichlet process mixture models", 2005.
"""

import math

import numpy as np

from posteriori.inference.mixtures.partitions.cluster_kernels import (
    add_row,
    clear_cluster,
    cluster_log_marginal,
    copy_cluster,
    drop_row,
    gather_rows,
    log_gain,
)
from posteriori.numerics.compilation import compiled_beside, compiled_part

__all__ = ["impute_rows", "run_sweeps"]

#: Scans that a proposed split is prepared by.
_SCANS = 3
#: Splits or merges that are proposed after each sweep; every other one of two rows that are much alike.
_PROPOSALS = 4
#: Rows of which the one most like another is taken: of ten clusters the same one, most likely.
_COMPARED = 16
#: Steps and factors of the generator "splitmix64" (G. Steele, D. Lea & C. Flood 2014).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # as above
_R30, _R27, _R31, _R11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)  # as above
#: 2⁻⁵³: random bits become a number in [0, 1).
_UNIT = 1.0 / 9007199254740992.0


@compiled_beside
def run_sweeps(model, prior, chain, labels, trace):
    """Move a chain as often as there is room for its labels (T, N) and its trace (T, 2).

    The trace holds the log joint probability of rows and partition, but for carriers, and the number of
    clusters. Statistics are added up anew before each sweep, so that rounding does not add up.
    """
    for t in range(labels.shape[0]):
        _gather_all(model, chain)
        for i in range(chain.labels.shape[0]):
            _move_row(model, prior, chain, i)
        if chain.labels.shape[0] > 1:
            for p in range(_PROPOSALS):
                _split_or_merge(model, prior, chain, _COMPARED if p % 2 else 1)
        _write_labels(chain, labels, t)
        trace[t, 0] = _log_joint(model, prior, chain)
        trace[t, 1] = chain.n[0]


@compiled_beside
def impute_rows(model, prior, chain, order, start, draw):
    """Put rows into clusters one after another, each given the earlier ones; return Σ ln p(x_t | earlier).

    The first ``start`` rows of the order are in clusters already. Without ``draw`` the others go where
    ``chain.labels`` says; clusters are then numbered 0, 1, … in it.
    """
    if start == 0:
        _retire_all(chain)
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


@compiled_part
def _gather_all(model, chain):
    for j in range(chain.n[0]):
        clear_cluster(model, chain.states, chain.active[j])
    for i in range(chain.labels.shape[0]):
        add_row(model, chain.states, chain.labels[i], i, chain.room)


@compiled_part
def _move_row(model, prior, chain, i):
    """Draw the cluster of row i given those of all others."""
    old, spare = chain.labels[i], chain.counts.shape[0]
    if chain.counts[old] == 1:
        _retire(chain, old)
    else:
        copy_cluster(chain.states, old, spare)
        if not drop_row(model, chain.states, spare, i, chain.room):
            gather_rows(model, chain.states, spare, chain.labels, old, i, chain.room)
        chain.counts[old] -= 1
        _exchange(chain, old, spare)
    top = _weigh_clusters(model, prior, chain, i)
    j = _pick(chain, top, _weight_of_all(chain, top))
    if chain.active[j] == old and chain.counts[old] > 0:
        chain.counts[old] += 1
        _exchange(chain, old, spare)  # as it was
    else:
        _enter(model, chain, i, j)


@compiled_part
def _weigh_clusters(model, prior, chain, i):
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


@compiled_part
def _weight_of_all(chain, top):
    total = 0.0
    for j in range(chain.n[0] + 1):
        total += math.exp(chain.weights[j] - top)
    return total


@compiled_part
def _pick(chain, top, norm):
    """Draw one of the weighed clusters; rounding never makes it an impossible one."""
    left, found = _random(chain) * norm, 0
    for j in range(chain.n[0] + 1):
        weight = math.exp(chain.weights[j] - top)
        if weight > 0.0:
            found = j
            left -= weight
            if left < 0.0:
                break
    return found


@compiled_part
def _enter(model, chain, i, j):
    """Put row i into the j-th cluster, which is opened if it is empty."""
    k = chain.active[j]
    if chain.counts[k] == 0:
        _open(model, chain, k)
    add_row(model, chain.states, k, i, chain.room)
    chain.counts[k] += 1
    chain.labels[i] = k


@compiled_part
def _open(model, chain, k):
    clear_cluster(model, chain.states, k)
    _swap_places(chain, chain.place[k], chain.n[0])
    chain.counts[k] = 0
    chain.n[0] += 1


@compiled_part
def _retire(chain, k):
    chain.counts[k] = 0
    chain.n[0] -= 1
    _swap_places(chain, chain.place[k], chain.n[0])


@compiled_part
def _retire_all(chain):
    for k in range(chain.counts.shape[0]):
        chain.counts[k] = 0
        chain.active[k] = chain.place[k] = k
    chain.n[0] = 0


@compiled_part
def _swap_places(chain, a, b):
    first, second = chain.active[a], chain.active[b]
    chain.active[a], chain.active[b] = second, first
    chain.place[first], chain.place[second] = b, a


@compiled_part
def _exchange(chain, a, b):
    for j in range(chain.states.shape[1]):
        kept = chain.states[a, j]
        chain.states[a, j] = chain.states[b, j]
        chain.states[b, j] = kept


# -- splits and merges -------------------------------------------------------------------------


@compiled_part
def _split_or_merge(model, prior, chain, compared):
    """Choose two rows; propose to split their cluster, or to merge their two."""
    first = int(_random(chain) * chain.labels.shape[0])
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
    if math.log(1.0 - _random(chain)) >= (gain if split else -gain):
        return
    if split:
        _divide(model, chain, count, first, a)
    else:
        _join(model, chain, count, first, a, b)


@compiled_part
def _partner(model, chain, first, compared):
    """Choose another row: of some random ones that whose density given the first is the most raised.

    The choice knows nothing of the partition, so it is the same before and after a move.
    """
    rows, spare = chain.labels.shape[0], chain.counts.shape[0]
    clear_cluster(model, chain.states, spare)
    add_row(model, chain.states, spare, first, chain.room)
    best, found = -math.inf, 0
    for _ in range(compared):
        i = int(_random(chain) * (rows - 1))
        i += i >= first
        raised = log_gain(model, chain.states, spare, i, chain.room) - chain.alone[i]
        if raised > best:
            best, found = raised, i
    return found


@compiled_part
def _launch(model, prior, chain, first, second):
    """Divide the other rows of both clusters, in random order, between the chosen two; return their number."""
    a, b, spare, count = chain.labels[first], chain.labels[second], chain.counts.shape[0], 0
    for i in range(chain.labels.shape[0]):
        if (chain.labels[i] == a or chain.labels[i] == b) and i != first and i != second:
            at = int(_random(chain) * (count + 1))
            chain.members[count] = chain.members[at]
            chain.members[at] = i
            count += 1
    for side in range(2):
        chain.ends[side] = first if side == 0 else second
        chain.halves[side] = 1
        clear_cluster(model, chain.states, spare + side)
        add_row(model, chain.states, spare + side, chain.ends[side], chain.room)
    for m in range(count):
        i = chain.members[m]
        side = 1 if _random(chain) < _probability(_log_odds(model, prior, chain, i)) else 0
        add_row(model, chain.states, spare + side, i, chain.room)
        chain.halves[side] += 1
        chain.side[m] = side
    return count


@compiled_part
def _log_odds(model, prior, chain, i):
    """Return the log odds that row i is of the second half."""
    spare, n, o = chain.counts.shape[0], chain.halves[0], chain.halves[1]
    odds = prior.log_size[o + 1] - prior.log_size[o] - prior.log_size[n + 1] + prior.log_size[n]
    odds += log_gain(model, chain.states, spare + 1, i, chain.room)
    return odds - log_gain(model, chain.states, spare, i, chain.room)


@compiled_part
def _probability(odds):
    return 1.0 / (1.0 + math.exp(-odds))


@compiled_part
def _scan(model, prior, chain, count, forced):
    """Draw the half of each member given the others, or take the wanted one; return the log probability."""
    spare, total = chain.counts.shape[0], 0.0
    for m in range(count):
        i, side = chain.members[m], chain.side[m]
        copy_cluster(chain.states, spare + side, spare + 2)
        if not drop_row(model, chain.states, spare + 2, i, chain.room):
            _gather_half(model, chain, count, side, m)
        _exchange(chain, spare + side, spare + 2)
        chain.halves[side] -= 1
        odds = _log_odds(model, prior, chain, i)
        if forced:
            new = 1 if chain.wanted[m] else 0
        else:
            new = 1 if _random(chain) < _probability(odds) else 0
        against = -odds if new else odds  # ln p = −ln(1 + e^against)
        total -= max(against, 0.0) + math.log1p(math.exp(-abs(against)))
        if new == side:
            _exchange(chain, spare + side, spare + 2)
        else:
            add_row(model, chain.states, spare + new, i, chain.room)
        chain.halves[new] += 1
        chain.side[m] = new
    return total


@compiled_part
def _gather_half(model, chain, count, side, left_out):
    spare = chain.counts.shape[0]
    clear_cluster(model, chain.states, spare + 2)
    add_row(model, chain.states, spare + 2, chain.ends[side], chain.room)
    for m in range(count):
        if chain.side[m] == side and m != left_out:
            add_row(model, chain.states, spare + 2, chain.members[m], chain.room)


@compiled_part
def _log_split(model, prior, chain, count, first, second):
    """Return ln p(two halves) − ln p(one cluster), but for the number of clusters."""
    spare = chain.counts.shape[0]
    clear_cluster(model, chain.states, spare + 2)
    add_row(model, chain.states, spare + 2, first, chain.room)
    add_row(model, chain.states, spare + 2, second, chain.room)
    for m in range(count):
        add_row(model, chain.states, spare + 2, chain.members[m], chain.room)
    gain = prior.log_size[chain.halves[0]] + prior.log_size[chain.halves[1]]
    gain -= prior.log_size[count + 2]
    gain += cluster_log_marginal(model, chain.states, spare)
    gain += cluster_log_marginal(model, chain.states, spare + 1)
    return gain - cluster_log_marginal(model, chain.states, spare + 2)


@compiled_part
def _divide(model, chain, count, first, old):
    """Give the first row's half a cluster of its own."""
    spare, new = chain.counts.shape[0], chain.active[chain.n[0]]
    _open(model, chain, new)
    copy_cluster(chain.states, spare, new)
    copy_cluster(chain.states, spare + 1, old)
    chain.counts[new], chain.counts[old] = chain.halves[0], chain.halves[1]
    chain.labels[first] = new
    for m in range(count):
        if chain.side[m] == 0:
            chain.labels[chain.members[m]] = new


@compiled_part
def _join(model, chain, count, first, a, b):
    """Put the first row's cluster into the other."""
    copy_cluster(chain.states, chain.counts.shape[0] + 2, b)
    chain.counts[b] = count + 2
    chain.labels[first] = b
    for m in range(count):
        chain.labels[chain.members[m]] = b
    _retire(chain, a)


# -- what is kept ------------------------------------------------------------------------------


@compiled_part
def _log_joint(model, prior, chain):
    total = prior.log_number[chain.n[0]]
    for j in range(chain.n[0]):
        k = chain.active[j]
        total += prior.log_size[chain.counts[k]]
        total += cluster_log_marginal(model, chain.states, k)
    return total


@compiled_part
def _write_labels(chain, labels, t):
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


@compiled_part
def _random(chain):
    """Return a number in [0, 1)."""
    chain.random[0] += _STEP
    z = chain.random[0]
    z = (z ^ (z >> _R30)) * _FIRST
    z = (z ^ (z >> _R27)) * _SECOND
    z ^= z >> _R31
    return float(z >> _R11) * _UNIT
