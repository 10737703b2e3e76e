r"""The normal distribution, :math:`p(x) = (2\pi v)^{-1/2}\exp\{-(x-m)^2/(2v)\}`.

Natural parameters :math:`(\xi, w) = (m/v, 1/v)` with statistics :math:`(x, -x^2/2)`: weighted
mean and precision, the form in which messages add. Densities, divergences and products are
evaluated in the moment form, where a mean far from 0 costs no digits.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Distribution, Symmetric
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.statistics import Moments, Sums
from posteriori.numerics.lazy import special
from posteriori.numerics.rank import difference
from posteriori.numerics.special import LOG_2PI, log1pmx
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import as_observation, exactly_one, positive, real

__all__ = ["Normal"]


class Normal(ExponentialFamily, Symmetric):
    """Normal distribution on the real line.

    Parameters
    ----------
    mean : float or array
        Mean m.
    variance, scale, precision : float or array
        Exactly one of: variance v > 0, standard deviation √v, or 1/v.

    Examples
    --------
    >>> Normal(0.0, variance=4.0) * Normal(1.0, variance=1.0)
    Normal(0.8, variance=0.8)
    >>> round(float(Normal(0.0, scale=1.0).log_prob(0.0)), 6)
    -0.918939
    """

    _parameters = {"mean": 0, "variance": 0, "scale": 0, "precision": 0, "weighted_mean": 0}
    _shown = ("mean", "variance=")
    _natural_ndims = (0, 0)

    def __new__(
        cls,
        mean: Any = 0.0,
        *args: Any,
        variance: Any = None,
        scale: Any = None,
        precision: Any = None,
    ) -> Self:
        if args:
            raise TypeError("name the spread: Normal(mean, variance=…), scale=… or precision=…")
        if scale is None and precision is None and variance is not None:
            return cls._from(mean=real("mean", mean), variance=positive("variance", variance))
        name = exactly_one("Normal", variance=variance, scale=scale, precision=precision)
        spread = positive(name, scale if name == "scale" else precision)
        return cls._from(**{"mean": real("mean", mean), name: spread})

    @cached_property
    def mean(self) -> Array:
        """Mean m."""
        self._require_proper("mean")
        return self.weighted_mean / self.precision

    @cached_property
    def variance(self) -> Array:
        """Variance v."""
        if "scale" in self.__dict__:
            return self.scale * self.scale
        self._require_proper("variance")
        return 1.0 / self.precision

    @cached_property
    def scale(self) -> Array:
        """Standard deviation √v."""
        return np.sqrt(self.variance)

    @cached_property
    def precision(self) -> Array:
        """Precision w = 1/v; not positive for an improper message."""
        return 1.0 / self.variance

    @cached_property
    def weighted_mean(self) -> Array:
        """Precision times mean, ξ = w m."""
        return self.precision * self.mean

    @property
    def std(self) -> Array:
        """Standard deviation √v."""
        return self.scale

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """(ξ, w) = (m/v, 1/v)."""
        return self.weighted_mean, self.precision

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        weighted_mean, precision = natural
        return cls._from(weighted_mean=weighted_mean, precision=precision)

    @property
    def is_proper(self) -> Any:
        """Whether the precision is positive."""
        return np.True_ if "weighted_mean" not in self.__dict__ else self.precision > 0

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return T(x) = (x, −x²/2)."""
        x = as_observation(x)
        return x, -0.5 * x * x

    @cached_property
    def mean_params(self) -> Natural:
        """(E[x], −E[x²]/2)."""
        return self.mean, -0.5 * (self.mean**2 + self.variance)

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the normal with E[x] and −E[x²]/2 as given."""
        mean, half = (as_observation(part, "mean_params") for part in mean_params)
        return cls(mean, variance=-2.0 * half - mean * mean)

    def _log_normalizer(self) -> Array:
        # A = ξ²/(2w) − ½ ln(w/2π)
        xi, w = self.natural
        return 0.5 * (xi * xi / w - np.log(w) + LOG_2PI)

    # -- stable forms ----------------------------------------------------------------------

    @cached_property
    def _log_height(self) -> Array:
        return np.log(self.scale) + 0.5 * LOG_2PI

    def _log_density(self, x: Array) -> Array:
        z = (x - self.mean) / self.scale
        return -0.5 * z * z - self._log_height

    def _entropy(self) -> Array:
        return 0.5 + self._log_height

    def _kl(self, other: Self) -> Array:
        # ½[(m−m')²/v' + ρ − 1 − ln ρ],  ρ = v/v'
        shift = (self.mean - other.mean) / other.scale
        excess = (self.variance - other.variance) / other.variance
        return 0.5 * (shift * shift - log1pmx(excess, self.variance / other.variance))

    def _fisher_information(self) -> Array:
        m, v = self.mean, self.variance
        cross = -m * v
        return np.stack(
            [np.stack([v, cross], -1), np.stack([cross, 0.5 * v * v + m * m * v], -1)], -2
        )

    def _times(self, other: Self) -> Self:
        if not (self._all_proper and other._all_proper):
            return super()._times(other)
        precision = self.precision + other.precision
        share = other.precision / precision
        return self._from(mean=self.mean + share * (other.mean - self.mean), precision=precision)

    def _over(self, other: Self) -> Self:
        precision = difference(self.precision, other.precision)
        if not (self._all_proper and other._all_proper and np.all(precision > 0)):
            return super()._over(other)
        share = other.precision / precision
        return self._from(mean=self.mean + share * (self.mean - other.mean), precision=precision)

    def _to_the(self, power: Array) -> Self:
        if not self._all_proper or power <= 0:
            return super()._to_the(power)
        return self._from(mean=self.mean, variance=self.variance / power)

    # -- Gaussian algebra ------------------------------------------------------------------

    def affine(self, gain: Any, offset: Any = 0.0) -> Self:
        """Return the distribution of ``gain * x + offset``, with mean g m + b, variance g² v.

        Examples
        --------
        >>> Normal(1.0, variance=4.0).affine(-0.5, 3.0)
        Normal(2.5, variance=1)
        """
        g = real("gain", gain)
        if not np.all(g):
            raise ValueError("gain must not be 0: the result would be certain, a PointMass")
        mean = g * self.mean + real("offset", offset)
        return self._from(mean=mean, scale=np.abs(g) * self.scale)

    def __add__(self, other: Any) -> Self:
        """Return the distribution of x + y for independent x and y, or of x plus a constant.

        Examples
        --------
        >>> Normal(2.0, variance=1.0) + Normal(2.0, variance=0.25)
        Normal(4, variance=1.25)
        """
        if isinstance(other, Normal):
            return self._from(mean=self.mean + other.mean, variance=self.variance + other.variance)
        if isinstance(other, (Distribution, Symbol)):
            return NotImplemented
        return self.affine(1.0, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Self:
        """Return the distribution of x − y for independent x and y, or of x less a constant."""
        if isinstance(other, (Distribution, Symbol)) and not isinstance(other, Normal):
            return NotImplemented
        return self + (other.affine(-1.0) if isinstance(other, Normal) else -real("other", other))

    def __rsub__(self, other: Any) -> Self:
        """Return the distribution of a constant less x."""
        return self.affine(-1.0, other)

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def statistics(cls, x: Array, weights: Array | None = None) -> Moments:
        """Summarise numbers by count, mean and centred scatter."""
        return Moments.of_numbers(x, weights)

    @classmethod
    def from_statistics(cls, statistics: Sums | Moments) -> Self:
        """Return the sample mean and the 1/N variance."""
        assert isinstance(statistics, Moments)
        variance = statistics.scatter / statistics.count
        if not np.all(variance > 0):
            raise ValueError("data do not vary: the maximum-likelihood variance is 0")
        return cls(statistics.mean, variance=variance)

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        return special.ndtr((x - self.mean) / self.scale)

    def _quantile(self, q: Array) -> Array:
        return self.mean + self.scale * special.ndtri(q)

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.mean + self.scale * rng.standard_normal(shape or None)

    def _interior(self) -> Array:
        return self.mean if self._all_proper else np.zeros(self.batch_shape)
