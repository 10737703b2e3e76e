r"""Hidden Markov chains whose states say how long their runs last.

A run of state j lasts d rows with probability :math:`p_j(d)`, d = 1, …, longest; then the next state
follows by :math:`A_{jk}`. A run starts with the first row, and the end of the data cuts the last one,
of which only :math:`\sum_{d' \ge d} p_j(d')` is known to have happened:

.. math:: p(z, y) = \pi_{z_1} \prod_{\text{runs}} p_{z}(d)\,A_{z z'} \;\cdot
          \sum_{d' \ge d_\text{last}} p_{z}(d') \;\cdot \prod_t \ell_t(z_t).

Sums over all segmentations cost O(T K (K + longest)), and T K numbers. Geometric lengths
:math:`p(d) = a^{d-1}(1-a)` make it the plain chain with :math:`A_{jj} = a`.

Reference: Yu (2010), Hidden semi-Markov models.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.inference.state_chains import run_length_recursions as recursions
from posteriori.inference.state_chains.chain_weights import (
    ChainWeights,
    chain_weights,
    log_weights,
)
from posteriori.inference.state_chains.hidden_markov import MostLikelyPath, sequence_weights
from posteriori.inference.state_chains.state_filters import FilteredStates
from posteriori.numerics.compilation import as_kernel_input, run
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray, Seed

__all__ = [
    "RunLengthPosterior",
    "filter_runs",
    "most_likely_runs",
    "run_log_evidence",
    "sample_runs",
    "smooth_runs",
    "step_runs",
]


class RunLengthPosterior(NamedTuple):
    """What is known of the states and runs of a hidden chain.

    Attributes
    ----------
    probabilities : array (N, K)
        P(z_t = k | y).
    pair_sums : array (K, K)
        Expected number of times that a run of k follows one of j, by the weights of sequences.
    run_lengths : array (K, longest)
        Expected number of whole runs of each state that lasted 1, …, longest rows.
    cut_runs : array (K, longest)
        Expected number of last runs that had lasted 1, …, longest rows when the data ended.
    log_evidence : float, or array (S,) where lengths were given
        ln p(y), exact.
    """

    probabilities: Array
    pair_sums: Array
    run_lengths: Array
    cut_runs: Array
    log_evidence: Array


class _Runs(NamedTuple):
    chain: ChainWeights
    durations: Array  # (K, longest)
    survivals: Array  # ln Σ_{d' ≥ d} p(d')

    @property
    def work(self) -> int:
        """Terms of one pass: N K (K + longest), an exponential each."""
        return 10 * self.chain.likelihood.size * sum(self.durations.shape)


class _Forward(NamedTuple):
    rows: Array  # (N, K), what grew taken out
    elapsed: Array  # (K, longest), of the last row
    begun: Array  # (N, K)
    ended: Array  # (N, K)
    filtered: Array  # (N, K), or none
    taken_out: Array  # (S,)
    totals: Array  # (S,)


def smooth_runs(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_durations: ArrayLike,
    log_likelihood: ArrayLike,
    *,
    lengths: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> RunLengthPosterior:
    """Return the probabilities of states, expected transitions and run lengths, and the evidence.

    Parameters
    ----------
    log_initial : array (K,)
        ln π of the first run's state.
    log_transition : array (K, K), or (T − 1, K, K)
        ln A from a run to the next.
    log_durations : array (K, longest)
        ln p_j(d) for d = 1, …, longest; need not be normalised.
    log_likelihood : array (N, K)
    lengths, weights : arrays (S,), optional
        As of :func:`posteriori.inference.forward_backward`.

    Examples
    --------
    >>> with np.errstate(divide="ignore"):
    ...     post = smooth_runs(  # each run lasts two rows, the states take turns
    ...         np.log([0.5, 0.5]),
    ...         np.log([[0, 1], [1, 0]]),
    ...         np.log([[0, 1], [0, 1]]),
    ...         np.log([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]),
    ...     )
    >>> post.probabilities.round(3)
    array([[0.982, 0.018],
           [0.982, 0.018],
           [0.018, 0.982]])
    >>> post.cut_runs.round(3)
    array([[0.018, 0.   ],
           [0.982, 0.   ]])
    """
    runs = _runs(log_initial, log_transition, log_durations, log_likelihood, lengths)
    forward = _forward(runs)
    n_states, longest = runs.durations.shape
    sums = (
        np.zeros((n_states, n_states)),
        np.zeros((n_states, longest)),
        np.zeros((n_states, longest)),
    )
    probabilities = np.zeros(forward.rows.shape)
    chain, counts = runs.chain, sequence_weights(weights, runs.chain)
    constant = chain.starts, chain.transition, runs.durations, runs.survivals, counts
    arrays = forward.totals, forward.rows, forward.begun, forward.ended, probabilities, *sums
    run(recursions.runs_backward, runs.work, *constant, *arrays)
    return RunLengthPosterior(probabilities, *sums, _log_evidence(runs, forward))


def most_likely_runs(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_durations: ArrayLike,
    log_likelihood: ArrayLike,
    *,
    lengths: ArrayLike | None = None,
) -> MostLikelyPath:
    """Return the most probable path (N,); of equals, lower states and shorter runs from the end.

    Parameters are those of :func:`smooth_runs`.
    """
    runs = _runs(log_initial, log_transition, log_durations, log_likelihood, lengths)
    forward = _forward(runs, maximum=True)
    uniforms = np.zeros((1, 2, len(forward.rows)))
    path = _trace(runs, forward, uniforms, maximum=True)[0]
    return MostLikelyPath(path, _log_evidence(runs, forward))


def sample_runs(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_durations: ArrayLike,
    log_likelihood: ArrayLike,
    size: int = 1,
    *,
    lengths: ArrayLike | None = None,
    rng: Seed = None,
) -> IntArray:
    """Draw whole paths (size, N) from P(z | y). Parameters are those of :func:`smooth_runs`."""
    runs = _runs(log_initial, log_transition, log_durations, log_likelihood, lengths)
    forward = _forward(runs)
    uniforms = as_generator(rng).random((size, 2, len(forward.rows)))
    return _trace(runs, forward, uniforms, maximum=False)


def run_log_evidence(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_durations: ArrayLike,
    log_likelihood: ArrayLike,
    *,
    lengths: ArrayLike | None = None,
) -> Array:
    """Return ln p(y) alone, at half the cost of :func:`smooth_runs`, whose parameters it takes."""
    runs = _runs(log_initial, log_transition, log_durations, log_likelihood, lengths)
    return _log_evidence(runs, _forward(runs))


def filter_runs(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_durations: ArrayLike,
    log_likelihood: ArrayLike,
) -> FilteredStates:
    """Return P(z_t | y_1, …, y_t) of the rows of one sequence; the belief is (K, longest).

    The belief holds ln p of a run that has lasted d rows so far, before it is asked whether it may
    last that long: :func:`step_runs` goes on from it.
    """
    runs = _runs(log_initial, log_transition, log_durations, log_likelihood, None)
    return _filtered(runs, np.full(runs.durations.shape, -np.inf))


def step_runs(
    now: FilteredStates,
    log_transition: ArrayLike,
    log_durations: ArrayLike,
    log_likelihood: ArrayLike,
) -> FilteredStates:
    """Go on with rows (T, K) after the last one."""
    ended = log_sum_exp(now.belief + log_weights("log_durations", log_durations), axis=1)
    transition = log_weights("log_transition", log_transition)
    begun = log_sum_exp(ended[:, None] + transition, axis=0)
    runs = _runs(begun, transition, log_durations, log_likelihood, None)
    later = _filtered(runs, np.array(now.belief))
    return later._replace(log_evidence=now.log_evidence + later.log_evidence)


def _runs(
    initial: ArrayLike,
    transition: ArrayLike,
    durations: ArrayLike,
    likelihood: ArrayLike,
    lengths: ArrayLike | None,
) -> _Runs:
    chain = chain_weights(initial, transition, likelihood, lengths)
    if chain.batch_shape:
        raise ValueError(f"log_likelihood must have shape (N, K), got {np.shape(likelihood)}")
    table = log_weights("log_durations", durations)
    if table.ndim != 2 or len(table) != len(chain.initial) or not table.shape[1]:
        raise ValueError(
            f"log_durations must have shape ({len(chain.initial)}, longest), one row per state, got "
            f"{table.shape}"
        )
    survivals = np.logaddexp.accumulate(table[:, ::-1], axis=1)[:, ::-1]
    return _Runs(chain, as_kernel_input(table), as_kernel_input(survivals))


def _forward(
    runs: _Runs, elapsed: Array | None = None, *, maximum: bool = False, keep: bool = False
) -> _Forward:
    chain = runs.chain
    shape, n_sequences = chain.likelihood.shape[1:], chain.n_sequences
    arrays = _Forward(
        np.array(chain.likelihood[0]),
        np.full(runs.durations.shape, -np.inf) if elapsed is None else elapsed,
        np.empty(shape),
        np.empty(shape),
        np.empty(shape if keep else (0, shape[1])),
        np.zeros(n_sequences),
        np.zeros(n_sequences),
    )
    constant = chain.starts, chain.initial, chain.transition, runs.durations, runs.survivals
    failed = run(recursions.runs_forward, runs.work, *constant, maximum, *arrays)
    if failed >= 0:
        _refuse(runs, keep, failed)
    return arrays


def _refuse(runs: _Runs, located: bool, failed: int) -> None:
    """Name the step at which no run is possible, which only a filter knows."""
    if not located:
        _forward(runs, keep=True)
    starts = runs.chain.starts
    sequence = int(np.searchsorted(starts, failed, side="right")) - 1
    place = f" of sequence {sequence}" if runs.chain.ragged else ""
    raise ValueError(
        f"the data have probability 0: no run is possible at time step {failed - starts[sequence]}"
        f"{place} given the steps before it: every run that can be going on there gives what was seen "
        "probability 0; allow longer runs or a transition, or mend or leave out that row"
    )


def _trace(runs: _Runs, forward: _Forward, uniforms: Array, *, maximum: bool) -> IntArray:
    chain = runs.chain
    states = np.empty((len(uniforms), len(forward.rows)), dtype=np.int64)
    constant = chain.starts, chain.transition, runs.durations, runs.survivals, maximum
    arrays = forward.rows, forward.begun, forward.ended, uniforms, states
    run(recursions.runs_trace, 10 * states.size, *constant, *arrays)
    return states


def _filtered(runs: _Runs, elapsed: Array) -> FilteredStates:
    forward = _forward(runs, elapsed, keep=True)
    belief = forward.elapsed - forward.totals[0]
    return FilteredStates(np.exp(forward.filtered), _log_evidence(runs, forward), belief)


def _log_evidence(runs: _Runs, forward: _Forward) -> Array:
    found = forward.taken_out + forward.totals
    return found if runs.chain.ragged else found[0]
