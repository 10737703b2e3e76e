r"""Whether something occurs at all: a logistic model of 0 and 1, as a part of others.

.. math:: p(y=1\mid\eta) = \sigma(\eta) = \frac1{1+e^{-\eta}}
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.numbers.normal import Normal
from posteriori.estimators.estimator_rows import Rows
from posteriori.inference.predictors.generalized_linear import Curve
from posteriori.numerics.calculus.predictor_nodes import predictor_nodes
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.regression.generalized.generalized_regression import GeneralizedRegressor

__all__ = ["OccurrenceRegressor", "log_odds", "mean_occurrence"]


class OccurrenceRegressor(GeneralizedRegressor):
    """Targets 0 and 1 whose log odds are linear in the inputs, by Laplace's method.

    Priors are those of :class:`PoissonRegressor`, around the log odds of the share of ones.
    """

    def _centre(self, rows: Rows) -> tuple[float, float, float]:
        return log_odds(rows.y, rows.frequency), 1.0, 0.0

    def _likelihood(self, y: Array) -> Any:
        sign = 2.0 * y - 1.0

        def curve(eta: Array, _: float, rows: Any) -> Curve:
            along = sign[rows] * eta
            wrong = special.expit(-along)
            value = special.log_expit(along)
            return Curve(value, sign[rows] * wrong, wrong * special.expit(along))

        return curve

    def _width(self, eta: Array, log_shape: Array) -> Array:
        return np.ones_like(eta)

    def _member(self, eta: Array, log_shape: Array, blur: Array) -> Any:
        return Bernoulli(mean_occurrence(eta, blur))

    def _mean_of(self, eta: Normal) -> Array:
        std = np.sqrt(eta.variance)
        at, weights, blur = predictor_nodes(eta.mean, std, np.ones_like(std))
        return mean_occurrence(at, blur[..., None]) @ weights


def log_odds(y: Array, frequency: Array | None) -> float:
    """Return the log odds of the share of ones among targets 0 and 1."""
    total = len(y) if frequency is None else frequency.sum()
    mean = np.average(y, weights=frequency)
    share = (mean * total + 0.5) / (total + 1.0)  # half a row of each kind: all may be of one
    return float(special.logit(share))


def mean_occurrence(eta: Array, blur: Array) -> Array:
    """Return E[σ] of N(η, blur): MacKay's approximation, which is exact without blur."""
    return special.expit(eta / np.sqrt(1.0 + np.pi / 8.0 * blur))
