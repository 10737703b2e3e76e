r"""Importance weights whose largest are smoothed, and how far to trust them.

The largest fifth of the ratios is replaced by quantiles of a generalised Pareto distribution fitted to
them. Its shape k̂ tells which moments the ratios have: below 0.7 means of them are reliable, above 1
not at all.

References: A. Vehtari, D. Simpson, A. Gelman, Y. Yao & J. Gabry, "Pareto smoothed importance
sampling", 2015; J. Zhang & M. Stephens, "A new and efficient estimation method for the generalized
Pareto distribution", 2009.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.logspace import log_sum_exp, softmax
from posteriori.numerics.types import Array

__all__ = ["FEWEST_DRAWS", "fit_generalized_pareto", "smooth_weights"]

#: Draws without which a tail cannot be fitted.
FEWEST_DRAWS = 20

#: Ratios that differ by less, relative to one another, are equal but for rounding.
_EQUAL = 1e-9


def smooth_weights(log_ratios: Array) -> tuple[Array, Array]:
    """Return normalised log weights with smoothed tails, and the shapes of the tails.

    Parameters
    ----------
    log_ratios : (S, N)
        N sets of logarithms of ratios of densities at S draws; -inf where a draw is impossible.

    Returns
    -------
    log_weights : (S, N)
    shapes : (N,)
        k̂ of each set; -inf where the largest ratios are equal, inf where few have all the weight.
    """
    weights = log_ratios - log_ratios.max(axis=0)
    draws = len(weights)
    tail = int(np.ceil(min(0.2 * draws, 3.0 * np.sqrt(draws))))
    order = np.argpartition(weights, draws - tail - 1, axis=0)[-tail - 1 :]
    top = np.take_along_axis(weights, order, axis=0)
    sort = np.argsort(top, axis=0)
    order, top = (np.take_along_axis(part, sort, axis=0) for part in (order, top))
    cutoff = np.exp(top[0])
    exceed = np.exp(top[1:]) - cutoff
    # otherwise too many are equal to be smoothed, or all but a few are nothing beside the largest
    varied = exceed[int(tail / 4 + 0.5) - 1] > _EQUAL * cutoff
    shapes = np.where(cutoff > 0.0, -np.inf, np.inf)
    shapes[varied], scales = fit_generalized_pareto(exceed[:, varied])
    at = (np.arange(tail) + 0.5) / tail
    smooth = _pareto_quantile(at[:, None], shapes[varied], scales) + cutoff[varied]
    smoothed = np.where(varied, 0.0, top[1:])
    smoothed[:, varied] = np.minimum(np.log(smooth), 0.0)  # none above the largest ratio
    np.put_along_axis(weights, order[1:], smoothed, axis=0)
    return weights - np.asarray(log_sum_exp(weights, axis=0)), shapes


def fit_generalized_pareto(exceedances: Array) -> tuple[Array, Array]:
    """Fit generalised Pareto distributions by Zhang and Stephens' method.

    Parameters
    ----------
    exceedances : (M, N)
        N samples of positive numbers, each sorted upwards.

    Returns
    -------
    shape, scale : (N,)
        k and σ; the shape is drawn towards 0.5 by a weak prior of ten observations.
    """
    x = np.asarray(exceedances, dtype=np.float64)
    n, points = len(x), 30 + int(np.sqrt(len(x)))
    at = 1.0 - np.sqrt(points / (np.arange(1, points + 1)[:, None] - 0.5))
    at = at / (3.0 * x[int(n / 4 + 0.5) - 1]) + 1.0 / x[-1]
    shapes = np.log1p(-at[:, None] * x).mean(axis=1)
    heights = n * (np.log(-at / shapes) - shapes - 1.0)
    theta = (at * softmax(heights, axis=0)).sum(axis=0)
    shape = np.log1p(-theta * x).mean(axis=0)
    return (n * shape + 5.0) / (n + 10.0), -shape / theta


def _pareto_quantile(p: Array, shape: Array, scale: Array) -> Array:
    tail = -np.log1p(-p)
    small = np.abs(shape) < 1e-12
    k = np.where(small, 1.0, shape)
    return scale * np.where(small, tail, np.expm1(k * tail) / k)
