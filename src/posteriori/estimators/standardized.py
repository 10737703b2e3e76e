"""Columns measured from their means in their standard deviations, and weights back in raw units."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.blocks.row_blocks import RowBlocks
from posteriori.numerics.types import Array

__all__ = ["Standardization", "measure", "standardize"]

#: Columns that vary by less than this share of their mean are constant.
_CONSTANT = 1e-12


class Standardization(NamedTuple):
    """How columns are standardised: a column of ones where there is an intercept, then (x − m)/s.

    Attributes
    ----------
    mean, scale : (D,)
        Of the inputs; a constant column has scale 1.
    intercept : bool
    """

    mean: Array
    scale: Array
    intercept: bool

    def raw(self, weights: MvNormal) -> MvNormal:
        """Return the weights of raw columns, then the intercept, from standardised ones."""
        turn = self.turn()
        return MvNormal(turn @ weights.mean, cov=turn @ weights.cov @ turn.T)

    def raw_weights(self, weights: Array) -> Array:
        """Return weights of raw columns, then the intercept, from standardised ones: (..., P)."""
        if not self.intercept:
            return weights / self.scale
        w = weights[..., 1:] / self.scale
        return np.concatenate([w, weights[..., :1] - (w @ self.mean)[..., None]], axis=-1)

    def of(self, x: Array) -> Array:
        """Return the design matrix of inputs (N, D)."""
        design = _with_ones(x, self.intercept)
        z = design[:, design.shape[1] - x.shape[1] :]
        np.subtract(x, self.mean, out=z)
        z /= self.scale
        return design

    def turn(self) -> Array:
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


def standardize(
    x: Array | RowBlocks, frequency: Array | None, *, intercept: bool
) -> tuple[Standardization, Any]:
    """Return how a table is standardised, and its design matrix.

    Parameters
    ----------
    x : (N, D)
    frequency : (N,), optional
        How often each row counts.
    intercept : bool
        Without one, columns keep their zero and are measured in root mean squares.
    """
    how, constant = measure(x, frequency, intercept=intercept)
    if isinstance(x, RowBlocks):
        factor = np.where(constant, 0.0, 1.0 / how.scale)
        return how, x.standardized(how.mean, factor, ones=intercept)
    design = how.of(x)
    design[:, design.shape[1] - x.shape[1] :][:, constant] = 0.0
    return how, design


def measure(x: Any, frequency: Array | None, *, intercept: bool) -> tuple[Standardization, Array]:
    """Return how a table is standardised, and which columns are constant."""
    f = np.ones(len(x)) if frequency is None else frequency
    share = f / f.sum()
    mean = share @ x if intercept else np.zeros(x.shape[1])
    squares = np.zeros(x.shape[1])
    rows = rows_per_block(x.shape[1])
    with np.errstate(over="ignore"):
        for first in range(0, len(x), rows):  # each block is read once, then is in the cache
            here = slice(first, first + rows)
            squares += share[here] @ (x[here] - mean) ** 2
    spread = np.sqrt(squares)
    for j in np.flatnonzero(~((squares > 1e-280) & (squares < 1e280))):  # squares leave the range
        z = x[:, j] - mean[j]
        largest = np.abs(z).max()
        if largest > 0:
            spread[j] = largest * np.sqrt(share @ (z / largest) ** 2)
    constant = spread <= _CONSTANT * np.abs(mean)
    return Standardization(mean, np.where(constant, 1.0, spread), intercept), constant


def _with_ones(x: Array, intercept: bool) -> Array:
    design = np.empty((len(x), x.shape[1] + intercept))
    if intercept:
        design[:, 0] = 1.0
    return design
