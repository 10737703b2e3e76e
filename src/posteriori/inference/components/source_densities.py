r"""Densities of independent sources, and what an ascent needs to know of them.

For sources :math:`y = Wx` with scores :math:`\psi = -\mathrm d\ln p/\mathrm dy`, averages over rows of

.. math:: -\ln p_i(y_i), \qquad \psi_i(y_i)\,y_j, \qquad \psi_i'(y_i), \qquad \psi_i'(y_i)\,y_i^2.

Heavy tails have :math:`p = 1/(\pi\cosh y)`, :math:`\psi = \tanh y`; light ones
:math:`p = \tfrac12N(y\mid 1, 1) + \tfrac12N(y\mid -1, 1)`, :math:`\psi = y - \tanh y`. Logarithms of
:math:`\cosh y = e^{|y|}(1 + e^{-2|y|})/2` are summed as logarithms of products.

Reference: T. Lee, M. Girolami & T. Sejnowski, "Independent component analysis using an extended infomax
algorithm for mixed sub-Gaussian and super-Gaussian sources", 1999.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from posteriori.numerics.blocks.block_sizes import IN_CACHE, NODES, rows_per_block
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.threads import share_rows
from posteriori.numerics.types import Array

__all__ = ["GivenDensity", "SourceMoments", "TailDensities", "source_moments"]

#: As many numbers between 1 and 2 have a product below 2^512, which floats hold.
_PRODUCT = 512

#: Distance of the points whose difference of scores is their slope: errors of both kinds are small.
_DIFFERENCE = 1e-4


class SourceMoments(NamedTuple):
    """Averages over rows.

    Attributes
    ----------
    value : float
        Of −Σ ln p.
    cross : (K, K)
        Of ψ_i y_j.
    slope : (K,)
        Of ψ′.
    own : (K,)
        Of ψ′ y².
    """

    value: float
    cross: Array
    slope: Array
    own: Array


class TailDensities(NamedTuple):
    """Sources with heavy or light tails.

    Attributes
    ----------
    heavy : (K,) bool
    """

    heavy: Array

    @property
    def scale(self) -> Array:
        """Standard deviations of the densities, (K,): π/2 and √2."""
        return np.where(self.heavy, 0.5 * np.pi, np.sqrt(2.0))

    def sums(self, y: Array) -> SourceMoments:
        """Return Σ −ln p, Σ ψ_i y_j, Σ ψ′ and Σ ψ′ y² of sources (K, n)."""
        n, heavy = y.shape[1], self.heavy
        size = np.abs(y)
        decay = np.exp(-2.0 * size)
        over = decay + 1.0
        np.subtract(1.0, decay, out=decay)
        np.divide(decay, over, out=decay)
        t = np.copysign(decay, y, out=decay)  # tanh y
        log_cosh = size.sum(axis=1) + _log_products(over) - n * np.log(2.0)
        cross = t @ y.T
        squares, ty = np.einsum("kn,kn->k", t, t), np.multiply(t, y, out=size)
        second, own = y @ y.T, np.einsum("kn,kn->k", ty, ty)
        y2 = np.diag(second)
        light = 0.5 * y2 - log_cosh + 0.5 * n * (1.0 + LOG_2PI)
        return SourceMoments(
            float(np.where(heavy, log_cosh + n * np.log(np.pi), light).sum()),
            np.where(heavy[:, None], cross, second - cross),
            np.where(heavy, n - squares, squares),
            np.where(heavy, y2 - own, own),
        )


class GivenDensity(NamedTuple):
    """The same density for all sources, as functions of arrays.

    Attributes
    ----------
    log_density, score : callable
        ln p(y) and its derivative.
    """

    log_density: Callable[[Array], Array]
    score: Callable[[Array], Array]

    @property
    def scale(self) -> Array:
        """1: sizes of sources are left to the ascent."""
        return np.ones(1)

    def sums(self, y: Array) -> SourceMoments:
        """Return Σ −ln p, Σ ψ_i y_j, Σ ψ′ and Σ ψ′ y² of sources (K, n)."""
        slope = self.score(y - _DIFFERENCE) - self.score(y + _DIFFERENCE)
        slope /= 2.0 * _DIFFERENCE
        value, own = -float(np.sum(self.log_density(y))), np.einsum("kn,kn,kn->k", slope, y, y)
        return SourceMoments(value, -self.score(y) @ y.T, slope.sum(axis=1), own)


def source_moments(
    unmixing: Array, z: Array, densities: TailDensities | GivenDensity
) -> SourceMoments:
    """Return averages over the columns of z (K, N), for sources W z; a pass in blocks.

    Threads share many columns, but for densities that are given as functions, which may not allow it.
    """
    n = z.shape[1]
    parts = 1 if isinstance(densities, GivenDensity) else z.size // IN_CACHE
    found = share_rows(lambda columns: _sums(unmixing, z[:, columns], densities), n, parts)
    return SourceMoments(*(sum(parts) / n for parts in zip(*found, strict=True)))


def _sums(unmixing: Array, z: Array, densities: TailDensities | GivenDensity) -> SourceMoments:
    """Return sums over the columns of z, in blocks."""
    step = rows_per_block(len(z), NODES)
    blocks = [z[:, first : first + step] for first in range(0, z.shape[1], step)]
    made = [densities.sums(unmixing @ block) for block in blocks]
    return SourceMoments(*(sum(parts) for parts in zip(*made, strict=True)))


def _log_products(factors: Array) -> Array:
    """Return sums of logarithms of (K, n) numbers between 1 and 2."""
    starts = np.arange(0, factors.shape[1], _PRODUCT)
    return np.log(np.multiply.reduceat(factors, starts, axis=1)).sum(axis=1)
