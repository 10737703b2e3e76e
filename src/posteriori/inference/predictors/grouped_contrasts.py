"""Normal beliefs about weights together with effects of levels, on the contrasts of several classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posteriori.inference.effects.block_bordered import BlockBorderedFactor
from posteriori.inference.effects.effect_layout import EffectLayout, GroupedRows, core_rows
from posteriori.inference.predictors.softmax_averages import contrasts
from posteriori.numerics.blocks.block_sizes import WITH_COPY, rows_per_block
from posteriori.numerics.types import Array

__all__ = ["GroupedContrasts", "predictor_covariances"]


@dataclass(frozen=True)
class GroupedContrasts:
    """N(mean, A⁻¹) of weights and effects on M contrasts of K = M + 1 classes.

    Attributes
    ----------
    layout : EffectLayout
        Of the P coordinates of one contrast.
    factor : BlockBorderedFactor
        Of A.
    mean : (P M,)
        The M numbers of a coordinate stand together.
    variances : (C,)
        Prior variances of the categories: what unknown levels have on each contrast.
    """

    layout: EffectLayout
    factor: BlockBorderedFactor
    mean: Array
    variances: Array

    @property
    def size(self) -> int:
        """M."""
        return len(self.mean) // self.layout.size

    @property
    def blocks(self) -> list[slice]:
        """Where the effects of each category stand."""
        m = self.size
        return [slice(m * place.start, m * place.stop) for place in self.layout.places]

    @property
    def effect_unit(self) -> float:
        """√(1 − 1/K): of a class's own effect, what it has about the mean of all classes."""
        return float(np.sqrt(self.size / (self.size + 1.0)))

    @property
    def weights(self) -> tuple[Array, Array]:
        """Mean (M D,) and covariance of the weights, contrast by contrast."""
        m, d = self.size, self.layout.plain
        order = np.arange(d * m).reshape(d, m).T.ravel()
        return self.mean[order], self.factor.core_cov[np.ix_(order, order)]

    @property
    def effect_moments(self) -> list[tuple[Array, Array]]:
        """Means and standard deviations of the effects on each class about the mean of all, (L, K)."""
        m, basis, found = self.size, contrasts(self.size + 1), []
        for c, block in enumerate(self.blocks):
            covs = self._level_covs(c)
            variance = np.einsum("ki,lij,kj->lk", basis, covs, basis)
            found.append((self.mean[block].reshape(-1, m) @ basis.T, np.sqrt(variance)))
        return found

    def row_moments(self, rows: GroupedRows) -> tuple[Array, Array]:
        """Return means (N, M) and covariances (N, M, M) of the contrasts of rows."""
        m, k, x = self.size, self.layout.core, rows.x
        each = self.mean.reshape(self.layout.size, m)
        centre = x @ each[: x.shape[1]] + self.layout.values(each, rows.codes)
        spread = np.empty((len(x), m, m))
        for first in range(0, len(x), step := rows_per_block(k * m * m, WITH_COPY)):
            some = slice(first, first + step)
            spread[some] = self._spread(x[some], rows.codes[some])
        return centre, spread

    def draw(self, size: int, rng: np.random.Generator, unknown: int) -> Array:
        """Draw all coordinates, then effects of so many unknown levels of each category: (S, ...)."""
        known = self.mean + self.factor.draw(size, rng)
        fresh = rng.standard_normal((size, len(self.variances), unknown * self.size))
        fresh *= np.sqrt(self.variances)[:, None]
        return np.concatenate([known, fresh.reshape(size, -1)], axis=1)

    def drawn_predictors(self, draws: Array, rows: GroupedRows) -> Array:
        """Return the contrasts of rows under draws, (S, N, M)."""
        each = draws.reshape(len(draws), -1, self.size)
        eta = np.einsum("nd,sdm->snm", rows.x, each[:, : rows.x.shape[1]])
        unknown = (each.shape[1] - self.layout.size) // len(self.variances)
        for c, place in enumerate(self.layout.places):
            code = rows.codes[:, c]
            fresh = self.layout.size + c * unknown - 1 - code
            eta += each[:, np.where(code >= 0, place.start + code, fresh)]
        return eta

    def _spread(self, x: Array, codes: Array) -> Array:
        """Return covariances of the contrasts of rows, (n, M, M)."""
        m, k, factor = self.size, self.layout.core, self.factor
        core = factor.core_cov.reshape(k, m, k, m)
        between = factor.core_covs.reshape(len(factor.block_covs), m, k, m)  # k may be 0
        spread = predictor_covariances(x, codes, self.layout, core, between, factor.block_covs)
        return spread + ((codes < 0) @ self.variances)[:, None, None] * np.eye(m)

    def _level_covs(self, category: int) -> Array:
        """Return covariances of the effects of each level of a category, (L, M, M)."""
        if category == self.layout.largest:
            return self.factor.block_covs
        m, k = self.size, self.layout.core
        place, cov = self.layout.places[category], self.factor.core_cov.reshape(k, m, k, m)
        own = np.arange(place.start, place.stop)
        return cov[own, :, own, :]


def predictor_covariances(
    x: Array, codes: Array, layout: EffectLayout, core: Array, between: Array, levels: Array
) -> Array:
    """Return covariances of M predictors of rows, (N, M, M); unknown levels have none.

    Of the core c along the row z, and of the level u of the largest category: Var(z·c + u).

    Parameters
    ----------
    x : (N, D)
    codes : (N, C)
    layout : EffectLayout
        Of the coordinates of one predictor, K of them in the core.
    core : (K, M, K, M)
        Covariances of the core.
    between : (L, M, K, M)
        Of the levels of the largest category with it.
    levels : (L, M, M)
        Of these levels.
    """
    z, m = core_rows(x, codes, layout), core.shape[1]
    spread = np.empty((len(z), m, m))
    for i in range(m):
        for j in range(i + 1):
            spread[:, i, j] = np.einsum("nk,nk->n", z @ core[:, i, :, j], z)
            spread[:, j, i] = spread[:, i, j]
    at = np.flatnonzero(codes[:, layout.largest] >= 0)
    level = codes[at, layout.largest]
    shared = np.einsum("nk,nikj->nij", z[at], between[level])
    spread[at] += shared + shared.swapaxes(1, 2) + levels[level]
    return spread
