r"""The normal belief about weights with the highest bound of the evidence.

Of all normal beliefs q = N(m, S) the one with the smallest divergence from the posterior has

.. math:: m = \arg\max_m \Big\{\sum_n \langle\ln p(y_n\mid\eta_n)\rangle_q + \ln p(m)\Big\},\qquad
   S^{-1} = \Lambda_0 - \sum_n \langle\nabla^2\ln p(y_n\mid\eta_n)\rangle_q ,

with means over the predictors of rows alone. For given S the first is an ascent like that to the mode;
the second then renews S, by a part of the way where it would overshoot. One round from the mode is
the correction of Laplace's method for skewed posteriors.

References: M. Opper & C. Archambeau, "The variational Gaussian approximation revisited", 2009;
J. van Niekerk & H. Rue, "Low-rank variational Bayes correction to the Laplace method", 2024.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from posteriori.inference.predictors.generalized_linear import Curve, Likelihood, Rows
from posteriori.inference.predictors.mode_finding import LogDensity, Mode, find_mode
from posteriori.inference.predictors.weight_belief import Progress, WeightBelief
from posteriori.numerics.calculus.normal_rule import rules_by_width
from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.types import Array

__all__ = ["FEW_DIGITS", "averaged_likelihood", "find_mean", "fit_normal_bound", "move_to_mean"]

#: The part of the way that covariances go is halved where they overshoot, down to this.
_LEAST_DAMPING = 0.05

#: Means are found to this part of the step before.
_INNER = 0.01

#: Most steps to a mean; sums over the nodes of very wide beliefs are too rough to need more.
_MOST_INNER = 60

#: Steps of more standard deviations are first made with rough means, to this many.
_FAR, _ROUGHLY = 1.0, 0.5

#: Digits of the means over predictors, and of those that are wanted to a hundredth of a standard deviation.
_DIGITS, FEW_DIGITS = 9.0, 4.0


@runtime_checkable
class _Roughened(Protocol):
    """A log density of several predictors, whose means can be had over few nodes."""

    def roughly(self) -> LogDensity: ...


def averaged_likelihood(
    likelihood: Likelihood, variance: Array, digits: float = _DIGITS, *, singularity: float = np.pi
) -> Likelihood:
    """Return the mean of log likelihoods over predictors with these variances, and its derivatives.

    Parameters
    ----------
    likelihood : callable
    variance : (N,)
    digits : float
        Of the means.
    singularity : float
        How far the nearest singularity of the log likelihood is from the real line; of a logistic one
        that is π.
    """
    std, places = np.sqrt(variance), np.arange(len(variance))
    unit = np.pi / singularity

    def average(eta: Array, shape: float, rows: Rows) -> Curve:
        spread, place = std[rows], places[rows]
        means = np.empty((3, len(eta)))
        for some, z, weights in rules_by_width(unit * spread, np.pi, digits):
            at = eta[some, None] + spread[some, None] * z
            curve = likelihood(at.ravel(), shape, np.repeat(place[some], len(z)))
            for mean, values in zip(means, curve[:3], strict=True):
                mean[some] = values.reshape(at.shape) @ weights
        return Curve(*means)

    return average


def fit_normal_bound(
    density_of: Callable[[Array], LogDensity],
    start: Mode,
    prior_precision: Array,
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> WeightBelief:
    """Return the normal belief with the highest bound.

    Parameters
    ----------
    density_of : callable
        From a covariance of the weights (P, P) to the log posterior whose log likelihoods are means
        over predictors with that covariance.
    start : Mode
        Of the log posterior.
    prior_precision : (P,)
        Of independent normal priors.
    tol : float
        It ends when a round moves no mean by more than this many standard deviations, and the log
        determinant of the precision by no more than this.
    max_iter : int
        Most rounds. It also ends, without having converged, where rounds have long ceased to shrink or
        no mean is found; what is returned is still a bound.

    Notes
    -----
    Costs a few gradients and a Hessian a round.
    """
    mode, mean = start, start.point
    precision, cov = _definite(start)
    progress = Progress(tol, _LEAST_DAMPING)
    while not (progress.converged or progress.stalled) and progress.n_iter < max_iter:
        density = density_of(cov)
        near = max(0.1 * tol, _INNER * min(1.0, progress.step))
        mode = find_mean(density, mean, mode, near, far=progress.step > _FAR)
        if not mode.converged:
            break
        change = mode.precision - precision
        step = float(np.abs((mode.point - mean) / np.sqrt(np.diagonal(cov))).max())
        progress.note(max(step, abs(float((change * cov).sum()))))
        mean = mode.point
        precision, cov = _moved(precision, progress.damping * change)
    bound, _ = density_of(cov).value_and_gradient(mean)  # includes −½(m − m₀)ᵀΛ₀(m − m₀)
    bound += 0.5 * float(np.log(prior_precision).sum() + np.linalg.slogdet(cov)[1])
    bound += 0.5 * float(len(mean) - prior_precision @ np.diagonal(cov))
    return WeightBelief(mean, cov, bound, progress.n_iter, progress.converged, progress.step)


def move_to_mean(
    belief: WeightBelief, density_of: Callable[[Array], LogDensity], mode: Mode
) -> WeightBelief:
    """Return Laplace's belief after a round of :func:`fit_normal_bound`, with its own evidence.

    Where no mean is found it stays as it is.
    """
    moved = find_mean(density_of(belief.cov), mode.point, mode)
    if not moved.converged:
        return belief
    return belief._replace(mean=moved.point, cov=_inverse(moved.precision))


def find_mean(
    density: LogDensity, start: Array, near: Mode, tol: float = _INNER, *, far: bool = True
) -> Mode:
    """Return the mode of averaged likelihoods, with the curvature there where it was found.

    Parameters
    ----------
    density : LogDensity
        With means over predictors.
    start : (P,)
    near : Mode
        Of the log posterior without them.
    tol : float
        In standard deviations.
    far : bool
        Whether sums over few nodes, where there are several predictors, lead near it first.
    """
    limits: dict[str, Any] = {"max_iter": _MOST_INNER, "curvature_at_mode": False}
    if far and isinstance(density, _Roughened):
        rough = find_mode(density.roughly(), start, tol=_ROUGHLY, near=near, **limits)
        mode = find_mode(density, rough.point, tol=tol, **limits)
    else:
        mode = find_mode(density, start, tol=tol, near=near, **limits)
    return mode._replace(precision=density.curvature(mode.point)) if mode.converged else mode


def _moved(precision: Array, change: Array) -> tuple[Array, Array]:
    """Return a precision moved by as much of a change as it stays definite by, and its inverse.

    That is all of it where likelihoods are log-concave.
    """
    while True:
        try:
            return precision + change, _inverse(precision + change)
        except np.linalg.LinAlgError:
            change = 0.5 * change


def _definite(mode: Mode) -> tuple[Array, Array]:
    """Return the precision at a mode and its inverse; where it is flat, bends that are negative by rounding turn up."""
    try:
        return mode.precision, _inverse(mode.precision)
    except np.linalg.LinAlgError:
        return mode.factor @ mode.factor.T, inverse_from_factor(mode.factor)


def _inverse(precision: Array) -> Array:
    return inverse_from_factor(np.linalg.cholesky(precision))
