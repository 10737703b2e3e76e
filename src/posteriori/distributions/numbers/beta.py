r"""The beta distribution, :math:`p(x) = \frac{x^{a-1}(1-x)^{b-1}}{B(a,b)}` on (0, 1).

Natural parameters :math:`(a-1, b-1)` with statistics :math:`(\ln x, \ln(1-x))`; it is the
Dirichlet of two categories, whose stable forms it shares.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.vectors.dirichlet import (
    dirichlet_divergence,
    dirichlet_entropy,
    solve_dirichlet_concentration,
)
from posteriori.numerics.lazy import special
from posteriori.numerics.special import gamma_density_kernel, gamma_kernel
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import as_observation, positive

__all__ = ["Beta"]

_LARGE_COUNT = 30.0  # from here on the log beta function is large enough to cost digits


class Beta(ExponentialFamily, Univariate):
    """Beta distribution on the unit interval.

    Parameters
    ----------
    a, b : float or array
        Positive pseudo-counts of ones and zeros: the mean is a/(a + b).

    Examples
    --------
    >>> Beta(5, 4).mean.round(6), Beta(5, 4).mode.round(6)
    (np.float64(0.555556), np.float64(0.571429))
    """

    _parameters = {"a": 0, "b": 0}
    _shown = ("a", "b")
    _natural_ndims = (0, 0)

    a: Array
    b: Array

    def __new__(cls, a: Any, b: Any) -> Self:
        return cls._from(a=positive("a", a), b=positive("b", b))

    @cached_property
    def mean(self) -> Array:
        """Mean a/(a + b)."""
        self._require_proper("mean")
        return self.a / (self.a + self.b)

    @cached_property
    def variance(self) -> Array:
        """Variance ab/((a + b)²(a + b + 1))."""
        return self.mean * (1.0 - self.mean) / (self.a + self.b + 1.0)

    @cached_property
    def mode(self) -> Array:
        """Mode (a − 1)/(a + b − 2); the nearer end, or ½ on a tie, where a or b is below 1."""
        self._require_proper("mode")
        up, down = np.maximum(self.a - 1.0, 0.0), np.maximum(self.b - 1.0, 0.0)
        total = up + down
        flat = np.where(self.a > self.b, 1.0, np.where(self.a < self.b, 0.0, 0.5))
        return np.where(total > 0, up / np.where(total > 0, total, 1.0), flat)[()]

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """(a − 1, b − 1)."""
        return self.a - 1.0, self.b - 1.0

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        return cls._from(a=natural[0] + 1.0, b=natural[1] + 1.0)

    @property
    def is_proper(self) -> Any:
        """Whether both pseudo-counts are positive."""
        return (self.a > 0) & (self.b > 0)

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return T(x) = (ln x, ln(1 − x))."""
        x = as_observation(x)
        return np.log(x), np.log1p(-x)

    @cached_property
    def mean_params(self) -> Natural:
        """(ψ(a) − ψ(a+b), ψ(b) − ψ(a+b))."""
        total = special.digamma(self.a + self.b)
        return special.digamma(self.a) - total, special.digamma(self.b) - total

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the beta with E[ln x] and E[ln(1 − x)] as given (Newton's method)."""
        logs = np.stack([as_observation(part, "mean_params") for part in mean_params], axis=-1)
        concentration = solve_dirichlet_concentration(logs)
        return cls(concentration[..., 0], concentration[..., 1])

    def _log_normalizer(self) -> Array:
        return special.betaln(self.a, self.b)

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return (x <= 0) | (x >= 1)

    def _outside(self, x: Array) -> Any:
        return (x < 0) | (x > 1)  # the density has limits at the ends

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        a, b = self.a, self.b
        if not self._is_large:
            return cast(
                Array,
                special.xlogy(a - 1.0, x) + special.xlog1py(b - 1.0, -x) - self.log_normalizer(),
            )
        s = a + b
        ends = gamma_density_kernel(a, s * x) + gamma_density_kernel(b, s * (1.0 - x))
        return ends + 2.0 * np.log(s) - gamma_kernel(s, s)

    @cached_property
    def _is_large(self) -> bool:
        return bool(np.any(self.a + self.b > _LARGE_COUNT))

    @cached_property
    def _concentration(self) -> Array:
        return np.stack([self.a, self.b], axis=-1)

    def _entropy(self) -> Array:
        return dirichlet_entropy(self._concentration)

    def _kl(self, other: Self) -> Array:
        return dirichlet_divergence(self._concentration, other._concentration)

    def _fisher_information(self) -> Array:
        both = special.polygamma(1, self.a + self.b)
        return np.stack(
            [
                np.stack([special.polygamma(1, self.a) - both, -both], -1),
                np.stack([-both, special.polygamma(1, self.b) - both], -1),
            ],
            -2,
        )

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        return special.betainc(self.a, self.b, np.clip(x, 0.0, 1.0))

    def _quantile(self, q: Array) -> Array:
        return special.betaincinv(self.a, self.b, q)

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.beta(self.a, self.b, shape or None)

    def _interior(self) -> Array:
        return self.mean if self._all_proper else np.full(self.batch_shape, 0.5)
