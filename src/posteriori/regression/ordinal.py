r"""Regression for ordered categories: thresholds on a latent scale.

.. math:: P(y \le k) = F(c_k - x\cdot w),\qquad c_1 < c_2 < \dots

with F the logistic function. The log likelihood is concave in thresholds and weights together.

Reference: P. McCullagh, "Regression models for ordinal data", 1980.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from posteriori.distributions.categorical import Categorical
from posteriori.distributions.mvnormal import MvNormal
from posteriori.distributions.normal import Normal
from posteriori.inference.mode_finding import find_mode, laplace_evidence
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning
from posteriori.regression.generalized import hermite_rule
from posteriori.regression.standardized import standardize

__all__ = ["OrdinalRegression"]


class OrdinalRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Ordered categories by thresholds on a linear predictor.

    Weights of standardised columns have the prior N(0, 1/α), thresholds N(logit of the share of
    targets below them, 1/α). The order of the categories is that of their sorted values.

    Parameters
    ----------
    prior_precision : float
        Precision α.
    tol : float
        The ascent ends when a Newton step is shorter than this many standard deviations.
    max_iter : int
        Most passes over the data.

    Attributes
    ----------
    classes_ : array (K,)
        The categories in their order.
    coef_ : array (D,)
        Posterior means of the weights.
    thresholds_ : array (K - 1,)
        Posterior means of the thresholds.
    posterior_ : MvNormal
        Of the weights of standardised columns, then the thresholds at the column means.
    log_evidence_ : LogEvidence
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-3, 3, 61)[:, None]
    >>> y = np.digitize(x[:, 0], [-1.0, 1.0])
    >>> OrdinalRegression().fit(x, y).predict([[-2.5], [0.0], [2.5]])
    array([0, 1, 2])
    """

    def __init__(
        self, prior_precision: float = 1.0, *, tol: float = 1e-8, max_iter: int = 200
    ) -> None:
        self.prior_precision = prior_precision
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the posterior of weights and thresholds.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
            Categories; their order is that of their sorted values.
        sample_weight : array_like (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        if not self.prior_precision > 0:
            raise ValueError(f"prior_precision must be positive, got {self.prior_precision!r}")
        x, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        frequency = None
        if sample_weight is not None:
            frequency = _check_sample_weight(sample_weight, x, ensure_non_negative=True)
            kept = frequency > 0
            x, y, frequency = x[kept], y[kept], frequency[kept]
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"OrdinalRegression needs at least two classes, got one class: {self.classes_}"
            )
        self._standardized = standardize(x, frequency, intercept=True)
        density = _Thresholds(
            self._standardized.design[:, 1:], codes, frequency, float(self.prior_precision)
        )
        mode = find_mode(density, density.mean, tol=self.tol, max_iter=self.max_iter)
        if not mode.converged:
            warnings.warn(
                f"OrdinalRegression did not converge in {self.max_iter} passes; raise max_iter or "
                "prior_precision",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._standardized = self._standardized._replace(design=np.zeros((0, 0)))
        root = np.linalg.inv(mode.factor)
        self.posterior_ = MvNormal(mode.point, cov=root.T @ root)
        d = x.shape[1]
        self.coef_ = mode.point[:d] / self._standardized.scale
        self.thresholds_ = mode.point[d:] + self._standardized.mean @ self.coef_
        log_prior = 0.5 * len(mode.point) * float(np.log(self.prior_precision) - LOG_2PI)
        rows = codes if frequency is None else np.repeat(codes, np.rint(frequency).astype(int))
        self.log_evidence_ = LogEvidence(
            laplace_evidence(mode) + log_prior,
            kind="laplace",
            of="y|X",
            fingerprint=Fingerprint().update(rows.astype(np.float64)),
        )
        self.n_iter_ = mode.n_iter
        return self

    def predict_dist(self, X: Any) -> Categorical:
        """Return the probabilities of the categories, with the weights integrated out.

        The thresholds are taken at their mode given the predictor, whose posterior is integrated by
        a Gauss–Hermite rule.
        """
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        z = self._standardized.of(x)[:, 1:]
        d = z.shape[1]
        mean, cov = self.posterior_.mean, self.posterior_.cov
        variance = np.einsum("ni,ij,nj->n", z, cov[:d, :d], z)
        eta = Normal(z @ mean[:d], variance=np.maximum(variance, 1e-300))
        at, weights = hermite_rule(eta)
        gain = (z @ cov[:d, d:]) / np.maximum(variance, 1e-300)[:, None]
        shift = (at - np.asarray(eta.mean)[:, None])[..., None] * gain[:, None, :]
        below = _logistic(mean[d:] + shift - at[..., None])
        below = np.maximum.accumulate(below, axis=-1)
        edges = np.concatenate([np.zeros((*at.shape, 1)), below, np.ones((*at.shape, 1))], axis=-1)
        p = np.einsum("q,nqk->nk", weights, np.diff(edges, axis=-1))
        return Categorical(p / p.sum(axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the categories, (N, K)."""
        return np.asarray(self.predict_dist(X).probabilities)

    def predict(self, X: Any) -> Any:
        """Return the most probable category of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class _Thresholds:
    """The log posterior of weights, then thresholds.

    Parameters
    ----------
    x : (N, D)
    codes : (N,)
        Category of each row, 0 to K − 1.
    frequency : (N,), optional
    alpha : float
        Precision of the prior.
    """

    def __init__(self, x: Array, codes: Any, frequency: Array | None, alpha: float) -> None:
        self.x = x
        self.codes = codes
        self.weights = np.ones(len(x)) if frequency is None else frequency
        self.alpha = alpha
        self.size = int(codes.max()) + 1
        counts = np.bincount(codes, weights=self.weights, minlength=self.size)
        share = np.cumsum(counts)[:-1] / counts.sum()
        self.mean = np.concatenate([np.zeros(x.shape[1]), np.log(share / (1.0 - share))])

    def value_and_gradient(self, w: Array) -> tuple[float, Array]:
        """Return the log posterior and its gradient."""
        d = self.x.shape[1]
        offset = w - self.mean
        if np.any(np.diff(w[d:]) <= 0):
            return -np.inf, np.zeros_like(w)
        value, above, below, *_ = self._rows(w)
        f = self.weights
        total = float(f @ value) - 0.5 * self.alpha * float(offset @ offset)
        gradient = -self.alpha * offset
        gradient[:d] -= (f * (above + below)) @ self.x
        gradient[d:] += np.bincount(self.codes, f * above, self.size)[:-1]
        gradient[d:] += np.bincount(self.codes, f * below, self.size)[1:]
        return total, gradient

    def curvature(self, w: Array) -> Array:
        """Return minus the Hessian of the log posterior."""
        d = self.x.shape[1]
        *_, upper, lower, mixed = self._rows(w)
        f = self.weights
        total = self.alpha * np.eye(len(w))
        bend = f * (upper + lower + 2.0 * mixed)
        total[:d, :d] += (self.x * bend[:, None]).T @ self.x
        for k in range(self.size - 1):  # threshold k is above class k and below class k + 1
            over, under = self.codes == k, self.codes == k + 1
            cross = (f * (upper + mixed) * over + f * (lower + mixed) * under) @ self.x
            total[:d, d + k] -= cross
            total[d + k, :d] -= cross
            total[d + k, d + k] += f[over] @ upper[over] + f[under] @ lower[under]
            if k:
                both = f[over] @ mixed[over]
                total[d + k, d + k - 1] += both
                total[d + k - 1, d + k] += both
        return total

    def _rows(self, w: Array) -> tuple[Array, ...]:
        """Return ln p, its slopes in the thresholds above and below, and minus second derivatives.

        With u and l the distances to the two thresholds, p = F(u) − F(l).
        """
        d = self.x.shape[1]
        eta = self.x @ w[:d]
        ends = np.concatenate([[-np.inf], w[d:], [np.inf]])
        u, low = ends[self.codes + 1] - eta, ends[self.codes] - eta
        p = np.maximum(_logistic(u) - _logistic(low), 1e-300)
        top, bottom = _slope(u), _slope(low)
        above, below = top / p, -bottom / p
        upper = above**2 - _bend(u) / p
        lower = below**2 + _bend(low) / p
        return np.log(p), above, below, upper, lower, above * below


def _logistic(x: Array) -> Array:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def _slope(x: Array) -> Array:
    f = _logistic(x)
    return f * (1.0 - f)


def _bend(x: Array) -> Array:
    f = _logistic(x)
    return f * (1.0 - f) * (1.0 - 2.0 * f)
