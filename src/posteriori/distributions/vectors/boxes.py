r"""Probabilities of boxes under multivariate normals,
:math:`P(l\le x\le u) = \int_{l_1}^{u_1}\cdots\int_{l_D}^{u_D} N(x\mid m, \Sigma)\,dx`.

One dimension is a difference of normal integrals, two are an integral of that over the other
coordinate, more are left to quasi-Monte Carlo (A. Genz, 1992).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from posteriori.numerics.lazy import special, stats
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.distributions.vectors.mvnormal import MvNormal

__all__ = ["box_probability"]

_TAIL = 38.5  # the normal density is 0 in double precision beyond

#: Widths below which Φ(b) − Φ(a) cancels, and the density is integrated instead.
_NARROW = 0.25

#: What quasi-Monte Carlo is asked for in more than two dimensions.
_ABSOLUTE_ERROR = 1e-5


def box_probability(normal: MvNormal, lower: Array, upper: Array) -> Array:
    """Return P(lower <= x <= upper), coordinatewise.

    Parameters
    ----------
    normal : MvNormal
        Distribution or batch of them; the covariance may be singular.
    lower, upper : array (..., D)
        Corners of the box, possibly infinite; they broadcast against the batch.

    Returns
    -------
    array (...)
        Exact to rounding for D = 1 and 2, also far out in the tails; for larger D the absolute
        error is about 1e-5 (Genz's quasi-Monte Carlo with a fixed seed).

    Raises
    ------
    ValueError
        When a lower bound lies above the upper one, or a bound is NaN.

    Examples
    --------
    >>> from posteriori import MvNormal
    >>> p = MvNormal([0.0, 1.0], cov=[[0.8, 0.5], [0.5, 1.0]])
    >>> box_probability(p, np.array([0.0, 1.0]), np.array([2.0, 2.0])).round(8)
    np.float64(0.20823322)
    """
    size = normal.event_shape[0]
    corners = np.shape(lower), np.shape(upper)
    if any(shape and shape[-1] not in (1, size) for shape in corners):
        raise ValueError(f"bounds must have {size} entries, got shapes {corners[0]}, {corners[1]}")
    if np.any(np.isnan(lower)) or np.any(np.isnan(upper)):
        raise ValueError("bounds must not be NaN; use -inf and inf for open sides")
    if np.any(np.asarray(lower) > np.asarray(upper)):
        raise ValueError("lower must not exceed upper")
    shape = np.broadcast_shapes(*corners, (*normal.batch_shape, size))
    low = np.broadcast_to(lower, shape) - normal.mean
    high = np.broadcast_to(upper, shape) - normal.mean
    cov = np.broadcast_to(normal.cov, (*shape, size))
    out = np.empty(shape[:-1])
    for index in np.ndindex(out.shape):
        out[index] = _centred_box(low[index], high[index], cov[index])
    return out[()]


def _centred_box(low: Array, high: Array, cov: Array) -> float:
    """Return the probability of a box around a normal of mean 0."""
    scale = np.sqrt(np.diagonal(cov))
    known = scale == 0
    if np.any(known & ((low > 0) | (high < 0))):
        return 0.0
    free = ~known
    a, b = low[free] / scale[free], high[free] / scale[free]
    if len(a) == 0:
        return 1.0
    if len(a) == 1:
        return float(_interval(a[0], b[0]))
    correlation = cov[np.ix_(free, free)] / np.outer(scale[free], scale[free])
    if len(a) == 2:
        return _rectangle(a, b, float(correlation[0, 1]))
    return _by_quasi_monte_carlo(a, b, correlation)


def _interval(a: Array, b: Array) -> Array:
    """Return Φ(b) − Φ(a), from the side where the numbers are small."""
    flip = a > 0
    near, far = np.where(flip, -b, a), np.where(flip, -a, b)
    difference = special.ndtr(far) - special.ndtr(near)
    with np.errstate(invalid="ignore"):
        width = far - near  # NaN where both are the same infinity
    narrow = width < _NARROW
    if not np.any(narrow):
        return difference
    # neighbouring values of Φ cancel: integrate the density instead
    nodes, weights = _gauss_rule()
    half = 0.5 * np.where(narrow, width, 0.0)
    middle = np.where(narrow, near + half, 0.0)
    z = middle[..., None] + half[..., None] * nodes
    integral = half * (weights * np.exp(-0.5 * (z * z + LOG_2PI))).sum(axis=-1)
    return np.where(narrow, integral, difference)


def _rectangle(a: Array, b: Array, correlation: float) -> float:
    r"""Integrate :math:`\phi(z)\,[\Phi(\beta(z)) - \Phi(\alpha(z))]` over z between the first bounds.

    Given z the other coordinate is normal with mean ρz and variance 1 − ρ². Panels of unit width,
    refined around the points where the conditional probability rises, carry 20 Gauss nodes each.
    """
    spread = np.sqrt(max((1.0 - correlation) * (1.0 + correlation), 0.0))
    if spread < 1e-8:  # the two coordinates are one
        sign = np.sign(correlation)
        other = np.sort(sign * np.array([a[1], b[1]]))
        first, last = max(a[0], other[0]), min(b[0], other[1])
        return float(_interval(np.asarray(first), np.asarray(last))) if first < last else 0.0
    nodes, weights = _gauss_rule()
    edges = _panels(a, b, correlation, spread)
    half = 0.5 * np.diff(edges)
    z = (edges[:-1] + half)[:, None] + half[:, None] * nodes
    inner = _interval((a[1] - correlation * z) / spread, (b[1] - correlation * z) / spread)
    density = np.exp(-0.5 * (z * z + LOG_2PI))
    return float((half[:, None] * weights * density * inner).sum())


@cache
def _gauss_rule() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(20)


def _panels(a: Array, b: Array, correlation: float, spread: float) -> Array:
    low, high = np.clip([a[0], b[0]], -_TAIL, _TAIL)
    marks = [np.array([low, high]), np.arange(np.floor(low), np.ceil(high) + 1.0)]
    if correlation:
        width = spread / abs(correlation)
        steps = width * 2.0 ** np.arange(-1.0, 12.0)
        around = np.concatenate([-steps[::-1], [0.0], steps])
        marks += [c / correlation + around for c in (a[1], b[1]) if np.isfinite(c)]
    edges = np.unique(np.concatenate(marks))
    return edges[(edges >= low) & (edges <= high)]


def _by_quasi_monte_carlo(a: Array, b: Array, correlation: Array) -> float:
    value = stats.multivariate_normal.cdf(
        b,
        mean=np.zeros(len(b)),
        cov=correlation,
        allow_singular=True,
        abseps=_ABSOLUTE_ERROR,
        releps=0.0,
        lower_limit=a,
        rng=np.random.default_rng(0),
    )
    return float(np.clip(value, 0.0, 1.0))
