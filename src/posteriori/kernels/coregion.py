r"""Outputs that go together: a covariance between categories, whose codes 0, 1, … are a column.

.. math:: k(i, j) = B_{ij},\qquad B = WW^\top + \mathrm{diag}(\kappa)

Times a kernel of the inputs this is the intrinsic model of coregionalisation; a sum of such products is the
linear one. What is learned are the variances :math:`v_i = B_{ii}` and loadings without a unit,
:math:`w_i = W_i/\sqrt{\kappa_i}`, so that scales and correlations do not disturb each other: with
:math:`u_i = w_i/\sqrt{1 + |w_i|^2}` the correlation of two outputs is :math:`u_i^\top u_j`.

Reference: M. Álvarez, L. Rosasco & N. Lawrence, "Kernels for vector-valued functions: a review", 2012, §4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from posteriori.kernels.category_codes import category_codes
from posteriori.kernels.kernel import Kernel, Traced, check_points
from posteriori.numerics.types import Array
from posteriori.numerics.validation import positive_vector, real

__all__ = ["Coregion"]


@dataclass(frozen=True, eq=False, repr=False)
class Coregion(Kernel):
    r"""Covariance :math:`B = WW^\top + \mathrm{diag}(\kappa)` between outputs, whose codes are one column.

    Parameters
    ----------
    variance : (Q,)
        v > 0, the diagonal of B.
    loadings : (Q, R)
        w of any sign: outputs whose loadings are parallel and large go together. Without a column outputs
        are independent. A search begins where they are; 0 is no place to begin, as all directions are alike.

    Examples
    --------
    >>> k = Coregion.from_factors(weights=[[2.0], [1.0]], specific=[1.0, 0.5])
    >>> k.cov
    array([[5. , 2. ],
           [2. , 1.5]])
    >>> k([[0], [1], [0]], [[1]])
    array([[2. ],
           [1.5],
           [2. ]])
    """

    _learned = ("variance", "loadings")

    variance: Any
    loadings: Any

    def __post_init__(self) -> None:
        variance = positive_vector("variance", self.variance)
        loadings = np.array(real("loadings", self.loadings))
        if variance.ndim != 1 or len(variance) < 2:
            raise ValueError(
                f"variance must hold one number for each of two or more outputs, got {self.variance!r}"
            )
        if loadings.ndim != 2 or len(loadings) != len(variance):
            raise ValueError(
                f"loadings must have shape ({len(variance)}, R), a row for each output, got shape "
                f"{loadings.shape}"
            )
        loadings.flags.writeable = False
        object.__setattr__(self, "variance", variance)
        object.__setattr__(self, "loadings", loadings)

    @classmethod
    def from_factors(cls, weights: Any, specific: Any) -> Self:
        """Return the kernel of B = WWᵀ + diag(κ).

        Parameters
        ----------
        weights : (Q, R)
            W.
        specific : (Q,)
            κ > 0.
        """
        W, kappa = np.asarray(weights, dtype=np.float64), positive_vector("specific", specific)
        if W.ndim != 2 or kappa.shape != (len(W),):
            raise ValueError(
                f"weights must have shape (Q, R) and specific (Q,), got {W.shape} and {kappa.shape}"
            )
        return cls((W**2).sum(axis=1) + kappa, W / np.sqrt(kappa)[:, None])

    @property
    def correlation(self) -> Array:
        """Return correlations of outputs, (Q, Q)."""
        u = self._directions()
        correlation: Array = u @ u.T
        np.fill_diagonal(correlation, 1.0)
        return correlation

    @property
    def cov(self) -> Array:
        """Return B, (Q, Q)."""
        size = np.sqrt(self.variance)
        return self.correlation * np.multiply.outer(size, size)

    def _directions(self) -> Array:
        """Return u, (Q, R)."""
        return self.loadings / np.sqrt(1.0 + (self.loadings**2).sum(axis=1))[:, None]

    def evaluate(self, X: Array, Z: Array) -> Array:
        return self.cov[np.ix_(self._codes(X), self._codes(Z))]

    def traced(self, X: Array, Z: Array) -> Traced:
        each = np.eye(len(self.variance))
        left, right = each[self._codes(X)], each[self._codes(Z)]
        return Traced(self.evaluate(X, Z), lambda W: self._pull(left.T @ W @ right))

    def traced_diagonal(self, X: Array) -> Traced:
        codes, count = self._codes(X), len(self.variance)
        return Traced(
            self.variance[codes],
            lambda w: self._pull(np.diag(np.bincount(codes, w, minlength=count))),
        )

    def _pull(self, total: Array) -> Array:
        """Return Σ W ∂B/∂θ from the sums of weights of each pair of outputs, (Q, Q)."""
        both = total + total.T
        of_variance = 0.5 * (both * self.cov).sum(axis=1)
        size, u = np.sqrt(self.variance), self._directions()
        pairs = both * np.multiply.outer(size, size)
        np.fill_diagonal(pairs, 0.0)  # a variance has no direction
        slope = pairs @ u
        # ∂u/∂w = (I − uuᵀ)/√(1 + |w|²)
        away = slope - u * (u * slope).sum(axis=1, keepdims=True)
        of_loadings = away / np.sqrt(1.0 + (self.loadings**2).sum(axis=1))[:, None]
        return np.concatenate([of_variance, of_loadings.ravel()])

    def features(self, X: Any) -> Array:
        """Return rows of L with LLᵀ = B."""
        lower: Array = np.linalg.cholesky(self.cov)
        return lower[self._codes(check_points("X", X))]

    def traced_features(self, X: Array) -> Traced:
        lower: Array = np.linalg.cholesky(self.cov)
        codes = self._codes(X)

        def pull(W: Array) -> Array:
            slope = lower.T @ (np.eye(len(lower))[codes].T @ W)
            half = np.tril(slope) - 0.5 * np.diag(slope.diagonal())
            # dB = L⁻ᵀ Φ(Lᵀ dL) L⁻¹, Φ the lower half
            return self._pull(np.linalg.solve(lower.T, np.linalg.solve(lower.T, half.T).T))

        return Traced(lower[codes], pull)

    def _codes(self, X: Array) -> Array:
        return category_codes(self, X, len(self.variance))

    # -- parameters: loadings have a sign --------------------------------------------------

    def _own_names(self) -> list[str]:
        outputs, rank = self.loadings.shape
        variances = [f"variance[{i}]" for i in range(outputs)]
        return variances + [f"loadings[{i}, {r}]" for i in range(outputs) for r in range(rank)]

    def _own_logs(self) -> Array:
        return np.concatenate([np.log(self.variance), self.loadings.ravel()])

    def _with_logs(self, logs: Array) -> Self:
        outputs = len(self.variance)
        return type(self)(np.exp(logs[:outputs]), logs[outputs:].reshape(self.loadings.shape))
