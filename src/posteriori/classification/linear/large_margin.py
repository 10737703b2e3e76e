r"""The perceptron of large margin: mistakes count from a distance on, and wide margins are cheap.

A perceptron that asks for a margin M under ‖w‖ = 1 and pays 1/M for it minimises, in units in which
M = 1,

.. math:: \frac1N\sum_n\max\{0,\ 1 - t_n(w^\top x_n + b)\} + \lambda\|w\|^2,\qquad t_n = \pm1:

the objective of a support vector machine with :math:`C = 1/(2\lambda N)`. Steps along subgradients of
single rows, of length 1/(2λ(t + t₀)), and the mean of all weights, later ones weighing more, lead there.

Reference: S. Shalev-Shwartz, Y. Singer, N. Srebro & A. Cotter, "Pegasos: primal estimated sub-gradient
solver for SVM", 2011; S. Lacoste-Julien, M. Schmidt & F. Bach, "A simpler approach to obtaining an O(1/t)
convergence rate for the projected stochastic subgradient method", 2012.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import linear_boundary
from posteriori.classification.linear.perceptron_kernel import run_margin_epoch
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.labelled_rows import check_labelled_rows, require_two_classes
from posteriori.estimators.parameters import AT_LEAST_ONE, POSITIVE, check_parameters
from posteriori.mathematics.geometry import Hyperplane
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["LargeMarginPerceptron"]

#: Passes before which the objective is not asked whether it has settled.
_FEWEST_PASSES = 8


class LargeMarginPerceptron(ClassifierMixin, BaseEstimator):
    """A linear classifier of two classes that keeps rows at a distance from its boundary.

    Parameters
    ----------
    penalty : float
        λ > 0 of λ‖w‖²: the smaller, the narrower the margin and the fewer rows within it.
    tol : float
        It ends when the second half of all passes has changed the objective by less; it is 1 at w = 0.
    max_iter : int
        Most passes over the rows.
    random_state : Generator, int or None
        For the order of rows in each pass.

    Attributes
    ----------
    classes_ : (2,)
    coef_ : (1, D)
    intercept_ : (1,)
    margin_ : float
        1/‖w‖, the distance from the boundary at which rows cost nothing.
    objective_ : (I,)
        After each pass.
    n_iter_ : int
    converged_ : bool

    Notes
    -----
    Subgradients find the objective to about ``tol``, and no certificate: a support vector machine solves
    the same problem exactly. Columns should be of similar size.

    Examples
    --------
    >>> X, y = [[-3.0], [-1.0], [1.0], [3.0]], [0, 0, 1, 1]
    >>> model = LargeMarginPerceptron(penalty=0.05, tol=1e-3, random_state=0).fit(X, y)
    >>> abs(model.margin_ - 1.0) < 0.05, model.predict([[-0.5], [0.5]])
    (True, array([0, 1]))
    """

    _constraints = {"penalty": POSITIVE, "tol": POSITIVE, "max_iter": AT_LEAST_ONE}

    def __init__(
        self,
        penalty: float = 0.01,
        *,
        tol: float = 1e-3,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.penalty = penalty
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Step along subgradients until the objective settles.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
            Labels of two classes.
        """
        check_parameters(self)
        rows = check_labelled_rows(self, X, y)
        require_two_classes(self, rows)
        center = rows.x.mean(axis=0)
        weights = self._descend(rows.x - center, 2.0 * rows.codes - 1.0)
        self.classes_ = rows.classes
        self.coef_ = weights[None, :-1]
        self.intercept_ = weights[-1:] - self.coef_ @ center
        length = float(np.linalg.norm(self.coef_))
        self.margin_ = 1.0 / length if length > 0 else np.inf
        if not self.converged_:
            warnings.warn(
                f"the objective still moves after {self.n_iter_} passes; raise max_iter or tol, or scale "
                "the columns",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def decision_function(self, X: Any) -> Array:
        """Return w·x + b of rows, (N,)."""
        check_is_fitted(self)
        return check_inputs(self, X) @ self.coef_[0] + self.intercept_[0]

    def predict(self, X: Any) -> Any:
        """Return the second class where w·x + b > 0, else the first."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp)]

    def boundary(self, first: Any = None, second: Any = None) -> Hyperplane:
        """Return the hyperplane between the classes, ``second`` on the positive side.

        They need not be named.
        """
        return linear_boundary(self, first, second)

    def _descend(self, x: Array, sign: Array) -> Array:
        """Return weights (D + 1,), the bias last."""
        rng = as_generator(self.random_state)
        scale = float(np.sqrt((x**2).sum(axis=1).mean())) or 1.0
        before = scale**2 / (2.0 * self.penalty)  # t₀
        weights, mean = np.zeros((2, x.shape[1] + 1))
        steps, trace = np.zeros(1), [self._objective(x, sign, mean)]
        for _ in range(int(self.max_iter)):
            order = rng.permutation(len(x))
            run_margin_epoch(x, sign, order, float(self.penalty), before, steps, weights, mean)
            trace.append(self._objective(x, sign, mean))
            # errors fall as 1/t, so what is left is about what the second half of the passes gained;
            # before t₀ steps do not shorten
            moved = np.ptp(trace[len(trace) // 2 :])
            self.converged_ = bool(moved <= self.tol and steps[0] > 2.0 * before)
            if len(trace) > _FEWEST_PASSES and self.converged_:
                break
        self.objective_, self.n_iter_ = np.array(trace[1:]), len(trace) - 1
        return mean

    def _objective(self, x: Array, sign: Array, weights: Array) -> float:
        margins = sign * (x @ weights[:-1] + weights[-1])
        hinge = np.maximum(0.0, 1.0 - margins).mean()
        return float(hinge + self.penalty * weights[:-1] @ weights[:-1])
