r"""The Pólya-gamma distribution, the law of
:math:`\frac1{2\pi^2}\sum_{k\ge1}\frac{g_k}{(k-\frac12)^2 + c^2/(4\pi^2)}` with independent
:math:`g_k\sim\mathrm{Gamma}(b, 1)`.

With it a logistic likelihood is a mixture of normals,
:math:`\frac{e^{a\psi}}{(1+e^\psi)^b} = 2^{-b}e^{(a-b/2)\psi}\,E_{\omega\sim PG(b,0)}
[e^{-\omega\psi^2/2}]`. The Laplace transform is :math:`E[e^{-t\omega}] =
\cosh^b(\tfrac c2)\,\cosh^{-b}\sqrt{\tfrac{c^2}4 + \tfrac t2}`.

Reference: N. Polson, J. Scott & J. Windle, "Bayesian inference for logistic models using
Pólya-gamma latent variables", 2013.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.numerics.lazy import special
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation, positive, real

__all__ = ["PolyaGamma"]

_FIRST_POLE = -0.5 * np.pi**2  # where cosh √(s/2) has its first zero
_DECAY = 40.0  # the integrand is followed down to e⁻⁴⁰ of its peak
_NEGLIGIBLE = 80.0  # (b + 1)/x from where the second term of the series is below e⁻⁴⁰
_FAR = 1e10  # x/b from where the first pole alone counts
_SMALL_TILT = 0.05  # below it the variance is a series: its closed form cancels
_TERMS = 200  # gammas of the truncated sum
_STEEP = 80.0  # |c| from where cosh(c/2) is e^(|c|/2)/2: the law is an inverse Gaussian
_MOST_POINTS = 1e5  # of the trapezoidal rule
_MANY = 1000  # shapes up to here are drawn as sums of so many draws of shape 1
_SPLIT = 0.64  # where Devroye's proposal changes from inverse Gaussian to exponential


class PolyaGamma(Distribution):
    """Pólya-gamma distribution on the positive numbers.

    Parameters
    ----------
    shape : float or array
        Shape b > 0: sums of independent members with one tilt add their shapes.
    tilt : float or array
        Exponential tilt c: the density is that of c = 0 times exp(−c²x/2), normalised.

    Examples
    --------
    >>> PolyaGamma(1.0, 0.0).mean, PolyaGamma(1.0, 2.0).mean.round(6)
    (np.float64(0.25), np.float64(0.190399))
    >>> PolyaGamma(1.0).log_prob([0.1, 1.0]).round(6)
    array([ 1.284803, -3.096925])
    """

    _parameters = {"shape": 0, "tilt": 0}
    _shown = ("shape", "tilt")

    shape: Array
    tilt: Array

    def __new__(cls, shape: Any, tilt: Any = 0.0) -> Self:
        return cls._from(shape=positive("shape", shape), tilt=real("tilt", tilt))

    @cached_property
    def mean(self) -> Array:
        """Mean b tanh(c/2)/(2c), which is b/4 at c = 0."""
        return 0.25 * self.shape * _tanh_ratio(0.5 * self.tilt)

    @cached_property
    def variance(self) -> Array:
        """Variance b (sinh c − c)/(4c³ cosh²(c/2)), which is b/24 at c = 0."""
        return self.shape * _variance_of_one(np.abs(self.tilt))

    @property
    def std(self) -> Array:
        """Standard deviation."""
        return np.sqrt(self.variance)

    def laplace_transform(self, t: Any) -> Array:
        """Return E[exp(−t x)] for t >= 0."""
        t = as_observation(t, "t")
        if np.any(t < 0):
            raise ValueError("t must not be negative")
        at = np.sqrt(0.25 * self.tilt**2 + 0.5 * t)
        return np.exp(self.shape * (_log_cosh(0.5 * self.tilt) - _log_cosh(at)))

    # -- density ---------------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        tilted = self.shape * _log_cosh(0.5 * self.tilt) - 0.5 * self.tilt**2 * x
        return tilted + _log_density_without_tilt(x, self.shape)

    def _outside(self, x: Array) -> Any:
        return (x <= 0) | (x == np.inf)

    # -- draws -----------------------------------------------------------------------------

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        b = np.broadcast_to(self.shape, shape).ravel()
        half = 0.5 * np.abs(np.broadcast_to(self.tilt, shape).ravel())
        steep = half > 0.5 * _STEEP
        whole = (b == np.floor(b)) & (b <= _MANY) & ~steep
        real = ~(steep | whole)
        draws = np.empty(b.shape)
        draws[steep] = _inverse_gaussian(b[steep], half[steep], rng)
        draws[whole] = _sum_of_ones(b[whole], half[whole], rng)
        draws[real] = _truncated_sum(b[real], half[real], rng)
        return draws.reshape(shape)[()]


def _log_density_without_tilt(x: Array, shape: Array) -> Array:
    r"""Return ln p(x) of PG(b, 0) by inverting the Laplace transform.

    .. math:: p(x) = \frac1{2\pi i}\int e^{sx - b\ln\cosh\sqrt{s/2}}\,ds
              = \frac4\pi\int_0^\infty \mathrm{Re}\,\{w\,e^{sx - b\ln\cosh\sqrt{s/2}}\}\,dv

    on the parabola :math:`s = -\tfrac{\pi^2}2 + 2w^2`, :math:`w = \alpha + iv`, that crosses the
    real axis at the saddle point. The integrand falls like :math:`e^{-2xv^2}` without
    cancellation, so the trapezoidal rule keeps its digits in both tails and for every b, where
    the alternating series loses them for large x. For small x its first term is all there is.
    """
    x, b = np.broadcast_arrays(x, shape)
    flat_x, flat_b = x.reshape(-1), b.reshape(-1)
    out = _first_term(flat_x, flat_b)
    (rest,) = np.nonzero(flat_x > (flat_b + 1.0) / _NEGLIGIBLE)
    for i in range(0, rest.size, 1 << 12):
        part = rest[i : i + (1 << 12)]
        out[part] = _invert_transform(flat_x[part], flat_b[part])
    (far,) = np.nonzero(flat_x > _FAR * flat_b)
    out[far] = _at_first_pole(flat_x[far], flat_b[far])
    return out.reshape(x.shape)[()]


def _first_term(x: Array, b: Array) -> Array:
    """Return the logarithm of 2^(b−1) b exp(−b²/8x)/√(2πx³)."""
    return (b - 1.0) * np.log(2.0) + np.log(b) - 0.5 * LOG_2PI - 1.5 * np.log(x) - 0.125 * b * b / x


def _at_first_pole(x: Array, b: Array) -> Array:
    """Return the logarithm of (2π)^b x^(b−1) exp(−π²x/2)/Γ(b), what remains for x ≫ b."""
    return b * LOG_2PI + (b - 1.0) * np.log(x) - special.gammaln(b) + _FIRST_POLE * x


def _invert_transform(x: Array, b: Array) -> Array:
    x = np.minimum(x, _FAR * b)
    cross, variance = _saddle_point(x / b)  # s* less the first pole
    alpha = np.sqrt(0.5 * cross)
    reach = np.sqrt(0.5 * _DECAY / x)
    width = 0.25 / (alpha * np.sqrt(b * variance))  # of the peak at the saddle
    step = np.minimum(alpha / 6.5, 0.6 * np.minimum(0.5 / np.sqrt(x), width))
    points = float(np.max(reach / step))
    if not points < _MOST_POINTS:
        raise ValueError(f"the density is not known of a shape as small as {b.min():.3g}")
    n = int(np.ceil(points)) + 1
    v = (reach / n)[:, None] * np.arange(n)
    w = alpha[:, None] + 1j * v
    rise = 2.0 * w * w  # s less the first pole
    exponent = rise * x[:, None] - b[:, None] * _log_cosh_root(rise + _FIRST_POLE)
    peak = exponent[:, :1].real
    terms = (w * np.exp(exponent - peak)).real
    total = terms.sum(axis=1) - 0.5 * terms[:, 0]
    return np.log(4.0 / np.pi * total * reach / n) + peak[:, 0] + _FIRST_POLE * x


def _saddle_point(share: Array) -> tuple[Array, Array]:
    """Solve tanh(z)/(4z) = x/b, z = √(s/2), for s less the first pole (Newton from below).

    Returns the variance of PG(1, ·) tilted to that mean as well.
    """
    target = 1.0 / share
    rise, slope = target.copy(), target
    for _ in range(30):
        z = np.sqrt((0.5 * (rise + _FIRST_POLE)).astype(complex))
        small = np.abs(z) < 1e-2
        safe = np.where(small, 1.0, z)
        ratio = np.where(small, 1.0 - z * z / 3.0, np.tanh(safe) / safe).real
        # d/ds of tanh(z)/z, with s = 2z²
        change = (1.0 - np.tanh(safe) ** 2 - np.tanh(safe) / safe) / (4.0 * safe * safe)
        slope = np.where(small, -1.0 / 6.0, change.real)
        step = (target - 4.0 / ratio) / (-4.0 * slope / ratio**2)
        rise = rise + step
        if np.all(np.abs(step) <= 1e-6 * rise):
            break
    return rise, -0.25 * slope


def _log_cosh_root(s: Any) -> Any:
    """Return ln cosh √(s/2), analytic off the real numbers below the first pole."""
    z = np.sqrt(0.5 * s)
    return z + np.log1p(np.exp(-2.0 * z)) - np.log(2.0)


def _log_cosh(x: Array) -> Array:
    x = np.abs(x)
    return x + np.log1p(np.exp(-2.0 * x)) - np.log(2.0)


def _tanh_ratio(x: Array) -> Array:
    """Return tanh(x)/x, 1 at 0."""
    zero = x == 0
    return np.where(zero, 1.0, np.tanh(x) / np.where(zero, 1.0, x))[()]


def _variance_of_one(c: Array) -> Array:
    """Return the variance of PG(1, c) for c >= 0."""
    small = c < _SMALL_TILT
    c2 = np.where(small, c, 0.0) ** 2
    series = (1.0 / 24.0) * (1.0 - c2 / 5.0 + 17.0 * c2**2 / 560.0 - 31.0 * c2**3 / 7560.0)
    safe = np.where(small, 1.0, c)
    # (sinh c − c)/cosh²(c/2) = 2 tanh(c/2) − c sech²(c/2)
    t = np.tanh(0.5 * safe)
    direct = (2.0 * t - safe * (1.0 - t) * (1.0 + t)) / (4.0 * safe) / safe / safe
    return np.where(small, series, direct)[()]


def _inverse_gaussian(b: Array, half: Array, rng: np.random.Generator) -> Array:
    """Draw from the law with transform exp(b(c/2 − √(c²/4 + t/2))): mean b/2c, shape b²/4."""
    with np.errstate(over="ignore"):
        steepness = np.clip(b * half, 1e-300, 1e300)  # shape over mean
    return 0.25 * b / half * rng.wald(1.0, steepness)


# -- draws of PG(1, c) by rejection (Polson, Scott & Windle, algorithm 1) ----------------------


def _sum_of_ones(b: Array, half: Array, rng: np.random.Generator) -> Array:
    """Draw PG(b, c) for whole b as the sum of b draws of PG(1, c); ``half`` is c/2."""
    counts = b.astype(np.intp)
    if not counts.size:
        return np.zeros(0)
    ones = 0.25 * _jacobi(np.repeat(half, counts), rng)
    return np.add.reduceat(ones, np.cumsum(counts) - counts)


def _jacobi(z: Array, rng: np.random.Generator) -> Array:
    """Draw J*(1, z) by rejection from a proposal in two pieces."""
    out = np.empty(z.shape)
    left = np.arange(z.size)
    while left.size:
        tilt = z[left]
        rate = np.pi**2 / 8.0 + 0.5 * tilt**2
        exponential = np.pi / (2.0 * rate) * np.exp(-rate * _SPLIT)
        gaussian = 2.0 * np.exp(-tilt) * _inverse_gaussian_cdf(tilt)
        far = rng.random(left.size) * (exponential + gaussian) < exponential
        x = np.empty(left.size)
        x[far] = _SPLIT + rng.standard_exponential(int(far.sum())) / rate[far]
        x[~far] = _truncated_inverse_gaussian(tilt[~far], rng)
        accepted = _accept_by_series(x, rng)
        out[left[accepted]] = x[accepted]
        left = left[~accepted]
    return out


def _inverse_gaussian_cdf(z: Array) -> Array:
    """Return P(x <= split) for an inverse Gaussian of mean 1/z and shape 1."""
    root = 1.0 / np.sqrt(_SPLIT)
    second = np.exp(2.0 * z + special.log_ndtr(-root * (1.0 + _SPLIT * z)))
    return special.ndtr(root * (_SPLIT * z - 1.0)) + second


def _truncated_inverse_gaussian(z: Array, rng: np.random.Generator) -> Array:
    """Draw an inverse Gaussian of mean 1/z and shape 1, given that it is below the split."""
    out = np.empty(z.shape)
    left = np.arange(z.size)
    while left.size:
        tilt = z[left]
        wide = tilt * _SPLIT < 1.0  # the mean lies beyond the split: start from the Lévy law
        x = np.empty(left.size)
        x[wide] = _SPLIT / (1.0 + _SPLIT * _exponential_pair(int(wide.sum()), rng)) ** 2
        keep = np.ones(left.size, dtype=bool)
        keep[wide] = rng.random(int(wide.sum())) <= np.exp(-0.5 * tilt[wide] ** 2 * x[wide])
        x[~wide] = rng.wald(1.0 / tilt[~wide], 1.0)
        keep[~wide] = x[~wide] <= _SPLIT
        out[left[keep]] = x[keep]
        left = left[~keep]
    return out


def _exponential_pair(n: int, rng: np.random.Generator) -> Array:
    """Draw exponentials E with E² <= 2E'/split, which make a truncated Lévy law."""
    out = np.empty(n)
    left = np.arange(n)
    while left.size:
        first = rng.standard_exponential(left.size)
        second = rng.standard_exponential(left.size)
        keep = first * first <= 2.0 * second / _SPLIT
        out[left[keep]] = first[keep]
        left = left[~keep]
    return out


