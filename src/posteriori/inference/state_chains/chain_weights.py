r"""The arguments of every pass over chains of states: log weights of many sequences, checked.

.. math:: p(z, y) = \pi_{z_1} \prod_{t=2}^{T} A_{z_{t-1} z_t} \prod_{t=1}^{T} \ell_t(z_t)

Sequences stand one after another in the rows of one table, and ``starts`` tells where each begins.
A batch of equal lengths is the special case of several tables with one sequence each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.validation import as_observation

__all__ = [
    "ChainWeights",
    "as_starts",
    "chain_weights",
    "first_impossible",
    "log_weights",
    "require_possible",
]


class ChainWeights(NamedTuple):
    """What passes read; nothing needs to be normalised."""

    starts: IntArray  # (S + 1,): sequence s has the rows starts[s] … starts[s + 1] − 1
    initial: Array  # (K,)
    transition: Array  # (1 or N − 1, K, K): entry t − 1 leads to row t
    likelihood: Array  # (B, N, K)
    batch_shape: tuple[int, ...]
    ragged: bool  # whether lengths were given: then B = 1

    @property
    def work(self) -> int:
        """Multiplications of one pass: B N K²."""
        return self.likelihood.size * len(self.initial)

    @property
    def n_sequences(self) -> int:
        return len(self.starts) - 1

    def by_row(self, a: Array) -> Array:
        """Bring an array (B, ...) into the shape of the question."""
        return a.reshape(*self.batch_shape, *a.shape[1:]) if self.batch_shape else a[0]

    def by_sequence(self, a: Array) -> Array:
        """Bring an array (B, S) into the shape of the question."""
        return self.by_row(a if self.ragged else a[:, 0])


def chain_weights(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_likelihood: ArrayLike,
    lengths: ArrayLike | None = None,
) -> ChainWeights:
    """Check the arguments of a pass, as ``forward_backward`` documents them."""
    likelihood = log_weights("log_likelihood", log_likelihood)
    if likelihood.ndim < 2 or 0 in likelihood.shape:
        raise ValueError(
            "log_likelihood must have shape (..., T, K) with at least one series, time step and "
            f"state, got {likelihood.shape}; without a step there is no state to learn about, and "
            "ln p(y) is 0"
        )
    n_rows, n_states = likelihood.shape[-2:]
    starts = _starts(lengths, likelihood)
    initial = log_weights("log_initial", log_initial)
    if initial.shape != (n_states,):
        raise ValueError(
            f"log_initial must have shape ({n_states},) as log_likelihood has {n_states} columns, "
            f"got {initial.shape}"
        )
    transition = log_weights("log_transition", log_transition)
    steps = n_rows - 1 if lengths is None else n_rows
    square = transition.shape[-2:] == (n_states, n_states)
    if not square or transition.shape[:-2] not in ((), (steps,), (1,)):
        raise ValueError(
            f"log_transition must have shape ({n_states}, {n_states}) or "
            f"({steps}, {n_states}, {n_states}), got {transition.shape}"
        )
    transition = transition.reshape(-1, n_states, n_states)
    if lengths is not None and len(transition) > 1:
        transition = transition[1:]  # row t arrives at t, so that entry t − 1 leads there
    if not len(transition):
        transition = np.zeros((1, n_states, n_states))
    return ChainWeights(
        starts,
        as_kernel_input(initial),
        as_kernel_input(transition),
        as_kernel_input(likelihood.reshape(-1, n_rows, n_states)),
        likelihood.shape[:-2],
        lengths is not None,
    )


def as_starts(lengths: ArrayLike, n_rows: int) -> IntArray:
    """Return where each sequence starts, and the number of rows.

    Examples
    --------
    >>> as_starts([2, 3], 5)
    array([0, 2, 5])
    """
    given: Any = np.asarray(lengths)
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu":
        raise ValueError(f"lengths must be whole numbers, one per sequence, got {lengths!r}")
    if given.min() < 1:
        first = int(np.argmin(given))
        raise ValueError(
            f"lengths must be at least 1, got {given[first]} for sequence {first}; leave empty "
            "sequences out"
        )
    if int(given.sum()) != n_rows:
        raise ValueError(f"lengths must add up to the {n_rows} rows, they add up to {given.sum()}")
    return _locked(np.concatenate([[0], np.cumsum(given, dtype=np.int64)]))


def first_impossible(chain: ChainWeights) -> IntArray:
    """Return the first step (B, S) of each sequence at which no state is possible, or −1."""
    n_series, n_rows, n_states = chain.likelihood.shape
    moves, here = chain.transition > -np.inf, (chain.likelihood > -np.inf).reshape(-1, n_states)
    first = np.tile(chain.starts[:-1], n_series)
    begin = first + np.repeat(np.arange(n_series) * n_rows, chain.n_sequences)
    lengths = np.tile(np.diff(chain.starts), n_series)
    longest_first = np.argsort(-lengths, kind="stable")
    first, begin, lengths = first[longest_first], begin[longest_first], lengths[longest_first]
    reached = here[begin] & (chain.initial > -np.inf)
    failed = np.where(reached.any(axis=1), -1, 0)
    for t in range(1, int(lengths[0])):
        alive = slice(np.searchsorted(-lengths, -t))  # those with more than t rows
        if len(moves) > 1:
            reached = (reached[alive, :, None] & moves[first[alive] + t - 1]).any(axis=1)
        else:
            reached = reached[alive] @ moves[0]
        reached &= here[begin[alive] + t]
        failed[alive][(failed[alive] < 0) & ~reached.any(axis=1)] = t
    steps = np.empty_like(failed)
    steps[longest_first] = failed
    return steps.reshape(n_series, chain.n_sequences)


def require_possible(failed: int, chain: ChainWeights) -> None:
    """Name the first impossible step where a pass stopped at a row, which is negative if it did not."""
    if failed < 0:
        return
    steps = first_impossible(chain)
    sequence = np.unravel_index(int(np.argmax(steps >= 0)), steps.shape)
    step = int(steps[sequence])
    if step < 0:  # weights beyond all numbers
        place = int(np.searchsorted(chain.starts, failed, side="right")) - 1
        sequence, step = (sequence[0], np.intp(place)), failed - int(chain.starts[place])
    raise ValueError(
        f"the data have probability 0: no state is possible at time step {step}"
        f"{_place(chain, *sequence)} given the steps before it: every state that can be "
        "reached there gives what was seen probability 0; allow a transition, or mend or leave out that row"
    )


def log_weights(name: str, value: ArrayLike) -> Array:
    """Return an array of numbers below infinity."""
    a = np.asarray(as_observation(value, name))
    if a.size and not a.max() < np.inf:  # also catches NaN
        raise ValueError(f"{name} must hold numbers below infinity or -inf, got NaN or inf")
    return a


def _starts(lengths: ArrayLike | None, likelihood: Array) -> IntArray:
    n_rows = likelihood.shape[-2]
    if lengths is None:
        return _locked(np.array([0, n_rows]))
    if likelihood.ndim != 2:
        raise ValueError(
            f"log_likelihood must have shape (N, K) where lengths are given, got {likelihood.shape}"
        )
    return as_starts(lengths, n_rows)


def _locked(starts: IntArray) -> IntArray:
    starts.setflags(write=False)
    return starts


def _place(chain: ChainWeights, series: np.intp, sequence: np.intp) -> str:
    if chain.ragged:
        return f" of sequence {sequence}"
    place = tuple(int(i) for i in np.unravel_index(series, chain.batch_shape))
    return f" of series {place[0] if len(place) == 1 else place}" if place else ""
