r"""Regressions with one shape beside the weights: a dispersion, or a width of the noise.

The logarithm θ of the shape is one more parameter of the same Newton ascent, so that its uncertainty
enters the evidence.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.mode_finding import Mode, find_mode
from posteriori.numerics.types import Array
from posteriori.regression.generalized import GeneralizedRegression

__all__ = ["ShapedCurve", "ShapedRegression"]

#: Rows that are worked on at a time.
_BLOCK = 1 << 14


class ShapedCurve(NamedTuple):
    """Log densities of rows with derivatives in predictor and log shape.

    Attributes
    ----------
    value, slope, curvature : (n,)
        ln p, its first derivative in η, and minus its second.
    shape_slope, shape_curvature, cross : (n,)
        The derivative in θ, minus the second, and minus the mixed one.
    """

    value: Array
    slope: Array
    curvature: Array
    shape_slope: Array
    shape_curvature: Array
    cross: Array


class ShapedPredictor:
    """The log posterior of weights and a log shape.

    Parameters
    ----------
    x : (N, D)
    likelihood : callable
        Takes predictors, the log shape, and an index of the rows.
    precision, mean : (D + 1, D + 1) and (D + 1,)
        Of the prior, the log shape last.
    frequency : (N,), optional
    """

    def __init__(
        self, x: Array, likelihood: Any, precision: Array, mean: Array, frequency: Array | None
    ) -> None:
        self.x = x
        self.likelihood = likelihood
        self.precision = precision
        self.mean = mean
        self.frequency = frequency

    def value_and_gradient(self, w: Array) -> tuple[float, Array]:
        """Return the log posterior and its gradient."""
        offset = w - self.mean
        pull = self.precision @ offset
        total, gradient = -0.5 * float(offset @ pull), -pull
        for block, curve, f in self._curves(w):
            total += float(f @ curve.value)
            gradient[:-1] += (f * curve.slope) @ block
            gradient[-1] += f @ curve.shape_slope
        return total, gradient

    def curvature(self, w: Array) -> Array:
        """Return minus the Hessian of the log posterior."""
        total = np.array(self.precision)
        for block, curve, f in self._curves(w):
            total[:-1, :-1] += (block * (f * curve.curvature)[:, None]).T @ block
            mixed = (f * curve.cross) @ block
            total[:-1, -1] += mixed
            total[-1, :-1] += mixed
            total[-1, -1] += f @ curve.shape_curvature
        return total

    def _curves(self, w: Array) -> Any:
        for first in range(0, len(self.x), _BLOCK):
            rows = slice(first, first + _BLOCK)
            block = self.x[rows]
            f = np.ones(len(block)) if self.frequency is None else self.frequency[rows]
            yield block, self.likelihood(block @ w[:-1], float(w[-1]), rows), f


class ShapedRegression(GeneralizedRegression):
    """What regressions with a shape have in common."""

    @abstractmethod
    def _shaped_likelihood(self, y: Array) -> Any:
        """Return the log density of rows with its derivatives."""

    @abstractmethod
    def _shaped_member(self, eta: Array, log_shape: float) -> Any:
        """Return the distribution of targets with known predictors and log shape."""

    def _start_of_shape(self, y: Array) -> float:
        """Return the centre of the prior of the log shape."""
        return 0.0

    def _likelihood(self, y: Array) -> Any:
        raise NotImplementedError  # the likelihood needs the shape

    def _find_mode(self, design: Array, y: Array, frequency: Array | None) -> Mode:
        precision, mean = self._prior(design.shape[1], y, frequency)
        self._precision = np.append(precision, self.prior_precision)
        centre = np.append(mean, self._start_of_shape(y))
        density = ShapedPredictor(
            design, self._shaped_likelihood(y), np.diag(self._precision), centre, frequency
        )
        return find_mode(density, centre, tol=self.tol, max_iter=self.max_iter)

    def _keep(self, mode: Mode, y: Array, frequency: Array | None) -> None:
        super()._keep(mode, y, frequency)
        self._log_shape = float(mode.point[-1])
        self.shape_ = float(np.exp(self._log_shape))

    def _member(self, eta: Array) -> Any:
        return self._shaped_member(eta, self._log_shape)
