"""Posterior over partitions: sweeps of collapsed Gibbs sampling a second, growth in N, exact sums.

There is no peer with the same answer. Before anything is timed, the chains are checked to hold the ten
clusters that the rows were drawn from. Sweeps include what belongs to them: statistics added up anew, splits
and merges, and the labels that are kept. One chain runs at a time, by processor time.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from harness import peak_memory

from posteriori import Bernoulli, Beta, MvNormal, NormalWishart
from posteriori.inference.mixtures.partitions.conjugate_clusters import cluster_parts, join_parts
from posteriori.inference.mixtures.partitions.gibbs_kernels import run_sweeps
from posteriori.inference.mixtures.partitions.partition_draws import begin_chain
from posteriori.inference.mixtures.partitions.partition_prior import (
    dirichlet_partitions,
    dirichlet_process_partitions,
)
from posteriori.inference.mixtures.partitions.partition_sums import sum_partitions

CLUSTERS, SWEEPS, ROUNDS, BAR = 10, 20, 7, 10.0


def make_rows(rows: int, columns: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    z = rng.integers(CLUSTERS, size=rows)
    centres = np.stack([6.0 * (np.arange(CLUSTERS) % 4), 6.0 * (np.arange(CLUSTERS) // 4)], axis=1)
    centres = np.concatenate([centres, np.zeros((CLUSTERS, columns - 2))], axis=1)
    return rng.normal(size=(rows, columns)) + centres[z], z


def normal_model(x: np.ndarray):
    d = x.shape[1]
    prior = NormalWishart(x.mean(axis=0), 0.1, d + 2.0, np.eye(d) / (d + 2.0))
    return join_parts(cluster_parts(prior, MvNormal, x))


def sweeps_per_second(
    name: str, model, prior, truth: np.ndarray | None, bar: float | None
) -> float:
    """Print the median of several runs."""
    chain = begin_chain(model, prior, np.random.default_rng(0))
    labels, trace = np.empty((SWEEPS, len(model.features)), dtype=np.int32), np.empty((SWEEPS, 2))
    speeds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        run_sweeps(model, prior, chain, labels, trace)
        speeds.append(SWEEPS / (time.process_time() - start))
    if truth is not None:
        table = np.zeros((CLUSTERS, int(labels[-1].max()) + 1))
        np.add.at(table, (truth, labels[-1]), 1.0)
        assert table.max(axis=1).sum() > 0.95 * len(truth), "the chain does not hold the clusters"
    speed = statistics.median(speeds)
    goal = "" if bar is None else f" (goal >= {bar:g}){'' if speed >= bar else '   MISSED'}"
    print(f"  {name:52} {speed:8.1f} sweeps/s{goal}   {trace[-1, 1]:.0f} clusters")
    return speed


def main() -> None:
    print(
        f"\nCollapsed Gibbs sampling  (medians of {ROUNDS} runs of {SWEEPS} sweeps, processor time)"
    )
    x, z = make_rows(10_000)
    model = normal_model(x)
    fixed = dirichlet_partitions(len(x), CLUSTERS, 1.0)
    sweeps_per_second("normal, 10⁴ x 2, ten components", model, fixed, z, BAR)
    process = dirichlet_process_partitions(len(x), 0.1)
    sweeps_per_second("normal, 10⁴ x 2, Dirichlet process", model, process, z, BAR)
    wide, z = make_rows(10_000, 10)
    sweeps_per_second("normal, 10⁴ x 10, ten components", normal_model(wide), fixed, z, None)
    ones = (wide > 3.0).astype(np.float64)
    binary = join_parts(cluster_parts(Beta(1.0, 1.0), Bernoulli, ones))
    sweeps_per_second("0 and 1, 10⁴ x 10, ten components", binary, fixed, None, None)
    small, z = make_rows(2500)
    prior = dirichlet_partitions(len(small), CLUSTERS, 1.0)
    sweeps_per_second("normal, 2500 x 2, ten components", normal_model(small), prior, z, None)
    few, prior = normal_model(x[:15]), dirichlet_process_partitions(15, 1.0)
    sum_partitions(few, prior)
    start = time.process_time()
    sum_partitions(few, prior)
    print(f"  all partitions of 15 rows: {time.process_time() - start:.2f} s,", end=" ")
    print(f"{peak_memory(lambda: sum_partitions(few, prior)) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
