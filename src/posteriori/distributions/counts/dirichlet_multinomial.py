r"""The Dirichlet-multinomial distribution,
:math:`p(x) = \frac{n!\,\Gamma(s)}{\Gamma(n+s)}\prod_k\frac{\Gamma(x_k+\alpha_k)}
{\Gamma(\alpha_k)\,x_k!}` for counts x that sum to n, :math:`s = \sum_k\alpha_k`.

Counts of categories whose probabilities have a Dirichlet distribution (Pólya's urn). As s grows
it becomes multinomial.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.counts.categorical import one_hot_cov
from posteriori.distributions.counts.compound_counts import negative_binomial_log_mass
from posteriori.distributions.counts.trials import drawn_trials
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.numerics.types import Array
from posteriori.numerics.validation import positive_vector, whole

__all__ = ["DirichletMultinomial"]

_FEW = 32  # categories up to which each is quicker done on its own


class DirichletMultinomial(Distribution):
    """Dirichlet-multinomial distribution of the counts of K categories.

    Parameters
    ----------
    trials : int or array
        Number of trials n = 0, 1, 2, …
    concentration : array (..., K)
        Positive pseudo-counts α: the mean is nα/Σα.

    Examples
    --------
    >>> d = DirichletMultinomial(2, [1.0, 1.0, 1.0])
    >>> d.log_prob([[2, 0, 0], [1, 0, 1]]).round(6)  # all six equally probable
    array([-1.791759, -1.791759])
    """

    _parameters = {"trials": 0, "concentration": 1}
    _shown = ("trials", "concentration")
    _has_atoms = True
    _event_ndim = 1

    trials: Array
    concentration: Array

    def __new__(cls, trials: Any, concentration: Any) -> Self:
        return cls._from(
            trials=whole("trials", trials),
            concentration=positive_vector("concentration", concentration),
        )

    @property
    def event_shape(self) -> tuple[int, ...]:
        """(K,)."""
        return self.concentration.shape[-1:]

    @cached_property
    def _total(self) -> Array:
        return self.concentration.sum(axis=-1)

    @cached_property
    def _probabilities(self) -> Array:
        return self.concentration / self._total[..., None]

    @cached_property
    def _widening(self) -> Array:
        return (self._total + self.trials) / (self._total + 1.0)

    @cached_property
    def mean(self) -> Array:
        """Mean nm with m = α/Σα."""
        return self.trials[..., None] * self._probabilities

    @cached_property
    def cov(self) -> Array:
        """Covariance n (diag(m) − mmᵀ)(n + Σα)/(1 + Σα)."""
        scale = self.trials * self._widening
        return scale[..., None, None] * one_hot_cov(self._probabilities)

    @cached_property
    def variance(self) -> Array:
        """Marginal variances nm(1 − m)(n + Σα)/(1 + Σα)."""
        return self.mean * (1.0 - self._probabilities) * self._widening[..., None]

    @property
    def std(self) -> Array:
        """Marginal standard deviations."""
        return np.sqrt(self.variance)

    # -- density ---------------------------------------------------------------------------

    def _outside(self, x: Array) -> Any:
        if x.ndim == 1 and not self.trials.ndim:  # a single point, quicker without arrays
            counts = x.tolist()
            whole_counts = all(count >= 0 and count.is_integer() for count in counts)
            return (not whole_counts or sum(counts) != self.trials) and not np.isnan(x).any()
        off = np.any((x < 0) | (np.floor(x) != x), axis=-1) | (x.sum(axis=-1) != self.trials)
        return off & ~np.any(x != x, axis=-1)

    def _log_density(self, x: Array) -> Array:
        # independent negative binomial counts, given that they sum to n
        if self.concentration.ndim == 1 and self.mean.ndim == 1 and self.mean.size <= _FEW:
            columns = x if x.ndim == 1 else np.moveaxis(x, -1, 0)
            rows = zip(columns, self.concentration, self.mean, strict=True)
            return sum(negative_binomial_log_mass(*row) for row in rows) - self._log_mass_of_total
        parts = negative_binomial_log_mass(x, self.concentration, self.mean)
        return parts.sum(axis=-1) - self._log_mass_of_total

    @cached_property
    def _log_mass_of_total(self) -> Array:
        return negative_binomial_log_mass(self.trials, self._total, self.trials)

    # -- draws -----------------------------------------------------------------------------

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        p = Dirichlet._from(concentration=self.concentration)._sample(shape, rng)
        return rng.multinomial(drawn_trials(self.trials), p) * 1.0

    def _interior(self) -> Array:
        corner = np.zeros(self.batch_shape + self.event_shape)
        corner[..., 0] = self.trials
        return corner
