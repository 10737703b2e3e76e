r"""Counts that are predicted from a normal log mean η, and level off where the data end.

With the largest count T that was seen

.. math:: \mu = e^\eta\ \ (e^\eta\le T),\qquad \mu = T\,(2 - T/e^\eta)\ \ (e^\eta > T),

and given μ counts are negative binomial with ln r, which is infinite where they are Poisson.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.counts.negative_binomial import NegativeBinomial
from posteriori.distributions.counts.poisson import Poisson
from posteriori.inference.predictors.curves.count_curves import LARGEST
from posteriori.numerics.calculus.level_off import level_off, levelled_mean, levelled_spread
from posteriori.numerics.types import Array

__all__ = ["count_member", "count_width"]

#: How far η moves where its mean levels off until that has another slope, and where that begins.
_BEND, _NEAR = 0.25, 1.0

#: Rates that vary by less, as a share of their squared mean, do not vary.
_LEAST = 1e-12


def count_width(eta: Array, log_count: Any, log_top: float) -> Array:
    """Return how far log means η must move to change the distribution of the count.

    Parameters
    ----------
    eta : (...)
    log_count : (...)
        ln r; infinity is Poisson.
    log_top : float
        ln T.
    """
    counted = np.exp(-np.clip(level_off(eta, log_top), 0.0, LARGEST))
    width = np.sqrt(counted + np.exp(-np.maximum(log_count, 0.0)))
    return np.where(eta > log_top - _NEAR, np.minimum(width, _BEND), width)


def count_member(eta: Array, log_count: Any, blur: Array, log_top: float) -> Any:
    """Return the distribution of counts with log means N(η, blur), which level off.

    Parameters
    ----------
    eta : (...)
    log_count : (...)
        ln r; infinity is Poisson.
    blur : (...)
    log_top : float
        ln T.

    Examples
    --------
    >>> count_member(np.zeros(1), np.inf, np.zeros(1), np.log(9.0))
    Poisson([1.])
    """
    mean, spread = np.exp(level_off(eta, log_top)), np.zeros_like(eta)
    blurred = np.broadcast_to(blur > 0, eta.shape)
    if blurred.any():
        at, variance = eta[blurred], np.broadcast_to(blur, eta.shape)[blurred]
        mean[blurred] = levelled_mean(at, variance, log_top)
        spread[blurred] = levelled_spread(at, variance, log_top)
    mean, own = np.maximum(mean, np.exp(-LARGEST)), np.exp(-np.asarray(log_count))
    varies = own + spread * (1.0 + own)  # of two factors of mean 1: (1 + own)(1 + spread) − 1
    if not np.any(varies):
        return Poisson(mean)
    return NegativeBinomial(1.0 / np.maximum(varies, _LEAST), mean=mean)
