r"""The uniform distribution, :math:`p(x) = 1/(h-l)` for l <= x <= h."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.comparable import Comparable
from posteriori.distributions.row_fits import gather_rows
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = ["Uniform"]


class Uniform(Comparable):
    """Uniform distribution on an interval.

    Parameters
    ----------
    low, high : float or array
        Ends of the interval, low < high; both belong to it.

    Examples
    --------
    >>> float(np.exp(Uniform(0.0, 0.5).log_prob(0.2)))  # a density may exceed 1
    2.0
    >>> Uniform.fit([0.3, -1.0, 2.5])
    Uniform(-1, 2.5)
    """

    _parameters = {"low": 0, "high": 0}
    _shown = ("low", "high")

    low: Array
    high: Array

    def __new__(cls, low: Any, high: Any) -> Self:
        low, high = real("low", low), real("high", high)
        known = not (isinstance(low, Symbol) or isinstance(high, Symbol))
        if known and not np.all(low < high):
            raise ValueError(f"low must lie below high, got {low} and {high}")
        return cls._from(low=low, high=high)

    @cached_property
    def _width(self) -> Array:
        return self.high - self.low

    @cached_property
    def mean(self) -> Array:
        """Mean (l + h)/2."""
        return self.low + 0.5 * self._width

    @cached_property
    def variance(self) -> Array:
        """Variance (h − l)²/12."""
        return self._width**2 / 12.0

    @property
    def median(self) -> Array:
        """The middle of the interval."""
        return self.mean

    # -- density ---------------------------------------------------------------------------

    def _outside(self, x: Array) -> Any:
        return (x < self.low) | (x > self.high)

    def _log_density(self, x: Array) -> Array:
        return (x - x) - self._entropy()  # x − x keeps the shape, and NaN

    def _entropy(self) -> Array:
        return self._log_width

    @cached_property
    def _log_width(self) -> Array:
        return np.log(self._width)

    def _kl(self, other: Self) -> Array:
        contained = (self.low >= other.low) & (self.high <= other.high)
        return np.where(contained, np.log(other._width / self._width), np.inf)[()]

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        return np.clip((x - self.low) / self._width, 0.0, 1.0)

    def _quantile(self, q: Array) -> Array:
        return np.minimum(self.low + q * self._width, self.high)

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.minimum(self.low + self._width * rng.random(shape or None), self.high)

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def fit(cls, data: Any, weights: Any = None) -> Self:
        """Fit by maximum likelihood: the range of the data.

        Parameters
        ----------
        data : array_like (N, ...), or iterator of chunks
            Rows are data points; further axes make a batch.
        weights : array_like (N,), optional
            Frequency weights: rows of weight 0 are left out.
        """
        x, _ = gather_rows(data, weights)
        low, high = x.min(axis=0), x.max(axis=0)
        if not np.all(low < high):
            raise ValueError("data do not vary: the maximum-likelihood interval is a point")
        return cls(low, high)
