r"""The nearest mean in feature space.

.. math:: \|\phi(x) - m_k\|^2 = k(x, x) - \frac2{N_k}\sum_{n\in k}k(x, x_n)
   + \frac1{N_k^2}\sum_{n,m\in k}k(x_n, x_m).

Reference: B. Schölkopf & A. Smola, "Learning with kernels", 2002, §1.2.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import ScoringClassifier
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.kernel_choice import choose_kernel
from posteriori.estimators.labelled_rows import check_labelled_rows
from posteriori.kernels.feature_space import feature_mean
from posteriori.numerics.types import Array

__all__ = ["KernelCentroid"]


class KernelCentroid(ScoringClassifier, BaseEstimator):
    """The class whose mean in feature space is nearest; how near tells what is new.

    Parameters
    ----------
    kernel : Kernel or None
        None is a Gaussian kernel that suits the spread of the rows, ℓ² = D var(X)/2.

    Attributes
    ----------
    classes_ : (K,)
    kernel_ : Kernel

    Examples
    --------
    >>> from posteriori.kernels import Linear
    >>> model = KernelCentroid(Linear()).fit([[0.0], [2.0], [10.0]], ["low", "low", "high"])
    >>> model.predict([[5.0], [6.0]]), model.novelty([[1.0], [40.0]])
    (array(['low', 'high'], dtype='<U4'), array([ 0., 30.]))
    """

    def __init__(self, kernel: Any = None) -> None:
        self.kernel = kernel

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows of each class, and the squared length of their mean.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
        """
        rows = check_labelled_rows(self, X, y)
        kernel = choose_kernel(self.kernel, rows.x)
        self._means = [
            feature_mean(kernel, rows.x[rows.codes == code]) for code in range(len(rows.classes))
        ]
        self.classes_, self.kernel_ = rows.classes, kernel
        return self

    def distances(self, X: Any) -> Array:
        """Return how far rows lie from the mean of each class in feature space, (N, K)."""
        return np.sqrt(self._squares(X))

    def decision_function(self, X: Any) -> Array:
        """Return −‖φ(x) − m_k‖²/2, (N, K); of two classes the second's less the first's, (N,)."""
        scores = -0.5 * self._squares(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def novelty(self, X: Any) -> Array:
        """Return the distance of rows to the nearest mean, (N,): the larger, the stranger."""
        return self.distances(X).min(axis=1)

    def _squares(self, X: Any) -> Array:
        check_is_fitted(self)
        x = check_inputs(self, X)
        return np.stack([mean.squared_distances(x) for mean in self._means], axis=1)
