"""A chain of partitions: which clusters are in use, and its random numbers.

The statistics of clusters are rows of a table; ``active`` lists which rows are in use, the first ``n[0]`` of
it, and ``place`` where a cluster stands in that list. Three rows beyond the last cluster are room to work in.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.mixtures.partitions.cluster_kernels import ClusterModel, clear_cluster
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "PartitionChain",
    "exchange_clusters",
    "open_cluster",
    "random_number",
    "retire_all",
    "retire_cluster",
]

#: Steps and factors of the generator "splitmix64" (G. Steele, D. Lea & C. Flood 2014).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # as above
_R30, _R27, _R31, _R11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)  # as above
#: 2⁻⁵³: random bits become a number in [0, 1).
_UNIT = 1.0 / 9007199254740992.0


class PartitionChain(NamedTuple):
    """A partition that is moved, and room to work in.

    Attributes
    ----------
    labels : (N,)
        The cluster of each row: a row of ``states``.
    states : (K + 3, S)
        Statistics of the clusters.
    counts, active, place, numbers : (K,)
        How many rows a cluster has; the clusters, those in use first; where each stands in that list; and
        what it is called outside.
    n : (1,)
        How many are in use.
    alone : (N,)
        ln p(x_i) of a row alone.
    weights : (K + 1,)
        Of a row's clusters, in the order of ``active``.
    room : (W,)
        A vector.
    members, side, wanted : (N,)
        Rows of a cluster that is split, their halves, and which of these are wanted.
    halves, ends : (2,)
        Sizes of both halves, and the rows that they were made for.
    random : (1,)
        State of the random numbers.
    """

    labels: IntArray
    states: Array
    counts: IntArray
    active: IntArray
    place: IntArray
    numbers: IntArray
    n: IntArray
    alone: Array
    weights: Array
    room: Array
    members: IntArray
    side: IntArray
    wanted: IntArray
    halves: IntArray
    ends: IntArray
    random: Any


@kernel(called="kernels")
def open_cluster(model: ClusterModel, chain: PartitionChain, k: int) -> None:
    """Put an empty cluster in use."""
    clear_cluster(model, chain.states, k)
    _swap_places(chain, chain.place[k], chain.n[0])
    chain.counts[k] = 0
    chain.n[0] += 1


@kernel(called="kernels")
def retire_cluster(chain: PartitionChain, k: int) -> None:
    """Put a cluster out of use."""
    chain.counts[k] = 0
    chain.n[0] -= 1
    _swap_places(chain, chain.place[k], chain.n[0])


@kernel(called="kernels")
def retire_all(chain: PartitionChain) -> None:
    """Put all clusters out of use."""
    for k in range(chain.counts.shape[0]):
        chain.counts[k] = 0
        chain.active[k] = chain.place[k] = k
    chain.n[0] = 0


@kernel(called="kernels")
def _swap_places(chain: PartitionChain, a: int, b: int) -> None:
    first, second = chain.active[a], chain.active[b]
    chain.active[a], chain.active[b] = second, first
    chain.place[first], chain.place[second] = b, a


@kernel(called="kernels")
def exchange_clusters(states: Array, a: int, b: int) -> None:
    """Exchange the statistics of two clusters."""
    for j in range(states.shape[1]):
        kept = states[a, j]
        states[a, j] = states[b, j]
        states[b, j] = kept


@kernel(called="kernels")
def random_number(random: Any) -> float:
    """Return a number in [0, 1)."""
    random[0] += _STEP
    z = random[0]
    z = (z ^ (z >> _R30)) * _FIRST
    z = (z ^ (z >> _R27)) * _SECOND
    z ^= z >> _R31
    return float(z >> _R11) * _UNIT
