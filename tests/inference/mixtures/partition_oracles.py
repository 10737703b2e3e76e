"""Slow and obvious answers about partitions, and families to ask about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    InverseGamma,
    Multinomial,
    MvNormal,
    Normal,
    NormalGamma,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalWishart,
    Poisson,
    bayes,
)
from posteriori.distributions import Geometric, LogNormal


class Family(NamedTuple):
    """A conjugate pair, and rows (n, D) that it can produce."""

    prior: Any
    likelihood: Any
    draw: Callable[[np.random.Generator, int], np.ndarray]
    vectors: bool = False


def _normal(rng, n):
    return rng.normal(size=(n, 2)) * [1.0, 2.0] + 3.0 * rng.integers(2, size=(n, 1))


FAMILIES = {
    "normal-wishart": Family(
        NormalWishart([0.5, 1.0], 0.3, 4.0, [[0.5, 0.1], [0.1, 0.2]]), MvNormal, _normal, True
    ),
    "normal-inverse-wishart": Family(
        NormalInverseWishart([0.5, 1.0], 0.3, 5.0, [[2.0, 0.4], [0.4, 3.0]]),
        MvNormal,
        _normal,
        True,
    ),
    "normal-gamma": Family(NormalGamma([0.0, 1.0], 0.2, [2.0, 3.0], [1.0, 4.0]), Normal, _normal),
    "normal-inverse-gamma": Family(NormalInverseGamma(0.0, 0.2, 2.0, 1.0), Normal, _normal),
    "log-normal": Family(
        NormalInverseGamma(0.0, 0.5, 2.0, 1.0), LogNormal, lambda rng, n: np.exp(_normal(rng, n))
    ),
    "poisson": Family(
        Gamma(1.5, rate=[0.2, 0.5]),
        Poisson,
        lambda rng, n: rng.poisson(2.0 + 8.0 * rng.integers(2, size=(n, 2))).astype(float),
    ),
    "large poisson": Family(
        Gamma(1.5, rate=1e-3),
        Poisson,
        lambda rng, n: rng.poisson(500.0 + 800.0 * rng.integers(2, size=(n, 2))).astype(float),
    ),
    "exponential": Family(
        Gamma(2.0, rate=1.0),
        Exponential,
        lambda rng, n: rng.exponential(1.0 + 9.0 * rng.integers(2, size=(n, 2))),
    ),
    "precision": Family(
        Gamma(2.0, rate=1.0),
        lambda tau: Normal(0.0, precision=tau),
        lambda rng, n: rng.normal(scale=1.0 + 4.0 * rng.integers(2, size=(n, 2))),
    ),
    "variance": Family(
        InverseGamma(2.0, 1.0),
        lambda v: Normal(0.0, variance=v),
        lambda rng, n: rng.normal(scale=1.0 + 4.0 * rng.integers(2, size=(n, 2))),
    ),
    "bernoulli": Family(
        Beta(0.7, [1.2, 2.0]),
        Bernoulli,
        lambda rng, n: (rng.random((n, 2)) < 0.2 + 0.6 * rng.integers(2, size=(n, 1))).astype(
            float
        ),
    ),
    "geometric": Family(
        Beta(1.5, 2.0),
        Geometric,
        lambda rng, n: rng.geometric(0.3 + 0.5 * rng.integers(2, size=(n, 2))).astype(float) - 1.0,
    ),
    "categorical": Family(
        Dirichlet([0.5, 1.0, 2.0]),
        Categorical,
        lambda rng, n: rng.integers(3, size=(n, 2)).astype(float),
    ),
    "multinomial": Family(
        Dirichlet([0.5, 1.0, 2.0]),
        Multinomial,
        lambda rng, n: rng.multinomial(5, [0.2, 0.3, 0.5], size=n).astype(float),
        True,
    ),
}


def set_partitions(n: int) -> Iterator[list[int]]:
    """Yield labels of every partition, clusters numbered in the order of their first rows."""

    def grow(labels: list[int], most: int) -> Iterator[list[int]]:
        if len(labels) == n:
            yield labels
            return
        for label in range(most + 1):
            yield from grow([*labels, label], max(most, label + 1))

    yield from grow([], 0)


def rows_log_evidence(family: Family, x: np.ndarray) -> float:
    """Return ln p(rows of one cluster) by Bayes' rule; gaps are left out, column by column."""
    if family.vectors:
        return float(bayes(family.prior, family.likelihood, x).log_evidence)
    if not np.isnan(x).any():
        return float(np.sum(bayes(family.prior, family.likelihood, x).log_evidence.value))
    total = 0.0
    for d in range(x.shape[1]):
        seen = ~np.isnan(x[:, d])
        if seen.any():
            filled = np.repeat(x[seen, d][:, None], x.shape[1], axis=1)
            value = bayes(family.prior, family.likelihood, filled).log_evidence.value
            total += float(np.broadcast_to(value, x.shape[1])[d])
    return total


def log_partition_prior(sizes: list[int], components: int | None, alpha: float) -> float:
    """Return ln p(partition): of a Dirichlet process where there is no number of components."""
    n, c = sum(sizes), len(sizes)
    if components is None:
        return float(c * np.log(alpha) + gammaln(alpha) - gammaln(n + alpha) + gammaln(sizes).sum())
    if c > components:
        return -np.inf
    total = components * alpha
    ways = gammaln(components + 1) - gammaln(components - c + 1)
    each = (gammaln(np.add(sizes, alpha)) - gammaln(alpha)).sum()
    return float(ways + gammaln(total) - gammaln(n + total) + each)


class BruteForce(NamedTuple):
    """All partitions (P, N) with their posterior probabilities."""

    labels: np.ndarray
    probabilities: np.ndarray
    log_evidence: float

    @property
    def number(self) -> np.ndarray:
        return np.bincount(self.labels.max(axis=1), weights=self.probabilities)

    @property
    def similarity(self) -> np.ndarray:
        same = self.labels[:, :, None] == self.labels[:, None, :]
        return np.tensordot(self.probabilities, same, axes=1)


def brute_force(family: Family, x: np.ndarray, components: int | None, alpha: float) -> BruteForce:
    """Go through all partitions."""
    labels = np.array(list(set_partitions(len(x))))

    @cache
    def block(rows: tuple[int, ...]) -> float:
        return rows_log_evidence(family, x[list(rows)])

    joint = np.array([log_joint(block, z, components, alpha) for z in labels])
    total = float(logsumexp(joint))
    return BruteForce(labels, np.exp(joint - total), total)


def log_joint(block: Callable[[tuple[int, ...]], float], z, components, alpha) -> float:
    """Return ln p(partition) + Σ ln p(rows of a cluster)."""
    blocks = [tuple(np.flatnonzero(z == k).tolist()) for k in np.unique(z)]
    prior = log_partition_prior([len(b) for b in blocks], components, alpha)
    return prior + sum(map(block, blocks)) if np.isfinite(prior) else -np.inf


def variation_of_information(a, b) -> float:
    """Return H(a | b) + H(b | a), in nats."""
    n = len(a)
    table = np.zeros((max(a) + 1, max(b) + 1))
    np.add.at(table, (a, b), 1.0 / n)
    joint = -xlogy(table, table).sum()
    one, two = table.sum(axis=1), table.sum(axis=0)
    return float(2.0 * joint + xlogy(one, one).sum() + xlogy(two, two).sum())
