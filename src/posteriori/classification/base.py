"""What all classifiers do with their class probabilities."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from posteriori.distributions.categorical import Categorical
from posteriori.numerics.types import Array

__all__ = ["ProbabilisticClassifier"]


class ProbabilisticClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that states the probability of each class."""

    classes_: Any

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
