r"""Posterior predictive checks, which ask whether a model could have produced the data.

Whole data sets are drawn from the posterior predictive distribution, and a statistic of the data is
compared with the same statistic of the replicates: :math:`p = P(T(y^{rep}) \ge T(y) \mid y)`.

Reference: A. Gelman et al., "Bayesian data analysis", 2013, ch. 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.estimators.contract import DrawsTargets, last_step, offers
from posteriori.modeling.posterior.pointwise import replicate
from posteriori.modeling.posterior.posterior import Posterior
from posteriori.numerics.types import Array, Seed

__all__ = ["PredictiveCheck", "check_posterior", "check_predictions", "check_replicates"]


class PredictiveCheck(NamedTuple):
    """A statistic of the data beside that of replicated data.

    Attributes
    ----------
    observed : float
    replicated : (S,)
    """

    observed: float
    replicated: Array

    @property
    def p_value(self) -> float:
        """P(T(replicate) >= T(data)), ties counted half; near 0 or 1 the model misses the data."""
        above = (self.replicated > self.observed).mean()
        return float(above + 0.5 * (self.replicated == self.observed).mean())

    def __repr__(self) -> str:
        low, high = np.quantile(self.replicated, [0.05, 0.95])
        return (
            f"PredictiveCheck(observed {self.observed:.4g}, replicated {low:.4g} to {high:.4g}, "
            f"p = {self.p_value:.3g})"
        )


def check_replicates(
    y: Any, replicates: Any, statistic: Callable[[Array], float] = np.mean
) -> PredictiveCheck:
    """Compare a statistic of data with that of replicates, as of ``Posterior.sample``.

    Parameters
    ----------
    y : (N,)
    replicates : (S, N)
    statistic : callable
        From one data set (N,) to a number.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> check_replicates([1.0, 5.0], rng.normal(size=(1000, 2)), np.max).p_value
    0.0
    """
    data, draws = np.asarray(y, dtype=np.float64), np.asarray(replicates, dtype=np.float64)
    if draws.shape[1:] != data.shape or not len(draws):
        raise ValueError(
            f"replicates must have shape (S, {', '.join(map(str, data.shape))}), got {draws.shape}"
        )
    return PredictiveCheck(float(statistic(data)), np.array([float(statistic(d)) for d in draws]))


def check_predictions(
    model: Any,
    X: Any,
    y: Any,
    statistic: Callable[[Array], float] = np.mean,
    *,
    size: int = 1000,
    rng: Seed = None,
) -> PredictiveCheck:
    """Compare a statistic of the targets with what a fitted estimator would produce.

    Parameters
    ----------
    model : fitted estimator or pipeline with ``sample_targets``
    X, y : array_like
        The data.
    statistic : callable
        From one set of targets (N,) to a number.
    size : int
        Number of replicates.
    rng : Generator, int or None
    """
    final, inputs = last_step(model, X)
    if not offers(final, DrawsTargets):
        raise TypeError(
            f"{type(final).__name__} has no sample_targets; draw replicates yourself and use "
            "check_replicates(y, replicates, statistic)"
        )
    return check_replicates(y, final.sample_targets(inputs, size, rng), statistic)


def check_posterior(
    posterior: Posterior,
    name: str,
    statistic: Callable[[Array], float] = np.mean,
    *,
    size: int = 1000,
    rng: Seed = None,
) -> PredictiveCheck:
    """Compare a statistic of what was observed with what a posterior would produce.

    Parameters
    ----------
    posterior : Posterior
        Of ``Model.infer``.
    name : str
        An observed variable; all else that was observed stays as it is.
    statistic : callable
        From the values of the variable to a number; missing ones are left out, in one row.
    size : int
        Number of replicates.
    rng : Generator, int or None

    Examples
    --------
    >>> from posteriori import Model, Normal
    >>> m = Model()
    >>> m.mu = Normal(0, variance=100)
    >>> m.y = Normal(m.mu, variance=1).iid("n")
    >>> post = m.infer(y=[0.1, -0.4, 0.3, 9.0])
    >>> check_posterior(post, "y", np.ptp, rng=0).p_value
    0.0
    """
    replicates = replicate(posterior, name, size, rng)
    values = posterior._solved.bound.observed[name]
    there = ~np.isnan(values)
    if not there.all():
        values, replicates = values[there], replicates[:, there]
    return check_replicates(values, replicates, statistic)
