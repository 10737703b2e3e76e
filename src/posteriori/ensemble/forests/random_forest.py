r"""Random forests: trees of bootstrap samples that may ask for random columns only.

.. math:: f(x) = \frac1T\sum_t f_t(x)

Each tree is grown to its end from rows drawn with replacement; in each node only some columns, drawn
anew, are tried, so that the trees err less alike. Rows that a tree has not seen tell how far the
average can be trusted.

Reference: L. Breiman, "Random forests", 2001.
"""

from __future__ import annotations

from math import isqrt
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.ensemble.forests.forest_growth import (
    Forest,
    ForestRows,
    LeafValues,
    grow_forest,
    predict_forest,
)
from posteriori.ensemble.forests.forest_tails import ForestNoise, learn_noise, learn_sharpness
from posteriori.ensemble.forests.jackknife import jackknife_interval
from posteriori.ensemble.gradient_boosting.left_out_noise import student_log_density
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.class_probabilities import ClassProbabilities
from posteriori.estimators.column_kinds import check_mixed_inputs, learn_level_counts
from posteriori.estimators.estimator_rows import check_rows
from posteriori.estimators.labelled_rows import check_labelled_rows
from posteriori.estimators.parameters import (
    AT_LEAST_ONE,
    POSITIVE,
    Constraint,
    check_parameters,
    one_of,
    or_none,
)
from posteriori.estimators.target_unit import learn_unit
from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.grower.profiles import Sums
from posteriori.inference.trees.growing import bin_rows, class_sums, make_rules, moment_sums
from posteriori.inference.trees.scores import CRITERIA, GINI_OF_TWO
from posteriori.numerics.random import as_generator
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import Array

__all__ = ["RandomForestClassifier", "RandomForestRegressor"]

_CONSTRAINTS = {
    "n_estimators": AT_LEAST_ONE,
    "max_depth": or_none(Constraint("be a whole number >= 0 or None", 0.0, np.inf)),
    "min_samples_leaf": POSITIVE._replace(
        words="be a positive number or 'learned'", choices=("learned",)
    ),
    "max_features": or_none(
        Constraint(
            "be a share in (0, 1], a number of columns, 'sqrt', 'log2' or None",
            0.0,
            np.inf,
            open=True,
            choices=("sqrt", "log2"),
        )
    ),
    "max_bins": or_none(Constraint("be a whole number from 2 to 1000000 or None", 2.0, 1e6)),
}


#: Rows whose counts fit into half a whole number.
_MOST_COUNTED = 2.0**31
#: Trees that tell large leaves from small ones.
_FEW_TREES = 25

#: Large leaves have √N rows over this; fewer than these are as good as small ones.
_LARGE, _FEWEST = 5, 10

#: Standard errors by which large leaves must be better.
_ERRORS = 2.0


