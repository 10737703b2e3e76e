r"""Regression for counts of which many are 0: whether there are any, and how many more than one.

.. math:: p(y>0) = \sigma(b + x\cdot w),\qquad y - 1\mid y>0 \sim \mathrm{NegBin}(\mu, r),\quad
          \ln\mu = c + x\cdot v

The two parts share no parameter, so that the posterior is a product and log evidences add.

Reference: J. Mullahy, "Specification and testing of some modified count data models", 1986 (with counts
truncated at 0 in place of counts less one).
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.composites.zero_or_counts import ZeroOrCounts
from posteriori.estimators.approximate_posterior import ApproximatePosterior, Unweighed
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_counts, check_grouped_inputs, check_rows
from posteriori.estimators.group_columns import (
    GroupColumns,
    GroupEffects,
    codes_last,
    last_columns,
)
from posteriori.estimators.linear_predictor import LinearPredictorEstimator
from posteriori.estimators.parameters import check_parameters
from posteriori.inference.weighing.approximate_beliefs import ApproximateBelief
from posteriori.inference.weighing.joined_beliefs import JoinedBeliefs
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import width_factor
from posteriori.regression.generalized.count_regression import NegativeBinomialRegressor
from posteriori.regression.generalized.occurrence import OccurrenceRegressor

__all__ = ["HurdleRegressor"]


class HurdleRegressor(ApproximatePosterior, RegressorMixin, BaseEstimator):
    """Counts with a model of its own for those that are 0.

    Whether a count is 0 is a logistic regression of all rows; what those that are not have beyond one
    is a negative binomial regression. Both have the priors of :class:`PoissonRegressor`, the first
    around the log odds of the share of counts that are not 0.

    Parameters
    ----------
    prior_precision, fit_intercept, tol, max_iter, groups
        As of :class:`NegativeBinomialRegressor`, of both parts.

    Attributes
    ----------
    occurrence_ : estimator
        Of y > 0: ``coef_``, ``intercept_``, ``posterior_`` and ``predict`` (the probability).
    excess_ : NegativeBinomialRegressor
        Of y − 1 in rows where y > 0.
    log_evidence_ : LogEvidence
        Of kind "laplace" (or "type-II" with groups), the sum of both parts.
    effective_parameters_ : float
        How many weights the data determine, in both parts.
    group_effects_ : dict of GroupEffects
        By column: levels, means and standard deviations of their effects on the log odds that a count
        is not 0, and the spread; those on its size are ``excess_.group_effects_``.
    n_iter_ : int
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1))
    >>> y = np.where(rng.random(500) < 0.6, 0, 1 + rng.poisson(np.exp(1.0 + 0.5 * X[:, 0])))
    >>> two_parts, one = HurdleRegressor().fit(X, y), NegativeBinomialRegressor().fit(X, y)
    >>> bool(two_parts.log_evidence_ > one.log_evidence_)
    True
    >>> two_parts.predict_dist([[0.0]]).cdf(0.0).round(1)  # that there are none
    array([0.6])
    """

    _constraints = LinearPredictorEstimator._constraints
    _groups: GroupColumns

    def __init__(
        self,
        prior_precision: float = 1.0,
        *,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 200,
        groups: Any = None,
    ) -> None:
        self.prior_precision = prior_precision
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.groups = groups

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
            Counts, not all of them 0.
        sample_weight : array_like (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        check_parameters(self)
        rows = check_rows(self, X, y, sample_weight=sample_weight)
        check_counts(self, rows.y)
        some = rows.y > 0
        if not some.any():
            raise ValueError("HurdleRegressor needs counts > 0 among y, got zeros only")
        inputs, f = codes_last(rows.inputs), rows.frequency
        parameters = self.get_params(deep=False) | {"groups": last_columns(rows.codes)}
        occurrence, excess = (
            OccurrenceRegressor(**parameters),
            NegativeBinomialRegressor(**parameters),
        )
        occurrence.fit(inputs, some.astype(np.float64), sample_weight=f)
        with warnings.catch_warnings():  # of targets that are not whole: said above
            warnings.filterwarnings(
                "ignore", message=".*is a model of counts", category=UserWarning
            )
            beyond = np.maximum(rows.y[some] - 1.0, 0.0)
            excess.fit(inputs[some], beyond, sample_weight=None if f is None else f[some])
        self.occurrence_, self.excess_ = occurrence, excess
        both = occurrence.log_evidence_, excess.log_evidence_
        self.log_evidence_ = LogEvidence(
            float(both[0]) + float(both[1]),
            kind=both[0].kind,
            of="y|X",
            fingerprint=rows.fingerprint,
        )
        self.effective_parameters_ = occurrence.effective_parameters_ + excess.effective_parameters_
        self.n_iter_ = max(occurrence.n_iter_, excess.n_iter_)
        return self

    def _approximate_belief(self) -> ApproximateBelief | Unweighed:
        found: Any = {
            "occurrence": self.occurrence_._approximate_belief(),
            "excess": self.excess_._approximate_belief(),
        }
        unweighed = [one for one in found.values() if isinstance(one, Unweighed)]
        return unweighed[0] if unweighed else JoinedBeliefs(found)

    def predict_dist(self, X: Any) -> ZeroOrCounts:
        """Return the predictive distribution of each row's count."""
        x = self._inputs(X)
        return ZeroOrCounts(self.occurrence_.predict(x), self.excess_.predict_dist(x), 1)

    def predict(self, X: Any) -> Array:
        """Return the expected counts (N,); beyond the largest count seen they level off."""
        x = self._inputs(X)
        return self.occurrence_.predict(x) * (1.0 + self.excess_.predict(x))

    def sample_targets(self, X: Any, size: int = 1, rng: Seed = None) -> Array:
        """Draw whole new sets of targets at X from the posterior predictive, (S, N)."""
        x, generator = self._inputs(X), as_generator(rng)
        some = self.occurrence_.sample_targets(x, size, generator)
        return some * (1.0 + self.excess_.sample_targets(x, size, generator))

    def log_likelihood_draws(self, X: Any, y: Any, size: int, rng: Seed = None) -> Array:
        """Return ln p(y_n | θ_s) of rows under draws θ_s of the posterior, (S, N)."""
        check_is_fitted(self)
        rows, generator = check_rows(self, X, y, reset=False), as_generator(rng)
        check_counts(self, rows.y)
        x, some = codes_last(rows.inputs), rows.y > 0
        logs = self.occurrence_.log_likelihood_draws(x, some.astype(np.float64), size, generator)
        if some.any():
            beyond = np.maximum(rows.y[some] - 1.0, 0.0)
            logs[:, some] += self.excess_.log_likelihood_draws(x[some], beyond, size, generator)
        return logs

    def with_prior_scaled(self, factor: float) -> Self:
        """Return an unfitted copy whose prior has standard deviations ``factor`` times as large."""
        alpha = self.prior_precision / width_factor(factor) ** 2
        return clone(self).set_params(prior_precision=float(alpha))

    @property
    def group_effects_(self) -> dict[str, GroupEffects]:
        """Effects of the levels of each column that holds groups, on the log odds of a count above 0."""
        check_is_fitted(self)
        return self._groups.name_effects(self.occurrence_.group_effects_)

    def _inputs(self, X: Any) -> Array:
        check_is_fitted(self)
        return codes_last(check_grouped_inputs(self, X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
