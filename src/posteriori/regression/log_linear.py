r"""Regression of positive targets: a linear model of their logarithm.

.. math:: \ln y = b + x\cdot w + \varepsilon,\qquad
          p(y\mid X) = p(\ln y\mid X)\prod_n\frac1{y_n}

Where the data end what is predicted levels off. The function of a row whose expected target μ would
exceed the largest one seen, T, is pulled towards its value c at the middle of the data,

.. math:: f' = c + \tau\,(f - c),\qquad 0\le\tau\le 1,

mean and spread, until the expected target is :math:`T(2 - T/\mu)`.

Reference: J. Aitchison & J. Brown, "The lognormal distribution", 1957.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.algebra.maps import ExpMap
from posteriori.distributions.algebra.transformed import Transformed
from posteriori.estimators.approximate_posterior import ApproximatePosterior
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_grouped_inputs, check_rows
from posteriori.estimators.group_columns import GroupEffects, codes_last, last_columns
from posteriori.numerics.calculus.level_off import level_off
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.regression.bayesian.bayesian_regression import BayesianLinearRegressor
from posteriori.regression.bayesian.belief import Pull

__all__ = ["LogLinearRegressor"]


class LogLinearRegressor(ApproximatePosterior, RegressorMixin, BaseEstimator):
    """Linear regression of ln y: effects multiply, and the noise is a percentage.

    Predictions are exponential up to the largest target T of the training rows; beyond they level off,
    T(2 − T/μ) in place of μ, and never reach 2T.

    Parameters
    ----------
    prior_precision, noise_precision, hyperparameters, fit_intercept, groups
        As in :class:`BayesianLinearRegressor`, of ln y.

    Attributes
    ----------
    model_ : BayesianLinearRegressor
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
    >>> model = LogLinearRegressor().fit(x[:, None], y)
    >>> np.exp(model.coef_).round(1)  # doubles with every step
    array([2.])
    """

    #: ln T, the logarithm of the largest target seen; no bound before that.
    _log_top = np.inf

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
                f"LogLinearRegressor needs positive targets, got {wrong:.6g}; a linear model takes "
                "any number"
            )
        logs = np.log(rows.y)
        parameters = self.get_params(deep=False) | {"groups": last_columns(rows.codes)}
        model = BayesianLinearRegressor(**parameters)
        self.model_ = model.fit(codes_last(rows.inputs), logs, sample_weight=rows.frequency)
        self.coef_, self.intercept_ = self.model_.coef_, self.model_.intercept_
        self.effective_parameters_ = self.model_.effective_parameters_
        slope = logs.sum() if rows.frequency is None else rows.frequency @ logs
        self._log_slope = float(slope)  # Σ ln|dy/d ln y|
        self._log_top = float(logs.max())
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
        x = self._known_inputs(X)
        return Transformed(self.model_._belief.predict(x, 1.0, self._pull(x)), ExpMap())

    def predict(self, X: Any) -> Array:
        r"""Return the expected targets: (N,).

        .. math:: E[y\mid x] = \mu = \exp\{m + \tfrac12 v\},\qquad\text{or } T\,(2 - T/\mu)\text{ where }\mu > T,

        with the mean and variance of the prediction of ln y and the largest target T seen. Given the
        noise variance this is the mean of the predictive distribution. With the noise integrated out
        that mean is infinite, for the sake of noise levels that the data all but exclude; then the
        noise variance is set to its posterior mean, and left out where it has none. Medians, exp m,
        are ``predict_dist(X).quantile(0.5)``: smaller, and too small on average to add up.
        """
        mean, variance, noise = self._log_moments(self._known_inputs(X))
        return np.exp(level_off(mean + 0.5 * (variance + noise), self._log_top))

    def _log_moments(self, x: Any) -> tuple[Array, Array, float]:
        """Return mean and variance of the function of ln y (N,), and of its noise; 0 for infinite ones."""
        belief = self.model_._belief
        mean, variance = belief.mean_variance(x, 0.0)
        if not np.isfinite(belief.noise_variance):
            return mean, np.zeros_like(mean), 0.0
        return mean, variance, belief.noise_variance

    def _pull(self, x: Any) -> Pull:
        """Return τ of rows: 1, or such that c + τ(m − c) + ½τ²s² + ½σ² is the levelled log mean."""
        mean, variance, noise = self._log_moments(x)
        log_mean = mean + 0.5 * (variance + noise)
        level = min(self.model_._belief.level, self._log_top - 0.5 * noise)
        room = level_off(log_mean, self._log_top) - level - 0.5 * noise  # bτ + ½s²τ² = room
        b = mean - level
        root = np.sqrt(b**2 + 2.0 * variance * room)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(b > 0, 2.0 * room / (b + root), (root - b) / variance)
        return Pull(level, np.where(log_mean > self._log_top, np.clip(share, 0.0, 1.0), 1.0))

    def sample_weights(self, size: int = 1, rng: Seed = None) -> Array:
        """Draw weights from the posterior: (S, D), or (S, D + 1) with the intercept last."""
        check_is_fitted(self)
        return self.model_.sample_weights(size, rng)

    def _beliefs_of_parameters(self, size: int, rng: Seed) -> dict[str, Any]:
        check_is_fitted(self)
        return self.model_._beliefs_of_parameters(size, rng)

    def _drawn_parameters(self, size: int, rng: Seed) -> tuple[dict[str, Array], None]:
        return self.model_._drawn_parameters(size, rng)

    def sample_targets(self, X: Any, size: int = 1, rng: Seed = None) -> Array:
        """Draw whole new sets of targets at X from the posterior predictive, (S, N)."""
        x, generator = self._known_inputs(X), as_generator(rng)
        values, noise = self.model_._belief.sample_values(x, size, generator)
        steps = np.sqrt(noise)[:, None] * generator.standard_normal(values.shape)
        return np.exp(self._pull(x).of(values.T).T + steps)

    def log_likelihood_draws(self, X: Any, y: Any, size: int, rng: Seed = None) -> Array:
        """Return ln p(y_n | θ_s) of rows under draws of the posterior, (S, N)."""
        x, logs = self._inputs(X), np.log(np.asarray(y, dtype=np.float64))
        return self.model_.log_likelihood_draws(x, logs, size, rng) - logs

    def with_prior_scaled(self, factor: float) -> LogLinearRegressor:
        """Return an unfitted copy whose prior has standard deviations ``factor`` times as large."""
        check_is_fitted(self)
        scaled = self.model_.with_prior_scaled(factor).get_params(deep=False)
        return clone(self).set_params(prior_precision=scaled["prior_precision"])

    @property
    def group_effects_(self) -> dict[str, GroupEffects]:
        """Effects of the levels of each column that holds groups, on ln y."""
        check_is_fitted(self)
        return self._groups.name_effects(self.model_.group_effects_)

    def _known_inputs(self, X: Any) -> Any:
        inputs = self._inputs(X)
        return check_grouped_inputs(self.model_, inputs)

    def _inputs(self, X: Any) -> Any:
        check_is_fitted(self)
        return codes_last(check_grouped_inputs(self, X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
