r"""Likelihoods of two classes as curves of a linear predictor, and their means under uncertainty.

With :math:`s = \pm1` for the class, the logistic likelihood is :math:`\sigma(s\eta)` and the probit
:math:`\Phi(s\eta)`. Under :math:`\eta\sim N(m, v)` the probit has the mean
:math:`\Phi(m/\sqrt{1+v})`; the logistic has none in closed form, and
:math:`\sigma(m/\sqrt{1+\pi v/8})` is within 0.018 of it.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 4.5.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.inference.predictors.generalized_linear import Curve, Likelihood
from posteriori.numerics.calculus.predictor_nodes import predictor_nodes
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = [
    "logistic_curve",
    "logistic_mean",
    "probit_corrected",
    "probit_curve",
    "probit_mean",
]

#: Below this, φ/Φ and its slope are taken from their expansion.
_FAR = -200.0

#: From this standard deviation on, the normal distribution is smoother than the logistic function.
_WIDE = 3.0


def logistic_curve(sign: Array) -> Likelihood:
    """Return ln σ(sη) of rows, with slopes s σ(−sη) and curvatures σ(η) σ(−η)."""

    def curve(eta: Array, shape: float, rows: Any) -> Curve:
        s = sign[rows]
        margin = s * eta
        small = np.exp(-np.abs(margin))
        total = 1.0 + small
        against = np.where(margin >= 0, small, 1.0) / total  # σ(−sη)
        value = np.minimum(margin, 0.0) - np.log1p(small)
        return Curve(value, s * against, small / (total * total))

    return curve


def probit_curve(sign: Array) -> Likelihood:
    """Return ln Φ(sη) of rows, with slopes s r and curvatures r (sη + r), r = φ/Φ at sη."""

    def curve(eta: Array, shape: float, rows: Any) -> Curve:
        s = sign[rows]
        margin = s * eta
        ratio = np.sqrt(2.0 / np.pi) / special.erfcx(-margin / np.sqrt(2.0))
        far = np.clip(margin, -1e75, _FAR)  # fourth powers are numbers
        bend = np.where(margin < _FAR, 1.0 - 1.0 / far**2 + 6.0 / far**4, ratio * (margin + ratio))
        return Curve(special.log_ndtr(margin), s * ratio, bend)

    return curve


def probit_corrected(mean: Array, variance: Array) -> Array:
    """Return σ(κ m) with κ = (1 + πv/8)^(−1/2), close to the mean of σ(η) under N(m, v).

    Examples
    --------
    >>> float(probit_corrected(np.array(1.0), np.array(1.0)).round(5))
    0.70001
    """
    return special.expit(mean / np.sqrt(1.0 + np.pi / 8.0 * variance))


def logistic_mean(mean: Array, variance: Array) -> Array:
    """Return the mean of σ(η) under N(m, v), by a sum over nodes.

    Examples
    --------
    >>> float(logistic_mean(np.array(1.0), np.array(1.0)).round(5))
    0.69673
    """
    mean, std = np.broadcast_arrays(mean, np.sqrt(variance))
    wide = std > _WIDE
    at, weights, _ = predictor_nodes(mean, np.where(wide, 0.0, std), np.array(1.0))
    answer = special.expit(at) @ weights
    if np.any(wide):  # σ(η) = P(noise < η) with logistic noise: now the noise has the nodes
        noise = np.arange(-36.0, 37.0)
        shares = special.expit(noise) * special.expit(-noise)
        probit = special.ndtr((mean[..., None] - noise) / np.where(wide, std, 1.0)[..., None])
        answer = np.where(wide, probit @ (shares / shares.sum()), answer)
    return answer


def probit_mean(mean: Array, variance: Array) -> Array:
    """Return the mean of Φ(η) under N(m, v), Φ(m/√(1 + v))."""
    return special.ndtr(mean / np.sqrt(1.0 + variance))
