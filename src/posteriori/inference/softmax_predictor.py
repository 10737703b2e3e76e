r"""Posteriors of softmax models: K classes with one linear predictor each.

Softmax probabilities do not change when all predictors rise by the same amount, so the Hessian of K
weight vectors is singular. In an orthonormal basis B (K, K − 1) of the contrasts,

.. math:: W = BV,\qquad p(y = k \mid x) = \mathrm{softmax}(B V x)_k,

it is not, and |V|² = |W|²: an isotropic normal prior of W is one of V, and what W has along
(1, …, 1) is not seen by the data and leaves the evidence as it is.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, eqs. 4.106–4.110.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from posteriori.inference.generalized_linear import weighted_gram
from posteriori.numerics.types import Array

__all__ = ["SoftmaxPredictor", "contrasts", "softmax"]

#: Numbers of X that are worked on at a time.
_BLOCK = 1 << 17


def contrasts(classes: int) -> Array:
    """Return an orthonormal basis (K, K − 1) of the vectors that sum to 0.

    Examples
    --------
    >>> contrasts(2).round(4)
    array([[-0.7071],
           [ 0.7071]])
    """
    basis = np.zeros((classes, classes - 1))
    for j in range(1, classes):  # Helmert: class j against the mean of those before it
        basis[:j, j - 1] = -1.0 / np.sqrt(j * (j + 1))
        basis[j, j - 1] = np.sqrt(j / (j + 1))
    return basis


def softmax(eta: Array) -> tuple[Array, Array]:
    """Return probabilities (N, K) and log normalisers (N,) of predictors."""
    highest = eta.max(axis=1)
    p = np.exp(eta - highest[:, None])
    total = p.sum(axis=1)
    p /= total[:, None]
    return p, highest + np.log(total)


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
    """

    def __init__(
        self,
        x: Array,
        codes: Array,
        classes: int,
        prior_precision: Array,
        prior_mean: Array,
        frequency: Array | None = None,
    ) -> None:
        self.x = x
        self.codes = codes
        self.basis = contrasts(classes)
        self.prior_precision = prior_precision
        self.prior_mean = prior_mean
        self.frequency = frequency

    def value_and_gradient(self, w: Array) -> tuple[float, Array]:
        """Return the log posterior and its gradient."""
        offset = w - self.prior_mean
        pull = self.prior_precision * offset
        total, gradient = -0.5 * float(offset @ pull), -pull
        slopes = np.zeros((self.basis.shape[1], self.x.shape[1]))
        for x, codes, f, eta in self._blocks(w):
            p, log_sum = softmax(eta)
            rows = np.arange(len(x))
            value = eta[rows, codes] - log_sum
            p[rows, codes] -= 1.0  # p − t
            if f is not None:
                value = value * f
                p *= f[:, None]
            total += float(value.sum())
            slopes -= (p @ self.basis).T @ x
        return total, gradient + slopes.ravel()

    def curvature(self, w: Array) -> Array:
        """Return minus the Hessian: blocks Σ f r_ij x xᵀ with r = Bᵀ(diag(p) − ppᵀ)B."""
        k, d = self.basis.shape[1], self.x.shape[1]
        total = np.zeros((k, d, k, d))
        for x, _, f, eta in self._blocks(w):
            p, _ = softmax(eta)
            mean = p @ self.basis
            for i in range(k):
                for j in range(i + 1):
                    r = p @ (self.basis[:, i] * self.basis[:, j]) - mean[:, i] * mean[:, j]
                    if i == j:
                        r = np.maximum(r, 0.0)
                    total[i, :, j] += weighted_gram(x, r if f is None else r * f)
        for i in range(k):
            for j in range(i):
                total[j, :, i] = total[i, :, j].T
        return total.reshape(k * d, k * d) + np.diag(self.prior_precision)

    def _blocks(self, w: Array) -> Iterator[tuple[Array, Array, Array | None, Array]]:
        turned = self.basis @ w.reshape(self.basis.shape[1], -1)  # W = BV
        step = max(1, _BLOCK // max(self.x.shape[1], len(turned)))
        for first in range(0, len(self.x), step):
            rows = slice(first, first + step)
            x = self.x[rows]
            f = None if self.frequency is None else self.frequency[rows]
            yield x, self.codes[rows], f, x @ turned.T
