"""Short hidden Markov chains in log space, a step at a time in NumPy for a whole batch.

Each function fills the arrays it is given; those of ``hidden_markov_kernels`` have the same names
and arguments. Where a step is impossible its number is returned, else −1.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array, IntArray

__all__ = ["best_path", "draw_paths", "log_backward", "log_forward"]


def log_forward(
    initial: Array, transition: Array, likelihood: Array, filtered: Array, log_evidence: Array
) -> int:
    """Fill ln P(z_t | y_1, …, y_t) (B, T, K) and the log evidence (B,)."""
    for t in range(likelihood.shape[1]):
        predicted = _log_predicted(transition, filtered, t - 1) if t else initial
        top = likelihood[:, t].max(axis=1)
        top = np.where(top > -np.inf, top, 0.0)
        joint = predicted + (likelihood[:, t] - top[:, None])  # ln α = ln Σⱼ αⱼAⱼₖ + ln ℓ
        total = log_sum_exp(joint, axis=1)
        if np.any(np.isneginf(total)):
            return t
        filtered[:, t] = joint - total[:, None]
        log_evidence += total + top
    return -1


def log_backward(
    transition: Array, filtered: Array, pair_sums: Array, pair_probabilities: Array
) -> None:
    """Turn ln P(z_t | y_1, …, y_t) into P(z_t | y), in place; add up pairs."""
    after = filtered[:, -1].copy()
    filtered[:, -1] = np.exp(after)
    for t in range(filtered.shape[1] - 2, -1, -1):
        predicted = _log_predicted(transition, filtered, t)
        possible = predicted > -np.inf
        ratio = np.where(possible, after - np.where(possible, predicted, 0.0), -np.inf)
        step = _at(transition, t)
        joint = filtered[:, t, :, None] + step + ratio[:, None, :]  # ln αⱼAⱼₖγₖ/pₖ
        pairs = np.exp(joint)
        pair_sums += pairs
        if pair_probabilities.shape[1]:
            pair_probabilities[:, t] = pairs
        after = log_sum_exp(joint, axis=2)
        filtered[:, t] = np.exp(after)


def best_path(
    initial: Array,
    transition: Array,
    likelihood: Array,
    states: IntArray,
    log_joint: Array,
    scores: Array,
) -> int:
    """Fill the paths (B, T) and their log joint probabilities (B,)."""
    n_series, n_steps = states.shape
    kept = np.empty((n_series, *scores.shape))
    arrival = np.broadcast_to(initial, (n_series, len(initial)))
    for t in range(n_steps):
        if t:
            arrival = (kept[:, t - 1, :, None] + _at(transition, t - 1)).max(axis=1)
        score = arrival + likelihood[:, t]  # δₖ = maxⱼ (δⱼ + ln Aⱼₖ) + ln ℓₖ
        top = score.max(axis=1)
        if np.any(np.isneginf(top)):
            return t
        kept[:, t] = score - top[:, None]
        log_joint += top
    states[:, -1] = kept[:, -1].argmax(axis=1)
    for t in range(n_steps - 2, -1, -1):
        arrivals = kept[:, t] + _at(transition, t).T[states[:, t + 1]]
        states[:, t] = arrivals.argmax(axis=1)
    return -1


def draw_paths(transition: Array, filtered: Array, uniforms: Array, states: IntArray) -> None:
    """Fill paths (S, B, T) from uniform numbers of the same shape, last step first."""
    for t in range(filtered.shape[1] - 1, -1, -1):
        weights = np.broadcast_to(filtered[:, t], (*states.shape[:2], filtered.shape[2]))
        if t < filtered.shape[1] - 1:
            step = _at(transition, t)
            weights = weights + step.T[states[:, :, t + 1]]  # αⱼ Aⱼₖ for the k drawn before
        weights = np.exp(weights - weights.max(axis=2, keepdims=True))
        reached = np.cumsum(weights, axis=2)
        target = uniforms[:, :, t, None] * reached[:, :, -1:]
        states[:, :, t] = (reached <= target).sum(axis=2)


def _log_predicted(transition: Array, filtered: Array, t: int) -> Array:
    """Return ln Σⱼ αⱼAⱼₖ, that is ln P(z_{t+1} | y_1, …, y_t) where A is normalised."""
    step = _at(transition, t)
    return log_sum_exp(filtered[:, t, :, None] + step, axis=1)


def _at(transition: Array, t: int) -> Array:
    return transition[t] if len(transition) > 1 else transition[0]
