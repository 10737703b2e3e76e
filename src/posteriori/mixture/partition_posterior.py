"""The posterior over partitions of rows: how many clusters, who belongs with whom, how sure that is.

Labels of a mixture can be exchanged, partitions cannot: what is asked here does not depend on names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.inference.mixtures.partitions.cluster_kernels import ClusterModel
from posteriori.inference.mixtures.partitions.partition_center import (
    count_together,
    nearest_to_draws,
    order_by_size,
)
from posteriori.inference.mixtures.partitions.partition_draws import PartitionDraws
from posteriori.inference.mixtures.partitions.partition_evidence import estimate_log_evidence
from posteriori.inference.mixtures.partitions.partition_prior import PartitionPrior
from posteriori.inference.mixtures.partitions.partition_sums import PartitionSums
from posteriori.inference.weighing.chain_agreement import (
    effective_sample_size,
    potential_scale_reduction,
)
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.types import Array, IntArray

__all__ = ["EnumeratedPartitions", "PartitionPosterior", "SampledPartitions"]


class PartitionPosterior(ABC):
    """What is believed about the partition of N rows into clusters.

    Attributes
    ----------
    n_rows : int
    n_clusters : Categorical
        Over 1, 2, ….
    similarity : (N, N)
        Probability that two rows share a cluster; 8 N² bytes, made when first asked for.
    log_evidence : LogEvidence
        ln p(X), with parameters, weights and partition summed out.
    """

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @cached_property
    @abstractmethod
    def n_clusters(self) -> Categorical:
        """Number of clusters that hold rows."""

    @cached_property
    @abstractmethod
    def similarity(self) -> Array:
        """Probability that two rows share a cluster, (N, N)."""

    @cached_property
    @abstractmethod
    def log_evidence(self) -> LogEvidence:
        """Ln p(X)."""

    @abstractmethod
    def _nearest(self) -> IntArray:
        """Return labels of the representative partition."""

    def representative(self) -> IntArray:
        """Return labels (N,) of the partition of least expected variation of information.

        The variation of information is the entropy, in nats, that two partitions have given each other. Of
        enumerated partitions the least is found; of sampled ones the best draw is improved, row by row, while
        that helps. Clusters are numbered from the largest on.
        """
        return order_by_size(self._nearest())

    def __repr__(self) -> str:
        number = self.n_clusters
        mode = int(number.mode)
        share = float(number.probabilities[mode - 1])
        return (
            f"{type(self).__name__}(n_rows={self.n_rows}, n_clusters={mode} with probability "
            f"{share:.3g}{self._shown})"
        )

    @property
    def _shown(self) -> str:
        return ""


@dataclass(frozen=True, eq=False, repr=False)
class EnumeratedPartitions(PartitionPosterior):
    """The posterior over all partitions of at most 15 rows: exact.

    Attributes
    ----------
    most_probable : (N,)
        Labels of the most probable partition, the largest cluster first.
    """

    sums: PartitionSums
    fingerprint: Fingerprint

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.sums.most_probable)

    @cached_property
    def n_clusters(self) -> Categorical:
        """Number of clusters."""
        number = self.sums.number
        return Categorical(number, labels=range(1, len(number) + 1))

    @cached_property
    def similarity(self) -> Array:
        """Probability that two rows share a cluster, (N, N)."""
        return self.sums.similarity

    @cached_property
    def log_evidence(self) -> LogEvidence:
        """Ln p(X), exact."""
        return LogEvidence(
            self.sums.log_evidence, kind="exact", of="X", fingerprint=self.fingerprint
        )

    @property
    def most_probable(self) -> IntArray:
        """Labels of the most probable partition."""
        return order_by_size(self.sums.most_probable)

    def _nearest(self) -> IntArray:
        return self.sums.nearest_partition()


class ChainsAgreement(NamedTuple):
    """A number of the chains of the number of clusters, and one of those of the log joint probability."""

    n_clusters: float
    log_joint: float


@dataclass(frozen=True, eq=False, repr=False)
class SampledPartitions(PartitionPosterior):
    """Draws from the posterior over partitions.

    Attributes
    ----------
    labels : (S, N)
        Drawn partitions, chain after chain; clusters are numbered in the order of their first rows.
    log_joint : (S,)
        ln p(X, partition) of the draws.
    r_hat : ChainsAgreement
        Potential scale reduction: close to 1 where chains agree.
    effective_sample_size : ChainsAgreement
        Independent draws that these are worth.

    Notes
    -----
    Draws take 4 S N bytes.
    """

    draws: PartitionDraws
    fingerprint: Fingerprint
    model: ClusterModel
    prior: PartitionPrior
    seed: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.draws.labels.shape[2])

    @property
    def labels(self) -> Any:
        """Drawn partitions, (S, N)."""
        return self.draws.labels.reshape(-1, self.n_rows)

    @property
    def log_joint(self) -> Array:
        """Ln p(X, partition) of the draws, (S,)."""
        return self.draws.log_joint.ravel()

    @cached_property
    def n_clusters(self) -> Categorical:
        """Number of clusters."""
        counts = np.bincount(self.draws.n_clusters.ravel())[1:]
        return Categorical(counts / counts.sum(), labels=range(1, len(counts) + 1))

    @cached_property
    def similarity(self) -> Array:
        """Share of the draws in which two rows are together, (N, N); time O(S N²)."""
        return count_together(self.labels)

    @cached_property
    def log_evidence(self) -> LogEvidence:
        """Ln p(X), an estimate with its standard error; takes as long as a few hundred sweeps.

        Partitions are made by putting rows into clusters one after another, and weighed against the draws
        (C. Bennett 1976). Of many rows the two may not meet: the error then holds the gap between them.
        """
        rng = np.random.default_rng(self.seed)
        value, error = estimate_log_evidence(self.model, self.prior, self.draws, rng)
        return LogEvidence(
            value, kind="estimate", of="X", fingerprint=self.fingerprint, error=error
        )

    @cached_property
    def r_hat(self) -> ChainsAgreement:
        """Potential scale reduction of the chains."""
        return ChainsAgreement(
            potential_scale_reduction(self.draws.n_clusters),
            potential_scale_reduction(self.draws.log_joint),
        )

    @cached_property
    def effective_sample_size(self) -> ChainsAgreement:
        """Independent draws that these are worth."""
        return ChainsAgreement(
            effective_sample_size(self.draws.n_clusters),
            effective_sample_size(self.draws.log_joint),
        )

    def _nearest(self) -> IntArray:
        return nearest_to_draws(self.labels)

    @property
    def _shown(self) -> str:
        worst = max(self.r_hat)
        return f", draws={len(self.labels)}, r_hat={worst:.3g}"
