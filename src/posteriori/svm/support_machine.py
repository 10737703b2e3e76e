"""What support vector machines share: their kernel, what they keep of the rows, and how they predict."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.kernel_choice import choose_kernel
from posteriori.inference.margins.kernel_rows import kernel_products
from posteriori.kernels.inner_products import Linear
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.types import Array, IntArray

__all__ = ["SupportMachine"]

#: Rows of a Gram matrix up to which its eigenvalues are looked at: that costs their third power.
_FEW = 2000

#: Rows at most on which a kernel is tried before it is used.
_SOME = 100

#: Share of the largest entry by which a Gram matrix may differ from one that is symmetric and positive.
_ROUNDING = 1e-8


class SupportMachine(BaseEstimator):
    """An estimator that keeps the rows with a ≠ 0 and predicts Σ uₙ k(x, xₙ) + b."""

    kernel: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _choose_kernel(self, x: Array, frequency: Array | None) -> None:
        """Set ``kernel_``: what was given, or a Gaussian kernel as wide as the rows are spread."""
        if self._precomputed:
            _check_gram(x, "X")
            self.kernel_: Any = "precomputed"
        elif self.kernel is None:
            self.kernel_ = choose_kernel(None, x, frequency)
        elif isinstance(self.kernel, Kernel):
            few = x[:: len(x) // _SOME + 1]
            _check_gram(self.kernel(few), f"of {self.kernel!r}")
            self.kernel_ = self.kernel
        else:
            raise ValueError(
                f'kernel must be a kernel of posteriori.kernels, "precomputed" or None, got {self.kernel!r}; '
                "RBF(scale) is the Gaussian one, Function makes one of a function"
            )

    def _about_center(self, x: Array) -> tuple[Array, Array]:
        """Return rows about a point, and that point: their mean where lines are learned, else 0.

        The weights u of a machine with an intercept sum to 0. Then another origin moves b alone, and lines
        through columns far from 0 keep their digits.
        """
        if not isinstance(self.kernel_, Linear):
            return x, np.zeros(x.shape[1])
        center = x.mean(axis=0)
        return x - center, center

    def _keep(self, x: Array, signed: Array, intercept: Array, center: Array | float = 0.0) -> None:
        """Keep what prediction needs of machines with weights u (N, J), and intercepts (J,) about a center."""
        self.support_: IntArray = np.flatnonzero((signed != 0).any(axis=1))
        self.intercept_ = intercept
        self._weights = signed[self.support_]
        if not self._precomputed:
            self.support_vectors_ = x[self.support_]
        if isinstance(self.kernel_, Linear):
            self.coef_ = self._weights.T @ (self.support_vectors_ - center)
            self.intercept_ = intercept - (self.coef_ * center).sum(axis=1)

    def _scores(self, X: Any) -> Array:
        """Return Σ uₙ k(x, xₙ) + b of each machine, (N, J)."""
        check_is_fitted(self)
        x = check_inputs(self, X)
        if self._precomputed:
            products = x[:, self.support_] @ self._weights
        elif isinstance(self.kernel_, Linear):
            products = x @ self.coef_.T
        else:
            products = kernel_products(self.kernel_, x, self.support_vectors_, self._weights)
        return products + self.intercept_


def _check_gram(gram: Array, name: str) -> None:
    """Refuse a matrix that is no Gram matrix."""
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(
            f'with kernel="precomputed" X must be a square Gram matrix of the rows that count, got shape '
            f"{gram.shape}; leave out rows of sample_weight 0 with their columns"
        )
    size = float(np.abs(gram).max())
    off = np.abs(gram - gram.T)
    if off.max() > _ROUNDING * size:
        n, m = np.unravel_index(int(off.argmax()), gram.shape)
        raise ValueError(
            f"the Gram matrix {name} must be symmetric, got {gram[n, m]:.6g} in row {n}, column {m} and "
            f"{gram[m, n]:.6g} across; (X + X.T) / 2 is"
        )
    if len(gram) <= _FEW:
        least = float(scipy_linalg.eigvalsh(gram, subset_by_index=[0, 0])[0])
        if least < -_ROUNDING * size * len(gram):
            raise ValueError(
                f"the Gram matrix {name} must be positive semi-definite, got the eigenvalue {least:.6g}: its "
                "function is no Mercer kernel"
            )
