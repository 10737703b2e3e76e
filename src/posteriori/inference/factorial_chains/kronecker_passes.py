r"""Exact inference in several independent chains that are seen together: O(T ΣK ΠK).

.. math:: p(s, x) = \prod_m \Bigl(\pi^m_{s^m_1} \prod_{t>1} A^m_{s^m_{t-1} s^m_t}\Bigr)
          \prod_t \ell_t(s^1_t, \dots, s^M_t).

The chains are independent before anything is seen; given the data they are not, so probabilities are
kept for the J = ΠK joint states. Rows are worked on in blocks: where all joint probabilities of a long
series would not fit, the forward pass is repeated block by block on the way back.

Reference: Z. Ghahramani & M. Jordan, "Factorial hidden Markov models", 1997, appendix B.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from posteriori.inference.factorial_chains import kronecker_kernels as kernels
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "FactorialPosterior",
    "Chains",
    "JointPosterior",
    "Sequences",
    "chain_indicators",
    "most_likely_states",
    "smooth_factorial",
]

#: Joint probabilities that are kept at a time, 128 MB of them.
BLOCK = 2**24

#: Chains behind are taken together until they have this many states, or would have more than twice as
#: many: their numbers lie beside each other, and short loops are slow.
_TOGETHER = 8

#: Small enough transitions can make states matter that were lost.
_SAFE = 1e-100


class Chains(NamedTuple):
    """M chains.

    Attributes
    ----------
    initial : tuple of (K_m,)
        Probabilities of first states.
    transition : tuple of (K_m, K_m)
        From row to column.
    """

    initial: tuple[Array, ...]
    transition: tuple[Array, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of states."""
        return tuple(map(len, self.initial))


