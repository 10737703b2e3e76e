r"""AdaBoost: a weighted majority of weak classifiers, each learned where the others fail.

.. math:: \alpha_t = \tfrac12\ln\frac{1-\varepsilon_t}{\varepsilon_t}, \qquad
   d_n^{t+1} = d_n^t\,e^{-\alpha_t y_n h_t(x_n)}/Z_t, \qquad Z_t = 2\sqrt{\varepsilon_t(1-\varepsilon_t)},

with the weighted error :math:`\varepsilon_t` of :math:`h_t`. Under the new weights its error is ½.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from posteriori.ensemble.votes.round_traces import Traced, trace_rounds
from posteriori.ensemble.votes.rounds import StepRule, run_rounds
from posteriori.ensemble.votes.weak_learners import (
    Hypothesis,
    WeakEstimators,
    WeakLearner,
    WeakTrees,
)
from posteriori.ensemble.votes.weighted_majority import WeightedMajority
from posteriori.estimators.column_kinds import learn_level_counts
from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.estimators.parameters import AT_LEAST_ONE, NOT_NEGATIVE, Constraint, one_of, or_none
from posteriori.inference.trees.scores import CLASS_CRITERIA
from posteriori.numerics.random import as_generator
from posteriori.numerics.threads import thread_count, without_blas_threads
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["AdaBoostClassifier"]

#: Two bins at least: one cut.
TWO_BINS = Constraint("be None or at least 2", 2.0, np.inf, none=True)

#: How often rows are drawn anew where what is learned from them is no better than chance.
_DRAWS = 10


class AdaBoostClassifier(WeightedMajority):
    r"""AdaBoost with stumps, small trees, or any classifier.

    The rounds are steps down the exponential loss :math:`G = \sum_n e^{-y_n f(x_n)}`, and end early at
    ε = 0 and where no weak classifier is better than chance (ε ≥ ½; 1 − 1/K for K classes, which vote
    by SAMME). It states no probabilities: the votes are those of a majority, not of a belief
    (:class:`sklearn.calibration.CalibratedClassifierCV` learns some from rows left out).

    Parameters
    ----------
    n_estimators : int
        Most rounds.
    criterion : {"error", "gini", "entropy"}
        What a cut of a tree lowers.
    max_depth : int or None
        Of the trees; 1 are stumps.
    max_bins : int or None
        Of each column; None cuts between any two values.
    step : {"adaboost", "arc-gv"}
        Arc-GV steps less far, by :math:`\frac12\ln\frac{1+\rho}{1-\rho}` with the least margin ρ so far
        where that is positive: the margin then comes to the largest that there is
        (:class:`LPBoostClassifier` computes it).
    weighting : {"reweight", "resample"}
        Whether weak learners are given weights, or rows drawn by them.
    soft_margin : float
        C of AdaBoost_Reg: the margin of a row may fall short by :math:`C\mu_n^2`, where
        :math:`\mu_n = \sum_t\alpha_t d_n^t/\|\alpha\|_1` is the mean weight that it had, so that rows
        which are always hard count less. 0 is AdaBoost. As weights are about 1/N, C matters from about
        a hundredth of N² on.
    estimator : classifier, optional
        Votes instead of trees; it takes ``sample_weight``, or rows are drawn.
    columns : "number", "categorical", or one of these for each column
        Categories are codes 0, 1, …; trees only.
    random_state : Generator, int or None
        Draws rows with ``weighting="resample"``; seeds the copies of ``estimator``.

    Attributes
    ----------
    classes_ : (K,)
    estimator_weights_ : (T,)
        α; scikit-learn has twice that. At ε = 0 about 18 instead of ∞.
    estimator_errors_ : (T,)
        ε, under the weights that the weak classifier was learned with.
    loss_trace_ : (T,)
        G/N after each round: :math:`\prod_t Z_t`, at least the share of rows that are wrong.
    norm_trace_ : (T,)
        :math:`\|\alpha\|_1`.
    margin_trace_ : (T,)
        The least margin, :func:`margins`.
    support_trace_ : (T,)
        How many rows the weights are spread over, :math:`1/\sum_n d_n^2`.
    row_weights_ : (N,)
        d after the last round, proportional to :math:`e^{-\|\alpha\|_1\rho_n}` of two classes.
    support_ : (S,)
        Support patterns: rows whose weight is above the even share.
    n_iter_ : int
        T.
    members_ : TreeMembers or EstimatorMembers

    Notes
    -----
    O(NDT). What is missing (NaN) goes where it helps. ``sample_weight`` is frequency: as rows that are
    repeated. Ctrl-C keeps the rounds so far.

    Examples
    --------
    >>> x = np.arange(10.0)[:, None]
    >>> y = np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, -1])
    >>> model = AdaBoostClassifier(3).fit(x, y)
    >>> model.estimator_errors_.round(4), model.estimator_weights_.round(4)
    (array([0.3   , 0.2143, 0.1818]), array([0.4236, 0.6496, 0.752 ]))
    >>> model.score(x, y)
    1.0
    """

    _constraints = {
        "n_estimators": AT_LEAST_ONE,
        "criterion": one_of(*CLASS_CRITERIA),
        "max_depth": or_none(AT_LEAST_ONE),
        "max_bins": TWO_BINS,
        "step": one_of("adaboost", "arc-gv"),
        "weighting": one_of("reweight", "resample"),
        "soft_margin": NOT_NEGATIVE,
    }

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        criterion: str = "error",
        max_depth: int | None = 1,
        max_bins: int | None = 255,
        step: str = "adaboost",
        weighting: str = "reweight",
        soft_margin: float = 0.0,
        estimator: Any = None,
        columns: Any = "number",
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.step = step
        self.weighting = weighting
        self.soft_margin = soft_margin
        self.estimator = estimator
        self.columns = columns
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags

    def _learn(self, rows: LabelledRows) -> None:
        if self.step == "arc-gv" and self.soft_margin > 0.0:
            raise ValueError(
                f"soft_margin must be 0 with step='arc-gv', which seeks the hard one, got "
                f"{self.soft_margin!r}"
            )
        levels, rng = learn_level_counts(self, rows.x), as_generator(self.random_state)
        trees_only = (
            self.estimator is None
        )  # whose products are short: threads of BLAS wait for more than they do
        with without_blas_threads() if trees_only else nullcontext(), threads() as pool:
            weak = self._weak_learner(rows, levels, rng, pool)
            traced = self._boost(weak, rows, rng)
        self._n_levels, self.classes_ = levels, rows.classes
        self.members_ = weak.gather(traced.members)
        self._keep(traced)

    def _weak_learner(
        self,
        rows: LabelledRows,
        levels: IntArray,
        rng: np.random.Generator,
        pool: ThreadPoolExecutor | None,
    ) -> WeakLearner:
        if self.estimator is not None:
            return WeakEstimators(rows, self.estimator, self.weighting == "resample", rng)
        return WeakTrees(
            rows,
            levels,
            criterion=self.criterion,
            max_depth=self.max_depth,
            max_bins=self.max_bins,
            pool=pool,
        )

    def _boost(self, weak: WeakLearner, rows: LabelledRows, rng: np.random.Generator) -> Traced:
        k, resampled = len(rows.classes), self.weighting == "resample"
        frequency = np.ones(len(rows.x)) if rows.frequency is None else rows.frequency
        total = float(frequency.sum())

        def learn(d: Array) -> Hypothesis:
            drawn = rng.multinomial(max(round(total), 1), d).astype(float) if resampled else None
            return weak.learn(total * d if drawn is None else drawn)

        rule = StepRule(k, self.step == "arc-gv", float(self.soft_margin))
        codes = rows.codes.astype(np.int8) if k < 128 else rows.codes  # less to compare
        rounds = run_rounds(learn, codes, frequency, rule, _DRAWS if resampled else 1)
        return trace_rounds(rounds, codes, k, int(self.n_estimators))

    def _keep(self, traced: Traced) -> None:
        self.estimator_weights_, self.estimator_errors_ = traced.numbers[:, 0], traced.numbers[:, 1]
        self.loss_trace_, self.norm_trace_ = traced.numbers[:, 2], traced.numbers[:, 3]
        self.margin_trace_, self.support_trace_ = traced.numbers[:, 4], traced.numbers[:, 5]
        self.n_iter_ = len(traced.numbers)
        state = traced.state
        self.row_weights_ = state.weights
        self.support_ = np.flatnonzero(state.single * state.frequency.sum() > 1.0)
        if self.estimator_weights_[0] == 0.0:
            warnings.warn(
                f"no weak classifier of AdaBoostClassifier is better than chance: the first has the "
                f"error {self.estimator_errors_[0]:.4g}, and all rows are given one class; a larger "
                "max_depth sees columns together",
                ConvergenceWarning,
                stacklevel=5,
            )


def threads() -> AbstractContextManager[ThreadPoolExecutor | None]:
    """Return a pool of threads, or none where there is one processor."""
    count = thread_count()
    return ThreadPoolExecutor(count) if count > 1 else nullcontext()
