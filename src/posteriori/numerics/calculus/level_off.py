r"""Exponentials that level off: means with a log link, bounded where the data end.

.. math:: g(\eta) = \begin{cases} e^\eta & e^\eta \le T\\ T\,(2 - T/e^\eta) & e^\eta > T\end{cases}

goes on from T with the slope that it has there, grows ever slower, and never reaches 2T. Of a normal
predictor its mean and its variance are known in closed form.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = ["level_off", "levelled_mean", "levelled_spread"]

#: Means below this share of the top have squares too small for a ratio.
_LEAST = 1e-100


def level_off(log_mean: Array, log_top: float) -> Array:
    """Return ln g: logarithms of means as they are up to the top, and below top + ln 2 everywhere.

    Examples
    --------
    >>> np.exp(level_off(np.log([1.0, 10.0, 20.0, 1e9]), np.log(10.0))).round(2)
    array([ 1., 10., 15., 20.])
    """
    beyond = np.maximum(log_mean - log_top, 0.0)
    return np.where(beyond > 0, log_top + np.log1p(-np.expm1(-beyond)), log_mean)


def levelled_mean(mean: Array, variance: Array, log_top: float) -> Array:
    r"""Return the mean of g(η) of normal predictors, (N,).

    With :math:`u = \ln T` it is

    .. math:: e^{m+v/2}\,\Phi\Bigl(\frac{u-m-v}s\Bigr) + T\Bigl\{2\Phi\Bigl(\frac{m-u}s\Bigr)
              - e^{u-m+v/2}\,\Phi\Bigl(\frac{m-u-v}s\Bigr)\Bigr\}.
    """
    gap, std = mean - log_top, np.sqrt(variance)
    with np.errstate(over="ignore"):  # infinitely many standard deviations are a certain answer
        inside, outside = _tilted_share(gap, variance, std), _tilted_share(-gap, variance, std)
        share = inside + 2.0 * special.ndtr(gap / std) - outside
    return np.exp(log_top) * np.clip(share, 0.0, 2.0)


def levelled_spread(mean: Array, variance: Array, log_top: float) -> Array:
    r"""Return Var[g(η)] / E[g(η)]² of normal predictors, (N,).

    The second moment is

    .. math:: e^{2m+2v}\,\Phi\Bigl(\frac{u-m-2v}s\Bigr) + T^2\Bigl\{4\Phi\Bigl(\frac{m-u}s\Bigr)
              - 4e^{u-m+v/2}\,\Phi\Bigl(\frac{m-u-v}s\Bigr)
              + e^{2(u-m)+2v}\,\Phi\Bigl(\frac{m-u-2v}s\Bigr)\Bigr\}.

    Where the mean is next to nothing the spread is taken as v: it makes no difference there.
    """
    gap, std = mean - log_top, np.sqrt(variance)
    with np.errstate(over="ignore"):
        below = _tilted_share(2.0 * gap, 4.0 * variance, 2.0 * std)
        beyond = _tilted_share(-2.0 * gap, 4.0 * variance, 2.0 * std)
        outside = _tilted_share(-gap, variance, std)
        square = below + 4.0 * special.ndtr(gap / std) - 4.0 * outside + beyond
    share = levelled_mean(mean, variance, log_top) / np.exp(log_top)
    tiny = share < _LEAST
    ratio = np.clip(square, 0.0, 4.0) / np.where(tiny, 1.0, share) ** 2
    return np.where(tiny, variance, np.maximum(ratio - 1.0, 0.0))


def _tilted_share(gap: Array, variance: Array, std: Array) -> Array:
    """Return exp(gap + v/2) Φ(−(gap + v)/s), also where the one is huge and the other tiny."""
    a = (gap + variance) / std
    huge = 0.5 * special.erfcx(np.maximum(a, 0.0) / np.sqrt(2.0)) * np.exp(-0.5 * (gap / std) ** 2)
    plain = np.exp(np.minimum(gap + 0.5 * variance, 0.0)) * special.ndtr(-a)
    return np.where(a > 0, huge, plain)
