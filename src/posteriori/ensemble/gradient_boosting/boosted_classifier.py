"""Gradient boosting of classes."""

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
    _constraints = SCHEDULE_CONSTRAINTS
    _gaps = True

    def __init__(
        self,
        n_estimators: int = 1000,
        learning_rate: float = 0.05,
        max_leaves: int | None = None,
        max_depth: int | None = None,
        subsample: float = 1.0,
        max_features: float = 1.0,
        max_bins: int | None = 255,
        columns: Any = "number",
        n_members: int = 5,
        random_state: Any = None,
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

    def _learn(self, rows: LabelledRows) -> None:
        count = len(rows.classes)
        loss: Loss = LogisticLoss() if count == 2 else SoftmaxLoss(count)
        members, weight = self._boost(loss, rows.x, rows.codes, rows.frequency)
        self.classes_ = rows.classes
        order = np.concatenate([member.left_out for member in members])
        f = np.concatenate([member.predictors for member in members], axis=1)
        logs = loss.log_density(rows.codes[order].astype(np.float64), f, 0.0)
        self.left_out_log_density_ = float(weight[order] @ logs)

    def decision_function(self, X: Any) -> Array:
        f = self._predictors(X)
        return f[:, 0] if len(self.classes_) == 2 else f

    def predict_log_proba(self, X: Any) -> Array:
        f = self._predictors(X)
        if len(self.classes_) == 2:
            f = np.hstack([np.zeros_like(f), f])
        return f - special.logsumexp(f, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> Array:
        return np.exp(self.predict_log_proba(X))
