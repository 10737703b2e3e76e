"""Normal beliefs about the weights of two predictors, a log shape, and two effects of every level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from posteriori.inference.effects.block_bordered import BlockBorderedFactor
from posteriori.inference.effects.effect_layout import EffectLayout, GroupedRows, core_rows
from posteriori.inference.predictors.grouped_contrasts import predictor_covariances
from posteriori.numerics.blocks.block_sizes import WITH_COPY, rows_per_block
from posteriori.numerics.types import Array

__all__ = ["PairLayout", "PairedWeights"]


@dataclass(frozen=True)
class PairLayout:
    """Coordinates: pairs of the core, the log shape, then pairs of the largest category's levels.

    Attributes
    ----------
    single : EffectLayout
        Of the P coordinates of one predictor: weights, then effects.
    """

    single: EffectLayout

    @property
    def shape_place(self) -> int:
        """Where the log shape stands."""
        return 2 * self.single.core

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return 2 * self.single.size + 1

    @property
    def weight_places(self) -> Array:
        """Where the weights of the first predictor, those of the second and the log shape stand."""
        weights = np.arange(2 * self.single.plain).reshape(-1, 2).T.ravel()
        return np.append(weights, self.shape_place)

    @property
    def blocks(self) -> list[slice]:
        """Which coordinates share a spread: for each category those on the first, then the second."""
        return [self.block(c, i) for c in range(len(self.single.sizes)) for i in (0, 1)]

    def block(self, category: int, predictor: int) -> slice:
        """Return where the effects of a category on a predictor stand."""
        place, beyond = self.single.places[category], category == self.single.largest
        start = 2 * place.start + beyond
        return slice(start + predictor, start + 2 * (place.stop - place.start), 2)

    def pairs(self, v: Array) -> Array:
        """Return the coordinates of both predictors, (P, 2), without the log shape."""
        return np.delete(v, self.shape_place).reshape(-1, 2)

    def joined(self, pairs: Array, log_shape: float) -> Array:
        """Return all coordinates from those of both predictors (P, 2) and the log shape."""
        return np.insert(pairs.ravel(), self.shape_place, log_shape)

    def predictors(self, v: Array, rows: GroupedRows) -> Array:
        """Return both predictors of rows, (N, 2); unknown levels have no effect."""
        each, x = self.pairs(v), rows.x
        return x @ each[: x.shape[1]] + self.single.values(each, rows.codes)


@dataclass(frozen=True)
class PairedWeights:
    """N(mean, A⁻¹) of all coordinates.

    Attributes
    ----------
    layout : PairLayout
    factor : BlockBorderedFactor
        Of A.
    mean : (P,)
    variances : (2 C,)
        Prior variances of the blocks: what unknown levels have.
    """

    layout: PairLayout
    factor: BlockBorderedFactor
    mean: Array
    variances: Array

    #: What standard deviations of effects are measured in, beside those of the predictors.
    effect_unit: ClassVar[float] = 1.0

    @property
    def blocks(self) -> list[slice]:
        """Which coordinates share a spread."""
        return self.layout.blocks

    @property
    def weights(self) -> tuple[Array, Array]:
        """Mean and covariance of the weights of the first predictor, of the second, and of the log shape."""
        order = self.layout.weight_places
        return self.mean[order], self.factor.core_cov[np.ix_(order, order)]

    @property
    def effect_moments(self) -> list[tuple[Array, Array]]:
        """Means and standard deviations of the effects of each block, (L,) each."""
        std = np.sqrt(self.factor.variances)
        return [(self.mean[block], std[block]) for block in self.blocks]

    def both_moments(self, rows: GroupedRows) -> tuple[Array, Array]:
        """Return means (N, 2) and covariances (N, 2, 2) of both predictors of rows."""
        single, spread = self.layout.single, np.empty((len(rows), 2, 2))
        parts = self._without_shape()
        unknown = self.variances.reshape(-1, 2)  # (C, 2)
        for first in range(0, len(rows), step := rows_per_block(4 * single.core, WITH_COPY)):
            some = slice(first, first + step)
            codes = rows.codes[some]
            spread[some] = predictor_covariances(rows.x[some], codes, single, *parts)
            spread[some] += ((codes < 0) @ unknown)[:, :, None] * np.eye(2)
        return self.layout.predictors(self.mean, rows), spread

    def shape_covariances(self, rows: GroupedRows) -> Array:
        """Return covariances of both predictors with the log shape, (N, 2)."""
        place, single = self.layout.shape_place, self.layout.single
        column = self.factor.core_cov[:place, place].reshape(-1, 2)
        found, level = core_rows(rows.x, rows.codes, single) @ column, rows.codes[:, single.largest]
        known = np.flatnonzero(level >= 0)
        found[known] += self.factor.core_covs[level[known], :, place]
        return found

    def row_moments(self, rows: GroupedRows) -> tuple[Array, Array]:
        """Return means and variances of the first predictor of rows, (N,) each."""
        mean, cov = self.both_moments(rows)
        return mean[:, 0], cov[:, 0, 0]

    def draw(self, size: int, rng: np.random.Generator, unknown: int) -> Array:
        """Draw all coordinates, then effects of so many unknown levels of each block: (S, ...)."""
        known = self.mean + self.factor.draw(size, rng)
        fresh = rng.standard_normal((size, len(self.variances), unknown))
        fresh *= np.sqrt(self.variances)[:, None]
        return np.concatenate([known, fresh.reshape(size, -1)], axis=1)

    def drawn_shapes(self, draws: Array) -> Array:
        """Return the log shapes of draws, (S,)."""
        return draws[:, self.layout.shape_place]

    def drawn_predictors(self, draws: Array, rows: GroupedRows, predictor: int = 0) -> Array:
        """Return a predictor of rows under draws, (S, N)."""
        size, d = self.layout.size, rows.x.shape[1]
        eta = draws[:, predictor : 2 * d : 2] @ rows.x.T
        unknown = (draws.shape[1] - size) // len(self.variances)
        for c in range(len(self.layout.single.sizes)):
            code, start = rows.codes[:, c], self.layout.block(c, predictor).start
            fresh = size + (2 * c + predictor) * unknown - 1 - code
            eta += draws[:, np.where(code >= 0, start + 2 * code, fresh)]
        return eta

    def _without_shape(self) -> tuple[Array, Array, Array]:
        """Return covariances of the core (K, 2, K, 2), of levels with it (L, 2, K, 2), and of levels."""
        place, k = self.layout.shape_place, self.layout.single.core
        core = self.factor.core_cov[:place, :place].reshape(k, 2, k, 2)
        between = self.factor.core_covs[:, :, :place]
        return core, between.reshape(len(between), 2, k, 2), self.factor.block_covs
