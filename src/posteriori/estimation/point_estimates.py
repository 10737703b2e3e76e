r"""One number for a belief: the answer that costs least on average.

.. math:: \hat\theta = \arg\min_a E[L(a, \theta)]

Squared loss asks for the mean, absolute loss for the median, zero–one loss for the mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posteriori.distributions.algebra.integrals import integrate_against
from posteriori.distributions.base import Distribution, Univariate
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.lazy import optimize
from posteriori.numerics.types import Seed

__all__ = ["point_estimate"]

Loss = str | Callable[[Any, Any], Any]

_SYMMETRIC = (MvNormal, MvStudentT)  # families of vectors whose median is their centre


def point_estimate(
    distribution: Distribution,
    loss: Loss = "squared",
    *,
    n_draws: int | None = None,
    rng: Seed = None,
) -> Any:
    """Return the point that minimises the expected loss.

    Parameters
    ----------
    distribution : distribution
        The belief, such as a posterior.
    loss : {"squared", "absolute", "zero-one"} or callable
        Mean, median (coordinate by coordinate) or mode; or ``loss(action, theta)`` with one
        action and an array of values (n, ...), one number for each.
    n_draws : int, optional
        Average the loss over so many draws; by default over a quadrature for a single
        distribution of one number, and over 20 000 draws elsewhere.
    rng : Generator, int or None
        Source of the draws.

    Examples
    --------
    >>> from posteriori import Gamma, Normal
    >>> float(point_estimate(Gamma(3.0, 2.0))), float(point_estimate(Gamma(3.0, 2.0), "zero-one"))
    (1.5, 1.0)
    >>> late = lambda a, x: np.where(x > a, 3.0 * (x - a), a - x)  # late costs 3 × early
    >>> round(float(point_estimate(Normal(0.0, variance=1.0), late)), 5)  # the 75 % quantile
    0.67449
    """
    if callable(loss):
        return _least_expected(distribution, loss, n_draws, rng)
    if loss == "squared":
        return distribution.mean
    if loss == "zero-one":
        return distribution.mode
    if loss != "absolute":
        raise ValueError(
            f'loss must be "squared", "absolute", "zero-one" or a function, got {loss!r}'
        )
    if isinstance(distribution, _SYMMETRIC):
        return distribution.mode
    if hasattr(type(distribution), "median"):
        return distribution.median
    return np.median(distribution.sample(n_draws or 20_000, rng=rng), axis=0)


def _least_expected(
    d: Distribution, loss: Callable[[Any, Any], Any], n_draws: int | None, rng: Seed
) -> Any:
    if d.batch_shape:
        raise ValueError(
            f"a loss function takes a single distribution, got batch shape {d.batch_shape}"
        )
    if n_draws is None and isinstance(d, Univariate):
        return _minimize_number(
            lambda a: integrate_against(d, lambda x: loss(a, x), breaks=a).value, d
        )
    draws = d.sample(n_draws or 20_000, rng=rng)
    if isinstance(d, Univariate):
        return _minimize_number(lambda a: float(np.mean(loss(a, draws))), d)
    return _minimize_vector(lambda a: float(np.mean(loss(a, draws))), draws.mean(axis=0))


def _minimize_number(cost: Callable[[float], float], d: Univariate) -> Any:
    """Look at quantiles first, since costs may have several valleys, then refine the best."""
    search: Any = optimize.minimize_scalar
    grid = np.unique(d.quantile(np.linspace(0.001, 0.999, 25)))
    costs = [cost(float(a)) for a in grid]
    best = int(np.argmin(costs))
    bounds = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
    if not bounds[0] < bounds[1]:
        return np.float64(grid[best])
    found = search(cost, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    return np.float64(found.x if found.fun <= costs[best] else grid[best])


def _minimize_vector(cost: Callable[[Any], float], start: Any) -> Any:
    search: Any = optimize.minimize
    shape = start.shape

    def flat_cost(a: Any) -> float:
        return cost(a.reshape(shape))

    found = search(flat_cost, start.ravel(), method="Nelder-Mead", options={"maxiter": 4000})
    return found.x.reshape(shape)
