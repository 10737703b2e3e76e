r"""Variational inference for logistic likelihoods by Pólya-gamma augmentation.

Each row has a latent :math:`\omega\sim PG(1, \xi)`, given which the likelihood is normal in the
predictor. Coordinate ascent alternates between the normal belief of the weights and
:math:`\xi_n^2 = E(x_n\cdot w)^2`, and raises the bound

.. math:: \ln p(y) \ge \tfrac12 h^T\Lambda^{-1}h - \tfrac12 m_0^T\Lambda_0m_0 + \tfrac12\ln
   \frac{|\Lambda_0|}{|\Lambda|} + \sum_n\{\ln\sigma(\xi_n) - \tfrac12\xi_n + \tfrac12\omega_n\xi_n^2\}.

References: T. Jaakkola & M. Jordan, "Bayesian parameter estimation via variational methods", 2000;
D. Durante & T. Rigon, "Conditionally conjugate mean-field variational Bayes for logistic models", 2019.
"""

from __future__ import annotations

import numpy as np

from posteriori.inference.predictors.generalized_linear import weighted_gram
from posteriori.inference.predictors.weight_belief import WeightBelief, row_moments
from posteriori.inference.sparsity.relevance_bound import mean_polya_gamma
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.types import Array

__all__ = ["fit_polya_gamma"]


def fit_polya_gamma(
    x: Array,
    sign: Array,
    prior_precision: Array,
    prior_mean: Array,
    frequency: Array | None = None,
    *,
    start: WeightBelief,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> WeightBelief:
    """Return the normal belief with the highest bound.

    Parameters
    ----------
    x : (N, P)
    sign : (N,)
        −1 or 1, the class of each row.
    prior_precision, prior_mean : (P,)
        Of independent normal priors.
    frequency : (N,), optional
        How often each row counts.
    start : WeightBelief
        Where the ascent begins.
    tol : float
        It ends when a step moves no mean by more than this many standard deviations.
    max_iter : int

    Notes
    -----
    Costs O(N P²) a step.
    """
    f = np.ones(len(x)) if frequency is None else frequency
    shift = prior_precision * prior_mean + (0.5 * f * sign) @ x  # h
    mean, cov = start.mean, start.cov
    n_iter, step = 0, np.inf
    while step > tol and n_iter < max_iter:
        n_iter += 1
        centre, variance = row_moments(x, mean, cov)
        xi = np.sqrt(centre**2 + variance)
        omega = mean_polya_gamma(xi)
        precision = np.diag(prior_precision) + weighted_gram(x, f * omega)
        root = triangular_inverse(np.linalg.cholesky(precision))
        cov = root.T @ root
        moved = cov @ shift - mean
        mean = mean + moved
        step = float(np.abs(moved / np.sqrt(np.diagonal(cov))).max())
    bound = 0.5 * float(shift @ mean - prior_precision @ prior_mean**2)
    bound += float(np.log(np.diagonal(root)).sum() + 0.5 * np.log(prior_precision).sum())
    bound += float(f @ (special.log_expit(xi) - 0.5 * xi + 0.5 * omega * xi**2))
    return WeightBelief(mean, cov, bound, n_iter, step <= tol, step)
