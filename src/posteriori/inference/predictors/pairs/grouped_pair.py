r"""Posteriors of two linear predictors with effects of levels on both.

.. math:: \eta_n = x_n\cdot w + \sum_c u_c[\ell_{nc}],\quad
          \zeta_n = x_n\cdot w' + \sum_c u'_c[\ell_{nc}],\qquad
          u_c[\ell]\sim N(0, \sigma_c^2),\quad u'_c[\ell]\sim N(0, \sigma_c'^2)

No row belongs to two levels of a category, so that the curvature A of all coordinates has a corner of
2 × 2 blocks. With the covariances :math:`\Sigma_n` of (η, ζ, θ) of rows under :math:`A^{-1}`, Laplace's
evidence F has

.. math:: \frac{dF}{d\ln\sigma_c} = \frac{|\hat u_c|^2 + \mathrm{tr}\,A^{-1}_{cc}}{\sigma_c^2} - L_c
          - \frac{2\hat u_c\cdot a_c}{\sigma_c^2},\qquad
          Aa = \nabla\tfrac12\sum_n\mathrm{tr}(\Sigma_nH_n),

where the curvatures :math:`H_n` of rows move with the mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posteriori.inference.effects.block_bordered import BlockBordered
from posteriori.inference.effects.effect_layout import GroupedRows, effect_gram, level_sums
from posteriori.inference.predictors.mode_finding import Mode
from posteriori.inference.predictors.pairs.paired_weights import PairedWeights, PairLayout
from posteriori.inference.predictors.pairs.two_predictors import PairCurve, PairLikelihood
from posteriori.numerics.types import Array

__all__ = ["GroupedPair"]

#: Steps of predictors and the log shape over which curvatures are compared.
_STEP = 1e-4


@dataclass(frozen=True)
class GroupedPair:
    """The log posterior of weights of two predictors, a log shape, and effects on both.

    Attributes
    ----------
    rows : GroupedRows
        Design matrix and levels.
    layout : PairLayout
    likelihood : callable
        As of :class:`TwoPredictors`.
    precision, prior_mean : (P,)
        Of independent normal priors, of all coordinates.
    frequency : (N,)
        How often each row counts.
    """

    rows: GroupedRows
    layout: PairLayout
    likelihood: PairLikelihood
    precision: Array
    prior_mean: Array
    frequency: Array

    @property
    def blocks(self) -> list[slice]:
        """Which coordinates share a spread."""
        return self.layout.blocks

    @property
    def weight_precision(self) -> Array:
        """Of the weights of the first predictor, then of the second."""
        return self.precision[self.layout.weight_places[:-1]]

    def belief(self, mode: Mode) -> PairedWeights:
        """Return the normal belief at a mode."""
        variances = [1.0 / self.precision[block.start] for block in self.blocks]
        return PairedWeights(self.layout, mode.factor, mode.point, np.array(variances))

    def value_and_gradient(self, v: Array) -> tuple[float, Array]:
        """Return the log posterior and its gradient."""
        offset, curve = v - self.prior_mean, self._curve(v)
        pull = self.precision * offset
        total = float(self.frequency @ curve.value) - 0.5 * float(offset @ pull)
        return total, self._sums(self.frequency * curve.slope) - pull

    def curvature(self, v: Array) -> BlockBordered:
        """Return minus the Hessian of the log posterior."""
        bend = self.frequency * self._curve(v).curvature
        single, place = self.layout.single, self.layout.shape_place
        k, levels = single.core, single.size - single.core
        core, border = np.empty((k, 2, k, 2)), np.empty((levels, 2, k, 2))
        corner = np.empty((levels, 2, 2))
        for i, j in ((0, 0), (1, 0), (1, 1)):
            gram = effect_gram(self.rows.x, self.rows.codes, bend[i, j], single)
            core[:, i, :, j] = core[:, j, :, i] = gram.core
            border[:, i, :, j] = border[:, j, :, i] = gram.border
            corner[:, i, j] = corner[:, j, i] = gram.corner
        mixed = self._sums(bend[:, 2])  # with the log shape
        whole = np.zeros((place + 1, place + 1))
        whole[:place, :place] = core.reshape(place, place)
        whole[place] = whole[:, place] = mixed[: place + 1]
        edge = np.zeros((levels, 2, place + 1))
        edge[:, :, :place] = border.reshape(levels, 2, place)
        edge[:, :, place] = mixed[place + 1 :].reshape(levels, 2)
        return BlockBordered(whole, edge, corner).plus(self.precision)

    def slopes(self, mode: Mode, blocks: Sequence[slice]) -> Array:
        """Return the slopes of Laplace's evidence in the log spreads of blocks of coordinates."""
        factor, offset = mode.factor, mode.point - self.prior_mean
        moved = factor.solve(self._sums(self._determinant_slopes(mode)))  # a
        each = self.precision * (offset**2 + factor.variances - 2.0 * offset * moved) - 1.0
        return np.array([float(each[block].sum()) for block in blocks])

    def _determinant_slopes(self, mode: Mode) -> Array:
        """Return f ∇½tr(ΣH) of rows in both predictors and the log shape, (3, N)."""
        eta, zeta = self.layout.predictors(mode.point, self.rows).T
        theta = float(mode.point[self.layout.shape_place])
        moments, turn = self._row_moments(mode), np.empty((3, len(self.rows)))
        for m, (a, b, c) in enumerate(_STEP * np.eye(3)):
            ahead = self.likelihood(eta + a, zeta + b, theta + c, slice(None))
            back = self.likelihood(eta - a, zeta - b, theta - c, slice(None))
            change = (ahead.curvature - back.curvature) / (2.0 * _STEP)
            turn[m] = 0.5 * np.einsum("ijn,ijn->n", change, moments)
        return self.frequency * turn

    def _row_moments(self, mode: Mode) -> Array:
        """Return covariances of both predictors and the log shape of rows, (3, 3, N)."""
        belief, place = self.belief(mode), self.layout.shape_place
        moments = np.empty((3, 3, len(self.rows)))
        moments[:2, :2] = np.moveaxis(belief.both_moments(self.rows)[1], 0, 2)
        moments[2, :2] = moments[:2, 2] = belief.shape_covariances(self.rows).T
        moments[2, 2] = belief.factor.core_cov[place, place]
        return moments

    def _sums(self, slope: Array) -> Array:
        """Return sums over rows along all coordinates, of slopes in η, ζ and θ (3, N)."""
        single, both = self.layout.single, slope[:2].T
        total = np.empty((single.size, 2))
        total[: single.plain] = self.rows.x.T @ both
        for c, place in enumerate(single.places):
            total[place] = level_sums(both, self.rows.codes[:, c], single.sizes[c])
        return self.layout.joined(total, float(slope[2].sum()))

    def _curve(self, v: Array) -> PairCurve:
        eta, zeta = self.layout.predictors(v, self.rows).T
        return self.likelihood(eta, zeta, float(v[self.layout.shape_place]), slice(None))