def _accept_by_series(x: Array, rng: np.random.Generator) -> Array:
    """Decide by the alternating series, whose partial sums close in from both sides."""
    total = _series_term(0, x)
    level = rng.random(x.size) * total
    accepted = np.zeros(x.size, dtype=bool)
    open_ones = np.arange(x.size)
    n = 0
    while open_ones.size:
        n += 1
        sign = -1.0 if n % 2 else 1.0
        total[open_ones] += sign * _series_term(n, x[open_ones])
        below = level[open_ones] <= total[open_ones]
        decided = below if n % 2 else ~below
        accepted[open_ones[decided]] = bool(n % 2)
        open_ones = open_ones[~decided]
    return accepted


def _series_term(n: int, x: Array) -> Array:
    """Return the n-th coefficient of the density of J*(1, 0), in the form that x calls for."""
    k = n + 0.5
    near = x <= _SPLIT
    safe = np.where(near, x, 1.0)
    left = np.pi * k * (2.0 / (np.pi * safe)) ** 1.5 * np.exp(-2.0 * k * k / safe)
    right = np.pi * k * np.exp(-0.5 * (k * np.pi) ** 2 * np.where(near, 0.0, x))
    return np.where(near, left, right)


def _truncated_sum(b: Array, half: Array, rng: np.random.Generator) -> Array:
    """Draw PG(b, c) for real b: 200 gammas, and one gamma for the rest of the sum.

    The rest has its exact mean and variance; its standard deviation is below 10⁻⁵ √b, which
    bounds the error of a draw.
    """
    if not b.size:
        return np.zeros(0)
    k = np.arange(1, _TERMS + 1) - 0.5
    scales = 1.0 / (2.0 * np.pi**2 * (k**2 + (half[:, None] / np.pi) ** 2))
    draws = (rng.standard_gamma(b[:, None], scales.shape) * scales).sum(axis=1)
    mean = 0.25 * _tanh_ratio(half) - scales.sum(axis=1)  # of the rest, for each unit of b
    # Σ 1/(k−½)⁴ beyond the last term, by the integral with midpoints
    variance = 1.0 / (12.0 * np.pi**4 * _TERMS**3)
    return draws + rng.standard_gamma(b * mean**2 / variance) * variance / mean
