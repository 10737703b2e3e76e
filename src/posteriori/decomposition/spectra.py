r"""Eigenvalues and eigenvectors of a covariance, :math:`\tfrac1N X_c^\top X_c = U\Lambda U^\top`.

Centred rows :math:`X_c = \sqrt N\,V\Lambda^{1/2}U^\top` have the same directions U, and their inner
products :math:`\tfrac1N X_cX_c^\top = V\Lambda V^\top` the same eigenvalues: of N rows and D columns
the smaller side decides what is cheap. O(N D min(N, D)), or O(N D k) a step where only k are sought.

Reference: N. Halko, P. Martinsson & J. Tropp, "Finding structure with randomness", 2011.
"""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from posteriori.distributions.statistics import Moments
from posteriori.mathematics.matrices import deflated_eigenpairs
from posteriori.numerics.blocks.block_sizes import IN_CACHE, IN_MEMORY, rows_per_block
from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.rank import ROUNDING
from posteriori.numerics.threads import share_rows, thread_count, without_blas_threads
from posteriori.numerics.types import Array, number
from posteriori.numerics.validation import require_squares
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = [
    "Spectrum",
    "block_moments",
    "moments_spectrum",
    "power_spectrum",
    "random_spectrum",
    "row_spectrum",
    "table_origin",
    "with_positive_peaks",
]

#: Directions beside those that are sought, which let the weakest of them settle sooner.
_OVERSAMPLES = 10

#: Passes over the rows at most, and the change of eigenvalues, relative to the first, that ends them.
#: Vectors err by the root of what eigenvalues do.
_MOST_PASSES, _SETTLED = 200, 1e-15

#: Means within so many standard deviations of 0 cost sums of squares two digits at most.
_NEAR = 10.0

#: Columns up to which eigenvectors are found in milliseconds, and threads would wait more than they work.
_SMALL = 300

#: Rows for each column from which threads share them: each has a matrix of its own.
_LONG = 8

#: Entries this near to the largest one, relative to it, may be it after other rounding.
_TIE = 1e-6


class Spectrum(NamedTuple):
    """Directions of a table and the variance along each, the largest first.

    Attributes
    ----------
    values : (M,)
        Eigenvalues of the covariance, divided by N.
    vectors : (M, D)
        Unit eigenvectors, a row each.
    total : float
        Sum of all eigenvalues, also of those that are not listed.
    """

    values: Array
    vectors: Array
    total: float

    def left_over(self, k: int) -> float:
        """Return the sum of all eigenvalues but the first k."""
        listed = float(self.values[k:].sum())
        unlisted = self.total - float(self.values.sum())
        rounding = ROUNDING * self.total
        return listed + (unlisted if unlisted > rounding else 0.0)

    def rank(self, mean: Array) -> int:
        """Return how many of the directions have a variance beyond rounding, about a mean (D,)."""
        if not len(self.values):
            return 0
        noise = (ROUNDING * np.abs(mean).max()) ** 2  # entries of this size are rounded so far
        return int(np.sum(self.values > max(ROUNDING * self.values[0], noise)))


def table_origin(x: Array) -> Array:
    """Return a point near the first rows, 0 where that is near enough for sums of squares, (D,).

    Differences from it are exact where rows lie close together and far from 0.
    """
    first = x[: rows_per_block(x.shape[1], IN_CACHE)]
    with np.errstate(over="ignore", invalid="ignore"):
        mean, spread = first.mean(axis=0), first.std(axis=0)
    return np.zeros_like(mean) if np.all(np.abs(mean) <= _NEAR * spread) else mean


def block_moments(x: Array, origin: Array) -> Moments:
    """Return count, mean and scatter of x − origin for rows (N, D), without a copy of the table.

    Threads share the rows of a long table.

    Raises
    ------
    ValueError
        When the squares of some numbers overflow.
    """
    n, d = x.shape
    parts = n // max(_LONG * d, rows_per_block(d, IN_MEMORY))
    if min(parts, thread_count()) < 2:  # one long product, which BLAS may share
        first, second = _sums(x, origin)
    else:
        found = share_rows(lambda rows: _sums(x[rows], origin), n, parts)
        first, second = (sum(part) for part in zip(*found, strict=True))
    if not np.isfinite(np.trace(second)):
        require_squares("X", x)
    mean = first / n
    return Moments(number(n), mean, second - n * np.outer(mean, mean))


