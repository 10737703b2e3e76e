"""One series filtered with many chains at once: those of draws of what is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.inference.series.scalar_chain import ScalarChain
from posteriori.inference.series.scalar_recursions import filter_many_scalar
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.types import Array

__all__ = ["FilteredDraws", "filter_draws"]


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
    chains: Sequence[ScalarChain], variances: Array, y: Array, means: Array, covs: Array
) -> FilteredDraws:
    """Filter a series with S chains of one form, whose first states have priors; O(S·T·D·(D + E)).

    Parameters
    ----------
    chains : sequence of S or 1
        They differ in weights of transitions and noises only.
    variances : (S, P)
    y : (T,)
        NaN is missing.
    means, covs : (S, D), (S, D, D)
        Of the states at the first step.
    """
    first, count, steps, size = chains[0], len(variances), len(y), means.shape[1]
    _require_fitting(first, variances, means, covs)
    transitions = np.stack([chain.transition.weights for chain in chains])
    noises = np.stack([chain.noise.weights for chain in chains])
    states, spread_of = means[:, :, None].copy(), np.array(covs, dtype=np.float64)
    innovations, spreads = np.empty((count, steps, 1)), np.empty((count, steps))
    filter_many_scalar(
        first.emission,
        first.transition.rows,
        first.transition.columns,
        transitions,
        first.noise.rows,
        first.noise.columns,
        first.parts,
        noises,
        as_kernel_input(variances),
        as_kernel_input(y),
        np.empty((0, 0, size)),
        states,
        spread_of,
        np.empty((max(size, 2), max(size, 1))),
        innovations,
        spreads,
        np.empty((steps, size)),
        np.empty((steps, 0, 1)),
        np.empty((steps, 0, size)),
    )
    v, seen = innovations[:, :, 0], ~np.isnan(y)
    quadratics = (v[:, seen] ** 2 / spreads[:, seen]).sum(axis=1)
    return FilteredDraws(v, spreads, quadratics, states[:, :, 0], spread_of)


def _require_fitting(chain: ScalarChain, variances: Array, means: Array, covs: Array) -> None:
    """Refuse states and variances of another chain, which compiled loops would not notice."""
    count, size = len(variances), chain.emission.shape[1]
    parts = variances.shape[1]
    apart = means.shape != (count, size) or covs.shape != (count, size, size)
    if apart or chain.parts.max(initial=0) >= parts:
        raise ValueError(
            f"states of shape {means.shape} and {parts} variances are of another form of series"
        )
