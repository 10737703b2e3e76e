r"""What linear regression adds up: a triangular factor of the centred data.

With frequency f and noise variance v of each row, and weights w = f/v,

.. math:: R^T R = \sum_n w_n\,(z_n - \bar z)(z_n - \bar z)^T,\qquad z = (x, y).

Gram matrices of blocks add up to R by Cholesky's method as long as the columns are far from
dependent; otherwise blocks are triangularised by Householder's method, which squares no condition
number. Batch, stream and merge agree to rounding.

Reference: T. Chan, G. Golub & R. LeVeque, "Algorithms for computing the sample variance", 1983;
Å. Björck, "Numerical methods for least squares problems", 1996.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["RegressionStatistics", "column_norms", "regression_statistics"]

#: Columns nearer to dependence than this are triangularised instead of squared.
_INDEPENDENT = 1e-2

#: A share of the target's variance this small that is left over wants all digits.
_PERFECT = 1e-6

#: Data of this many numbers or less are triangularised: it costs next to nothing.
_SMALL = 1 << 14

#: A spread this small beside the mean is rounding.
_CONSTANT = 1e-13

#: Squares outside these bounds lose digits or overflow: such columns are rescaled.
_SMALLEST, _LARGEST = 1e-280, 1e280

#: Numbers that are read at a time.
_BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
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
    factor : (D + M, D + M)
        Upper triangular R.
    n_inputs : int
        D.
    centred : bool
    careful : bool
        Whether R was made by Householder's method.
    """

    rows: float
    weight: float
    log_variance: float
    mean: Array
    factor: Array
    n_inputs: int
    centred: bool
    careful: bool

    def merge(self, other: RegressionStatistics) -> RegressionStatistics:
        """Return the statistics of both sets of data."""
        if self.centred != other.centred or self.mean.shape != other.mean.shape:
            raise ValueError("statistics of different models cannot be merged")
        weight = self.weight + other.weight
        share = other.weight / weight
        shift = other.mean - self.mean
        between = np.sqrt(self.weight * share) * shift[None]
        stacked = np.concatenate([self.factor, other.factor, between])
        mean = self.mean + share * shift
        return RegressionStatistics(
            self.rows + other.rows,
            weight,
            self.log_variance + other.log_variance,
            mean,
            _without_rounding(_triangular(stacked), mean, weight),
            self.n_inputs,
            self.centred,
            self.careful or other.careful,
        )

    @property
    def scales(self) -> Array:
        """Standard deviations of the columns about their means (about 0 if not centred)."""
        return column_norms(self.factor) / np.sqrt(self.weight)

    @property
    def safe_scales(self) -> Array:
        """The same with 1 in the place of 0, to divide by."""
        scales = self.scales
        return np.where(scales > 0, scales, 1.0)


