"""Weak learners: what a round of boosting asks, and the members that it collects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.inference.trees.flat_trees import Trees, join_trees
from posteriori.inference.trees.growing import (
    bin_rows,
    class_sums,
    grow_one,
    grower_of,
    make_rules,
)
from posteriori.inference.trees.scores import CRITERIA, ERROR, GINI
from posteriori.inference.trees.stumps import (
    StumpColumns,
    count_columns,
    find_stump,
    find_stumps,
    sort_columns,
    stump_trees,
)
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "EstimatorMembers",
    "Hypothesis",
    "Members",
    "TreeMembers",
    "WeakEstimators",
    "WeakLearner",
    "WeakTrees",
]


class Hypothesis(NamedTuple):
    """What a weak learner has learned from weighted rows.

    Attributes
    ----------
    member : object
        For :meth:`WeakLearner.gather`.
    predicted : (N,)
        Places of the classes that the rows are given.
    """

    member: Any
    predicted: Any


class Members(Protocol):
    """Hypotheses that vote."""

    def add_votes(self, weights: Array, x: Array, votes: Array) -> None:
        """Add to ``votes`` (N, K) the weight of each member (T,) at the class that it names."""
        ...

    def name_classes(self, x: Array) -> Iterator[Any]:
        """Yield the places of the classes that each member names, (N,)."""
        ...


class WeakLearner(Protocol):
    """Learns the same rows over and over, with weights that change."""

    def learn(self, weight: Array) -> Hypothesis:
        """Return what is learned with these weights (N,)."""
        ...

    def gather(self, members: Sequence[Any]) -> Members:
        """Return the members of all rounds."""
        ...


class TreeMembers(NamedTuple):
    """Trees that vote.

    Attributes
    ----------
    trees : Trees
    classes : (M,)
        The place of each node's class.
    """

    trees: Trees
    classes: IntArray

    def add_votes(self, weights: Array, x: Array, votes: Array) -> None:
        values = np.zeros((len(self.classes), votes.shape[1]))
        values[np.arange(len(values)), self.classes] = weights[self.trees.tree_of]
        self.trees.add_values(values, x, votes)

    def name_classes(self, x: Array) -> Iterator[Any]:
        for t, root in enumerate(self.trees.roots):
            leaves = self.trees.tree(t).find_leaves(x)[:, 0]
            yield self.classes[leaves + root]


class WeakTrees:
    """Stumps or small trees, over columns that are binned once.

    Parameters
    ----------
    rows : LabelledRows
    n_levels : (D,)
        Of columns of categories; 0 for numbers.
    criterion : {"error", "gini", "entropy"}
    max_depth : int or None
    max_bins : int or None
    pool : ThreadPoolExecutor, optional
    """

    def __init__(
        self,
        rows: LabelledRows,
        n_levels: IntArray,
        *,
        criterion: str = "error",
        max_depth: int | None = 1,
        max_bins: int | None = 255,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        self._rows, self._pool, self._sign = rows, pool, np.where(rows.codes == 1, 1.0, -1.0)
        self._rules = make_rules(CRITERIA[criterion], max_depth=max_depth, min_weight=0.0)
        plain = len(rows.classes) == 2 and not n_levels.any() and max_depth == 1
        plain &= self._rules.criterion in (ERROR, GINI)
        self._columns: StumpColumns | None = None
        if plain and max_bins is None:
            self._columns = sort_columns(rows.x, pool)
            return
        binned = bin_rows(rows.x, n_levels, max_bins, rows.frequency, pool)
        if plain and binned.codes.dtype == np.uint8:
            self._columns = count_columns(rows.x, binned)
            return
        sums = class_sums(rows.codes, np.ones(len(rows.x)))
        self._grower = grower_of(binned, sums, self._rules, n_sums=len(rows.classes), weight=np.inf)

    def learn(self, weight: Array) -> Hypothesis:
        if self._columns is None:
            return self._grow(weight)
        return Hypothesis(*find_stump(self._columns, *self._question(weight)))

    def learn_several(self, weight: Array) -> list[Hypothesis]:
        """Return what is learned with these weights (N,), and the best of each other column if at hand."""
        if self._columns is None:
            return [self._grow(weight)]
        found = find_stumps(self._columns, *self._question(weight))
        return [Hypothesis(*one) for one in found]

    def gather(self, members: Sequence[Any]) -> TreeMembers:
        if self._columns is not None:
            return TreeMembers(*stump_trees(members, self._rows.x.shape[1]))
        trees = join_trees([member.trees for member in members])
        return TreeMembers(trees, np.concatenate([member.classes for member in members]))

    def _question(self, weight: Array) -> tuple[Array, int, ThreadPoolExecutor | None]:
        return self._sign * weight, self._rules.criterion, self._pool

    def _grow(self, weight: Array) -> Hypothesis:
        grown = grow_one(self._grower, weight)
        classes = grown.sums.argmax(axis=1)
        all_there = len(grown.rows) == len(weight)
        leaves = (
            grown.leaf_of_rows(len(weight))
            if all_there
            else grown.trees.find_leaves(self._rows.x)[:, 0]
        )
        return Hypothesis(TreeMembers(grown.trees, classes), classes[leaves])


class EstimatorMembers(NamedTuple):
    """Classifiers that vote.

    Attributes
    ----------
    estimators : list
    classes : (K,)
        Labels.
    """

    estimators: list[Any]
    classes: Any

    def add_votes(self, weights: Array, x: Array, votes: Array) -> None:
        rows = np.arange(len(x))
        for weight, named in zip(weights, self.name_classes(x), strict=True):
            votes[rows, named] += weight

    def name_classes(self, x: Array) -> Iterator[Any]:
        for estimator in self.estimators:
            yield np.searchsorted(self.classes, estimator.predict(x))


class WeakEstimators:
    """Copies of a classifier, each fitted to the rows with new weights.

    Parameters
    ----------
    rows : LabelledRows
    estimator : classifier
    resampled : bool
        Whether weights are whole: then rows are repeated, and the classifier need not know weights.
    rng : Generator
        Seeds copies that have ``random_state``.
    """

    def __init__(
        self, rows: LabelledRows, estimator: Any, resampled: bool, rng: np.random.Generator
    ) -> None:
        if not resampled and not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"estimator {type(estimator).__name__} takes no sample_weight; "
                'weighting="resample" draws rows instead'
            )
        self._rows, self._estimator, self._resampled, self._rng = rows, estimator, resampled, rng

    def learn(self, weight: Array) -> Hypothesis:
        copy, x = clone(self._estimator), self._rows.x
        labels = self._rows.classes[self._rows.codes]
        if "random_state" in copy.get_params():
            copy.set_params(random_state=int(self._rng.integers(2**31 - 1)))
        if self._resampled:
            drawn = np.repeat(np.arange(len(x)), weight.astype(np.int64))
            copy.fit(x[drawn], labels[drawn])
        else:
            copy.fit(x, labels, sample_weight=weight)
        return Hypothesis(copy, np.searchsorted(self._rows.classes, copy.predict(x)))

    def gather(self, members: Sequence[Any]) -> EstimatorMembers:
        return EstimatorMembers(list(members), self._rows.classes)
