r"""Beliefs about the matrices of a linear system, with a lower bound of its evidence.

.. math:: s_1 \sim N(0, I),\quad s_t \sim N(A s_{t-1}, I),\quad y_{tp} \sim N(c_p^\top s_t, \tau_p^{-1}),\quad
          a_d \sim N(0, v_A I),\quad c_p \sim N(0, v_C I),\quad \tau_p \sim \mathrm{Gamma}(a, b).

The noise of the states is I because their scale is free: C takes it up. States of all times, A, the rows of C
and the τ are believed in independently; each belief is the best given the others, so that the bound rises.
Given the beliefs about the matrices the states are a chain of precision

.. math:: \Lambda_{tt} = I + E[A^\top A] + \sum_p E[\tau_p]\,E[c_pc_p^\top], \qquad
          \Lambda_{t,t+1} = -E[A]^\top,

which counts what is not known of the matrices as well.

References: M. Beal, "Variational algorithms for approximate Bayesian inference", 2003, chapter 5; D. Barber &
S. Chiappa, "Unified inference for variational Bayesian linear Gaussian state-space models", 2007.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult, maximize_by_em
from posteriori.inference.chains.block_tridiagonal import solve_block_tridiagonal
from posteriori.inference.systems.linear_learning import SeriesGroup, SystemParameters
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["SystemBeliefs", "SystemPriors", "learn_system_beliefs", "start_beliefs"]


class SystemPriors(NamedTuple):
    """Variances of the entries of A and C, shape and rate of the noise's precisions."""

    transition_variance: float = 1.0
    emission_variance: float = 4.0
    shape: float = 1.0
    rate: float = 0.1


class SystemBeliefs(NamedTuple):
    """What is known of a system.

    Attributes
    ----------
    transition, transition_cov : (D, D) and (D, D)
        Mean of A, and the covariance that all its rows have.
    emission, emission_cov : (P, D) and (P, D, D)
        Means and covariances of the rows of C.
    shape, rate : (P,)
        Of the precisions τ, which are gamma.
    """

    transition: Array
    transition_cov: Array
    emission: Array
    emission_cov: Array
    shape: Array
    rate: Array


class _StateSums(NamedTuple):
    """Expected sums over all series: Σ E[s_{t−1}s_{t−1}ᵀ], Σ E[s_ts_{t−1}ᵀ]; of the rows where p is seen
    Σ E[ssᵀ] (P, D, D) and Σ y E[s] (P, D).
    """

    before: Array
    across: Array
    squares: Array
    products: Array


def start_beliefs(start: SystemParameters, priors: SystemPriors, counts: Array) -> SystemBeliefs:
    """Return nearly certain beliefs at a system, in coordinates in which its steps have noise I."""
    size, root = len(start.initial_mean), np.linalg.cholesky(start.transition_cov)
    back = np.linalg.solve(root, start.transition[:, :size] @ root)
    shape = priors.shape + 0.5 * counts
    narrow = 1e-3 * np.eye(size)
    return SystemBeliefs(
        back,
        narrow,
        start.emission[:, :size] @ root,
        np.repeat(narrow[None], len(counts), axis=0),
        shape,
        shape * np.diagonal(start.emission_cov),
    )


def learn_system_beliefs(
    groups: Sequence[SeriesGroup],
    start: SystemBeliefs,
    priors: SystemPriors,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[int, float], Any] | None = None,
) -> tuple[SystemBeliefs, EMResult]:
    """Climb the bound from ``start``; its trace is the bound of ln p(y) of the seen entries.

    O(N (D³ + P D²)) a step for N rows.
    """
    rows = np.concatenate([group.y.reshape(-1, group.y.shape[-1]) for group in groups])
    seen = ~np.isnan(rows)
    counts, powers = seen.sum(axis=0), np.where(seen, rows, 0.0)
    powers = np.einsum("np,np->p", powers, powers)

    def expect(beliefs: SystemBeliefs) -> tuple[Any, float]:
        sums, value = _believe_states(groups, beliefs)
        log_precision = special.digamma(beliefs.shape) - np.log(beliefs.rate)
        value += 0.5 * counts @ (log_precision - LOG_2PI)
        value -= 0.5 * (beliefs.shape / beliefs.rate) @ powers
        return (sums, beliefs), value - _divergence(beliefs, priors)

    def maximize(expected: tuple[_StateSums, SystemBeliefs]) -> SystemBeliefs:
        return _believe_matrices(*expected, priors, counts, powers)

    found = maximize_by_em(expect, maximize, start, tol=tol, max_iter=max_iter, callback=callback)
    return found.parameters, found


