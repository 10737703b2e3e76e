"""What all classifiers do with their class probabilities."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.geometry import Boundary, Hyperplane, LevelSet
from posteriori.distributions.counts.categorical import Categorical
from posteriori.estimators.labelled_rows import LabelledRows, check_labelled_rows
from posteriori.estimators.parameters import Constraint, check_parameters
from posteriori.numerics.types import Array

__all__ = ["LabelledLearner", "ProbabilisticClassifier", "class_pair", "linear_boundary"]


class LabelledLearner:
    """Learns from labelled rows, once they and the parameters are checked."""

    class_weight: Any = None

    #: What its parameters may be.
    _constraints: ClassVar[Mapping[str, Constraint]] = {}

    #: Whether NaN is a missing entry of X.
    _gaps = False

    @abstractmethod
    def _learn(self, rows: LabelledRows) -> None:
        """Learn from checked rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the classes.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
            Labels of two or more classes.
        sample_weight : array_like (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        check_parameters(self)
        self._learn(
            check_labelled_rows(
                self, X, y, sample_weight, class_weight=self.class_weight, gaps=self._gaps
            )
        )
        return self


class ProbabilisticClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that states the probability of each class."""

    classes_: Any
    n_features_in_: int

    @abstractmethod
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes, (N, K)."""

    def predict_log_proba(self, X: Any) -> Array:
        """Return the log probabilities of the classes, (N, K)."""
        with np.errstate(divide="ignore"):  # ln 0 = −∞ is the answer
            return np.log(self.predict_proba(X))

    def predict_dist(self, X: Any) -> Categorical:
        """Return the distribution of each row's label, a batch."""
        return Categorical(self.predict_proba(X), labels=self.classes_)

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

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
