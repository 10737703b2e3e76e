r"""The Laplace distribution, :math:`p(x) = \frac1{2b}\exp\{-|x-m|/b\}`."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Symmetric
from posteriori.distributions.comparable import Comparable
from posteriori.distributions.row_fits import gather_rows, weighted_median
from posteriori.numerics.special import log1pmx
from posteriori.numerics.types import Array
from posteriori.numerics.validation import positive, real

__all__ = ["Laplace"]


class Laplace(Comparable, Symmetric):
    """Laplace (double exponential) distribution on the real line.

    Parameters
    ----------
    mean : float or array
        Mean m, also the median and the mode.
    scale : float or array
        Scale b > 0, the expected distance from the mean: the variance is 2b².

    Examples
    --------
    >>> Laplace(1.0, scale=2.0).variance
    np.float64(8.0)
    >>> Laplace.fit([0.0, 1.0, 5.0])
    Laplace(1, scale=1.666667)
    """

    _parameters = {"mean": 0, "scale": 0}
    _shown = ("mean", "scale=")

    scale: Array

    def __new__(cls, mean: Any, scale: Any) -> Self:
        return cls._from(mean=real("mean", mean), scale=positive("scale", scale))

    @property
    def mean(self) -> Array:
        """Mean m."""
        mean: Array = self.__dict__["mean"]
        return mean

    @cached_property
    def variance(self) -> Array:
        """Variance 2b²."""
        return 2.0 * self.scale**2

    # -- density ---------------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        return -np.abs(x - self.mean) / self.scale - self._log_height

    @cached_property
    def _log_height(self) -> Array:
        return np.log(2.0 * self.scale)

    def _entropy(self) -> Array:
        return 1.0 + self._log_height

    def _kl(self, other: Self) -> Array:
        # ρ(t + e⁻ᵗ − 1) + ρ − 1 − ln ρ,  ρ = b/b', t = |m − m'|/b
        t = np.abs(self.mean - other.mean) / self.scale
        ratio = self.scale / other.scale
        excess = (self.scale - other.scale) / other.scale
        return ratio * (t + np.expm1(-t)) - log1pmx(excess, ratio)

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        z = (x - self.mean) / self.scale
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1.0 - tail)[()]

    def _quantile(self, q: Array) -> Array:
        with np.errstate(divide="ignore"):
            z = np.where(q < 0.5, np.log(2.0 * q), -np.log(2.0 * (1.0 - q)))
        return self.mean + self.scale * z[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.laplace(self.mean, self.scale, shape or None)

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def fit(cls, data: Any, weights: Any = None) -> Self:
        """Fit by maximum likelihood: the median, and the mean distance from it.

        Parameters
        ----------
        data, weights
            As of :meth:`StudentT.fit`.
        """
        x, w = gather_rows(data, weights)
        centre = weighted_median(x, w)
        scale = (w * np.abs(x - centre)).sum(axis=0)
        if not np.all(scale > 0):
            raise ValueError("data do not vary: the maximum-likelihood scale is 0")
        return cls(centre, scale)
