r"""Exact inference in hidden Markov chains: forward–backward, filter, Viterbi, draws of paths.

.. math:: p(z, y) = \pi_{z_1} \prod_{t=2}^{T} A_{z_{t-1} z_t} \prod_{t=1}^{T} \ell_t(z_t),

given as logarithms. Nothing needs to be normalised: :math:`\pi` and :math:`A` may be any
non-negative weights, and the evidence is then the log of the sum over paths. Several sequences are
a batch (..., T, K), or rows one after another with ``lengths``.

Reference: Rabiner (1989), A tutorial on hidden Markov models; Bishop (2006), section 13.2. The
backward pass is that of a smoother, :math:`\gamma_t(j) = \alpha_t(j) \sum_k A_{jk}
\gamma_{t+1}(k) / \sum_i \alpha_t(i) A_{ik}`, which needs no likelihoods.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.inference.state_chains import hidden_markov_recursions, path_recursions
from posteriori.inference.state_chains.chain_weights import (
    ChainWeights,
    chain_weights,
    first_impossible,
    require_possible,
)
from posteriori.inference.state_chains.scaled_chains import log_filter, scaled_filter
from posteriori.numerics.compilation import as_kernel_input, run
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray, Seed
from posteriori.numerics.validation import nonnegative

__all__ = [
    "DrawnPaths",
    "HiddenMarkovPosterior",
    "MostLikelyPath",
    "draw_hidden_paths",
    "forward_backward",
    "impossible_steps",
    "most_likely_path",
    "sample_path",
    "sequence_weights",
]


class HiddenMarkovPosterior(NamedTuple):
    """What is known of the states of a hidden Markov chain.

    Attributes
    ----------
    probabilities : array (..., T, K)
        P(z_t = k | y).
    pair_sums : array (..., K, K)
        Σ_t P(z_t = j, z_{t+1} = k | y), the expected number of transitions; of all sequences
        together, by their weights, where lengths were given.
    pair_probabilities : array (..., T − 1, K, K) or None
        P(z_t = j, z_{t+1} = k | y); None where it was not asked for. Where lengths were given
        (N, K, K): the pair that arrives at each row, 0 at first rows.
    log_evidence : array (...)
        ln p(y), exact; (S,) where lengths were given.
    """

    probabilities: Array
    pair_sums: Array
    pair_probabilities: Array | None
    log_evidence: Array


class MostLikelyPath(NamedTuple):
    """The path (..., T) with the highest joint probability, and ln p(z, y) of it."""

    states: IntArray
    log_joint: Array


class DrawnPaths(NamedTuple):
    """Paths (size, ..., T) that were drawn, and ln p(y) (...), (S,) where lengths were given."""

    states: IntArray
    log_evidence: Array


def forward_backward(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_likelihood: ArrayLike,
    *,
    lengths: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    pairs: bool = False,
) -> HiddenMarkovPosterior:
    """Return the probabilities of states and transitions given the data, and the evidence.

    Parameters
    ----------
    log_initial : array (K,)
        ln π; −inf for a state in which no path starts.
    log_transition : array (K, K) or (T − 1, K, K)
        ln A, from row to column; −inf for a forbidden transition. Where lengths are given,
        (N, K, K) holds the transition that arrives at each row; those of first rows are not used.
    log_likelihood : array (..., T, K)
        ln p(y_t | z_t = k), a batch of series that share π and A; 0 where y_t is missing.
    lengths : array (S,) of integers, optional
        How many of the rows (N, K) of ``log_likelihood`` each sequence has.
    weights : array (S,), optional
        How often each sequence counts in the sums of pairs; with ``lengths``.
    pairs : bool
        Whether to return the probabilities of each transition, T K² numbers more.

    Returns
    -------
    HiddenMarkovPosterior

    Raises
    ------
    ValueError
        When the data are impossible under the model (the first such time step is named), or a
        shape does not fit.

    Notes
    -----
    O(T K²).

    Examples
    --------
    >>> post = forward_backward(
    ...     np.log([0.5, 0.5]), np.log([[0.7, 0.3], [0.3, 0.7]]), np.log([[0.9, 0.2], [0.9, 0.2]])
    ... )
    >>> post.probabilities.round(4)  # Russell and Norvig's umbrella on two days
    array([[0.8834, 0.1166],
           [0.8834, 0.1166]])
    """
    chain = chain_weights(log_initial, log_transition, log_likelihood, lengths)
    counts = sequence_weights(weights, chain)
    n_series, n_rows, n_states = chain.likelihood.shape
    sums = np.zeros((n_series, n_states, n_states))
    steps = (n_rows if chain.ragged else n_rows - 1) if pairs else 0
    kept = np.zeros((n_series, steps, n_states, n_states))
    arriving = kept[:, 1:] if chain.ragged else kept
    answer = _scaled_pass(chain, counts, sums, arriving)
    if answer is None:
        answer = log_filter(chain)
        arrays = chain.starts, chain.transition, counts, answer[0], sums, arriving
        run(hidden_markov_recursions.log_backward, 16 * chain.work, *arrays)
    return HiddenMarkovPosterior(
        chain.by_row(answer[0]),
        chain.by_row(sums),
        chain.by_row(kept) if pairs else None,
        chain.by_sequence(answer[1]),
    )


def most_likely_path(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_likelihood: ArrayLike,
    *,
    lengths: ArrayLike | None = None,
) -> MostLikelyPath:
    """Return the most probable path of states (Viterbi); of equals, the lower state.

    Parameters and errors are those of :func:`forward_backward`. O(T K²).

    Examples
    --------
    >>> most_likely_path(
    ...     np.log([0.5, 0.5]),
    ...     np.log([[0.9, 0.1], [0.1, 0.9]]),
    ...     np.log([[0.9, 0.2], [0.1, 0.8], [0.1, 0.8]]),
    ... ).states
    array([1, 1, 1])
    """
    chain = chain_weights(log_initial, log_transition, log_likelihood, lengths)
    n_series, n_rows, n_states = chain.likelihood.shape
    states = np.empty((n_series, n_rows), dtype=np.int64)
    log_joint = np.zeros((n_series, chain.n_sequences))
    scores = np.empty((int(np.diff(chain.starts).max()), n_states))
    arrays = *chain[:4], states, log_joint, scores
    require_possible(run(path_recursions.best_path, 2 * chain.work, *arrays), chain)
    return MostLikelyPath(chain.by_row(states), chain.by_sequence(log_joint))


def sample_path(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_likelihood: ArrayLike,
    size: int = 1,
    *,
    lengths: ArrayLike | None = None,
    rng: Seed = None,
) -> IntArray:
    """Draw whole paths from P(z_1, …, z_T | y): filter forwards, sample backwards.

    Parameters and errors are those of :func:`forward_backward`.

    Returns
    -------
    array (size, ..., T) of integers

    Examples
    --------
    >>> sample_path(
    ...     np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.1, 0.9]]), np.zeros((4, 2)), 3, rng=0
    ... ).shape
    (3, 4)
    """
    found = draw_hidden_paths(
        log_initial, log_transition, log_likelihood, size, lengths=lengths, rng=rng
    )
    return found.states


def draw_hidden_paths(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_likelihood: ArrayLike,
    size: int = 1,
    *,
    lengths: ArrayLike | None = None,
    rng: Seed = None,
) -> DrawnPaths:
    """Draw whole paths as :func:`sample_path` does, and tell the evidence that the filter finds on its way."""
    chain = chain_weights(log_initial, log_transition, log_likelihood, lengths)
    n_series, n_rows, n_states = chain.likelihood.shape
    uniforms = as_generator(rng).random((size, n_series, n_rows))
    scaled = scaled_filter(chain)
    if scaled is None:
        filtered, log_evidence = log_filter(chain)
    else:
        log_evidence = scaled.log_evidence
        with np.errstate(divide="ignore"):
            filtered = np.log(scaled.filtered)
    states = np.empty((size, n_series, n_rows), dtype=np.int64)
    arrays = chain.starts, chain.transition, filtered, uniforms, states
    run(path_recursions.draw_paths, 8 * states.size * n_states, *arrays)
    return DrawnPaths(
        states.reshape(size, *chain.batch_shape, n_rows), chain.by_sequence(log_evidence)
    )


def impossible_steps(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_likelihood: ArrayLike,
    *,
    lengths: ArrayLike | None = None,
) -> IntArray:
    """Return the first step of each series at which no state is possible, −1 where there is none.

    Parameters are those of :func:`forward_backward`. O(T K²).

    Examples
    --------
    >>> with np.errstate(divide="ignore"):  # nobody leaves a state, but the data move
    ...     impossible_steps([0.0, 0.0], np.log(np.eye(2)), np.log([[1, 0], [1, 1], [0, 1]]))
    array(2)
    """
    chain = chain_weights(log_initial, log_transition, log_likelihood, lengths)
    return np.asarray(chain.by_sequence(first_impossible(chain)))


def sequence_weights(weights: ArrayLike | None, chain: ChainWeights) -> Array:
    """Return how often each sequence counts (S,); once, unless said otherwise."""
    if weights is None:
        return as_kernel_input(np.ones(chain.n_sequences))
    if not chain.ragged:
        raise ValueError("weights are those of sequences: give their lengths, too")
    counts = np.asarray(nonnegative("weights", weights))
    if counts.shape != (chain.n_sequences,):
        raise ValueError(
            f"weights must have shape ({chain.n_sequences},), one for each length, got "
            f"{counts.shape}"
        )
    return as_kernel_input(counts)


def _scaled_pass(
    chain: ChainWeights, counts: Array, sums: Array, arriving: Array
) -> tuple[Array, Array] | None:
    """Forward–backward on scaled probabilities, or None where log space is needed."""
    scaled = scaled_filter(chain)
    if scaled is None:
        return None
    constant = chain.starts, scaled.transition, counts
    series = scaled.filtered, as_kernel_input(scaled.predictions), sums, arriving
    run(hidden_markov_recursions.scaled_backward, 4 * chain.work, *constant, series=series)
    return scaled.filtered, scaled.log_evidence
