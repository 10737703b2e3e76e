r"""Features of a kernel: :math:`\Phi\Phi^\top = K`, the kernel trick for any linear estimator.

With K = UΛUᵀ of some rows, :math:`\phi(x) = \Lambda^{-1/2}U^\top k(X, x)` has the scalar products of the
kernel with these rows exactly, and near them elsewhere. With frequencies :math:`\omega_s` drawn from its
spectrum a kernel of x − z is the mean of :math:`\cos\omega_s^\top(x - z)`, scalar products of cosines and
sines.

References: C. Williams & M. Seeger, "Using the Nyström method to speed up kernel machines", 2001;
A. Rahimi & B. Recht, "Random features for large-scale kernel machines", 2007.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.kernel_choice import choose_kernel
from posteriori.estimators.parameters import WHOLE, check_parameters, one_of
from posteriori.kernels.expansions import mercer_expansion
from posteriori.kernels.random_frequencies import draw_frequencies
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array

__all__ = ["KernelBasis"]


class KernelBasis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features whose scalar products are a kernel, exactly or nearly.

    Parameters
    ----------
    kernel : Kernel or None
        None is a Gaussian kernel that suits the spread of the rows, ℓ² = D var(X)/2. Noise
        (``White``) is left out.
    method : {"empirical", "nystroem", "fourier"}
        "empirical": of all rows, ΦΦᵀ = K. "nystroem": of rows drawn at random, for any kernel.
        "fourier": random waves, for kernels of x − z with a known spectrum: radial ones, ``Cosine``,
        and their sums, products and powers.
    n_components : int
        Rows that are drawn, or features of waves (two for each frequency). There are fewer features
        where the Gram matrix of the rows has a lower rank.
    random_state : int, Generator or None

    Attributes
    ----------
    kernel_ : Kernel
    points_ : (M, D)
        The rows that features are made of, unless they are waves.
    frequencies_ : (S, D)
        Of the waves.

    Examples
    --------
    >>> from posteriori.kernels import RBF
    >>> x = np.array([[0.0], [1.0], [3.0]])
    >>> phi = KernelBasis(RBF()).fit_transform(x)
    >>> np.allclose(phi @ phi.T, RBF()(x))
    True
    """

    _constraints = {
        "method": one_of("empirical", "nystroem", "fourier"),
        "n_components": WHOLE,
    }

    def __init__(
        self,
        kernel: Any = None,
        method: str = "empirical",
        n_components: int = 100,
        *,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.method = method
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep rows, or draw frequencies.

        Parameters
        ----------
        X : array_like (N, D)
        y : ignored
        """
        check_parameters(self)
        x = check_inputs(self, X, reset=True)
        self.kernel_ = choose_kernel(self.kernel, x)
        rng = as_generator(self.random_state)
        if self.method == "fourier":
            number = -(-int(self.n_components) // 2)
            found = draw_frequencies(self.kernel_, x.shape[1], number, rng)
            self.frequencies_, self._size = found.omega, np.sqrt(found.height / number)
            self._n_features_out = 2 * number
            return self
        if self.method == "nystroem":
            x = x[rng.permutation(len(x))[: int(self.n_components)]]
        self.points_, self._expansion = x, mercer_expansion(self.kernel_, x)
        self._n_features_out = len(self._expansion.eigenvalues)
        return self

    def transform(self, X: Any) -> Array:
        """Return the features of rows, (N, M)."""
        check_is_fitted(self)
        x = check_inputs(self, X)
        if self.method == "fourier":
            angle = x @ self.frequencies_.T
            return self._size * np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
        return self._expansion.features(x)
