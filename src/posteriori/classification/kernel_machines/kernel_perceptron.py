r"""The perceptron in feature space: it counts mistakes.

.. math:: f_k(x) = \sum_n a_{nk}\{k(x, x_n) + 1\},\qquad a_{ny} \leftarrow a_{ny} + 1,\quad
   a_{nk} \leftarrow a_{nk} - 1

at each mistake at row n of class y, k being the best of the other classes. With a linear kernel it is the
perceptron of the rows extended by a 1.

Reference: M. Aizerman, E. Braverman & L. Rozonoer, "Theoretical foundations of the potential function
method in pattern recognition learning", 1964.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import ScoringClassifier
from posteriori.classification.linear.perceptron_kernel import run_dual_epoch
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.kernel_choice import choose_kernel
from posteriori.estimators.labelled_rows import LabelledRows, check_labelled_rows
from posteriori.estimators.parameters import AT_LEAST_ONE, check_parameters
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["KernelPerceptron"]


class KernelPerceptron(ScoringClassifier, BaseEstimator):
    """A classifier that learns from its mistakes, in the feature space of a kernel.

    Parameters
    ----------
    kernel : Kernel or None
        None is a Gaussian kernel that suits the spread of the rows, ℓ² = D var(X)/2.
    max_iter : int
        Most passes over the rows.
    shuffle : bool
        Whether each pass has an order of its own; the result depends on it.
    random_state : Generator, int or None

    Attributes
    ----------
    classes_ : (K,)
    kernel_ : Kernel
    support_ : (M,)
        Numbers of the rows at which mistakes were made: predictions need no others.
    n_support_ : int
        M.
    support_vectors_ : (M, D)
    dual_coef_ : (M, K), or (M, 1) for two classes
        Counts a of mistakes.
    intercept_ : (K,) or (1,)
    converged_ : bool
        True proves that the training rows are separable in feature space.
    n_iter_, n_updates_ : int
        Passes over the rows, and corrections.

    Examples
    --------
    >>> from posteriori.kernels import Polynomial
    >>> corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = KernelPerceptron(Polynomial(degree=2)).fit(corners, [0, 1, 1, 0])
    >>> model.converged_, model.predict(corners)
    (True, array([0, 1, 1, 0]))
    """

    _constraints = {"max_iter": AT_LEAST_ONE}

    def __init__(
        self,
        kernel: Any = None,
        *,
        max_iter: int = 1000,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Correct until no row is wrong, or ``max_iter`` passes are over.

        Of passes that all end with mistakes the counts with the fewest wrong rows are kept.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
        """
        check_parameters(self)
        rows = check_labelled_rows(self, X, y)
        kernel = choose_kernel(self.kernel, rows.x)
        counts, wrong = self._learn(kernel(rows.x, rows.x) + 1.0, rows)
        kept = np.flatnonzero(counts.any(axis=1))
        self.classes_, self.kernel_ = rows.classes, kernel
        self.support_, self.n_support_, self.support_vectors_ = kept, len(kept), rows.x[kept]
        self.dual_coef_ = counts[kept] if len(rows.classes) > 2 else counts[kept, 1:]
        self.intercept_ = self.dual_coef_.sum(axis=0)
        if not self.converged_:
            warnings.warn(
                f"KernelPerceptron still has {wrong} of {len(rows.x)} rows wrong after {self.n_iter_} "
                "passes: the classes are not separable in feature space, or nearly so; raise max_iter or "
                "take a kernel of smaller scale or higher degree",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the scores of rows: (N,) for two classes, (N, K) for more."""
        check_is_fitted(self)
        kernels = self.kernel_(check_inputs(self, X), self.support_vectors_)
        scores = kernels @ self.dual_coef_ + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _learn(self, gram: Array, rows: LabelledRows) -> tuple[Array, int]:
        """Return the counts (N, K) with the fewest rows wrong, and how many."""
        rng = as_generator(self.random_state)
        counts, scores = np.zeros((2, len(gram), len(rows.classes)))
        best, fewest, order = counts, len(gram) + 1, np.arange(len(gram))
        self.n_updates_ = 0
        for epoch in range(1, int(self.max_iter) + 1):
            order = rng.permutation(len(gram)) if self.shuffle else order
            mistakes = run_dual_epoch(gram, rows.codes, order, counts, scores)
            self.n_iter_, self.converged_ = epoch, mistakes == 0
            self.n_updates_ += mistakes
            wrong = _count_wrong(scores, rows.codes)
            if wrong < fewest:
                best, fewest = counts.copy(), wrong
            if self.converged_:
                break
        return best, fewest


def _count_wrong(scores: Array, codes: Any) -> int:
    """Return how many rows have another class with a score no lower than their own."""
    own = np.take_along_axis(scores, codes[:, None], axis=1)
    return int(((scores >= own).sum(axis=1) > 1).sum())
