r"""The weighted majority of an ensemble.

.. math:: f(x) = \sum_t \alpha_t h_t(x), \qquad \alpha_t \ge 0,

where :math:`h_t = \pm1` for two classes; of more, each has the sum of its votes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _num_samples, check_is_fitted

from posteriori.ensemble.votes.weak_learners import Members
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.class_probabilities import LabelledLearner
from posteriori.estimators.column_kinds import check_mixed_inputs
from posteriori.numerics.types import Array, IntArray

__all__ = ["WeightedMajority"]


class WeightedMajority(LabelledLearner, ClassifierMixin, BaseEstimator):
    """Members that vote with weights, learned from rows that weigh more the harder they are."""

    classes_: Any
    members_: Members
    estimator_weights_: Array
    row_weights_: Array
    support_: IntArray
    _n_levels: IntArray
    _gaps = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the members and their weights.

        Parameters
        ----------
        X : array_like (N, D)
            NaN is missing.
        y : array_like (N,)
            Labels of two or more classes.
        sample_weight : array_like (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        super().fit(X, y, sample_weight)
        if sample_weight is not None:
            there = np.broadcast_to(np.asarray(sample_weight) > 0, (_num_samples(X),))
            weights = np.zeros(len(there))
            weights[there] = self.row_weights_
            self.row_weights_, self.support_ = weights, np.flatnonzero(there)[self.support_]
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the sum of votes: Σ α h for two classes (N,), those of each class (N, K) for more.

        Parameters
        ----------
        X : array_like (N, D)
        """
        check_is_fitted(self)
        return self._decide(self.sum_votes(X, self.estimator_weights_))

    def sum_votes(self, X: Any, weights: Array) -> Array:
        """Return the sum of votes for each class, (N, K), with any weights of the members.

        Parameters
        ----------
        X : array_like (N, D)
        weights : (T,)
        """
        x = self._check(X)
        votes = np.zeros((len(x), len(self.classes_)))
        self.members_.add_votes(weights, x, votes)
        return votes

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the sum of votes after each round.

        Parameters
        ----------
        X : array_like (N, D)
        """
        x = self._check(X)
        votes, rows = np.zeros((len(x), len(self.classes_))), np.arange(len(x))
        named = self.members_.name_classes(x)
        for weight, classes in zip(self.estimator_weights_, named, strict=True):
            votes[rows, classes] += weight
            yield self._decide(votes.copy())

    def predict(self, X: Any) -> Any:
        """Return the class with the most votes; of equal ones the first.

        Parameters
        ----------
        X : array_like (N, D)
        """
        return self._name(self.decision_function(X))

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Yield the class with the most votes after each round.

        Parameters
        ----------
        X : array_like (N, D)
        """
        return map(self._name, self.staged_decision_function(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check(self, X: Any) -> Array:
        check_is_fitted(self)
        return check_mixed_inputs(self, X, self._n_levels)

    def _decide(self, votes: Array) -> Array:
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def _name(self, decision: Array) -> Any:
        best = decision > 0.0 if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[best.astype(np.intp)]
