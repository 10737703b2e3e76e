r"""The von Mises distribution of an angle,
:math:`p(x) = \frac{\exp\{\kappa\cos(x-\mu)\}}{2\pi I_0(\kappa)}`.

The normal distribution of the circle: it has the largest entropy for a given mean direction, and
becomes :math:`N(\mu, 1/\kappa)` as κ grows. Natural parameters
:math:`\kappa(\cos\mu, \sin\mu)` with statistics :math:`(\cos x, \sin x)`, so that beliefs about
an angle multiply by adding vectors.

The density is periodic and any angle may be asked for. Where a distribution of numbers is
needed, the circle is cut opposite to the mean: draws, ``cdf``, ``quantile`` and ``interval``
live on [μ − π, μ + π], so that an interval is always the arc around the mean.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Symmetric
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.calculus.legendre import LEGENDRE_POINTS, legendre_rule
from posteriori.numerics.calculus.newton import solve_increasing
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import outer
from posteriori.numerics.special import LOG_2PI, log1pmx
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import as_observation, nonnegative, real

__all__ = ["VonMises"]

_LARGE = 40.0  # from here on the asymptotic series are exact to rounding


class VonMises(ExponentialFamily, Symmetric):
    """Von Mises distribution of an angle, in radians.

    Parameters
    ----------
    mean : float or array
        Mean direction μ, kept in [−π, π].
    concentration : float or array
        Concentration κ >= 0; 0 is the uniform distribution of the circle.

    Examples
    --------
    >>> d = VonMises(0.0, 2.0) * VonMises(np.pi / 2, 2.0)
    >>> round(float(d.mean / np.pi), 6), round(float(d.concentration), 6)
    (0.25, 2.828427)
    >>> d.log_prob([0.3, 0.3 + 2 * np.pi]).round(6)
    array([-0.783636, -0.783636])
    """

    _parameters = {"mean": 0, "concentration": 0}
    _shown = ("mean", "concentration")
    _natural_ndims = (0, 0)

    concentration: Array

    def __new__(cls, mean: Any, concentration: Any) -> Self:
        return cls._from(
            mean=_angle(real("mean", mean)),
            concentration=nonnegative("concentration", concentration),
        )

    @property
    def mean(self) -> Array:
        """Mean direction μ."""
        mean: Array = self.__dict__["mean"]
        return mean

    @cached_property
    def circular_variance(self) -> Array:
        """1 − E[cos(x − μ)] = 1 − I₁(κ)/I₀(κ): 0 for a certain angle, 1 for a uniform one."""
        return _shortfall(self.concentration)

    @cached_property
    def resultant_length(self) -> Array:
        """E[cos(x − μ)] = I₁(κ)/I₀(κ), the length of the mean of unit vectors."""
        return 1.0 - self.circular_variance

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def _direction(self) -> Array:
        return np.stack([np.cos(self.mean), np.sin(self.mean)], axis=-1)

    @cached_property
    def natural(self) -> Natural:
        """κ(cos μ, sin μ)."""
        k = self.concentration
        return k * self._direction[..., 0], k * self._direction[..., 1]

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        along, across = natural
        return cls._from(mean=np.arctan2(across, along), concentration=np.hypot(along, across))

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return T(x) = (cos x, sin x)."""
        x = as_observation(x)
        return np.cos(x), np.sin(x)

    @cached_property
    def mean_params(self) -> Natural:
        """(E[cos x], E[sin x])."""
        r = self.resultant_length
        return r * self._direction[..., 0], r * self._direction[..., 1]

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the member with E[cos x] and E[sin x] as given: I₁(κ)/I₀(κ) = their length."""
        along, across = (as_observation(part, "mean_params") for part in mean_params)
        length = np.hypot(along, across)
        if not np.all(length < 1.0):
            raise ValueError("all angles are equal: the maximum-likelihood concentration is inf")
        return cls(np.arctan2(across, along), _solve_concentration(1.0 - length))

    def _log_normalizer(self) -> Array:
        return self._log_height + self.concentration

    # -- stable forms ----------------------------------------------------------------------

    @cached_property
    def _log_height(self) -> Array:
        return LOG_2PI + np.log(special.i0e(self.concentration))

    def _log_density(self, x: Array) -> Array:
        # κ(cos d − 1) = −2κ sin²(d/2)
        sine = np.sin(0.5 * (x - self.mean))
        return -2.0 * self.concentration * sine * sine - self._log_height

    def _entropy(self) -> Array:
        return self._log_height + self.concentration * self.circular_variance

    def _kl(self, other: Self) -> Array:
        sine = np.sin(0.5 * (self.mean - other.mean))
        turn = 2.0 * other.concentration * self.resultant_length * sine * sine
        return turn + _concentration_divergence(self.concentration, other.concentration)

    def _fisher_information(self) -> Array:
        k = self.concentration
        along, across = _resultant_slope(k), _across(k)
        m = self._direction
        turned = np.stack([-m[..., 1], m[..., 0]], axis=-1)
        return along[..., None, None] * outer(m, m) + across[..., None, None] * outer(
            turned, turned
        )

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        d = np.clip(x - self.mean, -math.pi, math.pi)
        tail = _upper_tail(np.abs(d), self.concentration)
        return np.where(d < 0, tail, 1.0 - tail)[()]

    def _quantile(self, q: Array) -> Array:
        tail = np.minimum(q, 1.0 - q)
        d = _solve_tail(tail, self.concentration)
        return self.mean + np.where(q < 0.5, -d, d)[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.mean + rng.vonmises(0.0, self.concentration, shape or None)


def _angle(x: Array) -> Array:
    """Return the angle in [−π, π]; those already there keep their digits."""
    if isinstance(x, Symbol) or np.all(np.abs(x) <= math.pi):
        return x
    return np.arctan2(np.sin(x), np.cos(x))


# -- the ratio I₁/I₀ --------------------------------------------------------------------------


def _asymptotic_coefficients(count: int) -> Array:
    """Return cₖ of 1 − I₁/I₀ = Σ cₖ κ⁻ᵏ, from R' = 1 − R/κ − R²."""
    c = np.zeros(count + 1)
    c[1] = 0.5
    for k in range(2, count + 1):
        c[k] = 0.5 * ((k - 2.0) * c[k - 1] + c[1:k] @ c[k - 1 : 0 : -1])
    return c


