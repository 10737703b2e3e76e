r"""Trees that are summed over: every partition up to a depth has a prior and an evidence.

.. math:: p(y\mid X) = \sum_T p(T\mid X)\prod_{m\in\text{leaves}(T)}\int\prod_{n\in m}p(y_n\mid\theta)\,
          p(\theta)\,d\theta

The prior of the structure comes from X alone: a node above the largest depth whose rows lie in several
bins of some column is divided with probability p, in one of these columns, at one of the cuts between
the bins that its rows lie in; columns and cuts are equally probable.

Reference: H. Chipman, E. George & R. McCulloch, "Bayesian CART model search", JASA 93, 1998, who sample
trees. Here they are added up.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.joint.normal_gamma import NormalGamma
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.estimators.approximate_posterior import ApproximatePosterior, Unweighed
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.class_probabilities import ClassProbabilities
from posteriori.estimators.column_kinds import check_mixed_inputs, learn_level_counts
from posteriori.estimators.estimator_rows import check_counts, check_rows, column_names
from posteriori.estimators.labelled_rows import check_labelled_rows
from posteriori.estimators.parameters import POSITIVE, Constraint, check_parameters, one_of
from posteriori.estimators.target_unit import TargetUnit
from posteriori.inference.trees.all_trees import BUDGET, AllTrees, steps_of_all_trees, sum_all_trees
from posteriori.inference.trees.asked_columns import AskedColumns, Sketch, ask_columns, draw_trees
from posteriori.inference.trees.box_kernels import BoxRules
from posteriori.inference.trees.tree_prunings import TreePrunings, sum_prunings
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.tree.bayesian_leaves import (
    Leaves,
    leaves_of_classes,
    leaves_of_counts,
    leaves_of_numbers,
    predict_normal_gamma,
)
from posteriori.tree.labelled_tree import LabelledTree
from posteriori.tree.leaf_beliefs import class_shares, predict_counts
from posteriori.tree.leaf_mixture import LeafMixture, average_over_leaves

__all__ = ["BayesianTreeClassifier", "BayesianTreeRegressor"]

_CONSTRAINTS = {
    "max_depth": Constraint("be a whole number from 0 to 60", 0.0, 60.0),
    "max_bins": Constraint("be a whole number from 2 to 60000", 2.0, 6e4),
    "split_probability": Constraint(
        "be a number between 0 and 1", np.nextafter(0.0, 1.0), np.nextafter(1.0, 0.0)
    ),
    "search": one_of("auto", "exact", "greedy"),
}


class _BayesianTree(ApproximatePosterior, BaseEstimator):
    """What sums over trees of classes and of numbers share."""

    _constraints = _CONSTRAINTS

    max_depth: Any
    max_bins: Any
    split_probability: Any
    search: Any
    columns: Any
    n_features_in_: int
    trees_: AllTrees | TreePrunings
    search_: str
    log_evidence_: LogEvidence
    column_probability_: Array

    @abstractmethod
    def _words(self, sums: Array) -> dict[str, Any]:
        """Return what nodes say: weight, value, spread and classes of a :class:`LabelledTree`."""

    def _add_up(
        self, x: Array, frequency: Array | None, leaves: Leaves, fingerprint: Fingerprint
    ) -> None:
        """Add up the trees of rows."""
        levels = learn_level_counts(self, x)
        columns = ask_columns(x, levels, int(self.max_bins), frequency)
        self.search_ = self._choose_search(columns, len(x))
        p = float(self.split_probability)
        rules = BoxRules(leaves.criterion, leaves.prior, math.log(p), math.log1p(-p))
        depth = int(self.max_depth)
        if self.search_ == "exact":
            self.trees_ = sum_all_trees(columns, x, leaves.by_row, rules, depth)
        else:
            width = leaves.by_row.shape[1]
            self.trees_ = sum_prunings(columns, x, leaves.sums, width, rules, depth)
        found = self.trees_.log_evidence
        self.column_probability_ = -np.expm1(np.minimum(self.trees_.log_without - found, 0.0))
        self.best_tree_probability_ = math.exp(min(self.trees_.log_best - found, 0.0))
        self.log_evidence_ = LogEvidence(
            found + leaves.log_constant,
            kind="exact" if self.search_ == "exact" else "bound",
            of="y|X",
            fingerprint=fingerprint,
        )

    def _approximate_belief(self) -> Unweighed:
        words = (
            "trees that the greedy search did not meet are left out: intervals may be too narrow"
        )
        return Unweighed(words, (words,))

    def _choose_search(self, columns: AskedColumns, rows: int) -> str:
        steps = steps_of_all_trees(columns, rows, int(self.max_depth))
        if self.search == "exact" and steps > BUDGET:
            raise ValueError(
                f"search='exact' would take about {steps:.1e} steps for max_depth={self.max_depth}, "
                f"max_bins={self.max_bins}, {len(columns.source)} columns and {rows} rows; at most "
                f"{BUDGET:.0e} are allowed: choose fewer bins, a smaller depth, or search='greedy'"
            )
        if self.search == "auto":
            return "exact" if steps <= BUDGET else "greedy"
        return str(self.search)

    @property
    def best_tree_(self) -> LabelledTree:
        """The most probable of the trees: prints its rules, :func:`posteriori.plot` draws it."""
        check_is_fitted(self)
        return self._label(self.trees_.best())

    def sample_trees(self, n: int = 1, rng: Seed = None) -> list[LabelledTree]:
        """Draw trees from their posterior distribution.

        Parameters
        ----------
        n : int
        rng : Generator, int or None
        """
        check_is_fitted(self)
        if n < 0 or n != int(n):
            raise ValueError(f"n must be a whole number >= 0, got {n!r}")
        return [self._label(one) for one in self.trees_.sample(int(n), as_generator(rng))]

    def _label(self, sketch: Sketch) -> LabelledTree:
        columns = self.trees_.columns
        trees, sums = draw_trees(columns, [sketch])
        names = tuple(name.replace("column ", "x") for name in column_names(self))
        return LabelledTree(trees, names, **self._words(sums), gaps=columns.with_gaps)

    def _places(self, X: Any) -> Any:
        check_is_fitted(self)
        x = check_mixed_inputs(self, X, self.trees_.columns.n_levels)
        return self.trees_.places(x)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class BayesianTreeClassifier(_BayesianTree, ClassProbabilities):
    """All trees of classes up to a depth, weighed by how probable they are.

    Parameters
    ----------
    max_depth : int
        Largest number of questions to a leaf.
    max_bins : int
        G: a value x lies in bin min(⌊G(l + u)/2N⌋, G − 1), where l rows are below x and u not above.
    split_probability : float
        Prior probability that a node which can be divided is.
    concentration : float
        Pseudo-count of each class in a leaf.
    search : {"auto", "exact", "greedy"}
        "exact" adds up every tree. "greedy" grows one tree by log evidence as deep as it goes and adds up
        its prunings: a part of the sum, so that its logarithm is a lower bound. "auto" is "exact"
        where that takes no more than 5·10⁹ steps, about ten seconds; more are refused.
    columns : {"number", "categorical"}, or one for each column
        Categories are codes 0, 1, …, with an indicator for each level. NaN is missing: it lies in the bin
        of the median, and a column with gaps has an indicator of them. New levels are gaps.

    Attributes
    ----------
    classes_ : (K,)
    log_evidence_ : LogEvidence
        ln p(y | X), "exact" or a "bound".
    column_probability_ : (D,)
        That the tree asks for each column.
    best_tree_ : LabelledTree
        The most probable tree; prints its rules.
    best_tree_probability_ : float
    search_ : {"exact", "greedy"}
    trees_ : AllTrees or TreePrunings
        The sums. After "greedy", probabilities are those among the prunings.

    Notes
    -----
    A box of bins is added up once, however it is reached: for depth d, about (2E)^(d−1)/(d−1)! boxes
    with E cuts in all columns, each in O(N D + E). Predictions leave out the least probable leaves,
    with less than 1e-10 of the probability in all.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(20.0)[:, None]
    >>> model = BayesianTreeClassifier(max_depth=2).fit(x, x[:, 0] > 8)
    >>> print(model.best_tree_)
    if x0 <= 8.5:
        False (95%, 9 rows)
    else:
        True (96%, 11 rows)
    >>> model.predict_proba([[2.0], [9.0]]).round(3)
    array([[0.937, 0.063],
           [0.124, 0.876]])
    """

    _constraints = {**_CONSTRAINTS, "concentration": POSITIVE}

    def __init__(
        self,
        *,
        max_depth: int = 3,
        max_bins: int = 16,
        split_probability: float = 0.5,
        concentration: float = 0.5,
        search: str = "auto",
        columns: Any = "number",
    ) -> None:
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.split_probability = split_probability
        self.concentration = concentration
        self.search = search
        self.columns = columns

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add up the trees.

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
        weight = np.ones(len(rows.x)) if rows.frequency is None else rows.frequency
        leaves = leaves_of_classes(rows.codes, len(rows.classes), weight, self.concentration)
        self._add_up(rows.x, rows.frequency, leaves, rows.fingerprint)
        self.classes_ = rows.classes
        return self

    def predict_proba(self, X: Any) -> Array:
        places = self._places(X)
        shares = class_shares(self.concentration, self.trees_.leaves.sums)
        return average_over_leaves(self.trees_, places, shares)

    def _words(self, sums: Array) -> dict[str, Any]:
        shares = class_shares(self.concentration, sums)
        best = shares.argmax(axis=1)
        spread = shares[np.arange(len(best)), best]
        return {
            "weight": sums.sum(axis=1),
            "value": best,
            "spread": spread,
            "classes": self.classes_,
        }


class BayesianTreeRegressor(RegressorMixin, _BayesianTree):
    """All trees of numbers or counts up to a depth, weighed by how probable they are.

    Parameters
    ----------
    family : {"normal", "poisson"}
        Of the rows of a leaf: normal with unknown mean and precision, or Poisson with unknown rate.
    max_depth, max_bins, split_probability, search, columns
        As of :class:`BayesianTreeClassifier`.
    prior : NormalGamma or Gamma, optional
        Belief about each leaf; by default NormalGamma(ȳ, ½, 2, s²) with the mean squared deviation s²
        of all targets (ȳ² if they are equal), and Gamma(1, rate = 1/ȳ).

    Attributes
    ----------
    prior_ : NormalGamma or Gamma
    log_evidence_, column_probability_, best_tree_, best_tree_probability_, search_, trees_
        As of :class:`BayesianTreeClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = BayesianTreeRegressor(max_depth=3, max_bins=8).fit(X, y)
    >>> model.log_evidence_
    LogEvidence(-2436.762017, kind="exact", of="y|X")
    >>> {name: round(p, 3) for name, p in zip(X, model.column_probability_.tolist()) if p > 0.1}
    {'bmi': 1.0, 'bp': 0.997, 's3': 0.945, 's5': 1.0}
    """

    _constraints = {**_CONSTRAINTS, "family": one_of("normal", "poisson")}

    prior_: NormalGamma | Gamma

    def __init__(
        self,
        family: str = "normal",
        *,
        max_depth: int = 3,
        max_bins: int = 16,
        split_probability: float = 0.5,
        prior: Any = None,
        search: str = "auto",
        columns: Any = "number",
    ) -> None:
        self.family = family
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.split_probability = split_probability
        self.prior = prior
        self.search = search
        self.columns = columns

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add up the trees.

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
        self._check_prior()
        rows = check_rows(self, X, y, sample_weight=sample_weight, gaps=True)
        weight = np.ones(len(rows.x)) if rows.frequency is None else rows.frequency
        self._unit = TargetUnit(0.0, 1.0)
        if self.family == "poisson":
            check_counts(self, rows.y)
            leaves, self.prior_ = leaves_of_counts(rows.y, weight, self.prior)
        else:
            leaves, self.prior_, self._unit = leaves_of_numbers(rows.y, weight, self.prior)
        self._leaf_prior = leaves.prior
        self._add_up(rows.x, rows.frequency, leaves, rows.fingerprint)
        return self

    def _check_prior(self) -> None:
        family = NormalGamma if self.family == "normal" else Gamma
        if self.prior is not None and not isinstance(self.prior, family):
            raise TypeError(
                f"prior must be a {family.__name__} for family={self.family!r}, got {self.prior!r}"
            )
        if self.prior is not None and self.prior.batch_shape:
            raise ValueError(f"prior must be one belief for all leaves, got {self.prior!r}")

    def predict_dist(self, X: Any) -> LeafMixture:
        """Return the predictive distribution of each row, a batch: a mixture over all trees."""
        places = self._places(X)
        return LeafMixture(self.trees_, places, self._predict_leaves(self.trees_.leaves.sums))

    def predict(self, X: Any) -> Array:
        """Return the mean of each row, (N,)."""
        return self.predict_dist(X).mean

    def _predict_leaves(self, sums: Array) -> Any:
        if self.family == "poisson":
            return predict_counts(self._leaf_prior, sums)
        return predict_normal_gamma(self._leaf_prior, sums, self._unit)

    def _words(self, sums: Array) -> dict[str, Any]:
        said = self._predict_leaves(sums)
        return {"weight": sums[:, 0], "value": said.mean, "spread": np.sqrt(said.variance)}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.family == "poisson"
        return tags
