"""Gradient boosting of numbers and counts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from posteriori.distributions.counts.negative_binomial import NegativeBinomial
from posteriori.distributions.counts.poisson import Poisson
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.ensemble.gradient_boosting.boosted_ensemble import (
    SCHEDULE_CONSTRAINTS,
    BoostedEnsemble,
)
from posteriori.ensemble.gradient_boosting.boosting_rounds import BoostedTrees
from posteriori.ensemble.gradient_boosting.left_out_noise import fit_spread, fit_tail, fit_width
from posteriori.ensemble.gradient_boosting.losses import CountLoss, Loss, StudentLoss
from posteriori.estimators.estimator_rows import check_rows
from posteriori.estimators.parameters import check_parameters, one_of
from posteriori.numerics.types import Array

__all__ = ["GradientBoostingRegressor"]


class GradientBoostingRegressor(RegressorMixin, BoostedEnsemble):
    _constraints = {
        **SCHEDULE_CONSTRAINTS,
        "family": one_of("student", "normal", "poisson", "negative binomial"),
    }

    def __init__(
        self,
        family: str = "student",
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
        self.family = family
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        check_parameters(self)
        rows = check_rows(self, X, y, sample_weight=sample_weight, gaps=True)
        if len(rows.y) < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 rows, got 1 sample")
        counts = self.family in ("poisson", "negative binomial")
        if counts:
            _require_counts(rows.y)
        self.unit_ = 1.0 if counts else _power_of_two(rows.y, rows.frequency)
        loss: Loss = (
            CountLoss(self.family == "poisson") if counts else StudentLoss(self.family == "normal")
        )
        target = rows.y / self.unit_
        members, weight = self._boost(loss, rows.x, target, rows.frequency)
        self._learn_noise(loss, members, target, weight)
        return self

    def _learn_noise(
        self, loss: Loss, members: list[BoostedTrees], y: Array, weight: Array
    ) -> None:
        """Learn scale, tails and dispersion from predictions of rows left out."""
        order = np.concatenate([member.left_out for member in members])
        f = np.concatenate([member.predictors for member in members], axis=1)
        y, weight = y[order], weight[order]
        if isinstance(loss, CountLoss):
            shape = loss.learn_shape(y, f, weight)
            self.dispersion_ = shape
        else:
            z = (y - f[0]) * np.exp(-f[1])
            shape, width = (0.0, fit_width(z, weight, 0.0)) if loss.normal else fit_tail(z, weight)
            f[1] += np.log(width)
            self.start_[1] += np.log(width)
            self.dof_ = 1.0 / shape if shape else np.inf
        self.left_out_log_density_ = float(
            weight @ (loss.log_density(y, f, shape) - np.log(self.unit_))
        )

    def predict_dist(self, X: Any) -> Any:
        f = self._predictors(X).T
        if self.family == "poisson":
            return Poisson(np.exp(f[0]))
        if self.family == "negative binomial":
            return NegativeBinomial(1.0 / self.dispersion_, mean=np.exp(f[0]))
        scale = np.exp(f[1]) * self.unit_
        if np.isinf(self.dof_):
            return Normal(f[0] * self.unit_, variance=scale**2)
        return StudentT(self.dof_, f[0] * self.unit_, scale=scale)

    def predict(self, X: Any) -> Array:
        f = self._predictors(X)[:, 0]
        return np.exp(f) if self.family in ("poisson", "negative binomial") else f * self.unit_


def _power_of_two(y: Array, frequency: Array | None) -> float:
    """Return a power of 2 near the spread of targets, or their size where they are all equal."""
    size = np.ldexp(1.0, int(np.frexp(np.abs(y).max() or 1.0)[1]))
    scaled = y / size
    mean = np.average(scaled, weights=frequency)
    spread = np.sqrt(np.average((scaled - mean) ** 2, weights=frequency))
    return float(size * np.ldexp(1.0, int(np.frexp(spread or 1.0)[1])))


def _require_counts(y: Array) -> None:
    wrong = (y < 0) | (y != np.floor(y))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"y must hold counts 0, 1, 2, …, got {y[row]:.6g} in row {row}; family='student' learns numbers"
        )
