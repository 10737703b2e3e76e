r"""Intervals by the jackknife+ after the bootstrap.

For each training row i the trees that were not grown from it predict μ₋ᵢ(x), and missed the row by
:math:`R_i = |y_i - \mu_{-i}(x_i)|`. The interval for a new row is

.. math:: \left[q^-_\alpha\{\mu_{-i}(x) - R_i\},\ q^+_\alpha\{\mu_{-i}(x) + R_i\}\right],

with the ⌊α(N+1)⌋-th smallest and the ⌈(1−α)(N+1)⌉-th smallest of N numbers.

Reference: B. Kim, C. Xu & R. Foygel Barber, "Predictive inference is free with the jackknife+-after-
bootstrap", 2020, theorem 1.
"""

from __future__ import annotations

import numpy as np

from posteriori.ensemble.forests.forest_growth import draw_counts
from posteriori.numerics.types import Array, IntArray

__all__ = ["jackknife_interval"]

#: Numbers that are held at a time.
_ROOM = 4_000_000


def jackknife_interval(
    predictions: Array, residuals: Array, frequency: Array, seeds: IntArray, mass: float
) -> tuple[Array, Array]:
    """Return the ends of intervals, two (n,).

    Parameters
    ----------
    predictions : (n, T)
        Of each tree.
    residuals : (N,)
        Of the training rows, NaN where no tree has left them out.
    frequency : (N,)
        How often they count.
    seeds : (T,)
        Of the bootstrap samples.
    mass : float
        1 − α.
    """
    known = ~np.isnan(residuals)
    if not known.any():  # no row says how wrong trees are that have not seen it
        return np.full(len(predictions), -np.inf), np.full(len(predictions), np.inf)
    absent = np.stack([draw_counts(frequency, int(seed))[known] == 0 for seed in seeds], axis=1)
    share = absent / absent.sum(axis=1, keepdims=True)  # (N, T): the trees that speak for a row
    weight, missed = frequency[known], residuals[known]
    ends: list[Array] = []
    step = max(_ROOM // len(missed), 1)
    for first in range(0, len(predictions), step):
        without = predictions[first : first + step] @ share.T  # μ₋ᵢ(x), (n, N)
        low = _order_statistic(missed - without, weight, mass)
        ends.append(np.stack([-low, _order_statistic(without + missed, weight, mass)]))
    low, high = np.concatenate(ends, axis=1)
    return low, high


def _order_statistic(values: Array, weight: Array, mass: float) -> Array:
    """Return the ⌈mass·(N + 1)⌉-th smallest of each row, N being the sum of weights; ∞ beyond N."""
    order = np.argsort(values, axis=1)
    reached = np.cumsum(weight[order], axis=1)
    total = reached[:, -1]
    wanted = np.ceil(
        mass * (total + 1.0) - 1e-9
    )  # a product such as 0.9·10 is whole up to rounding
    place = np.minimum((reached < wanted[:, None] - 1e-9).sum(axis=1), values.shape[1] - 1)
    found = np.take_along_axis(values, order, axis=1)[np.arange(len(values)), place]
    return np.where(wanted > total + 1e-9, np.inf, found)