def _believe_states(
    groups: Sequence[SeriesGroup], beliefs: SystemBeliefs
) -> tuple[_StateSums, float]:
    """Return the sums of the best belief about the states, and its log normaliser."""
    size, precision = len(beliefs.transition), beliefs.shape / beliefs.rate
    squares = beliefs.transition.T @ beliefs.transition + size * beliefs.transition_cov  # E[AᵀA]
    told = precision[:, None, None] * _squares_of_rows(beliefs)  # E[τ] E[ccᵀ]
    pull = precision[:, None] * beliefs.emission
    total, value = None, 0.0
    for y, _, _ in groups:
        seen = ~np.isnan(y)
        known = np.where(seen, y, 0.0)
        diagonal = np.eye(size) + np.tensordot(seen.astype(np.float64), told, axes=1)
        diagonal[:, :-1] += squares
        coupling = np.broadcast_to(
            -beliefs.transition.T, (len(y), max(y.shape[1] - 1, 0), size, size)
        )
        h = known @ pull
        states = solve_block_tridiagonal(diagonal, coupling, h)
        value += 0.5 * float(np.sum(h * states.mean) - states.log_det.sum())
        sums = _sum_states(states, seen, known)
        total = sums if total is None else _StateSums(*map(np.add, total, sums))
    assert total is not None
    return total, value


def _sum_states(states: Any, seen: Array, known: Array) -> _StateSums:
    mean, size = states.mean, states.mean.shape[-1]
    flat, there = mean.reshape(-1, size), seen.reshape(-1, seen.shape[-1]).astype(np.float64)
    second = states.cov.reshape(-1, size, size) + flat[:, :, None] * flat[:, None, :]
    before = second.reshape(states.cov.shape)[:, :-1].sum(axis=(0, 1))
    across = np.swapaxes(states.cross, 2, 3).sum(axis=(0, 1))  # Cov(s_{t+1}, s_t)
    across = across + np.einsum("sti,stj->ij", mean[:, 1:], mean[:, :-1])
    squares = (there.T @ second.reshape(len(flat), -1)).reshape(-1, size, size)
    return _StateSums(before, across, squares, known.reshape(there.shape).T @ flat)


def _believe_matrices(
    sums: _StateSums, now: SystemBeliefs, priors: SystemPriors, counts: Array, powers: Array
) -> SystemBeliefs:
    """Return the best beliefs about A, then C, then τ, each given the others and the states."""
    unit = np.eye(len(now.transition))
    cov_a = explicit_inverse(unit / priors.transition_variance + sums.before)
    precision = now.shape / now.rate
    cov_c = explicit_inverse(
        unit / priors.emission_variance + precision[:, None, None] * sums.squares
    )
    mean_c = precision[:, None] * (cov_c @ sums.products[..., None])[..., 0]
    found = SystemBeliefs(
        sums.across @ cov_a, cov_a, mean_c, cov_c, priors.shape + 0.5 * counts, now.rate
    )
    left = powers - 2.0 * np.einsum("pd,pd->p", mean_c, sums.products)
    left = left + np.einsum("pij,pij->p", _squares_of_rows(found), sums.squares)  # Σ E[(y − cᵀs)²]
    return found._replace(rate=priors.rate + 0.5 * left)


def _squares_of_rows(beliefs: SystemBeliefs) -> Array:
    """Return E[ccᵀ] of each row of C."""
    c = beliefs.emission
    return np.asarray(beliefs.emission_cov + c[:, :, None] * c[:, None, :])


def _divergence(beliefs: SystemBeliefs, priors: SystemPriors) -> float:
    """Return KL(q ‖ p) of A, C and τ."""
    size = len(beliefs.transition)
    covs = np.concatenate(
        [np.repeat(beliefs.transition_cov[None], size, axis=0), beliefs.emission_cov]
    )
    means = np.concatenate([beliefs.transition, beliefs.emission])
    variances = np.repeat(
        [priors.transition_variance, priors.emission_variance], [size, len(beliefs.emission)]
    )
    sign, log_det = np.linalg.slogdet(covs)
    if np.any(sign <= 0.0):
        raise ValueError("a covariance is not positive definite")
    trace = np.trace(covs, axis1=1, axis2=2) + np.einsum("rd,rd->r", means, means)
    normal = 0.5 * np.sum(trace / variances - size + size * np.log(variances) - log_det)
    a, b = beliefs.shape, beliefs.rate
    gamma = (a - priors.shape) * special.digamma(a) - special.gammaln(a)
    gamma = gamma + special.gammaln(priors.shape) + priors.shape * np.log(b / priors.rate)
    return float(normal + np.sum(gamma + a * (priors.rate / b - 1.0)))
