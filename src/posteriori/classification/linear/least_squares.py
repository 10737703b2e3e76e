r"""Least squares on 0/1 targets: the quickest linear classifier, and not a good one.

.. math:: W = (\tilde X^\top\tilde X)^{-1}\tilde X^\top T, \qquad k(x) = \arg\max_k \tilde w_k\cdot\tilde x.

Its scores sum to 1 but are no probabilities. Rows far on the right side of a boundary pull it
towards them, and a class between two others may never be chosen (masking).

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 4.1.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import linear_boundary
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.class_probabilities import LabelledLearner
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.estimators.standardized import standardize
from posteriori.mathematics.geometry import Hyperplane
from posteriori.numerics.rank import ROUNDING
from posteriori.numerics.types import Array

__all__ = ["LeastSquaresClassifier"]


class LeastSquaresClassifier(LabelledLearner, ClassifierMixin, BaseEstimator):
    """Linear regression on the indicators of the classes; the largest output wins.

    For two classes that is a regression on 0 and 1 with the threshold ½.

    Parameters
    ----------
    class_weight : mapping from labels to numbers > 0, "balanced" or None
        Factors of the frequencies of each class's rows.

    Attributes
    ----------
    classes_ : (K,)
    coef_ : (K, D)
    intercept_ : (K,)

    Examples
    --------
    A class in the middle is masked by its neighbours:

    >>> X, y = [[-2.1], [-1.9], [-0.1], [0.1], [1.9], [2.1]], ["a", "a", "b", "b", "c", "c"]
    >>> LeastSquaresClassifier().fit(X, y).predict([[-2], [-0.1], [0.1], [2]])
    array(['a', 'a', 'c', 'c'], dtype='<U1')
    """

    def __init__(self, *, class_weight: Any = None) -> None:
        self.class_weight = class_weight

    def _learn(self, rows: LabelledRows) -> None:
        """Solve the least-squares problem, of least norm where columns depend on each other."""
        scaling, design = standardize(rows.x, rows.frequency, intercept=True)
        targets = np.eye(len(rows.classes))[rows.codes]
        if rows.frequency is not None:
            root = np.sqrt(rows.frequency)[:, None]
            design, targets = root * design, root * targets
        solution = np.linalg.lstsq(design, targets, rcond=ROUNDING)[0]
        self.classes_ = rows.classes
        self.coef_ = solution[1:].T / scaling.scale
        self.intercept_ = solution[0] - self.coef_ @ scaling.mean

    def scores(self, X: Any) -> Array:
        """Return the outputs of all classes (N, K), which sum to 1."""
        check_is_fitted(self)
        return check_inputs(self, X) @ self.coef_.T + self.intercept_

    def decision_function(self, X: Any) -> Array:
        """Return the lead of the second of two classes (N,), or the outputs of all (N, K)."""
        scores = self.scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """Return the class of the largest output."""
        best = self.scores(X).argmax(axis=1)
        return self.classes_[best]

    def boundary(self, first: Any = None, second: Any = None) -> Hyperplane:
        """Return where the outputs of two classes are equal, ``second`` on the positive side.

        They need not be named where there are only two.
        """
        return linear_boundary(self, first, second)
