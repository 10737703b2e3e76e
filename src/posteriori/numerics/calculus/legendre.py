r"""Integrals over short intervals by the Gauss–Legendre rule,
:math:`\int_a^b f(u)\,du \approx \sum_i w_i f(u_i)`.

With 64 points the rule is exact to rounding for the smooth, short windows in which densities
live; callers choose the window so that the integrand falls by no more than e⁻⁴⁵ in it.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["LEGENDRE_POINTS", "legendre_rule"]

#: So many are exact to rounding where the integrand falls by e⁻⁴⁵.
LEGENDRE_POINTS = 64
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(LEGENDRE_POINTS)


def legendre_rule(low: Array, high: Array) -> tuple[Array, Array]:
    """Return points and weights (..., 64) for the intervals from ``low`` to ``high`` (...).

    Examples
    --------
    >>> u, w = legendre_rule(np.float64(0.0), np.float64(2.0))
    >>> round(float((w * u**3).sum()), 12)
    4.0
    """
    half = np.asarray(0.5 * (high - low))[..., None]
    return np.asarray(low)[..., None] + half * (1.0 + _POINTS), half * _WEIGHTS
