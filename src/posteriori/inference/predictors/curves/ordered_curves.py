r"""Ordered categories between thresholds of a latent scale, with logistic noise.

.. math:: p = \sigma(h) - \sigma(l) = \sigma(h)\,\sigma(-l)\,(1 - e^{l-h}),

with l and h the distances of the thresholds below and above from the predictor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.predictors.generalized_linear import Curve, Likelihood
from posteriori.numerics.calculus.predictor_nodes import predictor_nodes
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = [
    "OrderedRows",
    "log_probability_between",
    "ordered_curve",
    "ordered_probabilities",
    "ordered_rows",
]


class OrderedRows(NamedTuple):
    """Log probabilities of rows and their derivatives in the two thresholds around each.

    Attributes
    ----------
    value, above, below : (n,)
        ln p, and its slopes in the thresholds above and below.
    bend_above, bend_below, tie : (n,)
        Minus the second derivatives are bend_above + tie and bend_below + tie, and −tie across.
    """

    value: Array
    above: Array
    below: Array
    bend_above: Array
    bend_below: Array
    tie: Array


def ordered_rows(low: Array, high: Array) -> OrderedRows:
    """Return ln p and its derivatives for distances l < h of the thresholds from the predictor."""
    inner = 1.0 / np.expm1(high - low)
    value = log_probability_between(low, high)
    up, down = special.expit(-high), special.expit(low)
    return OrderedRows(
        value,
        up + inner,
        -down - inner,
        up * special.expit(high),
        down * special.expit(-low),
        inner * (1.0 + inner),
    )


def log_probability_between(low: Array, high: Array) -> Array:
    """Return ln{σ(h) σ(−l) (1 − e^(l−h))}."""
    return special.log_expit(high) + special.log_expit(-low) + np.log(-np.expm1(low - high))


def ordered_curve(codes: Any, thresholds: Array) -> Likelihood:
    """Return ln p of rows as curves of their predictors, given thresholds in order, (K − 1,).

    Examples
    --------
    >>> curve = ordered_curve(np.array([0, 1]), np.array([0.0]))
    >>> np.exp(curve(np.zeros(2), 0.0, slice(None)).value)
    array([0.5, 0.5])
    """
    ends = np.concatenate([[-np.inf], thresholds, [np.inf]])

    def curve(eta: Array, _: float, rows: Any) -> Curve:
        code = codes[rows]
        row = ordered_rows(ends[code] - eta, ends[code + 1] - eta)
        # the predictor moves both thresholds: what ties them to each other cancels
        return Curve(row.value, -(row.above + row.below), row.bend_above + row.bend_below)

    return curve


def ordered_probabilities(centre: Array, variance: Array) -> Array:
    """Return the probabilities of K categories, (N, K), of thresholds that are known roughly.

    The probability of a category or a lower one is the mean of σ(c − η) over a normal c − η.

    Parameters
    ----------
    centre, variance : (N, K − 1)
        Of the distances c − η of thresholds from predictors.
    """
    at, weights, blur = predictor_nodes(centre, np.sqrt(np.maximum(variance, 0.0)), np.ones(1))
    below = special.expit(at / np.sqrt(1.0 + np.pi / 8.0 * blur[..., None])) @ weights
    edges = np.pad(below, ((0, 0), (1, 1)), constant_values=((0, 0), (0.0, 1.0)))
    p = np.maximum(np.diff(edges, axis=1), 0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
