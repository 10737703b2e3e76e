r"""What the Poisson, binomial and multinomial families share.

Counts given their total are Poisson counts conditioned on it, so every log mass is a sum of

.. math:: \ln\mathrm{Poi}(x; u) = -\tfrac12\ln(2\pi x) - R(x) + x\,[\ln(1+r) - r],
          \qquad r = (u-x)/x,

with R the correction to Stirling's formula (C. Loader, "Fast and accurate computation of
binomial probabilities", 2000): no large terms cancel, at any scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from scipy import special

from posteriori.numerics.special import LOG_2PI, log_gamma_correction
from posteriori.numerics.types import Array

__all__ = [
    "binomial_log_mass",
    "count_quantile",
    "expect_over_counts",
    "joint_poisson_log_mass",
    "off_whole_numbers",
    "poisson_log_mass",
]

_Real = TypeVar("_Real", float, Array)

_BLOCK = 1 << 13  # values per block: temporaries stay in the processor's cache
_FEW = 8  # fewer numbers are quicker done one by one
_SMALL = 16.0  # below, R is looked up; from here on its series is exact to rounding
_CORRECTIONS = np.append(0.0, log_gamma_correction(np.arange(1.0, _SMALL)))
_CORRECTION_LIST: list[float] = _CORRECTIONS.tolist()
_LOG_FACTORIALS = special.gammaln(np.arange(1.0, _SMALL + 1.0))
_LOG_FACTORIAL_LIST: list[float] = _LOG_FACTORIALS.tolist()
_NEAR = 0.1  # |u − x| below this share of u + x: ln(1+r) − r by its series


def poisson_log_mass(x: Array, rate: Array) -> Array:
    r"""Return :math:`x\ln u - u - \ln x!` for whole numbers x >= 0 and rates u >= 0.

    Examples
    --------
    >>> round(float(poisson_log_mass(np.float64(3.0), np.float64(2.0))), 12)
    -1.712317927548
    """
    if not (x.ndim or rate.ndim):
        return np.float64(_log_mass_of_number(float(x), float(rate)))  # type: ignore[return-value]
    shape = np.broadcast_shapes(x.shape, rate.shape)
    flat = np.broadcast_to(x, shape).reshape(-1)
    rates = np.broadcast_to(rate, shape).reshape(-1) if rate.ndim else rate
    out = np.empty(flat.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(0, flat.size, _BLOCK):
            part = slice(i, i + _BLOCK)
            out[part] = _log_mass_of_block(flat[part], rates[part] if rate.ndim else rate)
    return out.reshape(shape)


def joint_poisson_log_mass(x: Array, rate: Array) -> Array:
    """Return the log mass of independent counts (..., K): the sum over the last axis."""
    if x.ndim == 1 and rate.ndim == 1 and x.size < _FEW:
        parts = map(_log_mass_of_number, x.tolist(), rate.tolist())
        return np.float64(sum(parts))  # type: ignore[return-value]
    total: Array = poisson_log_mass(x, rate).sum(axis=-1)
    return total


def binomial_log_mass(x: Array, trials: Array, probability: Array) -> Array:
    r"""Return :math:`\ln\binom nx p^x(1-p)^{n-x}` for whole x between 0 and n."""
    ones = poisson_log_mass(x, trials * probability)
    zeros = poisson_log_mass(trials - x, trials * (1.0 - probability))
    return ones + zeros - poisson_log_mass(trials, trials)


def off_whole_numbers(x: Array) -> Any:
    """Mark what is not 0, 1, 2, …; NaN is left unmarked, for the density to complain about."""
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


_WINDOW = np.arange(-212.0, 213.0)


def count_quantile(
    cdf: Callable[[Array], Array], q: Array, mean: Array, variance: Array, upper: Array
) -> Array:
    """Return the least whole number with cdf(x) >= q, by bisection; ``upper`` where q = 1."""
    reach = 40.0 * np.sqrt(variance) + 800.0  # beyond, probabilities are below 1e-300
    shape = np.broadcast_shapes(np.shape(q), np.shape(mean), np.shape(upper))
    low = np.broadcast_to(np.maximum(np.floor(mean - reach), 0.0) - 1.0, shape)
    high = np.broadcast_to(np.minimum(np.ceil(mean + reach), upper), shape)
    for _ in range(int(np.ceil(np.log2(np.max(high - low, initial=2.0)))) + 1):
        middle = np.floor(0.5 * (low + high))
        enough = (cdf(middle) >= q) & (middle >= 0)
        high = np.where(enough, middle, high)
        low = np.where(enough | (high - low <= 1.0), low, middle)
    inner = np.where(q > 0, high, 0.0)
    return np.where((q >= 1.0) & (variance > 0), upper, inner)[()]


# -- the kernel, for a number and for a block ------------------------------------------------


def _log_mass_of_number(x: float, u: float) -> float:
    """Repeat the steps of :func:`_log_mass_of_block`, to the last bit."""
    if not x > 0.0:
        return -u if x == 0.0 else math.nan
    if u == 0.0:
        return -math.inf
    if x < _SMALL and u < _SMALL:
        return x * float(np.log(u)) - u - _LOG_FACTORIAL_LIST[int(x)]
    gap = u - x
    t = gap / (u + x)
    log_x = float(np.log(x))
    if -_NEAR < t < _NEAR:
        s = t * t
        excess = 2.0 * x * s * t * _log_series(s) - gap * t
    else:
        excess = x * (float(np.log(u)) - log_x) - gap
    r = 1.0 / x
    correction = r * _stirling_series(r * r) if x >= _SMALL else _CORRECTION_LIST[int(x)]
    return excess - 0.5 * (LOG_2PI + log_x) - correction


def _log_mass_of_block(x: Array, u: Array) -> Array:
    small = (x < _SMALL) & (u < _SMALL)
    if not small.any():
        return _log_mass_of_large(x, u)
    code = np.where(small, x, 0.0).astype(np.intp)
    direct = np.where(code == 0, 0.0, x * np.log(u)) - u - _LOG_FACTORIALS[code]
    return direct if small.all() else np.where(small, direct, _log_mass_of_large(x, u))


def _log_mass_of_large(x: Array, u: Array) -> Array:
    zero = x == 0
    count = np.where(zero, 1.0, x) if zero.any() else x
    gap = u - count
    t = gap / (u + count)
    logs = np.log(count)
    s = t * t
    excess = 2.0 * count * s * t * _log_series(s) - gap * t
    far = np.abs(t) >= _NEAR
    if far.any():
        excess = np.where(far, count * (np.log(u) - logs) - gap, excess)
    excess = excess - 0.5 * (LOG_2PI + logs) - _correction_of_block(count)
    return np.where(zero, -u, excess) if zero.any() else excess


def _log_series(s: _Real) -> _Real:
    """Return (ln((1+t)/(1−t))/(2t) − 1)/t² at s = t² < 0.01, exact to rounding."""
    return 1 / 3 + s * (
        1 / 5 + s * (1 / 7 + s * (1 / 9 + s * (1 / 11 + s * (1 / 13 + s * (1 / 15 + s / 17)))))
    )


def _stirling_series(s: _Real) -> _Real:
    """Return x R(x) at s = 1/x² < 1/256, exact to rounding."""
    return 1 / 12 + s * (-1 / 360 + s * (1 / 1260 + s * (-1 / 1680 + s * (1 / 1188))))


def _correction_of_block(x: Array) -> Array:
    r = 1.0 / x
    series = r * _stirling_series(r * r)
    small = x < _SMALL
    if not small.any():
        return series
    looked_up = _CORRECTIONS[np.where(small, x, 0.0).astype(np.intp)]
    return np.where(small, looked_up, series)
