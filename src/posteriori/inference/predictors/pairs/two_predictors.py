r"""Posteriors of models with two linear predictors of the same columns, and a log shape.

.. math:: \eta_n = x_n\cdot w,\quad \zeta_n = x_n\cdot u,\qquad
          \ln p(w, u, \theta\mid y) = \sum_n f_n \ln p(y_n\mid\eta_n,\zeta_n,\theta) + \ln p(w, u, \theta)

A family states its log density per row and the first two derivatives in :math:`(\eta, \zeta, \theta)`.
It need not be concave: :func:`find_mode` climbs where the curvature is indefinite, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from posteriori.inference.predictors.generalized_linear import Rows, weighted_gram
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.types import Array

__all__ = ["PairCurve", "PairLikelihood", "TwoPredictors"]


class PairCurve(NamedTuple):
    """Log densities of rows, and their derivatives in both predictors and the log shape.

    Attributes
    ----------
    value : (n,)
    slope : (3, n)
        First derivatives in η, ζ and θ.
    curvature : (3, 3, n)
        Minus the second ones.
    """

    value: Array
    slope: Array
    curvature: Array


#: From both predictors of some rows, the log shape, and which rows these are.
PairLikelihood = Callable[[Array, Array, float, Rows], PairCurve]


class TwoPredictors:
    """The log posterior of (w, u, θ) under independent normal priors.

    Parameters
    ----------
    x : (N, D)
    likelihood : callable
        Takes predictors η (n,) and ζ (n,), the log shape, and which rows they belong to.
    precision, prior_mean : (2 D + 1,)
    frequency : (N,), optional
        How often each row counts.
    """

    def __init__(
        self,
        x: Array,
        likelihood: PairLikelihood,
        precision: Array,
        prior_mean: Array,
        frequency: Array | None = None,
    ) -> None:
        self.x = x
        self.likelihood = likelihood
        self.precision = precision
        self.prior_mean = prior_mean
        self.frequency = np.ones(len(x)) if frequency is None else frequency

    def value_and_gradient(self, v: Array) -> tuple[float, Array]:
        """Return the log posterior and its gradient."""
        d, offset = self.x.shape[1], v - self.prior_mean
        gradient = -self.precision * offset
        total = 0.5 * float(offset @ gradient)
        for block, curve, f in self._curves(v):
            total += float(f @ curve.value)
            gradient[: 2 * d] += ((f * curve.slope[:2]) @ block).ravel()
            gradient[-1] += f @ curve.slope[2]
        return total, gradient

    def curvature(self, v: Array) -> Array:
        """Return minus the Hessian of the log posterior."""
        d = self.x.shape[1]
        total, places = np.diag(self.precision), (slice(0, d), slice(d, 2 * d))
        for block, curve, f in self._curves(v):
            bend = f * curve.curvature
            for i, own in enumerate(places):
                mixed = bend[i, 2] @ block
                total[own, -1] += mixed
                total[-1, own] += mixed
                total[own, own] += weighted_gram(block, bend[i, i])
            across = weighted_gram(block, bend[0, 1])
            total[places[0], places[1]] += across
            total[places[1], places[0]] += across
            total[-1, -1] += bend[2, 2].sum()
        return total

    def _curves(self, v: Array) -> Iterator[tuple[Array, PairCurve, Array]]:
        d = self.x.shape[1]
        weights = v[: 2 * d].reshape(2, d).T
        for first in range(0, len(self.x), step := rows_per_block(d)):
            rows = slice(first, first + step)
            block = self.x[rows]
            eta, zeta = (block @ weights).T
            yield block, self.likelihood(eta, zeta, float(v[-1]), rows), self.frequency[rows]
