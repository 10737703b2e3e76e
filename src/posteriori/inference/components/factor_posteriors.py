r"""Normal factors given rows with gaps: :math:`x = \mu + Wz + \varepsilon`, :math:`z \sim N(0, I)`.

With the columns o that are seen of a row, and independent noise of variances :math:`\psi`,

.. math:: z\mid x_o \sim N(M^{-1}h, M^{-1}), \qquad M = I + \sum_{d\in o} w_dw_d^\top/\psi_d, \qquad
          h = \sum_{d\in o} w_d(x_d - \mu_d)/\psi_d,

.. math:: -2\ln p(x_o) = D_o\ln 2\pi + \ln|M| + |m|^2
          + \sum_{d\in o}\Bigl[\ln\psi_d + \frac{(x_d - \mu_d - w_d^\top m)^2}{\psi_d}\Bigr], \qquad m = M^{-1}h:

squares alone, which do not cancel where a noise is small, and of which m is the least.

Rows that miss the same entries share M, and all M are one product of the patterns with the columns'
:math:`w_dw_d^\top/\psi_d`: O(P D K² + N D K) for P patterns, without a matrix of D rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from posteriori.inference.gaps.gap_patterns import gap_patterns
from posteriori.numerics.blocks.block_sizes import IN_MEMORY, rows_per_block
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "FactorPosteriors",
    "block_posteriors",
    "GappyBlock",
    "Posteriors",
    "factor_posteriors",
    "gappy_blocks",
]


class GappyBlock(NamedTuple):
    """Rows of some patterns of gaps.

    Attributes
    ----------
    values : (n, D)
        Rows, with 0 in their gaps.
    seen : (p, D)
        1 where the rows of a pattern have an entry, else 0.
    pattern : (n,)
        That of each row, in order.
    starts : (p,)
        Where the rows of each pattern begin.
    rows : (n,)
        Their numbers in the table.
    """

    values: Array
    seen: Array
    pattern: IntArray
    starts: IntArray
    rows: IntArray


class Posteriors(NamedTuple):
    """Factors given the rows of a block.

    Attributes
    ----------
    means : (n, K)
    covs : (p, K, K)
        Of each pattern.
    log_density : (n,)
    """

    means: Array
    covs: Array
    log_density: Array


class FactorPosteriors(NamedTuple):
    """Factors given the rows of a table: means (N, K), covariances (N, K, K), ln p(row) (N,)."""

    means: Array
    covs: Array
    log_density: Array


def gappy_blocks(x: Array, width: int) -> list[GappyBlock]:
    """Group rows (N, D) by their gaps, in blocks for which so many numbers a row fit into memory."""
    seen, order, offsets, _ = gap_patterns(x)
    most = rows_per_block(max(x.shape[1], width), IN_MEMORY)
    blocks = []
    for pattern, start in _pieces(offsets, most):
        last = start[-1]
        rows = order[start[0] : last]
        values = np.nan_to_num(x[rows], nan=0.0)
        sizes = np.diff(start)
        index = np.repeat(np.arange(len(pattern)), sizes)
        kept = seen[pattern].astype(np.float64)
        blocks.append(GappyBlock(values, kept, index, start[:-1] - start[0], rows))
    return blocks


def block_posteriors(
    block: GappyBlock,
    loadings: Array,
    mean: Array,
    noise: Array,
    spreads: Array | None = None,
) -> Posteriors:
    """Return what a block tells of its factors.

    Parameters
    ----------
    block : GappyBlock
    loadings : (D, K)
    mean, noise : (D,)
    spreads : (D, K + 1, K + 1), optional
        Covariances of loadings and means that are uncertain: M and h gain them over the noise, and the
        log density is that of what factors and rows are expected to be.
    """
    d, k = loadings.shape
    scaled = loadings / noise[:, None]
    products = (scaled[:, :, None] * loadings[:, None, :]).reshape(d, k * k)
    offset = mean[:, None] * scaled
    if spreads is not None:
        doubt = spreads / noise[:, None, None]
        products = products + doubt[:, :k, :k].reshape(d, k * k)
        offset = offset + doubt[:, k, :k]
    inner = (block.seen @ products).reshape(-1, k, k) + np.eye(k)  # M
    lower = np.linalg.cholesky(inner)
    roots = triangular_inverse(lower)
    covs = np.swapaxes(roots, -1, -2) @ roots
    log_dets = 2.0 * np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    fixed = block.seen @ np.column_stack([LOG_2PI + np.log(noise), offset])
    pull = block.values @ scaled - fixed[block.pattern, 1:]  # h
    means = np.einsum("nij,nj->ni", covs[block.pattern], pull)
    left = (block.values - mean - means @ loadings.T) * block.seen[block.pattern]
    distance = left**2 @ (1.0 / noise) + np.einsum("nk,nk->n", means, means)
    if spreads is not None:
        doubts = (block.seen @ doubt.reshape(d, -1)).reshape(-1, k + 1, k + 1)[block.pattern]
        distance += np.einsum("nij,ni,nj->n", doubts[:, :k, :k], means, means)
        distance += 2.0 * np.einsum("ni,ni->n", doubts[:, k, :k], means)
    return Posteriors(means, covs, -0.5 * ((fixed[:, 0] + log_dets)[block.pattern] + distance))


def factor_posteriors(x: Array, loadings: Array, noise: Array) -> FactorPosteriors:
    """Return factors given rows (N, D), measured from their means; NaN is a missing entry."""
    n, k = len(x), loadings.shape[1]
    found = FactorPosteriors(np.empty((n, k)), np.empty((n, k, k)), np.empty(n))
    nothing = np.zeros(x.shape[1])
    for block in gappy_blocks(x, k * k):
        here = block_posteriors(block, loadings, nothing, noise)
        found.means[block.rows] = here.means
        found.covs[block.rows] = here.covs[block.pattern]
        found.log_density[block.rows] = here.log_density
    return found


def _pieces(offsets: IntArray, most: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield patterns and bounds of their rows, ``most`` rows at a time; a pattern may be cut."""
    for first in range(0, int(offsets[-1]), most):
        last = min(first + most, int(offsets[-1]))
        low = int(np.searchsorted(offsets, first, side="right")) - 1
        high = int(np.searchsorted(offsets, last, side="left"))
        bounds = np.clip(offsets[low : high + 1], first, last)
        yield np.arange(low, high), bounds
