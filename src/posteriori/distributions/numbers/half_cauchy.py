r"""The half-Cauchy distribution, :math:`p(x) = \frac2{\pi s}\frac1{1+(x/s)^2}` on x >= 0.

The absolute value of a Cauchy variable, a customary prior of scales: flat near 0, with tails too
heavy for a mean.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.comparable import Comparable
from posteriori.distributions.numbers.student_t import log1p_square
from posteriori.distributions.row_fits import gather_rows, require_support, weighted_median
from posteriori.numerics.calculus.newton import solve_increasing
from posteriori.numerics.types import Array
from posteriori.numerics.validation import positive

__all__ = ["HalfCauchy"]


class HalfCauchy(Comparable):
    """Half-Cauchy distribution on the non-negative numbers.

    Parameters
    ----------
    scale : float or array
        Scale s > 0, which is also the median. There is no mean.

    Examples
    --------
    >>> HalfCauchy(2.5).median
    np.float64(2.5)
    """

    _parameters = {"scale": 0}
    _shown = ("scale",)

    scale: Array

    def __new__(cls, scale: Any) -> Self:
        return cls._from(scale=positive("scale", scale))

    @cached_property
    def mode(self) -> Array:
        """0, where the density is highest."""
        return np.zeros(self.batch_shape)[()]

    @property
    def median(self) -> Array:
        """The scale."""
        return self.scale

    # -- density ---------------------------------------------------------------------------

    def _outside(self, x: Array) -> Any:
        return x < 0

    def _log_density(self, x: Array) -> Array:
        return -log1p_square(x / self.scale) - self._log_height

    @cached_property
    def _log_height(self) -> Array:
        return np.log(0.5 * math.pi * self.scale)

    def _entropy(self) -> Array:
        return math.log(4.0) + self._log_height

    def _kl(self, other: Self) -> Array:
        # ln {(s + s')² / 4ss'}
        gap = (self.scale - other.scale) ** 2
        return np.log1p(gap / (4.0 * self.scale * other.scale))

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        return np.arctan(np.maximum(x, 0.0) / self.scale) * (2.0 / math.pi)

    def _quantile(self, q: Array) -> Array:
        half = 0.5 * math.pi
        with np.errstate(divide="ignore"):
            z = np.where(q < 0.5, np.tan(half * q), 1.0 / np.tan(half * (1.0 - q)))
        return self.scale * z[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.scale * np.abs(rng.standard_cauchy(shape or None))

    def _interior(self) -> Array:
        return self.scale

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def fit(cls, data: Any, weights: Any = None) -> Self:
        r"""Fit by maximum likelihood: the s with :math:`\sum_n w_n\tanh\ln(s/x_n) = 0`.

        Parameters
        ----------
        data, weights
            As of :meth:`StudentT.fit`.

        Raises
        ------
        ValueError
            When half of the data or more are 0: the likelihood is then unbounded.
        """
        x, w = gather_rows(data, weights)
        require_support(cls.__name__, x, lambda x: x < 0)
        if np.any((w * (x == 0)).sum(axis=0) >= 0.5):
            raise ValueError("half of the data or more are 0: the maximum-likelihood scale is 0")
        with np.errstate(divide="ignore"):
            logs = np.log(x)

        def slope_in_log_scale(t: Array) -> tuple[Array, Array]:
            lean = np.tanh(t - logs)
            return (w * lean).sum(axis=0), (w * (1.0 - lean * lean)).sum(axis=0)

        low, high = np.where(x > 0, logs, np.inf).min(axis=0) - 40.0, logs.max(axis=0) + 1.0
        start = np.log(np.maximum(weighted_median(x, w), np.exp(low)))
        return cls(np.exp(solve_increasing(slope_in_log_scale, low, high, start)))
