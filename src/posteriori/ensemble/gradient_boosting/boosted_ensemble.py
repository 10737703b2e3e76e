"""What boosted regression and classification share: parameters, rows, and sums over trees."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from posteriori.ensemble.gradient_boosting.boosting_members import boost_members
from posteriori.ensemble.gradient_boosting.boosting_rounds import (
    BoostedTrees,
    BoostingTable,
    Schedule,
)
from posteriori.ensemble.gradient_boosting.losses import Loss
from posteriori.estimators.column_kinds import check_mixed_inputs, learn_level_counts
from posteriori.estimators.parameters import AT_LEAST_ONE, POSITIVE, Constraint, or_none
from posteriori.inference.trees.flat_trees import Trees, join_trees
from posteriori.inference.trees.growing import bin_rows
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.types import Array

__all__ = ["SCHEDULE_CONSTRAINTS", "BoostedEnsemble"]

_SHARE = Constraint("be a share above 0, at most 1", 0.0, 1.0, open=True)

SCHEDULE_CONSTRAINTS = {
    "n_estimators": AT_LEAST_ONE,
    "learning_rate": _SHARE,
    "max_leaves": or_none(Constraint("be at least 2, or None", 2.0, np.inf)),
    "max_depth": or_none(AT_LEAST_ONE),
    "subsample": _SHARE,
    "max_features": _SHARE,
    "max_bins": or_none(Constraint("be at least 2, or None", 2.0, np.inf)),
    "n_members": AT_LEAST_ONE,
}

#: λ: so many rows of no slope are added to each leaf.
_RIDGE = 1.0

#: Rows without progress after which a member ends, times the learning rate.
_PATIENCE = 2.0


class BoostedEnsemble(BaseEstimator):
    """Members whose trees are added up and averaged."""

    trees_: Trees
    values_: Array
    start_: Array
    n_rounds_: list[int]
    n_levels_: Any

    _constraints: ClassVar[Any] = SCHEDULE_CONSTRAINTS

    def _boost(
        self, loss: Loss, x: Array, y: Array, frequency: Array | None
    ) -> tuple[list[BoostedTrees], Array]:
        """Learn the members; return them, and the weights of the rows."""
        self.n_levels_ = learn_level_counts(self, x)
        x = as_kernel_input(x)
        weight = np.ones(len(y)) if frequency is None else frequency
        binned = bin_rows(x, self.n_levels_, self.max_bins, frequency)
        table = BoostingTable(binned, x, np.ascontiguousarray(y, dtype=np.float64), weight)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        members = min(int(self.n_members), max(len(y) // _FEWEST, 1))
        learned = boost_members(table, loss, self._schedule(*x.shape), members, rng)
        self._average(learned, len(loss.slopes))
        return learned, weight

    def _schedule(self, rows: int, columns: int) -> Schedule:
        leaves = self.max_leaves
        if leaves is None:
            leaves = default_leaves(rows)
        return Schedule(
            int(self.n_estimators),
            float(self.learning_rate),
            int(leaves),
            self.max_depth,
            float(self.subsample),
            max(1, math.ceil(self.max_features * columns)),
            _RIDGE,
            default_least(rows),
            math.ceil(_PATIENCE / self.learning_rate),
        )

    def _average(self, members: list[BoostedTrees], predictors: int) -> None:
        """Keep the trees of all members, with values that add up to their average."""
        parts = [tree for member in members for tree in member.trees]
        values = [
            _in_column(value / len(members), i % predictors, predictors)
            for member in members
            for i, value in enumerate(member.values)
        ]
        self.n_rounds_ = [len(member.trees) // predictors for member in members]
        self.start_ = np.mean([member.start[:predictors] for member in members], axis=0)
        if not parts:  # no tree is better than the constant model
            parts, values = [_stump_of_nothing(self.n_levels_)], [np.zeros((1, predictors))]
        self.trees_ = join_trees(parts)
        self.values_ = np.concatenate(values)

    def _predictors(self, X: Any) -> Array:
        """Return the predictors of rows, (N, P)."""
        check_is_fitted(self)
        x = check_mixed_inputs(self, X, self.n_levels_)
        total = np.tile(self.start_, (len(x), 1))
        self.trees_.add_values(self.values_, x, total)
        return total

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


#: Rows that a member should leave out, at least.
_FEWEST = 4


def default_leaves(rows: int) -> int:
    return int(np.clip(round(rows ** (1.0 / 3.0)), 4, 31))


def default_least(rows: int) -> float:
    return 5.0


def _in_column(value: Array, k: int, predictors: int) -> Array:
    wide = np.zeros((len(value), predictors))
    wide[:, k] = value
    return wide


def _stump_of_nothing(n_levels: Any) -> Trees:
    """Return a tree that is one leaf."""
    none, no = np.array([-1]), np.array([False])
    return Trees(none, [np.nan], none, none, no, none, [], n_levels, [0])
