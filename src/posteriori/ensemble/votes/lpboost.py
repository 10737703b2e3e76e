r"""The vote with the largest least margin, by linear programming (:mod:`margin_program`).

With ν the program pays :math:`\frac1{\nu N}` for each unit by which a row falls short of the margin, so no
row weighs more than that.

References: A. Demiriz, K. Bennett & J. Shawe-Taylor, "Linear programming boosting via column
generation", 2002; G. Rätsch, B. Schölkopf, A. Smola, S. Mika, T. Onoda & K.-R. Müller, "Robust ensemble
learning", 2000.
"""

from __future__ import annotations

import warnings
from itertools import islice
from typing import Any

import numpy as np

from posteriori.ensemble.votes.adaboost import TWO_BINS, threads
from posteriori.ensemble.votes.margin_program import Stage, generate_columns
from posteriori.ensemble.votes.weak_learners import WeakTrees
from posteriori.ensemble.votes.weighted_majority import WeightedMajority
from posteriori.estimators.column_kinds import learn_level_counts
from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.estimators.parameters import AT_LEAST_ONE, POSITIVE, Constraint
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["LPBoostClassifier"]

#: Weights of members and rows below this are none: the solver leaves such.
_NO_WEIGHT = 1e-9


class LPBoostClassifier(WeightedMajority):
    r"""The weighted majority of stumps whose least margin is largest, for two classes.

    Parameters
    ----------
    nu : float, optional
        ν above 0, at most 1: about the share of rows that may lie within the margin, as no row weighs
        more than 1/(νN). None is a hard margin, which one wrong label can spoil.
    max_bins : int or None
        Of each column; None cuts between any two values.
    columns : "number", "categorical", or one of these for each column
        Categories are codes 0, 1, ….
    tol : float
        The duality gap that is small enough.
    max_iter : int
        Most programs; each adds a stump of every column that has one of use.

    Attributes
    ----------
    classes_ : (2,)
    margin_ : float
        ρ; the least margin of the training rows where ``nu`` is None.
    objective_ : float
        Value of the linear program; ρ where ``nu`` is None.
    duality_gap_ : float
        By how much the largest edge under the weights of rows exceeds it: over all stumps the value
        is at most that much larger.
    row_weights_ : (N,)
        d.
    support_ : (S,)
        Support patterns: rows whose weight is above 0.
    estimator_weights_ : (T,)
        w, which sum to 1.
    objective_trace_, bound_trace_ : (I,)
        The value over the stumps so far, and what it is at most over all, iteration by iteration.
    n_iter_ : int
        I.
    members_ : TreeMembers

    Notes
    -----
    Each iteration is a pass over the rows and a linear program of N unknowns, which HiGHS solves.
    What is missing (NaN) goes where it helps. ``sample_weight`` is frequency. Ctrl-C keeps the stumps
    so far.

    Examples
    --------
    >>> x = np.arange(10.0)[:, None]
    >>> y = np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, -1])
    >>> model = LPBoostClassifier().fit(x, y)
    >>> round(model.margin_, 4), model.estimator_weights_.round(4)  # three cuts, of one weight
    (0.3333, array([0.3333, 0.3333, 0.3333]))
    """

    _constraints = {
        "nu": Constraint("be None or above 0 and at most 1", 0.0, 1.0, open=True, none=True),
        "max_bins": TWO_BINS,
        "tol": POSITIVE,
        "max_iter": AT_LEAST_ONE,
    }

    def __init__(
        self,
        nu: float | None = None,
        *,
        max_bins: int | None = 255,
        columns: Any = "number",
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.nu = nu
        self.max_bins = max_bins
        self.columns = columns
        self.tol = tol
        self.max_iter = max_iter

    def _learn(self, rows: LabelledRows) -> None:
        if len(rows.classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"LPBoostClassifier got {len(rows.classes)} classes; AdaBoostClassifier takes more"
            )
        levels = learn_level_counts(self, rows.x)
        with threads() as pool:
            weak = WeakTrees(rows, levels, max_bins=self.max_bins, pool=pool)
            stages, is_stopped = self._generate(weak, rows)
        self._n_levels, self.classes_ = levels, rows.classes
        last = stages[-1]
        weights = last.program.weights
        kept = np.flatnonzero(weights > _NO_WEIGHT)
        self.members_ = weak.gather([last.members[t] for t in kept])
        self.estimator_weights_ = weights[kept] / weights[kept].sum()
        self._keep(stages, is_stopped)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _generate(self, weak: WeakTrees, rows: LabelledRows) -> tuple[list[Stage], bool]:
        """Return the stages, and whether they were stopped by Ctrl-C."""
        frequency = np.ones(len(rows.x)) if rows.frequency is None else rows.frequency
        share = frequency / frequency.sum()
        cap = None if self.nu is None else share / float(self.nu)  # 1/(νN), of each repetition
        sign = np.where(rows.codes == 1, 1.0, -1.0)
        steps = generate_columns(weak.learn_several, sign, share, cap, self.tol)
        stages, is_stopped = list[Stage](), False
        progress = Progress(None, kept="the stumps so far")
        try:
            for stage in islice(steps, int(self.max_iter)):
                stages.append(stage)
                progress.say(f"{len(stage.members)} stumps: margin {stage.program.objective:.6f}")
        except KeyboardInterrupt:
            if not stages:
                raise
            is_stopped = True
        finally:
            progress.close()
        return stages, is_stopped

    def _keep(self, stages: list[Stage], is_stopped: bool) -> None:
        last = stages[-1]
        self.margin_, self.objective_ = last.program.margin, last.program.objective
        self.duality_gap_, self.row_weights_ = last.gap, last.program.row_weights
        self.support_ = np.flatnonzero(self.row_weights_ > _NO_WEIGHT)
        self.objective_trace_ = np.array([stage.program.objective for stage in stages])
        self.bound_trace_ = np.array([stage.bound for stage in stages])
        self.n_iter_ = len(stages)
        if self.duality_gap_ > self.tol:
            ended = "was stopped" if is_stopped else "ended"
            told = f"{ended} after {self.n_iter_} iterations with a duality gap of {self.duality_gap_:.3g}"
            remedy = "fit again for the best margin" if is_stopped else "raise max_iter or tol"
        elif self.objective_ <= self.tol:
            told = "found no margin: the best vote is a draw"
            remedy = (
                f"stumps cannot tell the rows apart: {'set' if self.nu is None else 'raise'} nu"
            )
        else:
            return
        warnings.warn(f"LPBoostClassifier {told}; {remedy}", ConvergenceWarning, stacklevel=5)
