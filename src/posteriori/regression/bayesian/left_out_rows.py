r"""What a belief about a linear function says of the very rows that it was learned from.

With the leverage :math:`h` of a row (the variance of its function value) and its noise variance
:math:`v`, both in units of :math:`\sigma^2`, taking the row out of the posterior leaves

.. math:: y \sim N\Bigl(y - \frac{v\,(y-m)}{v-h},\ \sigma^2\frac{v^2}{v-h}\Bigr),\qquad
          \sigma^2 \sim \mathrm{InvGamma}\Bigl(a - \tfrac12,\ b - \frac{(y-m)^2}{2(v-h)}\Bigr).

The prior stays as it was, also where it was set by all rows.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.regression.bayesian.belief import LinearBelief

__all__ = ["expected_log_likelihood", "leave_one_out_log_density"]

#: Rows whose leverage is nearer than this to all of their noise are determined by themselves alone.
_LEVERAGE_TOLERANCE = 1e-12


def leave_one_out_log_density(
    belief: LinearBelief, x: Array, y: Array, variance: Array | float = 1.0
) -> Array:
    """Return ln p(y_n | all other rows), (N,); −∞ where the others say nothing about a row.

    Parameters
    ----------
    belief : LinearBelief
        Given all rows.
    x : (N, D)
    y : (N,)
    variance : (N,) or float
        Noise variance of the rows, relative to σ².
    """
    v = np.broadcast_to(np.asarray(variance, dtype=np.float64), y.shape)[:, None]
    spare = v - belief.spread(x)
    determined = spare > _LEVERAGE_TOLERANCE * v
    spare = np.where(determined, spare, 1.0)
    residual = y[:, None] - belief.values(x)
    gap = residual**2 / spare  # (y − m')²/(h' + v), in units of the noise variance
    spread = v**2 / spare  # h' + v
    if belief.shape is None:
        log_density = _log_normal(gap, belief.scale) - 0.5 * np.log(spread)
    else:
        log_density = _log_student(gap, belief.shape - 0.5, belief.scale) - 0.5 * np.log(spread)
    log_density = np.where(determined, log_density, -np.inf)
    with np.errstate(divide="ignore"):
        # members count without the row: p_g(−n) ∝ p_g / p_g(y_n), so p(y_n) is their harmonic mean
        log_weights = np.log(belief.probabilities)
    return -np.asarray(log_sum_exp(log_weights - log_density, axis=1))


def expected_log_likelihood(
    belief: LinearBelief, x: Array, y: Array, variance: Array | float = 1.0
) -> Array:
    """Return E[ln p(y_n | w, σ²)] under the posterior, (N,).

    Parameters
    ----------
    belief, x, y, variance
        As in :func:`leave_one_out_log_density`.
    """
    v = np.broadcast_to(np.asarray(variance, dtype=np.float64), y.shape)[:, None]
    if belief.shape is None:
        log_noise, precision = np.log(belief.scale), 1.0 / belief.scale
    else:
        log_noise = np.log(belief.scale) - special.digamma(belief.shape)
        precision = belief.shape / belief.scale
    squares = precision * (y[:, None] - belief.values(x)) ** 2 + belief.spread(x)
    each = -0.5 * (LOG_2PI + log_noise + np.log(v) + squares / v)
    return each @ belief.probabilities


def _log_normal(gap: Array, variance: Array) -> Array:
    return -0.5 * (LOG_2PI + np.log(variance) + gap / variance)


def _log_student(gap: Array, shape: Array, scale_with_row: Array) -> Array:
    """Return ln ∫ N(gap | σ²) InvGamma(σ² | a, b), with b + ½ gap given; −∞ where a or b is 0."""
    scale = scale_with_row - 0.5 * gap
    proper = (shape > 0) & exceeds_rounding(scale, scale_with_row)
    shape, scale = np.where(proper, shape, 1.0), np.where(proper, scale, 1.0)
    constant = special.gammaln(shape + 0.5) - special.gammaln(shape) - 0.5 * LOG_2PI
    log_density = constant + shape * np.log(scale) - (shape + 0.5) * np.log(scale_with_row)
    return np.where(proper, log_density, -np.inf)
