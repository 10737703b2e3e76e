r"""Mixtures of normals by maximum likelihood, or at the mode of the posterior.

.. math:: π_k = \frac{N_k}N, \qquad m_k = \frac1{N_k}\sum_n r_{nk} z_n, \qquad
   Σ_k = \frac1{N_k}\sum_n r_{nk}(z_n - m_k)(z_n - m_k)^\top,

about the new mean. The likelihood has no maximum: a component that shrinks onto a single row raises it
without end. So no covariance falls below a part of that of the data in any direction; eigenvalues
below are raised to it, which is the maximum under this constraint, so that no step lowers the
likelihood.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 9.2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.mixtures.normal_scores import NormalScores, NormalStatistics
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "FLOOR",
    "NormalParts",
    "NormalPrior",
    "most_likely",
    "parts_to_statistics",
    "posterior_inverse_scale",
    "prior_density",
    "raised_covariances",
    "scores_of",
]

#: No covariance falls below this part of that of the data: what is narrower by a factor of 1000 than
#: the data is rounding or repetition more often than a cluster.
FLOOR = 1e-6

#: ln of the weight of a component without rows: small enough that none will come.
_NONE = -700.0


class NormalParts(NamedTuple):
    """Known parameters of a mixture.

    Attributes
    ----------
    weights : (K,)
    means : (K, D)
    covs : (K, D, D); of kind "shared" (D, D), "diagonal" (K, D), "spherical" (K,)
    """

    weights: Array
    means: Array
    covs: Array


class NormalPrior(NamedTuple):
    """A normal–Wishart prior of each component, in the units of the rows.

    Attributes
    ----------
    means : (K, D)
    strength, dof : (K,)
    inverse_scale : (K, D, D)
        V⁻¹.
    """

    means: Array
    strength: Array
    dof: Array
    inverse_scale: Array


def most_likely(
    statistics: NormalStatistics, kind: str, spread: Array, prior: NormalPrior | None = None
) -> NormalParts:
    """Return the parameters of highest likelihood, or with a prior of highest posterior density.

    Parameters
    ----------
    statistics : NormalStatistics
    kind : {"full", "shared", "diagonal", "spherical"}
    spread : (D, D)
        Covariance of the data, of which :data:`FLOOR` is the least.
    prior : NormalPrior, optional
        For "full".
    """
    counts, sums, squares = statistics
    some = np.maximum(counts, np.finfo(np.float64).tiny)
    weights = counts / counts.sum()
    if prior is not None:
        return NormalParts(weights, *_at_mode(statistics, prior, spread))
    means = sums / some[:, None]
    if kind == "full":
        covs = squares / some[:, None, None] - means[:, :, None] * means[:, None, :]
        return NormalParts(weights, means, raised_covariances(covs, spread))
    if kind == "shared":
        cov = (squares - sums.T @ means) / counts.sum()
        return NormalParts(weights, means, raised_covariances(cov[None], spread)[0])
    if kind == "diagonal":
        least = FLOOR * np.diag(spread)
        return NormalParts(weights, means, np.maximum(squares / some[:, None] - means**2, least))
    d = sums.shape[1]
    about = (squares / some - (means**2).sum(axis=1)) / d
    return NormalParts(weights, means, np.maximum(about, FLOOR * np.linalg.eigvalsh(spread)[-1]))


def _at_mode(
    statistics: NormalStatistics, prior: NormalPrior, spread: Array
) -> tuple[Array, Array]:
    """Return means and covariances of highest posterior density of (μ, Λ)."""
    counts, sums = statistics.counts, statistics.sums
    strength = prior.strength + counts
    means = (prior.strength[:, None] * prior.means + sums) / strength[:, None]
    scatter = posterior_inverse_scale(statistics, prior, means, strength)
    shape = prior.dof + counts - sums.shape[1]  # exponent of |Λ|½
    covs = scatter / np.maximum(shape, np.finfo(np.float64).tiny)[:, None, None]
    return means, raised_covariances(covs, spread)


def posterior_inverse_scale(
    statistics: NormalStatistics, prior: NormalPrior, means: Array, strength: Array
) -> Array:
    """Return V⁻¹ + Σ r zzᵀ + κ₀ m₀m₀ᵀ − κ mmᵀ, the inverse scale of the posterior."""
    before = prior.strength[:, None, None] * prior.means[:, :, None] * prior.means[:, None, :]
    after = strength[:, None, None] * means[:, :, None] * means[:, None, :]
    return prior.inverse_scale + statistics.squares + before - after


def raised_covariances(covs: Array, spread: Array) -> Array:
    """Raise eigenvalues of covariances (K, D, D), in units of the spread, to the floor."""
    if np.array_equal(spread, np.eye(len(spread))):
        return _clamped(covs)
    root = np.linalg.cholesky(spread)
    white = triangular_inverse(root)
    return root @ _clamped(white @ covs @ white.T) @ root.T


def _clamped(covs: Array) -> Array:
    values, vectors = np.linalg.eigh(0.5 * (covs + np.swapaxes(covs, 1, 2)))
    if values.min() >= FLOOR:
        return covs
    return (vectors * np.maximum(values, FLOOR)[:, None, :]) @ np.swapaxes(vectors, 1, 2)


def scores_of(parts: NormalParts, kind: str) -> NormalScores:
    """Return ln π_k N(z | m_k, Σ_k) as functions of z."""
    d = parts.means.shape[1]
    with np.errstate(divide="ignore"):
        log_weights = np.maximum(np.log(parts.weights), _NONE)
    if kind in ("full", "shared"):
        white = triangular_inverse(np.linalg.cholesky(parts.covs))
        precisions = np.swapaxes(white, -1, -2) @ white
        log_det = 2.0 * np.log(np.diagonal(white, axis1=-2, axis2=-1)).sum(axis=-1)
    else:
        precisions = 1.0 / parts.covs
        logs = np.log(precisions)
        log_det = logs.sum(axis=1) if kind == "diagonal" else d * logs
    return NormalScores(log_weights + 0.5 * (log_det - d * LOG_2PI), parts.means, precisions)


def parts_to_statistics(parts: NormalParts, kind: str, count: float) -> NormalStatistics:
    """Return the sums that would be maximised by these parameters."""
    counts = parts.weights * count
    m, covs = parts.means, parts.covs
    sums = counts[:, None] * m
    if kind == "full":
        squares = counts[:, None, None] * (covs + m[:, :, None] * m[:, None, :])
    elif kind == "shared":
        squares = count * covs + sums.T @ m
    elif kind == "diagonal":
        squares = counts[:, None] * (covs + m**2)
    else:
        squares = counts * (m.shape[1] * covs + (m**2).sum(axis=1))
    return NormalStatistics(counts, sums, squares)


def prior_density(parts: NormalParts, prior: NormalPrior) -> float:
    """Return Σ_k ln p(m_k, Λ_k) up to a constant, the part of the objective that is the prior's."""
    white = triangular_inverse(np.linalg.cholesky(parts.covs))
    precisions = np.swapaxes(white, 1, 2) @ white
    shift = parts.means - prior.means
    pull = prior.strength * np.einsum("ki,kij,kj->k", shift, precisions, shift)
    shape = prior.dof - parts.means.shape[1]
    log_det = 2.0 * np.log(np.diagonal(white, axis1=1, axis2=2)).sum(axis=1)
    trace = np.einsum("kij,kji->k", prior.inverse_scale, precisions)
    return float(0.5 * (shape * log_det - trace - pull).sum())
