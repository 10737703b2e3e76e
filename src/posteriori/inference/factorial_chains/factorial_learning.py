r"""Learning several chains whose effects add up, by expectation–maximisation.

With exact passes the objective is :math:`\ln p(x) - \tfrac12 N \varepsilon \operatorname{tr} C^{-1}`, whose
last term, tiny for all but vanishing noise, keeps the likelihood finite; with variational chains it is
the bound in place of ln p(x). Rows are in units of their columns.

Reference: Z. Ghahramani & M. Jordan, "Factorial hidden Markov models", 1997, section 3.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult, maximize_by_em
from posteriori.inference.clusters.rough_clusters import nearest_of, rough_centers
from posteriori.inference.factorial_chains.additive_normal import (
    EffectSums,
    FactorialRows,
    effect_sums,
    joint_log_densities,
    learn_effects,
    make_factorial_rows,
)
from posteriori.inference.factorial_chains.kronecker_passes import (
    Chains,
    FactorialPosterior,
    Sequences,
    chain_indicators,
    most_likely_states,
    smooth_factorial,
)
from posteriori.inference.factorial_chains.variational_chains import (
    approximate_chains,
    approximate_path,
    mean_field,
)
from posteriori.inference.latent.ascent import Search, best_of_starts
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.rank import factor_definite
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["FLOOR", "FactorialParameters", "decode_rows", "learn_factorial", "smooth_rows"]

#: Part of a column's variance that its noise has at least.
FLOOR = 1e-6

#: Steps of each start before the best is followed, and rows that these see at most.
_FIRST_STEPS, _FIRST_ROWS = 20, 10_000

#: Probability of staying in a state, where learning begins.
_STAY = 0.8

#: How far effects are moved where learning begins, and how much noise that adds, in units of columns.
_MOVED = 0.3

#: Steps of k-means from which effects begin.
_ROUNDS = 10

#: Nats that a sweep of variational chains must gain, of what a step of learning must.
_SWEEP = 0.1


class FactorialParameters(NamedTuple):
    """All parameters, as arrays that an ascent can move.

    Attributes
    ----------
    initial : (ΣK,)
        Chain after chain.
    transition : (ΣK²,)
        Chain after chain, row after row.
    effects : (ΣK, D)
    cov : (D, D)
    """

    initial: Array
    transition: Array
    effects: Array
    cov: Array

    def chains(self, sizes: tuple[int, ...]) -> Chains:
        """Return π and A of each chain."""
        initial = np.split(self.initial, np.cumsum(sizes)[:-1])
        flat = np.split(self.transition, np.cumsum(np.square(sizes))[:-1])
        return Chains(
            tuple(initial), tuple(a.reshape(k, k) for a, k in zip(flat, sizes, strict=True))
        )


class _Expected(NamedTuple):
    """What the states are expected to be, and the parameters that they were expected by."""

    chains: FactorialPosterior
    sums: EffectSums
    parameters: FactorialParameters


def learn_factorial(
    rows: FactorialRows,
    sizes: tuple[int, ...],
    rng: np.random.Generator,
    *,
    exact: bool,
    n_init: int,
    tol: float,
    max_iter: int,
    callback: Callable[[int, float], Any] | None = None,
) -> EMResult:
    """Return the best of some ascents.

    Parameters
    ----------
    rows : FactorialRows
        In units of their columns.
    sizes : tuple of int
        States of each chain.
    rng : Generator
    exact : bool
        By Kronecker passes; else by variational chains.
    n_init : int
        Starts; some steps from each show which one to follow.
    tol, max_iter, callback
        Of the ascent.
    """
    starts = (_start(rows, sizes, rng) for _ in range(n_init))
    part = _some_of(rows)
    found = best_of_starts(
        lambda start, *, max_iter: _ascend(rows, sizes, start, exact, tol, max_iter, callback),
        starts,
        Search(n_init, _FIRST_STEPS, max_iter, {}),
        try_start=lambda start, *, max_iter: _ascend(part, sizes, start, exact, tol, max_iter),
    )
    if not found.converged and found.message.startswith("stopped after"):
        warnings.warn(
            f"the ascent {found.message}; raise max_iter or tol", ConvergenceWarning, stacklevel=3
        )
    return found


def smooth_rows(
    rows: FactorialRows, sizes: tuple[int, ...], parameters: FactorialParameters, *, exact: bool
) -> FactorialPosterior:
    """Return what is known of the states of rows under known parameters."""
    return _expect(rows, sizes, exact)(parameters)[0].chains


def decode_rows(
    rows: FactorialRows, sizes: tuple[int, ...], parameters: FactorialParameters, *, exact: bool
) -> IntArray:
    """Return the most probable path (ΣT, M); of variational chains, each chain's own."""
    chains = parameters.chains(sizes)
    if exact:
        means = chain_indicators(sizes) @ parameters.effects
        densities = joint_log_densities(rows, means, parameters.cov)
        return most_likely_states(chains, densities, rows.sequences)
    field = mean_field(rows, parameters.effects, parameters.cov)
    beliefs = approximate_chains(rows, chains, field).probabilities
    return approximate_path(rows, chains, field, beliefs)


