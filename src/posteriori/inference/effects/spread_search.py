r"""Spreads of effects that are most probable, each by its logarithm.

The slope of the log evidence in :math:`\ln\sigma_c` is known, and L effects that are determined bend it
by 2L. So a quasi-Newton ascent in :math:`\sqrt{2L_c}\ln\sigma_c`, whose unit is then a standard
deviation, finds the spreads of any number of categories in about six evaluations. Where a category
has no effect the evidence is flat towards 0, and the ascent ends where nothing is left to gain.

The evidence of few rows can be highest at 0 by chance, and then says too surely that levels do not
matter. A half-Cauchy prior, whose median is the unit that predictors are measured in,

.. math:: p(\ln\sigma) = \frac{2}{\pi}\,\frac{\sigma/u}{1 + (\sigma/u)^2},

adds a slope between 1 and −1 to that of the log evidence, with many levels next to nothing.

Reference: Y. Chung et al., "A nondegenerate penalized likelihood estimator for variance parameters in
multilevel models", 2013.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.numerics.lazy import optimize
from posteriori.numerics.types import Array

__all__ = ["Spreads", "maximise_spreads", "spread_interval"]

#: Logarithms of the least and the largest spread that are looked at, in units of the noise.
LOWEST, HIGHEST = float(np.log(1e-4)), float(np.log(1e5))

#: Gains below this share of the log evidence are rounding.
_ROUNDING = 1e-11

#: Most evaluations of the evidence.
_MOST = 100

#: Of a normal distribution 90 % lie within so many standard deviations; of an exponential one 95 %
#: below so many means.
_NORMAL, _EXPONENTIAL = 1.6449, 2.9957

#: Fewer levels than this, in effect, leave the logarithm of a spread open towards 0.
_FEW = 0.5

#: The widest standard deviation of the logarithm of a spread that is stated.
_WIDEST = 2.0


class Spreads(NamedTuple):
    """The most probable spreads.

    Attributes
    ----------
    log_spreads : (C,)
    slopes : (C,)
        Of the log evidence in the logarithms, there.
    n_evaluations : int
    converged : bool
    """

    log_spreads: Array
    slopes: Array
    n_evaluations: int
    converged: bool


def maximise_spreads(
    evidence: Callable[[Array], tuple[float, Array]],
    start: Array,
    sizes: ArrayLike,
    unit: float = 1.0,
    flat: float = 5e-4,
    *,
    half_cauchy: ArrayLike = False,
) -> Spreads:
    """Return the spreads of highest evidence, or of the highest product of evidence and prior.

    Parameters
    ----------
    evidence : callable
        From logarithms of spreads (C,) to the log evidence and its slopes (C,).
    start : (C,)
        Logarithms to begin at.
    sizes : (C,)
        How many effects each spread is of, as far as these are determined.
    unit : float
        What spreads are measured in, to know which are small.
    flat : float
        The ascent ends when no slope exceeds this times √2L: the logarithm of a spread is then within
        this many of its standard deviations, and the log evidence within flat²/2 of the highest.
    half_cauchy : bool, or (C,) of bool
        Which spreads have that prior, with the unit as its median.
    """
    shift, scale = float(np.log(unit)), np.sqrt(2.0 * np.asarray(sizes, dtype=np.float64))

    known = np.broadcast_to(np.asarray(half_cauchy, dtype=np.float64), scale.shape)

    def minus(s: Array) -> tuple[float, Any]:
        value, slopes = evidence(s / scale)
        log_prior, of_prior = _log_half_cauchy(s / scale - shift, known)
        return -value - log_prior, -(slopes + of_prior) / scale

    low, high = (LOWEST + shift) * scale, (HIGHEST + shift) * scale
    found = optimize.minimize(
        minus,
        np.clip(start * scale, low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        options={"gtol": flat, "ftol": _ROUNDING, "maxfun": _MOST, "maxcor": 20},
    )
    log_spreads = found.x / scale
    slopes = -found.jac * scale - _log_half_cauchy(log_spreads - shift, known)[1]
    return Spreads(log_spreads, slopes, int(found.nfev), bool(found.nfev < _MOST))


def _log_half_cauchy(t: Array, known: Array) -> tuple[float, Array]:
    """Return Σ ln p over logarithms of half-Cauchy numbers, those that are known to be, and its slopes."""
    logs = np.log(2.0 / np.pi) + t - np.logaddexp(0.0, 2.0 * t)
    return float(known @ logs), -known * np.tanh(t)


def spread_interval(log_spread: float, slope: float, determined: Array) -> tuple[float, float]:
    r"""Return where a spread lies with a probability of about 90 %.

    The logarithm of the spread has the information :math:`2\sum_l\gamma_l^2`, where γ is the share
    of each effect that the data determine. Where that is next to nothing the evidence falls
    exponentially in the variance, and the interval begins at 0.

    Parameters
    ----------
    log_spread, slope : float
        Where the evidence is highest, and its slope there.
    determined : (L,)
        γ of the levels.
    """
    information = 2.0 * float(determined @ determined)
    spread = float(np.exp(log_spread))
    if information < _FEW and slope < 0:
        fall = -0.5 * slope / spread**2  # −dF/dσ²
        return 0.0, float(np.hypot(spread, np.sqrt(_EXPONENTIAL / fall)))
    half = _NORMAL * min(_WIDEST, information**-0.5 if information > 0 else _WIDEST)
    return spread * float(np.exp(-half)), spread * float(np.exp(half))
