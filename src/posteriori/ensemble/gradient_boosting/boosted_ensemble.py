"""What boosted regression and classification share: parameters, rows, and sums over trees."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posteriori.ensemble.gradient_boosting.boosting_members import boost_members
from posteriori.ensemble.gradient_boosting.boosting_rounds import (
    BoostedTrees,
    BoostingTable,
    Schedule,
)
from posteriori.ensemble.gradient_boosting.losses import Loss
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.column_kinds import check_mixed_inputs, learn_level_counts
from posteriori.estimators.parameters import AT_LEAST_ONE, Constraint, or_none
from posteriori.inference.trees.flat_trees import Trees, join_trees
from posteriori.inference.trees.growing import bin_rows
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.random import as_generator
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.threads import thread_count
from posteriori.numerics.types import Array

__all__ = ["SCHEDULE_CONSTRAINTS", "BoostedEnsemble", "Judged"]

_SHARE = Constraint("be a share above 0, at most 1", 0.0, 1.0, open=True)

SCHEDULE_CONSTRAINTS = {
    "n_estimators": AT_LEAST_ONE,
    "learning_rate": _SHARE,
    "max_leaves": or_none(Constraint("be at least 2, or None", 2.0, 2.0**31)),
    "max_depth": or_none(Constraint("be at least 1, or None", 1.0, 2.0**31)),
    "subsample": or_none(_SHARE),
    "max_features": _SHARE,
    "max_bins": or_none(Constraint("be a whole number from 2 to 1000000 or None", 2.0, 1e6)),
    "n_members": Constraint("be from 1 to 1000", 1.0, 1000.0),
}

#: λ, and the information that a leaf must have, in rows.
_RIDGE, _LEAST = 1.0, 1.0

#: Rounds without progress times the learning rate, after which a member ends.
_PATIENCE = 2.0

#: Rows that a member should leave out, at least.
_FEWEST = 4

#: From this many rows on, sums over rows are divided among threads.
_MANY_ROWS = 20_000

#: Rows that are enough to learn a width, a tail or a dispersion from.
_ENOUGH = 200_000

#: Rows for each leaf of a tree, and between how many leaves that holds.
_ROWS_OF_LEAF, _LEAVES = 512, (4, 64)

#: Fewer rows than these are halved for each tree: what differs between trees averages out.
_FEW_ROWS = 10_000


class Judged(NamedTuple):
    """Rows with what members that have not seen them predict.

    Attributes
    ----------
    f : (P, n)
    y, weight : (n,)
    """

    f: Array
    y: Array
    weight: Array

    def some(self) -> Judged:
        """Return rows that are enough to learn the noise from, spread over all."""
        step = -(-len(self.y) // _ENOUGH)
        return Judged(self.f[:, ::step], self.y[::step], self.weight[::step])


class BoostedEnsemble(BaseEstimator):
    """Members whose trees are added up and averaged.

    Attributes
    ----------
    trees_ : Trees
        Of all members.
    values_ : (M, P)
        What a leaf adds to each predictor of the average.
    start_ : (P,)
        Predictors before the first tree.
    n_rounds_ : (members,)
        Rounds that each member kept.
    """

    n_estimators: Any
    learning_rate: Any
    max_leaves: Any
    max_depth: Any
    subsample: Any
    max_features: Any
    max_bins: Any
    columns: Any
    n_members: Any
    random_state: Any
    progress: Any
    n_features_in_: int
    trees_: Trees
    values_: Array
    start_: Array
    n_rounds_: Any

    def _boost(self, loss: Loss, x: Array, y: Array, frequency: Array | None) -> Judged:
        """Learn the members; return what they say about rows that they have not seen."""
        n_levels, x = learn_level_counts(self, x), as_kernel_input(x)
        weight = as_kernel_input(np.zeros(0) if frequency is None else frequency)
        total = len(y) if frequency is None else float(weight.sum())
        y = as_kernel_input(y)
        count = min(int(self.n_members), max(len(y) // _FEWEST, 1))
        with ThreadPoolExecutor(thread_count()) as pool:
            helpers = pool if thread_count() > 1 and len(y) >= _MANY_ROWS else None
            binned = bin_rows(x, n_levels, self.max_bins, frequency, helpers)
            table = BoostingTable(binned, x, y, weight)
            members = boost_members(
                table,
                loss,
                self._schedule(total, x.shape[1]),
                count,
                as_generator(self.random_state),
                Progress(self.progress, kept="the trees so far"),
                helpers,
            )
        self._average(members, len(loss.slopes), n_levels)
        judges = np.concatenate([member.judges for member in members])
        f = np.concatenate([member.predictors for member in members], axis=1)
        return Judged(f, y[judges], table.weight_of(judges))

    def _schedule(self, rows: float, columns: int) -> Schedule:
        leaves, share = self.max_leaves, self.subsample
        if leaves is None:
            leaves = np.clip(rows // _ROWS_OF_LEAF, *_LEAVES)
        if share is None:
            share = 0.5 if rows < _FEW_ROWS and self.n_members > 1 else 1.0
        return Schedule(
            rounds=int(self.n_estimators),
            rate=float(self.learning_rate),
            max_leaves=int(leaves),
            max_depth=None if self.max_depth is None else int(self.max_depth),
            subsample=float(share),
            max_features=max(1, math.ceil(self.max_features * columns)),
            ridge=_RIDGE,
            least=_LEAST,
            patience=math.ceil(_PATIENCE / self.learning_rate),
        )

    def _average(self, members: list[BoostedTrees], predictors: int, n_levels: Any) -> None:
        """Keep the trees of all members, with values that add up to their average."""
        first = _single_leaf(n_levels)  # so that there is one
        self.trees_ = join_trees([first, *(part for member in members for part in member.trees)])
        steps = np.concatenate([np.zeros(1), *(v for member in members for v in member.values)])
        self.values_ = np.zeros((len(steps), predictors))
        which = (self.trees_.tree_of - 1) % predictors  # rounds have a tree for each
        self.values_[np.arange(len(steps)), which] = steps / len(members)
        self.n_rounds_ = np.array([member.n_trees // predictors for member in members])
        self.start_ = np.mean([member.start[:predictors] for member in members], axis=0)

    def _predictors(self, X: Any) -> Array:
        """Return the predictors of rows, (P, N)."""
        check_is_fitted(self)
        x = check_mixed_inputs(self, X, self.trees_.n_levels)
        total = np.tile(self.start_, (len(x), 1))
        self.trees_.add_values(self.values_, x, total)
        return np.ascontiguousarray(total.T)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _single_leaf(n_levels: Any) -> Trees:
    none, no, zero = np.array([-1]), np.zeros(1, dtype=np.bool_), np.zeros(1, dtype=np.int64)
    return Trees(none, np.full(1, np.nan), none, none, no, none, no[:0], n_levels, zero)
