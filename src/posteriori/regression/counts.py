"""Regression for counts: Poisson, and negative binomial where they vary more than that."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.negative_binomial import NegativeBinomial
from posteriori.distributions.poisson import Poisson
from posteriori.inference.generalized_linear import Curve
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.regression.generalized import GeneralizedRegression
from posteriori.regression.shaped import ShapedCurve, ShapedRegression

__all__ = ["NegativeBinomialRegression", "PoissonRegression"]

#: Predictors beyond this are taken as this: e to its power is still a number.
_LARGEST = 700.0


class PoissonRegression(GeneralizedRegression):
    """Counts whose log rate is linear in the inputs.

    Parameters
    ----------
    prior_precision : float
        Precision of every weight on standardised columns, and of the intercept.
    fit_intercept : bool
    tol : float
        The ascent ends when a Newton step is shorter than this many standard deviations.
    max_iter : int
        Most passes over the data.

    Attributes
    ----------
    posterior_ : MvNormal
        Of the weights, then the intercept.
    coef_, intercept_
        Posterior means.
    log_evidence_ : LogEvidence
    effective_parameters_ : float
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> m = PoissonRegression().fit(X, rng.poisson(np.exp(1.0 + X @ [0.5, -0.3])))
    >>> m.coef_.round(1)
    array([ 0.5, -0.3])
    """

    def _check_targets(self, y: Array) -> None:
        check_counts(self, y)

    def _link(self, mean: float) -> float:
        return float(np.log(max(mean, 1e-300)))

    def _likelihood(self, y: Array) -> Any:
        log_factorial = special.gammaln(y + 1.0)

        def curve(eta: Array, rows: Any) -> Curve:
            rate = np.exp(np.minimum(eta, _LARGEST))
            return Curve(y[rows] * eta - rate - log_factorial[rows], y[rows] - rate, rate)

        return curve

    def _member(self, eta: Array) -> Any:
        return Poisson(np.exp(np.minimum(eta, _LARGEST)))


class NegativeBinomialRegression(ShapedRegression):
    """Counts whose log mean is linear in the inputs, with variance μ + μ²/r.

    The count r is learned with the weights; its logarithm has the prior N(0, 1/α) as well.

    Parameters
    ----------
    prior_precision : float
        Precision of every weight on standardised columns, of the intercept and of ln r.
    fit_intercept : bool
    tol : float
        The ascent ends when a Newton step is shorter than this many standard deviations.
    max_iter : int
        Most passes over the data.

    Attributes
    ----------
    posterior_ : MvNormal
        Of the weights, then the intercept.
    coef_, intercept_
        Posterior means.
    shape_ : float
        The count r at the mode.
    log_evidence_ : LogEvidence
    """

    def _check_targets(self, y: Array) -> None:
        check_counts(self, y)

    def _link(self, mean: float) -> float:
        return float(np.log(max(mean, 1e-300)))

    def _shaped_likelihood(self, y: Array) -> Any:
        log_factorial = special.gammaln(y + 1.0)

        def curve(eta: Array, log_count: float, rows: Any) -> ShapedCurve:
            # ln Γ(y+r) − ln Γ(r) − ln y! + r ln r + y η − (y + r) ln(r + μ)
            r, counts = np.exp(log_count), y[rows]
            mean = np.exp(np.minimum(eta, _LARGEST))
            total = r + mean
            value = special.gammaln(counts + r) - special.gammaln(r) - log_factorial[rows]
            value += r * (log_count - np.log(total)) + counts * (eta - np.log(total))
            slope = r * (counts - mean) / total
            curvature = r * mean * (counts + r) / total**2
            in_r = special.digamma(counts + r) - special.digamma(r) + 1.0 + log_count
            in_r = in_r - np.log(total) - (counts + r) / total
            twice = special.polygamma(1, counts + r) - special.polygamma(1, r) + 1.0 / r
            twice = twice - 2.0 / total + (counts + r) / total**2
            cross = mean * (counts - mean) / total**2  # ∂²/∂η∂r
            return ShapedCurve(
                value, slope, curvature, r * in_r, -(r * in_r + r * r * twice), -r * cross
            )

        return curve

    def _shaped_member(self, eta: Array, log_shape: float) -> Any:
        return NegativeBinomial(np.exp(log_shape), mean=np.exp(np.minimum(eta, _LARGEST)))


def check_counts(estimator: Any, y: Array) -> None:
    """Refuse targets that are no counts."""
    bad = (y < 0) | (y != np.floor(y))
    if np.any(bad):
        where = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"{type(estimator).__name__} needs whole numbers >= 0 as y, got {y[where]:g} in row "
            f"{where}"
        )
