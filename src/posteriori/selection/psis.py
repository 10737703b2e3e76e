r"""Leave-one-out predictive densities from one posterior: Pareto-smoothed importance sampling.

Draws θ_s of the posterior of all data become draws without row n by the weights 1/p(y_n | θ_s). Their
largest fifth is smoothed; the shape k̂ of that tail says how far to trust the result: below 0.7 well,
above 1 not at all.

Reference: A. Vehtari, A. Gelman & J. Gabry, "Practical Bayesian model evaluation using leave-one-out
cross-validation and WAIC", 2017.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.calculus.pareto_smoothing import FEWEST_DRAWS, smooth_weights
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array
from posteriori.selection.comparison import standard_error

__all__ = ["LeaveOneOut", "leave_one_out", "waic"]


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
    if log_likelihood.ndim != 2 or len(log_likelihood) < FEWEST_DRAWS:
        raise ValueError(
            f"log_likelihood must have shape (S, N) with at least {FEWEST_DRAWS} draws S, got "
            f"{log_likelihood.shape}"
        )
    pointwise, shapes = [np.empty(0)], [np.empty(0)]
    for first in range(0, log_likelihood.shape[1], _ROWS):
        block = log_likelihood[:, first : first + _ROWS]
        weights, shape = smooth_weights(-block)
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
