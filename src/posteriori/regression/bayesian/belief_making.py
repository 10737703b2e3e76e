"""Beliefs from statistics of the data, and statistics of some columns alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posteriori.numerics.least_squares.regression_statistics import RegressionStatistics
from posteriori.numerics.types import Array
from posteriori.regression.bayesian.belief import LinearBelief
from posteriori.regression.bayesian.weight_evidence import InterceptPrior

__all__ = ["less_prior_mean", "make_belief"]


def make_belief(
    statistics: RegressionStatistics,
    intercept: InterceptPrior | None,
    mean: Array,
    directions: Array,
    precisions: Array,
    shape: Array | None,
    scale: Array,
    probabilities: Array | None = None,
) -> LinearBelief:
    """Return the belief of weights and noise, with that of the intercept that the statistics tell.

    Parameters
    ----------
    statistics : RegressionStatistics
    intercept : InterceptPrior or None
        None without an intercept.
    mean, directions, precisions, shape, scale, probabilities
        As of :class:`LinearBelief`; one member by default.
    """
    d, level, level_precision = statistics.n_inputs, 0.0, None
    if intercept is not None:
        level_precision = statistics.weight + intercept.precision
        seen = statistics.weight * statistics.mean[d]
        level = float(seen + intercept.precision * intercept.mean) / level_precision
    return LinearBelief(
        np.ones(1) if probabilities is None else probabilities,
        np.atleast_2d(mean),
        directions,
        precisions,
        statistics.mean[:d],
        level,
        level_precision,
        shape,
        scale,
        None,
    )


def less_prior_mean(
    statistics: RegressionStatistics, mean: Array, free: Array
) -> RegressionStatistics:
    """Return the statistics of the free columns and of the target less what the prior mean says."""
    d = statistics.n_inputs
    target = statistics.reduced[:, d] - statistics.reduced[:, :d] @ mean
    return replace(
        statistics,
        squared=np.column_stack([statistics.reduced[:, free], target]),
        mean=statistics.mean[[*free, d]],
        n_inputs=len(free),
    )
