r"""Sequential minimal optimisation of a small dense program, two coordinates at a time.

Along :math:`u_i + t,\; u_j - t` the objective :math:`\frac12u^\top Ku + q^\top u` is a parabola of curvature
:math:`\eta = K_{ii} + K_{jj} - 2K_{ij}`. The first coordinate violates the conditions most; the second promises
the largest decrease :math:`(g_j - g_i)^2/2\eta`.

Reference: R.-E. Fan, P.-H. Chen & C.-J. Lin, "Working set selection using second order information for
training support vector machines", Journal of machine learning research 6, 2005.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["descend_in_pairs"]

#: Curvature of pairs that are the same point, or nearly so.
_FLAT = 1e-12


@kernel(allocates=False)
def descend_in_pairs(
    K: Array,
    g: Array,
    u: Array,
    lower: Array,
    upper: Array,
    group: IntArray,
    groups: int,
    tol: float,
    most: int,
) -> int:
    """Move u, and its gradient g = Ku + q, until no pair of one group gains; return the steps.

    Parameters
    ----------
    K : (M, M)
    g, u : (M,)
        Changed in place.
    lower, upper : (M,)
        Ends of each coordinate.
    group : (M,)
        Sums of u over each group stay.
    groups : int
    tol : float
        Largest difference of gradients that remains.
    most : int
        Steps at most.
    """
    for steps in range(most):
        first, second, gain = -1, -1, 0.0
        for c in range(groups):
            i, least = -1, np.inf
            for k in range(len(u)):
                if g[k] < least and u[k] < upper[k] and group[k] == c:
                    i, least = k, g[k]
            for k in range(len(u)):
                rise = g[k] - least
                if rise > tol and u[k] > lower[k] and group[k] == c:
                    bend = max(K[i, i] + K[k, k] - 2.0 * K[i, k], _FLAT)
                    if rise * rise > gain * bend:
                        first, second, gain = i, k, rise * rise / bend
        if first < 0:
            return steps
        bend = max(K[first, first] + K[second, second] - 2.0 * K[first, second], _FLAT)
        step = _move(u, lower, upper, first, second, (g[second] - g[first]) / bend)
        for k in range(len(u)):
            g[k] += step * (K[first, k] - K[second, k])
    return most


@kernel(called="kernels")
def _move(u: Array, lower: Array, upper: Array, i: int, j: int, step: float) -> float:
    """Raise u[i] and lower u[j] by a step, to the first end at most; return the step that was taken."""
    up, down = upper[i] - u[i], u[j] - lower[j]
    if step < up and step < down:
        u[i] += step
        u[j] -= step
        return step
    if up <= down:
        u[i] = upper[i]
        u[j] = lower[j] if up == down else u[j] - up
        return up
    u[i] += down
    u[j] = lower[j]
    return down
