r"""Regression for ordered categories: thresholds on a latent scale.

.. math:: P(y \le k) = \sigma(c_k - x\cdot w),\qquad c_1 < c_2 < \dots

with σ the logistic function. The log likelihood is concave in thresholds and weights together.

Reference: P. McCullagh, "Regression models for ordinal data", 1980.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.labelled_rows import (
    LabelledRows,
    check_known_labels,
    check_labelled_rows,
)
from posteriori.estimators.linear_predictor import LearnedWeights, LinearPredictorEstimator
from posteriori.estimators.standardized import standardize
from posteriori.inference.predictors.curves.ordered_curves import (
    log_probability_between,
    ordered_probabilities,
    ordered_rows,
)
from posteriori.inference.predictors.generalized_linear import weighted_gram
from posteriori.inference.predictors.mode_finding import find_mode
from posteriori.inference.predictors.weight_belief import WeightBelief, laplace_belief
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.regression.generalized.ordered_normals import log_probability_of_order

__all__ = ["OrdinalRegression"]


class OrdinalRegression(ClassifierMixin, LinearPredictorEstimator):
    """Ordered categories by thresholds on a linear predictor, with the posterior by Laplace's method.

    Weights of standardised columns have the prior N(0, 1/α), thresholds N(logit of the share of
    targets below them, 1/α) where they are in order, and density 0 elsewhere. The order of the categories is that of their sorted values.

    Parameters
    ----------
    prior_precision : float
        Precision α.
    tol, max_iter
        As of :class:`PoissonRegressor`.

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

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> LabelledRows:
        return check_labelled_rows(self, X, y, sample_weight)

    def _learn(self, rows: LabelledRows) -> LearnedWeights:
        self.classes_ = rows.classes
        self._standardization, design = standardize(rows.x, rows.frequency, intercept=True)
        alpha = float(self.prior_precision)
        density = _Thresholds(design[:, 1:], rows.codes, rows.frequency, alpha)
        mode = find_mode(density, density.mean, tol=self.tol, max_iter=self.max_iter)
        precision = np.full(len(mode.point), alpha)
        belief = laplace_belief(mode, precision)
        # the prior's density is that of thresholds in order, which is all of it
        ordered = log_probability_of_order(density.mean[design.shape[1] - 1 :], alpha**-0.5)
        belief = belief._replace(log_evidence=belief.log_evidence - ordered)
        return LearnedWeights(belief, precision, prior=(density.mean, precision))

    def _targets_of(self, rows: LabelledRows) -> Any:
        return rows.codes

    def _named_weights(self, draws: Array) -> dict[str, Array]:
        mean, scale = self._standardization.mean, self._standardization.scale
        raw, thresholds = draws[:, : len(mean)] / scale, draws[:, len(mean) :]
        return {"coef": raw, "thresholds": thresholds + (raw @ mean)[:, None]}

    def _state(self, belief: WeightBelief) -> MvNormal:
        """Turn by T, with weights and thresholds (w, c) = T (v, c̄): w = v/s, c = c̄ + m·w."""
        mean, scale = self._standardization.mean, self._standardization.scale
        d, size = len(mean), len(belief.mean)
        turn = np.diag(np.concatenate([1.0 / scale, np.ones(size - d)]))
        turn[d:, :d] = mean / scale
        return MvNormal(turn @ belief.mean, cov=turn @ belief.cov @ turn.T)

    def _name_weights(self) -> None:
        self.coef_, self.thresholds_ = np.split(self.posterior_.mean, [self.n_features_in_])

    def predict_dist(self, X: Any) -> Categorical:
        """Return the probabilities of the categories, with weights and thresholds integrated out.

        The probability of a category or a lower one is the mean of σ(c − x·w) over the normal
        posterior of c − x·w.
        """
        z = self._design(X)[:, 1:]
        d, mean, cov = z.shape[1], self._weights.mean, self._weights.cov
        centre = mean[d:] - (z @ mean[:d])[:, None]
        variance = np.diagonal(cov)[d:] - 2.0 * z @ cov[:d, d:]
        variance = variance + ((z @ cov[:d, :d]) * z).sum(axis=1)[:, None]
        return Categorical(ordered_probabilities(centre, variance))

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the categories, (N, K)."""
        return np.asarray(self.predict_dist(X).probabilities)

    def predict(self, X: Any) -> Any:
        """Return the most probable category of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    # -- how the rows fare -------------------------------------------------------------------

    def _known_rows(self, X: Any, y: Any) -> tuple[Array, Any]:
        design = self._design(X)
        return design, check_known_labels(self, design, y)

    def _log_likelihood(self, draws: Array, design: Array, targets: Any) -> Array:
        eta, ends = self._predictors(draws, design)
        low = np.take_along_axis(ends, targets[None], axis=1) - eta
        high = np.take_along_axis(ends, targets[None] + 1, axis=1) - eta
        return log_probability_between(low, high)

    def _draw_targets(self, draws: Array, design: Array, rng: np.random.Generator) -> Any:
        eta, ends = self._predictors(draws, design)
        latent = eta + rng.logistic(size=eta.shape)
        codes = (latent[..., None] > ends[:, None, 1:-1]).sum(axis=2)
        return self.classes_[codes]

    def _draw(self, size: int, rng: np.random.Generator, design: Any) -> Array:
        """Draw again where thresholds are not in order, which a normal posterior also has."""
        points = super()._draw(size, rng, design)
        d = self.n_features_in_
        while (wrong := (np.diff(points[:, d:], axis=1) <= 0).any(axis=1)).any():
            points[wrong] = super()._draw(int(wrong.sum()), rng, design)
        return points

    def _predictors(self, draws: Array, design: Array) -> tuple[Array, Array]:
        """Return predictors (S, n), and thresholds with −∞ and ∞ at their ends, (S, K + 1)."""
        weights, thresholds = np.split(draws, [self.n_features_in_], axis=1)
        ends = np.pad(thresholds, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
        return weights @ design[:, 1:].T, ends

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_)


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
        step = rows_per_block(d)
        ends = np.concatenate([[-np.inf], w[d:], [np.inf]])
        for first in range(0, len(self.x), step):
            here = slice(first, first + step)
            x, codes = self.x[here], self.codes[here]
            eta = x @ w[:d]
            yield (
                x,
                codes,
                self.frequency[here],
                ordered_rows(ends[codes] - eta, ends[codes + 1] - eta),
            )
