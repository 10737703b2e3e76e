r"""Smooth functions of single columns as polynomials through their values at a few points.

.. math:: f_d(x) = \sum_i\psi_i(x)\,f_d(u_i),\qquad
          \psi_i(x) = \frac1m\sum_{k<m}(2 - \delta_{k0})\,T_k(u_i)\,T_k(x)

at the m Chebyshev points u of the range of a column: what is seen of a function that turns slowly is told
by its values there to many digits, whatever its kernel. Beyond the ends a function goes on straight. All
functions have the mean 0 over the rows that
they are learned from, so that a level beside them is the mean of the targets.

Reference: L. N. Trefethen, "Approximation theory and approximation practice", 2013, ch. 3 and 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array, IntArray

__all__ = ["CurveFeatures", "curve_points", "make_features"]

#: Points of a column.
_POINTS = 12

#: Curves bend over this part of the values of a column, and are straight beyond: far values would take most
#: of the points.
_ENDS = (0.005, 0.995)


class CurveFeatures(NamedTuple):
    """Features of rows: those of curves, column by column, then lines, then the level.

    Attributes
    ----------
    center, scale : (D,)
        Mean and standard deviation of columns; 1 for those that do not vary.
    curved : (S,) of int < D
        Columns that have curves.
    low, high : (S,)
        Ends of these, in standard deviations.
    shift : (P − 1,)
        Means of the features over the rows, the level left out.
    """

    center: Array
    scale: Array
    curved: IntArray
    low: Array
    high: Array
    shift: Array

    def of(self, x: Array) -> Array:
        """Return features of rows, (N, P)."""
        return np.column_stack([_features(self, x) - self.shift, np.ones(len(x))])

    @property
    def points(self) -> list[Array]:
        """Points of the columns with curves, (m, 1) each, in standard deviations."""
        return [curve_points(a, b) for a, b in zip(self.low, self.high, strict=True)]

    def places(self, column: int) -> IntArray:
        """Return which features are functions of a column."""
        lines = _POINTS * len(self.curved) + column
        if column not in self.curved:
            return np.array([lines])
        first = _POINTS * int(np.searchsorted(self.curved, column))
        return np.append(np.arange(first, first + _POINTS), lines)


def curve_points(low: float, high: float) -> Array:
    """Return Chebyshev points between two ends, (m, 1).

    Examples
    --------
    >>> points = curve_points(0.0, 1.0)
    >>> len(points), bool(points.min() > 0.0 and points.max() < 1.0)
    (12, True)
    """
    return (low + 0.5 * (high - low) * (1.0 + _chebyshev_points()))[:, None]


def make_features(x: Array, frequency: Array | None = None) -> CurveFeatures:
    """Return features on the scale of rows (N, D), that count so often; columns of two values have lines alone."""
    f = np.ones(len(x)) if frequency is None else frequency
    center = np.average(x, axis=0, weights=f)
    spread = np.sqrt(np.average((x - center) ** 2, axis=0, weights=f))
    scale = np.where(spread > 0.0, spread, 1.0)
    curved = [d for d in range(x.shape[1]) if len(np.unique(x[:, d])) > 2]
    z = (x[:, curved] - center[curved]) / scale[curved]
    low, high = (
        np.quantile(z, _ENDS, axis=0, method="inverted_cdf", weights=f)
        if curved
        else np.zeros((2, 0))
    )
    ends = np.ptp(z, axis=0) if curved else np.zeros(0)
    flat = high <= low  # nearly all rows have one value
    low, high = np.where(flat, low - 0.5 * ends, low), np.where(flat, high + 0.5 * ends, high)
    made = CurveFeatures(center, scale, np.array(curved, dtype=np.int64), low, high, np.zeros(0))
    return made._replace(shift=np.average(_features(made, x), axis=0, weights=f))


def _features(made: CurveFeatures, x: Array) -> Array:
    """Return curves and lines of rows, their means not yet taken off."""
    z = (x - made.center) / made.scale
    parts = [
        _cardinal((2.0 * z[:, d] - low - high) / (high - low))
        for d, low, high in zip(made.curved.tolist(), made.low, made.high, strict=True)
    ]
    return np.column_stack([*parts, z])


def _cardinal(x: Array) -> Array:
    """Return ψ at numbers, straight outside [−1, 1], (N, m)."""
    turn = np.polynomial.chebyshev.chebvander(_chebyshev_points(), _POINTS - 1) * 2.0
    turn[:, 0] = 1.0
    inside = np.clip(x, -1.0, 1.0)
    seen = np.polynomial.chebyshev.chebvander(inside, _POINTS - 1)
    out = np.flatnonzero(x != inside)
    k = np.arange(_POINTS)
    slope = np.sign(x[out])[:, None] ** (k + 1) * k**2  # T′ₖ(±1) = (±1)ᵏ⁺¹k²
    seen[out] += (x - inside)[out, None] * slope
    return seen @ turn.T / _POINTS


def _chebyshev_points() -> Array:
    return np.cos(np.pi * (np.arange(_POINTS) + 0.5) / _POINTS)
