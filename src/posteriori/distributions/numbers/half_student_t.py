r"""The half-t distribution, :math:`p(x) = \frac{2\,\Gamma(\frac{\nu+1}2)}{\Gamma(\frac\nu2)\sqrt{\nu\pi}\,s}
\left(1 + \frac{x^2}{\nu s^2}\right)^{-\frac{\nu+1}2}` on x >= 0, and its case of one degree of freedom, the
half-Cauchy distribution :math:`p(x) = \frac2{\pi s}\frac1{1+(x/s)^2}`.

The absolute values of a Student t and of a Cauchy variable, customary priors of scales: flat near 0,
with tails that let large scales be learned.

Reference: A. Gelman, "Prior distributions for variance parameters in hierarchical models", 2006.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.comparable import Comparable
from posteriori.distributions.numbers.student_t import StudentT, log1p_square
from posteriori.distributions.row_fits import gather_rows, require_support, weighted_median
from posteriori.numerics.calculus.newton import solve_increasing
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.numerics.validation import positive

__all__ = ["HalfCauchy", "HalfStudentT"]

#: Below this share of the whole, the density is that at 0.
_TINY = 1e-100


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


class HalfStudentT(Univariate):
    """Half-t distribution on the non-negative numbers.

    Parameters
    ----------
    dof : float or array
        Degrees of freedom ν > 0: 1 is the half-Cauchy distribution, ∞ the half-normal.
    scale : float or array
        Scale s > 0, that of the Student t variable before its sign is lost.

    Examples
    --------
    >>> HalfStudentT(3.0, 2.0).mean.round(6)
    np.float64(2.205316)
    >>> HalfStudentT(1.0, 2.5).median.round(6)
    np.float64(2.5)
    """

    _parameters = {"dof": 0, "scale": 0}
    _shown = ("dof", "scale")

    dof: Array
    scale: Array

    def __new__(cls, dof: Any, scale: Any) -> Self:
        return cls._from(dof=positive("dof", dof), scale=positive("scale", scale))

    @cached_property
    def _whole(self) -> StudentT:
        """The distribution before its sign is lost."""
        return StudentT(self.dof, scale=self.scale)

    @cached_property
    def mean(self) -> Array:
        """Mean 2 s² p(0) ν/(ν − 1) with p that of Student's t, which exists where ν > 1."""
        if np.any(self.dof <= 1):
            raise ValueError("the mean of HalfStudentT exists only for dof > 1; median always does")
        height = np.exp(np.asarray(self._whole.log_prob(0.0)))
        return 2.0 * self.scale**2 * height * self.dof / (self.dof - 1.0)

    @cached_property
    def variance(self) -> Array:
        """Variance s²ν/(ν − 2) − m²; infinite where 1 < ν <= 2."""
        return np.asarray(self._whole.variance - self.mean**2)[()]

    @cached_property
    def mode(self) -> Array:
        """0, where the density is highest."""
        return np.zeros(self.batch_shape)[()]

    # -- density ---------------------------------------------------------------------------

    def _outside(self, x: Array) -> Any:
        return x < 0

    def _log_density(self, x: Array) -> Array:
        return math.log(2.0) + self._whole._log_density(x)

    def entropy(self) -> Array:
        """Return the entropy in nats, that of Student's t less ln 2."""
        return self._whole.entropy() - math.log(2.0)

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        # P(|t| < z) = I(z²/(ν + z²); ½, ν/2), of the smaller one of the two shares
        with np.errstate(over="ignore"):
            ratio = (np.maximum(x, 0.0) / self.scale) ** 2 / self.dof
        small = np.minimum(ratio, 1.0)
        near = special.betainc(0.5, 0.5 * self.dof, small / (1.0 + small))
        far = 1.0 - special.betainc(0.5 * self.dof, 0.5, 1.0 / (1.0 + ratio))
        return np.where(ratio < 1.0, near, far)[()]

    def _quantile(self, q: Array) -> Array:
        near = special.betaincinv(0.5, 0.5 * self.dof, q)
        far = special.betaincinv(0.5 * self.dof, 0.5, 1.0 - q)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(near < 0.5, near / (1.0 - near), (1.0 - far) / far)
        found = self.scale * np.sqrt(self.dof * ratio)
        straight = q * np.exp(-np.asarray(self.log_prob(0.0)))  # squares would vanish
        return np.where(q < _TINY, straight, found)[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.abs(self._whole._sample(shape, rng))

    def _interior(self) -> Array:
        return self.scale

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def fit(cls, data: Any, weights: Any = None, dof: Any = None) -> Self:
        """Fit by maximum likelihood: the Student t distribution of the data and their negatives.

        Parameters
        ----------
        data, weights, dof
            As of :meth:`StudentT.fit`.
        """
        x, w = gather_rows(data, weights)
        require_support(cls.__name__, x, lambda x: x < 0)
        found = StudentT.fit(np.concatenate([x, -x]), np.tile(w.ravel(), 2), dof)
        return cls(found.dof, found.scale)
