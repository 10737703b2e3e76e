r"""The log mass shared by the negative binomial, beta-binomial and Dirichlet-multinomial.

A negative binomial of real count r and mean μ is, with :math:`n = r + x`,
:math:`d = (x-\mu)/(r+\mu)` and R the correction to Stirling's formula,

.. math:: \ln p(x) = \ln\mathrm{Poi}\Bigl(x; \frac{n\mu}{r+\mu}\Bigr) + \tfrac12\ln\frac rn
          + R(n) - R(r) + r\,[\ln(1+d) - d],

which keeps its digits at any scale and tends to the Poisson mass as r grows. Counts given their
total are independent negative binomials conditioned on it, whence the other two.
"""

from __future__ import annotations

import math

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.special import log1pmx, log_gamma_correction, poisson_kernel
from posteriori.numerics.types import Array, number

__all__ = ["negative_binomial_log_mass"]

_SMALL = 200.0  # up to here ln Γ is small enough to be used as it is
_NEAR = 0.1  # |d| below: ln(1+d) − d by its series
_MANY = 256  # points from which a table of all masses is worth while


def negative_binomial_log_mass(x: Array, count: Array, mean: Array) -> Array:
    """Return the log mass at whole x >= 0, for counts > 0 and means >= 0.

    Examples
    --------
    >>> p = negative_binomial_log_mass(np.float64(2.0), np.float64(1.0), np.float64(1.0))
    >>> round(float(np.exp(p)), 12)  # geometric
    0.125
    """
    single = not (count.ndim or mean.ndim)
    if single and not x.ndim:
        return number(_of_number(float(x), float(count), float(mean)))
    if single and x.size >= _MANY and (last := x.max()) < x.size:
        table = _of_array(np.arange(last + 1.0), count, mean)
        return table[x.astype(np.intp)]
    return _of_array(x, count, mean)


def _of_array(x: Array, r: Array, mean: Array) -> Array:
    x, r, mean = np.broadcast_arrays(x, r, mean)
    n = r + x
    large = n >= _SMALL
    if not large.any():
        return _direct(x, r, mean)
    if large.all():
        return _stable(x, r, mean)
    out = np.empty(n.shape)
    out[large] = _stable(x[large], r[large], mean[large])
    out[~large] = _direct(x[~large], r[~large], mean[~large])
    return out


def _direct(x: Array, r: Array, mean: Array) -> Array:
    logs = special.gammaln(r + x) - special.gammaln(r) - special.gammaln(x + 1.0)
    return logs - r * np.log1p(mean / r) + special.xlogy(x, mean / (r + mean))


def _stable(x: Array, r: Array, mean: Array) -> Array:
    n, total = r + x, r + mean
    growth = r * log1pmx((x - mean) / total, n / total)
    corrections = log_gamma_correction(n) - log_gamma_correction(r)
    return poisson_kernel(x, n / total * mean) + 0.5 * np.log(r / n) + corrections + growth


def _of_number(x: float, r: float, mean: float) -> float:
    """Repeat the steps above for a single point."""
    if x == 0.0:
        return -r * math.log1p(mean / r)
    if mean == 0.0:
        return -math.inf
    n, total = r + x, r + mean
    if not n >= _SMALL:
        if math.isnan(n):
            return math.nan
        logs = math.lgamma(n) - math.lgamma(r) - math.lgamma(x + 1.0)
        return logs - r * math.log1p(mean / r) + x * math.log(mean / total)
    d = (x - mean) / total
    growth = r * (_log1pmx_near(d) if abs(d) < _NEAR else math.log(n / total) - d)
    poisson = float(poisson_kernel(number(x), number(n / total * mean)))
    return poisson + 0.5 * math.log(r / n) + _correction(n) - _correction(r) + growth


def _log1pmx_near(d: float) -> float:
    t = d / (2.0 + d)
    s = t * t
    series = 1 / 3 + s * (1 / 5 + s * (1 / 7 + s * (1 / 9 + s * (1 / 11 + s / 13))))
    return -d * t + 2.0 * t * s * series


def _correction(a: float) -> float:
    if a < 16.0:
        return math.lgamma(a) - (a - 0.5) * math.log(a) + a - 0.5 * math.log(2.0 * math.pi)
    r = 1.0 / a
    s = r * r
    return r * (1 / 12 + s * (-1 / 360 + s * (1 / 1260 + s * (-1 / 1680 + s / 1188))))
