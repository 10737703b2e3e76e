r"""Regression of positive targets: a linear model of their logarithm.

.. math:: \ln y = b + x\cdot w + \varepsilon,\qquad
          p(y\mid X) = p(\ln y\mid X)\prod_n\frac1{y_n}

Reference: J. Aitchison & J. Brown, "The lognormal distribution", 1957.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.algebra.maps import ExpMap
from posteriori.distributions.algebra.transformed import Transformed
from posteriori.estimators.estimator_rows import check_grouped_inputs, check_rows
from posteriori.estimators.group_columns import GroupEffects
from posteriori.inference.effects.effect_layout import GroupedRows
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.types import Array, Seed
from posteriori.regression.bayesian.bayesian_regression import BayesianLinearRegression

__all__ = ["LogLinearRegression"]


class LogLinearRegression(RegressorMixin, BaseEstimator):
    """Linear regression of ln y: effects multiply, and the noise is a percentage.

    Parameters
    ----------
    prior_precision, noise_precision, hyperparameters, fit_intercept, groups
        As in :class:`BayesianLinearRegression`, of ln y.

    Attributes
    ----------
    model_ : BayesianLinearRegression
        The linear model of ln y.
    coef_, intercept_
        Posterior means: exp(coef) is the factor by which a unit of the column multiplies y.
    posterior_, effective_parameters_, group_effects_
        Those of the linear model.
    log_evidence_ : LogEvidence
        ln p(y | X), in units of y: it compares with that of a linear model of y.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(60.0) % 10
    >>> y = 3.0 * 2.0**x * (1.0 + 0.1 * np.cos(np.arange(60)))
    >>> model = LogLinearRegression().fit(x[:, None], y)
    >>> np.exp(model.coef_).round(1)  # doubles with every step
    array([2.])
    """

    def __init__(
        self,
        prior_precision: Any = None,
        *,
        noise_precision: float | None = None,
        hyperparameters: str = "fixed",
        fit_intercept: bool = True,
        groups: Any = None,
    ) -> None:
        self.prior_precision = prior_precision
        self.noise_precision = noise_precision
        self.hyperparameters = hyperparameters
        self.fit_intercept = fit_intercept
        self.groups = groups

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
            Positive.
        sample_weight : array_like (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        rows = check_rows(self, X, y, sample_weight=sample_weight)
        if not (rows.y > 0).all():
            wrong = float(rows.y[~(rows.y > 0)][0])
            raise ValueError(
                f"LogLinearRegression needs positive targets, got {wrong:.6g}; a linear model takes "
                "any number"
            )
        logs = np.log(rows.y)
        inputs, codes = rows.x, rows.codes
        groups = None if codes is None else list(range(-codes.shape[1], 0))
        if codes is not None:
            inputs = np.column_stack([rows.x, codes])
        model = BayesianLinearRegression(**self.get_params(deep=False) | {"groups": groups})
        self.model_ = model.fit(inputs, logs, sample_weight=rows.frequency)
        self.coef_, self.intercept_ = self.model_.coef_, self.model_.intercept_
        self.effective_parameters_ = self.model_.effective_parameters_
        slope = logs.sum() if rows.frequency is None else rows.frequency @ logs
        self._log_slope = float(slope)  # Σ ln|dy/d ln y|
        self._fingerprint = Fingerprint().update(rows.y, rows.frequency)
        return self

    @property
    def log_evidence_(self) -> LogEvidence:
        """Return ln p(y | X), in units of y; none under a flat prior."""
        if "model_" not in self.__dict__:
            raise AttributeError("log_evidence_ is there after fit")
        inner = self.model_.log_evidence_
        return LogEvidence(
            float(inner) - self._log_slope,
            kind=inner.kind,
            of="y|X",
            fingerprint=self._fingerprint,
        )

    @property
    def posterior_(self) -> Any:
        """Of the weights of the linear model of ln y."""
        check_is_fitted(self)
        return self.model_.posterior_

    def predict_dist(self, X: Any) -> Transformed:
        """Return the distribution of each row's target: exp of a normal or Student's t."""
        x = self._inputs(X)
        return Transformed(self.model_.predict_dist(x), ExpMap())

    def predict(self, X: Any) -> Array:
        r"""Return the expected targets: (N,).

        .. math:: E[y\mid x] = \exp\{m + \tfrac12 v\}

        with the mean and variance of the prediction of ln y. Given the noise variance this is the
        mean of the predictive distribution. With the noise integrated out that mean is infinite,
        for the sake of noise levels that the data all but exclude; then the noise variance is set
        to its posterior mean. Medians, exp m, are ``predict_dist(X).quantile(0.5)``: smaller, and
        too small on average to add up.
        """
        x = self._inputs(X)
        mean, std = self.model_.predict(x, return_std=True)
        return np.exp(mean + 0.5 * std**2)

    def sample_weights(self, size: int = 1, rng: Seed = None) -> Array:
        """Draw weights from the posterior: (S, D), or (S, D + 1) with the intercept last."""
        check_is_fitted(self)
        return self.model_.sample_weights(size, rng)

    def sample_targets(self, X: Any, size: int = 1, rng: Seed = None) -> Array:
        """Draw whole new sets of targets at X from the posterior predictive, (S, N)."""
        x = self._inputs(X)
        return np.exp(self.model_.sample_targets(x, size, rng))

    def log_likelihood_draws(self, X: Any, y: Any, size: int, rng: Seed = None) -> Array:
        """Return ln p(y_n | θ_s) of rows under draws of the posterior, (S, N)."""
        x, logs = self._inputs(X), np.log(np.asarray(y, dtype=np.float64))
        return self.model_.log_likelihood_draws(x, logs, size, rng) - logs

    def with_prior_scaled(self, factor: float) -> LogLinearRegression:
        """Return an unfitted copy whose prior has standard deviations ``factor`` times as large."""
        check_is_fitted(self)
        scaled = self.model_.with_prior_scaled(factor).get_params(deep=False)
        return clone(self).set_params(prior_precision=scaled["prior_precision"])

    @property
    def group_effects_(self) -> dict[str, GroupEffects]:
        """Effects of the levels of each column that holds groups, on ln y."""
        check_is_fitted(self)
        found, columns = self.model_.group_effects_.values(), self._groups
        known = zip(columns.names, columns.levels, found, strict=True)
        return {name: effects._replace(levels=levels) for name, levels, effects in known}

    def _inputs(self, X: Any) -> Any:
        check_is_fitted(self)
        x = check_grouped_inputs(self, X)
        return np.column_stack([x.x, x.codes]) if isinstance(x, GroupedRows) else x

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
