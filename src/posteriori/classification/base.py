"""What all classifiers do with their class probabilities."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from posteriori.distributions.categorical import Categorical
from posteriori.numerics.types import Array

__all__ = ["ProbabilisticClassifier", "class_pair"]


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
