r"""Posteriors of softmax models with effects of levels: each level has one on every contrast.

.. math:: v_n = x_nW + \sum_c u_c[\ell_{nc}],\qquad u_c[\ell]\sim N(0, \sigma_c^2I_M),\qquad
          p(y_n = k) = \mathrm{softmax}(Bv_n)_k

with M = K − 1 contrasts B of the classes. In K effects of each level, one for every class, the prior is
the same isotropic one, and what all classes share is not seen. Given the rest, the M effects of a level
of the largest category are independent of those of its other levels: the curvature A has a corner of
M × M blocks. With the covariances :math:`\Sigma_n` of the contrasts of rows under :math:`A^{-1}`,
Laplace's evidence F has

.. math:: \frac{dF}{d\ln\sigma_c} = \frac{|\hat u_c|^2 + \mathrm{tr}\,A^{-1}_{cc}}{\sigma_c^2} - ML_c
          - \frac{2\hat u_c\cdot a_c}{\sigma_c^2},\qquad
          Aa = \nabla\tfrac12\sum_n\mathrm{tr}(\Sigma_nR_n),

where :math:`R_n = B^T(\mathrm{diag}(p_n) - p_np_n^T)B` moves with the mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posteriori.inference.effects.block_bordered import BlockBordered
from posteriori.inference.effects.effect_layout import (
    EffectLayout,
    GroupedRows,
    effect_gram,
    level_sums,
)
from posteriori.inference.predictors.grouped_contrasts import GroupedContrasts
from posteriori.inference.predictors.mode_finding import Mode
from posteriori.inference.predictors.product_nodes import CLOSE
from posteriori.inference.predictors.softmax_likelihood import SoftmaxLikelihood
from posteriori.numerics.types import Array

__all__ = ["GroupedSoftmax"]


@dataclass(frozen=True)
class GroupedSoftmax:
    """The log posterior of weights and effects on M contrasts, P coordinates for each.

    Attributes
    ----------
    rows : GroupedRows
        Design matrix and levels.
    layout : EffectLayout
        Of the coordinates of one contrast.
    likelihood : SoftmaxLikelihood
    precision, prior_mean : (P M,)
        Of independent normal priors; the M numbers of a coordinate stand together.
    frequency : (N,), optional
        How often each row counts.
    """

    rows: GroupedRows
    layout: EffectLayout
    likelihood: SoftmaxLikelihood
    precision: Array
    prior_mean: Array
    frequency: Array | None = None

    @property
    def blocks(self) -> list[slice]:
        """Where the effects of each category stand."""
        m = self.likelihood.n_contrasts
        return [slice(m * place.start, m * place.stop) for place in self.layout.places]

    @property
    def weight_precision(self) -> Array:
        """Of the weights alone."""
        return self.precision[: self.likelihood.n_contrasts * self.layout.plain]

    def belief(self, mode: Mode) -> GroupedContrasts:
        """Return the normal belief at a mode."""
        variances = np.array([1.0 / self.precision[block.start] for block in self.blocks])
        return GroupedContrasts(self.layout, mode.factor, mode.point, variances)

    def averaged(self, spread: Array) -> GroupedSoftmax:
        """Return the same with means of log likelihoods over contrasts that vary so, (N, M, M)."""
        return replace(self, likelihood=self.likelihood.averaged(spread, CLOSE))

    def roughly(self) -> GroupedSoftmax:
        """Return the same with means over few nodes."""
        return replace(self, likelihood=self.likelihood.roughly())

    def value_and_gradient(self, v: Array) -> tuple[float, Array]:
        """Return the log posterior and its gradient."""
        offset = v - self.prior_mean
        pull = self.precision * offset
        value, slope = self.likelihood.value_and_slope(self._centre(v))
        f = self.frequency
        if f is not None:
            value, slope = f * value, f[:, None] * slope
        return float(value.sum()) - 0.5 * float(offset @ pull), self._sums(slope) - pull

    def curvature(self, v: Array) -> BlockBordered:
        """Return minus the Hessian of the log posterior."""
        r = self.likelihood.curvature(self._centre(v))
        if self.frequency is not None:
            r *= self.frequency[:, None, None]
        m, k, layout = self.likelihood.n_contrasts, self.layout.core, self.layout
        levels = layout.size - k
        core, corner = np.empty((k, m, k, m)), np.empty((levels, m, m))
        border = np.empty((levels, m, k, m))
        for i in range(m):
            for j in range(i + 1):
                gram = effect_gram(self.rows.x, self.rows.codes, r[:, i, j].copy(), layout)
                core[:, i, :, j] = core[:, j, :, i] = gram.core
                border[:, i, :, j] = border[:, j, :, i] = gram.border
                corner[:, i, j] = corner[:, j, i] = gram.corner
        whole = BlockBordered(core.reshape(k * m, k * m), border.reshape(levels, m, k * m), corner)
        return whole.plus(self.precision)

    def slopes(self, mode: Mode, blocks: Sequence[slice]) -> Array:
        """Return the slopes of Laplace's evidence in the log spreads of blocks of coordinates."""
        factor: Any = mode.factor
        offset, spread = mode.point - self.prior_mean, self.belief(mode).row_moments(self.rows)[1]
        turn = self._determinant_slopes(self._centre(mode.point), spread)
        moved = factor.solve(self._sums(turn))  # a
        each = self.precision * (offset**2 + factor.variances - 2.0 * offset * moved) - 1.0
        return np.array([float(each[block].sum()) for block in blocks])

    def _determinant_slopes(self, centre: Array, spread: Array) -> Array:
        """Return f ∇½tr(ΣR) of rows in their contrasts, (N, M).

        With T = BΣBᵀ and t_k = T_kk − 2(Tp)_k it is ½Bᵀ(p∘(t − p·t)).
        """
        p, basis = self.likelihood.moments(centre).first, self.likelihood.basis
        arms = basis @ spread  # (N, K, M)
        t = np.einsum("nkm,km->nk", arms, basis) - 2.0 * np.einsum("nkm,nm->nk", arms, p @ basis)
        turn = 0.5 * (p * (t - (p * t).sum(axis=1, keepdims=True))) @ basis
        return turn if self.frequency is None else turn * self.frequency[:, None]

    def _centre(self, v: Array) -> Array:
        """Return the contrasts of rows, (N, M)."""
        x, each = self.rows.x, v.reshape(self.layout.size, -1)
        return x @ each[: x.shape[1]] + self.layout.values(each, self.rows.codes)

    def _sums(self, slope: Array) -> Array:
        """Return sums over rows along all coordinates, (P M,)."""
        total = np.empty((self.layout.size, slope.shape[1]))
        total[: self.layout.plain] = (slope.T @ self.rows.x).T
        for c, place in enumerate(self.layout.places):
            total[place] = level_sums(slope, self.rows.codes[:, c], self.layout.sizes[c])
        return total.ravel()
