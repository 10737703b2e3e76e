r"""Draws from the posterior over partitions, by chains side by side.

Each chain begins with a few rows and doubles their number, as few rows are soon in their places: further ones
are put into clusters one after another. A sweep draws the cluster of each row given all others,

.. math:: p(z_i = k\mid z_{-i}, X) \propto \frac{w(n_k+1)}{w(n_k)}\,p(x_i\mid x_{C_k}), \qquad
          p(z_i = \text{new}\mid z_{-i}, X) \propto \frac{v(c+1)}{v(c)}\,w(1)\,p(x_i),

and then proposes splits and merges.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.mixtures.partitions.chain_kernels import PartitionChain
from posteriori.inference.mixtures.partitions.cluster_kernels import (
    ClusterModel,
    log_marginals_alone,
)
from posteriori.inference.mixtures.partitions.conjugate_clusters import cluster_room
from posteriori.inference.mixtures.partitions.gibbs_kernels import impute_rows, run_sweeps
from posteriori.inference.mixtures.partitions.partition_prior import PartitionPrior
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.threads import run_beside, thread_count
from posteriori.numerics.types import Array, IntArray

__all__ = ["PartitionDraws", "begin_chain", "draw_partitions", "new_chain"]

#: Rows that a chain begins with.
_FIRST_ROWS = 32
#: Sweeps before their number is doubled; all doublings together take as long as so many sweeps of all rows.
_SWEEPS = 20
#: Rows that are moved before a run looks up: a tenth of a second, after which Ctrl-C is heard.
_ROWS_AT_ONCE = 50_000


class PartitionDraws(NamedTuple):
    """Partitions that were drawn.

    Attributes
    ----------
    labels : (C, T, N)
        Of C chains with T draws each; clusters are numbered in the order of their first rows.
    log_joint : (C, T)
        ln p(X, partition).
    n_clusters : (C, T)
    """

    labels: Any
    log_joint: Array
    n_clusters: IntArray


def draw_partitions(
    model: ClusterModel,
    prior: PartitionPrior,
    *,
    draws: int,
    chains: int,
    warm_up: int,
    rng: np.random.Generator,
    progress: Progress,
) -> PartitionDraws:
    """Draw partitions; Ctrl-C keeps those that all chains have drawn.

    Parameters
    ----------
    model : ClusterModel
    prior : PartitionPrior
    draws : int
        Of each chain.
    chains : int
    warm_up : int
        Sweeps of each chain before its first draw.
    rng : Generator
        Gives each chain a stream of its own, so that threads do not change the answer.
    progress : Progress

    Notes
    -----
    A sweep takes O(N K D²) for normal vectors, else O(N K D); draws take 4 C T N bytes.
    """
    rows = len(model.features)
    labels = np.empty((chains, draws, rows), dtype=np.int32)
    trace = np.empty((chains, draws, 2))
    at_once = max(1, _ROWS_AT_ONCE // rows)
    unused = np.empty((chains, at_once, rows), dtype=np.int32)
    unseen = np.empty((chains, at_once, 2))
    done = 0
    with _threads(chains) as pool:
        try:
            jobs = ((model, prior, stream) for stream in rng.spawn(chains))
            moving = run_beside(begin_chain, jobs, pool)
            for start in range(0, warm_up, at_once):
                n = min(at_once, warm_up - start)
                _advance(model, prior, moving, unused[:, :n], unseen[:, :n], pool)
                progress.say(f"warming up: sweep {start + n} of {warm_up}")
            for start in range(0, draws, at_once):
                to = slice(start, start + at_once)
                _advance(model, prior, moving, labels[:, to], trace[:, to], pool)
                done = min(start + at_once, draws)
                progress.say(f"draw {done} of {draws} of each of {chains} chains")
        except KeyboardInterrupt:
            if not done:
                raise
            warnings.warn(f"stopped with {done} of {draws} draws of each chain", stacklevel=4)
        finally:
            progress.close()
    joint = trace[:, :done, 0] + model.log_carrier
    return PartitionDraws(labels[:, :done], joint, trace[:, :done, 1].astype(np.int64))


def new_chain(
    model: ClusterModel, prior: PartitionPrior, rng: np.random.Generator
) -> PartitionChain:
    """Return a chain with no row in a cluster yet."""
    rows, most = len(model.features), prior.most_blocks
    states, room = cluster_room(model, most + 3)
    alone = np.empty(rows)
    log_marginals_alone(model, states, room, alone)

    def zeros(size: int) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    return PartitionChain(
        labels=zeros(rows),
        states=states,
        counts=zeros(most),
        active=np.arange(most),
        place=np.arange(most),
        numbers=zeros(most),
        n=zeros(1),
        alone=alone,
        weights=np.empty(most + 1),
        room=room,
        members=zeros(rows),
        side=zeros(rows),
        wanted=zeros(rows),
        halves=zeros(2),
        ends=zeros(2),
        random=rng.integers(2**64, size=1, dtype=np.uint64),
    )


def begin_chain(
    model: ClusterModel, prior: PartitionPrior, rng: np.random.Generator
) -> PartitionChain:
    """Return a chain with all rows in clusters, which began with a few of them."""
    rows = len(model.features)
    order, places = rng.permutation(rows), np.arange(rows)
    features = as_kernel_input(model.features[order])
    chain = new_chain(model._replace(features=features), prior, rng)
    done, size = 0, min(_FIRST_ROWS, rows)
    while done < rows:
        some, part = (
            model._replace(features=features[:size]),
            chain._replace(labels=chain.labels[:size]),
        )
        impute_rows(some, prior, part, places[:size], done, True)
        at_once = max(1, _ROWS_AT_ONCE // size)
        for start in range(0, _SWEEPS, at_once):
            count = min(at_once, _SWEEPS - start)
            unused = np.empty((count, size), dtype=np.int32)
            run_sweeps(some, prior, part, unused, np.empty((count, 2)))
        done, size = size, min(2 * size, rows)
    labels, alone = np.empty_like(chain.labels), np.empty_like(chain.alone)
    labels[order], alone[order] = chain.labels, chain.alone
    return chain._replace(labels=labels, alone=alone)


@contextmanager
def _threads(chains: int) -> Iterator[ThreadPoolExecutor | None]:
    threads = min(chains, thread_count())
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        yield pool


def _advance(
    model: ClusterModel,
    prior: PartitionPrior,
    chains: list[PartitionChain],
    labels: Any,
    trace: Array,
    pool: ThreadPoolExecutor | None,
) -> None:
    """Move all chains as often as there is room for their labels (C, T, N)."""
    jobs = zip(chains, labels, trace, strict=True)
    run_beside(run_sweeps, ((model, prior, *job) for job in jobs), pool)