def regression_statistics(
    x: Array,
    y: Array,
    *,
    frequency: Array | None = None,
    variance: Array | None = None,
    centre: bool = True,
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
    """
    rows = float(len(x)) if frequency is None else float(frequency.sum())
    if not rows > 0:
        raise ValueError("there is no row with positive weight")
    weights = None
    if frequency is not None or variance is not None:
        weights = np.ones(len(x)) if frequency is None else frequency
        weights = weights if variance is None else weights / variance
    log_variance = 0.0
    if variance is not None:
        logs = np.log(variance)
        log_variance = float(logs.sum() if frequency is None else frequency @ logs)
    scales = None
    weight, mean = _means(x, y, weights, centre)
    with np.errstate(over="ignore", invalid="ignore"):
        gram = _gram(x, y, weights, mean)
    squares = np.diagonal(gram)
    if not np.all((squares > _SMALLEST) & (squares < _LARGEST)):
        scales = _magnitudes(x, y)
        x, y = x / scales[: x.shape[1]], y / scales[x.shape[1] :]
        weight, mean = _means(x, y, weights, centre)
        gram = _gram(x, y, weights, mean)
    factor = None if x.size <= _SMALL else _root_of(gram, x.shape[1])
    careful = factor is None
    if factor is None:
        factor = _householder(x, y, weights, mean)
    factor = _without_rounding(factor, mean, weight)
    if scales is not None:
        mean, factor = mean * scales, factor * scales
    return RegressionStatistics(
        rows, weight, log_variance, mean, factor, x.shape[1], centre, careful
    )


def column_norms(a: Array) -> Array:
    """Return the Euclidean lengths of the columns, also where squares over- or underflow."""
    largest = np.abs(a).max(axis=0, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt(((a / safe) ** 2).sum(axis=0))


# -- passes over the data --------------------------------------------------------------------


def _means(x: Array, y: Array, weights: Array | None, centre: bool) -> tuple[float, Array]:
    weight = float(len(x)) if weights is None else float(weights.sum())
    width = x.shape[1] + y.shape[1]
    if not centre:
        return weight, np.zeros(width)
    if weights is None:
        return weight, np.concatenate([x.mean(axis=0), y.mean(axis=0)])
    return weight, np.concatenate([weights @ x, weights @ y]) / weight


def _magnitudes(x: Array, y: Array) -> Array:
    """Return powers of two near the largest entry of each column, so that dividing is exact."""
    largest = np.concatenate([np.abs(x).max(axis=0), np.abs(y).max(axis=0)])
    exponents = np.frexp(largest)[1]
    return np.where(largest > 0, np.ldexp(1.0, exponents - 1), 1.0)


def _without_rounding(factor: Array, mean: Array, weight: float) -> Array:
    """Return the factor with 0 for columns whose spread is rounding beside their mean."""
    spread = column_norms(factor) / np.sqrt(weight)
    return np.where(spread > _CONSTANT * np.abs(mean), factor, 0.0)


def _blocks(x: Array, y: Array, weights: Array | None, mean: Array) -> Iterator[Array]:
    """Yield centred rows [x y] √w, a block at a time."""
    step = max(1, _BLOCK // max(len(mean), 1))
    cut = x.shape[1]
    for first in range(0, len(x), step):
        rows = slice(first, first + step)
        block = np.empty((min(step, len(x) - first), len(mean)))
        np.subtract(x[rows], mean[:cut], out=block[:, :cut])
        np.subtract(y[rows], mean[cut:], out=block[:, cut:])
        if weights is not None:
            block *= np.sqrt(weights[rows])[:, None]
        yield block


def _gram(x: Array, y: Array, weights: Array | None, mean: Array) -> Array:
    total = np.zeros((len(mean), len(mean)))
    for block in _blocks(x, y, weights, mean):
        total += block.T @ block
    return total


def _root_of(gram: Array, n_inputs: int) -> Array | None:
    """Return R by Cholesky's method, or None where inputs are too near to dependent."""
    scales = np.sqrt(np.diagonal(gram))
    if not np.all(scales[:n_inputs] > 0):
        return None
    safe = np.where(scales > 0, scales, 1.0)
    scaled = gram / safe / safe[:, None]
    inputs = scaled[:n_inputs, :n_inputs]
    try:
        lower = np.linalg.cholesky(inputs)
    except np.linalg.LinAlgError:
        return None
    diagonal = np.diagonal(lower)
    if n_inputs and diagonal.min() < _INDEPENDENT:
        return None
    across = np.linalg.solve(lower, scaled[:n_inputs, n_inputs:])
    rest = scaled[n_inputs:, n_inputs:] - across.T @ across
    if np.any(np.diagonal(rest) < _PERFECT):
        return None
    try:
        corner = np.linalg.cholesky(rest)
    except np.linalg.LinAlgError:
        return None
    factor = np.zeros_like(gram)
    factor[:n_inputs, :n_inputs] = lower.T
    factor[:n_inputs, n_inputs:] = across
    factor[n_inputs:, n_inputs:] = corner.T
    return factor * safe


def _householder(x: Array, y: Array, weights: Array | None, mean: Array) -> Array:
    """Return R by Householder's method, block after block."""
    factor = np.zeros((0, len(mean)))
    for block in _blocks(x, y, weights, mean):
        factor = _triangular(np.concatenate([factor, block]))
    return factor


def _triangular(rows: Array) -> Array:
    """Return R of a QR decomposition with columns scaled to unit length, padded to a square."""
    width = rows.shape[1]
    lengths = column_norms(rows)
    safe = np.where(lengths > 0, lengths, 1.0)
    r = np.linalg.qr(rows / safe, mode="r") * safe
    padded = np.zeros((width, width))
    padded[: len(r)] = r
    return padded
