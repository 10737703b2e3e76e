r"""Expectation propagation for likelihoods of linear predictors.

Every row has a site in place of its likelihood, normal in its predictors. Taking one site away leaves
the cavity; the site is then chosen so that the belief has the moments of cavity × likelihood. All
sites change together (in parallel), by a part of the way where they would overshoot. At the end

.. math:: \ln p(y) \approx A(\Lambda, h) - A(\Lambda_0, h_0) + \sum_n\{\ln Z_n - A_n + A_n^{\setminus n}\}

with A the log normaliser of a normal distribution with that precision and shift.

References: T. Minka, "Expectation propagation for approximate Bayesian inference", 2001;
C. Rasmussen & C. Williams, "Gaussian processes for machine learning", 2006, secs. 3.6, 3.9.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.inference.predictors.class_curves import probit_curve
from posteriori.inference.predictors.generalized_linear import Curve
from posteriori.inference.predictors.site_predictors import SitePredictors, Sites, Tilt
from posteriori.inference.predictors.softmax_averages import (
    SpreadNodes,
    contrasts,
    tilt_softmax,
)
from posteriori.inference.predictors.weight_belief import Progress, WeightBelief
from posteriori.numerics.calculus.normal_rule import rules_by_width
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.types import Array

__all__ = [
    "curvature_sites",
    "fit_sites",
    "logistic_tilt",
    "probit_tilt",
    "softmax_sites",
    "softmax_tilt",
]

#: The part of the way that sites go is halved where they overshoot, down to this.
_LEAST_DAMPING = 0.1

#: No step goes further than so many standard deviations.
_LONGEST = 1.0

#: Digits of the moments of a logistic likelihood.
_DIGITS = 11.0

#: From this standard deviation on, a cavity is smoother than the logistic function.
_WIDE = 3.0


def curvature_sites(curve: Curve, eta: Array) -> Sites:
    """Return the sites with the slopes and curvatures that likelihoods have at predictors η."""
    return Sites(curve.curvature, curve.slope + curve.curvature * eta)


def softmax_sites(centre: Array, spread: Array, codes: Any) -> Sites:
    """Return the sites with the mean slopes and curvatures over contrasts N(c, S), rows of (K − 1)."""
    basis = contrasts(centre.shape[1] + 1)
    means = SpreadNodes(spread).moments(centre)
    bend = means.curvature()
    slope = basis[codes] - means.first @ basis
    return Sites(bend, slope + (bend @ centre[..., None])[..., 0])


def softmax_tilt(codes: Any) -> Tilt:
    """Return ln E[p_y] of softmax probabilities and its derivatives as a function of cavities."""

    def tilt(mean: Array, spread: Array) -> tuple[Array, Array, Array]:
        return tilt_softmax(mean, spread, codes)

    return tilt


def probit_tilt(sign: Array) -> Tilt:
    """Return ln Φ(s m/√(1 + v)) and its derivatives as a function of cavities."""

    def tilt(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        scale = 1.0 / np.sqrt(1.0 + variance)
        curve = probit_curve(sign)(mean * scale, 0.0, slice(None))
        return curve.value, curve.slope * scale, curve.curvature * scale**2

    return tilt


def logistic_tilt(sign: Array) -> Tilt:
    """Return ln E[σ(sη)] and its derivatives as a function of cavities, by sums over nodes."""

    def tilt(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        margin, std = sign * mean, np.sqrt(variance)
        wide = std > _WIDE
        if not np.any(wide):
            log_z, slope, second = _narrow_logistic(margin, std)
        else:
            log_z, slope, second = np.empty((3, len(mean)))
            log_z[~wide], slope[~wide], second[~wide] = _narrow_logistic(margin[~wide], std[~wide])
            log_z[wide], slope[wide], second[wide] = _wide_logistic(margin[wide], std[wide])
        return log_z, sign * slope, slope**2 - second

    return tilt


def _narrow_logistic(margin: Array, std: Array) -> tuple[Array, Array, Array]:
    """Return ln Z, Z′/Z and Z″/Z of Z = E σ(η), η ~ N(margin, std²), by nodes of η."""
    sums = np.empty((3, len(margin)))
    for rows, z, share in rules_by_width(std, np.pi, _DIGITS):
        p = margin[rows, None] + std[rows, None] * z
        special.expit(p, out=p)
        sums[0, rows] = p @ share
        bend = p * (1.0 - p)  # σ′
        sums[1, rows] = bend @ share
        np.multiply(bend, p, out=p)
        sums[2, rows] = p @ share
    slope = sums[1] / sums[0]
    return np.log(sums[0]), slope, slope - 2.0 * sums[2] / sums[0]  # E σ″ = E σ′(1 − 2σ)


def _wide_logistic(margin: Array, std: Array) -> tuple[Array, Array, Array]:
    """Return the same by σ(η) = P(noise < η): nodes of logistic noise, which η is smoother than."""
    noise = 0.75 * np.arange(-48.0, 49.0)
    log_share = special.log_expit(noise) + special.log_expit(-noise)
    t = (margin[:, None] - noise) / std[:, None]
    terms = log_share - special.logsumexp(log_share) + special.log_ndtr(t)
    log_z = special.logsumexp(terms, axis=1)
    curve = probit_curve(np.ones(1))(t, 0.0, slice(None))
    share = np.exp(terms - log_z[:, None])
    slope = (share * curve.slope).sum(axis=1) / std
    second = -(share * curve.slope * t).sum(axis=1) / std**2  # φ′ = −tφ
    return log_z, slope, second


def fit_sites(
    predictors: SitePredictors,
    tilt: Tilt,
    prior_precision: Array,
    prior_mean: Array,
    *,
    start: Sites,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> tuple[WeightBelief, Sites]:
    """Return the normal belief of the weights at a fixed point of the sites, and these.

    Parameters
    ----------
    predictors : SitePredictors
    tilt : callable
        From means and variances of cavities to ln Z and its derivatives; the likelihood is
        log-concave.
    prior_precision, prior_mean : (P,)
        Of independent normal priors.
    start : Sites
        Such as the curvature of the likelihood at the mode.
    tol : float
        It ends when a step moves no mean by more than this many standard deviations, and the log
        determinant of the precision by no more than this.
    max_iter : int
        Most steps. It also ends, without having converged, where steps have long ceased to shrink; the
        evidence says nothing then.

    Notes
    -----
    Costs O(N P²) a step, O(N M² P²) with M predictors each row.
    """
    sites, progress = start, Progress(tol, _LEAST_DAMPING)
    while True:
        precision = np.diag(prior_precision) + predictors.gram(sites.precision)
        shift = prior_precision * prior_mean + predictors.pull(sites.shift)
        root = triangular_inverse(np.linalg.cholesky(precision))
        cov = root.T @ root
        mean = cov @ shift
        new = predictors.renew(mean, cov, sites, tilt)
        moved = cov @ new.pull
        step = float(np.abs(moved / np.sqrt(np.diagonal(cov))).max())
        if not np.isfinite(step):
            raise ValueError(
                "expectation propagation has left the normal distributions: raise prior_precision, or "
                "use method='variational'"
            )
        progress.note(max(step, abs(new.log_determinant)))
        if progress.converged or progress.stalled or progress.n_iter >= max_iter:
            break
        part = min(progress.damping, _LONGEST / progress.step)
        sites = Sites(*(old + part * by for old, by in zip(sites, new.change, strict=True)))
    log_evidence = 0.5 * float(
        shift @ mean - prior_precision @ prior_mean**2
    )  # A(Λ, h) − A(Λ₀, h₀)
    log_evidence += float(np.log(np.diagonal(root)).sum() + 0.5 * np.log(prior_precision).sum())
    log_evidence += new.log_mass
    belief = WeightBelief(
        mean, cov, log_evidence, progress.n_iter, progress.converged, progress.step
    )
    return belief, sites
