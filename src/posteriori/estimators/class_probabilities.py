"""What all classifiers do with labelled rows and with their class probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from posteriori.distributions.counts.categorical import Categorical
from posteriori.estimators.labelled_rows import LabelledRows, check_labelled_rows
from posteriori.estimators.parameters import Constraint, check_parameters
from posteriori.numerics.types import Array

__all__ = ["ClassProbabilities", "LabelledLearner"]


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


class ClassProbabilities(ClassifierMixin, BaseEstimator):
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
