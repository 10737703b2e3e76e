"""Names for the clusters of drawn partitions, so that cluster 1 of one is cluster 1 of all."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.lazy import optimize
from posteriori.numerics.types import Array, IntArray

__all__ = ["MatchedPartitions", "match_partitions"]

#: Rounds in which names follow the shares that names gave.
_ROUNDS = 3


class MatchedPartitions(NamedTuple):
    """Partitions with common names.

    Attributes
    ----------
    labels : (S, N)
    shares : (N, K)
        Part of the partitions in which a row is in each cluster.
    order : (S,)
        Partitions from the one that agrees most with all on.
    """

    labels: IntArray
    shares: Array
    order: IntArray


def match_partitions(labels: Any, clusters: int) -> MatchedPartitions:
    """Rename the clusters of partitions (S, N) into K each, so that they agree as far as can be.

    Each partition is matched with the shares of all (the assignment of most rows), a few times in turn.

    Examples
    --------
    >>> match_partitions(np.array([[0, 0, 1], [1, 1, 0], [0, 1, 1]]), 2).labels
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 1, 1]])
    """
    labels = np.array(labels, dtype=np.int64)
    shares = np.eye(clusters)[labels[0]]
    for _ in range(_ROUNDS):
        for s, one in enumerate(labels):
            together = np.stack(
                [np.bincount(one, weights=share, minlength=clusters) for share in shares.T], axis=1
            )
            old, new = optimize.linear_sum_assignment(-together)
            names = np.empty(clusters, dtype=np.int64)
            names[old] = new
            labels[s] = names[one]
        shares = np.stack([(labels == k).mean(axis=0) for k in range(clusters)], axis=1)
    agreed = shares[np.arange(labels.shape[1]), labels].sum(axis=1)
    return MatchedPartitions(labels, shares, np.argsort(-agreed, kind="stable"))
