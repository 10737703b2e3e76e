"""What all classifiers do with labelled rows and with their class probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.dummy import DummyClassifier

from posteriori.distributions.counts.categorical import Categorical
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.contract import StatesProbabilities, last_step, offers
from posteriori.estimators.labelled_rows import LabelledRows, check_labelled_rows
from posteriori.estimators.parameters import Constraint, check_parameters
from posteriori.numerics.types import Array

__all__ = ["ClassProbabilities", "LabelledLearner", "fit_classes", "spread_over_classes"]


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


def fit_classes(estimator: Any, X: Any, y: Any, fit: Callable[..., Any]) -> Any:
    """Return a fitted classifier; a constant one where all rows are of one class, of which none learns.

    Parameters
    ----------
    estimator : classifier
    X : (N, D)
    y : (N,)
    fit : callable
        How it is fitted otherwise, ``fit(estimator, X, y)``.
    """
    if len(np.unique(y)) > 1:
        return fit(estimator, X, y)
    return DummyClassifier(strategy="prior").fit(X, y)


def spread_over_classes(model: Any, X: Any, classes: Any, seen: float) -> Array:
    """Return the probabilities of all classes, (N, K), also of those that a model does not know.

    A class that its training rows lack has 1/(n + K), what a uniform Dirichlet prior leaves to it.

    Parameters
    ----------
    model : fitted classifier
    X : (N, D)
    classes : (K,)
        All labels, sorted.
    seen : float
        Number n of training rows.
    """
    if not offers(model, StatesProbabilities):
        name = type(last_step(model)[0]).__name__
        raise TypeError(f"{name} cannot say how probable a class is: it has no predict_proba")
    own, known = np.asarray(model.predict_proba(X)), np.asarray(model.classes_)
    if len(known) == len(classes):
        return own
    share = 1.0 / (seen + len(classes))
    p = np.full((len(own), len(classes)), share)
    p[:, np.searchsorted(classes, known)] = own * (1.0 - share * (len(classes) - len(known)))
    return p
