r"""Decision trees: the inputs are divided into boxes, and each box has a belief of its own.

.. math:: f(x) = \sum_m c_m\, I(x\in R_m)

Boxes are found greedily: of all columns and cuts the one that lowers the impurity of its two parts most,
again and again. (The best tree of a size cannot be found in polynomial time.) A partition that is chosen
by y has no evidence; :class:`BayesianTreeRegressor` sums over all partitions and has.

Reference: L. Breiman, J. Friedman, R. Olshen & C. Stone, "Classification and regression trees", 1984.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.class_probabilities import ClassProbabilities
from posteriori.estimators.column_kinds import check_mixed_inputs, learn_level_counts
from posteriori.estimators.estimator_rows import check_rows, column_names
from posteriori.estimators.labelled_rows import check_labelled_rows
from posteriori.estimators.parameters import (
    AT_LEAST_ONE,
    NOT_NEGATIVE,
    POSITIVE,
    Constraint,
    check_parameters,
    one_of,
    or_none,
)
from posteriori.estimators.target_unit import TargetUnit, learn_unit
from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.growing import (
    bin_rows,
    class_sums,
    grow_tree,
    make_rules,
    moment_sums,
)
from posteriori.inference.trees.profiles import Sums
from posteriori.inference.trees.scores import CRITERIA
from posteriori.inference.trees.weakest_links import node_risks, sum_over_nodes
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray
from posteriori.tree.labelled_tree import LabelledTree
from posteriori.tree.leaf_beliefs import (
    class_shares,
    predict_counts,
    predict_numbers,
    prior_of_counts,
    prior_of_numbers,
)
from posteriori.tree.pruning import choose_alpha, cut_tree, weakest_links

__all__ = ["DecisionStump", "DecisionTreeClassifier", "DecisionTreeRegressor", "TreeRows"]

_CONSTRAINTS = {
    "max_depth": or_none(Constraint("be a whole number >= 0 or None", 0.0, np.inf)),
    "max_leaves": or_none(AT_LEAST_ONE),
    "min_samples_leaf": POSITIVE,
    "min_gain": NOT_NEGATIVE,
    "max_bins": or_none(Constraint("be a whole number from 2 to 1000000 or None", 2.0, 1e6)),
    "pruning": or_none(one_of("cv")),
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


class _DecisionTree(BaseEstimator):
    """What trees of classes and of numbers share: how they grow."""

    _constraints = _CONSTRAINTS

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

    @property
    @abstractmethod
    def _criterion(self) -> int:
        """The criterion that is grown by."""

    @abstractmethod
    def _log_densities(self, rows: TreeRows, nodes: IntArray) -> Array:
        """Return ln p of rows in their nodes, (N,), up to a constant of each row."""

    @abstractmethod
    def _words(self) -> dict[str, Any]:
        """Return what nodes say: value, spread and classes of a :class:`LabelledTree`."""

    def _grow(self, rows: TreeRows) -> None:
        grown, estimated = rows, None
        if self.honest:
            order = as_generator(self.random_state).permutation(len(rows.x))
            if len(order) < 2:
                raise ValueError(
                    "honest=True needs at least two rows: cuts and leaves have some each"
                )
            grown, estimated = (rows.some(np.sort(part)) for part in np.array_split(order, 2))
        self._learn_tree(grown)
        if estimated is not None:
            self._estimate_leaves(estimated)
        if self.pruning == "cv":
            alpha = choose_alpha(self, rows, as_generator(self.random_state))
            cut_tree(self, weakest_links(self) <= alpha)

    def _learn_tree(self, rows: TreeRows) -> None:
        binned = bin_rows(rows.x, rows.n_levels, self.max_bins, rows.frequency)
        weight = rows.sums.weight
        rules = make_rules(
            self._criterion,
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_weight=self.min_samples_leaf,
            min_gain=self.min_gain * weight.sum(),
        )
        every = np.arange(len(rows.x), dtype=np.int32)
        grown = grow_tree(binned, rows.sums, rules, every, n_sums=rows.n_sums)
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
        names = tuple(name.replace("column ", "x") for name in column_names(self))
        return LabelledTree(self.trees_, names, **self._words())

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
        total = np.bincount(trees.column[inner], gain, minlength=self.n_features_in_)
        return total / (total.sum() or 1.0)

    def _leaves(self, X: Any) -> IntArray:
        check_is_fitted(self)
        x = check_mixed_inputs(self, X, self.trees_.n_levels)
        return self.trees_.find_leaves(x)[:, 0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class DecisionTreeClassifier(_DecisionTree, ClassProbabilities):
    """A tree whose leaves hold beliefs about classes.

    Parameters
    ----------
    criterion : {"gini", "entropy", "error"}
        What splits lower; see :func:`impurity`.
    max_depth, max_leaves : int or None
        None is no limit. With ``max_leaves`` the leaf whose split gains most is split first.
    min_samples_leaf : float
        Least weight of a leaf's rows.
    min_gain : float
        A split must lower Σ N_m Q_m / N by more than this.
    max_bins : int or None
        Columns of more values are put in as many bins by their quantiles; None: every value is a place
        to cut at.
    concentration : float
        Pseudo-count of each class in a leaf.
    columns : {"number", "categorical"}, or one for each column
        Categories are codes 0, 1, …, and are divided by subsets: the best one for two classes, and for
        more up to 8 levels; beyond, one level against the rest. NaN is missing and goes where it
        gains; where no row of a node had a gap, to the heavier side, as new levels do.
    honest : bool
        Whether one half of the rows decides about cuts and the other half about leaves.
    pruning : {"cv"} or None
        "cv" cuts the tree off where five-fold cross-validation says (:func:`cost_complexity_path`).
    random_state : int, Generator or None
        Of halves and folds.

    Attributes
    ----------
    classes_ : (K,)
    tree_ : LabelledTree
        Prints its rules; ``draw()``, ``networkx()``.
    trees_, sums_
        Flat arrays of the tree, and class weights of its nodes, (M, K).
    feature_importances_ : (D,)
        Share of each column in what splits gained.

    Notes
    -----
    O(D N depth). ``sample_weight`` equals repeated rows, but with ``honest`` or ``pruning``, where rows
    are drawn.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> model = DecisionTreeClassifier().fit(X, y)
    >>> print(model.rules())
    if x0 <= 1.5:
        no (83%, 2 rows)
    else:
        yes (83%, 2 rows)
    """

    _constraints = {
        **_CONSTRAINTS,
        "criterion": one_of("gini", "entropy", "error"),
        "concentration": POSITIVE,
    }

    def __init__(
        self,
        criterion: str = "gini",
        *,
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_leaf: float = 1,
        min_gain: float = 0.0,
        max_bins: int | None = 255,
        concentration: float = 0.5,
        columns: Any = "number",
        honest: bool = False,
        pruning: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_samples_leaf = min_samples_leaf
        self.min_gain = min_gain
        self.max_bins = max_bins
        self.concentration = concentration
        self.columns = columns
        self.honest = honest
        self.pruning = pruning
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array_like (N, D)
            NaN is missing.
        y : array_like (N,)
            Labels.
        sample_weight : array_like (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        check_parameters(self)
        rows = check_labelled_rows(self, X, y, sample_weight, gaps=True)
        levels = learn_level_counts(self, rows.x)
        self.classes_ = rows.classes
        weight = np.ones(len(rows.x)) if rows.frequency is None else rows.frequency
        sums = class_sums(rows.codes, weight)
        self._grow(TreeRows(rows.x, sums, len(rows.classes), rows.frequency, levels))
        return self

    def predict_proba(self, X: Any) -> Array:
        leaves = self._leaves(X)
        return class_shares(self.concentration, self.sums_)[leaves]

    @property
    def _criterion(self) -> int:
        return CRITERIA[self.criterion]

    def _log_densities(self, rows: TreeRows, nodes: IntArray) -> Array:
        return np.log(class_shares(self.concentration, self.sums_)[nodes, rows.sums.codes])

    def _words(self) -> dict[str, Any]:
        shares = class_shares(self.concentration, self.sums_)
        best = shares.argmax(axis=1)
        spread = shares[np.arange(len(best)), best]
        weight = self.sums_.sum(axis=1)
        return {"weight": weight, "value": best, "spread": spread, "classes": self.classes_}


class DecisionStump(DecisionTreeClassifier):
    """A tree of one question.

    Of one column, stumps have VC dimension 2; of D columns it grows with log D.

    Parameters
    ----------
    criterion, min_samples_leaf, max_bins, concentration, columns
        As of :class:`DecisionTreeClassifier`.

    Examples
    --------
    >>> DecisionStump("error").fit([[0.0], [1.0], [2.0]], [0, 1, 1]).predict([[0.4], [0.6]])
    array([0, 1])
    """

    def __init__(
        self,
        criterion: str = "gini",
        *,
        min_samples_leaf: float = 1,
        max_bins: int | None = 255,
        concentration: float = 0.5,
        columns: Any = "number",
    ) -> None:
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.concentration = concentration
        self.columns = columns

    max_depth = 1
    max_leaves = None
    min_gain = 0.0
    honest = False
    pruning = None
    random_state = None


class DecisionTreeRegressor(RegressorMixin, _DecisionTree):
    """A tree whose leaves hold beliefs about numbers or counts.

    Parameters
    ----------
    family : {"normal", "poisson"}
        "normal" divides by least squares, and leaves predict Student's t around their mean; "poisson"
        by deviance, and leaves predict negative binomial counts.
    max_depth, max_leaves, min_samples_leaf, min_gain, max_bins, columns, honest, pruning, random_state
        As of :class:`DecisionTreeClassifier`.

    Attributes
    ----------
    tree_ : LabelledTree
    trees_, sums_
        Flat arrays of the tree, and (Σw, Σwy, Σwy²) of its nodes, (M, 3), in a unit of its own.
    feature_importances_ : (D,)

    Notes
    -----
    The spread of a leaf is that of the rows that the tree was fitted to; of a deep tree it is too
    small, and ``honest=True`` measures it with other rows.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 1.2, 5.0, 5.2]
    >>> model = DecisionTreeRegressor(max_depth=1).fit(X, y)
    >>> model.predict([[0.5], [2.5]])
    array([1.1, 5.1])
    """

    _constraints = {**_CONSTRAINTS, "family": one_of("normal", "poisson")}

    def __init__(
        self,
        family: str = "normal",
        *,
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_leaf: float = 1,
        min_gain: float = 0.0,
        max_bins: int | None = 255,
        columns: Any = "number",
        honest: bool = False,
        pruning: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.family = family
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_samples_leaf = min_samples_leaf
        self.min_gain = min_gain
        self.max_bins = max_bins
        self.columns = columns
        self.honest = honest
        self.pruning = pruning
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array_like (N, D)
            NaN is missing.
        y : array_like (N,)
            Numbers; counts for "poisson".
        sample_weight : array_like (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        check_parameters(self)
        rows = check_rows(self, X, y, sample_weight=sample_weight, gaps=True)
        levels = learn_level_counts(self, rows.x)
        weight = np.ones(len(rows.x)) if rows.frequency is None else rows.frequency
        self._unit = TargetUnit(0.0, 1.0)
        if self.family == "normal":
            self._unit = learn_unit(rows.y, weight)
        elif (rows.y < 0).any():
            raise ValueError(f"family='poisson' needs counts >= 0, got {rows.y.min():.6g} in y")
        sums = moment_sums((rows.y - self._unit.centre) / self._unit.size, weight)
        learn_prior = prior_of_numbers if self.family == "normal" else prior_of_counts
        total = np.array([weight.sum(), weight @ sums.y, weight @ sums.y**2])
        self._prior = learn_prior(total)
        self._grow(TreeRows(rows.x, sums, 3, rows.frequency, levels))
        return self

    def predict_dist(self, X: Any) -> Any:
        """Return the predictive distribution of each row, a batch."""
        return self._predict_nodes(self.sums_[self._leaves(X)])

    def predict(self, X: Any) -> Array:
        """Return the mean of each row's leaf, (N,)."""
        leaves = self._leaves(X)
        return np.asarray(self._predict_nodes(self.sums_).mean)[leaves]

    def _predict_nodes(self, sums: Array) -> Any:
        if self.family == "poisson":
            return predict_counts(self._prior, sums)
        return predict_numbers(self._prior, sums, self._unit)

    @property
    def _criterion(self) -> int:
        return CRITERIA["variance" if self.family == "normal" else "poisson"]

    def _log_densities(self, rows: TreeRows, nodes: IntArray) -> Array:
        y = self._unit.centre + self._unit.size * rows.sums.y
        return self._predict_nodes(self.sums_[nodes]).log_prob(y)

    def _words(self) -> dict[str, Any]:
        said = self._predict_nodes(self.sums_)
        return {"weight": self.sums_[:, 0], "value": said.mean, "spread": np.sqrt(said.variance)}
