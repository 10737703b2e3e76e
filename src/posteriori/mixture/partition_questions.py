r"""How sure clusters are: the questions that Bayesian mixtures of conjugate families answer.

A mixture whose components have one conjugate prior inherits :class:`AsksForPartitions` and states one method,

    def _cluster_model(self, x):  # x (N, D) float64, NaN in gaps
        return join_parts(cluster_parts(prior, family, x))

where ``prior`` is that of the estimator, or its default for these rows, and columns of several kinds are parts
of one model: ``join_parts([*cluster_parts(beta, Bernoulli, x[:, :2]), *cluster_parts(nig, Normal, x[:, 2:])])``.
The prior of partitions comes from ``n_components``, ``weight_concentration_prior`` (None: 1/K, and 1 for a
process) and ``weight_concentration_prior_type`` ("dirichlet_distribution" where there is none). Nothing fitted is read: the
questions are of the prior and the rows, and a fit is neither needed nor changed.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from posteriori.inference.mixtures.partitions.cluster_kernels import ClusterModel
from posteriori.inference.mixtures.partitions.partition_draws import draw_partitions
from posteriori.inference.mixtures.partitions.partition_prior import (
    PartitionPrior,
    default_concentration,
    dirichlet_partitions,
    dirichlet_process_partitions,
    numbers_given_blocks,
    unknown_number_partitions,
)
from posteriori.inference.mixtures.partitions.partition_sums import sum_partitions
from posteriori.mixture.mixture_estimator import ReadsRows
from posteriori.mixture.partition_posterior import EnumeratedPartitions, SampledPartitions
from posteriori.numerics.evidence import Fingerprint
from posteriori.numerics.random import as_generator
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["AsksForPartitions"]

#: Chains whose R̂ is above this have not met (A. Gelman & D. Rubin's bound).
_APART = 1.1

#: Arguments that say how chains are run, and the least of each.
_CHAINS_OF = {"draws": 1, "chains": 1, "warm_up": 0}


class AsksForPartitions(ReadsRows, ABC):
    """Gives a Bayesian mixture ``enumerate_partitions``, ``sample_partitions`` and ``number_probabilities``."""

    n_components: int
    weight_concentration_prior: float | None

    @abstractmethod
    def _cluster_model(self, x: Array) -> ClusterModel:
        """Return the model of clusters of rows x (N, D), parameters integrated out."""

    def enumerate_partitions(self, X: Any) -> EnumeratedPartitions:
        """Return the exact posterior over all partitions of at most 15 rows.

        Parameters
        ----------
        X : (N, D)
            Rows; a gap is NaN where columns are independent in a cluster.

        Returns
        -------
        EnumeratedPartitions
            With ``n_clusters``, ``similarity``, ``representative()``, ``most_probable`` and ``log_evidence``.

        Raises
        ------
        ValueError
            When there are more rows, or ones that the mixture cannot produce.

        Notes
        -----
        Time O(3^N), about a second for 15 rows; memory O(N 2^N). A "dirichlet_process" is not cut off at
        ``n_components``.
        """
        x = clone(self)._read(X, reset=True)
        sums = sum_partitions(self._cluster_model(x), self._partition_prior(len(x)))
        return EnumeratedPartitions(sums, Fingerprint().update(x))

    def sample_partitions(
        self,
        X: Any,
        draws: int = 1000,
        rng: Seed = None,
        *,
        chains: int = 4,
        warm_up: int = 100,
        progress: bool | None = None,
    ) -> SampledPartitions:
        """Draw from the posterior over partitions, by collapsed Gibbs sampling with splits and merges.

        Parameters
        ----------
        X : (N, D)
            Rows; a gap is NaN where columns are independent in a cluster.
        draws : int
            Partitions that are kept, of all chains together; rounded up to a multiple of ``chains``.
        rng : int, Generator or None
            An integer makes the draws repeatable, whatever the number of threads.
        chains : int
            Chains that start independently; they run beside one another.
        warm_up : int
            Sweeps of each chain before its first draw.
        progress : bool or None
            Whether to show how far it is; by default on a terminal when it takes long.

        Returns
        -------
        SampledPartitions
            With ``n_clusters``, ``similarity``, ``representative()``, ``log_evidence``, ``r_hat`` and
            ``effective_sample_size``. Ctrl-C keeps what all chains have drawn.

        Warns
        -----
        ConvergenceWarning
            When chains disagree.

        Notes
        -----
        A sweep takes time O(N K D²) for normal vectors, else O(N K D); draws take 4 N bytes each. A
        "dirichlet_process" is not cut off at ``n_components``.
        """
        x = clone(self)._read(X, reset=True)
        chains_of = (draws, chains, warm_up)
        found = self._draw(x, self._partition_prior(len(x)), chains_of, rng, progress)
        _warn_apart(max(found.r_hat))
        return found

    def number_probabilities(
        self,
        X: Any,
        numbers: Sequence[int],
        draws: int = 2000,
        rng: Seed = None,
        *,
        chains: int = 4,
        warm_up: int = 100,
        progress: bool | None = None,
    ) -> Array:
        r"""Return how probable each number of components is, all equally before, by drawn partitions.

        A partition z into c clusters that hold rows is drawn with the number K unknown, and speaks for all
        that are at least c,

        .. math:: p(K\mid X) = \mathrm E_{z\mid X}\,p(K\mid z), \qquad p(K\mid z) \propto p(z\mid K).

        Parameters
        ----------
        X : (N, D)
            Rows; a gap is NaN where columns are independent in a cluster.
        numbers : sequence of int
            In place of ``n_components``.
        draws, rng, chains, warm_up, progress
            As of :meth:`sample_partitions`.

        Returns
        -------
        (M,) array
            One draw more is shared out evenly among the numbers: none is impossible for not being drawn.

        Raises
        ------
        ValueError
            With a "dirichlet_process", which has no number of components.

        Warns
        -----
        ConvergenceWarning
            When chains disagree about the number of clusters.
        """
        for number in numbers:
            _require_whole("each of numbers", number, 1)
        if self._is_process:
            raise ValueError(
                "a dirichlet_process has no number of components: ask sample_partitions how many clusters "
                'hold rows, or choose weight_concentration_prior_type="dirichlet_distribution"'
            )
        x = clone(self)._read(X, reset=True)
        concentration = self._partition_concentration()
        prior = unknown_number_partitions(len(x), numbers, concentration)
        found = self._draw(x, prior, (draws, chains, warm_up), rng, progress)
        _warn_apart(found.r_hat.n_clusters)
        given = numbers_given_blocks(len(x), numbers, concentration)
        told = given[found.draws.n_clusters.ravel()]
        return np.asarray((told.sum(axis=0) + 1.0 / len(numbers)) / (len(told) + 1.0))

    def _draw(
        self,
        x: Array,
        prior: PartitionPrior,
        chains_of: tuple[int, int, int],
        rng: Seed,
        progress: bool | None,
    ) -> SampledPartitions:
        """Draw partitions of rows; of chains there are the draws of all, their number and the sweeps before."""
        for (name, least), value in zip(_CHAINS_OF.items(), chains_of, strict=True):
            _require_whole(name, value, least)
        draws, chains, warm_up = map(int, chains_of)
        generator = as_generator(rng)
        model = self._cluster_model(x)
        drawn = draw_partitions(
            model,
            prior,
            draws=-(-draws // chains),
            chains=chains,
            warm_up=warm_up,
            rng=generator,
            progress=Progress(progress, kept="the draws so far"),
        )
        seed = int(generator.integers(2**63))
        return SampledPartitions(drawn, Fingerprint().update(x), model, prior, seed)

    @property
    def _is_process(self) -> bool:
        return getattr(self, "weight_concentration_prior_type", "") == "dirichlet_process"

    def _partition_concentration(self) -> float:
        _require_whole("n_components", self.n_components, 1)
        concentration = self.weight_concentration_prior
        if concentration is None:
            kind = "dirichlet_process" if self._is_process else "dirichlet_distribution"
            concentration = default_concentration(int(self.n_components), kind)
        if not (np.ndim(concentration) == 0 and 0 < concentration < np.inf):
            raise ValueError(
                f"weight_concentration_prior must be a positive number, got {concentration!r}"
            )
        return float(concentration)

    def _partition_prior(self, rows: int) -> PartitionPrior:
        concentration = self._partition_concentration()
        if self._is_process:
            return dirichlet_process_partitions(rows, concentration)
        return dirichlet_partitions(rows, int(self.n_components), concentration)


def _warn_apart(worst: float) -> None:
    if worst > _APART:
        warnings.warn(
            f"chains of partitions disagree (R̂ = {worst:.3g}); raise warm_up and draws, or see whether the "
            "prior leaves several answers open",
            ConvergenceWarning,
            stacklevel=3,
        )


def _require_whole(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}")
