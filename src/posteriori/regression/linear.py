r"""Least squares with an account of its rank, ridge, noise levels and leave-one-out residuals.

.. math:: \hat w, \hat b = \arg\min_{w,b} \sum_n \frac{f_n}{v_n}(y_n - b - w^Tx_n)^2 + \lambda|w|^2

with frequencies f and relative noise variances v of the rows. The data are read once into a
triangular factor; where the columns are far from dependent it comes from the Gram matrix, otherwise
from Householder reflections, so that no digits are lost to a squared condition number.

Reference: Å. Björck, "Numerical methods for least squares problems", 1996.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs, check_rows, column_names
from posteriori.estimators.parameters import NOT_NEGATIVE, check_parameters
from posteriori.numerics.least_squares.regression_statistics import (
    RegressionStatistics,
    column_norms,
    regression_statistics,
)
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.regression.dependence import describe_dependence

__all__ = ["LinearRegressor"]


class LinearRegressor(RegressorMixin, BaseEstimator):
    """Least squares and ridge regression, of one or several targets.

    Parameters
    ----------
    fit_intercept : bool
        Whether a constant stands beside the columns; it is never shrunk.
    ridge : float
        λ >= 0, the penalty on |w|² in the units of the columns: (XᵀX + λI)w = Xᵀy.

    Attributes
    ----------
    coef_ : (D,) or (M, D)
        Weights; where they are not determined, those of the shortest length.
    intercept_ : float or (M,)
    rank_ : int
        How many directions of the (centred) columns the data determine; a warning names the
        columns that depend on others.
    singular_values_ : (D,)
        Of the centred columns, scaled to length 1.
    noise_variance_ : float or (M,)
        σ² of highest likelihood (relative to ``noise_variance``), Σ residual²/N.
    residual_variance_ : float or (M,)
        The same divided by N − p instead of N, without bias; infinite when N <= p.
    log_likelihood_ : float
        ln p(y | X) at the fit, summed over targets.
    bic_ : float
        −2 ln p + k ln N, with k counting weights (effective ones under ridge), intercept and noise.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> model = LinearRegressor().fit(X, [1.0, 3.0, 5.0])
    >>> model.coef_, round(float(model.intercept_), 12)
    (array([2.]), 1.0)
    """

    _constraints = {"ridge": NOT_NEGATIVE}

    def __init__(self, *, fit_intercept: bool = True, ridge: float = 0.0) -> None:
        self.fit_intercept = fit_intercept
        self.ridge = ridge

    def fit(self, X: Any, y: Any, sample_weight: Any = None, noise_variance: Any = None) -> Self:
        """Fit the weights.

        Parameters
        ----------
        X : (N, D)
        y : (N,) or (N, M)
        sample_weight : (N,), optional
            How often each row counts: equal to repeated rows.
        noise_variance : (N,), optional
            Noise variance of each row, relative to a common one: rows of less noise count more.

        Notes
        -----
        Costs O(N D²).
        """
        check_parameters(self)
        rows = check_rows(
            self,
            X,
            y,
            sample_weight=sample_weight,
            noise_variance=noise_variance,
            several_targets=True,
        )
        targets = rows.y if rows.y.ndim == 2 else rows.y[:, None]
        statistics = regression_statistics(
            rows.x,
            targets,
            frequency=rows.frequency,
            variance=rows.variance,
            centre=self.fit_intercept,
        )
        solution = _solve(statistics, float(self.ridge))
        if self.ridge == 0.0 and solution.rank < len(solution.scales):
            _warn_of_dependence(statistics, solution, column_names(self))
        self._keep(statistics, solution, single=rows.y.ndim == 1)
        return self

    def predict(self, X: Any) -> Array:
        """Return the fitted values: (N,) or (N, M)."""
        check_is_fitted(self)
        return check_inputs(self, X) @ self.coef_.T + self.intercept_

    def leave_one_out_residuals(self, X: Any, y: Any, noise_variance: Any = None) -> Array:
        r"""Return what each row's target differs by from the fit to all other rows.

        In closed form, :math:`e_n/(1 - h_n)` with the leverage
        :math:`h_n = \tfrac1{v_n}\{\tilde x_n^T(\tilde X^TV^{-1}\tilde X + \lambda I)^{-1}\tilde x_n + 1/W\}`.
        A row that counts several times is left out once.

        Parameters
        ----------
        X, y, noise_variance
            The rows that the model was fitted to, or some of them.

        Returns
        -------
        (N,) or (N, M)
            Infinite for a row whose prediction the others do not determine.
        """
        check_is_fitted(self)
        rows = check_rows(
            self, X, y, noise_variance=noise_variance, several_targets=True, reset=False
        )
        residual = rows.y - (rows.x @ self.coef_.T + self.intercept_)
        spare = 1.0 - self._leverages(rows.x, rows.variance)
        determined = spare > _LEVERAGE_TOLERANCE
        left_out = np.where(determined, 1.0 / np.where(determined, spare, 1.0), np.inf)
        shaped = left_out if residual.ndim == 1 else left_out[:, None]
        return np.where(np.isinf(shaped), np.inf, residual * np.minimum(shaped, _LARGEST))

    def press(self, X: Any, y: Any, sample_weight: Any = None, noise_variance: Any = None) -> Array:
        """Return the sum of squared leave-one-out residuals, each divided by its noise variance.

        Parameters
        ----------
        X, y, sample_weight, noise_variance
            The rows that the model was fitted to.

        Returns
        -------
        float or (M,)
        """
        rows = check_rows(
            self,
            X,
            y,
            sample_weight=sample_weight,
            noise_variance=noise_variance,
            several_targets=True,
            reset=False,
        )
        residual = self.leave_one_out_residuals(rows.x, rows.y, rows.variance)
        weights = np.ones(len(residual)) if rows.frequency is None else rows.frequency
        return (weights if rows.variance is None else weights / rows.variance) @ residual**2

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _keep(self, statistics: RegressionStatistics, solution: _Solution, single: bool) -> None:
        d = statistics.n_inputs
        self._centre, self._directions = statistics.mean[:d], solution.directions
        self._level_share = 1.0 / statistics.weight if self.fit_intercept else 0.0
        self.rank_ = solution.rank
        self.singular_values_ = solution.singular_values
        coef = solution.weights.T
        intercept = statistics.mean[d:] - coef @ statistics.mean[:d]
        n, used = statistics.rows, solution.effective + float(self.fit_intercept)
        variance = solution.squares / n
        spare = n - used
        unbiased = solution.squares / spare if spare > 0 else np.full(len(variance), np.inf)
        with np.errstate(divide="ignore"):  # a perfect fit is infinitely likely
            log_noise = np.log(variance)
        each = -0.5 * (n * (LOG_2PI + log_noise + 1.0) + statistics.log_variance)
        self.log_likelihood_ = float(each.sum())
        self.bic_ = float(-2.0 * each.sum() + len(variance) * (used + 1.0) * np.log(n))
        names = ("coef_", "intercept_", "noise_variance_", "residual_variance_")
        for name, value in zip(names, (coef, intercept, variance, unbiased), strict=True):
            setattr(self, name, value[0] if single else value)

    def _leverages(self, x: Array, variance: Array | None) -> Array:
        z = (x - self._centre) @ self._directions
        h = np.einsum("nk,nk->n", z, z) + self._level_share
        return h if variance is None else h / variance


#: Rows whose leverage is nearer to 1 than this are predicted by themselves alone.
_LEVERAGE_TOLERANCE = 1e-10

#: How much a residual is magnified at most.
_LARGEST = 1.0 / _LEVERAGE_TOLERANCE


class _Solution(NamedTuple):
    """Weights (D, M), and B (D, K) with BBᵀ the inverse (or pseudo-inverse) of XᵀX + λI."""

    weights: Array
    directions: Array
    squares: Array
    effective: float
    rank: int
    singular_values: Array
    scales: Array


def _solve(statistics: RegressionStatistics, ridge: float) -> _Solution:
    d = statistics.n_inputs
    scales = statistics.safe_scales[:d] * np.sqrt(statistics.weight)
    factor, targets = statistics.factor[:d, :d] / scales, statistics.factor[:d, d:]
    rest = (statistics.factor[d:, d:] ** 2).sum(axis=0)
    left, values, right = np.linalg.svd(factor)
    rank = int(exceeds_rounding(values, max(values[0], 1.0)).sum())
    if ridge > 0.0:
        return _shrunk(statistics, ridge, rank, values, scales)
    if rank == d:
        weights = np.linalg.solve(factor, targets)
        directions = triangular_inverse(factor.T).T
        misfit = rest
    else:
        seen = right[:rank].T / values[:rank]
        weights = seen @ (left[:, :rank].T @ targets)
        weights = _shortest(weights, right[rank:].T, scales)
        directions = seen
        misfit = rest + ((targets - factor @ (weights * scales[:, None])) ** 2).sum(axis=0)
        return _Solution(
            weights, directions / scales[:, None], misfit, float(rank), rank, values, scales
        )
    per_column = scales[:, None]
    return _Solution(
        weights / per_column, directions / per_column, misfit, float(d), rank, values, scales
    )


def _shortest(weights: Array, null: Array, scales: Array) -> Array:
    """Return the shortest weights among those that predict the same: less their null part."""
    raw, unseen = weights / scales[:, None], null / scales[:, None]
    basis = np.linalg.qr(unseen / column_norms(unseen))[0]
    return raw - basis @ (basis.T @ raw)


def _shrunk(
    statistics: RegressionStatistics, ridge: float, rank: int, values: Array, scales: Array
) -> _Solution:
    """Solve min |Rw − r|² + λ|w|² by triangularising the stacked rows."""
    d = statistics.n_inputs
    factor, targets = statistics.factor[:d, :d] / scales, statistics.factor[:d, d:]
    penalty = np.diag(np.sqrt(ridge) / scales)
    q, r = np.linalg.qr(np.concatenate([factor, penalty]))
    weights = np.linalg.solve(r, q[:d].T @ targets)
    directions = triangular_inverse(r.T).T
    rest = (statistics.factor[d:, d:] ** 2).sum(axis=0)
    squares = rest + ((targets - factor @ weights) ** 2).sum(axis=0)
    effective = float(((factor @ directions) ** 2).sum())  # trace of the smoother
    per_column = scales[:, None]
    return _Solution(
        weights / per_column, directions / per_column, squares, effective, rank, values, scales
    )


def _warn_of_dependence(
    statistics: RegressionStatistics, solution: _Solution, names: list[str]
) -> None:
    d = statistics.n_inputs
    factor = statistics.factor[:d, :d] / solution.scales
    account = describe_dependence(factor, solution.scales, solution.rank, names)
    warnings.warn(
        f"the data determine {solution.rank} of {d} weights: {account}; the shortest weights are "
        "returned. Leave columns out, use ridge=, or give the weights a prior "
        "(BayesianLinearRegressor).",
        np.exceptions.RankWarning,
        stacklevel=3,
    )
