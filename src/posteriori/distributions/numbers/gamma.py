r"""The gamma distribution, :math:`p(x) = \frac{b^a}{\Gamma(a)} x^{a-1} e^{-bx}` on x > 0.

Natural parameters :math:`(a-1, -b)` with statistics :math:`(\ln x, x)`. Everything that contains
:math:`\ln\Gamma(a)` goes through Stirling's correction, so that a shape of 10¹² keeps its digits.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.numerics.lazy import special
from posteriori.numerics.special import (
    gamma_density_kernel,
    gamma_entropy,
    log1pmx,
    log_gamma_bregman_remainder,
    log_gamma_correction_slope,
)
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import as_observation, positive

__all__ = ["Gamma", "gamma_divergence", "solve_gamma_shape"]

_LARGE_SHAPE = 30.0  # from here on ln Γ(a) is large enough to cost digits


class Gamma(ExponentialFamily, Univariate):
    """Gamma distribution on the positive numbers.

    Parameters
    ----------
    shape : float or array
        Shape a > 0.
    rate : float or array
        Rate b > 0, the inverse of the scale: the mean is a/b, the variance a/b².

    Examples
    --------
    >>> Gamma(2.0, 3.0).mean.round(6)
    np.float64(0.666667)
    >>> Gamma(2.0, 3.0) * Gamma(3.0, 1.0)
    Gamma(4, rate=4)
    """

    _parameters = {"shape": 0, "rate": 0}
    _shown = ("shape", "rate=")
    _natural_ndims = (0, 0)

    shape: Array
    rate: Array

    def __new__(cls, shape: Any, rate: Any) -> Self:
        return cls._from(shape=positive("shape", shape), rate=positive("rate", rate))

    @cached_property
    def mean(self) -> Array:
        """Mean a/b."""
        self._require_proper("mean")
        return self.shape / self.rate

    @cached_property
    def variance(self) -> Array:
        """Variance a/b²."""
        return self.mean / self.rate

    @cached_property
    def mode(self) -> Array:
        """Mode (a − 1)/b, or 0 where a < 1."""
        self._require_proper("mode")
        return np.maximum(self.shape - 1.0, 0.0) / self.rate

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """(a − 1, −b)."""
        return self.shape - 1.0, -self.rate

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        exponent, slope = natural
        return cls._from(shape=exponent + 1.0, rate=-slope)

    @property
    def is_proper(self) -> Any:
        """Whether shape and rate are positive."""
        return (self.shape > 0) & (self.rate > 0)

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return T(x) = (ln x, x)."""
        x = as_observation(x)
        return np.log(x), x

    @cached_property
    def mean_params(self) -> Natural:
        """(E[ln x], E[x]) = (ψ(a) − ln b, a/b)."""
        return special.digamma(self.shape) - np.log(self.rate), self.mean

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the gamma with E[ln x] and E[x] as given: ln a − ψ(a) = ln E[x] − E[ln x]."""
        mean_log, mean = (as_observation(part, "mean_params") for part in mean_params)
        shape = solve_gamma_shape(np.log(positive("E[x]", mean)) - mean_log)
        return cls(shape, shape / mean)

    def _log_normalizer(self) -> Array:
        return special.gammaln(self.shape) - self.shape * np.log(self.rate)

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return x <= 0

    def _outside(self, x: Array) -> Any:
        return x < 0  # the density has a limit at 0

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        if self._is_large:
            return gamma_density_kernel(self.shape, self.rate * x) + np.log(self.rate)
        return cast(
            Array,
            special.xlogy(self.shape - 1.0, x) - self.rate * x - self.log_normalizer(),
        )

    @cached_property
    def _is_large(self) -> bool:
        return bool(np.any(self.shape > _LARGE_SHAPE))

    def _entropy(self) -> Array:
        return gamma_entropy(self.shape) - np.log(self.rate)

    def _kl(self, other: Self) -> Array:
        return gamma_divergence(self.shape, self.rate, other.shape, other.rate)

    def _fisher_information(self) -> Array:
        a, b = self.shape, self.rate
        cross = 1.0 / b
        return np.stack(
            [
                np.stack([special.polygamma(1, a), cross], -1),
                np.stack([cross, self.variance], -1),
            ],
            -2,
        )

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        return special.gammainc(self.shape, self.rate * np.maximum(x, 0.0))

    def _quantile(self, q: Array) -> Array:
        return special.gammaincinv(self.shape, q) / self.rate

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.standard_gamma(self.shape, shape or None) / self.rate

    def _interior(self) -> Array:
        return self.mean if self._all_proper else np.ones(self.batch_shape)


def gamma_divergence(a: Array, b: Array, other_a: Array, other_b: Array) -> Array:
    r"""Return KL(Gamma(a, b) ‖ Gamma(a', b')).

    With :math:`1+\delta = (a b')/(a' b)` the ratio of the means and :math:`1+r = a'/a`,

    .. math:: KL = -a'[\ln(1+\delta)-\delta] - \tfrac12[\ln(1+r)-r]
              + R(a') - R(a) - (a'-a)R'(a).
    """
    ratio = (a * (other_b - b) + b * (a - other_a)) / (other_a * b)
    leading = -other_a * log1pmx(ratio, (a / other_a) * (other_b / b))
    return leading + log_gamma_bregman_remainder(other_a, a)


def solve_gamma_shape(gap: Array) -> Array:
    """Solve ln a − ψ(a) = gap for a > 0 by Newton's method on 1/a (Minka 2002).

    Raises
    ------
    ValueError
        When ``gap`` is not positive: the data do not vary.
    """
    gap = positive("ln E[x] - E[ln x], the spread of the data", gap)
    a = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(50):
        # ln a − ψ(a) = 1/(2a) − R'(a): no cancellation for large a
        value = 0.5 / a - log_gamma_correction_slope(a) - gap
        slope = 1.0 / a - special.polygamma(1, a)
        step = value / (slope * a * a)
        new = 1.0 / np.maximum(1.0 / a + step, 0.1 / a)
        if np.all(np.abs(new - a) <= 4e-16 * new):
            return new[()]
        a = new
    return a[()]
