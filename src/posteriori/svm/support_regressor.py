r"""Curves with a tube around them in which errors are free.

.. math:: \min\ \tfrac12|w|^2 + C\textstyle\sum_n\max(0, |y_n - f(x_n)| - \epsilon), \qquad f(x) = w\cdot\phi(x) + b.

Rows inside the tube have no weight. With ν the tube is as wide as to leave about that share of rows outside.

Reference: A. Smola & B. Schölkopf, "A tutorial on support vector regression", Statistics and computing 14, 2004.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from posteriori.estimators.estimator_rows import check_rows
from posteriori.estimators.parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    Constraint,
    check_parameters,
    or_none,
)
from posteriori.inference.margins.kernel_rows import rows_of
from posteriori.inference.margins.margin_solver import (
    MarginProgram,
    MarginSolution,
    solve_margin_program,
)
from posteriori.numerics.types import Array
from posteriori.svm.dual_programs import certify, regressor_program, tube_sum_program
from posteriori.svm.support_machine import SupportMachine

__all__ = ["SupportVectorRegressor"]


class SupportVectorRegressor(RegressorMixin, SupportMachine):
    """Support vector machine for numbers.

    Parameters
    ----------
    kernel : Kernel, "precomputed" or None
        As in :class:`~posteriori.svm.SupportVectorClassifier`.
    C : float
        Price of what lies outside the tube, finite.
    epsilon : float
        Half the width of the tube, >= 0, in the unit of y.
    nu : float, optional
        In (0, 1], in place of ``epsilon``: a bound on the share of rows outside the tube from above, and on
        that of support vectors from below.
    tol, cache_size : float
        As in :class:`~posteriori.svm.SupportVectorClassifier`.

    Attributes
    ----------
    kernel_ : Kernel or "precomputed"
    dual_ : (N,)
        a, positive for rows above the tube and negative below.
    support_ : (M,)
        Rows with a ≠ 0, of those whose weight is not 0.
    n_support_ : int
    support_vectors_ : (M, D)
    intercept_ : (1,)
    coef_ : (1, D)
        Of the kernel ``Linear()``.
    epsilon_ : float
        Half the width of the tube.
    slack_ : (N,)
        How far rows lie outside the tube.
    primal_objective_, dual_objective_ : float
    certificate_ : KKTReport
        Of the dual, minimised, in 2N variables: those of rows above the tube, then those below.
    n_iter_ : int

    Examples
    --------
    >>> from posteriori.kernels import Linear
    >>> line = SupportVectorRegressor(Linear(), C=100.0, epsilon=0.5).fit(
    ...     [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]
    ... )
    >>> line.coef_.round(3), line.intercept_.round(3)  # the flattest line through the tube
    (array([[0.5]]), array([0.5]))
    """

    _constraints = {
        "C": POSITIVE,
        "epsilon": NOT_NEGATIVE,
        "nu": or_none(Constraint("be in (0, 1]", 0.0, 1.0, open=True)),
        "tol": POSITIVE,
        "cache_size": POSITIVE,
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        epsilon: float = 0.1,
        nu: float | None = None,
        tol: float = 1e-3,
        cache_size: float = 200,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.nu = nu
        self.tol = tol
        self.cache_size = cache_size

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Lay the tube.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
        sample_weight : array_like (N,), optional
            How often rows count; those with 0 are left out.
        """
        check_parameters(self)
        rows = check_rows(self, X, y, sample_weight=sample_weight)
        self._choose_kernel(rows.x, rows.frequency)
        cost = self.C * (np.ones(len(rows.y)) if rows.frequency is None else rows.frequency)
        x, center = self._about_center(rows.x)
        program, solution = self._solve(x, rows.y, cost)
        self.dual_ = solution.u[: len(rows.y)] + solution.u[len(rows.y) :]
        self._keep(rows.x, self.dual_[:, None], -solution.level, center)
        self.n_support_ = len(self.support_)
        self.n_iter_ = solution.n_iter
        report = certify(program, solution)
        self.certificate_ = report._replace(equality_multipliers=-self.intercept_)
        products = (solution.gradient - program.linear)[: len(rows.y)]
        square = float(self.dual_ @ products)
        error = np.abs(rows.y - products + solution.level[0])
        self.slack_ = np.maximum(0.0, error - self.epsilon_)
        self.primal_objective_ = 0.5 * square + float(cost @ self.slack_)
        self.dual_objective_ = -self.certificate_.value
        return self

    def predict(self, X: Any) -> Array:
        """Return f(x) of rows, (N,)."""
        return self._scores(X)[:, 0]

    def _solve(self, x: Array, y: Array, cost: Array) -> tuple[MarginProgram, MarginSolution]:
        """Return the program of the tube and its solution; ``epsilon_`` is set."""
        source = rows_of(self.kernel_, x)
        options: dict[str, Any] = {"tol": float(self.tol), "cache_size": float(self.cache_size)}
        if self.nu is None:
            self.epsilon_ = float(self.epsilon)
            program = regressor_program(y, cost, self.epsilon_)
            return program, solve_margin_program(program, source, **options)
        sums = tube_sum_program(y, cost, 0.5 * self.nu * cost.sum())
        found = solve_margin_program(sums, source, **options)
        above, below = found.level  # −b − ε and −b + ε
        self.epsilon_ = max(0.5 * float(below - above), 0.0)
        program = regressor_program(y, cost, self.epsilon_)
        gradient = found.gradient + program.linear - sums.linear
        return program, found._replace(gradient=gradient, level=np.array([0.5 * (above + below)]))
