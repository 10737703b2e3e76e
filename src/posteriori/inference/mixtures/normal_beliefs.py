r"""Mixtures of normals by variational Bayes: :math:`q(z)\,q(π)\prod_k q(μ_k, Λ_k)`.

.. math:: κ_k = κ_0 + N_k, \quad ν_k = ν_0 + N_k, \quad m_k = \frac{κ_0 m_0 + \sum_n r_{nk}z_n}{κ_k}, \quad
   V_k^{-1} = V_0^{-1} + \sum_n r_{nk} z_nz_n^\top + κ_0 m_0m_0^\top - κ_k m_km_k^\top,

and rows are shared out by :math:`E\ln π_k + E\ln N(z\mid μ_k, Λ_k)`, with
:math:`E\ln|Λ| = \sum_{i=1}^D ψ(\tfrac{ν+1-i}2) + D\ln 2 + \ln|V|`.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 10.2; D. Blei & M. Jordan,
"Variational inference for Dirichlet process mixtures", 2006 (sticks).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma, gammaln

from posteriori.inference.latent.namings import log_affinities
from posteriori.inference.mixtures.normal_maximum import NormalPrior, posterior_inverse_scale
from posteriori.inference.mixtures.normal_scores import NormalScores, NormalStatistics
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "NormalBelief",
    "normal_affinities",
    "component_divergence",
    "expected_scores",
    "learn_belief",
    "stick_terms",
    "weight_terms",
]


class NormalBelief(NamedTuple):
    """Normal–Wishart beliefs about K components, in the units of the rows.

    Attributes
    ----------
    means : (K, D)
    strength, dof : (K,)
    white : (K, D, D)
        B with BᵀB = V, the scale.
    log_det : (K,)
        ln|V|.
    """

    means: Array
    strength: Array
    dof: Array
    white: Array
    log_det: Array

    @property
    def scale(self) -> Array:
        """V."""
        return np.swapaxes(self.white, 1, 2) @ self.white


def learn_belief(statistics: NormalStatistics, prior: NormalPrior) -> NormalBelief:
    """Return the beliefs that the sums of the rows lead to."""
    strength, dof = prior.strength + statistics.counts, prior.dof + statistics.counts
    if strength.min() <= 0.0 or dof.min() <= statistics.sums.shape[1] - 1.0:
        raise ValueError("components cannot have a negative number of rows")
    means = (prior.strength[:, None] * prior.means + statistics.sums) / strength[:, None]
    return _belief(
        means, strength, dof, posterior_inverse_scale(statistics, prior, means, strength)
    )


def _belief(means: Array, strength: Array, dof: Array, inverse_scale: Array) -> NormalBelief:
    white = triangular_inverse(np.linalg.cholesky(inverse_scale))
    log_det = 2.0 * np.log(np.diagonal(white, axis1=1, axis2=2)).sum(axis=1)
    return NormalBelief(means, strength, dof, white, log_det)


def expected_scores(belief: NormalBelief, log_weights: Array) -> NormalScores:
    """Return E ln π_k + E ln N(z | μ_k, Λ_k) as functions of z."""
    d = belief.means.shape[1]
    height = 0.5 * (_expected_log_det(belief) - d * LOG_2PI - d / belief.strength)
    precisions = belief.dof[:, None, None] * belief.scale
    return NormalScores(log_weights + height, belief.means, precisions)


def _expected_log_det(belief: NormalBelief) -> Array:
    d = belief.means.shape[1]
    halves = 0.5 * (belief.dof[:, None] - np.arange(d))
    return digamma(halves).sum(axis=1) + d * np.log(2.0) + belief.log_det


def component_divergence(belief: NormalBelief, prior: NormalPrior) -> float:
    """Return Σ_k KL(q(μ_k, Λ_k) ‖ p(μ_k, Λ_k))."""
    d = belief.means.shape[1]
    ratio = prior.strength / belief.strength
    scale, shift = belief.scale, belief.means - prior.means
    pull = np.einsum("ki,kij,kj->k", shift, scale, shift)
    of_means = 0.5 * (d * (ratio - 1.0 - np.log(ratio)) + prior.strength * belief.dof * pull)
    trace = np.einsum("kij,kji->k", prior.inverse_scale, scale)
    prior_log_det = -np.linalg.slogdet(prior.inverse_scale)[1]
    of_precisions = (
        _wishart_log_normalizer(prior.dof, prior_log_det, d)
        - _wishart_log_normalizer(belief.dof, belief.log_det, d)
        + 0.5 * (belief.dof - prior.dof) * _expected_log_det(belief)
        + 0.5 * belief.dof * (trace - d)
    )
    return float((of_means + of_precisions).sum())


def _wishart_log_normalizer(dof: Array, log_det: Array, d: int) -> Array:
    """Return ln ∫ |Λ|^{(ν−D−1)/2} exp(−½ tr V⁻¹Λ) dΛ."""
    halves = 0.5 * (np.asarray(dof)[..., None] - np.arange(d))
    log_gamma = 0.25 * d * (d - 1) * np.log(np.pi) + gammaln(halves).sum(axis=-1)
    return 0.5 * dof * (log_det + d * np.log(2.0)) + log_gamma


def normal_affinities(belief: NormalBelief) -> Array:
    """Return the logarithms (K, K) of Bhattacharyya's coefficients of the components' beliefs."""
    k, d = belief.means.shape
    inverse = triangular_inverse(belief.white)
    first = belief.strength[:, None] * belief.means
    second = inverse @ np.swapaxes(inverse, 1, 2) + first[:, :, None] * belief.means[:, None, :]
    halfway = np.empty((k, k))
    for j in range(k):
        strength = 0.5 * (belief.strength[j] + belief.strength)
        means = 0.5 * (first[j] + first) / strength[:, None]
        square = strength[:, None, None] * means[:, :, None] * means[:, None, :]
        dof = 0.5 * (belief.dof[j] + belief.dof)
        here = _belief(means, strength, dof, 0.5 * (second[j] + second) - square)
        halfway[j] = _log_normalizer(here, d)
    return log_affinities(_log_normalizer(belief, d), halfway)


def _log_normalizer(belief: NormalBelief, d: int) -> Array:
    of_mean = 0.5 * d * (LOG_2PI - np.log(belief.strength))
    return of_mean + _wishart_log_normalizer(belief.dof, belief.log_det, d)


# -- weights ---------------------------------------------------------------------------------


def weight_terms(counts: Array, concentration: float | Array) -> tuple[Array, float]:
    """Return E ln π (K,) and KL(q(π) ‖ p(π)) under Dirichlet(α_1, …, α_K), or all α equal."""
    after = concentration + counts
    if after.min() <= 0.0:
        raise ValueError("components cannot have a negative number of rows")
    before, total = np.broadcast_to(concentration, counts.shape), after.sum()
    expected = digamma(after) - digamma(total)
    log_ratio = gammaln(total) - gammaln(after).sum()
    log_ratio -= gammaln(before.sum()) - gammaln(before).sum()
    return expected, float(log_ratio + counts @ expected)


def stick_terms(counts: Array, concentration: float) -> tuple[Array, float]:
    """Return E ln π (K,) and KL under sticks v_k ~ Beta(1, γ), π_k = v_k Π_{j<k}(1 − v_j), v_K = 1."""
    broken, left = 1.0 + counts[:-1], concentration + counts[::-1].cumsum()[::-1][1:]
    if min(broken.min(initial=1.0), left.min(initial=1.0)) <= 0.0:
        raise ValueError("components cannot have a negative number of rows")
    both = digamma(broken + left)
    log_v, log_rest = digamma(broken) - both, digamma(left) - both
    expected = np.append(log_v, 0.0) + np.append(0.0, log_rest.cumsum())
    divergence = (
        betaln(1.0, concentration)
        - betaln(broken, left)
        + (broken - 1.0) * log_v
        + (left - concentration) * log_rest
    )
    return expected, float(divergence.sum())