class _RandomForest(BaseEstimator):
    """What forests of classes and of numbers share: how they grow."""

    _constraints = _CONSTRAINTS
    _small_leaf = 1.0

    n_estimators: Any
    max_depth: Any
    min_samples_leaf: Any
    max_features: Any
    max_bins: Any
    columns: Any
    random_state: Any
    progress: Any
    n_features_in_: int
    trees_: Trees
    values_: Array
    oob_log_densities_: Array

    def _leaf_weight(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Return the least weight of a leaf's rows; if it is learned, by which unseen rows gain.

        A few trees of small leaves and of leaves of √N/5 rows are compared. Few trees flatter large
        leaves, whence the standard errors that these must be better by.
        """
        if self.min_samples_leaf != "learned":
            return float(self.min_samples_leaf)
        small, large = self._small_leaf, isqrt(len(y)) // _LARGE
        if large < _FEWEST:
            return small
        few = {"n_estimators": min(int(self.n_estimators), _FEW_TREES), "progress": False}
        one, other = (
            clone(self).set_params(min_samples_leaf=leaf, **few).fit(X, y, sample_weight)
            for leaf in (small, large)
        )
        gain = other.oob_log_densities_ - one.oob_log_densities_
        gain = gain[~np.isnan(gain)]
        sure = gain.sum() > _ERRORS * np.sqrt(len(gain)) * gain.std()
        return float(large) if sure else small

    def _grow(self, x: Array, sums: Sums, n_sums: int, criterion: int, leaf_values: Any) -> Forest:
        levels = learn_level_counts(self, x)
        plain = np.ptp(sums.weight) == 0.0 and sums.weight[0] == 1.0
        binned = bin_rows(x, levels, self.max_bins, None if plain else sums.weight)
        rules = make_rules(
            criterion,
            max_depth=self.max_depth,
            min_weight=self.min_samples_leaf_,
            max_features=_column_count(self.max_features, x.shape[1]),
        )
        seeds = as_generator(self.random_state).integers(
            1, 2**31 - 2, size=int(self.n_estimators), dtype=np.int64
        )
        shown = Progress(self.progress, kept="the trees so far")
        grown = grow_forest(ForestRows(x, binned, sums, n_sums), rules, seeds, leaf_values, shown)
        self.trees_, self._places, self.values_ = grown.trees, grown.places, grown.values
        self._seeds = seeds[: len(grown.trees.roots)]
        self.feature_importances_ = grown.gain / (grown.gain.sum() or 1.0)
        return grown

    def _keep_unseen(self, own: Array, seen: Array, weight: Array) -> None:
        """Keep log densities of the rows that some tree has not seen."""
        self.oob_log_densities_ = np.full(len(weight), np.nan)
        self.oob_log_densities_[seen] = own
        self.oob_log_density_ = float(np.average(own, weights=weight[seen])) if len(own) else np.nan

    def _sum_of_leaves(self, x: Array, values: slice = slice(None)) -> Array:
        """Return what the trees say together, (N, V)."""
        return predict_forest(self.trees_, self._places, self.values_[:, values], x)

    def _inputs(self, X: Any) -> Array:
        check_is_fitted(self)
        return check_mixed_inputs(self, X, self.trees_.n_levels)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _column_count(max_features: Any, columns: int) -> int:
    """Return how many columns are tried in a node."""
    if max_features is None:
        return columns
    if isinstance(max_features, str):
        root = np.sqrt if max_features == "sqrt" else np.log2
        return max(int(root(columns)), 1)
    if isinstance(max_features, float) and max_features <= 1.0:
        return max(int(max_features * columns), 1)
    return min(int(max_features), columns)


class RandomForestClassifier(ClassProbabilities, _RandomForest):
    """A forest that votes for classes.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    criterion : {"gini", "entropy", "error"}
    max_depth : int or None
    min_samples_leaf : float or "learned"
        Least weight of a leaf's rows. "learned": in a table of 2500 rows or more √N/5 of them where
        unseen rows of a few such trees are more probable by two standard errors, as with much noise;
        small leaves otherwise.
    max_features : float, int, "sqrt", "log2" or None
        Columns that are tried in a node: a share up to 1.0, a number of them, a root or logarithm of
        their number; None tries all.
    max_bins : int or None
        Columns of more values are put in as many bins by their quantiles; None: none are.
    columns : {"number", "categorical"}, or one for each column
        As of :class:`posteriori.tree.DecisionTreeClassifier`. NaN is missing.
    random_state : int, Generator or None
    progress : bool or None
        Whether to write a line about progress; None does in a terminal when it takes long.

    Attributes
    ----------
    classes_ : (K,)
    oob_log_density_ : float
        Mean ln p of a row's class, by the trees that have not seen the row.
    oob_log_densities_ : (N,)
        Those of all rows; NaN where all trees have seen the row.
    oob_probabilities_ : (N, K)
        Of training rows, by these trees; NaN where all have seen the row.
    feature_importances_ : (D,)
        Share of each column in what splits gained.
    min_samples_leaf_ : float
        As given or learned.
    trees_, values_
        Flat arrays of all trees, and class shares of their leaves over the number of trees.

    Notes
    -----
    Shares of votes become probabilities by two numbers that rows out of bag decide. A row of weight 2
    is drawn like two rows; the trees differ from those of repeated rows by chance only. As many
    threads as ``OMP_NUM_THREADS`` or the processors allow; their number does not change the answer.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(50, random_state=0).fit(X, y)
    >>> model.predict([[5.0, 3.4, 1.5, 0.2]])
    array([0])
    """

    _constraints = {**_CONSTRAINTS, "criterion": one_of("gini", "entropy", "error")}

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_leaf: float | str = 1,
        max_features: Any = "sqrt",
        max_bins: int | None = 255,
        columns: Any = "number",
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_bins = max_bins
        self.columns = columns
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array_like (N, D)
            NaN is missing.
        y : array_like (N,)
            Labels.
        sample_weight : array_like (N,), optional
            Frequencies.
        """
        check_parameters(self)
        rows = check_labelled_rows(self, X, y, sample_weight, gaps=True)
        self.classes_, k = rows.classes, len(rows.classes)
        weight = np.ones(len(rows.x)) if rows.frequency is None else rows.frequency
        self.min_samples_leaf_ = self._leaf_weight(X, y, sample_weight)
        sums = class_sums(rows.codes, weight)
        if k == 2 and self.criterion == "gini" and weight.sum() < _MOST_COUNTED:
            grown = self._grow(rows.x, sums, k, GINI_OF_TWO, _two_class_values)
        else:
            grown = self._grow(rows.x, sums, k, CRITERIA[self.criterion], _class_values)
        seen = grown.n_unseen > 0
        shares = grown.unseen[seen] / grown.n_unseen[seen, None]
        votes = float(grown.n_unseen.mean())
        self._sharpness = learn_sharpness(shares, rows.codes[seen], weight[seen], votes)
        self.oob_probabilities_ = np.full(grown.unseen.shape, np.nan)
        p = self.oob_probabilities_[seen] = self._sharpness.probabilities(shares)
        self._keep_unseen(np.log(p[np.arange(len(p)), rows.codes[seen]]), seen, weight)
        return self

    def predict_proba(self, X: Any) -> Array:
        shares = self._sum_of_leaves(self._inputs(X))
        return self._sharpness.probabilities(shares)


class RandomForestRegressor(RegressorMixin, _RandomForest):
    """A forest that averages numbers.

    Parameters
    ----------
    n_estimators, max_depth, min_samples_leaf, max_features, max_bins, columns, random_state, progress
        As of :class:`RandomForestClassifier`.

    Attributes
    ----------
    oob_log_density_, oob_log_densities_ : float, (N,)
        Mean ln p of a row's target, by the trees that have not seen the row; and those of all rows.
    oob_prediction_ : (N,)
        Of training rows, by these trees; NaN where all have seen the row.
    feature_importances_ : (D,)
    min_samples_leaf_ : float
    trees_, values_
        Flat arrays of all trees; mean and mean square of their leaves, over the number of trees, in a
        unit of its own.

    Notes
    -----
    ``predict_dist`` is Student's t around the average, whose scale follows the spread of the leaves'
    targets; width and tails are those of errors out of bag. ``predict_interval`` needs no such family.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(50, random_state=0).fit(X, y)
    >>> low, high = model.predict_interval(X[:3], 0.9)
    >>> bool((low < model.predict(X[:3])).all() and (model.predict(X[:3]) < high).all())
    True
    """

    _small_leaf = 5.0

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = None,
        min_samples_leaf: float | str = 5,
        max_features: Any = 1 / 3,
        max_bins: int | None = 255,
        columns: Any = "number",
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_bins = max_bins
        self.columns = columns
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array_like (N, D)
            NaN is missing.
        y : array_like (N,)
        sample_weight : array_like (N,), optional
            Frequencies.
        """
        check_parameters(self)
        rows = check_rows(self, X, y, sample_weight=sample_weight, gaps=True)
        weight = np.ones(len(rows.x)) if rows.frequency is None else rows.frequency
        self._unit = unit = learn_unit(rows.y, weight)
        self.min_samples_leaf_ = self._leaf_weight(X, y, sample_weight)
        sums = moment_sums((rows.y - unit.centre) / unit.size, weight)
        grown = self._grow(rows.x, sums, 3, CRITERIA["variance"], _number_values)
        seen = grown.n_unseen > 0
        mean, square = (grown.unseen[seen] / grown.n_unseen[seen, None]).T
        residual, variance = sums.y[seen] - mean, np.maximum(square - mean**2, 0.0)
        self._noise = _noise_of(residual, variance, weight[seen])
        self.oob_prediction_ = np.full(len(rows.y), np.nan)
        self.oob_prediction_[seen] = unit.centre + unit.size * mean
        self._residuals = np.abs(rows.y - self.oob_prediction_)
        self._frequency = weight
        scale = self._noise.scale(variance)
        own = student_log_density(residual / scale, self._noise.tail) - np.log(scale * unit.size)
        self._keep_unseen(own, seen, weight)
        return self

    def predict(self, X: Any) -> Array:
        """Return the average of the trees, (N,)."""
        mean = self._sum_of_leaves(self._inputs(X), slice(1))[:, 0]
        return self._unit.centre + self._unit.size * mean

    def predict_dist(self, X: Any) -> Any:
        """Return the predictive distribution of each row, a batch of Student's t or normal ones."""
        mean, square = self._sum_of_leaves(self._inputs(X)).T
        unit, noise = self._unit, self._noise
        least = np.spacing(abs(unit.centre)) + np.finfo(np.float64).tiny  # targets may be equal
        scale = np.maximum(unit.size * noise.scale(np.maximum(square - mean**2, 0.0)), least)
        centre = unit.centre + unit.size * mean
        if noise.tail == 0.0:
            return Normal(centre, variance=scale**2)
        return StudentT(1.0 / noise.tail, centre, scale=scale)

    def predict_interval(self, X: Any, mass: float = 0.9) -> tuple[Array, Array]:
        """Return intervals by the jackknife+ after the bootstrap, lower and upper ends (N,).

        Rows that are exchangeable with the training rows are covered with a probability of at least
        2·mass − 1, and typically of about ``mass``, whatever their distribution. The theorem asks for
        a number of trees that is drawn from a binomial distribution beforehand; a fixed one, as here,
        changes little.

        Parameters
        ----------
        X : array_like (N, D)
        mass : float
            In (0, 1).
        """
        x = self._inputs(X)
        if not 0.0 < mass < 1.0:
            raise ValueError(f"mass must lie between 0 and 1, got {mass!r}")
        leaves = self.trees_.find_leaves(x)
        own = len(self._seeds) * self.values_[self._places[leaves], 0]
        predictions = self._unit.centre + self._unit.size * own
        return jackknife_interval(predictions, self._residuals, self._frequency, self._seeds, mass)


def _noise_of(residual: Array, variance: Array, weight: Array) -> ForestNoise:
    """Return the noise; a unit one where no row was left out by any tree."""
    return (
        learn_noise(residual, variance, weight)
        if len(residual)
        else ForestNoise(1.0, 1.0, 1.0, 0.0)
    )


def _class_values(sums: Array) -> LeafValues:
    return LeafValues.shared(sums / sums.sum(axis=1, keepdims=True))


def _two_class_values(sums: Array) -> LeafValues:
    second = sums[:, 1] / sums[:, 0]
    return LeafValues.shared(np.stack([(sums[:, 0] - sums[:, 1]) / sums[:, 0], second], axis=1))


def _number_values(sums: Array) -> LeafValues:
    return LeafValues.each(sums[:, 1:] / sums[:, :1])