def _ascend(
    rows: FactorialRows,
    sizes: tuple[int, ...],
    start: FactorialParameters,
    exact: bool,
    tol: float,
    max_iter: int,
    callback: Callable[[int, float], Any] | None = None,
) -> EMResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told once, by those who asked
        return maximize_by_em(
            _expect(rows, sizes, exact, tol=_SWEEP * tol),
            lambda expected: _maximize(rows, expected),
            start,
            log_prior=lambda p: -0.5 * rows.totals.sum() * FLOOR * _inverse_trace(p.cov),
            tol=tol,
            max_iter=max_iter,
            accelerated=exact,  # beliefs of variational chains go on from where they were
            callback=callback,
        )


def _expect(
    rows: FactorialRows, sizes: tuple[int, ...], exact: bool, tol: float = 1e-8
) -> Callable[[FactorialParameters], tuple[_Expected, float]]:
    """Return a function from parameters to what they let expect of the states."""
    weights = rows.sequences.weights
    indicators = chain_indicators(sizes) if exact else np.empty((0, 0))
    last: list[tuple[Array, ...]] = []

    def expect_exactly(p: FactorialParameters) -> tuple[_Expected, float]:
        densities = joint_log_densities(rows, indicators @ p.effects, p.cov)
        found = smooth_factorial(p.chains(sizes), densities, rows.sequences, rows.pattern)
        second = np.stack([(indicators.T * joint) @ indicators for joint in found.joint_sums])
        return _expected(found.chains, second, p)

    def expect_chains(p: FactorialParameters) -> tuple[_Expected, float]:
        field = mean_field(rows, p.effects, p.cov)
        start = last.pop() if last else None
        found = approximate_chains(rows, p.chains(sizes), field, start, tol)
        last.append(found.probabilities)
        return _expected(found, _mean_field_seconds(rows, sizes, found), p)

    def _expected(
        found: FactorialPosterior, second: Array, p: FactorialParameters
    ) -> tuple[_Expected, float]:
        states = np.concatenate(found.probabilities, axis=1)
        value = float(weights @ found.log_evidence)
        return _Expected(found, effect_sums(rows, states, second), p), value

    return expect_exactly if exact else expect_chains


def _mean_field_seconds(
    rows: FactorialRows, sizes: tuple[int, ...], found: FactorialPosterior
) -> Array:
    """Return Σ w E[ssᵀ] of each pattern, (P, ΣK, ΣK), chains being independent."""
    q, w = np.concatenate(found.probabilities, axis=1), rows.sequences.row_weights
    own = np.repeat(np.repeat(np.eye(len(sizes)), sizes, axis=0), sizes, axis=1)
    parts = [(w[n, None] * q[n]).T @ q[n] * (1.0 - own) for n in rows.members]
    return np.stack([a + np.diag(w[n] @ q[n]) for a, n in zip(parts, rows.members, strict=True)])


def _maximize(rows: FactorialRows, expected: _Expected) -> FactorialParameters:
    chains, sums, p = expected
    starts, weights = rows.sequences.starts, rows.sequences.weights
    initial = [weights @ a[starts] / weights.sum() for a in chains.probabilities]
    effects, cov = learn_effects(rows, sums, p.effects, p.cov, FLOOR)
    return FactorialParameters(
        np.concatenate(initial),
        np.concatenate([_rows_to_one(pairs).ravel() for pairs in chains.pair_sums]),
        effects,
        cov,
    )


def _inverse_trace(cov: Array) -> float:
    """Return tr C⁻¹ = |L⁻¹|² with C = LLᵀ."""
    return float((triangular_inverse(factor_definite(cov)) ** 2).sum())


def _rows_to_one(pairs: Array) -> Array:
    """Return expected moves as probabilities; a state that is never left goes anywhere."""
    totals = pairs.sum(axis=1, keepdims=True)
    return np.where(totals > 0, pairs / np.where(totals > 0, totals, 1.0), 1.0 / len(pairs))


def _start(
    rows: FactorialRows, sizes: tuple[int, ...], rng: np.random.Generator
) -> FactorialParameters:
    """Return effects by k-means of what the chains before leave, in a random order, moved at random.

    Without the last steps most starts lead to the same few summits.
    """
    left, weights = rows.z.copy(), rows.sequences.row_weights
    effects: list[Array] = [np.zeros((k, left.shape[1])) for k in sizes]
    for m in rng.permutation(len(sizes)):
        centers = rough_centers(left, sizes[m], weights, rng, steps=_ROUNDS)
        left -= centers[nearest_of(left, centers)]
        effects[m] = centers
    cov = (weights[:, None] * left).T @ left / weights.sum()
    moved = np.concatenate(effects)
    moved += _MOVED * rng.normal(size=moved.shape)
    stay = [_STAY * np.eye(k) + (1.0 - _STAY) / k for k in sizes]
    return FactorialParameters(
        np.concatenate([np.full(k, 1.0 / k) for k in sizes]),
        np.concatenate([a.ravel() for a in stay]),
        moved,
        cov + _MOVED * np.eye(len(cov)),
    )


def _some_of(rows: FactorialRows) -> FactorialRows:
    """Return the first rows, if there are many; the last of their sequences may be cut."""
    n = int(rows.sequences.lengths.sum())
    if n <= _FIRST_ROWS:
        return rows
    ends = np.cumsum(rows.sequences.lengths)
    kept = int(np.searchsorted(ends, _FIRST_ROWS)) + 1
    lengths = rows.sequences.lengths[:kept].copy()
    lengths[-1] -= ends[kept - 1] - _FIRST_ROWS
    x = np.where(rows.seen[rows.pattern[:_FIRST_ROWS]], rows.z[:_FIRST_ROWS], np.nan)
    return make_factorial_rows(x, Sequences(lengths, rows.sequences.weights[:kept]))
