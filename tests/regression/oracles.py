"""Regression the slow and obvious way: dense normal and Student t densities of all targets."""

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
