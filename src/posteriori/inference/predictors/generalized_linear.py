r"""Posteriors of models with one linear predictor: any likelihood of :math:`\eta = Xw`.

A family states its log density per row and the first two derivatives in η, and those in the
logarithm θ of a shape (a dispersion, a width of the noise) where it has one: θ is then one more
parameter of the same ascent. Sums over the rows are made block by block while a block of X is in the
cache; no array of N × D numbers is made. Weights may be those of standardised columns while X holds
the raw ones: sums over raw columns are turned, :math:`g = T^Tg_x,\ A = T^TA_xT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import NamedTuple

import numpy as np

from posteriori.inference.predictors.mode_finding import Mode, find_mode
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.linalg import weighted_gram
from posteriori.numerics.types import Array

__all__ = ["Curve", "LinearPredictor", "Rows", "ShapeCurve", "posterior_mode", "weighted_gram"]

#: A start is found on one in so many rows, while there are enough rows for each column.
_THIN = 8

#: Rows for each column that such a part must keep.
_ROWS_PER_COLUMN = 50

#: How many standard deviations of its own such a start may be off.
_NEAR = 0.1


class ShapeCurve(NamedTuple):
    """How log densities of rows change with the log shape θ.

    Attributes
    ----------
    slope, curvature, cross : (n,)
        The derivative in θ, minus the second one, and minus the mixed one in η and θ.
    """

    slope: Array
    curvature: Array
    cross: Array


class Curve(NamedTuple):
    """Log densities of rows, and their derivatives in the predictor.

    Attributes
    ----------
    value, slope, curvature : (n,)
        ln p, its first derivative, and minus its second.
    shape : ShapeCurve, optional
        Derivatives in the log shape, where the family has one.
    """

    value: Array
    slope: Array
    curvature: Array
    shape: ShapeCurve | None = None


#: Which rows are meant.
Rows = slice | Array

#: From predictors of some rows, the log shape (0 if there is none), and which rows these are.
Likelihood = Callable[[Array, float, Rows], Curve]


class LinearPredictor:
    """The log posterior of weights: Σ f ln p(y | x·w, θ) − ½ (v − m)ᵀ Λ (v − m), v = w or (w, θ).

    Parameters
    ----------
    x : (N, D)
    likelihood : callable
        Takes predictors (n,), the log shape, and which rows they belong to.
    prior_precision : (D, D) or (D + 1, D + 1)
        Λ; the larger where the family has a shape. May be singular where a weight is to be free.
    prior_mean : (D,) or (D + 1,)
    frequency : (N,), optional
        How often each row counts.
    turn : (D' + 1, D), optional
        T with Tw the weights of D' columns of x and, last, an intercept; by default w is of x itself.
    """

    def __init__(
        self,
        x: Array,
        likelihood: Likelihood,
        prior_precision: Array,
        prior_mean: Array,
        frequency: Array | None = None,
        turn: Array | None = None,
    ) -> None:
        self.x = x
        self.turned = turn is not None  # many columns feel a product with ones on the diagonal
        self.turn = np.eye(x.shape[1] + 1, x.shape[1]) if turn is None else turn
        self.likelihood = likelihood
        self.prior_precision = prior_precision
        self.prior_mean = prior_mean
        self.frequency = frequency
        self.shape_slope = 0.0

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.x)

    @property
    def shape_place(self) -> int | None:
        """Where the log shape stands among the coordinates, if there is one."""
        d = self.turn.shape[1]
        return d if len(self.prior_mean) > d else None

    @property
    def precision(self) -> Array:
        """The diagonal of the prior precision."""
        return np.diagonal(self.prior_precision)

    def with_shape_slope(self, slope: float) -> LinearPredictor:
        """Return the same with ``slope`` θ added, for the log shape θ."""
        other = copy(self)
        other.shape_slope = slope
        return other

    def value_and_gradient(self, w: Array) -> tuple[float, Array]:
        """Return the log posterior and its gradient."""
        d = self.turn.shape[1]
        offset = w - self.prior_mean
        pull = self.prior_precision @ offset
        total, gradient, raw = -0.5 * float(offset @ pull), -pull, np.zeros(len(self.turn))
        for block, curve, f in self._curves(w):
            total += _sum(curve.value, f)
            slope = _times(curve.slope, f)
            raw += np.append(slope @ block, slope.sum())
            if curve.shape is not None:
                gradient[d] += _sum(curve.shape.slope, f)
        gradient[:d] += raw @ self.turn if self.turned else raw[:d]
        if len(w) > d:
            total += self.shape_slope * float(w[d])
            gradient[d] += self.shape_slope
        return total, gradient

    def curvature(self, w: Array) -> Array:
        """Return minus the Hessian of the log posterior."""
        d = self.turn.shape[1]
        total = np.array(self.prior_precision, dtype=np.float64)
        raw, mixed = np.zeros((len(self.turn), len(self.turn))), np.zeros(len(self.turn))
        for block, curve, f in self._curves(w):
            weight = _times(curve.curvature, f)
            raw[:-1, :-1] += weighted_gram(block, weight)
            raw[-1, :-1] += weight @ block
            raw[-1, -1] += weight.sum()
            if curve.shape is not None:
                cross = _times(curve.shape.cross, f)
                mixed += np.append(cross @ block, cross.sum())
                total[d, d] += _sum(curve.shape.curvature, f)
        raw[:-1, -1] = raw[-1, :-1]
        total[:d, :d] += self.turn.T @ raw @ self.turn if self.turned else raw[:d, :d]
        if len(w) > d:
            total[:d, d] += mixed @ self.turn
            total[d, :d] += mixed @ self.turn
        return total

    def thinned(self, every: int) -> LinearPredictor:
        """Return the posterior with every so many rows, each counted so often."""
        x = self.x[::every]
        share = np.full(len(x), len(self.x) / len(x))
        frequency = share if self.frequency is None else share * self.frequency[::every]

        places = np.arange(0, len(self.x), every)

        def likelihood(eta: Array, shape: float, rows: Rows) -> Curve:
            return self.likelihood(eta, shape, places[rows])

        turn = self.turn if self.turned else None
        fewer = LinearPredictor(
            x, likelihood, self.prior_precision, self.prior_mean, frequency, turn
        )
        return fewer.with_shape_slope(self.shape_slope)

    def _curves(self, w: Array) -> Iterator[tuple[Array, Curve, Array | None]]:
        d = self.turn.shape[1]
        shape = float(w[d]) if len(w) > d else 0.0
        raw = self.turn @ w[:d] if self.turned else np.append(w[:d], 0.0)
        step = rows_per_block(d)
        for first in range(0, len(self.x), step):
            rows = slice(first, first + step)
            block = self.x[rows]
            f = None if self.frequency is None else self.frequency[rows]
            yield block, self.likelihood(block @ raw[:-1] + raw[-1], shape, rows), f


def posterior_mode(
    density: LinearPredictor,
    start: Array,
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
    curvature_at_mode: bool = True,
) -> Mode:
    """Return the mode; of long tables the start, and its curvature, come from a part of the rows.

    The mode of every eighth row, found in the same way, is about three standard deviations away.
    """
    rows, columns = density.x.shape
    near = None
    if rows >= _THIN * max(_ROWS_PER_COLUMN * columns, 500):
        near = posterior_mode(density.thinned(_THIN), start, tol=_NEAR, max_iter=max_iter)
        start = near.point
    return find_mode(
        density,
        start,
        tol=tol,
        max_iter=max_iter,
        near=near,
        curvature_at_mode=curvature_at_mode,
    )


def _times(values: Array, frequency: Array | None) -> Array:
    return values if frequency is None else values * frequency


def _sum(values: Array, frequency: Array | None) -> float:
    return float(values.sum() if frequency is None else values @ frequency)
