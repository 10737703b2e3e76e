"""Columns measured from their means in their standard deviations, and weights back in raw units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.distributions.mvnormal import MvNormal
from posteriori.numerics.types import Array

__all__ = ["Standardized", "standardize"]


class Standardized(NamedTuple):
    """A design matrix: a column of ones where there is an intercept, then standardised inputs.

    Attributes
    ----------
    design : (N, D + 1) or (N, D)
    mean, scale : (D,)
        Of the inputs; a constant column has scale 1.
    intercept : bool
    """

    design: Array
    mean: Array
    scale: Array
    intercept: bool

    def raw(self, weights: MvNormal) -> MvNormal:
        """Return the weights of raw columns, then the intercept, from standardised ones."""
        turn = self._turn()
        return MvNormal(turn @ weights.mean, cov=turn @ weights.cov @ turn.T)

    def of(self, x: Array) -> Array:
        """Return the design matrix of other inputs."""
        z = (x - self.mean) / self.scale
        return np.column_stack([np.ones(len(x)), z]) if self.intercept else z

    def _turn(self) -> Array:
        """Return T with raw weights (w, b) = T (b̄, v): w = v/s, b = b̄ − m·w."""
        inverse = np.diag(1.0 / self.scale)
        if not self.intercept:
            return inverse
        d = len(self.scale)
        turn = np.zeros((d + 1, d + 1))
        turn[:d, 1:] = inverse
        turn[d, 0] = 1.0
        turn[d, 1:] = -self.mean / self.scale
        return turn


def standardize(x: Array, frequency: Array | None, *, intercept: bool) -> Standardized:
    """Return the standardised design of a table.

    Parameters
    ----------
    x : (N, D)
    frequency : (N,), optional
        How often each row counts.
    intercept : bool
        Without one, columns keep their zero and are measured in root mean squares.
    """
    mean = np.average(x, axis=0, weights=frequency) if intercept else np.zeros(x.shape[1])
    spread = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=frequency))
    size = np.abs(x).max(axis=0, initial=0.0)
    constant = spread <= 1e-12 * np.where(size > 0, size, 1.0)
    scale = np.where(constant, 1.0, spread)
    made = Standardized(np.zeros((0, 0)), mean, scale, intercept)
    return made._replace(design=made.of(x))
