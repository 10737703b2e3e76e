r"""Hidden chains of several classes that are learned to tell labelled sequences apart.

.. math:: L = \sum_r \ln p(m_r\mid X_r), \qquad p(m\mid X) \propto p(m)\,p(X\mid θ_m), \qquad
   \frac{∂L}{∂θ_m} = \sum_r \{[m_r = m] - p(m\mid X_r)\}\,E\!\left[\frac{∂\ln p(X_r, Z\mid θ_m)}{∂θ_m}\right],

climbed by L-BFGS. Rows of sequences of other classes count against a class, as often as they are taken
for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.inference.sequences.flat_emissions import FlatEmission
from posteriori.inference.state_chains.hidden_markov import forward_backward
from posteriori.inference.state_chains.state_filters import filter_states
from posteriori.numerics.logspace import log_softmax
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["ClassParameters", "DiscriminativeProblem", "climb_discriminatively"]

#: ln 0 that can be raised again, of what is possible.
_LEAST = -30.0


class ClassParameters(NamedTuple):
    """Parameters of one class: logits of π (K,) and A (K, K), and a vector of emissions."""

    initial: Array
    transition: Array
    emission: Array


class DiscriminativeProblem(NamedTuple):
    """Labelled sequences, and how their classes are read from one vector.

    Attributes
    ----------
    rows : ChainRows
    labels : (S,)
        Class of each sequence, 0 to C − 1.
    n_classes, n_states : int
    allowed : (K, K) of bool
    emission : FlatEmission
        Of all rows.
    """

    rows: ChainRows
    labels: IntArray
    n_classes: int
    n_states: int
    allowed: Array
    emission: FlatEmission

    def pack(self, log_prior: Array, classes: list[ClassParameters]) -> Array:
        """Return all parameters as one vector."""
        parts = [log_prior]
        for one in classes:
            moves = np.where(self.allowed, np.maximum(one.transition, _LEAST), 0.0)
            parts += [np.maximum(one.initial, _LEAST), moves.ravel(), one.emission]
        return np.concatenate(parts)

    def unpack(self, flat: Array) -> tuple[Array, list[ClassParameters]]:
        """Return ln p(m) (C,), and the parameters of each class, logarithms of probabilities."""
        k, (prior, rest) = self.n_states, np.split(flat, [self.n_classes])
        classes = []
        for part in np.split(rest, self.n_classes):
            moves = np.where(self.allowed, part[k : k + k * k].reshape(k, k), -np.inf)
            classes.append(
                ClassParameters(
                    log_softmax(part[:k], axis=0), log_softmax(moves, axis=1), part[k + k * k :]
                )
            )
        return log_softmax(prior, axis=0), classes

    def log_posterior(self, flat: Array) -> Array:
        """Return ln p(class | sequence), (S, C)."""
        log_prior, classes = self.unpack(flat)
        joint = [
            filter_states(
                one.initial,
                one.transition,
                self.emission.scores(one.emission),
                lengths=self.rows.lengths,
            ).log_evidence
            for one in classes
        ]
        return log_softmax(np.stack(joint, axis=1) + log_prior, axis=1)

    def value_and_gradient(self, flat: Array) -> tuple[float, Array]:
        """Return Σ w ln p(label | sequence) and its gradient."""
        log_posterior = self.log_posterior(flat)
        value = self.rows.sum_sequences(log_posterior[np.arange(len(self.labels)), self.labels])
        pull = (self.labels[:, None] == np.arange(self.n_classes)) - np.exp(log_posterior)
        if self.rows.weights is not None:
            pull = pull * self.rows.weights[:, None]
        parts = [pull.sum(axis=0)]
        for c, one in enumerate(self.unpack(flat)[1]):
            parts.append(self._class_gradient(one, pull[:, c], self.labels == c))
        return value, np.concatenate(parts)

    def _class_gradient(self, one: ClassParameters, pull: Array, own: Array) -> Array:
        """Return the gradient by the parameters of one class; ``pull`` (S,) is >= 0 for its own sequences."""
        scores = self.emission.scores(one.emission)
        shares = np.zeros(scores.shape)
        first, moves = np.zeros(self.n_states), np.zeros((self.n_states, self.n_states))
        for some, sign in ((own, 1.0), (~own, -1.0)):
            if not some.any():
                continue
            at = np.repeat(some, self.rows.lengths)
            lengths, weights = self.rows.lengths[some], sign * pull[some]
            found = forward_backward(
                one.initial,
                one.transition,
                scores[at],
                lengths=lengths,
                weights=np.maximum(weights, 0.0),
            )
            starts = np.append(0, np.cumsum(lengths)[:-1])
            first += sign * (weights @ found.probabilities[starts])
            moves += sign * found.pair_sums
            shares[at] = found.probabilities * np.repeat(pull[some], lengths)[:, None]
        of_first = first - first.sum() * np.exp(one.initial)
        of_moves = moves - moves.sum(axis=1, keepdims=True) * np.exp(one.transition)
        of_emission = self.emission.gradient(one.emission, shares)
        return np.concatenate([of_first, of_moves.ravel(), of_emission])


def climb_discriminatively(
    problem: DiscriminativeProblem,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[int, float], Any] | None = None,
) -> tuple[Array, Array, bool]:
    """Return the best parameters, the objective along the way, and whether the ascent has converged.

    It ends where a step gains less than ``tol`` nats; after Ctrl-C the best so far are returned.
    """
    trace, best = [problem.value_and_gradient(start)[0]], start

    def loss(flat: Array) -> tuple[float, Array]:
        value, gradient = problem.value_and_gradient(flat)
        return -value, -gradient

    def keep(intermediate_result: OptimizeResult) -> None:
        nonlocal best
        best = np.array(intermediate_result.x)
        trace.append(-float(intermediate_result.fun))
        if callback is not None and callback(len(trace) - 1, trace[-1]):
            raise StopIteration

    converged = False
    try:
        found = minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=keep,
            options={"maxiter": max_iter, "ftol": tol / max(1.0, abs(trace[0])), "gtol": 1e-8},
        )
        converged = bool(found.success)
        if found.nit >= max_iter:
            warnings.warn(
                f"the ascent stopped after {max_iter} steps; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
    except KeyboardInterrupt:
        pass
    return best, np.array(trace), converged
