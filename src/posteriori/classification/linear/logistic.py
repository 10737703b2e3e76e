r"""Logistic regression by maximum likelihood, of two or more classes.

.. math:: p(y = k \mid x) = \frac{e^{b_k + x\cdot w_k}}{\sum_j e^{b_j + x\cdot w_j}}

with one predictor for two classes (that of the second; the first has 0), and K that sum to 0 for
more. The log likelihood is concave; Newton's method is iteratively reweighted least squares.

References: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 4.3; A. Albert &
J. Anderson, "On the existence of maximum likelihood estimates in logistic regression models", 1984.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import (
    ProbabilisticClassifier,
    linear_boundary,
)
from posteriori.classification.linear.linear_mode import (
    class_weights,
    density_mode,
    logistic_density,
    n_predictors,
)
from posteriori.classification.linear.unbounded_likelihood import separating_direction
from posteriori.estimators.class_probabilities import LabelledLearner
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.estimators.parameters import (
    AT_LEAST_ONE,
    NOT_NEGATIVE,
    POSITIVE,
)
from posteriori.estimators.standardized import Standardization, standardize
from posteriori.inference.predictors.mode_finding import Mode
from posteriori.inference.predictors.softmax_averages import softmax_with_log_sum
from posteriori.mathematics.geometry import Hyperplane
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["LogisticRegression"]

#: Precision per row of standardised weights that the data leave free; it moves no digit of others.
_GAUGE = 1e-12

#: Precision of standardised weights where the classes are separable.
_SEPARABLE = 1e-6


#: Curvature per row of standardised weights below which the likelihood may have no maximum.
_FLAT = 1e-4


class LogisticRegression(LabelledLearner, ProbabilisticClassifier):
    """Logistic (softmax) regression of highest likelihood, or with a ridge.

    Parameters
    ----------
    ridge : float
        λ >= 0, the penalty ½λ|w|² on the weights in the units of the columns; the intercept is
        never shrunk. scikit-learn's ``C`` is 1/λ.
    fit_intercept : bool
    class_weight : mapping from labels to numbers > 0, "balanced" or None
        How often rows of a class count. "balanced" gives all classes the same total.
    tol : float
        The ascent ends when a Newton step is shorter than this many standard deviations.
    max_iter : int
        Most passes over the data.

    Attributes
    ----------
    classes_ : (K,)
    coef_ : (1, D) or (K, D)
        Weights; for two classes those of the second.
    intercept_ : (1,) or (K,)
    log_likelihood_ : float
        ln p(y | X) at the fit.
    bic_ : float
        −2 ln p + k ln N, with k counting weights (effective ones under ridge) and intercepts.
    separable_ : bool
        Whether some direction tells classes apart without error, so that the likelihood has no
        maximum. The answer is then that of a small ridge on standardised columns, and a warning
        says so.
    n_iter_ : int
    n_features_in_, feature_names_in_

    Notes
    -----
    Costs O(N D² K²) for each Hessian, of which long tables of two classes need one or two, and
    O(N D K) for each gradient.

    Examples
    --------
    >>> x = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = LogisticRegression().fit(x, ["no", "yes", "no", "yes"])
    >>> model.predict([[0.0], [4.0]])
    array(['no', 'yes'], dtype='<U3')
    >>> model.predict_proba([[1.5]]).round(6)
    array([[0.5, 0.5]])
    """

    _constraints = {"ridge": NOT_NEGATIVE, "tol": POSITIVE, "max_iter": AT_LEAST_ONE}

    def __init__(
        self,
        ridge: float = 0.0,
        *,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-8,
        max_iter: int = 200,
    ) -> None:
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def _learn(self, rows: LabelledRows) -> None:
        how, design = standardize(rows.x, rows.frequency, intercept=self.fit_intercept)
        precision = self._precision(how, rows)
        mode = self._mode(design, rows, precision, curvature=self.ridge > 0)
        separable = self.ridge == 0 and _separable(design, rows, mode)
        if separable:
            precision += self._slopes(how, rows) * _SEPARABLE
            mode = self._mode(design, rows, precision, curvature=True)
        self._keep(mode, precision, how, rows)
        self.separable_ = separable
        self._warn(mode)

    def decision_function(self, X: Any) -> Array:
        """Return the log odds of the second class (N,), or the predictors of all classes (N, K)."""
        check_is_fitted(self)
        eta = check_inputs(self, X) @ self.coef_.T + self.intercept_
        return eta[:, 0] if len(self.classes_) == 2 else eta

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes, (N, K)."""
        eta = self.decision_function(X)
        if eta.ndim == 1:
            return np.column_stack([special.expit(-eta), special.expit(eta)])
        return softmax_with_log_sum(eta)[0]

    def predict_log_proba(self, X: Any) -> Array:
        """Return the log probabilities of the classes, (N, K)."""
        eta = self.decision_function(X)
        if eta.ndim == 1:
            return np.column_stack([special.log_expit(-eta), special.log_expit(eta)])
        return eta - softmax_with_log_sum(eta)[1][:, None]

    def boundary(self, first: Any = None, second: Any = None) -> Hyperplane:
        """Return where two classes are equally probable, ``second`` on the positive side.

        Its value is the log odds. The classes need not be named where there are only two.
        """
        return linear_boundary(self, first, second)

    def _slopes(self, how: Standardization, rows: LabelledRows) -> Array:
        """Return 1 for the weight of a column and 0 for an intercept."""
        one = np.append(np.zeros(int(self.fit_intercept)), np.ones(len(how.scale)))
        return np.tile(one, n_predictors(len(rows.classes)))

    def _precision(self, how: Standardization, rows: LabelledRows) -> Array:
        """Return λ/s² for the weights of standardised columns, and a trace of one for all."""
        slopes = self._slopes(how, rows)
        scale = np.append(np.ones(int(self.fit_intercept)), how.scale)
        ridge = slopes * float(self.ridge) / np.tile(scale, len(slopes) // len(scale)) ** 2
        return ridge + _GAUGE * rows.counts.sum()

    def _mode(
        self, design: Array, rows: LabelledRows, precision: Array, *, curvature: bool
    ) -> Mode:
        """Return the mode; without a ridge nobody asks for the curvature there."""
        density = logistic_density(design, rows, precision, np.zeros(len(precision)))
        return density_mode(
            density, tol=self.tol, max_iter=self.max_iter, curvature_at_mode=curvature
        )

    def _keep(self, mode: Mode, precision: Array, how: Standardization, rows: LabelledRows) -> None:
        self.classes_ = rows.classes
        weights = class_weights(mode.point, len(rows.classes)) @ how.turn().T
        d = len(how.scale)
        self.coef_ = np.ascontiguousarray(weights[:, :d])
        self.intercept_ = weights[:, d] if self.fit_intercept else np.zeros(len(weights))
        self.log_likelihood_ = mode.value + 0.5 * float(precision @ mode.point**2)
        root = triangular_inverse(mode.factor)
        size = len(precision) - float(precision @ (root**2).sum(axis=0))
        self.bic_ = -2.0 * self.log_likelihood_ + size * float(np.log(rows.counts.sum()))
        self.n_iter_ = mode.n_iter

    def _warn(self, mode: Mode) -> None:
        if self.separable_:
            warnings.warn(
                "some direction tells the classes apart without error, so the likelihood has no "
                f"maximum; the weights are those of a ridge of {_SEPARABLE:g} on standardised "
                "columns: pass ridge > 0, or use BayesianLogisticRegression",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif not mode.converged:
            warnings.warn(
                f"LogisticRegression did not converge in {mode.n_iter} passes: the Newton step is "
                f"{mode.gradient_norm:.2g} standard deviations; raise max_iter or ridge",
                ConvergenceWarning,
                stacklevel=3,
            )


def _separable(design: Array, rows: LabelledRows, mode: Mode) -> bool:
    """Tell whether the likelihood rises for ever; it is then flat along some direction."""
    flattest = float(np.linalg.eigvalsh(mode.precision)[0])
    if flattest > _FLAT * rows.counts.sum():
        return False
    return separating_direction(design, rows, mode.point) is not None
