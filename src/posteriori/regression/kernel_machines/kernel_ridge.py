r"""Kernel ridge regression: ridge regression in feature space, by scalar products alone.

.. math:: f(x) = \sum_n a_n k(x, x_n),\qquad a = (K + \lambda I)^{-1}t.

With features it is :math:`w = \Phi^\top a = (\Phi^\top\Phi + \lambda I)^{-1}\Phi^\top t`, and with
:math:`\lambda = \sigma^2` the mean of a Gaussian process.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, §6.1.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs, check_rows
from posteriori.estimators.kernel_choice import choose_kernel
from posteriori.estimators.parameters import NOT_NEGATIVE, check_parameters
from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.types import Array

__all__ = ["KernelRidge"]


class KernelRidge(RegressorMixin, BaseEstimator):
    """Ridge regression in the feature space of a kernel.

    There is no intercept: add a constant to the kernel, ``RBF() + 10.0``.

    Parameters
    ----------
    kernel : Kernel or None
        None is a Gaussian kernel that suits the spread of the rows, ℓ² = D var(X)/2.
    penalty : float
        λ >= 0 of λ‖w‖² beside the squared errors; 0 passes through all targets.

    Attributes
    ----------
    kernel_ : Kernel
    dual_coef_ : (N,)
        a, a weight for each row.
    X_fit_ : (N, D)
        The rows, all of which predictions need.

    Notes
    -----
    Costs O(N³) and N² numbers; a finite map of M < N features is better given to
    :class:`LinearRegressor` or :class:`BayesianLinearRegressor`.

    Examples
    --------
    >>> from posteriori.kernels import Linear
    >>> x = np.array([[-0.5], [0.5], [0.8]])
    >>> model = KernelRidge(Linear() + 1.0, penalty=0.08).fit(x, -0.3 + 0.5 * x[:, 0])
    >>> model.predict([[0.2]]).round(8)
    array([-0.18947909])
    """

    _constraints = {"penalty": NOT_NEGATIVE}

    def __init__(self, kernel: Any = None, penalty: float = 1.0) -> None:
        self.kernel = kernel
        self.penalty = penalty

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve for the weights of rows.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
        sample_weight : array_like (N,), optional
            How often each row counts: equal to repeated rows.
        """
        check_parameters(self)
        rows = check_rows(self, X, y, sample_weight=sample_weight)
        kernel = choose_kernel(self.kernel, rows.x, rows.frequency)
        gram = kernel(rows.x)
        # Σ sₙ(tₙ − f(xₙ))² + λ‖w‖² is least at (K + λS⁻¹)a = t
        ridge = self.penalty / (1.0 if rows.frequency is None else rows.frequency)
        gram[np.diag_indices_from(gram)] += ridge
        self.dual_coef_ = _solve_positive(gram, rows.y, self.penalty)
        self.kernel_, self.X_fit_ = kernel, rows.x
        return self

    def predict(self, X: Any) -> Array:
        """Return Σ aₙ k(x, xₙ) of rows, (M,)."""
        check_is_fitted(self)
        return self.kernel_(check_inputs(self, X), self.X_fit_) @ self.dual_coef_


def _solve_positive(matrix: Array, target: Array, penalty: float) -> Array:
    """Return A⁻¹t, or say which eigenvalue of A is not positive."""
    try:
        factor = scipy_linalg.cho_factor(matrix, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        raise ValueError(
            f"K + λI has the eigenvalue {smallest:.6g}, and must be positive definite; raise penalty, which "
            f"is {penalty:g}, or look whether the kernel is one (posteriori.kernels.is_mercer)"
        ) from None
    return scipy_linalg.cho_solve(factor, target, check_finite=False)
