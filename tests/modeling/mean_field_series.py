"""Mean-field pieces of models with factors and chains, written out with NumPy alone.

Normal beliefs are pairs of means and covariances with members leading, gamma beliefs pairs of shapes
and rates, Dirichlet beliefs their concentrations. Chains are solved as dense vectors or in log space.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, logsumexp

__all__ = [
    "Paths",
    "expected_log_dirichlet",
    "expected_log_gamma",
    "expected_log_normal",
    "forward_backward",
    "linear_chain",
    "normal_entropy",
    "normals_divergence",
    "regress",
    "second_moments",
    "squared_residuals",
]

LOG_2PI = np.log(2 * np.pi)
Belief = tuple[np.ndarray, np.ndarray]


def expected_log_dirichlet(concentration: Any) -> np.ndarray:
    c = np.asarray(concentration, float)
    return digamma(c) - digamma(c.sum(axis=-1, keepdims=True))


def expected_log_gamma(belief: Belief) -> np.ndarray:
    return digamma(belief[0]) - np.log(belief[1])


# -- normal vectors ------------------------------------------------------------------------------


def second_moments(belief: Belief) -> np.ndarray:
    """Return E[v vᵀ] of each vector."""
    mean, cov = belief
    return cov + mean[..., :, None] * mean[..., None, :]


def normal_entropy(cov: np.ndarray) -> float:
    """Return the entropies of normal vectors, added up."""
    return float(0.5 * np.sum(np.linalg.slogdet(2 * np.pi * np.e * cov)[1]))


def normals_divergence(belief: Belief, cov: Any) -> float:
    """Return Σ KL(N(m, S) ‖ N(0, cov)) over all vectors."""
    second, cov = second_moments(belief), np.asarray(cov, float)
    count = second[..., 0, 0].size
    energy = (
        -0.5 * np.sum(second * np.linalg.inv(cov))
        - 0.5 * count * (np.linalg.slogdet(2 * np.pi * cov)[1])
    )
    return float(-energy - normal_entropy(belief[1]))


# -- products y_ij = a_i · b_j -------------------------------------------------------------------


def regress(y: Any, weight: Any, given: Belief, prior: Any) -> Belief:
    """Update the rows a_i given beliefs about b_j; NaN in y has no weight.

    Parameters
    ----------
    y, weight : (I, J)
        Data and the expected precision of each entry.
    given : beliefs about b
    prior : (K, K)
        Precision of each a_i around 0.
    """
    there = np.where(np.isnan(y), 0.0, weight)
    cov = np.linalg.inv(np.einsum("ij,jkl->ikl", there, second_moments(given)) + prior)
    target = np.einsum("ij,jk->ik", there * np.nan_to_num(y), given[0])
    return np.einsum("ikl,il->ik", cov, target), cov


def squared_residuals(y: Any, a: Belief, b: Belief) -> np.ndarray:
    """Return E[(y_ij − a_i · b_j)²], 0 where y is missing."""
    mean = a[0] @ b[0].T
    square = np.einsum("ikl,jkl->ij", second_moments(a), second_moments(b))
    filled = np.nan_to_num(y)
    return np.where(np.isnan(y), 0.0, filled**2 - 2 * filled * mean + square)


def expected_log_normal(y: Any, squares: Any, tau: Belief) -> float:
    """Return Σ E[ln N(y_ij; ·, 1/τ_j)] over the entries that are there."""
    there = ~np.isnan(y)
    each = 0.5 * (expected_log_gamma(tau) - LOG_2PI) - 0.5 * tau[0] / tau[1] * squares
    return float(np.sum(np.where(there, each, 0.0)))


# -- chains --------------------------------------------------------------------------------------


class Paths(NamedTuple):
    """Probabilities of states (T, K) and of neighbours (T − 1, K, K), and ln of the total weight."""

    states: np.ndarray
    pairs: np.ndarray
    log_total: float


def forward_backward(log_start: Any, log_moves: Any, log_states: Any) -> Paths:
    """Sum over all paths of a chain whose weights need not be probabilities."""
    log_states = np.asarray(log_states, float)
    T, K = log_states.shape
    forward, backward = np.zeros((T, K)), np.zeros((T, K))
    forward[0] = log_start + log_states[0]
    for t in range(1, T):
        forward[t] = logsumexp(forward[t - 1][:, None] + log_moves, axis=0) + log_states[t]
    for t in range(T - 2, -1, -1):
        backward[t] = logsumexp(log_moves + log_states[t + 1] + backward[t + 1], axis=1)
    log_total = float(logsumexp(forward[-1]))
    pairs = forward[:-1, :, None] + log_moves + (log_states[1:] + backward[1:])[:, None, :]
    return Paths(np.exp(forward + backward - log_total), np.exp(pairs - log_total), log_total)


def linear_chain(
    first: Any, noise: float, step: Any, square: Any, inside: Any, linear: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of all states of a normal chain as one long vector.

    Parameters
    ----------
    first : (K, K)
        Prior covariance of the first state, whose mean is 0.
    noise : float
        Variance of each step.
    step, square : (T − 1, K, K)
        E[A_t] and E[A_tᵀ A_t] of the step into time t.
    inside : (T, K, K)
        Precision that the data give to each state.
    linear : (T, K)
        Precision times what they say.
    """
    T, K = linear.shape
    J = np.zeros((T, K, T, K))
    for t in range(T):
        J[t, :, t] += inside[t] + (np.linalg.inv(first) if t == 0 else np.eye(K) / noise)
        if t + 1 < T:
            J[t, :, t] += square[t] / noise
            J[t, :, t + 1] -= step[t].T / noise
            J[t + 1, :, t] -= step[t] / noise
    cov = np.linalg.inv(J.reshape(T * K, T * K))
    return (cov @ linear.ravel()).reshape(T, K), cov.reshape(T, K, T, K)
