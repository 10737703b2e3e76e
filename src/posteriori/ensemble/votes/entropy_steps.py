r"""A round of boosting as an entropy projection: the nearest weights that forget a hypothesis.

.. math:: \min_{q}\ \mathrm{KL}(q\,\|\,d) \quad\text{with}\quad \sum_n q_n u_n = 0,\ \sum_n q_n = 1
   \qquad\Longrightarrow\qquad q_n = d_n e^{-\alpha u_n}/Z(\alpha),

where α minimises :math:`Z(\alpha) = \sum_n d_n e^{-\alpha u_n}` and :math:`\mathrm{KL}(q\|d) = -\ln Z`.
For :math:`u_n = y_n h(x_n) = \pm1` that is the round of AdaBoost, and one step of coordinate descent on
the exponential loss: the two are dual.

Reference: J. Kivinen & M. Warmuth, "Boosting as entropy projection", 1999.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = ["EntropyProjection", "entropy_projection"]


class EntropyProjection(NamedTuple):
    """The nearest weights.

    Attributes
    ----------
    weights : (N,)
        q.
    step : float
        α, the multiplier of the constraint.
    divergence : float
        KL(q‖d) in nats.
    """

    weights: Array
    step: float
    divergence: float


def entropy_projection(d: Any, u: Any) -> EntropyProjection:
    """Return the weights nearest to d under which u has mean 0.

    Parameters
    ----------
    d : array_like (N,)
        Not negative, with the sum 1.
    u : array_like (N,)
        y h(x) of a hypothesis, or any numbers; positive and negative ones where d > 0.

    Examples
    --------
    >>> found = entropy_projection([0.25, 0.25, 0.25, 0.25], [1, 1, 1, -1])
    >>> (
    ...     found.weights.round(4),
    ...     round(found.step, 4),
    ... )  # ε = ¼: wrong rows × 1/(2ε), right × 1/(2(1 − ε))
    (array([0.1667, 0.1667, 0.1667, 0.5   ]), 0.5493)
    """
    d, u = np.asarray(real("d", d)), np.asarray(real("u", u))
    _require_weights(d, u)
    there = d > 0.0
    largest, least = u[there].max(), u[there].min()
    if not least <= 0.0 <= largest or (least < 0.0) != (largest > 0.0):
        raise ValueError(
            f"u must have positive and negative entries where d > 0, got {least:.6g} to {largest:.6g}: "
            "no weights make its mean 0"
        )
    scale = float(np.abs(u[there]).max()) or 1.0
    step = _minimize(d[there], u[there] / scale) / scale
    weights, log_total = _tilt(d, u, step)
    return EntropyProjection(weights, step, max(-log_total, 0.0))


def _require_weights(d: Array, u: Array) -> None:
    if d.ndim != 1 or u.shape != d.shape:
        raise ValueError(f"d and u must be of one length (N,), got shapes {d.shape} and {u.shape}")
    if not (np.isfinite(d).all() and np.isfinite(u).all()):
        raise ValueError("d and u must be finite")
    if (d < 0.0).any() or abs(d.sum() - 1.0) > 1e-9:
        raise ValueError(f"d must not be negative and must sum to 1, got the sum {d.sum():.9g}")


def _tilt(d: Array, u: Array, step: float) -> tuple[Array, float]:
    """Return d e^{−αu}/Z and ln Z."""
    with np.errstate(divide="ignore"):  # ln 0 = −∞: no weight stays none
        exponent = np.log(d) - step * u
    largest = exponent.max()
    tilted = np.exp(exponent - largest)
    total = tilted.sum()
    return tilted / total, float(largest + np.log(total))


def _minimize(d: Array, u: Array) -> float:
    """Return where the mean of u under d e^{−αu}, which falls with α, is 0; |u| ≤ 1."""

    def mean(step: float) -> float:
        return float(_tilt(d, u, step)[0] @ u)

    if not u.any() or mean(0.0) == 0.0:
        return 0.0
    end = 1.0 if mean(0.0) > 0.0 else -1.0
    while mean(end) * end > 0.0:
        end *= 2.0
    return float(optimize.brentq(mean, min(end, 0.0), max(end, 0.0), xtol=1e-15, rtol=1e-14))
