r"""Partitions drawn together with the model of clusters, where several are as probable before.

Rivals are densities of the same rows, say with priors of several widths. A chain moves the partition a few
sweeps under one of them, and then draws the model given the partition,

.. math:: p(m\mid z, X) \propto p(X\mid z, m) = \prod_k p(x_{C_k}\mid m).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.mixtures.partitions.chain_kernels import PartitionChain
from posteriori.inference.mixtures.partitions.cluster_kernels import (
    ClusterModel,
    log_marginals_alone,
)
from posteriori.inference.mixtures.partitions.conjugate_clusters import log_marginal
from posteriori.inference.mixtures.partitions.gibbs_kernels import run_sweeps
from posteriori.inference.mixtures.partitions.partition_draws import begin_chain
from posteriori.inference.mixtures.partitions.partition_prior import PartitionPrior
from posteriori.numerics.logspace import softmax
from posteriori.numerics.threads import run_beside, thread_count
from posteriori.numerics.types import IntArray

__all__ = ["RivalDraws", "draw_with_rivals", "draw_rival"]

#: Sweeps between two draws.
_SWEEPS = 2


class RivalDraws(NamedTuple):
    """Partitions (S, N), chain after chain, and the model (S,) that each was drawn with."""

    labels: Any
    models: IntArray


def draw_with_rivals(
    models: Sequence[Sequence[ClusterModel]],
    prior: PartitionPrior,
    *,
    draws: int,
    warm_up: int,
    rng: np.random.Generator,
) -> RivalDraws:
    """Draw partitions and models.

    Parameters
    ----------
    models : sequence of C sequences of ClusterModel
        The rivals of each chain, of equal statistics; chains may see gaps filled in differently.
    prior : PartitionPrior
    draws, warm_up : int
        Of each chain; a draw is a few sweeps.
    rng : Generator
        Gives each chain a stream of its own.
    """
    chains = len(models)
    threads = min(chains, thread_count())
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        jobs = [
            (rivals, prior, draws, warm_up, stream)
            for rivals, stream in zip(models, rng.spawn(chains), strict=True)
        ]
        found = run_beside(_run_chain, jobs, pool)
    return RivalDraws(
        np.concatenate([one.labels for one in found]), np.concatenate([one.models for one in found])
    )


def _run_chain(
    rivals: Sequence[ClusterModel],
    prior: PartitionPrior,
    draws: int,
    warm_up: int,
    rng: np.random.Generator,
) -> RivalDraws:
    rows, at = len(rivals[0].features), int(rng.integers(len(rivals)))
    chain = begin_chain(rivals[at], prior, rng)
    labels = np.empty((draws, rows), dtype=np.int32)
    models = np.empty(draws, dtype=np.int64)
    swept, trace = np.empty((_SWEEPS, rows), dtype=np.int32), np.empty((_SWEEPS, 2))
    for step in range(-warm_up, draws):
        run_sweeps(rivals[at], prior, chain, swept, trace)
        if step >= 0:
            labels[step], models[step] = swept[-1], at
        at = _exchange(rivals, chain, at, rng)
    return RivalDraws(labels, models)


def _exchange(
    rivals: Sequence[ClusterModel], chain: PartitionChain, at: int, rng: np.random.Generator
) -> int:
    """Draw the model given the partition, and set the chain up for it."""
    if len(rivals) == 1:
        return at
    new = draw_rival(rivals, chain.labels, rng)
    if new != at:  # statistics are added up anew before each sweep
        log_marginals_alone(rivals[new], chain.states, chain.room, chain.alone)
    return new


def draw_rival(rivals: Sequence[ClusterModel], labels: Any, rng: np.random.Generator) -> int:
    """Draw one of the models given a partition (N,)."""
    order = np.argsort(labels, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    logs = [m.log_carrier + sum(log_marginal(m, rows) for rows in members) for m in rivals]
    return int(rng.choice(len(rivals), p=softmax(np.array(logs))))
