"""Filters of chains of states: on probabilities scaled to one at each step, or in log space.

Scaling takes the largest log-likelihood out of each step. Where it would lose a state that later
evidence may need (a forbidden transition and more than 190 orders of magnitude), the pass runs in
log space.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.state_chains import hidden_markov_recursions as recursions
from posteriori.inference.state_chains.chain_weights import ChainWeights, require_possible
from posteriori.numerics.compilation import as_kernel_input, run
from posteriori.numerics.types import Array

__all__ = ["ScaledChain", "log_filter", "scaled_filter"]

#: Log weights this far below the largest cannot be told from rounding after two transitions.
_DENSE = -230.0
#: Times the smallest weight of a transition, 1e-100, this is still a number.
_TINY = 1e-190


class ScaledChain(NamedTuple):
    """What a filter on scaled probabilities leaves behind."""

    transition: Array  # A over its largest entry
    filtered: Array  # P(z_t | y_1, …, y_t)
    predictions: Array  # Σⱼ αⱼAⱼₖ
    log_evidence: Array  # (B, S)


def scaled_filter(chain: ChainWeights) -> ScaledChain | None:
    """Filter on scaled probabilities, or None where log space is needed."""
    tops = chain.transition.max(axis=(1, 2), keepdims=True)
    if np.any(np.isneginf(tops)):
        return None
    relative = chain.transition - tops
    if np.any((relative < _DENSE) & (relative > -np.inf)):
        return None
    transition, moves = as_kernel_input(np.exp(relative)), as_kernel_input(tops[:, 0, 0])
    filtered, log_evidence, likeliest = _weights(chain)
    predictions = np.empty_like(filtered)
    predictions[:, chain.starts[:-1]] = chain.initial > -np.inf
    constant = chain.starts, transition, moves
    series = as_kernel_input(likeliest), filtered, predictions, log_evidence
    failed = run(recursions.scaled_forward, 2 * chain.work, *constant, series=series)
    if failed >= 0:
        return None
    if np.any(np.isneginf(relative)):  # no transition brings back a state that was lost
        lost = filtered < _TINY
        lost &= predictions > 0.0
        if np.any(lost) and np.any(chain.likelihood[lost] > -np.inf):
            return None
    return ScaledChain(transition, filtered, predictions, log_evidence)


def log_filter(chain: ChainWeights) -> tuple[Array, Array]:
    """Return ln P(z_t | y_1, …, y_t) and the log evidence (B, S), in log space."""
    filtered = np.empty(chain.likelihood.shape)
    log_evidence = np.zeros((len(filtered), chain.n_sequences))
    arrays = *chain[:4], filtered, log_evidence
    require_possible(run(recursions.log_forward, 8 * chain.work, *arrays), chain)
    return filtered, log_evidence


def _weights(chain: ChainWeights) -> tuple[Array, Array, Array]:
    """Return P(z_1 | y_1) and exp(ln ℓ_t − max) of later steps, ln p(y_1), and the maxima."""
    starts = chain.starts[:-1]
    weights, tops = np.empty(chain.likelihood.shape), np.empty(chain.likelihood.shape[:2])
    run(recursions.take_out_maxima, 2 * weights.size, chain.likelihood, weights, tops)
    first = weights[:, starts] + chain.initial
    largest = first.max(axis=2)
    require_possible(-1 if largest.min() > -np.inf else 0, chain)
    np.exp(weights, out=weights)
    first = np.exp(first - largest[..., None])
    total = first.sum(axis=2)
    weights[:, starts] = first / total[..., None]
    return weights, np.log(total) + (largest + tops[:, starts]), tops
