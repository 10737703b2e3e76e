r"""What linear regression adds up: a triangular factor of the centred data.

With frequency f and noise variance v of each row, and weights w = f/v,

.. math:: R^T R = \sum_n w_n\,(z_n - \bar z)(z_n - \bar z)^T,\qquad z = (x, y).

R comes from the Gram matrix by Cholesky's method as long as the columns are far from dependent;
otherwise blocks of rows are triangularised by Householder's method, which squares no condition
number. Batch, stream and merge agree to rounding.

Reference: T. Chan, G. Golub & R. LeVeque, "Algorithms for computing the sample variance", 1983;
Å. Björck, "Numerical methods for least squares problems", 1996.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from posteriori.numerics.blocks.block_sizes import WITH_COPY, rows_per_block
from posteriori.numerics.least_squares.triangle import (
    INDEPENDENT,
    column_norms,
    padded,
    trapezoid,
    trapezoid_of,
)
from posteriori.numerics.types import Array

__all__ = ["RegressionStatistics", "regression_statistics"]

#: A share of the target's variance this small that is left over wants all digits.
_PERFECT = 1e-6

#: Data of this many numbers or less are triangularised: it costs next to nothing.
_SMALL = 1 << 14

#: A spread this small beside the mean is rounding.
_CONSTANT = 1e-13

#: Squares outside these bounds lose digits or overflow.
_SMALLEST, _LARGEST = 1e-280, 1e280


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
        fewer rows than inputs.
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
        return padded(self.reduced)

    @cached_property
    def reduced(self) -> Array:
        """R without the rows of zeros that fewer rows than inputs leave, (K, D + M)."""
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
            safe = _safe_gram(gram, mine.left + theirs.left, self.n_inputs, total)
        if safe is not None:
            return RegressionStatistics(*total, safe, self.n_inputs, self.centred)
        factor = trapezoid(np.concatenate([self.reduced, other.reduced, between[None]]))
        factor = _as_kept(_without_rounding(factor, total), self.n_inputs)
        return RegressionStatistics(*total, factor, self.n_inputs, self.centred)

    def _sums(self) -> _Sums:
        return _Sums(self.rows, self.weight, self.log_variance, self.mean)

    def _gram(self) -> SafeGram:
        if isinstance(self.squared, SafeGram):
            return self.squared
        with np.errstate(over="ignore", invalid="ignore"):
            square = padded(self.squared)
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


class SafeGram(NamedTuple):
    """A Gram matrix far from singular.

    Attributes
    ----------
    gram : (D + M, D + M)
    left : (D + M,)
        At most what the columns before it leave of each column's squares, R_jj². Further rows only
        add to that: while it is large enough, no factor is needed to tell that digits are safe.
    """

    gram: Array
    left: Array


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
        safe = _safe_gram(gram, left, x.shape[1], total)
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


# -- Gram matrices ---------------------------------------------------------------------------


def _gram(x: Array, y: Array, weights: Array | None, mean: Array) -> Array:
    if weights is None and not mean.any():
        across = x.T @ y  # nothing to copy
        return np.block([[x.T @ x, across], [across.T, y.T @ y]])
    total = np.zeros((len(mean), len(mean)))
    for block in _blocks(x, y, weights, mean):
        total += block.T @ block
    return total


def _safe_gram(gram: Array, left: Array, n_inputs: int, sums: _Sums) -> SafeGram | None:
    """Return a Gram matrix in which rounding does not show, None for others.

    ``left`` is what is known of R_jj² from below; where that does not suffice, R is made.
    """
    squares = np.diagonal(gram)
    constant = sums.weight * (_CONSTANT * sums.mean) ** 2
    if not (np.all(squares > constant + _SMALLEST) and squares.max() < _LARGEST):
        return None
    needed = INDEPENDENT * squares
    needed[n_inputs:] = _PERFECT * squares[n_inputs:]
    if np.all(left >= needed):
        return SafeGram(gram, left)
    try:
        left = np.diagonal(np.linalg.cholesky(gram)) ** 2
    except np.linalg.LinAlgError:
        return None
    return SafeGram(gram, left) if np.all(left >= needed) else None


# -- triangular factors of rows --------------------------------------------------------------


def _careful_statistics(
    x: Array, y: Array, weights: Array | None, sums: _Sums, centre: bool
) -> RegressionStatistics:
    """Triangularise the rows."""
    d, scales = x.shape[1], _magnitudes(x, y)
    smallest, largest = np.sqrt([_SMALLEST, _LARGEST / max(sums.weight, 1.0)])
    ordinary = np.all((scales > smallest) & (scales < largest))
    if not ordinary:
        x, y = x / scales[:d], y / scales[d:]
        sums = sums._replace(mean=_means(x, y, weights, sums.weight, centre))
    factor = trapezoid_of(_blocks(x, y, weights, sums.mean), len(sums.mean))
    factor = _as_kept(_without_rounding(factor, sums), d)
    if ordinary:
        return RegressionStatistics(*sums, factor, d, centre)
    sums = sums._replace(mean=sums.mean * scales)
    return RegressionStatistics(*sums, factor * scales, d, centre)


def _as_kept(factor: Array, n_inputs: int) -> Array:
    """Return a trapezoid of fewer rows than inputs as it is, others as a square."""
    return factor if len(factor) < n_inputs else padded(factor)


def _without_rounding(factor: Array, sums: _Sums) -> Array:
    """Return the factor with 0 for columns whose spread is rounding beside their mean."""
    spread = column_norms(factor) / np.sqrt(sums.weight)
    return np.where(spread > _CONSTANT * np.abs(sums.mean), factor, 0.0)


def _magnitudes(x: Array, y: Array) -> Array:
    """Return powers of two near the largest entry of each column, so that dividing is exact."""
    largest = np.concatenate([np.maximum(a.max(axis=0), -a.min(axis=0)) for a in (x, y)])
    exponents = np.frexp(largest)[1]
    return np.where(largest > 0, np.ldexp(1.0, exponents - 1), 1.0)


def _blocks(x: Array, y: Array, weights: Array | None, mean: Array) -> Iterator[Array]:
    """Yield centred rows [x y] √w, a block at a time in the same memory."""
    step = min(len(x), rows_per_block(len(mean), WITH_COPY))
    cut, memory = x.shape[1], np.empty((step, len(mean)))
    for first in range(0, len(x), step):
        rows = slice(first, first + step)
        block = memory[: len(x) - first]
        np.subtract(x[rows], mean[:cut], out=block[:, :cut])
        np.subtract(y[rows], mean[cut:], out=block[:, cut:])
        if weights is not None:
            block *= np.sqrt(weights[rows])[:, None]
        yield block
