r"""A density from counts: K of N rows lie in a small region of volume V.

.. math:: K \sim \mathrm{Binomial}(N, P), \qquad P \approx p(x)\,V, \qquad p(x) \approx \frac{K}{N V}.

With V fixed and K counted this is a kernel density, with K fixed and V measured that of neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.numerics.validation import nonnegative, positive, whole

__all__ = ["ball_volume", "local_density", "log_ball_volume"]


def local_density(count: Any, n: Any, volume: Any) -> Array:
    """Return K/(N V), the density where ``count`` of ``n`` rows lie in a region of that volume.

    Parameters
    ----------
    count : array_like
        K, from 0 to N.
    n : array_like
        N > 0.
    volume : array_like
        V > 0.

    Examples
    --------
    >>> local_density(2, 3, 2.0).round(6)
    np.float64(0.333333)
    """
    k, total, v = nonnegative("count", count), positive("n", n), positive("volume", volume)
    if np.any(k > total):
        raise ValueError(f"count must not exceed n, got {count!r} of {n!r}")
    return np.asarray(k / total / v)[()]


def ball_volume(d: Any, r: Any) -> Array:
    r"""Return the volume of a ball, :math:`\pi^{d/2} r^d / \Gamma(d/2 + 1)`.

    Parameters
    ----------
    d : array_like
        Dimension, a whole number >= 1.
    r : array_like
        Radius >= 0.

    Examples
    --------
    >>> ball_volume([1, 2, 3], 1.0).round(6)
    array([2.      , 3.141593, 4.18879 ])
    """
    dimension, radius = whole("d", d), nonnegative("r", r)
    if np.any(dimension < 1):
        raise ValueError(f"d must be at least 1, got {d!r}")
    return np.exp(log_ball_volume(dimension, radius))[()]


def log_ball_volume(d: Any, r: Any) -> Array:
    """Return the logarithm of a ball's volume; −inf for radius 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(
            0.5 * np.asarray(d) * np.log(np.pi)
            + np.asarray(d) * np.log(r)
            - special.gammaln(0.5 * np.asarray(d) + 1.0)
        )
