r"""Sums and differences of numbers that are known by their logarithms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from posteriori.numerics.types import Array

__all__ = ["log1mexp", "log_diff_exp", "log_mean_exp", "log_softmax", "log_sum_exp", "softmax"]

Axis = int | tuple[int, ...] | None


def log_sum_exp(
    x: ArrayLike, axis: Axis = None, *, weights: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    r"""Return :math:`\ln\sum_i w_i e^{x_i}`; the largest term is taken out first.

    Parameters
    ----------
    x : array
        Log terms; −inf stands for an exact zero, and a sum of zeros is −inf.
    axis : int, tuple of int or None
        Axes to sum over; None sums everything.
    weights : array, optional
        Non-negative factors that broadcast against ``x``.
    keepdims : bool
        Keep the summed axes with length 1.

    Examples
    --------
    >>> round(float(log_sum_exp([1000.0, 1000.0])), 9)  # 1000 + ln 2
    1000.693147181
    """
    x = np.asarray(x, dtype=np.float64)
    top = _finite_maximum(x, axis)
    terms = np.exp(x - top)
    if weights is not None:
        terms = terms * weights
    with np.errstate(divide="ignore"):
        total = np.log(terms.sum(axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=axis)[()]


def log_mean_exp(x: ArrayLike, axis: Axis = None) -> Array:
    r"""Return :math:`\ln\frac1n\sum_i e^{x_i}`, as for an average of probabilities."""
    x = np.asarray(x, dtype=np.float64)
    total = log_sum_exp(x, axis)
    return total - np.log(x.size / max(np.size(total), 1))


def log_diff_exp(a: ArrayLike, b: ArrayLike) -> Array:
    r"""Return :math:`\ln(e^a - e^b)` for a >= b.

    Examples
    --------
    >>> round(float(log_diff_exp(0.0, -1e-10)), 9)  # ln(1 - e^-1e-10)
    -23.02585093
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if np.any(b > a):
        raise ValueError("log_diff_exp needs a >= b: the difference would be negative")
    gap = np.where(np.isneginf(a), np.inf, a - np.where(np.isneginf(a), 0.0, b))
    return (a + log1mexp(gap))[()]


def log1mexp(x: ArrayLike) -> Array:
    r"""Return :math:`\ln(1 - e^{-x})` for x >= 0, accurate at both ends (Mächler, 2012)."""
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.where(x > np.log(2.0), np.log1p(-np.exp(-x)), np.log(-np.expm1(-x)))[()]


def softmax(x: ArrayLike, axis: int = -1) -> Array:
    """Return the probabilities whose logarithms are ``x`` up to a constant."""
    return np.exp(log_softmax(x, axis))


def log_softmax(x: ArrayLike, axis: int = -1) -> Array:
    """Subtract the log-sum-exp: ``x`` becomes normalised log probabilities."""
    x = np.asarray(x, dtype=np.float64)
    x = x - _finite_maximum(x, axis)  # else the sum could round away what is added to a large one
    return x - log_sum_exp(x, axis, keepdims=True)


def _finite_maximum(x: Array, axis: Axis) -> Array:
    """Return the maximum along ``axis``; 0 where it is not finite, so that x − top is defined."""
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return np.where(np.isfinite(top), top, 0.0)
