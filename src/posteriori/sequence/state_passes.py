"""What a hidden chain asks of the passes over its states: plain ones, or those with run lengths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.state_chains.hidden_markov import (
    HiddenMarkovPosterior,
    MostLikelyPath,
    forward_backward,
    most_likely_path,
    sample_path,
)
from posteriori.inference.state_chains.ranked_paths import most_likely_paths, optimal_paths
from posteriori.inference.state_chains.run_lengths import (
    RunLengthPosterior,
    filter_runs,
    most_likely_runs,
    run_log_evidence,
    sample_runs,
    smooth_runs,
    step_runs,
)
from posteriori.inference.state_chains.state_filters import (
    FilteredStates,
    filter_states,
    step_states,
)
from posteriori.numerics.types import Array, IntArray, Seed

__all__ = ["PlainPasses", "RunLengthPasses"]


class PlainPasses(NamedTuple):
    """A chain by the logarithms of its first states and transitions."""

    initial: Array  # (K,)
    transition: Array  # (K, K)

    def log_evidence(self, scores: Array, lengths: Any = None) -> Any:
        """Return ln p(rows), of each sequence where lengths are given."""
        return filter_states(*self, scores, lengths=lengths).log_evidence

    def smooth(self, scores: Array, pairs: bool) -> HiddenMarkovPosterior:
        """Return P(z_t | rows)."""
        return forward_backward(*self, scores, pairs=pairs)

    def joint(self, scores: Array, path: IntArray) -> float:
        """Return ln p(rows, path)."""
        moves = self.transition[path[:-1], path[1:]].sum()
        return float(self.initial[path[0]] + moves + scores[np.arange(len(path)), path].sum())

    def best(self, scores: Array, n: int) -> MostLikelyPath:
        """Return the n best paths."""
        if n == 1:
            path = most_likely_path(*self, scores)
            return MostLikelyPath(path.states[None], np.atleast_1d(path.log_joint))
        return most_likely_paths(*self, scores, n)

    def ties(self, scores: Array) -> Iterator[IntArray]:
        """Yield all paths of highest probability."""
        return optimal_paths(*self, scores)

    def draw(self, scores: Array, size: int, rng: Seed) -> IntArray:
        """Draw paths given the rows."""
        return sample_path(*self, scores, size, rng=rng)

    def filter(self, scores: Array) -> FilteredStates:
        """Return P(z_t | rows up to t)."""
        return filter_states(*self, scores)

    def step(self, now: FilteredStates, scores: Array) -> FilteredStates:
        """Go on with later rows."""
        return step_states(now, self.transition, scores)

    def factors(self, scores: Array) -> tuple[Array, list[Array]]:
        """Return ln h(z_1) and ln f_t(z_{t−1}, z_t), the rows absorbed."""
        return self.initial + scores[0], [self.transition + score for score in scores[1:]]


class RunLengthPasses(NamedTuple):
    """A chain by the logarithms of its first states, moves between runs, and run lengths.

    Its n best paths are those of the plain chain whose states also say how many rows a run has
    lasted: a run goes on or ends by its hazard, so that each path has one image there.
    """

    initial: Array  # (K,)
    transition: Array  # (K, K)
    durations: Array  # (K, longest)

    def log_evidence(self, scores: Array, lengths: Any = None) -> Any:
        """Return ln p(rows), of each sequence where lengths are given."""
        return run_log_evidence(*self, scores, lengths=lengths)

    def smooth(self, scores: Array, pairs: bool) -> RunLengthPosterior:
        """Return P(z_t | rows)."""
        if pairs:
            raise ValueError("pairs are those of plain chains; pair_sums counts moves between runs")
        return smooth_runs(*self, scores)

    def joint(self, scores: Array, path: IntArray) -> float:
        """Return ln p(rows, path)."""
        ends = np.append(np.flatnonzero(np.diff(path)), len(path) - 1)
        lengths, states = np.diff(ends, prepend=-1), path[ends]
        longest = self.durations.shape[1]
        if lengths.max() > longest:
            return -np.inf
        whole = self.durations[states[:-1], lengths[:-1] - 1].sum()
        moves = self.transition[states[:-1], states[1:]].sum()
        cut = np.logaddexp.reduce(self.durations[states[-1], lengths[-1] - 1 :])
        seen = scores[np.arange(len(path)), path].sum()
        return float(self.initial[path[0]] + whole + moves + cut + seen)

    def best(self, scores: Array, n: int) -> MostLikelyPath:
        """Return the n best paths."""
        if n == 1:
            path = most_likely_runs(*self, scores)
            return MostLikelyPath(path.states[None], np.atleast_1d(path.log_joint))
        best = most_likely_paths(*self._aged(), self._repeated(scores), n)
        return best._replace(states=best.states // self.durations.shape[1])

    def ties(self, scores: Array) -> Iterator[IntArray]:
        """Yield all paths of highest probability."""
        longest = self.durations.shape[1]
        return (path // longest for path in optimal_paths(*self._aged(), self._repeated(scores)))

    def draw(self, scores: Array, size: int, rng: Seed) -> IntArray:
        """Draw paths given the rows."""
        return sample_runs(*self, scores, size, rng=rng)

    def filter(self, scores: Array) -> FilteredStates:
        """Return P(z_t | rows up to t)."""
        return filter_runs(*self, scores)

    def step(self, now: FilteredStates, scores: Array) -> FilteredStates:
        """Go on with later rows."""
        return step_runs(now, self.transition, self.durations, scores)

    def factors(self, scores: Array) -> tuple[Array, list[Array]]:
        """Refuse: a table of two states cannot hold how long a run has lasted."""
        raise ValueError("to_factors needs a chain without durations")

    def _aged(self) -> PlainPasses:
        """Return the chain over (state, rows that its run has lasted)."""
        size, longest = self.durations.shape
        survivals = np.logaddexp.accumulate(self.durations[:, ::-1], axis=1)[:, ::-1]
        alive = np.where(survivals > -np.inf, survivals, 0.0)
        moves = np.full((size, longest, size, longest), -np.inf)
        over = self.durations - alive  # ln P(a run of d rows lasts no longer)
        moves[:, :, :, 0] = over[:, :, None] + self.transition[:, None, :]
        states, ages = np.arange(size)[:, None], np.arange(longest - 1)
        moves[states, ages, states, ages + 1] = survivals[:, 1:] - alive[:, :-1]
        initial = np.full((size, longest), -np.inf)
        initial[:, 0] = self.initial
        return PlainPasses(initial.ravel(), moves.reshape(size * longest, -1))

    def _repeated(self, scores: Array) -> Array:
        return np.repeat(scores, self.durations.shape[1], axis=1)
