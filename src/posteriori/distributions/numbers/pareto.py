r"""The Pareto distribution, :math:`p(x) = a\,m^a x^{-a-1}` for x >= m.

A power law above the minimum m. For known m it is an exponential family with natural parameter
:math:`-(a+1)`, statistic ln x and :math:`A = -\ln a - a\ln m`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.known import KnownParameter
from posteriori.numerics.special import log1pmx
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import as_observation, positive

__all__ = ["Pareto"]


class Pareto(KnownParameter, Univariate):
    """Pareto distribution on the numbers from a minimum on.

    Parameters
    ----------
    shape : float or array
        Shape a > 0: the chance to exceed x is (m/x)^a.
    minimum : float or array
        Least value m > 0.

    Examples
    --------
    >>> Pareto(3.0, minimum=2.0).mean
    np.float64(3.0)
    >>> Pareto.fit([1.0, 2.0, 4.0])
    Pareto(1.442695, minimum=1)
    """

    _parameters = {"shape": 0, "minimum": 0}
    _shown = ("shape", "minimum=")
    _natural_ndims = (0,)
    _known = "minimum"

    shape: Array
    minimum: Array

    def __new__(cls, shape: Any, minimum: Any) -> Self:
        return cls._from(shape=positive("shape", shape), minimum=positive("minimum", minimum))

    @cached_property
    def mean(self) -> Array:
        """Mean am/(a − 1); infinite where a <= 1."""
        self._require_proper("mean")
        finite = self.shape > 1
        ratio = self.shape / np.where(finite, self.shape - 1.0, 1.0)
        return np.where(finite, ratio * self.minimum, np.inf)[()]

    @cached_property
    def variance(self) -> Array:
        """Variance am²/((a − 1)²(a − 2)); infinite where a <= 2."""
        self._require_proper("variance")
        a, finite = self.shape, self.shape > 2
        ratio = a / np.where(finite, (a - 1.0) ** 2 * (a - 2.0), 1.0)
        return np.where(finite, ratio * self.minimum**2, np.inf)[()]

    @property
    def mode(self) -> Array:
        """The minimum, where the density is highest."""
        self._require_proper("mode")
        return self.minimum

    # -- exponential family ----------------------------------------------------------------

    @classmethod
    def _check_known(cls, method: str, given: Any) -> Array:
        return super()._check_known(method, given) if given is None else positive("minimum", given)

    @cached_property
    def natural(self) -> Natural:
        """(−a − 1,)."""
        return (-self.shape - 1.0,)

    @classmethod
    def _make(cls, natural: Array, known: Array) -> Self:
        return cls._from(shape=-natural - 1.0, minimum=known)

    @property
    def is_proper(self) -> Any:
        """Whether the shape is positive."""
        return self.shape > 0

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return T(x) = (ln x,)."""
        return (np.log(as_observation(x)),)

    @cached_property
    def mean_params(self) -> Natural:
        """(ln m + 1/a,)."""
        return (self._log_minimum + 1.0 / self.shape,)

    @classmethod
    def _make_from_mean(cls, mean: Array, known: Array) -> Self:
        excess = positive("E[ln x/m], the spread of the data,", mean - np.log(known))
        return cls(1.0 / excess, known)

    @cached_property
    def _log_minimum(self) -> Array:
        return np.log(self.minimum)

    def _log_normalizer(self) -> Array:
        return -np.log(self.shape) - self.shape * self._log_minimum

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return x <= 0

    def _outside(self, x: Array) -> Any:
        return x < self.minimum

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        return self._log_height - (self.shape + 1.0) * np.log(x / self.minimum)

    @cached_property
    def _log_height(self) -> Array:
        return np.log(self.shape) - self._log_minimum

    def _entropy(self) -> Array:
        return 1.0 + 1.0 / self.shape - self._log_height

    def _kl(self, other: Self) -> Array:
        # a' ln(m/m') + ρ − 1 − ln ρ,  ρ = a'/a;  infinite where q begins later than p
        lead = other.shape * np.log(self.minimum / other.minimum)
        rest = -log1pmx((other.shape - self.shape) / self.shape, other.shape / self.shape)
        return np.where(self.minimum >= other.minimum, lead + rest, np.inf)[()]

    def _fisher_information(self) -> Array:
        return (self.shape**-2.0)[..., None, None]

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def fit(cls, data: Any, weights: Any = None, *, minimum: Any = None) -> Self:
        """Fit by maximum likelihood: a = 1/mean(ln x/m).

        Parameters
        ----------
        data, weights
            As of :meth:`StudentT.fit`.
        minimum : float or array (...), optional
            The known minimum; by default the least of the data, which is most likely.
        """
        known = None if minimum is None else positive("minimum", minimum)
        total: Any = None
        least: Any = np.inf
        for block, weight in cls._blocks(data, weights):
            if known is not None and np.any(block < known):
                raise ValueError(
                    f"data must lie in the support of {cls.__name__}, got {block.min():.10g} "
                    "below the minimum"
                )
            counted = block if weight is None else block[weight > 0]
            least = np.minimum(least, counted.min(axis=0))
            part = cls.statistics(block, weight)
            total = part if total is None else total.merge(part)
        made: Self = cls.from_statistics(total, minimum=least if known is None else known)
        return made

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        return -np.expm1(-self.shape * np.log(np.maximum(x, self.minimum) / self.minimum))

    def _quantile(self, q: Array) -> Array:
        with np.errstate(divide="ignore"):
            return self.minimum * np.exp(-np.log1p(-q) / self.shape)

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.minimum * np.exp(rng.standard_exponential(shape or None) / self.shape)

    def _interior(self) -> Array:
        return 2.0 * self.minimum
