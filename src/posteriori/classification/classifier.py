"""Classifiers whose classes meet in boundaries."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.class_probabilities import ClassProbabilities
from posteriori.mathematics.geometry import Boundary, Hyperplane, LevelSet
from posteriori.numerics.types import Array

__all__ = ["ProbabilisticClassifier", "ScoringClassifier", "class_pair", "linear_boundary"]


class ProbabilisticClassifier(ClassProbabilities):
    """A classifier that states the probability of each class, and where two of them meet."""

    def boundary(self, first: Any = None, second: Any = None) -> Boundary:
        """Return where two classes are equally probable, ``second`` on the positive side.

        A level set, whose value is the log odds, where nothing simpler is known. The classes need not
        be named where there are only two.
        """
        check_is_fitted(self)
        a, b = class_pair(self.classes_, first, second)
        return LevelSet(partial(self._log_odds, a, b), self.n_features_in_)

    def _log_odds(self, a: int, b: int, x: Array) -> Array:
        """Return ln p(b | x) − ln p(a | x) of rows (N, D)."""
        with warnings.catch_warnings():  # points have no names, also where columns have
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            log_p = self.predict_log_proba(x)
        return log_p[:, b] - log_p[:, a]


class ScoringClassifier(ClassifierMixin):
    """A classifier that chooses the class of the largest score; its ``decision_function`` states them."""

    classes_: Any
    n_features_in_: int
    decision_function: Any

    def predict(self, X: Any) -> Any:
        """Return the class of the largest score; of two, the second where it is above 0."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def boundary(self, first: Any = None, second: Any = None) -> LevelSet:
        """Return where two classes have the same score, ``second`` on the positive side.

        The classes need not be named where there are only two.
        """
        check_is_fitted(self)
        a, b = class_pair(self.classes_, first, second)
        return LevelSet(partial(self._score_gap, a, b), self.n_features_in_)

    def _score_gap(self, a: int, b: int, x: Array) -> Array:
        """Return by how much class b scores above class a at rows (N, D)."""
        with warnings.catch_warnings():  # points have no names, also where columns have
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            scores = self.decision_function(x)
        gap: Array = scores * (b - a) if scores.ndim == 1 else scores[:, b] - scores[:, a]
        return gap


def class_pair(classes: Any, first: Any, second: Any) -> tuple[int, int]:
    """Return the places of two classes; of two in all, None stands for the first and the second."""
    if len(classes) == 2 and first is None and second is None:
        return 0, 1
    names = classes.tolist()
    if first is None or second is None:
        raise ValueError(f"a boundary is between two classes: name two of {names}")
    for name in (first, second):
        if name not in names:
            raise ValueError(f"{name!r} is none of the classes {names}")
    if first == second:
        raise ValueError(f"a boundary is between two classes, got {first!r} twice")
    return names.index(first), names.index(second)


def linear_boundary(model: Any, first: Any, second: Any) -> Hyperplane:
    """Return where the functions w·x + b of two classes are equal, ``second`` on the positive side.

    Parameters
    ----------
    model : fitted estimator
        With ``coef_`` (K, D) and ``intercept_`` (K,), or those of the second of two classes alone.
    first, second : labels
        None, None where there are only two classes.
    """
    check_is_fitted(model)
    a, b = class_pair(model.classes_, first, second)
    weights = np.column_stack([model.coef_, model.intercept_])
    step = weights[b] - weights[a] if len(weights) > 1 else weights[0] * (b - a)
    return Hyperplane(step[:-1], step[-1])
