r"""Posteriors of models with one linear predictor: any likelihood of :math:`\eta = Xw`.

A family states its log density per row and the first two derivatives in η. Sums over the rows are made
block by block while a block of X is in the cache; no array of N × D numbers is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.mode_finding import Mode, find_mode
from posteriori.numerics.types import Array

__all__ = ["Curve", "LinearPredictor", "posterior_mode"]

#: Numbers of X that are worked on at a time.
_BLOCK = 1 << 17

#: A start is found on this many rows for each column.
_ROWS_PER_COLUMN = 40


class Curve(NamedTuple):
    """Log densities of rows, and their derivatives in the predictor.

    Attributes
    ----------
    value, slope, curvature : (n,)
        ln p, its first derivative, and minus its second.
    """

    value: Array
    slope: Array
    curvature: Array


#: From predictors of some rows, and an index of these rows, to their curve.
Likelihood = Callable[[Array, Any], Curve]


class LinearPredictor:
    """The log posterior of weights: Σ f ln p(y | x·w + offset) − ½ (w − m)ᵀ Λ (w − m).

    Parameters
    ----------
    x : (N, D)
    likelihood : callable
        Takes predictors (n,) and an index (slice or positions) of the rows they belong to.
    prior_precision : (D, D)
        Λ; may be singular where a weight is to be free.
    prior_mean : (D,)
    frequency : (N,), optional
        How often each row counts.
    """

    def __init__(
        self,
        x: Array,
        likelihood: Likelihood,
        prior_precision: Array,
        prior_mean: Array,
        frequency: Array | None = None,
    ) -> None:
        self.x = x
        self.likelihood = likelihood
        self.prior_precision = prior_precision
        self.prior_mean = prior_mean
        self.frequency = frequency
        self.step = max(1, _BLOCK // max(x.shape[1], 1))

    def value_and_gradient(self, w: Array) -> tuple[float, Array]:
        """Return the log posterior and its gradient."""
        offset = w - self.prior_mean
        pull = self.prior_precision @ offset
        total, gradient = -0.5 * float(offset @ pull), -pull
        for rows in self._blocks():
            block = self.x[rows]
            value, slope, _ = self._curve(block @ w, rows)
            total += float(value.sum())
            gradient += slope @ block
        return total, gradient

    def curvature(self, w: Array) -> Array:
        """Return minus the Hessian of the log posterior."""
        total = np.array(self.prior_precision, dtype=np.float64)
        for rows in self._blocks():
            block = self.x[rows]
            weight = self._curve(block @ w, rows).curvature
            if np.all(weight >= 0):
                scaled = block * np.sqrt(weight)[:, None]
                total += scaled.T @ scaled  # symmetric: half the work
            else:
                total += (block * weight[:, None]).T @ block
        return total

    def _blocks(self) -> list[slice]:
        return [slice(i, min(i + self.step, len(self.x))) for i in range(0, len(self.x), self.step)]

    def _curve(self, eta: Array, rows: slice) -> Curve:
        curve = self.likelihood(eta, rows)
        if self.frequency is None:
            return curve
        f = self.frequency[rows]
        return Curve(f * curve.value, f * curve.slope, f * curve.curvature)

    def thinned(self, every: int) -> LinearPredictor:
        """Return the posterior with every so many rows, each counted so often."""
        chosen = np.arange(0, len(self.x), every)
        share = len(self.x) / len(chosen)
        weights = np.full(len(chosen), share)
        if self.frequency is not None:
            weights = weights * self.frequency[chosen]

        def likelihood(eta: Array, rows: Any) -> Curve:
            return self.likelihood(eta, chosen[rows])

        return LinearPredictor(
            self.x[chosen], likelihood, self.prior_precision, self.prior_mean, weights
        )


def posterior_mode(
    density: LinearPredictor, start: Array, *, tol: float = 1e-8, max_iter: int = 200
) -> Mode:
    """Return the mode; of long tables the start is the mode of a part of the rows."""
    rows, columns = density.x.shape
    every = rows // max(_ROWS_PER_COLUMN * columns, 2000)
    if every >= 4:
        found = find_mode(density.thinned(every), start, tol=1e-3, max_iter=max_iter)
        start = found.point
    return find_mode(density, start, tol=tol, max_iter=max_iter)
