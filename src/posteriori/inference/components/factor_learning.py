r"""Factors of highest likelihood from rows with gaps, by expectation–maximisation.

Loadings and mean of a column are a regression of its seen entries on the factors, with
:math:`\tilde z = (z, 1)`:

.. math:: (w_d, \mu_d) = \Bigl[\sum_{n: d\in o_n} E[\tilde z_n\tilde z_n^\top]\Bigr]^{-1}
          \sum_{n: d\in o_n} x_{nd}\,E[\tilde z_n], \qquad
          N_d\,\psi_d = \sum_{n: d\in o_n} x_{nd}^2 - (w_d, \mu_d)^\top\sum_{n: d\in o_n} x_{nd}\,E[\tilde z_n].

Steps are those of an expanded model whose factors have a mean m and a covariance C of their own, which
are then absorbed: :math:`\mu + Wm` and :math:`WC^{1/2}` take their places. That is still EM, and takes far
fewer steps.

References: D. Rubin & D. Thayer, "EM algorithms for ML factor analysis", 1982; C. Liu, D. Rubin & Y. Wu,
"Parameter expansion to accelerate EM", 1998; M. Tipping & C. Bishop, "Probabilistic principal component
analysis", 1999.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult, maximize_by_em
from posteriori.inference.components.factor_posteriors import (
    GappyBlock,
    block_posteriors,
    gappy_blocks,
)
from posteriori.numerics.rank import ROUNDING
from posteriori.numerics.types import Array

__all__ = [
    "FACTOR_FLOOR",
    "FactorParameters",
    "FactorSums",
    "expected_sums",
    "first_factors",
    "learn_factors",
]

#: No noise variance is below this part of the variance of its column: likelihoods have no end there.
FACTOR_FLOOR = 1e-6

#: Where an ascent begins, noise has at least this part of the variance.
_FIRST_NOISE = 0.1


class FactorParameters(NamedTuple):
    """Of a factor model.

    Attributes
    ----------
    loadings : (D, K)
    mean : (D,)
    log_noise : (D,), or (1,) where all columns share it
    """

    loadings: Array
    mean: Array
    log_noise: Array

    @property
    def noise(self) -> Array:
        """Variances of the noise, (D,), none below the floor."""
        kept = np.maximum(np.exp(self.log_noise), FACTOR_FLOOR)
        return np.broadcast_to(kept, self.mean.shape)


class FactorSums(NamedTuple):
    """What a step needs to know: sums over the rows in which each column is seen, and over all.

    Attributes
    ----------
    second : (D, K + 1, K + 1)
        Σ E[z̃ z̃ᵀ].
    cross : (D, K + 1)
        Σ x E[z̃].
    whole : (K + 1, K + 1)
        Σ E[z̃ z̃ᵀ] of all rows.
    """

    second: Array
    cross: Array
    whole: Array


def learn_factors(
    x: Array, k: int, *, shared: bool, tol: float, max_iter: int, accelerated: bool = True
) -> EMResult:
    """Return :class:`FactorParameters` of highest likelihood.

    Parameters
    ----------
    x : (N, D)
        In units in which columns have mean 0 and, on average at least, variance 1; NaN is a gap.
    k : int
    shared : bool
        Whether all columns have noise of one variance.
    tol, max_iter, accelerated
        As for :func:`maximize_by_em`.
    """
    blocks = gappy_blocks(x, (k + 1) ** 2)
    squares = np.nansum(x * x, axis=0)
    return maximize_by_em(
        lambda here: expected_sums(blocks, here.loadings, here.mean, here.noise),
        lambda sums: _maximize(sums, squares, shared),
        first_factors(blocks, squares, k, shared),
        tol=tol,
        max_iter=max_iter,
        accelerated=accelerated,
    )


def expected_sums(
    blocks: list[GappyBlock],
    loadings: Array,
    mean: Array,
    noise: Array,
    spreads: Array | None = None,
) -> tuple[FactorSums, float]:
    """Return the sums of all blocks, and the sum of their log densities.

    Arguments are those of :func:`block_posteriors`.
    """
    d, k = loadings.shape
    second, cross = np.zeros((d, (k + 1) ** 2)), np.zeros((d, k + 1))
    whole, value = np.zeros((k + 1) ** 2), 0.0
    for block in blocks:
        found = block_posteriors(block, loadings, mean, noise, spreads)
        value += float(found.log_density.sum())
        moments = _pattern_moments(block, found.means, found.covs)
        second += block.seen.T @ moments
        whole += moments.sum(axis=0)
        cross[:, :k] += block.values.T @ found.means
        cross[:, k] += block.values.sum(axis=0)
    shape = (k + 1, k + 1)
    return FactorSums(second.reshape(d, *shape), cross, whole.reshape(shape)), value


def _pattern_moments(block: GappyBlock, means: Array, covs: Array) -> Array:
    """Return Σ E[z̃ z̃ᵀ] over the rows of each pattern, (p, (K + 1)²)."""
    p, k = len(covs), means.shape[1]
    count = np.bincount(block.pattern, minlength=p).astype(np.float64)
    products = means[:, :, None] * means[:, None, :]
    one_each = p == len(means)
    moments = np.empty((p, k + 1, k + 1))
    moments[:, :k, :k] = products if one_each else np.add.reduceat(products, block.starts)
    moments[:, :k, :k] += count[:, None, None] * covs
    moments[:, k, :k] = means if one_each else np.add.reduceat(means, block.starts)
    moments[:, :k, k] = moments[:, k, :k]
    moments[:, k, k] = count
    return moments.reshape(p, -1)


def _maximize(sums: FactorSums, squares: Array, shared: bool) -> FactorParameters:
    found = np.linalg.solve(sums.second, sums.cross[..., None])[..., 0]
    left = squares - np.einsum("dk,dk->d", found, sums.cross)
    counts = sums.second[:, -1, -1]
    noise = left.sum(keepdims=True) / counts.sum() if shared else left / counts
    loadings, mean = found[:, :-1], found[:, -1]
    n = sums.whole[-1, -1]
    centre = sums.whole[-1, :-1] / n
    spread = sums.whole[:-1, :-1] / n - np.outer(centre, centre)
    log_noise = np.log(np.maximum(noise, FACTOR_FLOOR))
    root = np.linalg.cholesky(spread)
    return FactorParameters(loadings @ root, mean + loadings @ centre, log_noise)


def first_factors(
    blocks: list[GappyBlock], squares: Array, k: int, shared: bool
) -> FactorParameters:
    """Return the factors of rows whose gaps are filled by means."""
    d = len(squares)
    scatter = np.sum([block.values.T @ block.values for block in blocks], axis=0)
    pairs = np.sum([_pairs(block) for block in blocks], axis=0)
    values, vectors = np.linalg.eigh(scatter / np.maximum(pairs, 1.0))
    values, vectors = values[::-1], vectors[:, ::-1]
    left = max(float(values[k:].mean()), _FIRST_NOISE * float(values.mean()))
    sizes = np.maximum(values[:k] - left, ROUNDING)
    loadings = vectors[:, :k] * np.sqrt(sizes)
    variances = squares / np.maximum(np.diag(pairs), 1.0)
    noise = np.maximum(variances - (loadings**2).sum(axis=1), _FIRST_NOISE * variances)
    first = np.array([noise.mean()]) if shared else noise
    return FactorParameters(loadings, np.zeros(d), np.log(np.maximum(first, FACTOR_FLOOR)))


def _pairs(block: GappyBlock) -> Array:
    """Return how many rows have both of two columns, (D, D)."""
    count = np.bincount(block.pattern, minlength=len(block.seen))
    return (block.seen * count[:, None]).T @ block.seen
