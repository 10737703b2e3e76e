r"""Paths whose transitions depend on inputs, each row's at its arrival.

.. math:: p(z_t = k\mid z_{t-1} = j, u_t) = \mathrm{softmax}_k(b_{jk} + W_{jk}\cdot u_t)
   \quad\text{over the allowed } k,

learned by Newton steps on :math:`\sum_t \sum_k ξ_t(j, k)\ln p(k\mid j, u_t) - \tfrac{λ}2|W_j|^2`, state by
state: multinomial regressions with expected transitions for targets. Steps never lower the likelihood, so
neither does the ascent.

Reference: Y. Bengio & P. Frasconi, "Input–output HMMs for sequence processing", 1996.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.latent.contract import Assigned, Sums
from posteriori.inference.predictors.mode_finding import find_mode
from posteriori.inference.predictors.softmax_averages import contrasts
from posteriori.inference.predictors.softmax_predictor import SoftmaxPredictor
from posteriori.inference.sequences.chain_paths import ChainLaws
from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.inference.sequences.dirichlet_rows import DirichletRows
from posteriori.inference.state_chains.hidden_markov import forward_backward, most_likely_path
from posteriori.numerics.logspace import log_softmax
from posteriori.numerics.types import Array, IntArray

__all__ = ["DrivenPaths", "DrivenTransitions", "standardized_inputs"]


class DrivenTransitions(NamedTuple):
    """Transitions as functions of inputs.

    Attributes
    ----------
    intercept : (K, K)
        At inputs 0; −inf where a move is not allowed.
    coef : (K, K, P)
        Change of the log odds of each move, which sum to 0 over the allowed ones.
    """

    intercept: Array
    coef: Array

    def log_transition(self, inputs: Array) -> Array:
        """Return ln A of rows with inputs (T, P), (T, K, K)."""
        logits = np.einsum("jkp,tp->tjk", self.coef, inputs)
        return log_softmax(self.intercept + logits, axis=2)


class DrivenPaths(NamedTuple):
    """Paths driven by inputs.

    Attributes
    ----------
    rows : ChainRows
    initial : DirichletRows
    allowed : (K, K) of bool
    design : (T, 1 + P)
        An intercept and the inputs, standardized.
    centre, scale : (P,)
        Of the inputs.
    precision : float
        λ.
    hard : bool
        Whether the most probable path is taken for certain.
    """

    rows: ChainRows
    initial: DirichletRows
    allowed: Array
    design: Array
    centre: Array
    scale: Array
    precision: float
    hard: bool = False

    @property
    def n_sums(self) -> int:
        """Counts of first states, and weights."""
        return 2

    @property
    def n_states(self) -> int:
        """K."""
        return len(self.allowed)

    def start(self, states: IntArray) -> Sums:
        """Return the counts of first states, and intercepts of how often states follow one another."""
        k, first = self.n_states, self.rows.first
        counts = np.bincount(states[first], self.rows.weights, minlength=k) + 1.0
        weights = np.zeros((k, max(k - 1, 1), self.design.shape[1]))
        for j, moves in enumerate(self.rows.count_pairs(states, k) + 1.0):
            at = np.flatnonzero(self.allowed[j])
            weights[j, : len(at) - 1, 0] = contrasts(len(at)).T @ np.log(moves[at])
        return counts * self.initial.possible, weights

    def expect(self, sums: Sums, scores: Array) -> Assigned:
        """Return what rows say of paths, and the weights that the expected transitions lead to."""
        log_initial, bonus = self.initial.learn(sums[0])
        moves = self._standardized(sums[1]).log_transition(self.design[:, 1:])
        bonus -= 0.5 * self.precision * float((sums[1] ** 2).sum())
        return self._expect(log_initial, moves, scores, sums[1])._replace(bonus=bonus)

    def expect_under(self, log_initial: Array, log_transition: Array, scores: Array) -> Assigned:
        """Return what rows say of paths under known transitions (K, K), which no input drives."""
        weights = np.zeros((self.n_states, max(self.n_states - 1, 1), self.design.shape[1]))
        return self._expect(log_initial, log_transition, scores, weights)

    def _expect(self, log_initial: Array, moves: Array, scores: Array, weights: Array) -> Assigned:
        """Return what rows say of paths, and the weights that are found from given ones on."""
        rows = self.rows
        scores = rows.clamp(scores)
        if self.hard:
            best = most_likely_path(log_initial, moves, scores, lengths=rows.lengths)
            shares = rows.certain_shares(best.states, self.n_states)
            pairs, started = self._certain_pairs(best.states), shares[rows.first].sum(axis=0)
            value = rows.sum_sequences(best.log_joint)
            return Assigned(value, 0.0, shares, (started, self._maximized(weights, pairs)))
        found = forward_backward(
            log_initial, moves, scores, lengths=rows.lengths, weights=rows.weights, pairs=True
        )
        shares, started = rows.weigh(found.probabilities)
        assert found.pair_probabilities is not None
        after = self._maximized(weights, found.pair_probabilities)
        value = rows.sum_sequences(found.log_evidence)
        return Assigned(value, 0.0, shares, (started, after))

    def _certain_pairs(self, states: IntArray) -> Array:
        """Return which transition arrives at each row of known paths, (T, K, K)."""
        pairs, later = np.zeros((len(states), self.n_states, self.n_states)), self.rows.arrivals
        at = np.flatnonzero(later)
        pairs[at, states[at - 1], states[at]] = 1.0
        return pairs

    @property
    def n_parameters(self) -> int:
        """Free probabilities of first states, and weights."""
        moves = int((self.allowed.sum(axis=1) - 1).sum())
        return self.initial.n_parameters + moves * self.design.shape[1]

    def learn(self, sums: Sums) -> ChainLaws:
        """Return π, and the transitions as functions of inputs as they were given."""
        found = self._standardized(sums[1])
        coef = found.coef / self.scale
        driven = DrivenTransitions(found.intercept - coef @ self.centre, coef)
        average = np.exp(log_softmax(found.intercept, axis=1))
        return ChainLaws(self.initial.mean(sums[0]), average, driven)

    def beliefs(self, sums: Sums) -> tuple[Any, ...]:
        """Return nothing: weights of inputs have no conjugate prior."""
        return ()

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the counts and weights of states in another order."""
        weights = np.zeros_like(sums[1])
        for j, old in enumerate(order):
            before, after = np.flatnonzero(self.allowed[old]), np.flatnonzero(self.allowed[j])
            logits = np.zeros((self.n_states, self.design.shape[1]))
            logits[before] = contrasts(len(before)) @ sums[1][old, : len(before) - 1]
            weights[j, : len(after) - 1] = contrasts(len(after)).T @ logits[order][after]
        return sums[0][order], weights

    def _standardized(self, weights: Array) -> DrivenTransitions:
        """Return the transitions as functions of standardized inputs."""
        k, width = self.n_states, self.design.shape[1]
        logits = np.zeros((k, k, width))
        logits[..., 0] = np.where(self.allowed, 0.0, -np.inf)
        for j in range(k):
            at = np.flatnonzero(self.allowed[j])
            logits[j, at] = contrasts(len(at)) @ weights[j, : len(at) - 1]
        return DrivenTransitions(logits[..., 0], logits[..., 1:])

    def _maximized(self, weights: Array, pairs: Array) -> Array:
        """Return the weights that fit expected transitions (T, K, K) into rows best."""
        later = self.rows.arrivals
        frequency = self.rows.frequency
        z, counted = self.design[later], None if frequency is None else frequency[later]
        after = np.zeros_like(weights)
        for j in range(self.n_states):
            at = np.flatnonzero(self.allowed[j])
            if len(at) < 2 or not len(z):
                continue
            moves = pairs[later, j][:, at]
            total = np.maximum(moves.sum(axis=1), np.finfo(np.float64).tiny)
            times = total if counted is None else total * counted
            start = weights[j, : len(at) - 1].ravel()
            held = np.full(start.size, self.precision)
            density = SoftmaxPredictor(
                z, moves / total[:, None], len(at), held, np.zeros(start.size), times
            )
            found = find_mode(density, start, curvature_at_mode=False)
            after[j, : len(at) - 1] = found.point.reshape(len(at) - 1, -1)
        return after


def standardized_inputs(inputs: Array) -> tuple[Array, Array, Array]:
    """Return an intercept and inputs in units of their spread (T, 1 + P), and their centre and scale."""
    centre, scale = inputs.mean(axis=0), inputs.std(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    z = (inputs - centre) / scale
    return np.concatenate([np.ones((len(z), 1)), z], axis=1), centre, scale
