r"""The Dirichlet distribution, :math:`p(x) = \frac{\Gamma(s)}{\prod_k\Gamma(\alpha_k)}
\prod_k x_k^{\alpha_k-1}` on the simplex, :math:`s = \sum_k\alpha_k`.

Natural parameters :math:`\alpha - 1` with statistics :math:`\ln x`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import any_of
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import outer
from posteriori.numerics.special import (
    gamma_density_kernel,
    gamma_entropy,
    gamma_kernel,
    log_gamma_bregman_remainder,
    relative_entropy_terms,
)
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import SUM_TOLERANCE, as_observation, positive_vector

__all__ = [
    "Dirichlet",
    "dirichlet_divergence",
    "dirichlet_entropy",
    "solve_dirichlet_concentration",
]

#: Totals beyond which the density is written in kernels: large logarithms would cancel.
_LARGE_COUNT = 30.0


class Dirichlet(ExponentialFamily):
    """Dirichlet distribution on probability vectors.

    Parameters
    ----------
    concentration : array (..., K)
        Positive pseudo-counts α: the mean is α / Σα.

    Examples
    --------
    >>> Dirichlet([2.0, 3.0, 5.0]).mean
    array([0.2, 0.3, 0.5])
    >>> Dirichlet([2.0, 3.0, 5.0]).variance.round(6)
    array([0.014545, 0.019091, 0.022727])
    """

    _parameters = {"concentration": 1}
    _shown = ("concentration",)
    _natural_ndims = (1,)
    _event_ndim = 1

    concentration: Array

    def __new__(cls, concentration: Any) -> Self:
        return cls._from(concentration=positive_vector("concentration", concentration))

    @property
    def event_shape(self) -> tuple[int, ...]:
        """(K,)."""
        return self.concentration.shape[-1:]

    @cached_property
    def _total(self) -> Array:
        return self.concentration.sum(axis=-1)

    @cached_property
    def mean(self) -> Array:
        """Mean m = α / Σα."""
        self._require_proper("mean")
        return self.concentration / self._total[..., None]

    @cached_property
    def cov(self) -> Array:
        """Covariance (diag(m) − m mᵀ)/(Σα + 1)."""
        m = self.mean
        spread = m[..., :, None] * np.eye(m.shape[-1]) - outer(m, m)
        return spread / (self._total[..., None, None] + 1.0)

    @cached_property
    def variance(self) -> Array:
        """Marginal variances m(1 − m)/(Σα + 1)."""
        return self.mean * (1.0 - self.mean) / (self._total[..., None] + 1.0)

    @property
    def std(self) -> Array:
        """Marginal standard deviations."""
        return np.sqrt(self.variance)

    @cached_property
    def mode(self) -> Array:
        """Mode (α − 1)/(Σα − K); needs every α >= 1 and one above."""
        excess = self.concentration - 1.0
        total = excess.sum(axis=-1, keepdims=True)
        if np.any(excess < 0) or np.any(total <= 0):
            raise ValueError(
                "the mode needs every concentration >= 1 and one above it: "
                "below 1 the density is unbounded at a face of the simplex"
            )
        return excess / total

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """(α − 1,)."""
        return (self.concentration - 1.0,)

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        return cls._from(concentration=natural[0] + 1.0)

    @property
    def is_proper(self) -> Any:
        """Whether all pseudo-counts are positive."""
        return np.all(self.concentration > 0, axis=-1)

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return T(x) = (ln x,)."""
        return (np.log(as_observation(x)),)

    @cached_property
    def mean_params(self) -> Natural:
        """(ψ(α) − ψ(Σα),)."""
        alpha = self.concentration
        return (special.digamma(alpha) - special.digamma(self._total)[..., None],)

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the Dirichlet with E[ln x] as given (Newton's method)."""
        return cls(solve_dirichlet_concentration(as_observation(mean_params[0], "mean_params")))

    def _log_normalizer(self) -> Array:
        logs = special.gammaln(self.concentration).sum(axis=-1)
        return logs - special.gammaln(self._total)

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return _off_simplex(x) | np.any(x == 0, axis=-1)

    def _outside(self, x: Array) -> Any:
        return _off_simplex(x)  # the density has limits at the faces

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        if not self._is_large:
            return _weighted_logs(self.concentration - 1.0, x) - self.log_normalizer()
        s = self._total
        ends = gamma_density_kernel(self.concentration, s[..., None] * x).sum(axis=-1)
        return ends + self.event_shape[0] * np.log(s) - gamma_kernel(s, s)

    @cached_property
    def _is_large(self) -> bool:
        return bool(np.any(self._total > _LARGE_COUNT))

    def _entropy(self) -> Array:
        return dirichlet_entropy(self.concentration)

    def _kl(self, other: Self) -> Array:
        return dirichlet_divergence(self.concentration, other.concentration)

    def _fisher_information(self) -> Array:
        own = special.polygamma(1, self.concentration)[..., :, None]
        identity = np.eye(self.event_shape[0])
        return own * identity - special.polygamma(1, self._total)[..., None, None]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # ln g = ln Gamma(α+1) + ln(U)/α keeps tiny concentrations from underflowing to 0/0
        full = shape + self.event_shape
        logs = np.log(rng.standard_gamma(self.concentration + 1.0, full))
        logs += np.log(rng.random(full)) / self.concentration
        return special.softmax(logs, axis=-1)

    def _interior(self) -> Array:
        if self._all_proper:
            return self.mean
        return np.full(self.event_shape, 1.0 / self.event_shape[0])


def _weighted_logs(weights: Array, x: Array) -> Array:
    """Return Σ w ln x with 0 ln 0 = 0; a product with one vector where no entry is 0."""
    if weights.ndim == 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log(x).dot(weights)
        if not any_of(value - value != 0):  # neither infinite nor NaN
            return value
    return special.xlogy(weights, x).sum(axis=-1)


def _off_simplex(x: Array) -> Any:
    total = np.add.reduce(x) if x.ndim == 1 else x @ np.ones(x.shape[-1])
    wrong = np.abs(total - 1.0) > SUM_TOLERANCE
    return wrong if x.size == 0 or x.min() >= 0 else wrong | np.any(x < 0, axis=-1)


def dirichlet_entropy(concentration: Array) -> Array:
    r"""Return :math:`\sum_k E(\alpha_k) - E(s) - (K-1)\psi(s)`, E the unit-rate gamma entropy."""
    s = concentration.sum(axis=-1)
    spare = concentration.shape[-1] - 1
    parts = gamma_entropy(np.concatenate([concentration, s[..., None]], axis=-1))
    return parts[..., :-1].sum(axis=-1) - parts[..., -1] - spare * special.digamma(s)


def dirichlet_divergence(concentration: Array, other: Array) -> Array:
    r"""Return KL(Dir(α) ‖ Dir(α')).

    A sum of Bregman divergences of lnΓ; their leading parts add up to
    :math:`s'\sum_k m'_k\ln(m'_k/m_k)` with :math:`m = \alpha/s`, which is free of cancellation.
    """
    s, t = concentration.sum(axis=-1), other.sum(axis=-1)
    m, m_other = concentration / s[..., None], other / t[..., None]
    rise = other - concentration
    drift = concentration * rise.sum(axis=-1)[..., None]
    gap = (rise * s[..., None] - drift) / (s * t)[..., None]  # m' − m
    leading = t * relative_entropy_terms(m_other, m, gap).sum(axis=-1)
    rest = log_gamma_bregman_remainder(other, concentration).sum(axis=-1)
    return leading + rest - log_gamma_bregman_remainder(t, s)


def solve_dirichlet_concentration(mean_logs: Array) -> Array:
    """Solve ψ(α_k) − ψ(Σα) = mean_logs_k by Newton's method in ln α (Minka 2000).

    Raises
    ------
    ValueError
        When the logs belong to no Dirichlet: Σ exp(mean_logs) must be below 1.
    """
    if np.any(np.exp(mean_logs).sum(axis=-1) >= 1.0):
        raise ValueError("data do not vary: no finite concentration has these E[ln x]")
    alpha = _starting_concentration(mean_logs)
    for _ in range(500):
        s = alpha.sum(axis=-1, keepdims=True)
        gap = special.digamma(alpha) - special.digamma(s) - mean_logs
        # Jacobian in ln α: (diag(ψ'(α)) − ψ'(s) 1 1ᵀ) diag(α), inverted by Sherman–Morrison
        own = special.polygamma(1, alpha)
        ratio = gap / own
        pull = special.polygamma(1, s)
        shared = pull * ratio.sum(axis=-1, keepdims=True)
        shared /= 1.0 - pull * (1.0 / own).sum(axis=-1, keepdims=True)
        step = (ratio + shared / own) / alpha
        alpha = alpha * np.exp(np.clip(-step, -2.0, 2.0))
        if np.all(np.abs(step) < 1e-15 * (1.0 + s)):
            break
    return alpha


def _starting_concentration(mean_logs: Array) -> Array:
    """Match the geometric mean and Stirling's estimate of the total."""
    centre = special.softmax(mean_logs, axis=-1)
    deficit = -np.log(np.exp(mean_logs).sum(axis=-1, keepdims=True))
    total = 0.5 * (mean_logs.shape[-1] - 1) / deficit
    return np.maximum(centre * total, 1e-3)
