r"""Sums over an uncertain predictor: :math:`\int f(\eta)\,N(\eta\mid m, s^2)\,d\eta \approx \sum_q w_q f(\eta_q)`.

The trapezoid rule converges at a geometric rate on smooth functions that decay, once its step is below
their width. Where a fine enough step would take too many nodes, each node stands for a narrow normal
distribution (a blur) in place of a point, and the nodes spread by as much less.

Reference: L. Trefethen & J. Weideman, "The exponentially convergent trapezoidal rule", 2014.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["predictor_nodes"]

#: Standard deviations to each side.
_REACH = 8.0

#: Step in units of the narrower of the two: the normal distribution and the width of the function.
_STEP = 0.9

#: Nodes to each side, at least and at most.
_FEWEST, _MOST = 9, 40


def predictor_nodes(mean: Array, std: Array, width: Array) -> tuple[Array, Array, Array]:
    """Return nodes (..., Q), their weights (Q,), and the variance each node stands for (...).

    Parameters
    ----------
    mean, std : (...)
        Of the predictors.
    width : (...)
        How far a predictor must move to change the function that is summed.
    """
    mean, std, width = np.broadcast_arrays(mean, std, width)
    ratio = float(np.max(std / width, initial=0.0))
    half = int(np.clip(np.ceil(_REACH / _STEP * min(ratio, _MOST)), _FEWEST, _MOST))
    z = _REACH * np.arange(-half, half + 1) / half
    weights = np.exp(-0.5 * z * z)
    step = std * (_REACH / half)
    blur = np.where(step > 1.2 * width, step**2, 0.0)
    spread = np.sqrt(np.maximum(std**2 - blur, 0.0))
    return mean[..., None] + spread[..., None] * z, weights / weights.sum(), blur
