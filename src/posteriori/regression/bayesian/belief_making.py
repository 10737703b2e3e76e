"""Beliefs from statistics of the data, and statistics of some columns alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from posteriori.numerics.least_squares.regression_statistics import RegressionStatistics
from posteriori.numerics.types import Array
from posteriori.regression.bayesian.belief import LinearBelief
from posteriori.regression.bayesian.open_directions import OpenDirections, OpenParts
from posteriori.regression.bayesian.scales.weight_evidence import InterceptPrior

__all__ = ["join_beliefs", "less_prior_mean", "make_belief"]


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
    if shape is not None and not np.all(shape > 0):
        raise ValueError(
            f"rows that count {statistics.rows:g} times in all leave nothing to tell the noise from beside a flat "
            "level; give more rows or larger sample_weight, or noise_precision="
        )
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


def join_beliefs(beliefs: Sequence[LinearBelief], shares: Array) -> LinearBelief:
    """Return the mixture of beliefs of the same data, with these shares.

    The directions of all stand side by side; along those of others a belief does not vary.
    """
    if len(beliefs) == 1:
        return beliefs[0]
    rows = sum(len(one.scale) for one in beliefs)
    precisions = np.full((rows, sum(one.directions.shape[1] for one in beliefs)), np.inf)
    node = place = 0
    for one in beliefs:
        nodes, width = one.precisions.shape
        precisions[node : node + nodes, place : place + width] = one.precisions
        node, place = node + nodes, place + width
    shapes = [one.shape for one in beliefs if one.shape is not None]
    return replace(
        beliefs[0],
        probabilities=np.concatenate(
            [share * one.probabilities for one, share in zip(beliefs, shares, strict=True)]
        ),
        mean=np.concatenate([one.mean for one in beliefs]),
        directions=np.concatenate([one.directions for one in beliefs], axis=1),
        precisions=precisions,
        shape=np.concatenate(shapes) if shapes else None,
        scale=np.concatenate([one.scale for one in beliefs]),
        unseen=_open_parts(beliefs),
    )


def _open_parts(beliefs: Sequence[LinearBelief]) -> OpenParts | None:
    """Return what beliefs leave open; those that leave nothing have no weights that vary there."""
    if all(one.unseen is None for one in beliefs):
        return None
    nothing = np.full(len(beliefs[0].centre), np.inf)
    parts = tuple(
        one.unseen
        if isinstance(one.unseen, OpenDirections)
        else OpenDirections(nothing, np.ones(len(one.scale)))
        for one in beliefs
    )
    return OpenParts(parts, tuple(one.directions.shape[1] for one in beliefs))


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
