r"""Posteriors of softmax models: K classes with one linear predictor each.

Softmax probabilities do not change when all predictors rise by the same amount, so the Hessian of K
weight vectors is singular. In an orthonormal basis B (K, K − 1) of the contrasts,

.. math:: W = BV,\qquad p(y = k \mid x) = \mathrm{softmax}(B V x)_k,

it is not, and |V|² = |W|²: an isotropic normal prior of W is one of V, and what W has along
(1, …, 1) is not seen by the data and leaves the evidence as it is.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, eqs. 4.106–4.110.
"""

from __future__ import annotations

import numpy as np

from posteriori.inference.predictors.generalized_linear import weighted_gram
from posteriori.inference.predictors.product_nodes import FINE, ROUGH, Fineness
from posteriori.inference.predictors.softmax_averages import contrasts
from posteriori.inference.predictors.softmax_likelihood import SoftmaxLikelihood
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.types import Array

__all__ = ["SoftmaxPredictor", "block_gram"]


class SoftmaxPredictor:
    """The log posterior of contrast weights v: Σ f ln softmax(B V x)_y − ½ (v − m)ᵀ diag(λ) (v − m).

    Parameters
    ----------
    x : (N, D)
    codes : (N,) or (N, K)
        Class of each row, 0 to K − 1, or the share of each class in it.
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
        self._likelihoods = [
            SoftmaxLikelihood(codes[r], classes, None if spread is None else spread[r], fineness)
            for r in self._rows
        ]

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
        for rows, likelihood in zip(self._rows, self._likelihoods, strict=True):
            value, slope = likelihood.value_and_slope(self._centre(w, rows))
            if self.frequency is not None:
                value = value * self.frequency[rows]
                slope *= self.frequency[rows][:, None]
            total += float(value.sum())
            slopes += slope.T @ self.x[rows]
        return total, gradient + slopes.ravel()

    def curvature(self, w: Array) -> Array:
        """Return minus the Hessian: blocks Σ f r_ij x xᵀ with r = Bᵀ⟨diag(p) − ppᵀ⟩B."""
        total = np.diag(self.prior_precision)
        for rows, likelihood in zip(self._rows, self._likelihoods, strict=True):
            r = likelihood.curvature(self._centre(w, rows))
            if self.frequency is not None:
                r *= self.frequency[rows][:, None, None]
            total += block_gram(self.x[rows], r)
        return total

    def _centre(self, w: Array, rows: slice) -> Array:
        """Return the contrasts of rows, (n, K − 1)."""
        return self.x[rows] @ w.reshape(self.basis.shape[1], -1).T


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
