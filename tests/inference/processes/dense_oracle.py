"""Gaussian processes by plain algebra: every row on its own, all matrices whole."""

import numpy as np
from scipy.stats import multivariate_normal

from posteriori.inference.processes.noise_parts import noiseless, silenced


def plain_covariance(kernel, X, mean, variance=None, absolute=False):
    """Return the covariance of all targets, equal inputs included."""
    cov = silenced(kernel).evaluate(X, X) + mean.columns(X) @ mean.columns(X).T
    noise = np.ones(len(X)) if absolute else kernel.diagonal(X) - silenced(kernel).diagonal(X)
    return cov + np.diag(noise * (1.0 if variance is None else variance))


def plain_evidence(kernel, X, y, mean, variance=None, absolute=False):
    cov = plain_covariance(kernel, X, mean, variance, absolute)
    center = np.broadcast_to(mean.center, y.shape[1:])
    return sum(
        multivariate_normal(np.full(len(y), c), cov).logpdf(column)
        for c, column in zip(center, y.T, strict=True)
    )


def plain_posterior(kernel, X, y, new, mean, variance=None, absolute=False):
    """Return means (M, Q) and covariance (M, M) of the function at new points."""
    cov = plain_covariance(kernel, X, mean, variance, absolute)
    function = silenced(kernel)
    across = function.evaluate(new, X) + mean.columns(new) @ mean.columns(X).T
    prior = function.evaluate(new, new) + mean.columns(new) @ mean.columns(new).T
    weights = np.linalg.solve(cov, across.T).T
    return mean.center + weights @ (y - mean.center), prior - weights @ across.T


def plain_effect(kernel, part, X, y, new, mean):
    """Return means (M, Q) and variances (M,) of a summand at new points."""
    cov = plain_covariance(kernel, X, mean)
    part = noiseless(part)
    across = part.evaluate(new, X)
    weights = np.linalg.solve(cov, across.T).T
    return weights @ (y - mean.center), part.diagonal(new) - np.einsum("mn,mn->m", weights, across)


def slopes(value, kernel, step=1e-5):
    """Return ∂ value/∂ ln θ by central differences."""
    at = kernel.log_parameters
    steps = step * np.eye(len(at))
    return np.array(
        [
            (value(kernel.with_log_parameters(at + s)) - value(kernel.with_log_parameters(at - s)))
            / (2.0 * step)
            for s in steps
        ]
    )
