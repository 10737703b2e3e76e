r"""The relevance vector machine of two classes: a few rows, with a kernel each, that the evidence wants.

.. math:: p(t = 1\mid x) = \sigma\Bigl(b + \sum_mw_mk(x, x_m)\Bigr),\qquad w_m\sim N(0, 1/\alpha_m).

Reference: M. Tipping, "Sparse Bayesian learning and the relevance vector machine", 2001; C. Bishop &
M. Tipping, "Variational relevance vector machines", 2000.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import ProbabilisticClassifier
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.approximate_posterior import ApproximatePosterior
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.kernel_choice import choose_kernel
from posteriori.estimators.labelled_rows import check_labelled_rows, require_two_classes
from posteriori.estimators.parameters import AT_LEAST_ONE, POSITIVE, check_parameters
from posteriori.inference.predictors.class_curves import logistic_mean
from posteriori.inference.sparsity.relevance_bound import raise_relevance_bound
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["RelevanceVectorClassifier"]


class RelevanceVectorClassifier(ApproximatePosterior, ProbabilisticClassifier):
    """Two classes by kernels around rows, of which the evidence keeps a few.

    Parameters
    ----------
    kernel : Kernel or None
        Any function of two rows serves. None is a Gaussian kernel that suits the spread of the rows,
        ℓ² = D var(X)/2.
    tol : float
        The ascent ends when a step gains less in the bound of the log evidence.
    max_iter : int

    Attributes
    ----------
    classes_ : (2,)
    kernel_ : Kernel
    relevance_ : (M,)
        Numbers of the rows that are kept.
    relevance_vectors_ : (M, D)
        They.
    dual_coef_ : (M,)
        Posterior means of their weights.
    intercept_ : float
        0 where the evidence does not want one.
    posterior_ : MvNormal
        Of the weights, the intercept last if there is one; a variational one.
    log_evidence_ : LogEvidence
        Its bound at the chosen precisions, of kind "type-II".
    n_iter_ : int

    Notes
    -----
    Costs O(N³) a step. Far from all rows that are kept a Gaussian kernel is 0, and so the intercept
    decides with great confidence: a Gaussian process is less sure there. For more classes there is
    scikit-learn's ``OneVsRestClassifier``.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(60, noise=0.05, factor=0.4, random_state=0)
    >>> model = RelevanceVectorClassifier().fit(X, y)
    >>> model.score(X, y), len(model.relevance_) < 10
    (1.0, True)
    """

    _constraints = {"tol": POSITIVE, "max_iter": AT_LEAST_ONE}

    def __init__(self, kernel: Any = None, *, tol: float = 1e-4, max_iter: int = 500) -> None:
        self.kernel = kernel
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Choose a precision for the weight of every row.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
            Labels of two classes.
        """
        check_parameters(self)
        rows = check_labelled_rows(self, X, y)
        require_two_classes(self, rows)
        kernel = choose_kernel(self.kernel, rows.x)
        columns = np.column_stack([kernel(rows.x, rows.x), np.ones(len(rows.x))])
        found = raise_relevance_bound(
            columns, 2.0 * rows.codes - 1.0, tol=self.tol, max_iter=int(self.max_iter)
        )
        if not found.converged:
            warnings.warn(
                f"the bound still rises after {found.n_iter} steps; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._constant = bool(len(found.kept) and found.kept[-1] == len(rows.x))
        count = len(found.kept) - self._constant
        self.classes_, self.kernel_, self.n_iter_ = rows.classes, kernel, found.n_iter
        self.relevance_ = found.kept[:count]
        self.relevance_vectors_ = rows.x[self.relevance_]
        self.dual_coef_ = found.mean[:count]
        self.intercept_ = float(found.mean[-1]) if self._constant else 0.0
        self.posterior_ = MvNormal(found.mean, cov=found.cov)
        self.log_evidence_ = LogEvidence(
            found.bound, kind="type-II", of="y|X", fingerprint=rows.fingerprint
        )
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the log odds of the second class, (N,)."""
        log_p = self.predict_log_proba(X)
        return log_p[:, 1] - log_p[:, 0]

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of both classes, means over the belief about the weights, (N, 2)."""
        columns = self._columns(X)
        mean, cov = columns @ self.posterior_.mean, self.posterior_.cov
        variance = np.einsum("nj,jk,nk->n", columns, cov, columns, optimize=True)
        return np.column_stack([logistic_mean(-mean, variance), logistic_mean(mean, variance)])

    def _columns(self, X: Any) -> Array:
        """Return kernels around the rows that are kept, and the constant if it is, (N, M)."""
        check_is_fitted(self)
        x = check_inputs(self, X)
        kernels = self.kernel_(x, self.relevance_vectors_)
        return np.column_stack([kernels, np.ones(len(x))]) if self._constant else kernels