class Sequences(NamedTuple):
    """How rows divide into sequences.

    Attributes
    ----------
    lengths : (S,)
        They stand one after another.
    weights : (S,)
        How often each of them counts.
    """

    lengths: IntArray
    weights: Array

    @property
    def starts(self) -> IntArray:
        """Numbers of the first rows."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def row_weights(self) -> Array:
        """How often each row counts."""
        return np.repeat(self.weights, self.lengths)


class FactorialPosterior(NamedTuple):
    """What is known of several chains, each for itself.

    Attributes
    ----------
    probabilities : tuple of (ΣT, K_m)
        P(s^m_t = k | x).
    pair_sums : tuple of (K_m, K_m)
        Σ_t w P(s^m_t = j, s^m_{t+1} = k | x).
    log_evidence : (S,)
        ln p(x) of each sequence, exact, or a bound of it.
    """

    probabilities: tuple[Array, ...]
    pair_sums: tuple[Array, ...]
    log_evidence: Array


class JointPosterior(NamedTuple):
    """The same, and what is known of all chains together.

    Attributes
    ----------
    chains : FactorialPosterior
    joint_sums : (G, J)
        Σ_t w P(s_t | x) over the rows of each group.
    """

    chains: FactorialPosterior
    joint_sums: Array


def chain_indicators(sizes: Sequence[int]) -> Array:
    """Return which state each chain is in, in each joint state: (ΠK, ΣK) of 0 and 1.

    Examples
    --------
    >>> chain_indicators((2, 2)).astype(int)
    array([[1, 0, 1, 0],
           [1, 0, 0, 1],
           [0, 1, 1, 0],
           [0, 1, 0, 1]])
    """
    states = np.indices(sizes).reshape(len(sizes), -1)
    return np.concatenate([np.eye(k)[row] for k, row in zip(sizes, states, strict=True)], axis=1)


def smooth_factorial(
    chains: Chains,
    log_likelihood: Callable[[slice], Array],
    sequences: Sequences,
    groups: IntArray | None = None,
) -> JointPosterior:
    """Return the probabilities of states and transitions of each chain given the data.

    Parameters
    ----------
    chains : Chains
    log_likelihood : callable
        From a slice of rows, ln ℓ_t(s) of joint states (n, ΠK), a new array.
    sequences : Sequences
    groups : (ΣT,), optional
        From 0 on; joint states are added up for each. All rows are one group by default.

    Raises
    ------
    ValueError
        When a sequence is impossible, or a probability is negative.
    """
    for a in (*chains.initial, *chains.transition):
        if not np.all(a >= 0.0):
            raise ValueError("probabilities of states and transitions must not be negative")
    groups = np.zeros(sequences.lengths.sum(), dtype=np.int64) if groups is None else groups
    found = _Passes(chains, log_likelihood, sequences, in_logs=False).run(groups)
    if found is None:
        found = _Passes(chains, log_likelihood, sequences, in_logs=True).run(groups)
    if found is None:
        raise ValueError(
            "a sequence has probability 0: no joint state is possible at one of its rows; "
            "look for transitions or first states of probability 0"
        )
    return found


def most_likely_states(
    chains: Chains, log_likelihood: Callable[[slice], Array], sequences: Sequences
) -> IntArray:
    """Return the states (ΣT, M) of the paths of highest joint probability (Viterbi).

    Parameters are those of :func:`smooth_factorial`. All joint scores of a sequence are kept.
    """
    initial, transitions, sizes = _kernel_chains(_merged(chains), in_logs=True)
    ends = np.cumsum(sequences.lengths)
    states = np.empty(int(ends[-1]), dtype=np.int64)
    most, start = max(1, BLOCK // len(initial)), 0
    while start < len(states):  # as many sequences as fit, at least one
        fitting = int(np.searchsorted(ends, start + most, side="right"))
        stop = int(ends[max(fitting - 1, int(np.searchsorted(ends, start, side="right")))])
        first = np.zeros(stop - start, dtype=bool)
        first[sequences.starts[(sequences.starts >= start) & (ends <= stop)] - start] = True
        scores = log_likelihood(slice(start, stop))
        row = kernels.best_scores(initial, transitions, sizes, first, scores)
        if row >= 0:
            raise ValueError(
                f"a sequence has probability 0: no joint state is possible at row {start + row}"
            )
        kernels.follow_back(transitions, sizes, first, scores, states[start:stop])
        start = stop
    return np.stack(np.unravel_index(states, chains.sizes), axis=1)


class _Passes:
    """Forward and backward over blocks of rows, on scaled probabilities or on logs."""

    def __init__(
        self,
        chains: Chains,
        log_likelihood: Callable[[slice], Array],
        sequences: Sequences,
        *,
        in_logs: bool,
    ) -> None:
        self.chains, self.merged = chains, _merged(chains)
        self.log_likelihood, self.sequences, self.in_logs = log_likelihood, sequences, in_logs
        self.initial, self.transitions, self.sizes = _kernel_chains(self.merged, in_logs=in_logs)
        self.forward = kernels.filter_joint_logs if in_logs else kernels.filter_joint
        self.n = int(sequences.lengths.sum())
        self.first = np.zeros(self.n + 1, dtype=bool)
        self.first[sequences.starts] = self.first[self.n] = True
        self.safe = math.prod(float(a.min()) for a in chains.transition) > _SAFE

    def run(self, groups: IntArray) -> JointPosterior | None:
        """Return the posterior, or None where numbers are lost."""
        step = max(1, BLOCK // len(self.initial))
        blocks = [slice(i, min(i + step, self.n)) for i in range(0, self.n, step)]
        log_totals, ends = np.empty(self.n), [np.empty_like(self.initial)]
        filtered: Array | None = None
        for rows in blocks:
            filtered = self._filter(rows, ends[-1], log_totals)
            if filtered is None:
                return None
            ends.append(filtered[-1].copy())
        return self._back(blocks, ends, filtered, log_totals, groups)

    def _filter(self, rows: slice, before: Array, log_totals: Array) -> Array | None:
        weights = self.log_likelihood(rows)
        tops = weights.max(axis=1)
        tops[np.isneginf(tops)] = 0.0
        weights -= tops[:, None]
        if not self.in_logs:
            np.exp(weights, out=weights)
        totals = log_totals[rows]
        chains = self.initial, self.transitions, self.sizes, self.first[rows]
        failed = self.forward(*chains, before, weights, totals)
        totals += tops
        return None if failed == 2 or (failed == 1 and not self.safe) else weights

    def _back(
        self,
        blocks: list[slice],
        ends: list[Array],
        filtered: Array | None,
        log_totals: Array,
        groups: IntArray,
    ) -> JointPosterior:
        backward = kernels.smooth_joint_logs if self.in_logs else kernels.smooth_joint
        row_weights, after = self.sequences.row_weights, np.empty_like(self.initial)
        sums = np.zeros(self.transitions.shape)
        indicators = chain_indicators(self.chains.sizes)
        marginals = np.empty((self.n, indicators.shape[1]))
        joint_sums = np.zeros((int(groups.max()) + 1, len(self.initial)))
        for place in range(len(blocks) - 1, -1, -1):
            rows = blocks[place]
            if filtered is None:
                filtered = self._filter(rows, ends[place], np.empty(self.n))
            assert filtered is not None  # it was possible before
            first = self.first[rows.start : rows.stop + 1]
            arrays = first, row_weights[rows], after, filtered, sums
            backward(self.transitions, self.sizes, *arrays)
            after = filtered[0].copy()
            joint = np.exp(filtered) if self.in_logs else filtered
            np.matmul(joint, indicators, out=marginals[rows])
            for group in np.unique(groups[rows]):
                chosen = groups[rows] == group
                part = joint if chosen.all() else joint[chosen]
                joint_sums[group] += row_weights[rows][chosen] @ part
            filtered = None
        if not self.in_logs:
            sums *= self.transitions  # ξ = A ⊙ Σ f b
        pairs = tuple(_unmerged(sums, self.merged, self.chains.sizes))
        parts = np.split(marginals, np.cumsum(self.chains.sizes)[:-1], axis=1)
        log_evidence = np.add.reduceat(log_totals, self.sequences.starts)
        return JointPosterior(FactorialPosterior(tuple(parts), pairs, log_evidence), joint_sums)


def _merged(chains: Chains) -> Chains:
    """Return the same chains, the last ones as one chain if they have few states."""
    initial, transition = list(chains.initial), list(chains.transition)
    while len(initial) > 1 and len(initial[-1]) < _TOGETHER:
        if len(initial[-1]) * len(initial[-2]) > 2 * _TOGETHER:
            break
        initial[-2:] = [np.kron(*initial[-2:])]
        transition[-2:] = [np.kron(*transition[-2:])]
    return Chains(tuple(initial), tuple(transition))


def _unmerged(sums: Array, merged: Chains, sizes: tuple[int, ...]) -> Iterator[Array]:
    """Yield the pairs of every chain from those (M, K, K) of the chains that were merged."""
    alone = len(merged.initial) - 1
    for m in range(alone):
        yield sums[m, : sizes[m], : sizes[m]]
    behind = sizes[alone:]
    together = sums[alone, : len(merged.initial[-1]), : len(merged.initial[-1])]
    table = together.reshape(*behind, *behind)
    for m in range(len(behind)):
        others = [i for i in range(2 * len(behind)) if i % len(behind) != m]
        yield table.sum(axis=tuple(others))


def _kernel_chains(chains: Chains, *, in_logs: bool) -> tuple[Array, Array, IntArray]:
    """Return π of joint states, transitions (M, K, K) with padding, and sizes."""
    initial: Array = np.ones(1)
    for part in chains.initial:
        initial = np.kron(initial, part)
    most = max(chains.sizes)
    transitions = np.zeros((len(chains.initial), most, most))
    for m, a in enumerate(chains.transition):
        transitions[m, : len(a), : len(a)] = a
    if in_logs:
        with np.errstate(divide="ignore"):
            initial, transitions = np.log(initial), np.log(transitions)
    return initial, transitions, np.array(chains.sizes, dtype=np.int64)
