"""One series filtered with many chains at once: those of draws of what is unknown."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.series.lane_recursions import (
    LANES,
    ChainMoves,
    LaneChains,
    LaneWorkspace,
    filter_lanes,
)
from posteriori.inference.series.scalar_chain import ScalarChain
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.types import Array

__all__ = ["ChainDraws", "FilteredDraws", "filter_draws", "plan_moves"]


class ChainDraws(NamedTuple):
    """Chains of one form, which differ in weights only.

    Attributes
    ----------
    form : ScalarChain
        Any one of them.
    moves : ChainMoves
    transitions, noises, starts : (S or 1, …)
        The weights of their transitions, noises and starts, in the order of those of ``form``.
    """

    form: ScalarChain
    moves: ChainMoves
    transitions: Array
    noises: Array
    starts: Array

    @classmethod
    def of_one(cls, chain: ScalarChain) -> ChainDraws:
        """Return a chain that all draws share."""
        weights = [part.weights[None] for part in (chain.transition, chain.noise, chain.start)]
        return cls(chain, plan_moves(chain, weights[0]), *weights)

    def first_states(self, variances: Array) -> tuple[Array, Array]:
        """Return means (S, D) and covariances (S, D, D) of first states, for variances (S, P) of the parts."""
        chain, count = self.form, len(variances)
        means = np.broadcast_to(chain.initial_mean, (count, len(chain.initial_mean)))
        covs = np.broadcast_to(chain.initial_cov, (count, *chain.initial_cov.shape))
        if len(chain.start_parts):
            covs = covs.copy()
            begun = self.starts[:, 0] * variances[:, chain.start_parts]
            covs[:, chain.start.rows, chain.start.columns] += begun  # each belongs to one part
        return means, covs


class FilteredDraws(NamedTuple):
    """What each value looked like from the ones before it, under each of S chains.

    Attributes
    ----------
    innovations, spreads : (S, T)
        As of :class:`~posteriori.inference.series.scalar_chain.FilteredSeries`.
    quadratics : (S,)
        Σ v_t²/F_t over observed values.
    means, covs : (S, D), (S, D, D)
        Of the state at the last step, given all values.
    """

    innovations: Array
    spreads: Array
    quadratics: Array
    means: Array
    covs: Array


def filter_draws(
    chains: ChainDraws, variances: Array, y: Array, means: Array, covs: Array
) -> FilteredDraws:
    """Filter a series with S chains of one form, whose first states have priors; O(S·T·D·(D + E)).

    Parameters
    ----------
    chains : ChainDraws
    variances : (S, P)
    y : (T,)
        NaN is missing.
    means, covs : (S, D), (S, D, D)
        Of the states at the first step.
    """
    form, moves, size = chains.form, chains.moves, means.shape[1]
    _require_fitting(form, variances, means, covs)
    count, lanes, wide = len(variances), -(-len(variances) // LANES) * LANES, (size + 1) * LANES
    states = np.zeros((size, size + 1, lanes))
    states[:, :size, :count], states[:, size, :count] = covs.transpose(1, 2, 0), means.T
    noise_of_values = np.ones(lanes)  # lanes that are left over have nothing else
    noise_of_values[:count] = variances[:, 0]
    innovations, spreads = np.empty((2, len(y), lanes))
    seen_through = as_kernel_input(form.emission), noise_of_values
    weights = _in_lanes(chains.transitions[..., moves.entries], lanes)
    noises = _in_lanes(variances[:, None, form.parts] * chains.noises, lanes)
    made = LaneChains(*seen_through, weights, form.noise.rows, form.noise.columns, noises)
    heads = len(moves.heads)
    workspace = LaneWorkspace(
        np.empty((size, wide)),
        np.empty((heads, wide)),
        np.empty((heads, heads * LANES)),
        np.empty((2, wide)),
        np.empty((2, size), dtype=np.int64),
    )
    filter_lanes(made, moves, as_kernel_input(y), states, workspace, innovations, spreads)
    v, f, seen = innovations[:, :count], spreads[:, :count], ~np.isnan(y)
    quadratics = (v[seen] ** 2 / f[seen]).sum(axis=0)
    last = states[..., :count].transpose(2, 0, 1)
    return FilteredDraws(v.T, f.T, quadratics, last[:, :, size], last[:, :, :size])


def _require_fitting(chain: ScalarChain, variances: Array, means: Array, covs: Array) -> None:
    """Refuse states and variances of another chain, which compiled loops would not notice."""
    count, size = len(variances), chain.emission.shape[1]
    parts = variances.shape[1]
    apart = means.shape != (count, size) or covs.shape != (count, size, size)
    if apart or chain.parts.max(initial=0) >= parts:
        raise ValueError(
            f"states of shape {means.shape} and {parts} variances are of another form of series"
        )


def _in_lanes(weights: Array, lanes: int) -> Array:
    """Return weights (S or 1, 1 or T, E) as (1 or T, E, lanes); those of one chain are all chains'."""
    made = np.zeros((*weights.shape[1:], lanes))
    made[..., : len(weights) if len(weights) > 1 else lanes] = weights.transpose(1, 2, 0)
    return made


def plan_moves(chain: ScalarChain, transitions: Array) -> ChainMoves:
    """Divide states into those that take over another one as it is, and sums.

    Parameters
    ----------
    chain : ScalarChain
    transitions : (S, 1 or T, E)
        Weights of the transition under several chains of the form: what they agree in all chains share.
    """
    rows, columns, _ = chain.transition
    size = len(chain.initial_mean)
    shared = (transitions == transitions[0]).all(axis=(0, 1))
    moved = (transitions == 1.0).all(axis=(0, 1)) & (np.bincount(rows, minlength=size)[rows] == 1)
    sources, left = np.full(size, -1), np.ones(size, dtype=bool)
    for e in np.flatnonzero(moved).tolist():  # a place can be taken over once
        moved[e] = left[columns[e]]
        if moved[e]:
            sources[rows[e]], left[columns[e]] = columns[e], False
    heads = np.flatnonzero(sources < 0)
    sources[heads] = np.flatnonzero(left)
    entries = np.flatnonzero(~moved)
    entries = entries[np.argsort(rows[entries], kind="stable")]
    ends = np.append(0, np.cumsum(np.bincount(rows[entries], minlength=size)[heads]))
    return ChainMoves(sources, heads, ends, entries, columns[entries], shared[entries])
