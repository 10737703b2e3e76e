r"""Leave-one-out predictive densities from one posterior: Pareto-smoothed importance sampling.

Draws θ_s of the posterior of all data become draws without row n by the weights 1/p(y_n | θ_s). Their
largest fifth is replaced by quantiles of a generalised Pareto distribution fitted to them; its shape k̂
says how far to trust the result: below 0.7 well, above 1 not at all.

References: A. Vehtari, A. Gelman & J. Gabry, "Practical Bayesian model evaluation using leave-one-out
cross-validation and WAIC", 2017; J. Zhang & M. Stephens, "A new and efficient estimation method for
the generalized Pareto distribution", 2009.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = ["LeaveOneOut", "fit_generalized_pareto", "leave_one_out", "waic"]


class LeaveOneOut(NamedTuple):
    """Log predictive density of each row given the others.

    Attributes
    ----------
    pointwise : (N,)
    pareto_shape : (N,)
        k̂ of each row.
    """

    pointwise: Array
    pareto_shape: Array

    @property
    def total(self) -> float:
        """Sum over all rows."""
        return float(self.pointwise.sum())

    @property
    def standard_error(self) -> float:
        """Standard error of the sum, rows taken as independent."""
        return standard_error(self.pointwise)


def standard_error(pointwise: Array) -> float:
    """Return the standard error of a sum of independent terms."""
    n = len(pointwise)
    return float(np.sqrt(n) * pointwise.std(ddof=1)) if n > 1 else float("nan")


def leave_one_out(log_likelihood: Array) -> LeaveOneOut:
    """Estimate leave-one-out densities from draws of the posterior.

    Parameters
    ----------
    log_likelihood : (S, N)
        ln p(y_n | θ_s).
    """
    draws, rows = log_likelihood.shape
    if draws < 20:
        raise ValueError(f"at least 20 draws are needed, got {draws}")
    pointwise, shapes = np.empty(rows), np.empty(rows)
    for n in range(rows):
        weights, shapes[n] = _smoothed(-log_likelihood[:, n])
        pointwise[n] = log_sum_exp(weights + log_likelihood[:, n], axis=0)
    return LeaveOneOut(pointwise, shapes)


def waic(log_likelihood: Array) -> tuple[Array, Array]:
    """Return the widely applicable information criterion row by row, and its penalties.

    Parameters
    ----------
    log_likelihood : (S, N)
        ln p(y_n | θ_s).

    Returns
    -------
    elpd : (N,)
        ln E p − Var ln p: an estimate of the expected log predictive density.
    penalty : (N,)
        Effective number of parameters that each row takes up.
    """
    draws = len(log_likelihood)
    density = np.asarray(log_sum_exp(log_likelihood, axis=0)) - np.log(draws)
    penalty = log_likelihood.var(axis=0, ddof=1)
    return density - penalty, penalty


def _smoothed(log_ratios: Array) -> tuple[Array, float]:
    """Return normalised log weights with a smoothed tail, and the shape of the tail."""
    weights = log_ratios - log_ratios.max()
    draws = len(weights)
    tail = int(min(0.2 * draws, 3.0 * np.sqrt(draws)))
    order = np.argsort(weights)
    top = order[-tail:]
    cutoff = weights[order[-tail - 1]]
    shape = np.inf
    if tail >= 5 and weights[top[-1]] > cutoff:
        exceed = np.exp(weights[top]) - np.exp(cutoff)
        if exceed[0] > 0 or exceed[-1] > 0:
            shape, scale = fit_generalized_pareto(np.maximum(exceed, 1e-300))
            if np.isfinite(shape):
                at = (np.arange(tail) + 0.5) / tail
                smooth = _pareto_quantile(at, shape, scale) + np.exp(cutoff)
                weights = weights.copy()
                weights[top] = np.minimum(np.log(smooth), 0.0)
    else:
        shape = -np.inf  # all weights are equal: nothing to smooth
    return weights - log_sum_exp(weights, axis=0), shape


def fit_generalized_pareto(x: Array) -> tuple[float, float]:
    """Return shape k and scale σ of exceedances, sorted upwards, by Zhang and Stephens' method.

    The shape is drawn towards 0.5 by a weak prior of ten observations.
    """
    n = len(x)
    points = 30 + int(np.sqrt(n))
    at = 1.0 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))
    at = at / (3.0 * x[int(n / 4 + 0.5) - 1]) + 1.0 / x[-1]
    shapes = np.log1p(-at[:, None] * x).mean(axis=1)
    heights = n * (np.log(-at / shapes) - shapes - 1.0)
    weights = 1.0 / np.exp(heights - heights[:, None]).sum(axis=1)
    theta = float((at * weights).sum() / weights.sum())
    shape = float(np.log1p(-theta * x).mean())
    scale = -shape / theta
    return (n * shape + 5.0) / (n + 10.0), scale


def _pareto_quantile(p: Array, shape: float, scale: float) -> Array:
    if abs(shape) < 1e-12:
        return -scale * np.log1p(-p)
    return scale * np.expm1(-shape * np.log1p(-p)) / shape
