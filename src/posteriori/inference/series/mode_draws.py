r"""Integrals over a few numbers with a normal prior: the mode, the curvature there, importance draws.

.. math:: \ln\int p(y\mid θ)\,p(θ)\,dθ \approx \ln \sum_s \omega_s\,p(y\mid θ_s), \qquad
          \omega_s = \frac{p(θ_s)/S}{\alpha\,t_5(θ_s; \hat θ, H^{-1}) + (1-\alpha)\,p(θ_s)}.

Some of the draws are those of the prior, so no ratio exceeds 1/(1−α), and the first values of a series,
of which the prior alone speaks, are predicted as well as the last. Points are those of a lattice
(Kronecker's sequence): no randomness, and errors smaller than those of as many random draws.

Reference: A. Owen & Y. Zhou, "Safe and effective importance sampling", 2000.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from posteriori.numerics.lazy import optimize, scipy_linalg, special
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["ModeDraws", "ParameterPrior", "Peak", "climb_to_peak", "draw_around_peak"]

#: Degrees of freedom of the draws around the mode: tails heavier than those of the posterior.
_DOF = 5.0
#: Step of the finite differences of slopes, in the units of the numbers.
_STEP = 0.05
#: No direction is known less well than by this share of what the prior knows.
_LEAST_KNOWN = 0.3

Slopes = Callable[[Array], tuple[float, Array]]


class ParameterPrior(NamedTuple):
    """A normal prior of K numbers by mean (K,) and precision (K, K)."""

    mean: Array
    precision: Array

    def log_density(self, points: Array) -> Array:
        """Return ln p of points (..., K)."""
        return _log_normal(points, self.mean, self.precision)

    def slope(self, point: Array) -> Array:
        """Return ∇ ln p."""
        return -self.precision @ (point - self.mean)


class Peak(NamedTuple):
    """The mode of a posterior.

    Attributes
    ----------
    at : (K,)
    log_height : float
        ln p(y, θ) there.
    precision : (K, K)
        −∇² of it, made positive definite.
    """

    at: Array
    log_height: float
    precision: Array

    @property
    def log_integral(self) -> float:
        """Laplace's approximation of the evidence."""
        half_volume = np.log(np.diag(np.linalg.cholesky(self.precision))).sum()
        return self.log_height + 0.5 * len(self.at) * LOG_2PI - float(half_volume)


class ModeDraws(NamedTuple):
    """Points (S, K) and ln ω (S,): sums of ω f(θ) approximate E[f] under the prior."""

    points: Array
    log_weights: Array


def climb_to_peak(log_likelihood: Slopes, prior: ParameterPrior, start: Array) -> Peak:
    """Return the mode of a posterior from values and slopes of the log-likelihood.

    Parameters
    ----------
    log_likelihood : callable
        From θ (K,) to ln p(y | θ) and its slope (K,).
    prior : ParameterPrior
    start : (K,)
    """

    def descent(point: Array) -> tuple[float, Array]:
        value, slope = log_likelihood(point)
        return -value - float(prior.log_density(point)), -slope - prior.slope(point)

    if len(start) == 0:
        return Peak(start, -descent(start)[0], np.zeros((0, 0)))
    found = optimize.minimize(descent, start, jac=True, method="BFGS", options={"gtol": 1e-3})
    precision = np.empty((len(start), len(start)))
    for k in range(len(start)):
        step = np.zeros(len(start))
        step[k] = _STEP
        precision[k] = (descent(found.x + step)[1] - descent(found.x - step)[1]) / (2.0 * _STEP)
    return Peak(found.x, -float(found.fun), _at_least(precision, prior.precision))


def draw_around_peak(peak: Peak, prior: ParameterPrior, around: int, before: int) -> ModeDraws:
    """Return points with weights: so many around a mode, so many from the prior."""
    size = len(peak.at)
    u = _lattice(around + before, size + 1)
    normals = special.ndtri(u[:, :size])
    spread = scipy_linalg.solve_triangular(
        np.linalg.cholesky(peak.precision).T, normals[:around].T, lower=False
    ).T
    tails = np.sqrt(_DOF / special.chdtri(_DOF, u[:around, size]))
    root = np.linalg.cholesky(prior.precision).T
    wide = scipy_linalg.solve_triangular(root, normals[around:].T, lower=False).T
    points = np.concatenate([peak.at + tails[:, None] * spread, prior.mean + wide])
    log_prior = prior.log_density(points)
    share = around / (around + before)
    log_near = np.log(share) + _log_student(points, peak)
    log_mix = np.logaddexp(log_near, np.log1p(-share) + log_prior)
    return ModeDraws(points, log_prior - log_mix - np.log(len(points)))


def _at_least(precision: Array, least: Array) -> Array:
    """Return a precision none of whose directions is known less than by a share of ``least``."""
    root = np.linalg.cholesky(_LEAST_KNOWN * least)
    inner = np.linalg.solve(root, np.linalg.solve(root, 0.5 * (precision + precision.T)).T)
    values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
    return root @ ((vectors * np.maximum(values, 1.0)) @ vectors.T) @ root.T


def _log_normal(points: Array, mean: Array, precision: Array) -> Array:
    gaps = points - mean
    half_volume = np.log(np.diag(np.linalg.cholesky(precision))).sum()
    square = ((gaps @ precision) * gaps).sum(axis=-1)
    return half_volume - 0.5 * (square + len(mean) * LOG_2PI)


def _log_student(points: Array, peak: Peak) -> Array:
    size, gaps = len(peak.at), points - peak.at
    square = ((gaps @ peak.precision) * gaps).sum(axis=-1)
    constant = special.gammaln(0.5 * (_DOF + size)) - special.gammaln(0.5 * _DOF)
    constant -= 0.5 * size * np.log(_DOF * np.pi)
    constant += np.log(np.diag(np.linalg.cholesky(peak.precision))).sum()
    return constant - 0.5 * (_DOF + size) * np.log1p(square / _DOF)


def _lattice(count: int, size: int) -> Array:
    """Return points (S, K) that fill the unit cube evenly, in any prefix: k·α mod 1."""
    root = 1.0
    for _ in range(50):  # the positive root of x^(K+1) = x + 1
        root = (1.0 + root) ** (1.0 / (size + 1))
    alpha = root ** -np.arange(1.0, size + 1)
    return (0.5 + np.arange(1, count + 1)[:, None] * alpha) % 1.0
