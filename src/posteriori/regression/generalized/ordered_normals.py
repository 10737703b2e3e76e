r"""How probable it is that independent normal variables come in order.

.. math:: P(c_1 < c_2 < \dots < c_M) = F_M(\infty),\qquad
          F_k(t) = \int_{-\infty}^t N(c\mid m_k, s^2)\,F_{k-1}(c)\,dc,\qquad F_0 = 1

This is what a normal prior of thresholds holds on those that can be: it normalises their density.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["log_probability_of_order"]

#: Panels for each standard deviation, and points on each: F_k is like Φᵏ, which so many follow to
#: rounding even where it rises by orders of magnitude (for 100 variables).
_PANELS, _POINTS = 4, 16

#: Panels on both sides of a mean outside of which a variable does not count: 9 standard deviations.
_REACH = 9 * _PANELS

#: Standard deviations between means beyond which two variables are in order to rounding.
_FAR = 20.0


def log_probability_of_order(mean: Array, std: float) -> float:
    """Return ln P(c₁ < c₂ < … < c_M) of c_k ~ N(mean_k, std²), independent.

    Parameters
    ----------
    mean : (M,)
        Not decreasing.
    std : float

    Notes
    -----
    Costs O(M²): a rule with panels around each of the means, once for each variable.

    Examples
    --------
    >>> bool(np.isclose(log_probability_of_order(np.zeros(4), 2.0), -np.log(24.0)))
    True
    """
    gaps = np.minimum(np.diff(mean, prepend=mean[:1]) / std, _FAR)
    z = np.cumsum(gaps)  # only how far they are apart matters
    panels = np.unique(np.floor(_PANELS * z)[:, None] + np.arange(-_REACH, _REACH + 1))
    nodes, weights, inner = _rule()
    at = (panels[:, None] + nodes) / _PANELS
    below, log_total = np.ones_like(at), 0.0  # F_{k−1}/F_{k−1}(∞) at the nodes, ln F_{k−1}(∞)
    for centre in z:
        slope = np.exp(-0.5 * (at - centre) ** 2 - 0.5 * LOG_2PI) * below / _PANELS
        sums = np.cumsum(slope @ weights)
        before = np.append(0.0, sums[:-1])
        below = (before[:, None] + slope @ inner.T) / sums[-1]
        log_total += np.log(sums[-1])
    return float(log_total)


def _rule() -> tuple[Array, Array, Array]:
    """Return nodes x and weights of [0, 1], and Q with ∫₀^{x_i} f ≈ Σ_j Q_ij f(x_j)."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    order = np.arange(_POINTS)
    # f = Σ_k a_k P_k with a_k = (k + ½) Σ_j w_j P_k(x_j) f(x_j): Gauss' rule is exact for these
    series = (
        (order + 0.5)[:, None] * weights * np.polynomial.legendre.legvander(nodes, _POINTS - 1).T
    )
    integral = np.polynomial.legendre.legint(series, lbnd=-1)
    inner = np.polynomial.legendre.legvander(nodes, _POINTS) @ integral
    return 0.5 * (1.0 + nodes), 0.5 * weights, 0.5 * inner
