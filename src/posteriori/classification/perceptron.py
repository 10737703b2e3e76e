r"""The perceptron: corrections at mistakes, until there are none.

.. math:: w \leftarrow w + \eta\,t_n x_n \quad\text{where}\quad t_n(w\cdot x_n + b) \le 0.

It ends if and only if the classes are linearly separable, after at most :math:`(R/\gamma)^2` corrections
(A. Novikoff, 1962), R being the length of the longest row (x, 1) and γ the margin.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.arguments import check_labelled_rows
from posteriori.classification.geometry import Hyperplane
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.estimator_rows import check_inputs
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["Perceptron"]


class Perceptron(ClassifierMixin, BaseEstimator):
    """A linear classifier of two classes, learned from its mistakes.

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
    classes_ : (2,)
    coef_ : (1, D)
    intercept_ : (1,)
    converged_ : bool
        True proves that the training rows are linearly separable.
    n_iter_, n_updates_ : int
        Passes over the rows, and corrections.
    margin_ : float
        Least signed distance of a row from the boundary, negative if one is on the wrong side.

    Examples
    --------
    >>> corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = Perceptron().fit(corners, [0, 0, 0, 1])
    >>> model.converged_, model.predict(corners)
    (True, array([0, 0, 0, 1]))
    """

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
            Two classes.
        """
        if not (np.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ValueError(f"learning_rate must be a positive number, got {self.learning_rate!r}")
        if not self.max_iter >= 1:
            raise ValueError(f"max_iter must be at least 1, got {self.max_iter!r}")
        rows = check_labelled_rows(self, X, y)
        if len(rows.classes) != 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{len(rows.classes)} classes"
            )
        sign = np.where(rows.codes == 1, 1.0, -1.0)
        weights = self._learn(rows.x, sign)
        self.classes_ = rows.classes
        self.coef_, self.intercept_ = weights[None, :-1], weights[-1:]
        length = np.linalg.norm(weights[:-1])
        margins = sign * (rows.x @ weights[:-1] + weights[-1])
        self.margin_ = float(margins.min() / length) if length > 0 else 0.0
        if not self.converged_:
            warnings.warn(
                f"Perceptron still has {int((margins <= 0).sum())} of {len(sign)} rows wrong after "
                f"{self.n_iter_} passes: the classes are not linearly separable, or nearly so "
                "(linear_separability tells); raise max_iter or add features",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def decision_function(self, X: Any) -> Array:
        """Return w·x + b of rows, (N,)."""
        check_is_fitted(self)
        return check_inputs(self, X) @ self.coef_[0] + self.intercept_[0]

    def predict(self, X: Any) -> Any:
        """Return the second class where w·x + b ≥ 0, the first elsewhere."""
        second = self.decision_function(X) >= 0
        return self.classes_[second.astype(np.intp)]

    def boundary(self) -> Hyperplane:
        """Return the boundary; the second class is on the positive side."""
        check_is_fitted(self)
        return Hyperplane(self.coef_[0], self.intercept_[0])

    def _learn(self, x: Array, sign: Array) -> Array:
        from posteriori.classification.perceptron_kernel import run_epoch

        rng = as_generator(self.random_state)
        rows, order = as_kernel_input(x), np.arange(len(x))
        weights, best, fewest = np.zeros(x.shape[1] + 1), None, len(x) + 1
        self.n_updates_, self.converged_ = 0, False
        for epoch in range(1, self.max_iter + 1):
            order = rng.permutation(len(x)) if self.shuffle else order
            mistakes = run_epoch(rows, sign, order, float(self.learning_rate), weights)
            self.n_iter_ = epoch
            self.n_updates_ += mistakes
            self.converged_ = mistakes == 0
            wrong = int((sign * (x @ weights[:-1] + weights[-1]) <= 0).sum())
            if wrong < fewest:
                best, fewest = weights.copy(), wrong
            if self.converged_:
                break
        assert best is not None
        return best

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
