r"""Gradient boosting of classes, :math:`p(k \mid x) \propto \exp f_k(x)` with sums of trees f."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.ensemble.gradient_boosting.boosted_ensemble import (
    SCHEDULE_CONSTRAINTS,
    BoostedEnsemble,
)
from posteriori.ensemble.gradient_boosting.losses import LogisticLoss, Loss, SoftmaxLoss
from posteriori.estimators.class_probabilities import ClassProbabilities, LabelledLearner
from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = ["GradientBoostingClassifier"]


class GradientBoostingClassifier(LabelledLearner, ClassProbabilities, BoostedEnsemble):
    r"""Sums of trees for the probability of each class.

    Of two classes the log odds of the second are a sum of trees, of K classes there is a sum for each.
    Trees, members and steps are those of :class:`GradientBoostingRegressor`, with the information
    :math:`F = p(1 - p)`, times :math:`K/(K - 1)` where each class has a sum. Members' scores are
    averaged.

    Parameters
    ----------
    n_estimators, learning_rate, max_leaves, max_depth, subsample, max_features
        As of :class:`GradientBoostingRegressor`.
    max_bins, columns, n_members, random_state, progress
        Likewise.

    Attributes
    ----------
    classes_ : (K,)
    left_out_log_density_ : float
        Log probability of all labels, each by the member that has not seen its row.
    n_rounds_ : (members,)
        Rounds that each member kept.
    trees_, values_, start_
        All trees, what their leaves add to the scores (M, P), and where these start (P,); P is 1 for
        two classes, else K.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> model = GradientBoostingClassifier(random_state=0).fit(X, y)
    >>> model.predict([[1.0, 1.0], [1.0, -1.0]])
    array(['same', 'other'], dtype='<U5')
    """

    _constraints = SCHEDULE_CONSTRAINTS
    _gaps = True

    left_out_log_density_: float

    def __init__(
        self,
        n_estimators: int = 1000,
        learning_rate: float = 0.05,
        max_leaves: int | None = None,
        max_depth: int | None = None,
        subsample: float | None = None,
        max_features: float = 0.3,
        max_bins: int | None = 255,
        columns: Any = "number",
        n_members: int = 5,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.subsample = subsample
        self.max_features = max_features
        self.max_bins = max_bins
        self.columns = columns
        self.n_members = n_members
        self.random_state = random_state
        self.progress = progress

    def _learn(self, rows: LabelledRows) -> None:
        count = len(rows.classes)
        loss: Loss = LogisticLoss() if count == 2 else SoftmaxLoss(count)
        judged = self._boost(loss, rows.x, rows.codes, rows.frequency)
        self.classes_ = rows.classes
        logs = loss.log_density(judged.y, judged.f, 0.0)
        self.left_out_log_density_ = float(judged.weight @ logs)

    def decision_function(self, X: Any) -> Array:
        """Return the log odds of the second of two classes (N,), or the scores of all (N, K)."""
        f = self._predictors(X)
        return f[0] if len(self.classes_) == 2 else f.T

    def predict_log_proba(self, X: Any) -> Array:
        """Return the log probabilities of the classes, (N, K)."""
        f = self._predictors(X)
        if len(self.classes_) == 2:
            f = np.concatenate([np.zeros_like(f), f])
        return (f - special.logsumexp(f, axis=0)).T

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes, (N, K)."""
        return np.exp(self.predict_log_proba(X))
