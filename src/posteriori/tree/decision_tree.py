r"""Decision trees: the inputs are divided into boxes, and each box has a belief of its own.

.. math:: f(x) = \sum_m c_m\, I(x\in R_m)

Boxes are found greedily: of all columns and cuts the one that lowers the impurity of its two parts most,
again and again. (The best tree of a size cannot be found in polynomial time.) A partition that is chosen
by y has no evidence; :class:`BayesianTreeRegressor` sums over all partitions and has.

Reference: L. Breiman, J. Friedman, R. Olshen & C. Stone, "Classification and regression trees", 1984.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from posteriori.estimators.class_probabilities import ClassProbabilities
from posteriori.estimators.column_kinds import learn_level_counts
from posteriori.estimators.estimator_rows import check_counts, check_rows
from posteriori.estimators.labelled_rows import check_labelled_rows
from posteriori.estimators.parameters import POSITIVE, check_parameters, one_of
from posteriori.estimators.target_unit import TargetUnit, learn_unit
from posteriori.inference.trees.growing import class_sums, moment_sums
from posteriori.inference.trees.scores import CRITERIA
from posteriori.numerics.types import Array, IntArray
from posteriori.tree.greedy_tree import CONSTRAINTS, GreedyTree, TreeRows, checked_weights
from posteriori.tree.leaf_beliefs import (
    class_shares,
    predict_counts,
    predict_numbers,
    prior_of_counts,
    prior_of_numbers,
)

__all__ = ["DecisionStump", "DecisionTreeClassifier", "DecisionTreeRegressor"]


class DecisionTreeClassifier(GreedyTree, ClassProbabilities):
    """A tree whose leaves hold beliefs about classes.

    Parameters
    ----------
    criterion : {"gini", "entropy", "error"}
        What splits lower; see :func:`impurity`.
    max_depth, max_leaves : int or None
        None is no limit. With ``max_leaves`` the leaf whose split gains most is split first.
    min_samples_leaf : float
        Least weight of a leaf's rows; with ``honest``, of the half that decides about cuts.
    min_gain : float
        A split must lower Σ N_m Q_m / N by more than this, in the unit of the targets squared.
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
        "cv" takes the smallest of the best subtrees (:func:`cost_complexity_path`) whose log density
        of rows left out, in five folds, is at most a standard error behind the highest; of less than
        ten rows only the root is left.
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
        **CONSTRAINTS,
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
        sums = class_sums(rows.codes, checked_weights(rows.frequency, len(rows.x)))
        self.classes_ = rows.classes
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

    _constraints = {
        name: DecisionTreeClassifier._constraints[name]
        for name in ("criterion", "min_samples_leaf", "max_bins", "concentration")
    }

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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # two leaves cannot tell three classes apart
        return tags


class DecisionTreeRegressor(RegressorMixin, GreedyTree):
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
    Leaves of numbers predict their mean. The rate of counts has the prior Gamma(1, 1/ȳ), with the mean
    ȳ of all rows, so that a leaf without events does not exclude them.

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

    _constraints = {**CONSTRAINTS, "family": one_of("normal", "poisson")}

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
        counts = self.family == "poisson"
        if counts:
            check_counts(self, rows.y)
        levels = learn_level_counts(self, rows.x)
        weight = checked_weights(rows.frequency, len(rows.x))
        self._unit = TargetUnit(0.0, 1.0) if counts else learn_unit(rows.y, weight)
        sums = moment_sums((rows.y - self._unit.centre) / self._unit.size, weight)
        total = np.array([weight.sum(), weight @ sums.y, weight @ sums.y**2])
        self._prior = prior_of_counts(total) if counts else prior_of_numbers(total)
        self._grow(TreeRows(rows.x, sums, 3, rows.frequency, levels))
        return self

    def predict_dist(self, X: Any) -> Any:
        """Return the predictive distribution of each row, a batch."""
        leaves = self._leaves(X)
        return self._predict_nodes(self.sums_[leaves])

    def predict(self, X: Any) -> Array:
        """Return the mean of each row's predictive distribution, (N,)."""
        leaves = self._leaves(X)
        return np.asarray(self._predict_nodes(self.sums_).mean)[leaves]

    def _predict_nodes(self, sums: Array) -> Any:
        if self.family == "poisson":
            return predict_counts(self._prior, sums)
        return predict_numbers(self._prior, sums, self._unit)

    @property
    def _criterion(self) -> int:
        return CRITERIA["variance" if self.family == "normal" else "poisson"]

    @property
    def _target_size(self) -> float:
        return self._unit.size

    def _log_densities(self, rows: TreeRows, nodes: IntArray) -> Array:
        y = self._unit.centre + self._unit.size * rows.sums.y
        return self._predict_nodes(self.sums_[nodes]).log_prob(y)

    def _words(self) -> dict[str, Any]:
        said = self._predict_nodes(self.sums_)
        return {"weight": self.sums_[:, 0], "value": said.mean, "spread": np.sqrt(said.variance)}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.family == "poisson"
        return tags
