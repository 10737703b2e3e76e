r"""Normal classes from their moments: maximum likelihood, and the conjugate posterior with evidence.

With :math:`\Sigma \sim \mathrm{IW}(\nu, \Psi)` and :math:`\mu_k\mid\Sigma \sim N(m, \Sigma/\kappa)`,

.. math:: \Psi_N = \Psi + \sum_k S_k + \sum_k \frac{\kappa N_k}{\kappa+N_k}(\bar x_k-m)(\bar x_k-m)^\top,
   \qquad \nu_N = \nu + \sum_k N_k,

where the sums run over all classes that share Σ.

Reference: K. Murphy, "Machine learning: a probabilistic perspective", 2012, sec. 4.6.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, multigammaln

from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.joint.normal_inverse_wishart import NormalInverseWishart
from posteriori.inference.classes.class_densities import ColumnwiseClasses, EllipticClasses
from posteriori.inference.classes.class_moments import ColumnMoments
from posteriori.numerics.rank import is_definite
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "LearnedClasses",
    "bayesian_columns",
    "bayesian_full",
    "default_columns_prior",
    "default_full_prior",
    "most_likely_columns",
    "most_likely_full",
]

#: Rows that the prior of the class means is worth.
MEAN_STRENGTH = 0.1

_SINGULAR = (
    'is singular: give more rows, or choose shrinkage > 0, covariance="diagonal" or method="bayes"'
)


class LearnedClasses(NamedTuple):
    """Densities of the classes, with the belief that they come from.

    Attributes
    ----------
    densities : EllipticClasses or ColumnwiseClasses
    posterior : distribution or None
        Of means and (co)variances, one for each class; None for maximum likelihood.
    log_probability : float
        ln p(X | y): the evidence, or the likelihood at its maximum.
    shrinkage : (G,) or None
        Share of the diagonal in each covariance.
    prior : distribution or None
        The belief before the rows, also where they have set it.
    """

    densities: Any
    posterior: Any
    log_probability: float
    shrinkage: Array | None = None
    prior: Any = None


def default_full_prior(mean: Array, variance: Array) -> NormalInverseWishart:
    """Return the belief that E[Σ] = diag(v), with D + 2 degrees of freedom."""
    return NormalInverseWishart(mean, MEAN_STRENGTH, len(mean) + 2.0, np.diag(variance))


def default_columns_prior(mean: Array, variance: Array) -> NormalInverseGamma:
    """Return the same belief about each column on its own: E[σ²] = v."""
    return NormalInverseGamma(mean, MEAN_STRENGTH, np.full(len(mean), 1.5), 0.5 * variance)


def most_likely_full(
    means: Array, counts: Array, scatter: Array, cov: Array, labels: Any
) -> LearnedClasses:
    """Return normal classes with given covariances, and the likelihood of their rows.

    Parameters
    ----------
    means : (K, D)
    counts : (K,) or (1,)
        Rows behind each scatter.
    scatter : (K, D, D), or (1, D, D) where the classes share one
    cov : the same shape
        S/N, or what it is shrunk to.
    labels : (K,) or (1,)
        What to call the covariances in messages.
    """
    roots = np.empty_like(cov)
    for k, matrix in enumerate(cov):
        if not is_definite(matrix):
            raise ValueError(f"the covariance of {labels[k]} {_SINGULAR}")
        scale = np.sqrt(np.diagonal(matrix))
        roots[k] = scale[:, None] * np.linalg.cholesky(matrix / np.outer(scale, scale))
    size = len(means)
    classes = EllipticClasses(means, roots, np.ones(size), np.full(size, np.inf))
    log_det = 2.0 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    halves = np.linalg.solve(roots, scatter)
    inside = np.trace(np.linalg.solve(roots, halves.swapaxes(1, 2)), axis1=1, axis2=2)  # tr Σ⁻¹S
    per_group = counts * (means.shape[1] * LOG_2PI + log_det) + inside
    return LearnedClasses(classes, None, -0.5 * float(per_group.sum()))


def most_likely_columns(moments: ColumnMoments, labels: Any) -> LearnedClasses:
    """Return normal classes with independent columns of highest likelihood."""
    variance = moments.squares / np.where(moments.counts > 0, moments.counts, 1.0)
    if not (variance > 0).all():
        k, d = np.argwhere(~(variance > 0))[0]
        raise ValueError(
            f'column {d} is constant in class {labels[k]!r}: leave it out or choose method="bayes"'
        )
    dof = np.full(variance.shape, np.inf)
    log_likelihood = -0.5 * (moments.counts * (LOG_2PI + np.log(variance) + 1.0)).sum()
    classes = ColumnwiseClasses(moments.means, np.sqrt(variance), dof)
    return LearnedClasses(classes, None, float(log_likelihood))


def bayesian_full(
    prior: NormalInverseWishart, means: Array, counts: Array, scatter: Array
) -> LearnedClasses:
    """Return Student classes: the parameters of normal classes integrated out.

    Parameters
    ----------
    prior : NormalInverseWishart
    means : (K, D)
    counts : (K,)
    scatter : (K, D, D), or (1, D, D) where the classes share Σ
    """
    kappa, m, d = float(prior.mean_strength), prior.location, means.shape[1]
    strength = kappa + counts
    pull = np.sqrt(kappa * counts / strength)[:, None] * (means - m)
    groups = [slice(None)] if len(scatter) == 1 else [slice(k, k + 1) for k in range(len(means))]
    scale = np.array(
        [prior.scale + s + pull[g].T @ pull[g] for s, g in zip(scatter, groups, strict=True)]
    )
    dof = np.array([float(prior.dof) + counts[g].sum() for g in groups])
    location = (kappa * m + counts[:, None] * means) / strength[:, None]
    roots = np.linalg.cholesky(scale)
    log_det = 2.0 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    log_evidence = (
        (multigammaln_of(0.5 * dof, d) - multigammaln(0.5 * float(prior.dof), d)).sum()
        + 0.5 * (prior.dof * np.linalg.slogdet(prior.scale)[1] - dof * log_det).sum()
        + 0.5 * d * np.log(kappa / strength).sum()
        - 0.5 * d * counts.sum() * np.log(np.pi)
    )
    all_dof = np.broadcast_to(dof, len(means))
    posterior = NormalInverseWishart(
        location, strength, all_dof, np.broadcast_to(scale, (len(means), d, d))
    )
    free = all_dof - d + 1.0  # t_c(x | m_k, Ψ (κ+1)/(κ c))
    classes = EllipticClasses(location, roots, (strength + 1.0) / (strength * free), free)
    return LearnedClasses(classes, posterior, float(log_evidence), prior=prior)


def bayesian_columns(prior: NormalInverseGamma, moments: ColumnMoments) -> LearnedClasses:
    """Return Student classes with independent columns; the prior's batch broadcasts to (D,)."""
    kappa, m, a, b = prior.mean_strength, prior.location, prior.shape, prior.scale
    n, mean = moments.counts, moments.means
    strength, shape = kappa + n, a + 0.5 * n
    location = (kappa * m + n * mean) / strength
    scale = b + 0.5 * moments.squares + 0.5 * kappa * n / strength * (mean - m) ** 2
    log_evidence = (
        0.5 * np.log(kappa / strength)
        + a * np.log(b)
        - shape * np.log(scale)
        + gammaln(shape)
        - gammaln(a)
        - 0.5 * n * LOG_2PI
    ).sum()
    if not scale.min(initial=1.0) > 0.0:  # sums that no rows have: all else is checked
        raise ValueError("squares of columns must not be negative")
    posterior = NormalInverseGamma._from(
        location=location, mean_strength=strength, shape=shape, scale=scale
    )
    width = np.sqrt(scale * (strength + 1.0) / (shape * strength))
    classes = ColumnwiseClasses(location, width, 2.0 * shape)
    return LearnedClasses(classes, posterior, float(log_evidence), prior=prior)


def multigammaln_of(a: Array, d: int) -> Array:
    """Return ln Γ_D of several numbers."""
    return np.array([float(multigammaln(one, d)) for one in a])
