r"""Prior probabilities of partitions, with the weights of the components integrated out.

Of N rows in c blocks of sizes :math:`n_j`, weights with a symmetric Dirichlet prior of concentration α
each over K components, and a Dirichlet process of concentration α, give

.. math:: p = \frac{K!}{(K-c)!}\frac{\Gamma(K\alpha)}{\Gamma(N+K\alpha)}
              \prod_j\frac{\Gamma(n_j+\alpha)}{\Gamma(\alpha)},
   \qquad p = \alpha^c\,\frac{\Gamma(\alpha)}{\Gamma(N+\alpha)}\prod_j\Gamma(n_j).

Both are v(c) Π w(n_j): two tables. Reference: P. Green & S. Richardson, "Modelling heterogeneity with and
without the Dirichlet process", Scandinavian Journal of Statistics 28, 2001.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.numerics.lazy import optimize, special
from posteriori.numerics.types import Array

__all__ = [
    "PartitionPrior",
    "default_concentration",
    "dirichlet_partitions",
    "dirichlet_process_partitions",
    "numbers_given_blocks",
    "unknown_number_partitions",
]


class PartitionPrior(NamedTuple):
    """ln p(partition) = ``log_number[c]`` + Σ ``log_size[n_j]``.

    Attributes
    ----------
    log_number : (N + 2,)
        ln v(c) for c = 0, …, N + 1; −∞ for more blocks than there are components.
    log_size : (N + 1,)
        ln w(n) for n = 0, …, N.
    total : float
        Concentration of all components together: row t + 1 starts a new block with probability
        v(c + 1) w(1) / v(c) / (t + total).
    """

    log_number: Array
    log_size: Array
    total: float

    @property
    def most_blocks(self) -> int:
        """How many blocks there can be."""
        return int(np.isfinite(self.log_number[: len(self.log_size)]).sum()) - 1


def default_concentration(components: int, kind: str) -> float:
    """Return 1/K, which leaves components empty that are not needed; of a process, which has no K, 1."""
    return 1.0 if kind == "dirichlet_process" else 1.0 / components


def dirichlet_partitions(rows: int, components: int, concentration: float) -> PartitionPrior:
    """Return the prior that weights ~ Dirichlet(α, …, α) of K components give to partitions of N rows.

    Examples
    --------
    >>> prior = dirichlet_partitions(2, components=2, concentration=1.0)
    >>> float(np.exp(prior.log_number[1] + prior.log_size[2]).round(6))  # both rows in one block
    0.666667
    """
    c, n = np.arange(rows + 2.0), np.arange(rows + 1.0)
    total = components * concentration
    with np.errstate(divide="ignore"):
        spare = np.log(np.maximum(components - c[:-1], 0.0))  # K!/(K − c)!, one factor at a time
    log_number = np.concatenate([[0.0], np.cumsum(spare)])
    log_size = special.gammaln(n + concentration) - special.gammaln(concentration)
    return PartitionPrior(log_number + _normalizer(rows, total), log_size, total)


def unknown_number_partitions(
    rows: int, numbers: Sequence[int], concentration: float
) -> PartitionPrior:
    """Return the prior of partitions where each of these numbers of components is as probable.

    Given K, weights are Dirichlet(α, …, α); ``total`` is the one with which all factors (t + total) have
    the product 1/v(0).

    Reference: J. Miller & M. Harrison, "Mixture models with a prior on the number of components", Journal of
    the American Statistical Association 113, 2018.
    """
    each = [dirichlet_partitions(rows, k, concentration) for k in numbers]
    with np.errstate(divide="ignore"):
        log_number = special.logsumexp([one.log_number for one in each], axis=0) - np.log(len(each))
    totals = [one.total for one in each]
    low, high = min(totals), max(totals)
    total = low
    if high > low:
        total = float(
            optimize.brentq(lambda t: _normalizer(rows, t) - log_number[0], low, high, xtol=1e-12)
        )
    return PartitionPrior(np.asarray(log_number), each[0].log_size, total)


def numbers_given_blocks(rows: int, numbers: Sequence[int], concentration: float) -> Array:
    """Return p(K | c blocks), (N + 1, M), where each of M numbers of components was as probable before.

    Of a partition only the number c of its blocks speaks of K: p(K | z) ∝ v_K(c). No blocks of no number are 0.

    Examples
    --------
    >>> numbers_given_blocks(2, [1, 2], 1.0)[1:].round(2)  # two rows in one block, and apart
    array([[0.6, 0.4],
           [0. , 1. ]])
    """
    each = [dirichlet_partitions(rows, k, concentration).log_number[: rows + 1] for k in numbers]
    log_number = np.stack(each, axis=1)
    top = log_number.max(axis=1, keepdims=True)
    weights = np.exp(log_number - np.where(np.isfinite(top), top, 0.0))
    return np.asarray(
        weights / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    )


def dirichlet_process_partitions(rows: int, concentration: float) -> PartitionPrior:
    """Return the prior that a Dirichlet process gives to partitions of N rows: any number of blocks."""
    c, n = np.arange(rows + 2.0), np.arange(rows + 1.0)
    log_size = special.gammaln(np.maximum(n, 1.0))
    log_number = c * np.log(concentration) + _normalizer(rows, concentration)
    return PartitionPrior(log_number, log_size, concentration)


def _normalizer(rows: int, total: float) -> float:
    return float(special.gammaln(total) - special.gammaln(rows + total))
