"""The passes over a chain: what their recursions are given, and how much work they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.chains import chain_recursions as recursions
from posteriori.inference.chains.chain_arguments import ChainArrays
from posteriori.numerics.compilation import as_kernel_input, run
from posteriori.numerics.types import Array

__all__ = ["Filtered", "draw", "filter_series", "simulate", "smooth", "covariances_of"]

#: Innovations this many times smaller than their terms are computed again in two words.
_CANCELLATION = 1e4


class Filtered(NamedTuple):
    """Means (B, T, D), square roots (T, D, D), whether each repeats the one before, ln p(y_t|…).

    ``low`` (B, T, D) holds second words of the means; it has no steps where one was enough.
    """

    mean: Array
    factor: Array
    repeated: Array
    log_predictive: Array
    low: Array


def filter_series(chain: ChainArrays, y: Array) -> Filtered:
    """Filter series (B, T, P) that miss the same entries."""
    filtered, failed, cancellation = _filter(chain, y, in_two_words=False)
    if failed < 0 and cancellation > _CANCELLATION:
        filtered, failed, _ = _filter(chain, y, in_two_words=True)
    if failed >= 0:
        raise ValueError(
            f"the observation at time step {failed} has no variance given those before it, so "
            "there is no density; give emission_cov a positive variance, or leave the redundant "
            "entry out"
        )
    return filtered


def smooth(
    chain: ChainArrays, filtered: Filtered, pairs: bool
) -> tuple[Array, Array, Array | None]:
    """Return smoothed means, covariances and pair covariances; ``filtered`` is used up."""
    mean, cov = filtered.mean, filtered.factor
    n_steps, size = cov.shape[:2]
    cross = np.empty((n_steps - 1 if pairs else 0, size, size))
    work = n_steps * (100 + 12 * size**3 + len(mean) * (20 + 2 * size**2))
    shared = _locked(chain), filtered.repeated, cov, cross
    run(recursions.smooth_backward, work, *shared, series=(mean, filtered.low))
    return mean, cov, cross if pairs else None


def draw(chain: ChainArrays, filtered: Filtered, states: Array) -> Array:
    """Turn standard normals (S, B, T, D) into draws of the states given the data."""
    n_steps, size = filtered.factor.shape[:2]
    drawn = np.ascontiguousarray(states).reshape(-1, n_steps, size)
    work = n_steps * (100 + 16 * size**3 + len(drawn) * (20 + 3 * size**2))
    shared = _locked(chain), filtered.repeated, filtered.factor
    run(recursions.draw_backward, work, *shared, series=(as_kernel_input(filtered.mean), drawn))
    return drawn.reshape(states.shape)


def simulate(chain: ChainArrays, states: Array) -> Array:
    """Turn standard normals (S, T, D) into draws of the states."""
    work = states.size * (20 + 2 * states.shape[-1])
    run(recursions.simulate_forward, work, _locked(chain), series=(states,))
    return states


def covariances_of(factor: Array) -> Array:
    """Covariances from square roots, in the memory of the latter."""
    run(recursions.square_factors, factor.size * (2 + factor.shape[-1]), factor)
    return factor


def _filter(chain: ChainArrays, y: Array, *, in_two_words: bool) -> tuple[Filtered, int, float]:
    n_series, n_steps, n_outputs = y.shape
    size = len(chain.initial_mean)
    filtered = Filtered(
        np.empty((n_series, n_steps, size)),
        np.empty((n_steps, size, size)),
        np.zeros(n_steps, dtype=np.bool_),
        np.empty((n_series, n_steps)),
        np.empty((n_series, n_steps if in_two_words else 0, size)),
    )
    missing = np.isnan(y[0], order="C")  # one type for the compiler, whatever the order of y
    changes = np.ones(n_steps, dtype=np.bool_)
    np.any(missing[1:] != missing[:-1], axis=1, out=changes[1:])
    for given in (missing, changes):
        given.setflags(write=False)
    per_mean = 20 + (20 if in_two_words else 2) * (size + n_outputs) * size
    work = n_steps * (200 + 6 * size**3 + 4 * n_outputs * size**2 + n_series * per_mean)
    limit = np.inf if in_two_words else _CANCELLATION
    given = _locked(chain), missing, changes, in_two_words, limit
    series = as_kernel_input(y), filtered.mean, filtered.low, filtered.log_predictive
    shared = *given, filtered.factor, filtered.repeated
    failed, cancellation = run(recursions.filter_forward, work, *shared, series=series)
    return filtered, failed, cancellation


def _locked(chain: ChainArrays) -> ChainArrays:
    return ChainArrays(*map(as_kernel_input, chain))
