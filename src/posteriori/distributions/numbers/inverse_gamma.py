r"""The inverse gamma distribution,
:math:`p(x) = \frac{b^a}{\Gamma(a)} x^{-a-1} e^{-b/x}` on x > 0.

Natural parameters :math:`(-a-1, -b)` with statistics :math:`(\ln x, 1/x)`: the law of an unknown
variance. 1/x has a gamma distribution of shape a and rate b, whose stable forms it shares.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.numbers.gamma import gamma_divergence, solve_gamma_shape
from posteriori.numerics.lazy import special
from posteriori.numerics.special import gamma_entropy, gamma_kernel
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import as_observation, positive

__all__ = ["InverseGamma"]

_LARGE_SHAPE = 30.0  # from here on ln Γ(a) is large enough to cost digits


class InverseGamma(ExponentialFamily, Univariate):
    """Inverse gamma distribution on the positive numbers.

    Parameters
    ----------
    shape : float or array
        Shape a > 0.
    scale : float or array
        Scale b > 0: the mean is b/(a − 1) where a > 1.

    Examples
    --------
    >>> InverseGamma(3.0, 4.0).mean, InverseGamma(3.0, 4.0).mode
    (np.float64(2.0), np.float64(1.0))
    >>> InverseGamma(2.0, 3.0) * InverseGamma(3.0, 1.0)
    InverseGamma(6, scale=4)
    """

    _parameters = {"shape": 0, "scale": 0}
    _shown = ("shape", "scale=")
    _natural_ndims = (0, 0)

    shape: Array
    scale: Array

    def __new__(cls, shape: Any, scale: Any) -> Self:
        return cls._from(shape=positive("shape", shape), scale=positive("scale", scale))

    @cached_property
    def mean(self) -> Array:
        """Mean b/(a − 1); infinite where a <= 1."""
        self._require_proper("mean")
        spare = self.shape - 1.0
        return np.where(spare > 0, self.scale / np.where(spare > 0, spare, 1.0), np.inf)[()]

    @cached_property
    def variance(self) -> Array:
        """Variance b²/((a − 1)²(a − 2)); infinite where a <= 2."""
        spare = self.shape - 2.0
        square = np.where(spare > 0, self.mean, 1.0) ** 2
        return np.where(spare > 0, square / np.where(spare > 0, spare, 1.0), np.inf)[()]

    @cached_property
    def mode(self) -> Array:
        """Mode b/(a + 1)."""
        self._require_proper("mode")
        return self.scale / (self.shape + 1.0)

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """(−a − 1, −b)."""
        return -self.shape - 1.0, -self.scale

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        exponent, slope = natural
        return cls._from(shape=-exponent - 1.0, scale=-slope)

    @property
    def is_proper(self) -> Any:
        """Whether shape and scale are positive."""
        return (self.shape > 0) & (self.scale > 0)

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return T(x) = (ln x, 1/x)."""
        x = as_observation(x)
        return np.log(x), 1.0 / x

    @cached_property
    def mean_params(self) -> Natural:
        """(E[ln x], E[1/x]) = (ln b − ψ(a), a/b)."""
        self._require_proper("mean_params")
        return np.log(self.scale) - special.digamma(self.shape), self.shape / self.scale

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the member with E[ln x] and E[1/x] as given: ln a − ψ(a) = ln E[1/x] + E[ln x]."""
        mean_log, mean_inverse = (as_observation(part, "mean_params") for part in mean_params)
        shape = solve_gamma_shape(np.log(positive("E[1/x]", mean_inverse)) + mean_log)
        return cls(shape, shape / mean_inverse)

    def _log_normalizer(self) -> Array:
        return special.gammaln(self.shape) - self.shape * np.log(self.scale)

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return x <= 0

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        if self._is_large:
            inverse = self.scale / x
            inside = gamma_kernel(self.shape, np.minimum(inverse, _LARGEST)) - np.log(x)
            return np.where(inverse > _LARGEST, -np.inf, inside)[()]
        exponent = (self.shape + 1.0) * np.log(x) + self.scale / x
        return -exponent - self.log_normalizer()

    @cached_property
    def _is_large(self) -> bool:
        return bool(np.any(self.shape > _LARGE_SHAPE))

    def _entropy(self) -> Array:
        # H[x] = H[1/x] − 2 E[ln 1/x]
        logs = np.log(self.scale) - 2.0 * special.digamma(self.shape)
        return gamma_entropy(self.shape) + logs

    def _kl(self, other: Self) -> Array:
        return gamma_divergence(self.shape, self.scale, other.shape, other.scale)

    def _fisher_information(self) -> Array:
        a, b = self.shape, self.scale
        cross = -1.0 / b
        return np.stack(
            [
                np.stack([special.polygamma(1, a), cross], -1),
                np.stack([cross, a / (b * b)], -1),
            ],
            -2,
        )

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            inverse = self.scale / np.where(x > 0, x, 1.0)
        upper = special.gammaincc(self.shape, inverse)
        return np.where(x <= 0, 0.0, np.where(x > 0, upper, x))[()]  # NaN stays NaN

    def _quantile(self, q: Array) -> Array:
        with np.errstate(divide="ignore"):
            return cast(Array, self.scale / special.gammainccinv(self.shape, q))

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        with np.errstate(divide="ignore"):
            return self.scale / rng.standard_gamma(self.shape, shape or None)

    def _interior(self) -> Array:
        return self.mode if self._all_proper else np.ones(self.batch_shape)


_LARGEST = np.finfo(np.float64).max
