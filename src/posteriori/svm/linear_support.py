r"""Linear machines for many rows, dense or sparse: no kernel, one pass costs O(N D).

.. math:: \min_{w, b}\ \tfrac12|w|^2 + C\textstyle\sum_n\ell(1 - t_n(w\cdot x_n + b)), \qquad
   \ell(s) = \max(0, s)\ \text{ or }\ \max(0, s)^2.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.labelled_rows import LabelledRows, check_labelled_rows
from posteriori.estimators.parameters import POSITIVE, WHOLE, check_parameters, one_of
from posteriori.inference.margins.dual_coordinates import (
    LinearMachine,
    LinearRows,
    solve_linear_machine,
)
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_squares
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["LinearSupportVectorClassifier"]


class LinearSupportVectorClassifier(ClassifierMixin, BaseEstimator):
    """Linear support vector machine for classes, by descent along the dual's coordinates.

    Parameters
    ----------
    C : float
        Price of slack.
    loss : {"hinge", "squared hinge"}
    intercept : {"free", "penalised"}
        Whether b counts in the penalty, as the weight of a column of ones. That is faster and moves the plane
        towards the origin: centre columns that are far from 0.
    tol : float
        Largest difference of projected gradients that remains.
    max_iter : int
        Passes over the rows at most; one over a part of them, when the others are settled, counts as that part.
    random_state : int, Generator or None
        For the order of rows.

    Attributes
    ----------
    classes_ : (K,)
    coef_ : (1, D), or (K, D) of more than two classes
        Each class stands against the rest.
    intercept_ : (1,) or (K,)
    dual_ : (N,)
        a, of two classes.
    primal_objective_, dual_objective_ : float
        Of two classes.
    n_iter_ : int
        Passes of the machine that took most.

    Examples
    --------
    >>> machine = LinearSupportVectorClassifier(tol=1e-8, random_state=0).fit(
    ...     [[-1.0], [1.0]], ["no", "yes"]
    ... )
    >>> machine.coef_.round(6), bool(abs(machine.intercept_[0]) < 1e-6)
    (array([[1.]]), True)
    """

    _constraints = {
        "C": POSITIVE,
        "loss": one_of("hinge", "squared hinge"),
        "intercept": one_of("free", "penalised"),
        "tol": POSITIVE,
        "max_iter": WHOLE,
    }

    def __init__(
        self,
        C: float = 1.0,
        loss: str = "hinge",
        intercept: str = "free",
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.intercept = intercept
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Divide the classes.

        Parameters
        ----------
        X : array_like or sparse matrix (N, D)
        y : array_like (N,)
        sample_weight : array_like (N,), optional
            How often rows count; those with 0 are left out.
        """
        check_parameters(self)
        rows, x = self._check(X, y, sample_weight)
        values: Any = x
        require_squares("X", values.data if issparse(x) else values)
        weight = np.ones(len(rows.codes)) if rows.frequency is None else rows.frequency
        sides = _sides(rows)
        rng = as_generator(self.random_state)
        x, center = self._about_center(x)
        machines = [
            solve_linear_machine(
                LinearRows.of(x),
                t,
                self.C * weight,
                squared=self.loss == "squared hinge",
                penalised=self.intercept == "penalised",
                tol=float(self.tol),
                max_iter=int(self.max_iter),
                rng=rng,
            )
            for t in sides
        ]
        self.classes_ = rows.classes
        self.coef_ = np.array([machine.weights for machine in machines])
        self.intercept_ = np.array([machine.bias for machine in machines]) - self.coef_ @ center
        self.n_iter_ = max(machine.n_iter for machine in machines)
        if len(machines) == 1:
            self._describe(machines[0], x, sides[0], self.C * weight)
        if not all(machine.converged for machine in machines):
            warnings.warn(
                f"LinearSupportVectorClassifier did not reach tol={self.tol:g} in {self.n_iter_} passes; scale the "
                "columns alike, lower C, raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def decision_function(self, X: Any) -> Array:
        """Return w·x + b of rows: (N,) for two classes, (N, K) for more."""
        check_is_fitted(self)
        x = _check_sparse(self, X, reset=False) if issparse(X) else check_inputs(self, X)
        scores = x @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """Return the class of the largest score; of two, the second where w·x + b >= 0."""
        scores = self.decision_function(X)
        best = (scores >= 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def _about_center(self, x: Any) -> tuple[Any, Array]:
        """Return rows about a point, and that point: their mean where they are dense and b is free, else 0.

        There another origin moves b alone, and the descent finds its way among columns far from 0.
        """
        if issparse(x) or self.intercept == "penalised":
            return x, np.zeros(x.shape[1])
        center = x.mean(axis=0)
        return x - center, center

    def _check(self, X: Any, y: Any, sample_weight: Any) -> tuple[LabelledRows, Any]:
        """Return the labels and the rows that count, dense or compressed."""
        if not issparse(X):
            rows = check_labelled_rows(self, X, y, sample_weight)
            return rows, rows.x
        x = _check_sparse(self, X, reset=True)
        numbered = np.arange(x.shape[0])[:, None]
        rows = check_labelled_rows(clone(self), numbered, y, sample_weight)
        return rows, x[rows.x[:, 0].astype(np.intp)]

    def _describe(self, machine: LinearMachine, x: Any, t: Array, cost: Array) -> None:
        """Set what two classes have."""
        self.dual_ = machine.dual
        slack = np.maximum(0.0, 1.0 - t * (x @ machine.weights + machine.bias))
        squared = self.loss == "squared hinge"
        square = float(machine.weights @ machine.weights)
        if self.intercept == "penalised":
            square += machine.bias**2
        paid = float(cost @ (slack**2 if squared else slack))
        self.primal_objective_ = 0.5 * square + paid
        bend = float(machine.dual**2 @ (0.25 / cost)) if squared else 0.0
        self.dual_objective_ = float(machine.dual.sum()) - 0.5 * square - bend


def _sides(rows: LabelledRows) -> list[Array]:
    """Return t = ±1 of each machine: the second class of two, or each class against the rest."""
    chosen = [1] if len(rows.classes) == 2 else range(len(rows.classes))
    return [np.where(rows.codes == k, 1.0, -1.0) for k in chosen]


def _check_sparse(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return finite rows in CSR form."""
    return csr_array(
        validate_data(estimator, X, reset=reset, accept_sparse="csr", dtype=np.float64)
    )
