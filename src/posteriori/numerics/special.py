r"""Special functions in forms that keep their digits.

The normalisers of the gamma, beta, Dirichlet and Poisson families all contain
:math:`\ln\Gamma`, whose value for large arguments dwarfs the log density that is wanted.
Splitting off Stirling's leading terms,

.. math:: \ln\Gamma(a) = (a - \tfrac12)\ln a - a + \tfrac12\ln 2\pi + R(a),

leaves the small correction :math:`R(a) = 1/(12a) - \dots`; the large parts then cancel on paper
(C. Loader, "Fast and accurate computation of binomial probabilities", 2000).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from posteriori.numerics.blocks.block_sizes import TEMPORARIES
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = [
    "gamma_density_kernel",
    "gamma_entropy",
    "gamma_kernel",
    "log1pmx",
    "log_gamma_bregman",
    "log_gamma_bregman_remainder",
    "log_gamma_correction",
    "log_gamma_correction_slope",
    "log_gamma_ratio",
    "multivariate_digamma",
    "multivariate_log_gamma",
    "poisson_kernel",
    "relative_entropy_terms",
]

#: ln 2π, of the normaliser of the normal distribution.
LOG_2PI = 1.8378770664093453
_LARGE = 10.0  # from here on the asymptotic series below are exact to rounding
_NEAR = 0.1  # below, the series of ln((1+t)/(1−t)) in t is exact to rounding
_MODERATE = 30.0  # up to here ln Γ is too small to cost digits


def log1pmx(x: ArrayLike, whole: ArrayLike | None = None) -> Array:
    r"""Return :math:`\ln(1+x) - x` without cancellation near 0.

    With :math:`t = x/(2+x)`: :math:`-xt + 2t^3(\tfrac13 + \tfrac{t^2}5 + \tfrac{t^4}7 + \dots)`.
    Near x = −1 the digits of 1 + x are lost in x; ``whole`` hands them in, say as a ratio.

    Examples
    --------
    >>> print(f"{log1pmx(1e-6):.12g}")  # -x²/2 + x³/3
    -4.99999666667e-13
    """
    x = _as_float(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = x / (2.0 + x)
        return _choose(
            np.abs(t) < _NEAR,
            lambda: 2.0 * t * (t * t) * _log_series(t * t) - x * t,
            lambda: (np.log1p(x) if whole is None else np.log(whole)) - x,
        )


def log_gamma_correction(a: ArrayLike) -> Array:
    r"""Return :math:`R(a) = \ln\Gamma(a) - (a-\tfrac12)\ln a + a - \tfrac12\ln 2\pi` for a > 0."""
    a = _as_float(a)
    return _choose(
        a >= _LARGE,
        lambda: _horner(1.0 / (a * a), _STIRLING) / a,
        lambda: special.gammaln(a) - (a - 0.5) * np.log(a) + a - 0.5 * LOG_2PI,
    )


#: Coefficients of Stirling's series, B₂ₖ/(2k(2k − 1)).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def log_gamma_correction_slope(a: ArrayLike) -> Array:
    r"""Return :math:`R'(a) = \psi(a) - \ln a + 1/(2a)` for a > 0."""
    a = _as_float(a)
    return _choose(
        a >= _LARGE,
        lambda: -_horner(1.0 / (a * a), _STIRLING_SLOPE) / (a * a),
        lambda: special.digamma(a) - np.log(a) + 0.5 / a,
    )


#: Those of its derivative, B₂ₖ/2k.
_STIRLING_SLOPE = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def gamma_entropy(a: ArrayLike) -> Array:
    r"""Return :math:`a + \ln\Gamma(a) + (1-a)\psi(a)`, the entropy of a gamma with shape a and rate 1.

    For large a with Stirling's terms cancelled: :math:`\tfrac12\ln(2\pi a) + \tfrac12 - \tfrac1{2a}
    + R(a) + (1-a)R'(a)`, where the series of R and R' have been added term by term.

    Examples
    --------
    >>> print(f"{gamma_entropy(1.0):.12g}")  # of an exponential
    1
    """
    a = _as_float(a)
    return _choose(
        a >= _LARGE,
        lambda: _large_gamma_entropy(a),
        lambda: a + special.gammaln(a) + (1.0 - a) * special.digamma(a),
    )


def _large_gamma_entropy(a: Array) -> Array:
    inverse = 1.0 / a
    odd = _horner(inverse * inverse, _STIRLING_ENTROPY)
    even = _horner(inverse * inverse, _STIRLING_SLOPE)
    return 0.5 * (np.log(a) + (LOG_2PI + 1.0)) + inverse * (odd - 0.5 - inverse * even)


_STIRLING_ENTROPY = tuple(r + s for r, s in zip(_STIRLING, _STIRLING_SLOPE, strict=True))


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
    return _in_blocks(_gamma_kernel, _as_float(a), _as_float(u))


def _gamma_kernel(a: Array, u: Array) -> Array:
    height = 0.5 * (np.log(a) - LOG_2PI) - log_gamma_correction(a)
    return _kernel_excess(a, u) + height


def _kernel_excess(a: Array, u: Array) -> Array:
    """Return a [ln(1+r) − r] with r = (u − a)/a, for which t = r/(2 + r) = (u − a)/(u + a)."""
    gap = u - a
    t = gap / (u + a)
    return _choose(
        np.abs(t) < _NEAR,
        lambda: (2.0 * a * t * (t * t) * _log_series(t * t)) - gap * t,
        lambda: a * np.log(u / a) - gap if u.ndim or u else -np.inf + 0.0 * gap,
    )


def gamma_density_kernel(a: ArrayLike, u: ArrayLike) -> Array:
    r"""Return :math:`K(a, u) - \ln u`, the log density of a unit-rate gamma, also at u = 0."""
    a, u = _as_float(a), _as_float(u)
    return _choose(
        u > 0,
        lambda: gamma_kernel(a, u) - np.log(u),
        lambda: np.where(a > 1, -np.inf, np.where(a < 1, np.inf, 0.0))[()] + 0.0 * u,
    )


def poisson_kernel(x: ArrayLike, u: ArrayLike) -> Array:
    r"""Return :math:`x\ln u - u - \ln\Gamma(x+1) = K(x, u) - \ln x` for x >= 0, also at x = 0."""
    x, u = _as_float(x), _as_float(u)
    if u.max() <= _MODERATE if u.ndim else u <= _MODERATE:  # no large terms cancel
        return special.xlogy(x, u) - u - special.gammaln(x + 1.0)
    return _in_blocks(_poisson_kernel, x, u)


def _poisson_kernel(x: Array, u: Array) -> Array:
    def positive() -> Array:
        height = -0.5 * (np.log(x) + LOG_2PI) - log_gamma_correction(x)
        return _kernel_excess(x, u) + height

    return _choose(x > 0, positive, lambda: -u + 0.0 * x)


def log_gamma_bregman(a: ArrayLike, b: ArrayLike) -> Array:
    r"""Return :math:`\ln\Gamma(a) - \ln\Gamma(b) - (a-b)\psi(b)`, the Bregman divergence of lnΓ.

    It is the leading part :math:`a\ln(a/b) - a + b` plus what
    :func:`log_gamma_bregman_remainder` returns.
    """
    a, b = _as_float(a), _as_float(b)
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
    a, b = _as_float(a), _as_float(b)
    gap = a - b if gap is None else _as_float(gap)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r = gap / b
        return _choose(
            np.abs(r) < 0.5,
            lambda: b * ((1.0 + r) * log1pmx(r) + r * r),
            lambda: special.rel_entr(a, b) - a + b,
        )


def log_gamma_ratio(a: Array, step: Array | float) -> Array:
    r"""Return :math:`\ln\Gamma(a+h) - \ln\Gamma(a)` for h >= 0, at any a > 0.

    With Stirling's terms cancelled: :math:`h\ln(a+h) - \tfrac12\ln(1+\tfrac ha)
    + a[\ln(1+\tfrac ha) - \tfrac ha] + R(a+h) - R(a)`.

    Examples
    --------
    >>> print(f"{log_gamma_ratio(np.float64(3.0), 2.0):.12g}")  # ln 4!/2!
    2.48490664979
    """
    relative = step / a
    correction = log_gamma_correction(a + step) - log_gamma_correction(a)
    leading = step * np.log(a + step) - 0.5 * np.log1p(relative)
    return leading + a * log1pmx(relative) + correction


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


def _as_float(x: ArrayLike) -> Array:
    return x if type(x) is np.float64 else np.asarray(x, dtype=np.float64)[()]  # type: ignore[return-value]


def _choose(condition: Array, yes: Callable[[], Array], no: Callable[[], Array]) -> Array:
    """Evaluate the branch that applies; both, where an array needs both."""
    if not condition.ndim:
        return yes() if condition else no()
    if condition.all():
        return yes()
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(condition, yes(), no()) if condition.any() else no()


def _in_blocks(f: Callable[[Array, Array], Array], a: Array, u: Array) -> Array:
    """Evaluate f(a, u) for long arrays a block at a time."""
    if not (a.ndim or u.ndim):
        return f(a, u)
    if max(a.size, u.size) <= TEMPORARIES:
        with np.errstate(divide="ignore"):
            return f(a, u)
    shape = np.broadcast_shapes(a.shape, u.shape)
    flat = [np.broadcast_to(v, shape).reshape(-1) if v.ndim else v for v in (a, u)]
    out = np.empty(int(np.prod(shape)))
    with np.errstate(divide="ignore"):
        for first in range(0, out.size, TEMPORARIES):
            part = slice(first, first + TEMPORARIES)
            out[part] = f(*(v[part] if v.ndim else v for v in flat))
    return out.reshape(shape)


def _log_series(s: Array) -> Array:
    """Return (ln((1+t)/(1−t))/(2t) − 1)/t² at s = t²."""
    return _horner(s, _ODD_RECIPROCALS)


_ODD_RECIPROCALS = tuple(1.0 / k for k in range(3, 19, 2))


def _horner(s: Array, coefficients: tuple[float, ...]) -> Array:
    total = coefficients[-1] * s + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        total *= s
        total += coefficient
    return total
