r"""Special functions in forms that keep their digits.

The normalisers of the gamma, beta, Dirichlet and Poisson families all contain
:math:`\ln\Gamma`, whose value for large arguments dwarfs the log density that is wanted.
Splitting off Stirling's leading terms,

.. math:: \ln\Gamma(a) = (a - \tfrac12)\ln a - a + \tfrac12\ln 2\pi + R(a),

leaves the small correction :math:`R(a) = 1/(12a) - \dots`; the large parts then cancel on paper
(C. Loader, "Fast and accurate computation of binomial probabilities", 2000).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from posteriori.numerics.types import Array

__all__ = [
    "gamma_density_kernel",
    "gamma_kernel",
    "log1pmx",
    "log_gamma_bregman",
    "log_gamma_bregman_remainder",
    "log_gamma_correction",
    "log_gamma_correction_slope",
    "multivariate_digamma",
    "multivariate_log_gamma",
    "relative_entropy_terms",
]

LOG_2PI = 1.8378770664093453
_LARGE = 10.0  # from here on the asymptotic series below are exact to rounding


def log1pmx(x: ArrayLike, whole: ArrayLike | None = None) -> Array:
    r"""Return :math:`\ln(1+x) - x` without cancellation near 0.

    With :math:`t = x/(2+x)`: :math:`-xt + 2t^3(\tfrac13 + \tfrac{t^2}5 + \tfrac{t^4}7 + \dots)`.
    Near x = −1 the digits of 1 + x are lost in x; ``whole`` hands them in, say as a ratio.

    Examples
    --------
    >>> print(f"{log1pmx(1e-6):.12g}")  # -x²/2 + x³/3
    -4.99999666667e-13
    """
    x = np.asarray(x, dtype=np.float64)
    near = np.abs(x) < 0.5
    t = np.where(near, x / np.where(near, 2.0 + x, 1.0), 0.0)
    series = np.polynomial.polynomial.polyval(t * t, _ODD_RECIPROCALS)
    with np.errstate(divide="ignore"):
        log = np.log1p(np.where(near, 0.0, x)) if whole is None else np.log(whole)
        far = log - x
    return np.where(near, -x * t + 2.0 * t**3 * series, far)[()]


_ODD_RECIPROCALS = 1.0 / np.arange(3.0, 37.0, 2.0)


def log_gamma_correction(a: ArrayLike) -> Array:
    r"""Return :math:`R(a) = \ln\Gamma(a) - (a-\tfrac12)\ln a + a - \tfrac12\ln 2\pi` for a > 0."""
    a = np.asarray(a, dtype=np.float64)
    large = a >= _LARGE
    small = np.where(large, 1.0, a)
    direct = special.gammaln(small) - (small - 0.5) * np.log(small) + small - 0.5 * LOG_2PI
    r = 1.0 / np.where(large, a, 1.0)
    series = r * np.polynomial.polynomial.polyval(r * r, _STIRLING)
    return np.where(large, series, direct)[()]


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def log_gamma_correction_slope(a: ArrayLike) -> Array:
    r"""Return :math:`R'(a) = \psi(a) - \ln a + 1/(2a)` for a > 0."""
    a = np.asarray(a, dtype=np.float64)
    large = a >= _LARGE
    small = np.where(large, 1.0, a)
    direct = special.digamma(small) - np.log(small) + 0.5 / small
    r2 = 1.0 / np.where(large, a, 1.0) ** 2
    series = -r2 * np.polynomial.polynomial.polyval(r2, _STIRLING_SLOPE)
    return np.where(large, series, direct)[()]


_STIRLING_SLOPE = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def gamma_kernel(a: ArrayLike, u: ArrayLike) -> Array:
    r"""Return :math:`K(a, u) = a\ln u - u - \ln\Gamma(a)` for a > 0, u >= 0, at any scale.

    With Stirling's terms cancelled, :math:`K = \tfrac12\ln\frac{a}{2\pi} - R(a)
    + a\,[\ln(1+r) - r]` and :math:`r = (u-a)/a`. The log densities of the gamma, Poisson, beta,
    Dirichlet, binomial and multinomial families are sums of this one function:
    a gamma with unit rate is :math:`K(a, x) - \ln x`, a Poisson :math:`K(x, \lambda) - \ln x`.

    Examples
    --------
    >>> round(float(gamma_kernel(3.0, 2.0)), 12)  # 3 ln 2 - 2 - ln 2
    -0.61370563888
    """
    a = np.asarray(a, dtype=np.float64)
    u = np.asarray(u, dtype=np.float64)
    r = (u - a) / a
    excess = a * log1pmx(r, u / a)
    return (0.5 * (np.log(a) - LOG_2PI) - log_gamma_correction(a) + excess)[()]


def gamma_density_kernel(a: ArrayLike, u: ArrayLike) -> Array:
    r"""Return :math:`K(a, u) - \ln u`, the log density of a unit-rate gamma, also at u = 0."""
    u = np.asarray(u, dtype=np.float64)
    zero = u == 0
    inner = np.where(zero, 1.0, u)
    limit = np.where(np.asarray(a) > 1, -np.inf, np.where(np.asarray(a) < 1, np.inf, 0.0))
    return np.where(zero, limit, gamma_kernel(a, inner) - np.log(inner))[()]


def log_gamma_bregman(a: ArrayLike, b: ArrayLike) -> Array:
    r"""Return :math:`\ln\Gamma(a) - \ln\Gamma(b) - (a-b)\psi(b)`, the Bregman divergence of lnΓ.

    It is the leading part :math:`a\ln(a/b) - a + b` plus what
    :func:`log_gamma_bregman_remainder` returns.
    """
    a = np.asarray(a, dtype=np.float64)
    b = np.asarray(b, dtype=np.float64)
    return relative_entropy_terms(a, b) + log_gamma_bregman_remainder(a, b)


def log_gamma_bregman_remainder(a: Array, b: Array) -> Array:
    r"""Return :func:`log_gamma_bregman` less its leading part :math:`a\ln(a/b) - a + b`."""
    correction = (
        log_gamma_correction(a) - log_gamma_correction(b) - (a - b) * log_gamma_correction_slope(b)
    )
    return -0.5 * log1pmx((a - b) / b, a / b) + correction


def relative_entropy_terms(a: ArrayLike, b: ArrayLike, gap: ArrayLike | None = None) -> Array:
    r"""Return :math:`a\ln(a/b) - a + b` elementwise for a >= 0, b >= 0: never negative.

    These are the terms of a Kullback–Leibler divergence between measures. For a near b the
    value is :math:`b\,[(1+r)(\ln(1+r) - r) + r^2]` with :math:`r = (a-b)/b`, free of cancellation;
    ``gap`` hands in a − b where it is known better than by subtraction.
    """
    a = np.asarray(a, dtype=np.float64)
    b = np.asarray(b, dtype=np.float64)
    positive = b > 0
    gap = a - b if gap is None else np.asarray(gap, dtype=np.float64)
    r = np.where(positive, gap / np.where(positive, b, 1.0), 1.0)
    near = np.abs(r) < 0.5
    small = np.where(near, r, 0.0)
    series = b * ((1.0 + small) * log1pmx(small) + small * small)
    return np.where(near, series, special.rel_entr(a, b) - a + b)[()]


def multivariate_log_gamma(a: ArrayLike, dim: int) -> Array:
    r"""Return :math:`\ln\Gamma_D(a) = \tfrac{D(D-1)}4\ln\pi + \sum_{i<D}\ln\Gamma(a - i/2)`.

    Examples
    --------
    >>> float(multivariate_log_gamma(2.0, 1))  # ln Γ(2)
    0.0
    """
    shifted = np.asarray(a, dtype=np.float64)[..., None] - 0.5 * np.arange(dim)
    constant = 0.25 * dim * (dim - 1) * np.log(np.pi)
    return special.gammaln(shifted).sum(axis=-1) + constant


def multivariate_digamma(a: ArrayLike, dim: int, order: int = 0) -> Array:
    r"""Return :math:`\sum_{i<D}\psi^{(order)}(a - i/2)`, a derivative of :math:`\ln\Gamma_D`."""
    shifted = np.asarray(a, dtype=np.float64)[..., None] - 0.5 * np.arange(dim)
    if order == 0:
        return special.digamma(shifted).sum(axis=-1)
    return special.polygamma(order, shifted).sum(axis=-1)
