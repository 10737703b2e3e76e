r"""Integrals over a few numbers with a normal prior: the mode, the curvature there, importance draws.

.. math:: \ln\int p(y\mid θ)\,p(θ)\,dθ \approx \ln \sum_s \omega_s\,p(y\mid θ_s), \qquad
          \omega_s = \frac{p(θ_s)/S}{\alpha\,t_5(θ_s; \hat θ, H^{-1}) + (1-\alpha)\,p(θ_s)}.

Some of the draws are those of the prior, so no ratio exceeds 1/(1−α), and the first values of a series,
of which the prior alone speaks, are predicted as well as the last. Points are those of a lattice
(Kronecker's sequence): no randomness, and errors smaller than those of as many random draws.

The mode is found by Newton's steps whose slopes and curvature are differences of likelihoods around a
point, which are asked for together: what they lack in digits moves the draws a little, not the integral.

Reference: A. Owen & Y. Zhou, "Safe and effective importance sampling", 2000.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from posteriori.numerics.lazy import lapack, scipy_linalg, special
from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, IntArray

__all__ = ["ModeDraws", "ParameterPrior", "Peak", "climb_to_peak", "draw_around_peaks", "next_peak"]

#: Degrees of freedom of the draws around the mode: tails heavier than those of the posterior.
_DOF = 5.0
#: Step of the finite differences, in the units of the numbers.
_STEP = 0.05
#: Newton's steps at most, none of whose numbers is longer than this; a step that does not climb is cut to this
#: share, so often.
_MOST_STEPS, _LONGEST, _CUT, _MOST_CUTS = 50, 3.0, 0.25, 6
#: Nats that are left to climb, twice, below which the top of the parabola is as good as the mode.
_LEVEL = 1e-2
#: Points that are asked for together.
_TOGETHER = 256
#: No direction is known less well than by this share of what the prior knows.
_LEAST_KNOWN = 0.3

LogLikelihoods = Callable[[Array], Array]


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


class _Slope(NamedTuple):
    """The parabola at a point (K,): height and slope (K,) there, and precision (K, K)."""

    at: Array
    height: float
    slope: Array
    precision: Array


def climb_to_peak(log_likelihoods: LogLikelihoods, prior: ParameterPrior, start: Array) -> Peak:
    """Return the mode of a posterior from values of the log-likelihood.

    Parameters
    ----------
    log_likelihoods : callable
        From rows θ (S, K) to ln p(y | θ), (S,).
    prior : ParameterPrior
    start : (K,)
    """
    here = _look_around(log_likelihoods, prior, start)
    for _ in range(_MOST_STEPS):
        step = np.linalg.solve(here.precision, here.slope)
        left = float(step @ here.slope)
        if left < _LEVEL:
            return Peak(here.at + step, here.height + 0.5 * left, here.precision)
        step *= min(1.0, _LONGEST / np.abs(step).max())
        higher = _climb_along(log_likelihoods, prior, here, step)
        if higher is None:
            break
        here = higher
    return Peak(here.at, here.height, here.precision)


def _climb_along(
    log_likelihoods: LogLikelihoods, prior: ParameterPrior, here: _Slope, step: Array
) -> _Slope | None:
    """Return what is around the end of a step, cut until it climbs; None if it never does."""
    for cut in range(_MOST_CUTS):
        there = _look_around(log_likelihoods, prior, here.at + _CUT**cut * step)
        if there.height > here.height:
            return there
    return None


def _look_around(log_likelihoods: LogLikelihoods, prior: ParameterPrior, at: Array) -> _Slope:
    """Return the parabola at a point, none of whose directions is known less than the prior knows it."""
    size, (around, first, second) = len(at), _neighbours(len(at))
    points = at + _STEP * around
    starts = range(0, len(points), _TOGETHER)
    values = np.concatenate([log_likelihoods(points[s : s + _TOGETHER]) for s in starts])
    top, up, down = values[0], values[1 : 1 + size], values[1 + size : 1 + 2 * size]
    slope = (up - down) / (2.0 * _STEP) + prior.slope(at)
    curvature = np.diag(up + down - 2.0 * top)
    across = values[1 + 2 * size :] - up[first] - up[second] + top
    curvature[first, second] = curvature[second, first] = across
    precision = _at_least(prior.precision - curvature / _STEP**2, prior.precision)
    return _Slope(at, float(top + prior.log_density(at)), slope, precision)


@cache
def _neighbours(size: int) -> tuple[Array, IntArray, IntArray]:
    """Return 0, the directions, their opposites and the sums of two, and which two those are."""
    one, (first, second) = np.eye(size), np.triu_indices(size, 1)
    return np.vstack([np.zeros(size), one, -one, one[first] + one[second]]), first, second


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
    log_likelihoods: LogLikelihoods,
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
    log_likelihoods, prior
        As of :func:`climb_to_peak`.
    peaks : sequence of Peak
        Those that are known.
    draws, weights : (S, K), (S,)
        Draws of the posterior.
    """
    found = climb_to_peak(log_likelihoods, prior, draws[np.argmax(weights)])
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
    if not lapack.dpotrf(precision - _LEAST_KNOWN * least)[1]:  # none is
        return precision
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
