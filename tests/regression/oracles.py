"""Regression the slow and obvious way: dense normal and Student t densities of all targets."""

from typing import NamedTuple

import numpy as np
from scipy import stats


def as_matrix(precision, d):
    p = np.asarray(precision, dtype=float)
    return p if p.ndim == 2 else np.diag(np.broadcast_to(p, (d,)))


def prior_predictive(X, precision, mean=0.0, *, intercept=None, variance=None):
    """Mean and covariance of y for unit noise: weights N(mean, precision⁻¹) at centred X.

    ``intercept`` is (mean, precision) of the value at the weighted column means.
    """
    d = X.shape[1]
    variance = np.ones(len(X)) if variance is None else variance
    if intercept is not None:
        X = X - np.average(X, axis=0, weights=1.0 / variance)
    centre = X @ np.broadcast_to(mean, (d,))
    cov = np.diag(variance) + X @ np.linalg.solve(as_matrix(precision, d), X.T)
    if intercept is not None:
        centre, cov = centre + intercept[0], cov + 1.0 / intercept[1]
    return centre, cov


def known_noise_log_evidence(y, mean, cov, noise_precision):
    return stats.multivariate_normal(mean, cov / noise_precision).logpdf(y)


def integrated_log_evidence(y, mean, cov, shape, scale):
    """σ² ~ InverseGamma(shape, scale): a Student t of 2·shape degrees of freedom."""
    return stats.multivariate_t(mean, cov * scale / shape, df=2 * shape).logpdf(y)


def problem(seed=0, n=12, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(1.0, 3.0, d) + 2.0
    y = X @ rng.normal(size=d) + 1.5 + rng.normal(size=n)
    return X, y, rng


class LeastSquares(NamedTuple):
    """The textbook: weights b = (XᵀWX)⁻¹XᵀWy, s² = RSS/(N − D), t intervals of N − D degrees."""

    weights: np.ndarray
    inverse: np.ndarray
    dof: int
    variance: float

    @classmethod
    def fit(cls, design, y, noise_variance=None):
        w = 1.0 if noise_variance is None else 1.0 / noise_variance
        inverse = np.linalg.inv(design.T @ (design.T * w).T)
        weights = inverse @ design.T @ (w * y)
        dof = len(y) - design.shape[1]
        return cls(weights, inverse, dof, np.sum(w * (y - design @ weights) ** 2) / dof)

    def of_weights(self):
        return stats.t(self.dof, self.weights, np.sqrt(self.variance * np.diag(self.inverse)))

    def of_targets(self, design, noise_variance=1.0):
        leverage = np.sum((design @ self.inverse) * design, axis=1)
        scale = np.sqrt(self.variance * (noise_variance + leverage))
        return stats.t(self.dof, design @ self.weights, scale)
