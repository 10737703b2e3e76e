r"""How good an estimator is on average: bias, variance and mean squared error by simulation.

.. math:: E\|\hat\theta-\theta\|^2 = \|E\hat\theta-\theta\|^2 + \operatorname{tr}\mathrm{Cov}[\hat\theta].

The maximum-likelihood variance has :math:`E[\hat\sigma^2] = \frac{N-1}N\sigma^2`; the factor
N/(N − 1) removes that bias, at the price of more variance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import real
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["BiasVariance", "bias_variance", "unbiased_covariance", "unbiased_variance"]


class BiasVariance(NamedTuple):
    """Bias, variance and mean squared error of an estimator, each with its Monte-Carlo error.

    Attributes
    ----------
    mean : array
        Average estimate.
    bias, bias_error : array
        Average estimate less truth, and its standard error; the bias of a vector is a vector.
    variance, variance_error : array
        Variance of the estimates over repetitions, coordinate by coordinate.
    mse, mse_error : array
        Mean squared error, coordinate by coordinate.
    risk, risk_error : float
        Mean squared error summed over coordinates.
    n_repeats : int
        Number of repetitions.
    """

    mean: Array
    bias: Array
    bias_error: Array
    variance: Array
    variance_error: Array
    mse: Array
    mse_error: Array
    risk: float
    risk_error: float
    n_repeats: int


def bias_variance(
    estimator: Callable[[Any], Any],
    sampler: Callable[[np.random.Generator], Any],
    truth: Any,
    n_repeats: int = 1000,
    *,
    rng: Seed = None,
    callback: Callable[[int, int], None] | None = None,
) -> BiasVariance:
    """Simulate data again and again and see how the estimates scatter about the truth.

    Parameters
    ----------
    estimator : callable
        Takes data, returns a number or an array of the shape of ``truth``.
    sampler : callable
        Takes a generator, returns a data set.
    truth : float or array
        What is estimated.
    n_repeats : int
        Number of data sets, at least 2.
    rng : Generator, int or None
        Source of randomness; the same seed gives the same answer.
    callback : callable, optional
        Called as ``callback(done, n_repeats)`` after every data set.

    Notes
    -----
    Ctrl-C stops the simulation and reports on the data sets so far.

    Examples
    --------
    >>> report = bias_variance(np.var, lambda rng: rng.normal(size=5), 1.0, 4000, rng=0)
    >>> bool(abs(report.bias + 1 / 5) < 5 * report.bias_error)  # E = (N − 1)/N
    True
    """
    if n_repeats < 2:
        raise ValueError(f"n_repeats must be at least 2, got {n_repeats}")
    target = np.asarray(real("truth", truth))
    generator = as_generator(rng)
    estimates: list[Array] = []
    try:
        for done in range(1, n_repeats + 1):
            estimate = np.asarray(estimator(sampler(generator)), dtype=np.float64)
            if estimate.shape != target.shape:
                raise ValueError(
                    f"the estimator returned shape {estimate.shape}, the truth has {target.shape}"
                )
            estimates.append(estimate)
            if callback is not None:
                callback(done, n_repeats)
    except KeyboardInterrupt:
        if len(estimates) < 2:
            raise
        warnings.warn(
            f"stopped after {len(estimates)} of {n_repeats} repetitions",
            ConvergenceWarning,
            stacklevel=2,
        )
    return _summarize(np.stack(estimates), target)


def unbiased_variance(x: Any, axis: int = 0) -> Array:
    r"""Return :math:`\frac1{N-1}\sum_n (x_n-\bar x)^2`, whose expectation is the variance.

    Examples
    --------
    >>> unbiased_variance([1.0, 2.0, 3.0])
    np.float64(1.0)
    """
    values = np.asarray(real("x", x))
    _require_two(values.shape[axis] if values.ndim else 1)
    return np.var(values, axis=axis, ddof=1)


def unbiased_covariance(x: Any) -> Array:
    r"""Return :math:`\frac1{N-1}\sum_n (x_n-\bar x)(x_n-\bar x)^\top` of rows (N, D)."""
    rows = np.asarray(real("x", x))
    if rows.ndim != 2:
        raise ValueError(f"x must be rows of vectors (N, D), got shape {rows.shape}")
    _require_two(len(rows))
    centred = rows - rows.mean(axis=0)
    return centred.T @ centred / (len(rows) - 1)


def _require_two(count: int) -> None:
    if count < 2:
        raise ValueError(f"an unbiased variance needs at least 2 data points, got {count}")


def _summarize(estimates: Array, truth: Array) -> BiasVariance:
    count = len(estimates)
    mean = estimates.mean(axis=0)
    centred = estimates - mean
    variance = (centred**2).sum(axis=0) / (count - 1)
    fourth = (centred**4).mean(axis=0)
    squared = (estimates - truth) ** 2
    total = squared.reshape(count, -1).sum(axis=1)
    root = np.sqrt(count)
    return BiasVariance(
        mean[()],
        (mean - truth)[()],
        np.sqrt(variance / count)[()],
        variance[()],
        np.sqrt(np.maximum(fourth - variance**2, 0.0) / count)[()],
        squared.mean(axis=0)[()],
        (squared.std(axis=0, ddof=1) / root)[()],
        float(total.mean()),
        float(total.std(ddof=1) / root),
        count,
    )
