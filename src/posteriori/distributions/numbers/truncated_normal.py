r"""The truncated normal distribution,
:math:`p(x) = N(x; m, s^2)/Z` for l <= x <= u, :math:`Z = \int_l^u N(x; m, s^2)\,dx`.

Everything is measured from the mode :math:`x_0 = \min(\max(m, l), u)`: with
:math:`t = (x-x_0)/s` and :math:`c = (x_0-m)/s` the density is proportional to
:math:`\exp\{-t(t/2+c)\}`, in which nothing cancels however far the interval lies from m.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.comparable import Comparable
from posteriori.distributions.formatting import format_distribution
from posteriori.distributions.numbers.normal import Normal
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.calculus.legendre import LEGENDRE_POINTS, legendre_rule
from posteriori.numerics.calculus.newton import solve_increasing
from posteriori.numerics.lazy import special
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation, exactly_one, positive, real

__all__ = ["TruncatedNormal"]

_DEPTH = 45.0  # an exponent below −45 adds nothing to an integral


class TruncatedNormal(Comparable):
    """Normal distribution restricted to an interval.

    Parameters
    ----------
    mean : float or array
        Mean m of the parent, the normal distribution before truncation.
    lower, upper : float or array
        Ends of the interval, lower < upper; −inf and inf leave a side open.
    variance, scale : float or array
        Exactly one of: variance s² > 0 or standard deviation s of the parent. The attributes
        ``mean`` and ``variance`` are those of the truncated distribution.

    Examples
    --------
    >>> d = TruncatedNormal(0.0, 0.0, np.inf, scale=1.0)  # half-normal
    >>> d.mean.round(6), d.variance.round(6)
    (np.float64(0.797885), np.float64(0.36338))
    >>> TruncatedNormal(0.0, 30.0, 31.0, scale=1.0).mean.round(9)
    np.float64(30.033259667)
    """

    _parameters = {"mean": 0, "lower": 0, "upper": 0, "variance": 0, "scale": 0}
    _shown = ("mean", "lower", "upper", "variance=")

    lower: Array
    upper: Array

    def __new__(
        cls, mean: Any, lower: Any, upper: Any, *, variance: Any = None, scale: Any = None
    ) -> Self:
        name = exactly_one("TruncatedNormal", variance=variance, scale=scale)
        low, high = _bound("lower", lower), _bound("upper", upper)
        known = not (isinstance(low, Symbol) or isinstance(high, Symbol))
        if known and not np.all(low < high):
            raise ValueError(f"lower must lie below upper, got {low} and {high}")
        spread = positive(name, scale if name == "scale" else variance)
        return cls._from(**{"mean": real("mean", mean), "lower": low, "upper": high, name: spread})

    @cached_property
    def parent(self) -> Normal:
        """The normal distribution before truncation."""
        name = "scale" if "scale" in self.__dict__ else "variance"
        return Normal._from(**{"mean": self.__dict__["mean"], name: self.__dict__[name]})

    @cached_property
    def mode(self) -> Array:
        """The point of the interval nearest to the mean of the parent."""
        return np.clip(self.parent.mean, self.lower, self.upper)

    @property
    def mean(self) -> Array:
        """Mean of the truncated distribution."""
        return self.mode + self.parent.scale * self._moments[0]

    @property
    def variance(self) -> Array:
        """Variance of the truncated distribution."""
        return self.parent.scale**2 * self._moments[1]

    # -- in units of the parent, from the mode ----------------------------------------------

    @cached_property
    def _slope(self) -> Array:
        return (self.mode - self.parent.mean) / self.parent.scale

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        s = self.parent.scale
        return (self.lower - self.mode) / s, (self.upper - self.mode) / s

    @cached_property
    def _rule(self) -> tuple[Array, Array]:
        """Points t and their probabilities, whose sums are integrals over the interval."""
        t, w = _window(*self._ends, self._slope)
        mass = w * np.exp(-t * (0.5 * t + np.asarray(self._slope)[..., None]))
        return t, mass / mass.sum(axis=-1, keepdims=True)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        t, p = self._rule
        mean = (p * t).sum(axis=-1)
        return mean, (p * (t - np.asarray(mean)[..., None]) ** 2).sum(axis=-1)

    @cached_property
    def _log_mass(self) -> Array:
        return _log_mass(*self._ends, self._slope)

    # -- density ---------------------------------------------------------------------------

    def _outside(self, x: Array) -> Any:
        return (x < self.lower) | (x > self.upper)

    def _log_density(self, x: Array) -> Array:
        t = (x - self.mode) / self.parent.scale
        return -t * (0.5 * t + self._slope) - self._log_height

    @cached_property
    def _log_height(self) -> Array:
        return self._log_mass + np.log(self.parent.scale)

    def _entropy(self) -> Array:
        t, p = self._rule
        exponent = t * (0.5 * t + np.asarray(self._slope)[..., None])
        return self._log_height + (p * exponent).sum(axis=-1)

    def _kl(self, other: Self) -> Array:
        t, p = self._rule
        x = np.asarray(self.mode)[..., None] + np.asarray(self.parent.scale)[..., None] * t
        u = (x - np.asarray(other.mode)[..., None]) / np.asarray(other.parent.scale)[..., None]
        ours = t * (0.5 * t + np.asarray(self._slope)[..., None])
        theirs = u * (0.5 * u + np.asarray(other._slope)[..., None])
        value = (p * (theirs - ours)).sum(axis=-1) + other._log_height - self._log_height
        contained = (self.lower >= other.lower) & (self.upper <= other.upper)
        return np.where(contained, value, np.inf)[()]

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        low, high = self._ends
        below, above = x <= self.lower, x >= self.upper
        t = (np.where(below | above, self.mode, x) - self.mode) / self.parent.scale
        left = t <= self._moments[0]  # the smaller side keeps its digits
        side = _log_mass(np.where(left, low, t), np.where(left, t, high), self._slope)
        share = np.exp(side - self._log_mass)
        inside = np.where(left, share, 1.0 - share)
        return np.where(below, 0.0, np.where(above, 1.0, inside))[()]

    def _quantile(self, q: Array) -> Array:
        (low, high), c = self._ends, self._slope
        left = _solve_share(np.minimum(q, 0.5), low, high, c, self._log_mass)
        right = _solve_share(np.minimum(1.0 - q, 0.5), -high, -low, -c, self._log_mass)
        t = np.where(q <= 0.5, left, -right)[()]
        return self._at(np.where(q == 0, low, np.where(q == 1, high, t))[()])

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        low, high = self._ends
        return self._at(_invert(rng.random(shape or None), low, high, self._slope))

    def _at(self, t: Array) -> Array:
        return np.clip(self.mode + self.parent.scale * t, self.lower, self.upper)

    def _interior(self) -> Array:
        return self.mode

    # -- being a value ---------------------------------------------------------------------

    def _key(self) -> tuple[Array, ...]:
        return (*map(np.asarray, (self.lower, self.upper)), *self.parent._key())

    def __repr__(self) -> str:
        parent = self.parent
        parts = {"mean": parent.mean, "lower": self.lower, "upper": self.upper}
        return format_distribution(type(self).__name__, {**parts, "variance=": parent.variance})


def _bound(name: str, value: Any) -> Array:
    """Check an end of the interval, which may be infinite."""
    if isinstance(value, Symbol):
        return value  # type: ignore[return-value]  # the constructor hands it on
    end = as_observation(value, name)
    if np.any(np.isnan(end)):
        raise ValueError(f"{name} must not be NaN")
    return end.copy() if end.ndim else end


# -- integrals of exp{−t(t/2 + c)} -------------------------------------------------------------


def _window(low: Array, high: Array, slope: Array) -> tuple[Array, Array]:
    """Return a rule on the part of the interval where the integrand is not 0; its peak is at 0."""
    size = np.abs(slope)
    reach = 2.0 * _DEPTH / (size + np.sqrt(size * size + 2.0 * _DEPTH))
    return legendre_rule(np.maximum(low, -reach), np.minimum(high, reach))


def _log_mass(low: Array, high: Array, slope: Array) -> Array:
    """Return the log of the integral from ``low`` to ``high``."""
    shape = np.broadcast_shapes(*map(np.shape, (low, high, slope)))
    a, b, c = (np.broadcast_to(p, shape).reshape(-1) for p in (low, high, slope))
    out = np.empty(a.shape)
    step = rows_per_block(LEGENDRE_POINTS)
    for i in range(0, a.size, step):
        part = slice(i, i + step)
        out[part] = _log_mass_of_block(a[part], b[part], c[part])
    return out.reshape(shape)[()]


def _log_mass_of_block(low: Array, high: Array, slope: Array) -> Array:
    peak = np.clip(-slope, low, high)
    steep = slope + peak
    t, w = _window(low - peak, high - peak, steep)
    mass = (w * np.exp(-t * (0.5 * t + steep[:, None]))).sum(axis=-1)
    with np.errstate(divide="ignore"):
        return np.log(mass) - peak * (0.5 * peak + slope)


def _solve_share(q: Array, low: Array, high: Array, slope: Array, log_mass: Array) -> Array:
    """Return the t below which lies the share ``q`` of the integral, for q in (0, ½]."""
    q, low, high, slope, log_mass = np.broadcast_arrays(q, low, high, slope, log_mass)
    with np.errstate(divide="ignore", invalid="ignore"):
        start = _invert(q, low, high, slope)

        def excess(t: Array) -> tuple[Array, Array]:
            below = _log_mass(low, t, slope)
            density = np.exp(-t * (0.5 * t + slope) - below)
            return below - log_mass - np.log(q), density

        size = np.abs(slope)
        reach = 1600.0 / (size + np.sqrt(size * size + 1600.0))  # probabilities below 1e-340
        return solve_increasing(excess, np.maximum(low, -reach), np.minimum(high, reach), start)


# -- the inverse of the cumulative probability, in log space ------------------------------------


def _invert(q: Array, low: Array, high: Array, slope: Array) -> Array:
    """Return the t below which lies the share ``q``; quick, and exact where no end is very near."""
    q, low, high, slope = np.broadcast_arrays(q, low, high, slope)
    inner = slope == 0  # the mode of the parent lies in the interval
    out = np.empty(q.shape)
    if np.any(inner):
        out[inner] = _invert_centre(q[inner], low[inner], high[inner])
    if not np.all(inner):
        tail = ~inner
        rising = slope[tail] < 0  # reflect, so that the density falls from 0 on
        share = np.where(rising, 1.0 - q[tail], q[tail])
        length = np.where(rising, -low[tail], high[tail])
        t = _invert_tail(share, length, np.abs(slope[tail]))
        out[tail] = np.where(rising, -t, t)
    return out[()]


def _invert_centre(q: Array, low: Array, high: Array) -> Array:
    below, above = special.ndtr(low), special.ndtr(-high)
    inside = 1.0 - below - above
    left, right = below + q * inside, above + (1.0 - q) * inside
    return np.clip(np.where(left < right, special.ndtri(left), -special.ndtri(right)), low, high)


def _invert_tail(q: Array, length: Array, slope: Array) -> Array:
    # −ln of the share beyond t is h(t) = ct + t²/2 − ln[erfcx((c+t)/√2)/erfcx(c/√2)]: convex
    scaled = special.erfcx(slope / math.sqrt(2.0))

    def hazard(t: Array) -> tuple[Array, Array]:
        beyond = special.erfcx((slope + t) / math.sqrt(2.0))
        exponent = t * (0.5 * t + slope) - np.log(beyond / scaled)
        return exponent, math.sqrt(2.0 / math.pi) / beyond

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        finite = np.where(np.isinf(length), 0.0, length)
        depth = np.where(np.isinf(length), np.inf, hazard(finite)[0])
        target = -np.log1p(q * np.expm1(-depth))
        first = math.sqrt(2.0 / math.pi) / scaled
        t = 2.0 * target / (first + np.sqrt(first * first + 2.0 * target))
        for _ in range(5):
            value, rise = hazard(t)
            t = t - (value - target) / rise
    return np.clip(np.where(t == t, t, length), 0.0, length)
