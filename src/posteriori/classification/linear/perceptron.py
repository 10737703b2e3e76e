r"""The perceptron: corrections at mistakes, until there are none.

.. math:: w_y \leftarrow w_y + \eta\,x, \quad w_k \leftarrow w_k - \eta\,x
   \quad\text{where}\quad k = \arg\max_{j\ne y} w_j\cdot x \ \text{ has }\ w_y\cdot x \le w_k\cdot x,

with x extended by a 1. That is the perceptron of two classes in K(D + 1) dimensions, where a row of
class y has a point for each other class k: x in the place of y and −x in that of k (Kesler's
construction). For two classes :math:`w_2 = -w_1`, and one vector remains.

It ends if and only if the classes are linearly separable, after at most :math:`(R/\gamma)^2` corrections
(A. Novikoff, 1962), R being the length of the longest such point and γ their margin.

Reference: R. Duda & P. Hart, "Pattern classification and scene analysis", 1973, sec. 5.12.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import linear_boundary
from posteriori.classification.linear.perceptron_kernel import run_epoch
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.labelled_rows import LabelledRows, check_labelled_rows
from posteriori.estimators.parameters import AT_LEAST_ONE, POSITIVE, check_parameters
from posteriori.mathematics.geometry import Hyperplane
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["Perceptron"]


class Perceptron(ClassifierMixin, BaseEstimator):
    """A linear classifier that learns from its mistakes.

    Parameters
    ----------
    learning_rate : float
        η > 0.
    max_iter : int
        Most passes over the rows.
    shuffle : bool
        Whether each pass has an order of its own; the result depends on it.
    random_state : Generator, int or None

    Attributes
    ----------
    classes_ : (K,)
    coef_ : (K, D), or (1, D) for two classes
    intercept_ : (K,) or (1,)
    converged_ : bool
        True proves that the training rows are linearly separable.
    n_iter_, n_updates_ : int
        Passes over the rows, and corrections.
    margin_ : float
        Least signed distance of a row from a boundary of its class, negative if one is on the wrong
        side.

    Examples
    --------
    >>> corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = Perceptron().fit(corners, [0, 0, 0, 1])
    >>> model.converged_, model.predict(corners)
    (True, array([0, 0, 0, 1]))
    """

    _constraints = {"learning_rate": POSITIVE, "max_iter": AT_LEAST_ONE}

    def __init__(
        self,
        learning_rate: float = 1.0,
        *,
        max_iter: int = 1000,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Correct until no row is wrong, or ``max_iter`` passes are over.

        Of passes that all end with mistakes the weights with the fewest wrong rows are kept.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
        """
        check_parameters(self)
        rows = check_labelled_rows(self, X, y)
        weights = self._learn(rows)
        margins = _margins(rows, weights)
        self.classes_ = rows.classes
        kept = weights if len(weights) > 2 else weights[1:]
        self.coef_, self.intercept_ = kept[:, :-1], kept[:, -1]
        self.margin_ = float(margins.min())
        if not self.converged_:
            warnings.warn(
                f"Perceptron still has {int((margins <= 0).sum())} of {len(margins)} rows wrong after "
                f"{self.n_iter_} passes: the classes are not linearly separable, or nearly so "
                "(linear_separability tells); raise max_iter or add features",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def decision_function(self, X: Any) -> Array:
        """Return w·x + b of rows: (N,) for two classes, (N, K) for more."""
        check_is_fitted(self)
        scores = check_inputs(self, X) @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """Return the class of the largest score; of two, the second where w·x + b ≥ 0."""
        scores = self.decision_function(X)
        best = (scores >= 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def boundary(self, first: Any = None, second: Any = None) -> Hyperplane:
        """Return the boundary of two classes, ``second`` on the positive side.

        They need not be named where there are only two.
        """
        return linear_boundary(self, first, second)

    def _learn(self, rows: LabelledRows) -> Array:
        """Return weights (K, D + 1), those with the fewest rows wrong."""
        rng = as_generator(self.random_state)
        x, order = as_kernel_input(rows.x), np.arange(len(rows.x))
        weights, best, fewest = np.zeros((len(rows.classes), x.shape[1] + 1)), None, len(x) + 1
        self.n_updates_, self.converged_ = 0, False
        for epoch in range(1, self.max_iter + 1):
            order = rng.permutation(len(x)) if self.shuffle else order
            mistakes = run_epoch(x, rows.codes, order, float(self.learning_rate), weights)
            self.n_iter_ = epoch
            self.n_updates_ += mistakes
            self.converged_ = mistakes == 0
            wrong = int((_margins(rows, weights) <= 0).sum())
            if wrong < fewest:
                best, fewest = weights.copy(), wrong
            if self.converged_:
                break
        assert best is not None
        return best


def _margins(rows: LabelledRows, weights: Array) -> Array:
    """Return the least signed distance of each row from the boundaries of its class, (N,)."""
    codes = rows.codes
    scores = rows.x @ weights[:, :-1].T + weights[:, -1]
    lead = np.take_along_axis(scores, codes[:, None], axis=1) - scores
    length = np.linalg.norm(weights[:, None, :-1] - weights[None, :, :-1], axis=-1)
    distance = lead / np.where(length > 0, length, 1.0)[codes]
    distance[np.arange(len(codes)), codes] = np.inf
    return distance.min(axis=1)
