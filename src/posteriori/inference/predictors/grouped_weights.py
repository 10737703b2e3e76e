"""Normal beliefs about weights together with effects of levels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from posteriori.inference.effects.bordered import BorderedFactor
from posteriori.inference.effects.effect_layout import EffectLayout, GroupedRows, open_rows
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.types import Array

__all__ = ["GroupedWeights"]


@dataclass(frozen=True)
class GroupedWeights:
    """N(mean, A⁻¹) of weights, a log shape where there is one, and effects.

    Attributes
    ----------
    layout : EffectLayout
    factor : BorderedFactor
        Of A.
    mean : (P,)
    variances : (C,)
        Prior variances of the categories: what unknown levels have.
    """

    layout: EffectLayout
    factor: BorderedFactor
    mean: Array
    variances: Array

    #: What standard deviations of effects are measured in, beside those of the predictor's.
    effect_unit: ClassVar[float] = 1.0

    @property
    def blocks(self) -> list[slice]:
        """Where the effects of each category stand."""
        return self.layout.places

    @property
    def weights(self) -> tuple[Array, Array]:
        """Mean and covariance of the weights, and of the log shape where there is one."""
        plain = self.layout.plain
        return self.mean[:plain], self.factor.core_cov[:plain, :plain]

    @property
    def effect_moments(self) -> list[tuple[Array, Array]]:
        """Means and standard deviations of the effects of each category, (L,) each."""
        std = np.sqrt(self.factor.variances)
        return [(self.mean[block], std[block]) for block in self.blocks]

    def row_moments(self, rows: GroupedRows) -> tuple[Array, Array]:
        """Return means and variances of the predictors of rows, (N,) each."""
        variance, cov = np.empty(len(rows)), self.factor.core_cov
        for some, core, extra in self._open(rows):
            variance[some] = extra + np.einsum("nk,nk->n", core @ cov, core)
        x = rows.x
        return x @ self.mean[: x.shape[1]] + self.layout.values(self.mean, rows.codes), variance

    def covariance_with(self, rows: GroupedRows, place: int) -> Array:
        """Return covariances of the predictors of rows with a coordinate of the core, (N,)."""
        found, column = np.empty(len(rows)), self.factor.core_cov[:, place]
        for some, core, _ in self._open(rows):
            found[some] = core @ column
        return found

    def draw(self, size: int, rng: np.random.Generator, unknown: int) -> Array:
        """Draw all coordinates, then effects of so many unknown levels of each category: (S, ...)."""
        k = self.layout.core
        core = rng.standard_normal((size, k)) @ triangular_inverse(self.factor.root)
        corner = rng.standard_normal((size, self.layout.size - k)) / np.sqrt(self.factor.corner)
        corner -= core @ self.factor.shares.T
        fresh = rng.standard_normal((size, len(self.variances), unknown))
        fresh *= np.sqrt(self.variances)[:, None]
        known = self.mean + np.concatenate([core, corner], axis=1)
        return np.concatenate([known, fresh.reshape(size, -1)], axis=1)

    def drawn_predictors(self, draws: Array, rows: GroupedRows) -> Array:
        """Return the predictors of rows under draws, (S, N)."""
        eta = draws[:, : rows.x.shape[1]] @ rows.x.T
        unknown = (draws.shape[1] - self.layout.size) // len(self.variances)
        for c, place in enumerate(self.layout.places):
            code = rows.codes[:, c]
            fresh = self.layout.size + c * unknown - 1 - code
            eta += draws[:, np.where(code >= 0, place.start + code, fresh)]
        return eta

    def _open(self, rows: GroupedRows) -> Iterator[tuple[slice, Array, Array]]:
        return open_rows(rows.x, rows.codes, self.factor, self.layout, self.variances)
