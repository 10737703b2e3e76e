r"""Paths of hidden states with one law of transitions: what rows say of them, and what laws are learned from.

.. math:: p(z) = π_{z_1} \prod_{t=2}^{T} A_{z_{t-1} z_t}, \qquad
   N_k = \sum_s w_s γ_{s1}(k), \qquad N_{jk} = \sum_s w_s \sum_{t \ge 2} ξ_{st}(j, k).

π is the share of *sequences* that start in a state; transitions into a first row are none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.latent.contract import Assigned, Sums
from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.inference.sequences.dirichlet_rows import DirichletRows
from posteriori.inference.state_chains.hidden_markov import (
    forward_backward,
    most_likely_path,
    sample_path,
)
from posteriori.inference.state_chains.state_filters import filter_states
from posteriori.numerics.types import Array, IntArray

__all__ = ["ChainLaws", "ChainPaths"]


class ChainLaws(NamedTuple):
    """What paths follow.

    Attributes
    ----------
    initial : (K,)
        Probabilities of the first state.
    transition : (K, K)
        Probabilities of moves; where inputs drive them, at average inputs.
    driven : object or None
        With ``log_transition(inputs)``, where inputs drive them.
    durations : (K, L) or None
        Probabilities of the lengths of runs, where these are not geometric.
    """

    initial: Array
    transition: Array
    driven: Any = None
    durations: Array | None = None


class ChainPaths(NamedTuple):
    """Paths of a Markov chain of order 1.

    Attributes
    ----------
    rows : ChainRows
    initial : DirichletRows
        Of K probabilities.
    transition : DirichletRows
        Of a table (K, K).
    hard : bool
        Whether the most probable path is taken for certain.
    """

    rows: ChainRows
    initial: DirichletRows
    transition: DirichletRows
    hard: bool = False

    @property
    def exact(self) -> bool:
        """Whether beliefs about laws are exact where the paths are known."""
        return True

    @property
    def n_sums(self) -> int:
        """Counts of first states, and of transitions."""
        return 2

    @property
    def n_states(self) -> int:
        """K."""
        return len(self.initial.concentration)

    @property
    def tables(self) -> tuple[DirichletRows, ...]:
        """Laws, in the order of the sums."""
        return self.initial, self.transition

    def start(self, states: IntArray) -> Sums:
        """Return the counts of given paths, and one more of everything possible."""
        first, moves = self.count_paths(states)
        return (first + 1.0) * self.initial.possible, (moves + 1.0) * self.transition.possible

    def count_paths(self, states: IntArray) -> Sums:
        """Return the counts of given paths."""
        k, weights = self.n_states, self.rows.weights
        first = np.bincount(states[self.rows.first], weights, minlength=k).astype(np.float64)
        return first, self.rows.count_pairs(states, k)

    def draw(self, logs: Sums, scores: Array, rng: np.random.Generator) -> IntArray:
        """Draw the paths of all sequences (T,) under known laws."""
        first, moves = logs
        scores = self.rows.clamp(scores)
        return sample_path(first, moves, scores, lengths=self.rows.lengths, rng=rng)[0]

    def expect(self, sums: Sums, scores: Array) -> Assigned:
        """Return what rows say of paths under the laws of these sums."""
        log_initial, one = self.initial.learn(sums[0])
        log_transition, other = self.transition.learn(sums[1])
        return self.expect_under(log_initial, log_transition, scores)._replace(bonus=one + other)

    def expect_under(self, log_initial: Array, log_transition: Array, scores: Array) -> Assigned:
        """Return what rows say of paths under known laws."""
        rows = self.rows
        scores = rows.clamp(scores)
        if self.hard:
            return self._best(log_initial, log_transition, scores)
        found = forward_backward(
            log_initial, log_transition, scores, lengths=rows.lengths, weights=rows.weights
        )
        shares, started = rows.weigh(found.probabilities)
        value = rows.sum_sequences(found.log_evidence)
        return Assigned(value, 0.0, shares, (started, found.pair_sums))

    @property
    def n_parameters(self) -> int:
        """Free probabilities."""
        return self.initial.n_parameters + self.transition.n_parameters

    def learn(self, sums: Sums) -> ChainLaws:
        """Return π and A, or what beliefs expect of them."""
        return ChainLaws(self.initial.mean(sums[0]), self.transition.mean(sums[1]))

    def beliefs(self, sums: Sums) -> tuple[Any, ...]:
        """Return what is believed of π and A."""
        return self.initial.belief(sums[0]), self.transition.belief(sums[1])

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the counts of states in another order."""
        return sums[0][order], sums[1][order][:, order]

    def log_evidence(self, logs: Sums, scores: Array) -> float:
        """Return Σ_s w_s ln p(x_s) under known laws."""
        first, moves = logs
        scores = self.rows.clamp(scores)
        found = filter_states(first, moves, scores, lengths=self.rows.lengths)
        return self.rows.sum_sequences(found.log_evidence)

    def _best(self, log_initial: Array, log_transition: Array, scores: Array) -> Assigned:
        rows = self.rows
        found = most_likely_path(log_initial, log_transition, scores, lengths=rows.lengths)
        shares = rows.certain_shares(found.states, self.n_states)
        value = rows.sum_sequences(found.log_joint)
        return Assigned(value, 0.0, shares, self.count_paths(found.states))
