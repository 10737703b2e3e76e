r"""What linear regression adds up: a triangular factor of the centred data.

With frequency f and noise variance v of each row, and weights w = f/v,

.. math:: R^T R = \sum_n w_n\,(z_n - \bar z)(z_n - \bar z)^T,\qquad z = (x, y).

R comes from the Gram matrix by Cholesky's method as long as the columns are far from dependent;
otherwise blocks of rows are triangularised by Householder's method, which squares no condition
number. Batch, stream and merge agree to rounding. With

.. math:: R = \begin{pmatrix} U & u \\ 0 & \rho \end{pmatrix},\qquad |y - Xw|^2 = |u - Uw|^2 + \rho^2,

the weights solve :math:`Uw = u`, and :math:`\rho^2` is left over without a difference of large numbers. What
a prior says are rows like others, and triangles of parts are stacked to make the triangle of the whole.

Reference: T. Chan, G. Golub & R. LeVeque, "Algorithms for computing the sample variance", 1983;
Å. Björck, "Numerical methods for least squares problems", 1996.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from posteriori.numerics.blocks.block_sizes import WITH_COPY
from posteriori.numerics.least_squares.safe_gram import (
    CONSTANT,
    LARGEST,
    SMALLEST,
    SafeGram,
    safe_gram,
)
from posteriori.numerics.types import Array

__all__ = [
    "LeastSquares",
    "RegressionStatistics",
    "column_norms",
    "least_squares",
    "regression_statistics",
    "trapezoid",
    "triangle",
    "triangle_of",
]

#: Data of this many numbers or less are triangularised: it costs next to nothing.
_SMALL = 1 << 14


@dataclass(frozen=True)
class RegressionStatistics:
    """Sums over the rows of inputs x (D) and targets y (M).

    Attributes
    ----------
    rows : float
        Σ f: how many rows there are.
    weight : float
        Σ f/v.
    log_variance : float
        Σ f ln v.
    mean : (D + M,)
        Weighted means of the columns; 0 when the data are not centred.
    squared : SafeGram or (K, D + M)
        RᵀR where no digits are lost by it, otherwise R, without rows of zeros where the data have
        fewer rows than columns.
    n_inputs : int
        D.
    centred : bool
    """

    rows: float
    weight: float
    log_variance: float
    mean: Array
    squared: SafeGram | Array
    n_inputs: int
    centred: bool

    @cached_property
    def factor(self) -> Array:
        """Upper triangular R, (D + M, D + M)."""
        return _padded(self.reduced)

    @cached_property
    def reduced(self) -> Array:
        """R without the rows of zeros that fewer rows than columns leave, (K, D + M)."""
        if isinstance(self.squared, SafeGram):
            return np.linalg.cholesky(self.squared.gram).T
        return self.squared

    @property
    def is_wide(self) -> bool:
        """Whether the data have fewer rows than inputs."""
        return not isinstance(self.squared, SafeGram) and len(self.squared) < self.n_inputs

    def merge(self, other: RegressionStatistics) -> RegressionStatistics:
        """Return the statistics of both sets of data."""
        if self.centred != other.centred or self.mean.shape != other.mean.shape:
            raise ValueError("statistics of different models cannot be merged")
        total, between = _join(self._sums(), other._sums())
        safe = None
        wide = self.is_wide and other.is_wide
        if total.rows * self.n_inputs > _SMALL and not wide:
            mine, theirs = self._gram(), other._gram()
            gram = mine.gram + theirs.gram + between[:, None] * between
            safe = safe_gram(gram, mine.left + theirs.left, self.n_inputs, total.weight, total.mean)
        if safe is not None:
            return RegressionStatistics(*total, safe, self.n_inputs, self.centred)
        factor = trapezoid(np.concatenate([self.reduced, other.reduced, between[None]]))
        factor = _without_rounding(factor, total)
        return RegressionStatistics(*total, factor, self.n_inputs, self.centred)

    def _sums(self) -> _Sums:
        return _Sums(self.rows, self.weight, self.log_variance, self.mean)

    def _gram(self) -> SafeGram:
        if isinstance(self.squared, SafeGram):
            return self.squared
        with np.errstate(over="ignore", invalid="ignore"):
            square = _padded(self.squared)
            return SafeGram(square.T @ square, np.diagonal(square) ** 2)

    @property
    def scales(self) -> Array:
        """Standard deviations of the columns about their means (about 0 if not centred)."""
        return column_norms(self.reduced) / np.sqrt(self.weight)

    @property
    def safe_scales(self) -> Array:
        """The same with 1 in the place of 0, to divide by."""
        scales = self.scales
        return np.where(scales > 0, scales, 1.0)


class _Sums(NamedTuple):
    """Sums that need no care: the first fields of the statistics."""

    rows: float
    weight: float
    log_variance: float
    mean: Array


def regression_statistics(
    x: Array,
    y: Array,
    *,
    frequency: Array | None = None,
    variance: Array | None = None,
    centre: bool = True,
    earlier: RegressionStatistics | None = None,
) -> RegressionStatistics:
    """Summarise rows.

    Parameters
    ----------
    x : (N, D)
    y : (N, M)
    frequency : (N,), optional
        How often each row counts.
    variance : (N,), optional
        Noise variance of each row, relative to a common one.
    centre : bool
        Whether an intercept stands beside the inputs.
    earlier : RegressionStatistics, optional
        Of rows that have been read before: the result speaks of both.

    Notes
    -----
    Costs O(N D²), a chunk after others little more than its share of all rows read at once.
    """
    weights = frequency if variance is None else _or_ones(frequency, len(x)) / variance
    here = _sums(x, y, frequency, variance, weights, centre)
    total, gram, left = here, np.zeros(()), np.zeros(())
    wide = len(x) < x.shape[1] and (earlier is None or earlier.is_wide)  # no Gram matrix is safe
    if earlier is not None and not wide:
        total, between = _join(earlier._sums(), here)
        known = earlier._gram()
        gram, left = known.gram + between[:, None] * between, known.left
    if total.rows * x.shape[1] > _SMALL and not wide:
        with np.errstate(over="ignore", invalid="ignore"):
            gram = gram + _gram(x, y, weights, here.mean)
        safe = safe_gram(gram, left, x.shape[1], total.weight, total.mean)
        if safe is not None:
            return RegressionStatistics(*total, safe, x.shape[1], centre)
    alone = _careful_statistics(x, y, weights, here, centre)
    return alone if earlier is None else earlier.merge(alone)


# -- sums ------------------------------------------------------------------------------------


def _or_ones(frequency: Array | None, rows: int) -> Array:
    return np.ones(rows) if frequency is None else frequency


def _sums(
    x: Array,
    y: Array,
    frequency: Array | None,
    variance: Array | None,
    weights: Array | None,
    centre: bool,
) -> _Sums:
    rows = float(len(x)) if frequency is None else float(frequency.sum())
    if not rows > 0:
        raise ValueError("there is no row with positive weight")
    log_variance = 0.0
    if variance is not None:
        log_variance = float(_or_ones(frequency, len(x)) @ np.log(variance))
    weight = float(len(x)) if weights is None else float(weights.sum())
    return _Sums(rows, weight, log_variance, _means(x, y, weights, weight, centre))


def _means(x: Array, y: Array, weights: Array | None, weight: float, centre: bool) -> Array:
    if not centre:
        return np.zeros(x.shape[1] + y.shape[1])
    each = np.ones(len(x)) if weights is None else weights
    return np.concatenate([each @ x, each @ y]) / weight


def _join(one: _Sums, other: _Sums) -> tuple[_Sums, Array]:
    """Return the sums over both, and the row √(W₁W₂/W) (z̄₂ − z̄₁) that their distance adds."""
    weight = one.weight + other.weight
    share = other.weight / weight
    shift = other.mean - one.mean
    total = _Sums(
        one.rows + other.rows,
        weight,
        one.log_variance + other.log_variance,
        one.mean + share * shift,
    )
    return total, np.sqrt(one.weight * share) * shift


def _gram(x: Array, y: Array, weights: Array | None, mean: Array) -> Array:
    if weights is None and not mean.any():
        across = x.T @ y  # nothing to copy
        return np.block([[x.T @ x, across], [across.T, y.T @ y]])
    total = np.zeros((len(mean), len(mean)))
    for block in _blocks(x, y, weights, mean):
        total += block.T @ block
    return total


# -- triangular factors of rows --------------------------------------------------------------


def _careful_statistics(
    x: Array, y: Array, weights: Array | None, sums: _Sums, centre: bool
) -> RegressionStatistics:
    """Triangularise the rows."""
    d, scales = x.shape[1], _magnitudes(x, y)
    smallest, largest = np.sqrt([SMALLEST, LARGEST / max(sums.weight, 1.0)])
    ordinary = np.all((scales > smallest) & (scales < largest))
    if not ordinary:
        x, y = x / scales[:d], y / scales[d:]
        sums = sums._replace(mean=_means(x, y, weights, sums.weight, centre))
    factor = _trapezoid_of(_blocks(x, y, weights, sums.mean), len(sums.mean))
    factor = _without_rounding(factor, sums)
    if ordinary:
        return RegressionStatistics(*sums, factor, d, centre)
    sums = sums._replace(mean=sums.mean * scales)
    return RegressionStatistics(*sums, factor * scales, d, centre)


def _without_rounding(factor: Array, sums: _Sums) -> Array:
    """Return the factor with 0 for columns whose spread is rounding beside their mean."""
    spread = column_norms(factor) / np.sqrt(sums.weight)
    return np.where(spread > CONSTANT * np.abs(sums.mean), factor, 0.0)


def _magnitudes(x: Array, y: Array) -> Array:
    """Return powers of two near the largest entry of each column, so that dividing is exact."""
    largest = np.concatenate([np.maximum(a.max(axis=0), -a.min(axis=0)) for a in (x, y)])
    exponents = np.frexp(largest)[1]
    return np.where(largest > 0, np.ldexp(1.0, exponents - 1), 1.0)


def _blocks(x: Array, y: Array, weights: Array | None, mean: Array) -> Iterator[Array]:
    """Yield centred rows [x y] √w, a block at a time in the same memory."""
    step = min(len(x), max(1, WITH_COPY // len(mean)))
    cut, memory = x.shape[1], np.empty((step, len(mean)))
    for first in range(0, len(x), step):
        rows = slice(first, first + step)
        block = memory[: len(x) - first]
        np.subtract(x[rows], mean[:cut], out=block[:, :cut])
        np.subtract(y[rows], mean[cut:], out=block[:, cut:])
        if weights is not None:
            block *= np.sqrt(weights[rows])[:, None]
        yield block


# -- triangles of any rows [X y] --------------------------------------------------------------


class LeastSquares(NamedTuple):
    """Weights that leave the least squares.

    Attributes
    ----------
    mean : (D,)
    factor : (D, D)
        Upper triangular U with UᵀU = XᵀX.
    misfit : float
        ρ², what is left.
    """

    mean: Array
    factor: Array
    misfit: float


def least_squares(rows: Array, n_inputs: int) -> LeastSquares:
    """Return the weights of inputs under which rows [X y] (N, D + 1) leave the least squares."""
    r = triangle(rows)
    factor = r[:n_inputs, :n_inputs]
    mean = np.linalg.solve(factor, r[:n_inputs, n_inputs])  # a triangle is solved as it stands
    return LeastSquares(mean, factor, float((r[n_inputs:, n_inputs] ** 2).sum()))


def triangle(rows: Array) -> Array:
    """Return R of a QR decomposition with columns scaled to unit length, padded to a square."""
    return _padded(trapezoid(rows))


def trapezoid(rows: Array) -> Array:
    """Return the same without padding: as many rows as there are, but no more than columns."""
    lengths = column_norms(rows)
    safe = np.where(lengths > 0, lengths, 1.0)
    return np.asarray(np.linalg.qr(rows / safe, mode="r") * safe)


def _padded(rows: Array) -> Array:
    """Return rows, and rows of zeros below where they are fewer than the columns."""
    missing = max(0, rows.shape[1] - len(rows))
    return np.pad(rows, ((0, missing), (0, 0))) if missing else rows


def _trapezoid_of(blocks: Iterable[Array], width: int) -> Array:
    """Return the trapezoid of all rows of some blocks (N, width); small ones go together.

    A block may lie in memory that the next one overwrites.
    """
    kept, waiting = [np.zeros((0, width))], 0
    for block in blocks:
        waiting += len(block)
        if waiting < width:
            kept.append(block.copy())
        else:
            kept, waiting = [trapezoid(np.concatenate([*kept, block]))], 0
    return kept[0] if len(kept) == 1 and len(kept[0]) else trapezoid(np.concatenate(kept))


def triangle_of(blocks: Iterable[Array], width: int) -> Array:
    """Return the same, padded to a square."""
    return _padded(_trapezoid_of(blocks, width))


def column_norms(a: Array) -> Array:
    """Return the Euclidean lengths of the columns, also where squares over- or underflow."""
    largest = np.abs(a).max(axis=0, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt(((a / safe) ** 2).sum(axis=0))
