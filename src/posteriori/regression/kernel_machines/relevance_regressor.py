r"""The relevance vector machine: a few rows, with a kernel each, that the evidence wants.

.. math:: t_n = b + \sum_m w_mk(x_n, x_m) + \varepsilon_n,\qquad w_m\sim N(0, 1/\alpha_m),

with an :math:`\alpha_m` of highest evidence for every row. Most are infinite, and so their rows are not
needed for predictions.

Reference: M. Tipping, "Sparse Bayesian learning and the relevance vector machine", 2001.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.approximate_posterior import ApproximatePosterior
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs, check_rows
from posteriori.estimators.kernel_choice import choose_kernel
from posteriori.numerics.types import Array
from posteriori.regression.bayesian.bayesian_regression import BayesianLinearRegressor

__all__ = ["RelevanceVectorRegressor"]


class RelevanceVectorRegressor(ApproximatePosterior, RegressorMixin, BaseEstimator):
    """Bayesian regression on kernels around rows, of which the evidence keeps a few.

    Parameters
    ----------
    kernel : Kernel or None
        Any function of two rows serves. None is a Gaussian kernel that suits the spread of the rows,
        ℓ² = D var(X)/2.

    Attributes
    ----------
    kernel_ : Kernel
    relevance_ : (M,)
        Numbers of the rows that are kept.
    relevance_vectors_ : (M, D)
        They.
    dual_coef_ : (M,)
        Posterior means of their weights.
    intercept_ : float
    posterior_ : MvNormal
        Of the weights, the intercept last.
    noise_variance_ : float
    log_evidence_ : LogEvidence
        At the chosen precisions, of kind "type-II".

    Notes
    -----
    Costs O(N³). Far from all rows that are kept a Gaussian kernel is 0, and the predictive variance
    falls to that of the noise: a Gaussian process is wider there.

    Examples
    --------
    >>> x = np.linspace(-6, 6, 60)[:, None]
    >>> y = np.sinc(x[:, 0] / 3) + 0.02 * np.random.default_rng(0).normal(size=60)
    >>> model = RelevanceVectorRegressor().fit(x, y)
    >>> len(model.relevance_) < 15, model.score(x, y) > 0.99
    (True, True)
    """

    def __init__(self, kernel: Any = None) -> None:
        self.kernel = kernel

    def fit(self, X: Any, y: Any) -> Self:
        """Choose a precision for the weight of every row.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
        """
        rows = check_rows(self, X, y)
        kernel = choose_kernel(self.kernel, rows.x)
        learned = BayesianLinearRegressor(hyperparameters="ard").fit(kernel(rows.x, rows.x), rows.y)
        kept = np.flatnonzero(np.isfinite(learned.prior_precision_))
        self._belief = learned._belief.on_columns(kept)
        self.kernel_, self.relevance_, self.relevance_vectors_ = kernel, kept, rows.x[kept]
        self.dual_coef_, self.intercept_ = self._belief.coef, self._belief.intercept
        self.posterior_ = self._belief.posterior()
        self.noise_variance_ = learned.noise_variance_
        self.log_evidence_, self.n_iter_ = learned.log_evidence_, learned.n_iter_
        return self

    def predict(self, X: Any) -> Array:
        """Return the expected targets, (N,)."""
        kernels = self._kernels(X)
        return self._belief.values(kernels)[:, 0]

    def predict_dist(self, X: Any, *, noise: bool = True) -> Any:
        """Return the normal distributions of targets; without ``noise`` those of the function."""
        kernels = self._kernels(X)
        return self._belief.predict(kernels, 1.0 if noise else 0.0)

    def _kernels(self, X: Any) -> Array:
        """Return kernels around the rows that are kept, (N, M)."""
        check_is_fitted(self)
        return self.kernel_(check_inputs(self, X), self.relevance_vectors_)
