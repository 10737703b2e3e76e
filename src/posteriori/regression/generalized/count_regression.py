r"""Regression for counts: Poisson, and negative binomial where they vary more than that.

The logarithm of the mean is linear. What is predicted levels off where the data end: with the
largest count T that was seen (1 if none was larger)

.. math:: \mu = e^\eta\ \ (e^\eta\le T),\qquad \mu = T\,(2 - T/e^\eta)\ \ (e^\eta > T),

so that no mean reaches twice the largest count, whatever the row and however wide the posterior.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.estimators.estimator_rows import Rows, check_counts
from posteriori.inference.predictors.curves.count_curves import (
    LARGEST,
    negative_binomial_curve,
    poisson_curve,
)
from posteriori.inference.predictors.curves.predicted_counts import count_member, count_width
from posteriori.numerics.calculus.level_off import levelled_mean
from posteriori.numerics.types import Array
from posteriori.regression.generalized.generalized_regression import GeneralizedRegressor

__all__ = [
    "DispersedRegressor",
    "NegativeBinomialRegressor",
    "PoissonRegressor",
]


class CountRegressor(GeneralizedRegressor):
    """What regressions for counts have in common: a log link that levels off, and targets >= 0."""

    #: ln T, the logarithm of the largest count seen; no bound before that.
    _log_top = LARGEST - 1.0

    # -- what a family states ----------------------------------------------------------------

    @abstractmethod
    def _log_count(self, log_shape: Array) -> Array:
        """Return ln r of negative binomial counts; infinity where they are Poisson."""

    # -- what all have -----------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _check_targets(self, y: Array) -> None:
        check_counts(self, y, stacklevel=4)

    def _centre(self, rows: Rows) -> tuple[float, float, float]:
        total = len(rows.y) if rows.frequency is None else rows.frequency.sum()
        mean = np.average(rows.y, weights=rows.frequency)
        return float(np.log(mean or 0.5 / total)), 1.0, 0.0  # no counts at all: as if half of one

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        rows = super()._read_rows(X, y, sample_weight)
        self._log_top = float(np.log(max(1.0, rows.y.max())))
        return rows

    def _width(self, eta: Array, log_shape: Array) -> Array:
        return count_width(eta, self._log_count(log_shape), self._log_top)

    def _member(self, eta: Array, log_shape: Array, blur: Array) -> Any:
        return count_member(eta, self._log_count(log_shape), blur, self._log_top)

    def _mean_of(self, eta: Normal) -> Array:
        return levelled_mean(eta.mean, eta.variance, self._log_top)


class PoissonRegressor(CountRegressor):
    """Counts whose log rate is linear in the inputs, with the posterior by Laplace's method.

    On standardised columns every weight has the prior N(0, 1/α); the intercept, which is the log rate at the
    column means, has the prior N(ln ȳ, 1/α). Predicted rates are exp(η) up to the largest count T of
    the training rows; beyond they level off, T(2 − T/exp(η)), and never reach 2T.

    Parameters
    ----------
    prior_precision : float
        Precision α of every weight on standardised columns, and of the intercept.
    fit_intercept : bool
    tol : float
        The ascent ends when a Newton step is shorter than this many standard deviations.
    max_iter : int
        Most passes over the data.
    groups : sequence of str or int, optional
        Columns of X, by name or number, whose entries name groups: texts, categories or codes. Each
        level has an effect N(0, σ_c²) on the predictor, with one spread σ_c for each column, that of
        highest evidence by Laplace's method. A level that was not seen has the width of the spread,
        and a missing entry is a level of its own.

    Attributes
    ----------
    posterior_ : MvNormal
        Of the weights, then the intercept.
    coef_ : array (D,)
        Posterior means of the weights.
    intercept_ : float
    log_evidence_ : LogEvidence
        Of kind "laplace", or "type-II" with groups. Targets that are not whole are taken as well, with the gamma function in
        place of the factorial; their evidence is not a probability of data.
    effective_parameters_ : float
        How many weights the data determine.
    group_effects_ : dict of GroupEffects
        By column: levels, means and standard deviations of their effects, and the spread.
    n_iter_ : int
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> m = PoissonRegressor().fit(X, rng.poisson(np.exp(1.0 + X @ [0.5, -0.3])))
    >>> m.coef_.round(1)
    array([ 0.5, -0.3])
    >>> m.predict_dist([[1.0, 1.0]]).interval(0.9)  # of the next count
    (array([1.]), array([6.]))
    """

    def _likelihood(self, y: Array) -> Any:
        return poisson_curve(y)

    def _log_count(self, log_shape: Array) -> Array:
        return np.full_like(log_shape, np.inf)


class DispersedRegressor(CountRegressor):
    """What regressions with negative binomial counts have in common, whose log shape is ln r."""

    _shaped = True

    @property
    def count_(self) -> float:
        """The count r at the mode."""
        return float(np.exp(self._weights.mean[-1]))

    def _likelihood(self, y: Array) -> Any:
        return negative_binomial_curve(y)

    def _log_count(self, log_shape: Array) -> Array:
        return log_shape


class NegativeBinomialRegressor(DispersedRegressor):
    """Counts whose log mean is linear in the inputs, with variance μ + μ²/r.

    Predicted means level off beyond the largest count, and priors are those of :class:`PoissonRegressor`; the count r is learned with the weights, and its
    logarithm has the prior N(0, 1/α). As r grows the counts become Poisson.

    Parameters
    ----------
    prior_precision : float
        Precision of every weight on standardised columns, of the intercept and of ln r.
    fit_intercept, tol, max_iter, groups
        As of :class:`PoissonRegressor`.

    Attributes
    ----------
    count_ : float
        The count r at the mode; predictions integrate over its posterior.
    posterior_, coef_, intercept_, log_evidence_, effective_parameters_, group_effects_, n_iter_
        As of :class:`PoissonRegressor`.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1))
    >>> y = rng.poisson(np.exp(1.0 + X[:, 0]) * rng.gamma(2.0, 0.5, size=500))
    >>> varied, plain = NegativeBinomialRegressor().fit(X, y), PoissonRegressor().fit(X, y)
    >>> bool(varied.log_evidence_ > plain.log_evidence_)
    True
    """