#: As many terms as make the series exact to rounding where κ is large.
_SERIES = _asymptotic_coefficients(14)
_SLOPE_SERIES = np.append(0.0, np.arange(len(_SERIES)) * _SERIES)  # of R', in κ⁻ᵏ


def _shortfall(k: Array) -> Array:
    """Return 1 − I₁(κ)/I₀(κ)."""
    large = k > _LARGE
    direct = 1.0 - special.i1e(k) / special.i0e(k)
    series = np.polynomial.polynomial.polyval(1.0 / np.where(large, k, _LARGE), _SERIES)
    return np.where(large, series, direct)[()]


def _resultant_slope(k: Array) -> Array:
    """Return d/dκ of I₁(κ)/I₀(κ), the variance of cos(x − μ)."""
    large = k > _LARGE
    r = special.i1e(k) / special.i0e(k)
    series = np.polynomial.polynomial.polyval(1.0 / np.where(large, k, _LARGE), _SLOPE_SERIES)
    return np.where(large, series, 1.0 - _across(k) - r * r)[()]


def _across(k: Array) -> Array:
    """Return I₁(κ)/(κ I₀(κ)), the variance of sin(x − μ)."""
    tiny = k < 1e-8
    ratio = special.i1e(k) / (special.i0e(k) * np.where(tiny, 1.0, k))
    return np.where(tiny, 0.5, ratio)[()]


def _concentration_divergence(k: Array, other: Array) -> Array:
    """Return the divergence of two members of equal mean.

    ln i0e(κ') − ln i0e(κ) + (κ' − κ)(1 − R), with the part −½ ln κ of ln i0e taken apart where
    κ is large, so that members that nearly agree keep their digits.
    """
    large = np.minimum(k, other) > _LARGE
    plain = np.log(special.i0e(other) / special.i0e(k)) + (other - k) * _shortfall(k)
    a, b = np.where(large, k, _LARGE), np.where(large, other, _LARGE)
    rest = np.log(np.sqrt(b) * special.i0e(b)) - np.log(np.sqrt(a) * special.i0e(a))
    beyond = np.polynomial.polynomial.polyval(1.0 / a, np.append([0.0, 0.0], _SERIES[2:]))
    apart = -0.5 * log1pmx((b - a) / a, b / a) + rest + (b - a) * beyond
    return np.where(large, apart, plain)[()]


def _solve_concentration(shortfall: Array) -> Array:
    """Solve 1 − I₁(κ)/I₀(κ) = shortfall; κ times the shortfall never exceeds 1."""
    length = 1.0 - shortfall
    start = length * (2.0 - length**2) / (shortfall * (1.0 + length))

    def excess(k: Array) -> tuple[Array, Array]:
        return shortfall - _shortfall(k), _resultant_slope(k)

    return solve_increasing(excess, np.zeros_like(start), 1.0 / shortfall, start)


# -- tail probabilities -----------------------------------------------------------------------


def _upper_tail(d: Array, k: Array) -> Array:
    """Return P(x − μ > d) for d in [0, π]: an integral over the window where it is not 0."""
    shape = np.broadcast_shapes(np.shape(d), np.shape(k))
    d, k = (np.broadcast_to(a, shape).reshape(-1) for a in (d, k))
    out = np.empty(d.shape)
    step = rows_per_block(LEGENDRE_POINTS)
    for i in range(0, d.size, step):
        part = slice(i, i + step)
        out[part] = _upper_tail_of_block(d[part], k[part])
    return out.reshape(shape)[()]


def _upper_tail_of_block(d: Array, k: Array) -> Array:
    with np.errstate(divide="ignore"):
        square = np.minimum(np.sin(0.5 * d) ** 2 + 22.5 / k, 1.0)  # e⁻⁴⁵ below the start
    end = np.maximum(2.0 * np.arcsin(np.sqrt(square)), d)
    u, w = legendre_rule(d, np.where(square >= 1.0, math.pi, end))
    density = np.exp(-2.0 * k[:, None] * np.sin(0.5 * u) ** 2)
    return (w * density).sum(axis=-1) / (2.0 * math.pi * special.i0e(k))


def _solve_tail(tail: Array, k: Array) -> Array:
    """Return the d with P(x − μ > d) = tail, for tail in [0, ½]."""
    tail, k = np.broadcast_arrays(tail, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        guess = -special.ndtri(tail) / (2.0 * np.sqrt(k))
        start = 2.0 * np.arcsin(np.clip(np.where(guess == guess, guess, 1.0), 0.0, 1.0))

        def shortage(d: Array) -> tuple[Array, Array]:
            left = _upper_tail(d, k)
            density = np.exp(-2.0 * k * np.sin(0.5 * d) ** 2) / (2.0 * math.pi * special.i0e(k))
            return np.log(tail) - np.log(left), density / left

        d = solve_increasing(shortage, 0.0, math.pi, start)
    return np.where(tail == 0, math.pi, np.where(tail == 0.5, 0.0, d))
