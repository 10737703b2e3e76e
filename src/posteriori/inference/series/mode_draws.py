r"""Integrals over a few numbers with a normal prior: the mode, the curvature there, importance draws.

.. math:: \ln\int p(y\mid θ)\,p(θ)\,dθ \approx \ln \sum_s \omega_s\,p(y\mid θ_s), \qquad
          \omega_s = \frac{p(θ_s)/S}{\alpha\,t_5(θ_s; \hat θ, H^{-1}) + (1-\alpha)\,p(θ_s)}.

Some of the draws are those of the prior, so no ratio exceeds 1/(1−α), and the first values of a series,
of which the prior alone speaks, are predicted as well as the last. Points are those of a lattice
(Kronecker's sequence): no randomness, and errors smaller than those of as many random draws.

Reference: A. Owen & Y. Zhou, "Safe and effective importance sampling", 2000.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from posteriori.numerics.lazy import optimize, scipy_linalg, special
from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["ModeDraws", "ParameterPrior", "Peak", "climb_to_peak", "draw_around_peaks", "next_peak"]

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


def draw_around_peaks(
    peaks: Sequence[Peak], prior: ParameterPrior, around: int, before: int
) -> ModeDraws:
    """Return points with weights: so many around each mode, so many from the prior."""
    size, total = len(prior.mean), around * len(peaks) + before
    u = _lattice(total, size + 1)
    normals = special.ndtri(u[:, :size])
    tails = np.sqrt(_DOF / special.chdtri(_DOF, u[:, size]))
    points = [prior.mean + _spread(prior.precision, normals[around * len(peaks) :])]
    for k, peak in enumerate(peaks):
        here = slice(around * k, around * (k + 1))
        points.append(peak.at + tails[here, None] * _spread(peak.precision, normals[here]))
    made = np.concatenate(points)
    log_prior = prior.log_density(made)
    log_mix = np.log(before / total) + log_prior
    for peak in peaks:
        log_mix = np.logaddexp(log_mix, np.log(around / total) + _log_student(made, peak))
    return ModeDraws(made, log_prior - log_mix - np.log(total))


def next_peak(
    log_likelihood: Slopes,
    prior: ParameterPrior,
    peaks: Sequence[Peak],
    draws: Array,
    weights: Array,
) -> Peak:
    """Return a further mode, found from the draw of largest weight, or the spread of the draws.

    A few draws have all the weight where the others were not looked for: around another mode, or in
    a tail that is wider than the curvature at the top says.

    Parameters
    ----------
    log_likelihood, prior
        As of :func:`climb_to_peak`.
    peaks : sequence of Peak
        Those that are known.
    draws, weights : (S, K), (S,)
        Draws of the posterior.
    """
    found = climb_to_peak(log_likelihood, prior, draws[np.argmax(weights)])
    if all(_are_apart(found, peak) for peak in peaks):
        return found
    mean = weights @ draws
    gaps = draws - mean
    cov = (weights[:, None] * gaps).T @ gaps + _inverse(peaks[0].precision)
    return Peak(mean, peaks[0].log_height, _inverse(cov))


def _are_apart(one: Peak, other: Peak) -> bool:
    gap = one.at - other.at
    return bool(gap @ other.precision @ gap > 1.0)


def _inverse(cov: Array) -> Array:
    return inverse_from_factor(np.linalg.cholesky(cov))


def _spread(precision: Array, normals: Array) -> Array:
    """Turn standard normals (S, K) into those of a precision."""
    root = np.linalg.cholesky(precision).T
    return scipy_linalg.solve_triangular(root, normals.T, lower=False).T


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