def _sums(x: Array, origin: Array) -> tuple[Array, Array]:
    """Return Σ (x − origin) and Σ (x − origin)(x − origin)ᵀ."""
    d = x.shape[1]
    first, second = np.zeros(d), np.zeros((d, d))
    step, moved = rows_per_block(d, IN_MEMORY), origin.any()
    with np.errstate(over="ignore", invalid="ignore"):  # seen in the sums
        for i in range(0, len(x), step):
            rows = x[i : i + step] - origin if moved else x[i : i + step]
            first += np.ones(len(rows)) @ rows
            second += rows.T @ rows
    return first, second


def moments_spectrum(moments: Moments) -> Spectrum:
    """Return the spectrum of the covariance scatter/N."""
    with without_blas_threads() if len(moments.mean) <= _SMALL else nullcontext():
        values, vectors = np.linalg.eigh(moments.scatter / moments.count)
    return _ordered(values[::-1], vectors.T[::-1], _trace(moments))


def power_spectrum(moments: Moments, count: int, rng: np.random.Generator) -> Spectrum:
    """Return leading eigenpairs of the covariance, one after another by power iteration."""
    values, vectors = deflated_eigenpairs(moments.scatter / moments.count, count, rng=rng)
    return _ordered(values, vectors, _trace(moments))


def row_spectrum(x: Array, mean: Array, *, gram: bool) -> Spectrum:
    """Return the spectrum from centred rows: by their singular values, or inner products of rows."""
    centred = x - mean
    n = len(x)
    if not gram:
        _, roots, vectors = scipy_linalg.svd(centred, full_matrices=False, check_finite=False)
        values = roots**2 / n
        return _ordered(values, vectors, float(values.sum()))
    values, left = np.linalg.eigh(centred @ centred.T / n)
    values, left = values[::-1][: x.shape[1]], left[:, ::-1][:, : x.shape[1]]
    there = values > ROUNDING * values[0] if len(values) else values > 0
    vectors = (left[:, there].T @ centred) / np.sqrt(n * values[there])[:, None]
    return _ordered(values[there], vectors, float(np.einsum("ij,ij->", centred, centred)) / n)


def random_spectrum(x: Array, mean: Array, count: int, rng: np.random.Generator) -> Spectrum:
    """Return leading eigenpairs by passes over the rows, beginning with random directions.

    Warns
    -----
    ConvergenceWarning
        Where 200 passes were not enough: eigenvalues about the last one nearly agree.
    """
    centred = x - mean
    width = min(count + _OVERSAMPLES, *x.shape)
    basis = np.linalg.qr(rng.standard_normal((x.shape[1], width)))[0]
    before = np.full(width, np.inf)
    for _ in range(_MOST_PASSES):
        image = centred.T @ (centred @ basis) / len(x)  # Σ Q
        values, turn = np.linalg.eigh(basis.T @ image)
        moved = np.abs(values[::-1] - before)[:count].max()
        before = values[::-1]
        if moved <= _SETTLED * before[0]:
            break
        basis = np.linalg.qr(image)[0]
    else:
        warnings.warn(
            f"eigenvalues still moved by {moved / before[0]:.2g} of the first after {_MOST_PASSES} "
            'passes; choose another number of components or solver="covariance"',
            ConvergenceWarning,
            stacklevel=3,
        )
    total = float(np.einsum("ij,ij->", centred, centred)) / len(x)
    return _ordered(before[:count], (basis @ turn[:, ::-1]).T[:count], total)


def with_positive_peaks(vectors: Array) -> Array:
    """Return vectors (M, D), each turned so that its largest entry is positive; of ties the first."""
    size = np.abs(vectors)
    peak = np.argmax(size >= (1.0 - _TIE) * size.max(axis=1, keepdims=True), axis=1)
    sign = np.where(np.take_along_axis(vectors, peak[:, None], axis=1) < 0.0, -1.0, 1.0)
    return vectors * sign


def _ordered(values: Array, vectors: Array, total: float) -> Spectrum:
    if not len(values):
        return Spectrum(values, vectors, total)
    return Spectrum(np.maximum(values, 0.0), with_positive_peaks(vectors), total)


def _trace(moments: Moments) -> float:
    return float(np.trace(moments.scatter) / moments.count)
