r"""Weights of a linear model given the statistics of its data: one triangular solve.

With data :math:`R_x, r, \rho` (the triangular factor of centred inputs and target) and a prior of precision
:math:`\Lambda_0 = P^TP` around :math:`m_0`, both in units of the noise precision, triangularising

.. math:: \begin{pmatrix} R_x & r \\ 0 & \rho \\ P & P m_0 \end{pmatrix}

gives the posterior precision :math:`A = \Lambda_0 + X^TX = U^TU`, its mean, and the misfit
:math:`q = |y - Xm|^2 + (m - m_0)^T\Lambda_0(m - m_0)` without a difference of large numbers.

Reference: C. Bishop, "Pattern Recognition and Machine Learning", 2006, ch. 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.least_squares.regression_statistics import (
    RegressionStatistics,
    least_squares,
)
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.regression.bayesian.belief import LinearBelief
from posteriori.regression.bayesian.priors import InterceptPrior, SettledPrior

__all__ = [
    "WeightPosterior",
    "integrated_evidence",
    "intercept_terms",
    "less_prior_mean",
    "make_belief",
    "weighed_noise",
    "weight_posterior",
]


class WeightPosterior(NamedTuple):
    """Posterior of weights in units of the noise.

    Attributes
    ----------
    mean : (D,)
    directions : (D, K)
        B; the covariance is σ² B diag(1/e)Bᵀ, and what the prior says beside B where K < D.
    precisions : (K,)
        e.
    misfit : float
        q, what the data and the prior say against the mean.
    log_ratio : float
        ½ ln|Λ₀| − ½ ln|A|, the logarithm of Occam's factor; −∞ for a flat prior.
    flat : int
        Directions in which the prior is flat; each takes a degree of freedom of the noise.
    """

    mean: Array
    directions: Array
    precisions: Array
    misfit: float
    log_ratio: float
    flat: int


def weight_posterior(
    statistics: RegressionStatistics,
    prior_root: Array,
    prior_mean: Array,
    target: int = 0,
) -> WeightPosterior:
    """Return the posterior of the weights of one target.

    Parameters
    ----------
    statistics : RegressionStatistics
    prior_root : (K, D)
        P with PᵀP the prior precision in units of the noise precision and independent rows: fewer
        than D where the prior is flat in some direction, none where it is in all.
    prior_mean : (D,)
    target : int
        Which of the targets.
    """
    d = statistics.n_inputs
    data = statistics.reduced[:, [*range(d), d + target]]
    prior = np.column_stack([prior_root, prior_root @ prior_mean])
    fit = least_squares(np.concatenate([data, prior]), d)
    directions = triangular_inverse(fit.factor.T).T  # of A = UᵀU
    log_posterior = float(np.log(np.abs(np.diagonal(fit.factor))).sum())
    log_ratio = _log_volume(prior_root, d) - log_posterior
    return WeightPosterior(
        fit.mean, directions, np.ones(d), fit.misfit, log_ratio, d - len(prior_root)
    )


def _log_volume(root: Array, d: int) -> float:
    """Return ½ ln|PᵀP|, −∞ for a prior that is flat in some direction."""
    if len(root) < d:
        return -np.inf
    return float(np.log(np.abs(np.diagonal(np.linalg.qr(root, mode="r")))).sum())


def weighed_noise(
    statistics: RegressionStatistics, weights: WeightPosterior, prior: SettledPrior
) -> tuple[float, Array | None, Array]:
    """Return ln p(y | X), and shape and scale (1,) of the noise; where it is known it has no shape."""
    beta = prior.given.noise_precision
    if beta is not None:
        value = _known_noise_evidence(statistics, weights, 1.0 / beta, prior.intercept)
        return value, None, np.array([1.0 / beta])
    noise = prior.noise_shape, prior.noise_scale
    value, shape, scale = integrated_evidence(statistics, weights, *noise, prior.intercept)
    return value, np.array([shape]), np.array([scale])


def _known_noise_evidence(
    statistics: RegressionStatistics,
    weights: WeightPosterior,
    noise_variance: float,
    intercept: InterceptPrior | None = None,
    target: int = 0,
) -> float:
    r"""Return :math:`\ln p(y \mid X)` for a known noise variance.

    A flat intercept (precision 0) counts with density 1 in the units of y: such evidences compare
    with one another and with nothing else.
    """
    rows, misfit, log_ratio = intercept_terms(statistics, intercept, target)
    fit = -0.5 * (weights.misfit + misfit) / noise_variance
    volume = -0.5 * (rows * (LOG_2PI + np.log(noise_variance)) + statistics.log_variance)
    return float(fit + volume + weights.log_ratio + log_ratio)


def integrated_evidence(
    statistics: RegressionStatistics,
    weights: WeightPosterior,
    shape: float,
    scale: float,
    intercept: InterceptPrior | None = None,
    target: int = 0,
) -> tuple[float, float, float]:
    r"""Return :math:`\ln p(y \mid X)` with an inverse-gamma noise variance, and its posterior.

    Weights of a proper prior are as uncertain as the noise, w | σ² ~ N(m₀, σ²Λ₀⁻¹), and take no
    degrees of freedom. A flat prior, p(w | σ²) ∝ 1, takes one for each of its directions: it is
    the reference prior, and with a₀ = b₀ = 0 its posterior has the t intervals of least squares.

    Parameters
    ----------
    statistics, weights
    shape, scale : float
        a₀ and b₀ of the prior of the noise variance; 0 and 0 are p(σ²) ∝ 1/σ².
    intercept : InterceptPrior, optional
    target : int

    Returns
    -------
    log_evidence, shape, scale : float
        The evidence is −∞ where the prior of the weights is flat in some direction.

    References
    ----------
    G. Box & G. Tiao, "Bayesian Inference in Statistical Analysis", 1973, section 2.7.
    """
    rows, misfit, log_ratio = intercept_terms(statistics, intercept, target)
    new_shape = shape + 0.5 * (rows - weights.flat)
    new_scale = scale + 0.5 * (weights.misfit + misfit)
    if weights.flat:
        return -np.inf, new_shape, new_scale
    log_evidence = (
        weights.log_ratio
        + log_ratio
        - 0.5 * (rows * LOG_2PI + statistics.log_variance)
        + shape * np.log(scale)
        - new_shape * np.log(new_scale)
        + special.gammaln(new_shape)
        - special.gammaln(shape)
    )
    return float(log_evidence), new_shape, new_scale


def intercept_terms(
    statistics: RegressionStatistics, intercept: InterceptPrior | None, target: int = 0
) -> tuple[float, float, float]:
    """Return the rows that count, and the misfit and log Occam factor of an intercept integrated out.

    The value at the column means is independent of the weights: W = Σ f/v rows say ȳ of it. A flat
    one takes a row.
    """
    if intercept is None:
        return statistics.rows, 0.0, 0.0
    w, kappa = statistics.weight, intercept.precision
    average = statistics.mean[statistics.n_inputs + target]
    misfit = w * kappa / (w + kappa) * (average - intercept.mean) ** 2
    log_prior = 0.5 * np.log(kappa) if kappa > 0 else intercept.log_height
    log_ratio = log_prior - 0.5 * np.log(w + kappa)
    return statistics.rows - (kappa == 0), float(misfit), float(log_ratio)


def make_belief(
    statistics: RegressionStatistics,
    intercept: InterceptPrior | None,
    mean: Array,
    directions: Array,
    precisions: Array,
    shape: Array | None,
    scale: Array,
    probabilities: Array | None = None,
) -> LinearBelief:
    """Return the belief of weights and noise, with that of the intercept that the statistics tell.

    Parameters
    ----------
    statistics : RegressionStatistics
    intercept : InterceptPrior or None
        None without an intercept.
    mean, directions, precisions, shape, scale, probabilities
        As of :class:`LinearBelief`; one member by default.
    """
    if shape is not None and not np.all(shape > 0):
        raise ValueError(
            f"rows that count {statistics.rows:g} times in all leave nothing to tell the noise from beside a flat "
            "level; give more rows or larger sample_weight, or noise_precision="
        )
    d, level, level_precision = statistics.n_inputs, 0.0, None
    if intercept is not None:
        level_precision = statistics.weight + intercept.precision
        seen = statistics.weight * statistics.mean[d]
        level = float(seen + intercept.precision * intercept.mean) / level_precision
    return LinearBelief(
        np.ones(1) if probabilities is None else probabilities,
        np.atleast_2d(mean),
        directions,
        precisions,
        statistics.mean[:d],
        level,
        level_precision,
        shape,
        scale,
        None,
    )


def less_prior_mean(
    statistics: RegressionStatistics, mean: Array, free: Array
) -> RegressionStatistics:
    """Return the statistics of the free columns and of the target less what the prior mean says."""
    d = statistics.n_inputs
    target = statistics.reduced[:, d] - statistics.reduced[:, :d] @ mean
    return replace(
        statistics,
        squared=np.column_stack([statistics.reduced[:, free], target]),
        mean=statistics.mean[[*free, d]],
        n_inputs=len(free),
    )
