r"""The Cauchy distribution, :math:`p(x) = \frac1{\pi s}\frac1{1+z^2}`, :math:`z = (x-m)/s`.

Its tails are so heavy that it has neither mean nor variance; it is Student's t with one degree of
freedom. The divergence of two members is symmetric (F. Chyzak & F. Nielsen, 2019).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Symmetric
from posteriori.distributions.comparable import Comparable
from posteriori.distributions.numbers.student_t import StudentT, log1p_square
from posteriori.numerics.types import Array
from posteriori.numerics.validation import positive, real

__all__ = ["Cauchy"]


class Cauchy(Comparable, Symmetric):
    """Cauchy distribution on the real line.

    Parameters
    ----------
    location : float or array
        Centre m: the median and the mode. There is no mean.
    scale : float or array
        Scale s > 0: half of the probability lies within m ± s.

    Examples
    --------
    >>> Cauchy(2.0, scale=0.5).quantile([0.25, 0.75])
    array([1.5, 2.5])
    """

    _parameters = {"location": 0, "scale": 0}
    _shown = ("location", "scale=")

    location: Array
    scale: Array

    def __new__(cls, location: Any, scale: Any) -> Self:
        return cls._from(location=real("location", location), scale=positive("scale", scale))

    @property
    def _centre(self) -> Array:
        return self.location

    # -- density ---------------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        return -log1p_square((x - self.location) / self.scale) - self._log_height

    @cached_property
    def _log_height(self) -> Array:
        return np.log(math.pi * self.scale)

    def _entropy(self) -> Array:
        return math.log(4.0) + self._log_height

    def _kl(self, other: Self) -> Array:
        # ln {[(s + s')² + (m − m')²] / 4ss'}
        shift = (self.location - other.location) ** 2 + (self.scale - other.scale) ** 2
        return np.log1p(shift / (4.0 * self.scale * other.scale))

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        return np.arctan2(1.0, (self.location - x) / self.scale) / math.pi

    def _quantile(self, q: Array) -> Array:
        with np.errstate(divide="ignore"):
            tail = 1.0 / np.tan(math.pi * np.minimum(q, 1.0 - q))
        z = np.where(q == 0.5, 0.0, np.where(q < 0.5, -tail, tail))[()]
        return self.location + self.scale * z

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.location + self.scale * rng.standard_cauchy(shape or None)

    def _interior(self) -> Array:
        return self.location

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def fit(cls, data: Any, weights: Any = None) -> Self:
        """Fit by maximum likelihood (EM, see :meth:`StudentT.fit`).

        The likelihood of location and scale together has a single peak (J. Copas, 1975).

        Parameters
        ----------
        data, weights
            As of :meth:`StudentT.fit`.

        Raises
        ------
        ValueError
            When half of the data or more coincide: the likelihood is then unbounded.
        """
        fitted = StudentT.fit(data, weights, dof=1.0)
        return cls(fitted.location, fitted.scale)
