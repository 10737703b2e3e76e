r"""Several most probable paths of a hidden Markov chain: the n best, and all that are best.

The n best paths to a state at step t go on from the n best to each state before it (list Viterbi),
so that after the last step the n best of all :math:`K^T` paths are known, exactly.

Paths of equal probability are found from the scores :math:`\delta_t(j)` of the best path to each
state: going back from the end, a step to j that leaves :math:`\delta_t(j) + \ln A_{jk}` short of its
maximum costs the path as much. All steps whose costs stay within a tolerance are followed, each of
which leads to at least one path, so that nothing is searched in vain.

Reference: Seshadri and Sundberg (1994), List Viterbi decoding algorithms with applications.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from posteriori.inference.state_chains import path_recursions as recursions
from posteriori.inference.state_chains.chain_weights import (
    ChainWeights,
    chain_weights,
    require_possible,
)
from posteriori.inference.state_chains.hidden_markov import MostLikelyPath
from posteriori.numerics.compilation import run
from posteriori.numerics.types import Array, IntArray

__all__ = ["most_likely_paths", "optimal_paths"]


def most_likely_paths(
    log_initial: ArrayLike, log_transition: ArrayLike, log_likelihood: ArrayLike, n: int
) -> MostLikelyPath:
    """Return the n most probable paths of one series, best first.

    Of equals, the one whose state is lower at the last step where they differ comes first, so
    that the first path is that of :func:`posteriori.inference.most_likely_path`.

    Parameters
    ----------
    log_initial, log_transition, log_likelihood : arrays (K,), (K, K) or (T − 1, K, K), (T, K)
        As of :func:`posteriori.inference.forward_backward`.
    n : int
        How many; fewer are returned where fewer are possible.

    Returns
    -------
    MostLikelyPath
        Paths (n, T) and their ln p(z, y) (n,).

    Notes
    -----
    O(n T K²) time, n T K numbers.

    Examples
    --------
    >>> best = most_likely_paths(
    ...     np.log([0.5, 0.5]),
    ...     np.log([[0.9, 0.1], [0.1, 0.9]]),
    ...     np.log([[0.9, 0.2], [0.1, 0.8]]),
    ...     3,
    ... )
    >>> best.states
    array([[1, 1],
           [0, 0],
           [0, 1]])
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    chain = _one_series(log_initial, log_transition, log_likelihood)
    n_steps, n_states = chain.likelihood.shape[1:]
    pointers = np.empty((n_steps, n_states, n), dtype=np.int64)
    states, log_joint = np.zeros((n, n_steps), dtype=np.int64), np.empty(n)
    arrays = chain.initial, chain.transition, chain.likelihood[0], pointers, states, log_joint
    found = run(recursions.best_paths, 3 * n * chain.work, *arrays)
    require_possible(n_steps - 1 if found == 0 else -1, chain)
    return MostLikelyPath(states[:found], log_joint[:found])


def optimal_paths(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_likelihood: ArrayLike,
    *,
    tolerance: float | None = None,
) -> Iterator[IntArray]:
    """Yield every path (T,) of highest probability, lower states at later steps first.

    Parameters
    ----------
    log_initial, log_transition, log_likelihood : arrays (K,), (K, K) or (T − 1, K, K), (T, K)
        As of :func:`posteriori.inference.forward_backward`.
    tolerance : float, optional
        How far below the best ln p(z, y) may be. By default as far as rounding may part equals:
        both are sums of T terms, each of which is rounded by at most its size times 1.1e-16.

    Notes
    -----
    O(T K²) before the first path, then at most O(T K) for each. Their number may grow
    exponentially with T: take as many as needed.

    Examples
    --------
    >>> flat = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2))
    >>> [path.tolist() for path in optimal_paths(*flat)]
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    chain = _one_series(log_initial, log_transition, log_likelihood)
    scores = np.empty(chain.likelihood.shape[1:])
    arrays = chain.initial, chain.transition, chain.likelihood[0], 0, len(scores) - 1, scores
    best = run(recursions.score_path, 2 * chain.work, *arrays)
    require_possible(-1 if best > -np.inf else 0, chain)
    spare = _rounding(chain, scores) if tolerance is None else tolerance
    return _follow_ties(chain.transition, scores, spare)


def _one_series(initial: ArrayLike, transition: ArrayLike, likelihood: ArrayLike) -> ChainWeights:
    chain = chain_weights(initial, transition, likelihood)
    if chain.batch_shape:
        raise ValueError(
            f"log_likelihood must have shape (T, K), one series, got {np.shape(likelihood)}"
        )
    return chain


def _rounding(chain: ChainWeights, scores: Array) -> float:
    """Return what the sums of two paths may differ by from rounding alone."""
    sizes = sum(
        float(np.abs(a, where=np.isfinite(a), out=np.zeros_like(a)).max(axis=-1).sum())
        for a in (scores, chain.likelihood[0])
    )
    moves = np.abs(chain.transition[np.isfinite(chain.transition)]).max(initial=0.0)
    return float(2.0 * np.finfo(float).eps * (sizes + len(scores) * moves))


def _follow_ties(transition: Array, scores: Array, tolerance: float) -> Iterator[IntArray]:
    path = np.empty(len(scores), dtype=np.int64)
    open_steps = [(len(scores), -1, tolerance)]
    while open_steps:
        t, state, spare = open_steps.pop()
        if t < len(scores):
            path[t] = state
        if t == 0:
            yield path.copy()
            continue
        values = scores[t - 1]
        if t < len(scores):
            values = values + transition[t - 1 if len(transition) > 1 else 0, :, state]
        costs = values.max() - values
        for j in np.flatnonzero(costs <= spare)[::-1]:  # the lowest is followed first
            open_steps.append((t - 1, cast(int, j), spare - costs[j]))
