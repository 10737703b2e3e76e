r"""Paths whose states say how long their runs last: what rows say of them, and what laws are learned from.

Whole runs are counted as they are. The last run of a sequence is cut by its end: it may go on for as long as
its state does,

.. math:: N_k(d) = N_k^{\text{whole}}(d) + \sum_{d' \le d} N_k^{\text{cut}}(d')\,
   \frac{p_k(d)}{\sum_{d'' \ge d'} p_k(d'')}.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.latent.contract import Assigned, Sums
from posteriori.inference.sequences.chain_paths import ChainLaws
from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.inference.sequences.dirichlet_rows import DirichletRows
from posteriori.inference.sequences.run_laws import ParametricRuns
from posteriori.inference.state_chains.run_lengths import (
    most_likely_runs,
    sample_runs,
    smooth_runs,
)
from posteriori.numerics.types import Array, IntArray

__all__ = ["RunPaths"]


class RunPaths(NamedTuple):
    """Paths of runs.

    Attributes
    ----------
    rows : ChainRows
    initial : DirichletRows
        Of K probabilities.
    transition : DirichletRows
        Of a table (K, K) without its diagonal, from a run to the next.
    durations : DirichletRows or ParametricRuns
        Of a table (K, L) of the lengths of runs.
    hard : bool
        Whether the most probable path is taken for certain.
    """

    rows: ChainRows
    initial: DirichletRows
    transition: DirichletRows
    durations: DirichletRows | ParametricRuns
    hard: bool = False

    @property
    def exact(self) -> bool:
        """Whether beliefs about laws are exact where the paths are known."""
        return False  # the last run of a sequence is cut

    @property
    def n_sums(self) -> int:
        """Counts of first states, of moves, and of lengths of runs."""
        return 3

    @property
    def n_states(self) -> int:
        """K."""
        return len(self.initial.concentration)

    @property
    def tables(self) -> tuple[Any, ...]:
        """Laws, in the order of the sums."""
        return self.initial, self.transition, self.durations

    @property
    def n_parameters(self) -> int:
        """Free parameters of all laws."""
        return sum(table.n_parameters for table in self.tables)

    def start(self, states: IntArray) -> Sums:
        """Return the counts of given paths, and some more of everything possible."""
        first, moves, runs = self.count_paths(states)
        moves = (moves + 1.0) * self.transition.possible
        return (first + 1.0) * self.initial.possible, moves, runs + 1.0 / self._longest

    def count_paths(self, states: IntArray) -> Sums:
        """Return the counts of given paths; runs that are cut count as whole ones."""
        rows, k = self.rows, self.n_states
        begin, lasted = self._runs_of(states)
        runs = np.zeros((k, self._longest))
        weight = np.ones(len(states)) if rows.frequency is None else rows.frequency
        np.add.at(runs, (states[begin], lasted - 1), weight[begin])
        first = np.bincount(states[rows.first], rows.weights, minlength=k).astype(np.float64)
        return first, rows.count_pairs(states, k) * self.transition.possible, runs

    def draw(self, logs: Sums, scores: Array, rng: np.random.Generator) -> IntArray:
        """Draw the paths of all sequences (T,) under known laws."""
        first, moves, runs = logs
        scores = self.rows.clamp(scores)
        return sample_runs(first, moves, runs, scores, lengths=self.rows.lengths, rng=rng)[0]

    def expect(self, sums: Sums, scores: Array) -> Assigned:
        """Return what rows say of paths and runs."""
        learned = [table.learn(part) for table, part in zip(self.tables, sums, strict=True)]
        bonus = float(sum(one for _, one in learned))
        first, moves, runs = (logs for logs, _ in learned)
        return self.expect_under(first, moves, runs, scores)._replace(bonus=bonus)

    def expect_under(
        self, log_initial: Array, log_transition: Array, log_durations: Array, scores: Array
    ) -> Assigned:
        """Return what rows say of paths and runs under known laws."""
        rows, laws = self.rows, (log_initial, log_transition, log_durations)
        scores = rows.clamp(scores)
        if self.hard:
            return self._best(laws, scores)
        found = smooth_runs(*laws, scores, lengths=rows.lengths, weights=rows.weights)
        shares, started = rows.weigh(found.probabilities)
        runs = found.run_lengths + _completed(found.cut_runs, log_durations)
        value = rows.sum_sequences(found.log_evidence)
        return Assigned(value, 0.0, shares, (started, found.pair_sums, runs))

    def _best(self, laws: tuple[Array, Array, Array], scores: Array) -> Assigned:
        """Take the most probable paths for certain; the lengths of runs that are cut stay unknown."""
        rows = self.rows
        found = most_likely_runs(*laws, scores, lengths=rows.lengths)
        value = rows.sum_sequences(found.log_joint)
        first, moves, whole = self.count_paths(found.states)
        cut = self._cut_runs(found.states)
        runs = whole - cut + _completed(cut, laws[2])
        shares = rows.certain_shares(found.states, self.n_states)
        return Assigned(value, 0.0, shares, (first, moves, runs))

    def _cut_runs(self, states: IntArray) -> Array:
        """Return how often the last runs of sequences have each length, (K, L)."""
        rows, cut = self.rows, np.zeros((self.n_states, self._longest))
        begin, lasted = self._runs_of(states)
        last = np.searchsorted(begin, np.cumsum(rows.lengths) - 1, side="right") - 1
        weights = 1.0 if rows.weights is None else rows.weights
        np.add.at(cut, (states[begin[last]], lasted[last] - 1), weights)
        return cut

    def _runs_of(self, states: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first rows of runs, and how many rows they have, none above the longest."""
        fresh = ~self.rows.arrivals
        fresh[1:] |= states[1:] != states[:-1]
        begin = np.flatnonzero(fresh)
        return begin, np.minimum(np.diff(np.append(begin, len(states))), self._longest)

    def learn(self, sums: Sums) -> ChainLaws:
        """Return π, A without its diagonal, and the lengths of runs."""
        first, moves, runs = (t.mean(part) for t, part in zip(self.tables, sums, strict=True))
        return ChainLaws(first, moves, None, runs)

    def beliefs(self, sums: Sums) -> tuple[Any, ...]:
        """Return what is believed of first states, moves and lengths of runs."""
        return tuple(table.belief(part) for table, part in zip(self.tables, sums, strict=True))

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the counts of states in another order."""
        return sums[0][order], sums[1][order][:, order], sums[2][order]

    def log_evidence(self, logs: Sums, scores: Array) -> float:
        """Return Σ_s w_s ln p(x_s) under known laws."""
        first, moves, runs = logs
        scores = self.rows.clamp(scores)
        found = smooth_runs(first, moves, runs, scores, lengths=self.rows.lengths)
        return self.rows.sum_sequences(found.log_evidence)

    @property
    def _longest(self) -> int:
        law = self.durations
        return law.longest if isinstance(law, ParametricRuns) else law.concentration.shape[1]


def _completed(cut: Array, log_durations: Array) -> Array:
    """Return the lengths that runs cut after d rows would have had, (K, L)."""
    weights = np.exp(log_durations - log_durations.max(axis=1, keepdims=True))
    survival = weights[:, ::-1].cumsum(axis=1)[:, ::-1]
    each = np.where(survival > 0.0, cut / np.where(survival > 0.0, survival, 1.0), 0.0)
    return weights * each.cumsum(axis=1)
