r"""Counts as curves of their log mean η: Poisson, and negative binomial where they vary more.

.. math:: \ln p(y) = y\eta - e^\eta - \ln y!,\qquad
          \ln p(y) = \ln\frac{\Gamma(y+r)}{\Gamma(r)\,y!} + y(\eta - \ln(r+\mu)) - r\ln(1 + \mu/r)

with :math:`\mu = e^\eta`; the log shape of the second is ln r.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.inference.predictors.generalized_linear import Curve, Likelihood, ShapeCurve
from posteriori.numerics.lazy import special
from posteriori.numerics.special import log1pmx, log_gamma_correction_slope, log_gamma_ratio
from posteriori.numerics.types import Array

__all__ = ["LARGEST", "negative_binomial_curve", "poisson_curve"]

#: Predictors beyond this are taken as this: e to its power, and its inverse, are still numbers.
LARGEST = 700.0

#: Log means and log counts beyond this are taken as this: squares and ratios are still numbers.
_FARTHEST = 300.0


def poisson_curve(y: Array) -> Likelihood:
    """Return ln p of Poisson counts of rows."""
    log_factorial = special.gammaln(y + 1.0)

    def curve(eta: Array, _: float, rows: Any) -> Curve:
        rate = np.exp(np.minimum(eta, LARGEST))
        return Curve(y[rows] * eta - rate - log_factorial[rows], y[rows] - rate, rate)

    return curve


def negative_binomial_curve(y: Array) -> Likelihood:
    """Return ln p of negative binomial counts of rows, whose log shape is ln r."""
    levels, level = np.unique(y, return_inverse=True)
    log_factorial = special.gammaln(levels + 1.0)

    def curve(eta: Array, log_count: float, rows: Any) -> Curve:
        # ln Γ(y+r)/Γ(r) − ln y! + y (η − ln(r+μ)) − r ln(1 + μ/r)
        r, at, counts = _count_of(log_count), level[rows], y[rows]
        eta = np.minimum(eta, _FARTHEST)
        gamma = log_gamma_ratio(r, levels) - log_factorial
        shrink, bend = _gamma_terms(levels, r)
        mean = np.exp(eta)
        total = r + mean
        share, gap = mean / total, (counts - mean) / total
        value = gamma[at] + counts * (eta - np.log(total)) - r * np.log1p(mean / r)
        in_r = log1pmx(gap, (counts + r) / total) + shrink[at]
        twice = bend[at] + 1.0 / r - 2.0 / total + (1.0 + gap) / total
        shape = ShapeCurve(r * in_r, -r * (in_r + r * twice), -r * share * gap)
        return Curve(value, r * gap, r * share * (1.0 + gap), shape)

    return curve


def _count_of(log_count: float) -> Array:
    return np.exp(np.clip(log_count, -_FARTHEST, _FARTHEST))


def _gamma_terms(counts: Array, r: Array) -> tuple[Array, Array]:
    """Return ψ(y+r) − ψ(r) − ln(1 + y/r), and ψ'(y+r) − ψ'(r)."""
    shrink = 0.5 * counts / (r * (counts + r))
    shrink += log_gamma_correction_slope(counts + r) - log_gamma_correction_slope(r)
    return shrink, special.polygamma(1, counts + r) - special.polygamma(1, r)
