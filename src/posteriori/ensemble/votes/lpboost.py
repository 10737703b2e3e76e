r"""The vote with the largest least margin, by linear programming.

.. math:: \max_{w, \rho, \xi}\ \rho - \frac1{\nu N}\sum_n \xi_n \quad\text{with}\quad
   y_n\sum_j w_j h_j(x_n) \ge \rho - \xi_n,\ \ \sum_j w_j = 1,\ \ w, \xi \ge 0

over all stumps :math:`h_j`. Its dual has a weight for each row:

.. math:: \min_{d, \gamma}\ \gamma \quad\text{with}\quad
   \sum_n d_n y_n h_j(x_n) \le \gamma,\ \ \sum_n d_n = 1,\ \ 0 \le d_n \le \tfrac1{\nu N}.

Both have the same value. Stumps are added one at a time, each the one of largest edge under d, until none
has a larger edge than γ (column generation). Without ν all ξ are 0 and d has no cap.

References: A. Demiriz, K. Bennett & J. Shawe-Taylor, "Linear programming boosting via column
generation", 2002; G. Rätsch, B. Schölkopf, A. Smola, S. Mika, T. Onoda & K.-R. Müller, "Robust ensemble
learning", 2000.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from posteriori.ensemble.votes.adaboost import AT_LEAST_TWO_BINS, threads
from posteriori.ensemble.votes.weak_learners import WeakTrees
from posteriori.ensemble.votes.weighted_majority import WeightedMajority
from posteriori.estimators.class_probabilities import LabelledLearner
from posteriori.estimators.column_kinds import learn_level_counts
from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.estimators.parameters import AT_LEAST_ONE, POSITIVE, Constraint
from posteriori.numerics.progress import Progress
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["LPBoostClassifier"]

#: Weights of members below this are none: the tolerance of the solver.
_NO_WEIGHT = 1e-9


class LPBoostClassifier(LabelledLearner, WeightedMajority):
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
        Most stumps.

    Attributes
    ----------
    classes_ : (2,)
    margin_ : float
        ρ; the least margin of the training rows where ``nu`` is None.
    objective_ : float
        Value of the linear program, which no weights w exceed.
    duality_gap_ : float
        By how much the largest edge under the weights of rows exceeds it: the objective of all stumps
        is at most that much larger.
    row_weights_ : (N,)
        d; above 0 for support patterns.
    estimator_weights_ : (T,)
        w, which sum to 1.
    objective_trace_, edge_trace_ : (I,)
        γ and the largest edge, iteration by iteration.
    n_iter_ : int
        I.
    members_ : TreeMembers

    Notes
    -----
    Each iteration is a pass over the rows and a linear program in N unknowns, which HiGHS solves.
    What is missing (NaN) goes where it helps. ``sample_weight`` is frequency. Ctrl-C keeps the stumps
    so far.

    Examples
    --------
    >>> x = np.arange(10.0)[:, None]
    >>> y = np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, -1])
    >>> model = LPBoostClassifier().fit(x, y)
    >>> round(model.margin_, 6)  # a fifth for each cut and one for the constant: ± ± ± must alternate
    0.25
    """

    _gaps = True
    _constraints = {
        "nu": Constraint("be None or above 0 and at most 1", 0.0, 1.0, open=True, none=True),
        "max_bins": AT_LEAST_TWO_BINS,
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
            found = self._generate(weak, rows)
        self._n_levels, self.classes_ = levels, rows.classes
        kept = [t for t, w in enumerate(found.weights) if w > _NO_WEIGHT]
        self.members_ = weak.gather([found.members[t] for t in kept])
        self.estimator_weights_ = found.weights[kept] / found.weights[kept].sum()
        self._keep(found)

    def _generate(self, weak: WeakTrees, rows: LabelledRows) -> _Columns:
        frequency = np.ones(len(rows.x)) if rows.frequency is None else rows.frequency
        share = frequency / frequency.sum()
        cap = None if self.nu is None else share / float(self.nu)  # 1/(νN), for each repetition
        sign = np.where(rows.codes == 1, 1.0, -1.0)
        found = _Columns([], [], share, np.zeros(0), -1.0, -1.0, [], [])
        progress = Progress(None, kept="the stumps so far")
        try:
            for _ in range(int(self.max_iter)):
                found = _add_column(found, weak, sign, cap)
                progress.say(f"{len(found.members)} stumps: margin {found.objective:.6f}")
                if found.gap <= self.tol:
                    break
        except KeyboardInterrupt:
            if not found.members:
                raise
        finally:
            progress.close()
        return found
'''
