r"""What most rows are like: the plane farthest from the origin with almost all of them beyond it.

.. math:: \min\ \tfrac12|w|^2 - \rho + \frac1{\nu N}\textstyle\sum_n\xi_n, \qquad w\cdot\phi(x_n)\ge\rho - \xi_n,\quad \xi\ge 0.

Reference: B. Schölkopf & others, "Estimating the support of a high-dimensional distribution", Neural
computation 13, 2001.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _num_samples

from posteriori.estimators.estimator_rows import check_rows
from posteriori.estimators.parameters import POSITIVE, Constraint, check_parameters
from posteriori.inference.margins.kernel_rows import rows_of
from posteriori.inference.margins.margin_solver import solve_margin_program
from posteriori.numerics.types import Array
from posteriori.svm.dual_programs import certify, one_class_program
from posteriori.svm.support_machine import SupportMachine

__all__ = ["OneClassSupportVector"]


class OneClassSupportVector(OutlierMixin, SupportMachine):
    """Support vector machine for novelty: learns where rows are, and finds those that lie elsewhere.

    Parameters
    ----------
    kernel : Kernel, "precomputed" or None
        As in :class:`~posteriori.svm.SupportVectorClassifier`.
    nu : float
        In (0, 1]: a bound on the share of rows found odd from above, and on that of support vectors from below.
    tol, cache_size : float
        As in :class:`~posteriori.svm.SupportVectorClassifier`; the gap is that of a with Σa = νN.

    Attributes
    ----------
    kernel_ : Kernel or "precomputed"
    dual_ : (N,)
        a in [0, 1], with sum νN.
    support_ : (M,)
        Rows with a ≠ 0, of those whose weight is not 0.
    n_support_ : int
    support_vectors_ : (M, D)
    offset_ : float
        ρ, in the unit of a.
    certificate_ : KKTReport
        Of the dual, minimised.
    n_iter_ : int

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> usual = OneClassSupportVector(nu=0.1).fit(rows)
    >>> usual.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    _constraints = {
        "nu": Constraint("be in (0, 1]", 0.0, 1.0, open=True),
        "tol": POSITIVE,
        "cache_size": POSITIVE,
    }

    def __init__(
        self, kernel: Any = None, nu: float = 0.5, tol: float = 1e-3, cache_size: float = 200
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.tol = tol
        self.cache_size = cache_size

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn where rows are.

        Parameters
        ----------
        X : array_like (N, D)
        y : ignored
        sample_weight : array_like (N,), optional
            How often rows count; those with 0 are left out.
        """
        check_parameters(self)
        rows = check_rows(self, X, np.zeros(_num_samples(X)), sample_weight=sample_weight)
        self._choose_kernel(rows.x, rows.frequency)
        cost = np.ones(len(rows.x)) if rows.frequency is None else rows.frequency
        program = one_class_program(cost, float(self.nu) * cost.sum())
        solution = solve_margin_program(
            program,
            rows_of(self.kernel_, rows.x),
            tol=float(self.tol),
            cache_size=float(self.cache_size),
        )
        self.dual_ = solution.u
        self.offset_ = float(solution.level[0])
        self._keep(rows.x, solution.u[:, None], np.array([-self.offset_]))
        self.n_support_ = len(self.support_)
        self.n_iter_ = solution.n_iter
        self.certificate_ = certify(program, solution)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return w·φ(x) − ρ of rows, (N,): negative where they are odd."""
        return self._scores(X)[:, 0]

    def score_samples(self, X: Any) -> Array:
        """Return w·φ(x) of rows, (N,)."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Array:
        """Return 1 for rows like those learned from, −1 for others."""
        return np.where(self.decision_function(X) >= 0, 1, -1)
