r"""Regression for ordered categories: thresholds on a latent scale.

.. math:: P(y \le k) = \sigma(c_k - x\cdot w),\qquad c_1 < c_2 < \dots

with σ the logistic function. The log likelihood is concave in thresholds and weights together.

Reference: P. McCullagh, "Regression models for ordinal data", 1980.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.ascent_arguments import check_ascent, warn_unless_converged
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.standardized import standardize
from posteriori.inference.predictors.generalized_linear import weighted_gram
from posteriori.inference.predictors.mode_finding import find_mode, laplace_evidence
from posteriori.numerics.calculus.predictor_nodes import predictor_nodes
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.lazy import special
from posteriori.numerics.random import as_generator
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, Seed

__all__ = ["OrdinalRegression"]

#: Numbers of X that are worked on at a time.
_BLOCK = 1 << 17


class OrdinalRegression(ClassifierMixin, BaseEstimator):
    """Ordered categories by thresholds on a linear predictor, with the posterior by Laplace's method.

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
        Of the weights of the columns, then the thresholds.
    log_evidence_ : LogEvidence
        Of kind "laplace".
    effective_parameters_ : float
        How many weights and thresholds the data determine.
    n_iter_ : int
    n_features_in_, feature_names_in_

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # its checks classify blobs that no direction orders
        return tags

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
        check_ascent(self)
        x, y, frequency = self._check(X, y, sample_weight)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"OrdinalRegression needs at least two classes, got one class: {self.classes_}"
            )
        self._standardization, design = standardize(x, frequency, intercept=True)
        alpha = float(self.prior_precision)
        density = _Thresholds(design[:, 1:], codes, frequency, alpha)
        mode = find_mode(density, density.mean, tol=self.tol, max_iter=self.max_iter)
        warn_unless_converged(self, mode)
        root = np.linalg.inv(mode.factor)
        self._weights = MvNormal(mode.point, cov=root.T @ root)
        turn = self._turn()
        self.posterior_ = MvNormal(turn @ mode.point, cov=turn @ self._weights.cov @ turn.T)
        self.coef_, self.thresholds_ = np.split(self.posterior_.mean, [x.shape[1]])
        size = len(mode.point)
        numbers = y.astype(np.float64) if y.dtype.kind in "biuf" else codes.astype(np.float64)
        self.log_evidence_ = LogEvidence(
            laplace_evidence(mode) + 0.5 * size * float(np.log(alpha) - LOG_2PI),
            kind="laplace",
            of="y|X",
            fingerprint=Fingerprint().update(numbers, frequency),
        )
        self.effective_parameters_ = float(size - alpha * np.trace(self._weights.cov))
        self.n_iter_ = mode.n_iter
        return self

    def predict_dist(self, X: Any) -> Categorical:
        """Return the probabilities of the categories, with weights and thresholds integrated out.

        The probability of a category or a lower one is the mean of σ(c − x·w) over the normal
        posterior of c − x·w.
        """
        check_is_fitted(self)
        z = self._standardization.of(check_inputs(self, X))[:, 1:]
        d, mean, cov = z.shape[1], self._weights.mean, self._weights.cov
        centre = mean[d:] - (z @ mean[:d])[:, None]
        variance = np.diagonal(cov)[d:] - 2.0 * z @ cov[:d, d:]
        variance = variance + ((z @ cov[:d, :d]) * z).sum(axis=1)[:, None]
        at, weights, blur = predictor_nodes(centre, np.sqrt(np.maximum(variance, 0.0)), np.ones(1))
        below = special.expit(at / np.sqrt(1.0 + np.pi / 8.0 * blur[..., None])) @ weights
        edges = np.pad(below, ((0, 0), (1, 1)), constant_values=((0, 0), (0.0, 1.0)))
        p = np.maximum(np.diff(edges, axis=1), 0.0)
        return Categorical(p / p.sum(axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the categories, (N, K)."""
        return np.asarray(self.predict_dist(X).probabilities)

    def predict(self, X: Any) -> Any:
        """Return the most probable category of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    # -- how the rows fare -------------------------------------------------------------------

    def log_likelihood_draws(self, X: Any, y: Any, size: int, rng: Seed = None) -> Array:
        """Return ln p(y_n | w_s, c_s) of rows under draws of the posterior, (S, N).

        Draws whose thresholds are not in order, which a normal posterior also has, are drawn again.
        """
        check_is_fitted(self)
        x = check_inputs(self, X)
        codes = self._codes(column_or_1d(y, warn=True))
        check_consistent_length(x, codes)
        eta, ends = self._draw(x, size, as_generator(rng))
        low = np.take_along_axis(ends, codes[None], axis=1) - eta
        high = np.take_along_axis(ends, codes[None] + 1, axis=1) - eta
        return _log_probability(low, high)

    def sample_targets(self, X: Any, size: int = 1, rng: Seed = None) -> Any:
        """Draw whole new sets of categories at X from the posterior predictive, (S, N)."""
        check_is_fitted(self)
        generator = as_generator(rng)
        eta, ends = self._draw(check_inputs(self, X), size, generator)
        latent = eta + generator.logistic(size=eta.shape)
        codes = (latent[..., None] > ends[:, None, 1:-1]).sum(axis=2)
        return self.classes_[codes]

    def with_prior_scaled(self, factor: float) -> Self:
        """Return an unfitted copy whose prior has standard deviations ``factor`` times as large."""
        return clone(self).set_params(prior_precision=self.prior_precision / float(factor) ** 2)

    def _check(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Any, Array | None]:
        if y is None:
            raise ValueError("OrdinalRegression requires y to be passed, but the target y is None")
        x = check_inputs(self, X, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(x, y)
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            row = int(np.argmin(np.isfinite(y)))
            what = "NaN" if np.isnan(y[row]) else "infinity (inf)"
            raise ValueError(f"Input y contains {what} in row {row}; leave the row out")
        check_classification_targets(y)
        if sample_weight is None:
            return x, y, None
        frequency = _check_sample_weight(sample_weight, x, ensure_non_negative=True)
        kept = frequency > 0
        if not kept.any():
            raise ValueError("sample_weight is 0 everywhere: there is nothing to learn from")
        return x[kept], y[kept], frequency[kept]

    def _draw(self, x: Array, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw predictors (S, N) and thresholds with −∞ and ∞ at their ends, (S, K + 1)."""
        z = self._standardization.of(x)[:, 1:]
        points = np.asarray(self._weights.sample(size, rng=rng))
        while (wrong := (np.diff(points[:, z.shape[1] :], axis=1) <= 0).any(axis=1)).any():
            points[wrong] = self._weights.sample(int(wrong.sum()), rng=rng)
        weights, thresholds = np.split(points, [z.shape[1]], axis=1)
        ends = np.pad(thresholds, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
        return weights @ z.T, ends

    def _codes(self, y: Any) -> Any:
        """Return the places of categories in their order; refuse one that was never seen."""
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        strange = np.flatnonzero(self.classes_[codes] != y)
        if len(strange):
            raise ValueError(
                f"y has the category {y[strange[0]]} in row {strange[0]}, which was not there when "
                f"the model was fitted; it knows {', '.join(map(str, self.classes_))}"
            )
        return codes

    def _turn(self) -> Array:
        """Return T with raw weights and thresholds (w, c) = T (v, c̄): w = v/s, c = c̄ + m·w."""
        mean, scale = self._standardization.mean, self._standardization.scale
        d, size = len(mean), len(mean) + len(self.classes_) - 1
        turn = np.diag(np.concatenate([1.0 / scale, np.ones(size - d)]))
        turn[d:, :d] = mean / scale
        return turn


class _Rows(NamedTuple):
    """Log probabilities of rows and their derivatives in the two thresholds around each.

    Attributes
    ----------
    value, above, below : (n,)
        ln p, and its slopes in the thresholds above and below.
    bend_above, bend_below, tie : (n,)
        Minus the second derivatives are bend_above + tie and bend_below + tie, and −tie across.
    """

    value: Array
    above: Array
    below: Array
    bend_above: Array
    bend_below: Array
    tie: Array


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
        self.frequency = np.ones(len(x)) if frequency is None else frequency
        self.alpha = alpha
        self.n_classes = int(codes.max()) + 1
        counts = np.bincount(codes, weights=self.frequency, minlength=self.n_classes)
        share = np.cumsum(counts)[:-1] / counts.sum()
        self.mean = np.concatenate([np.zeros(x.shape[1]), special.logit(share)])

    def value_and_gradient(self, w: Array) -> tuple[float, Array]:
        """Return the log posterior and its gradient."""
        d = self.x.shape[1]
        if np.any(np.diff(w[d:]) <= 0):
            return -np.inf, np.zeros_like(w)
        offset = w - self.mean
        total, gradient = -0.5 * self.alpha * float(offset @ offset), -self.alpha * offset
        for x, codes, f, row in self._blocks(w):
            total += float(f @ row.value)
            gradient[:d] -= (f * (row.above + row.below)) @ x
            gradient[d:] += np.bincount(codes, f * row.above, self.n_classes)[:-1]
            gradient[d:] += np.bincount(codes, f * row.below, self.n_classes)[1:]
        return total, gradient

    def curvature(self, w: Array) -> Array:
        """Return minus the Hessian of the log posterior."""
        d, k = self.x.shape[1], self.n_classes
        total = self.alpha * np.eye(len(w))
        for x, codes, f, row in self._blocks(w):
            total[:d, :d] += weighted_gram(x, f * (row.bend_above + row.bend_below))
            touched = np.zeros((len(x), k + 1))  # thresholds −∞, c₁, …, ∞ by rows
            at = np.arange(len(x))
            touched[at, codes + 1] = f * row.bend_above
            touched[at, codes] = f * row.bend_below
            cross = x.T @ touched[:, 1:-1]
            total[:d, d:] -= cross
            total[d:, :d] -= cross.T
            tie = np.bincount(codes, f * row.tie, k)
            total[d:, d:] += np.diag(touched.sum(axis=0)[1:-1] + tie[:-1] + tie[1:])
            total[d:, d:] -= np.diag(tie[1:-1], 1) + np.diag(tie[1:-1], -1)
        return total

    def _blocks(self, w: Array) -> Any:
        d = self.x.shape[1]
        step = max(1, _BLOCK // max(d, 1))
        ends = np.concatenate([[-np.inf], w[d:], [np.inf]])
        for first in range(0, len(self.x), step):
            here = slice(first, first + step)
            x, codes = self.x[here], self.codes[here]
            eta = x @ w[:d]
            yield x, codes, self.frequency[here], _rows(ends[codes] - eta, ends[codes + 1] - eta)


def _rows(low: Array, high: Array) -> _Rows:
    """Return ln p and derivatives for p = σ(h) − σ(l) = σ(h) σ(−l) (1 − e^(l−h))."""
    inner = 1.0 / np.expm1(high - low)
    value = _log_probability(low, high)
    up, down = special.expit(-high), special.expit(low)
    return _Rows(
        value,
        up + inner,
        -down - inner,
        up * special.expit(high),
        down * special.expit(-low),
        inner * (1.0 + inner),
    )


def _log_probability(low: Array, high: Array) -> Array:
    """Return ln{σ(h) σ(−l) (1 − e^(l−h))}."""
    return special.log_expit(high) + special.log_expit(-low) + np.log(-np.expm1(low - high))
