r"""How trees of classes and of numbers grow, and what both can be asked for.

Of all columns and cuts the one is taken that lowers the impurity of its two parts most, again and
again. (The best tree of a size cannot be found in polynomial time.)
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.column_kinds import check_mixed_inputs
from posteriori.estimators.contract import NamesColumns, offers
from posteriori.estimators.parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    Constraint,
    or_none,
)
from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.grower.profiles import Sums
from posteriori.inference.trees.growing import bin_rows, grow_tree, make_rules
from posteriori.inference.trees.weakest_links import node_risks, sum_over_nodes
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.validation import require_moderate
from posteriori.tree.labelled_tree import LabelledTree
from posteriori.tree.pruning import choose_alpha, cut_tree, weakest_links

__all__ = ["CONSTRAINTS", "GreedyTree", "TreeRows", "checked_weights"]

#: What the parameters of all trees may be.
CONSTRAINTS = {
    "max_depth": or_none(Constraint("be a whole number >= 0 or None", 0.0, np.inf, whole=True)),
    "max_leaves": or_none(Constraint("be a whole number >= 1 or None", 1.0, np.inf, whole=True)),
    "min_samples_leaf": POSITIVE,
    "min_gain": NOT_NEGATIVE,
    "max_bins": or_none(
        Constraint("be a whole number from 2 to 1000000 or None", 2.0, 1e6, whole=True)
    ),
    "honest": Constraint("be True or False", 0.0, 1.0, whole=True),
    "pruning": Constraint("be 'cv' or None", choices=("cv",), none=True),
}


class TreeRows(NamedTuple):
    """Rows that a tree learns from.

    Attributes
    ----------
    x : (N, D)
    sums : Sums
    n_sums : int
    frequency : (N,) or None
    n_levels : (D,)
    """

    x: Array
    sums: Sums
    n_sums: int
    frequency: Array | None
    n_levels: IntArray

    def some(self, rows: Any) -> TreeRows:
        """Return a part of the rows."""
        codes, y, weight = (a[rows] if len(a) else a for a in self.sums[:3])
        frequency = None if self.frequency is None else self.frequency[rows]
        sums = self.sums._replace(codes=codes, y=y, weight=weight)
        return self._replace(x=self.x[rows], sums=sums, frequency=frequency)


class GreedyTree(BaseEstimator):
    """What trees of classes and of numbers share."""

    max_depth: Any
    max_leaves: Any
    min_samples_leaf: Any
    min_gain: Any
    max_bins: Any
    columns: Any
    honest: Any
    pruning: Any
    random_state: Any
    n_features_in_: int
    trees_: Trees
    sums_: Array
    _gaps: Array

    @property
    @abstractmethod
    def _criterion(self) -> int:
        """The criterion that is grown by."""

    @property
    def _target_size(self) -> float:
        """What targets are divided by while the tree grows; risks are divided by its square."""
        return 1.0

    @abstractmethod
    def _log_densities(self, rows: TreeRows, nodes: IntArray) -> Array:
        """Return ln p of rows in their nodes, (N,)."""

    @abstractmethod
    def _words(self) -> dict[str, Any]:
        """Return what nodes say: weight, value, spread and classes of a :class:`LabelledTree`."""

    def _grow(self, rows: TreeRows) -> None:
        rng = as_generator(self.random_state)
        self._gaps = np.asarray(np.isnan(rows.x).any(axis=0))
        self._learn_tree(rows, rng)
        if self.pruning == "cv":
            alpha = choose_alpha(self, rows, rng)
            cut_tree(self, weakest_links(self) <= alpha)

    def _learn_tree(self, rows: TreeRows, rng: np.random.Generator) -> None:
        """Learn cuts and leaves, from the same rows or from one half each."""
        if not self.honest:
            self._learn_cuts(rows)
            return
        order = rng.permutation(len(rows.x))
        if len(order) < 2:
            raise ValueError(
                "honest=True needs at least two rows, one for cuts and one for leaves, got 1; give more "
                "or set honest=False"
            )
        for_cuts, for_leaves = (rows.some(np.sort(part)) for part in np.array_split(order, 2))
        self._learn_cuts(for_cuts)
        self._estimate_leaves(for_leaves)

    def _learn_cuts(self, rows: TreeRows) -> None:
        binned = bin_rows(rows.x, rows.n_levels, self.max_bins, rows.frequency)
        unit, weight = self._target_size, float(rows.sums.weight.sum())
        rules = make_rules(
            self._criterion,
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_weight=self.min_samples_leaf,
            min_gain=float(self.min_gain) * weight / unit / unit,
        )
        grown = grow_tree(binned, rows.sums, rules, n_sums=rows.n_sums)
        self.trees_, self.sums_ = grown.trees, grown.sums

    def _estimate_leaves(self, rows: TreeRows) -> None:
        """Learn the leaves from other rows; nodes one of whose children has none become leaves."""
        leaves = self.trees_.find_leaves(rows.x)[:, 0]
        self.sums_ = sum_over_nodes(self.trees_, leaves, rows.sums, rows.n_sums)
        empty = self.sums_.sum(axis=1) == 0 if rows.sums.codes.size else self.sums_[:, 0] == 0
        inner = ~self.trees_.is_leaf
        cut_tree(self, inner & (empty[self.trees_.left] | empty[self.trees_.right]))

    @property
    def tree_(self) -> LabelledTree:
        """The tree with names and words: prints its rules, draws itself."""
        check_is_fitted(self)
        named = offers(self, NamesColumns)
        names = self.feature_names_in_ if named else [f"x{j}" for j in range(self.n_features_in_)]
        return LabelledTree(self.trees_, tuple(names), gaps=self._gaps, **self._words())

    def rules(self) -> str:
        """Return the tree as nested rules."""
        return self.tree_.rules()

    @property
    def feature_importances_(self) -> Array:
        """Share of each column in what the splits gained, (D,)."""
        check_is_fitted(self)
        risks, trees = node_risks(self._criterion, (0.0,), self.sums_), self.trees_
        inner = np.flatnonzero(~trees.is_leaf)
        gain = risks[inner] - risks[trees.left[inner]] - risks[trees.right[inner]]
        total = np.bincount(
            trees.column[inner], np.maximum(gain, 0.0), minlength=self.n_features_in_
        )
        return total / (total.sum() or 1.0)

    def _leaves(self, X: Any) -> IntArray:
        check_is_fitted(self)
        x = check_mixed_inputs(self, X, self.trees_.n_levels)
        return self.trees_.find_leaves(x)[:, 0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def checked_weights(frequency: Array | None, size: int) -> Array:
    """Return how often each row counts, (N,)."""
    if frequency is None:
        return np.ones(size)
    require_moderate("sample_weight", frequency)
    return frequency
