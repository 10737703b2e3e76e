r"""Automatic relevance determination for two classes: a bound of the evidence, and its highest point.

With :math:`p(s\mid\eta) = \sigma(s\eta)`, η = Φw and :math:`w_j\sim N(0, u_j)`, each likelihood has the
bound (T. Jaakkola & M. Jordan, 2000)

.. math:: \ln\sigma(s\eta) \ge \ln\sigma(\xi) - \tfrac12\xi + \tfrac12\omega\xi^2 + \frac1{8\omega}
   - \tfrac12\omega\Bigl(\eta - \frac s{2\omega}\Bigr)^2,\qquad \omega = \frac{\tanh(\xi/2)}{2\xi},

normal in η with a known noise variance 1/ω: the variances u of highest bound are those of a regression.
Then :math:`\xi_n^2 = E\eta_n^2` raises it again.

Reference: C. Bishop & M. Tipping, "Variational relevance vector machines", 2000.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.sparsity.relevance import Relevance, RelevanceProblem, find_relevance
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.types import Array

__all__ = ["RelevanceBound", "mean_polya_gamma", "raise_relevance_bound"]

#: Rounds of variances for each ξ: more would climb a bound that is about to move.
_ROUNDS = 2


class RelevanceBound(NamedTuple):
    """Prior variances and a belief about weights of the highest bound.

    Attributes
    ----------
    kept : (M,)
        Places of the columns that stay.
    mean : (M,)
        Of their weights.
    cov : (M, M)
    bound : float
        Of the log evidence.
    n_iter : int
    converged : bool
    """

    kept: Array
    mean: Array
    cov: Array
    bound: float
    n_iter: int
    converged: bool


def mean_polya_gamma(xi: Array) -> Array:
    """Return E[ω] = tanh(ξ/2)/(2ξ) of PG(1, ξ), 1/4 at 0."""
    safe = np.maximum(xi, 1e-4)
    return np.where(xi < 1e-4, 0.25 - xi**2 / 48.0, 0.5 * np.tanh(0.5 * safe) / safe)


def raise_relevance_bound(
    columns: Array, sign: Array, *, tol: float = 1e-6, max_iter: int = 500
) -> RelevanceBound:
    """Return the belief of the highest bound, beginning with no column.

    Parameters
    ----------
    columns : (N, D)
        Φ.
    sign : (N,)
        −1 or 1, the class of each row.
    tol : float
        It ends when a step gains less in the bound.
    max_iter : int

    Notes
    -----
    Costs O(N²(N + D)) a step.
    """
    u, xi, n_iter = np.zeros(columns.shape[1]), np.zeros(len(columns)), 0
    before, bound = -np.inf, -float(np.finfo(np.float64).max)
    while bound - before >= tol and n_iter < max_iter:
        n_iter += 1
        problem = _problem(columns, sign, xi)
        found = find_relevance(problem, u, _ROUNDS)
        u, before, bound = found.variances, bound, found.log_evidence
        kept, mean, cov = _belief(problem, found)
        some = columns[:, kept]
        xi = np.sqrt((some @ mean) ** 2 + np.einsum("nj,jk,nk->n", some, cov, some, optimize=True))
    return RelevanceBound(kept, mean, cov, bound, n_iter, bound - before < tol)


def _problem(columns: Array, sign: Array, xi: Array) -> RelevanceProblem:
    """Return the regression with noise 1 that stands for the likelihoods at ξ."""
    omega = mean_polya_gamma(xi)
    constant = special.log_expit(xi) - 0.5 * xi + 0.5 * omega * xi**2 + 0.125 / omega
    root = np.sqrt(omega)
    return RelevanceProblem(
        root[:, None] * columns,
        0.5 * sign / root,
        0.0,
        float(len(sign)),
        float(constant.sum()),
        np.zeros(columns.shape[1]),
        known_noise=True,
    )


def _belief(problem: RelevanceProblem, found: Relevance) -> tuple[Array, Array, Array]:
    """Return the columns that stay, and mean and covariance of their weights."""
    kept = np.flatnonzero(found.variances > 0)
    some = problem.factor[:, kept]
    stacked = np.concatenate([np.diag(found.variances[kept] ** -0.5), some])
    q, r = np.linalg.qr(stacked)
    inverse = triangular_inverse(r.T).T
    return kept, inverse @ (q[len(kept) :].T @ problem.target), inverse @ inverse.T
