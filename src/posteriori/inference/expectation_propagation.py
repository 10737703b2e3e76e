r"""Expectation propagation for likelihoods of one linear predictor.

Every row has a site :math:`e^{\nu\eta - \tau\eta^2/2}` in place of its likelihood. Taking one site
away leaves the cavity N(m, v) of that predictor; the site is then chosen so that the belief has the
moments of cavity × likelihood. With :math:`Z(m, v) = E_{N(m, v)}[p(y\mid\eta)]`,
:math:`\alpha = \partial_m\ln Z` and :math:`\beta = -\partial_m^2\ln Z`,

.. math:: \tau = \frac{\beta}{1 - v\beta},\qquad \nu = \frac{\alpha + m\beta}{1 - v\beta}.

All sites change together (in parallel), by a part of the way where they would overshoot. At the end

.. math:: \ln p(y) \approx A(\Lambda, h) - A(\Lambda_0, h_0) + \sum_n\{\ln Z_n - A_n + A_n^{\setminus n}\}

with A the log normaliser of a normal distribution with that precision and shift.

References: T. Minka, "Expectation propagation for approximate Bayesian inference", 2001;
C. Rasmussen & C. Williams, "Gaussian processes for machine learning", 2006, sec. 3.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from posteriori.inference.class_curves import probit_curve
from posteriori.inference.generalized_linear import Curve, weighted_gram
from posteriori.inference.weight_belief import WeightBelief, row_moments
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = ["Sites", "Tilted", "curvature_sites", "fit_sites", "logistic_tilt", "probit_tilt"]

#: The part of the way that sites go is halved where they overshoot, down to this.
_LEAST_DAMPING = 0.1

#: Nodes reach this many standard deviations, in steps of at most this part of one and of the width
#: of the logistic function; no more than so many to each side.
_REACH, _STEP, _MOST_NODES = 8.0, 0.9, 150

#: Numbers of nodes that are worked on at a time.
_BLOCK = 1 << 15


class Sites(NamedTuple):
    """Precisions and shifts of the sites, (N,) each."""

    precision: Array
    shift: Array


class Tilted(NamedTuple):
    """ln Z of rows under their cavities, α = ∂ ln Z/∂m and β = −∂² ln Z/∂m², (N,) each."""

    log_mass: Array
    slope: Array
    curvature: Array


Tilt = Callable[[Array, Array], Tilted]


def curvature_sites(curve: Curve, eta: Array) -> Sites:
    """Return the sites with the slopes and curvatures that likelihoods have at predictors η."""
    return Sites(curve.curvature, curve.slope + curve.curvature * eta)


def probit_tilt(sign: Array) -> Tilt:
    """Return ln Φ(s m/√(1 + v)) and its derivatives as a function of cavities."""

    def tilt(mean: Array, variance: Array) -> Tilted:
        scale = 1.0 / np.sqrt(1.0 + variance)
        curve = probit_curve(sign)(mean * scale, 0.0, slice(None))
        return Tilted(curve.value, curve.slope * scale, curve.curvature * scale**2)

    return tilt


def logistic_tilt(sign: Array) -> Tilt:
    """Return ln E[σ(sη)] and its derivatives as a function of cavities, by a trapezoid rule."""

    def tilt(mean: Array, variance: Array) -> Tilted:
        std = np.sqrt(variance)
        widest = max(1.0, float(std.max()))
        half = int(min(_MOST_NODES, np.ceil(_REACH / _STEP * widest)))
        z = _REACH * np.arange(-half, half + 1) / half
        share = np.exp(-0.5 * z * z)
        share /= share.sum()
        sums = np.empty((3, len(mean)))
        step = max(1, _BLOCK // len(z))
        for first in range(0, len(mean), step):
            here = slice(first, first + step)
            p = (sign[here] * mean[here])[:, None] + std[here, None] * z  # z is symmetric
            special.expit(p, out=p)
            sums[0, here] = p @ share
            bend = p * (1.0 - p)  # σ′
            sums[1, here] = bend @ share
            np.multiply(bend, p, out=p)
            sums[2, here] = p @ share
        mass, first_slope = sums[0], sums[1] / sums[0]
        second = (sums[1] - 2.0 * sums[2]) / mass  # E σ″ = E σ′(1 − 2σ)
        return Tilted(np.log(mass), sign * first_slope, first_slope**2 - second)

    return tilt


def fit_sites(
    x: Array,
    tilt: Tilt,
    prior_precision: Array,
    prior_mean: Array,
    frequency: Array | None = None,
    *,
    start: Sites,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> tuple[WeightBelief, Sites]:
    """Return the normal belief of the weights at a fixed point of the sites, and these.

    Parameters
    ----------
    x : (N, P)
    tilt : callable
        From means and variances of cavities to ``Tilted``; the likelihood is log-concave.
    prior_precision, prior_mean : (P,)
        Of independent normal priors.
    frequency : (N,), optional
        How often each row, and so its site, counts.
    start : Sites
        Such as the curvature of the likelihood at the mode.
    tol : float
        It ends when a step moves no mean by more than this many standard deviations, and the log
        determinant of the precision by no more than this.
    max_iter : int

    Notes
    -----
    Costs O(N P²) a step.
    """
    f = np.ones(len(x)) if frequency is None else frequency
    sites, damping, last = start, 1.0, np.inf
    for n_iter in range(1, max_iter + 1):
        precision = np.diag(prior_precision) + weighted_gram(x, f * sites.precision)
        shift = prior_precision * prior_mean + (f * sites.shift) @ x
        root = np.linalg.inv(np.linalg.cholesky(precision))
        cov = root.T @ root
        mean = cov @ shift
        centre, variance = row_moments(x, mean, cov)
        v = 1.0 / (1.0 / variance - sites.precision)  # cavities
        m = v * (centre / variance - sites.shift)
        tilted = tilt(m, v)
        left = 1.0 - v * tilted.curvature
        change = Sites(
            tilted.curvature / left - sites.precision,
            (tilted.slope + m * tilted.curvature) / left - sites.shift,
        )
        moved = cov @ ((f * (change.shift - change.precision * centre)) @ x)
        step = float(np.abs(moved / np.sqrt(np.diagonal(cov))).max())
        step = max(step, abs(float((f * change.precision) @ variance)))
        if step <= tol or n_iter == max_iter:
            break
        damping = max(_LEAST_DAMPING, 0.5 * damping) if step > last else damping
        last = step
        sites = Sites(*(old + damping * by for old, by in zip(sites, change, strict=True)))
    log_evidence = 0.5 * float(
        shift @ mean - prior_precision @ prior_mean**2
    )  # A(Λ, h) − A(Λ₀, h₀)
    log_evidence += float(np.log(np.diagonal(root)).sum() + 0.5 * np.log(prior_precision).sum())
    gap = 0.5 * (m**2 / v - centre**2 / variance + np.log(v / variance))  # A of cavities − A
    log_evidence += float(f @ (tilted.log_mass + gap))
    return WeightBelief(mean, cov, log_evidence, n_iter, step <= tol, step), sites
