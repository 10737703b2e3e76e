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

from posteriori.numerics.logspace import log_sum_exp, softmax
from posteriori.numerics.types import Array
from posteriori.selection.ranking import standard_error

__all__ = ["LeaveOneOut", "fit_generalized_pareto", "leave_one_out", "waic"]


#: Draws without which a tail cannot be fitted.
_FEWEST = 20

#: Rows that are smoothed at a time.
_ROWS = 256


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


def leave_one_out(log_likelihood: Array) -> LeaveOneOut:
    """Estimate leave-one-out densities from draws of the posterior.

    Parameters
    ----------
    log_likelihood : (S, N)
        ln p(y_n | θ_s), at least 20 draws.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, means = np.array([0.0, 1.0, 2.0]), rng.normal(1.0, 3**-0.5, size=(1000, 1))
    >>> loo = leave_one_out(-0.5 * np.log(2 * np.pi) - 0.5 * (y - means) ** 2)
    >>> round(loo.total, 1)  # exactly -4.865
    -4.9
    """
    log_likelihood = np.asarray(log_likelihood, dtype=np.float64)
    if log_likelihood.ndim != 2 or len(log_likelihood) < _FEWEST:
        raise ValueError(
            f"log_likelihood must have shape (S, N) with at least {_FEWEST} draws S, got "
            f"{log_likelihood.shape}"
        )
    pointwise, shapes = [np.empty(0)], [np.empty(0)]
    for first in range(0, log_likelihood.shape[1], _ROWS):
        block = log_likelihood[:, first : first + _ROWS]
        weights, shape = _smoothed(-block)
        pointwise.append(np.asarray(log_sum_exp(weights + block, axis=0)))
        shapes.append(shape)
    return LeaveOneOut(np.concatenate(pointwise), np.concatenate(shapes))


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


def _smoothed(log_ratios: Array) -> tuple[Array, Array]:
    """Return normalised log weights (S, N) with smoothed tails, and the shapes of the tails (N,)."""
    weights = log_ratios - log_ratios.max(axis=0)
    draws = len(weights)
    tail = int(np.ceil(min(0.2 * draws, 3.0 * np.sqrt(draws))))
    order = np.argpartition(weights, draws - tail - 1, axis=0)[-tail - 1 :]
    top = np.take_along_axis(weights, order, axis=0)
    sort = np.argsort(top, axis=0)
    order, top = (np.take_along_axis(part, sort, axis=0) for part in (order, top))
    cutoff = np.exp(top[0])
    exceed = np.exp(top[1:]) - cutoff
    varied = exceed[int(tail / 4 + 0.5) - 1] > 0  # otherwise too many are equal to be smoothed
    shapes = np.full(weights.shape[1], -np.inf)
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
