r"""What the Poisson, binomial and multinomial families share.

Counts given their total are Poisson counts conditioned on it, so every log mass is a sum of

.. math:: \ln\mathrm{Poi}(x; u) = -\tfrac12\ln(2\pi x) - R(x) + x\,[\ln(1+r) - r],
          \qquad r = (u-x)/x,

with R the correction to Stirling's formula (C. Loader, "Fast and accurate computation of
binomial probabilities", 2000): no large terms cancel, at any scale.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posteriori.numerics.special import poisson_kernel
from posteriori.numerics.types import Array

__all__ = [
    "binomial_log_mass",
    "count_quantile",
    "expect_over_counts",
    "off_whole_numbers",
]

#: Quantiles are looked for up to here, and to this part of themselves.
_LARGEST, _RESOLUTION = 1e300, 2.0**-51


def binomial_log_mass(x: Array, trials: Array, probability: Array) -> Array:
    r"""Return :math:`\ln\binom nx p^x(1-p)^{n-x}` for whole x between 0 and n."""
    ones = poisson_kernel(x, trials * probability)
    zeros = poisson_kernel(trials - x, trials * (1.0 - probability))
    return ones + zeros - poisson_kernel(trials, trials)


def off_whole_numbers(x: Any) -> Any:
    """Mark what is not 0, 1, 2, …; NaN is left unmarked, for the density to complain about."""
    if type(x) is np.float64:
        return not (x >= 0 and x.is_integer()) and x == x
    return (x < 0) | (x == np.inf) | ((np.floor(x) != x) & (x == x))


def expect_over_counts(
    log_mass: Callable[..., Array],
    statistic: Callable[..., Array],
    mean: Array,
    variance: Array,
    *parameters: Array,
) -> Array:
    r"""Return :math:`\sum_x p(x) f(x)` over a window of 12 standard deviations and 20 more.

    Where the standard deviation exceeds 16 the sum visits every h-th point, h an eighth of it:
    by Poisson's summation formula that changes a smooth sum by :math:`e^{-2\pi^2 8^2}`, so the
    answer is exact to rounding at any scale, at the cost of 425 terms per distribution.

    Parameters
    ----------
    log_mass, statistic : callable
        ``f(x, *parameters)`` with a last axis for the window; log_mass is −inf off the support.
    mean, variance : array (...)
        Where the counts lie.
    *parameters : array (...)
        Handed on to the two functions.
    """
    shape = np.broadcast_shapes(*map(np.shape, (mean, variance, *parameters)))
    flat = [np.broadcast_to(p, shape).reshape(-1, 1) for p in (mean, variance, *parameters)]
    out = np.empty(flat[0].shape[0])
    for i in range(0, out.size, 256):
        centre, spread, *known = (p[i : i + 256] for p in flat)
        step = np.maximum(np.floor(np.sqrt(spread) / 8.0), 1.0)
        x = np.rint(centre) + step * _WINDOW
        log_p = log_mass(x, *known)
        inside = log_p > -np.inf
        terms = np.exp(log_p) * np.where(inside, statistic(np.where(inside, x, 0.0), *known), 0.0)
        out[i : i + 256] = step[:, 0] * terms.sum(axis=-1)
    return out.reshape(shape)[()]


#: Steps of an eighth of a standard deviation, 26 deviations to each side.
_WINDOW = np.arange(-212.0, 213.0)


def count_quantile(
    cdf: Callable[[Array], Array], q: Array, mean: Array, variance: Array, upper: Array
) -> Array:
    """Return the least whole number with cdf(x) >= q, by bisection; ``upper`` where q = 1, and
    the mean where that is infinite or not known.

    It begins between μ − σ √((1−q)/q) and μ + σ √(q/(1−q)) (Cantelli's inequality); while the ends
    differ by a large factor, their geometric mean is tried.
    """
    inner = np.clip(q, 1e-300, 1.0 - 2.0**-53)
    odds, centre = np.sqrt(inner / (1.0 - inner)), np.minimum(mean, _LARGEST)
    below, above = np.sqrt(variance) / odds, np.sqrt(variance) * odds
    shape = np.broadcast_shapes(np.shape(q), np.shape(mean), np.shape(upper))
    low = np.broadcast_to(np.maximum(np.floor(centre - below), 0.0) - 1.0, shape)
    high = np.minimum(np.ceil(centre + above) + 1.0, np.minimum(upper, _LARGEST))
    high = np.broadcast_to(high, shape)
    while np.any(high - low > np.maximum(1.0, _RESOLUTION * high)):
        least = np.maximum(low, 1.0)
        far = high > 8.0 * least
        middle = np.floor(np.where(far, np.sqrt(least) * np.sqrt(high), 0.5 * (low + high)))
        enough = (cdf(middle) >= q) & (middle >= 0)
        high = np.where(enough, middle, high)
        low = np.where(enough | (high - low <= 1.0), low, middle)
    inner = np.where(q > 0, np.where(np.isfinite(mean), high, mean), 0.0)
    return np.where((q >= 1.0) & (variance > 0), upper, inner)[()]
