r"""Kernel PCA: principal components in feature space.

.. math:: \tilde Ka_i = N\lambda_ia_i,\qquad N\lambda_i\,a_i^\top a_i = 1,\qquad
   z_i(x) = \sum_na_{in}\tilde k(x, x_n),

with the Gram matrix :math:`\tilde K` of features less their mean, and the same of new points.

Reference: B. Schölkopf, A. Smola & K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue
problem", 1998; C. Bishop, "Pattern recognition and machine learning", 2006, sec. 12.3.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from posteriori.decomposition.kernel_components.leading_pairs import leading_pairs
from posteriori.decomposition.kernel_components.pre_images import find_pre_images
from posteriori.decomposition.principal_components import require_rows
from posteriori.decomposition.spectra import with_positive_peaks
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.kernel_choice import choose_kernel
from posteriori.estimators.parameters import WHOLE, check_parameters, or_none
from posteriori.kernels.feature_space import center_gram
from posteriori.numerics.blocks.block_sizes import IN_MEMORY, rows_per_block
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.threads import share_rows
from posteriori.numerics.types import Array

__all__ = ["KernelPCA"]

#: Of more rows than this, components up to this part of their number are found without the others.
_LARGE, _FEW = 200, 0.05

#: Entries of a Gram matrix from which on a second thread pays for a product with some rows.
_WORTH_THREADS = 1 << 20


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Directions of largest variance in the feature space of a kernel.

    Parameters
    ----------
    n_components : int or None
        None keeps every direction in which features vary.
    kernel : Kernel or None
        None is a Gaussian kernel that suits the spread of the rows, ℓ² = D var(X)/2. Noise (``White``)
        is left out.

    Attributes
    ----------
    kernel_ : Kernel
    eigenvalues_ : (k,)
        Variances along the components, divided by N.
    dual_components_ : (k, N)
        a, the largest entry of each positive.
    explained_variance_ratio_ : (k,)
        Shares of the variance of all features.
    n_components_ : int
    X_fit_ : (N, D)

    Notes
    -----
    Costs N² numbers; few components of many rows are found by blocks of Krylov vectors in O(N²) each,
    all of them in O(N³).

    Examples
    --------
    >>> from posteriori.kernels import RBF
    >>> angle = np.arange(20) * np.pi / 10
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X = np.concatenate([0.2 * ring, ring])
    >>> z = KernelPCA(1, RBF(0.5)).fit_transform(X)[:, 0]
    >>> bool(
    ...     z[:20].max() < 0 < z[20:].min() or z[20:].max() < 0 < z[:20].min()
    ... )  # it tells the rings apart
    True
    """

    _constraints = {"n_components": or_none(WHOLE)}

    def __init__(self, n_components: int | None = None, kernel: Any = None) -> None:
        self.n_components = n_components
        self.kernel = kernel

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of rows (N, D)."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the components of rows (N, D), and return the coordinates of these, (N, k)."""
        vectors = self._fit(X)
        return vectors.T * np.sqrt(len(vectors.T) * self.eigenvalues_)

    def transform(self, X: Any) -> Array:
        """Return coordinates of rows along the components, (M, k)."""
        check_is_fitted(self)
        x = check_inputs(self, X)
        scores = np.empty((len(x), self.n_components_))
        step = rows_per_block(len(self.X_fit_), IN_MEMORY)
        for first in range(0, len(x), step):
            cross = self.kernel_(x[first : first + step], self.X_fit_)
            # a is orthogonal to constants: row means need not be taken off
            scores[first : first + step] = (cross - self._means) @ self.dual_components_.T
        return scores

    def inverse_transform(self, Z: Any) -> Array:
        """Return rows (M, D) whose features are nearest to coordinates (M, k): pre-images.

        They exist exactly only for coordinates of rows whose features the components span; elsewhere
        they are the nearest that a search from the nearest row of ``fit`` comes by.
        """
        check_is_fitted(self)
        z = check_array(Z, dtype=np.float64, input_name="Z")
        if z.shape[1] != self.n_components_:
            raise ValueError(f"Z must have {self.n_components_} columns, got {z.shape[1]}")
        # the mean of features, and steps from it: Σᵢ zᵢ Σₙ aᵢₙ (φ(xₙ) − m)
        steps = z @ self.dual_components_
        weights = steps - steps.mean(axis=1, keepdims=True) + 1.0 / len(self.X_fit_)
        return find_pre_images(self.kernel_, self.X_fit_, weights)

    def _fit(self, X: Any) -> Array:
        """Set what is learned; return unit eigenvectors of the centred Gram matrix, (k, N)."""
        check_parameters(self)
        x = check_inputs(self, X, reset=True)
        require_rows(x)
        kernel = choose_kernel(self.kernel, x)
        gram = kernel(x, x)
        means, n = gram.mean(axis=0), len(x)
        total = float(np.trace(gram) - means.sum())  # the trace of the centred matrix
        values, vectors = self._solve(gram)
        there = exceeds_rounding(values, n * np.diagonal(gram).max())  # no entry is larger
        if not there.any():
            raise ValueError("every row of X has the same features: there is no direction")
        if self.n_components is not None and there.sum() < self.n_components:
            raise ValueError(
                f"n_components={self.n_components}, but features of X vary in {there.sum()} directions only "
                f"(n_samples={n}, n_features={x.shape[1]}): ask for at most {there.sum()}"
            )
        values, vectors = values[there], with_positive_peaks(vectors[there])
        self.kernel_, self.X_fit_, self._means = kernel, x, means
        self.eigenvalues_, self.n_components_ = values / n, len(values)
        self.explained_variance_ratio_ = values / total
        self.dual_components_ = vectors / np.sqrt(values)[:, None]
        return vectors

    def _solve(self, gram: Array) -> tuple[Array, Array]:
        """Return eigenvalues of the centred Gram matrix, falling, and vectors (k, N)."""
        n = len(gram)
        asked = n if self.n_components is None else min(int(self.n_components), n)
        if n <= _LARGE or asked > _FEW * n:
            values, vectors = np.linalg.eigh(center_gram(gram))
            return values[: -asked - 1 : -1], vectors.T[: -asked - 1 : -1]

        def multiply(block: Array) -> Array:
            block = block - block.mean(axis=1, keepdims=True)
            parts = share_rows(lambda rows: block[:, rows] @ gram[rows], n, n * n // _WORTH_THREADS)
            image: Array = sum(parts[1:], parts[0])
            return image - image.mean(axis=1, keepdims=True)

        return leading_pairs(multiply, n, asked)
