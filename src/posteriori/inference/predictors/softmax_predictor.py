r"""Posteriors of softmax models: K classes with one linear predictor each.

Softmax probabilities do not change when all predictors rise by the same amount, so the Hessian of K
weight vectors is singular. In an orthonormal basis B (K, K − 1) of the contrasts,

.. math:: W = BV,\qquad p(y = k \mid x) = \mathrm{softmax}(B V x)_k,

it is not, and |V|² = |W|²: an isotropic normal prior of W is one of V, and what W has along
(1, …, 1) is not seen by the data and leaves the evidence as it is.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, eqs. 4.106–4.110.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from posteriori.inference.predictors.generalized_linear import weighted_gram
from posteriori.inference.predictors.product_nodes import FINE, ROUGH, Fineness
from posteriori.inference.predictors.softmax_averages import (
    SoftmaxMoments,
    SpreadNodes,
    contrasts,
    known_moments,
)
from posteriori.numerics.block_sizes import rows_per_block
from posteriori.numerics.types import Array

__all__ = ["SoftmaxPredictor", "block_gram"]

#: Contrasts of rows (n, K − 1), and means over them.
RowMeans: TypeAlias = tuple[Array, SoftmaxMoments]


class SoftmaxPredictor:
    """The log posterior of contrast weights v: Σ f ln softmax(B V x)_y − ½ (v − m)ᵀ diag(λ) (v − m).

    Parameters
    ----------
    x : (N, D)
    codes : (N,)
        Class of each row, 0 to K − 1.
    classes : int
        K.
    prior_precision : ((K − 1) D,)
        λ, of the rows of V one after the other.
    prior_mean : ((K − 1) D,)
    frequency : (N,), optional
        How often each row counts.
    spread : (N, K − 1, K − 1), optional
        Covariances of the contrasts of rows: each log likelihood is then its mean over them.
    fineness : Fineness
        Of these means.
    """

    def __init__(
        self,
        x: Array,
        codes: Array,
        classes: int,
        prior_precision: Array,
        prior_mean: Array,
        frequency: Array | None = None,
        spread: Array | None = None,
        fineness: Fineness = FINE,
    ) -> None:
        self.x = x
        self.codes = codes
        self.basis = contrasts(classes)
        self.prior_precision = prior_precision
        self.prior_mean = prior_mean
        self.frequency = frequency
        self.spread = spread
        step = rows_per_block(max(x.shape[1], classes))
        self._rows = [slice(first, first + step) for first in range(0, len(x), step)]
        self._nodes: list[SpreadNodes | None] = [
            None if spread is None else SpreadNodes(spread[rows], fineness) for rows in self._rows
        ]
        self._last_point, self._last_means = np.empty(0), list[RowMeans]()

    def roughly(self) -> SoftmaxPredictor:
        """Return the same log posterior with means over few nodes."""
        return SoftmaxPredictor(
            self.x,
            self.codes,
            len(self.basis),
            self.prior_precision,
            self.prior_mean,
            self.frequency,
            self.spread,
            ROUGH,
        )

    def value_and_gradient(self, w: Array) -> tuple[float, Array]:
        """Return the log posterior and its gradient."""
        offset = w - self.prior_mean
        pull = self.prior_precision * offset
        total, gradient = -0.5 * float(offset @ pull), -pull
        slopes = np.zeros((self.basis.shape[1], self.x.shape[1]))
        for rows, (centre, means) in zip(self._rows, self._means(w), strict=True):
            x, codes = self.x[rows], self.codes[rows]
            value = (centre * self.basis[codes]).sum(axis=1) - means.log_sum
            gap = means.first.copy()
            gap[np.arange(len(x)), codes] -= 1.0  # p − t
            if self.frequency is not None:
                value = value * self.frequency[rows]
                gap *= self.frequency[rows][:, None]
            total += float(value.sum())
            slopes -= (gap @ self.basis).T @ x
        return total, gradient + slopes.ravel()

    def curvature(self, w: Array) -> Array:
        """Return minus the Hessian: blocks Σ f r_ij x xᵀ with r = Bᵀ⟨diag(p) − ppᵀ⟩B."""
        total = np.diag(self.prior_precision)
        for rows, (_, means) in zip(self._rows, self._means(w), strict=True):
            r = means.curvature()
            if self.frequency is not None:
                r *= self.frequency[rows][:, None, None]
            total += block_gram(self.x[rows], r)
        return total

    def _means(self, w: Array) -> list[RowMeans]:
        """Return contrasts (n, K − 1) and means of rows by blocks.

        Means over nodes cost more than the Hessian that is made of them: the last are kept for it.
        """
        if not np.array_equal(self._last_point, w):
            weights = w.reshape(self.basis.shape[1], -1).T
            centres = [self.x[rows] @ weights for rows in self._rows]
            self._last_means = [
                (centre, known_moments(centre) if nodes is None else nodes.moments(centre))
                for centre, nodes in zip(centres, self._nodes, strict=True)
            ]
            self._last_point = w.copy()
        return self._last_means


def block_gram(x: Array, r: Array) -> Array:
    """Return Σ_n r_n ⊗ x_n x_nᵀ of symmetric matrices r (N, M, M), (M P, M P)."""
    m, p = r.shape[1], x.shape[1]
    total = np.empty((m, p, m, p))
    for i in range(m):
        for j in range(i + 1):
            weight = np.maximum(r[:, i, i], 0.0) if i == j else r[:, i, j]
            total[i, :, j] = weighted_gram(x, weight)
            total[j, :, i] = total[i, :, j].T
    return total.reshape(m * p, m * p)
