r"""What a chain was surprised by: innovations, and smoothed disturbances in their own units.

.. math:: u_t = v_t/F_t - k_t^\top r_t, \qquad
          r_{t-1} = z_t v_t/F_t + L_t^\top r_t, \qquad
          N_{t-1} = z_t z_t^\top/F_t + L_t^\top N_t L_t,

with :math:`k_t = T_t P_t z_t/F_t` and :math:`L_t = T_t - k_t z_t^\top`. Then
:math:`u_t/\sqrt{1/F_t + k_t^\top N_t k_t}` is large where a value lies off, an outlier, and
:math:`r_{tj}/\sqrt{N_{tjj}}` where state j jumps after step t: a shift of the level.

Reference: A. Harvey & S. J. Koopman, "Diagnostic checking of unobserved-components time series
models", 1992.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.series.scalar_chain import ScalarChain
from posteriori.numerics.types import Array

__all__ = ["AuxiliaryResiduals", "auxiliary_residuals"]


class AuxiliaryResiduals(NamedTuple):
    """Standardised residuals of a series; NaN where there is nothing to say.

    Attributes
    ----------
    innovations : (T,)
        v_t/√F_t.
    outliers : (T,)
        Smoothed noise of the observation over its standard deviation.
    shifts : (T, D)
        Smoothed disturbance of each state from t to t + 1 over its standard deviation; the last is NaN.
    """

    innovations: Array
    outliers: Array
    shifts: Array


def auxiliary_residuals(chain: ScalarChain, variances: Array, y: Array) -> AuxiliaryResiduals:
    """Return the residuals of a series whose first state has a prior; O(T·D³).

    Parameters
    ----------
    chain : ScalarChain
    variances : (P,)
    y : (T,)
        NaN is missing.
    """
    size, count = len(chain.initial_mean), len(y)
    fixed = len(chain.transition.weights) == 1 and len(chain.noise.weights) == 1
    mean, cov = chain.initial_mean, chain.start_cov(variances)
    past: list[tuple[Array, float, float, Array, Array]] = []
    step = noise = np.zeros((size, size))
    for t in range(count):
        z = chain.emission[t if len(chain.emission) > 1 else 0]
        if t == 0 or not fixed:
            step = chain.transition.dense(size, t)
            noise = chain.noise.dense(size, t, variances[chain.parts])
        v, spread = float(y[t] - z @ mean), float(z @ cov @ z + variances[0])
        gain = step @ cov @ z / spread if v == v else np.zeros(size)
        keep = step - np.outer(gain, z)
        past.append((z, v, spread, gain, keep))
        mean = step @ mean + (gain * v if v == v else 0.0)
        cov = keep @ cov @ keep.T + noise + variances[0] * np.outer(gain, gain)
    return _smooth_back(past, size)


def _smooth_back(
    past: list[tuple[Array, float, float, Array, Array]], size: int
) -> AuxiliaryResiduals:
    count = len(past)
    innovations, outliers = np.full(count, np.nan), np.full(count, np.nan)
    shifts = np.full((count, size), np.nan)
    r, n = np.zeros(size), np.zeros((size, size))
    for t in range(count - 1, -1, -1):
        z, v, spread, gain, keep = past[t]
        wide = np.diag(n)
        told = wide > 0.0
        shifts[t, told] = r[told] / np.sqrt(wide[told])
        known = v == v
        if known:
            innovations[t] = v / np.sqrt(spread)
            outliers[t] = (v / spread - gain @ r) / np.sqrt(1.0 / spread + gain @ n @ gain)
        r = keep.T @ r + (z * v / spread if known else 0.0)
        n = keep.T @ n @ keep + (np.outer(z, z) / spread if known else 0.0)
    return AuxiliaryResiduals(innovations, outliers, shifts)
