r"""What is believed about a linear function with effects of levels.

Effects given the weights are :math:`u = \hat u_y - \hat U_xw + \varepsilon,\ \varepsilon\sim
N(0, \sigma^2M^{-1})`, so that with the indicators z of a row's levels

.. math:: f(x, z) = z^T\hat u_y + (x - \bar x - \hat U_x^Tz)^Tw + z^T\varepsilon:

a linear function of moved inputs, with a variance of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posteriori.inference.effects.bordered import BorderedFactor
from posteriori.inference.effects.effect_layout import EffectLayout, GroupedRows, open_rows
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.types import Array
from posteriori.regression.bayesian.belief import LinearBelief

__all__ = ["EffectBelief", "GroupedBelief"]


@dataclass(frozen=True)
class EffectBelief:
    """Effects given the weights.

    Attributes
    ----------
    layout : EffectLayout
    factor : BorderedFactor
        Of M.
    fitted : (K + L, D + 1)
        Û_x and û_y.
    ratios : (C,)
        Prior variances of the categories, in units of the noise variance.
    centre : (D,)
        x̄.
    level : float
        Prior mean of the value at x̄.
    """

    layout: EffectLayout
    factor: BorderedFactor
    fitted: Array
    ratios: Array
    centre: Array
    level: float

    def moved(self, rows: GroupedRows) -> tuple[Array, Array]:
        """Return the moved inputs (N, D) and what is known without weights (N,)."""
        told = self.layout.values(self.fitted, rows.codes)
        told += self.fitted[: self.layout.plain].sum(axis=0)
        return rows.x - self.centre - told[:, :-1], self.level + told[:, -1]

    def open(self, rows: GroupedRows) -> Any:
        """Yield what rows say of ε, as :func:`open_rows` does."""
        ones = np.ones((len(rows), self.layout.plain))
        return open_rows(ones, rows.codes, self.factor, self.layout, self.ratios)

    def own_variance(self, rows: GroupedRows) -> Array:
        """Return the variance of zᵀε in units of the noise variance, (N,)."""
        found, cov = np.empty(len(rows)), self.factor.core_cov
        for some, core, extra in self.open(rows):
            found[some] = extra + np.einsum("nk,nk->n", core @ cov, core)
        return found

    def own_covariance(self, rows: GroupedRows, other: GroupedRows) -> Array:
        """Return the covariance of zᵀε of rows and others, (N, N')."""
        left, right = (np.concatenate([core for _, core, _ in self.open(r)]) for r in (rows, other))
        cov = left @ self.factor.core_cov @ right.T
        for c, ratio in enumerate(self.ratios):
            here, there = rows.codes[:, c], other.codes[:, c]
            alone = np.full(len(here), ratio)  # of an unknown level
            known = here >= 0
            alone[known] = 0.0
            if c == self.layout.largest:
                alone[known] = 1.0 / self.factor.corner[here[known]]
            cov += np.where(here[:, None] == there, alone[:, None], 0.0)
        return cov

    def draw(self, rows: GroupedRows, std: Array, rng: np.random.Generator) -> Array:
        """Draw zᵀε of all rows for noises of these standard deviations (S,): (S, N)."""
        core = rng.standard_normal((len(std), self.layout.core)) @ triangular_inverse(
            self.factor.root
        )
        drawn = np.empty((len(std), len(rows)))
        for some, seen, _ in self.open(rows):
            drawn[:, some] = core @ seen.T
        for c, ratio in enumerate(self.ratios):
            levels, place = np.unique(rows.codes[:, c], return_inverse=True)
            alone = np.where(levels < 0, ratio, 0.0)
            if c == self.layout.largest:
                alone[levels >= 0] = 1.0 / self.factor.corner[levels[levels >= 0]]
            if alone.any():
                effects = rng.standard_normal((len(std), len(levels))) * np.sqrt(alone)
                drawn += effects[:, place]
        return drawn * std[:, None]


@dataclass(frozen=True)
class GroupedBelief(LinearBelief):
    """Posterior of a linear function with effects of levels; of the weights it says what its base does.

    Attributes
    ----------
    effects : EffectBelief
        Given the weights; together with those of :class:`LinearBelief`.
    """

    effects: EffectBelief

    def values(self, x: Any) -> Array:
        """Return the expected function of each member: (N, G)."""
        moved, told = self.effects.moved(x)
        return told[:, None] + moved @ self.mean.T

    def spread(self, x: Any) -> Array:
        """Return the variance of f(x) in units of the noise variance: (N, G)."""
        moved, _ = self.effects.moved(x)
        return self.weights_spread(moved) + self.effects.own_variance(x)[:, None]

    def co_spread(self, x: Any, other: Any) -> Array:
        """Return the covariance of f(x) and f(x') in units of the noise variance: (G, N, N')."""
        between = self.weights_co_spread(self.effects.moved(x)[0], self.effects.moved(other)[0])
        return between + self.effects.own_covariance(x, other)

    def sample_values(self, x: Any, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw functions and return their values at x (S, N), with noise variances (S,)."""
        weights, _, variance = self.sample(size, rng)
        moved, told = self.effects.moved(x)
        return told + weights @ moved.T + self.effects.draw(x, np.sqrt(variance), rng), variance

    def level_moments(self) -> tuple[Array, Array]:
        """Return means and variances, in units of the noise variance, of all coordinates: (K + L, G)."""
        fitted = self.effects.fitted
        mean = fitted[:, -1:] - fitted[:, :-1] @ self.mean.T
        return mean, self.weights_spread(fitted[:, :-1]) + self.effects.factor.variances[:, None]
