"""Chains run forwards: forecasts after the last observation, and draws from the model itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.inference.chains.chain_arguments import ChainArrays, check_chain
from posteriori.inference.chains.chain_passes import simulate
from posteriori.inference.chains.linear_gaussian_chain import (
    ChainPosterior,
    FilteredChain,
    LinearGaussianChain,
)
from posteriori.inference.chains.many_chains import check_chains
from posteriori.inference.chains.semidefinite import factor_semidefinite
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["ChainForecast", "ChainSample", "predict_chain", "predict_chains", "simulate_chain"]


class ChainForecast(NamedTuple):
    """Moments of the states and of the observations after the last step."""

    state_mean: Array
    state_cov: Array
    mean: Array
    cov: Array


class ChainSample(NamedTuple):
    """Trajectories drawn from a chain: states (..., T, D) and observations (..., T, P)."""

    states: Array
    observations: Array


def predict_chain(
    chain: LinearGaussianChain, posterior: ChainPosterior | FilteredChain, horizon: int
) -> ChainForecast:
    """Return the moments of states and observations 1, …, ``horizon`` after the last one.

    Parameters
    ----------
    chain : LinearGaussianChain
        The chain of the future: time axes have length 1 or ``horizon``; entry 0 leads to the first
        new step.
    posterior : ChainPosterior or FilteredChain
        Of the past; its last state is where the future starts.
    horizon : int
        How far to look ahead.

    Examples
    --------
    >>> level = LinearGaussianChain(0.0, 4.0, 1.0, 0.0, 1.0, 1.0, 0.0, 2.0)
    >>> from posteriori.inference import filter_chain
    >>> ahead = predict_chain(level, filter_chain(level, [1.0]), 2)
    >>> ahead.state_cov[:, 0, 0], ahead.cov[:, 0, 0]
    (array([2.33333333, 3.33333333]), array([4.33333333, 5.33333333]))
    """
    _require_horizon(horizon)
    arrays = check_chain(_of_the_future(chain), horizon + 1)
    return _run_on(arrays, posterior.mean[..., -1, :], posterior.cov[..., -1, :, :], horizon)


def predict_chains(
    chains: LinearGaussianChain, posterior: ChainPosterior, horizon: int
) -> ChainForecast:
    """Return the same for each of K chains, from what is known under each of them.

    Parameters
    ----------
    chains : LinearGaussianChain
        With a leading axis in every field, as for :func:`evidence_of_chains`.
    posterior : ChainPosterior
        (K, T, D), under each chain.
    horizon : int
    """
    _require_horizon(horizon)
    arrays = check_chains(_of_the_future(chains, axis=1), horizon + 1)
    return _run_on(arrays, posterior.mean[..., -1, :], posterior.cov[..., -1, :, :], horizon)


def _require_horizon(horizon: int) -> None:
    if horizon < 1:
        raise ValueError(f"horizon must be at least 1, got {horizon}")


def _run_on(arrays: ChainArrays, mean: Array, cov: Array, horizon: int) -> ChainForecast:
    """Move the moments of the last state on, step by step."""
    found = []
    for t in range(horizon):
        a, root = _at(arrays.transition, t, 2), _at(arrays.transition_factor, t, 2)
        mean = _times(a, mean) + _at(arrays.transition_offset, t, 1)  # m ← A m + b
        cov = _around(a, cov) + root @ np.swapaxes(root, -1, -2)  # P ← A P Aᵀ + Q
        c, noise = _at(arrays.emission, t + 1, 2), _at(arrays.emission_cov, t + 1, 2)
        seen = _times(c, mean) + _at(arrays.emission_offset, t + 1, 1)
        found.append((mean, cov, seen, _around(c, cov) + noise))
    means, covs, seen_means, seen_covs = zip(*found, strict=True)
    return ChainForecast(
        np.stack(means, axis=-2),
        np.stack(covs, axis=-3),
        np.stack(seen_means, axis=-2),
        np.stack(seen_covs, axis=-3),
    )


def _times(a: Array, x: Array) -> Array:
    return np.asarray((a @ x[..., None])[..., 0])


def _around(a: Array, cov: Array) -> Array:
    return np.asarray(a @ cov @ np.swapaxes(a, -1, -2))


def simulate_chain(
    chain: LinearGaussianChain, n_steps: int, size: int | None = None, *, rng: Seed = None
) -> ChainSample:
    """Draw states and observations from the chain itself.

    Returns
    -------
    ChainSample
        States (T, D) and observations (T, P), with a leading axis of length ``size`` if given.

    Examples
    --------
    >>> level = LinearGaussianChain(0.0, 4.0, 1.0, 0.0, 1.0, 1.0, 0.0, 2.0)
    >>> simulate_chain(level, 10, rng=0).observations.shape
    (10, 1)
    """
    if n_steps < 1:
        raise ValueError(f"n_steps must be at least 1, got {n_steps}")
    generator = as_generator(rng)
    arrays = check_chain(chain, n_steps)
    count = 1 if size is None else size
    states = generator.standard_normal((count, n_steps, len(arrays.initial_mean)))
    states = simulate(arrays, states)
    noise = generator.standard_normal((count, n_steps, arrays.emission.shape[1]))
    root = factor_semidefinite("emission_cov", arrays.emission_cov)
    y = (arrays.emission @ states[..., None])[..., 0] + arrays.emission_offset
    y += (root @ noise[..., None])[..., 0]
    return ChainSample(states, y) if size is not None else ChainSample(states[0], y[0])


def _of_the_future(chain: LinearGaussianChain, axis: int = 0) -> LinearGaussianChain:
    """Prepend an unused entry to emissions with a time axis: forecasts start one step ahead."""

    def shifted(value: ArrayLike, event_ndim: int) -> ArrayLike:
        a = np.asarray(value, dtype=np.float64)
        if a.ndim <= event_ndim + axis or a.shape[axis] < 2:
            return value
        first = np.take(a, [0], axis=axis)
        return np.concatenate([first, a], axis=axis)

    return chain._replace(
        emission=shifted(chain.emission, 2),
        emission_offset=shifted(chain.emission_offset, 1),
        emission_cov=shifted(chain.emission_cov, 2),
    )


def _at(a: Array, t: int, event_ndim: int) -> Array:
    """Return what holds at step t; time is the last axis before those of the event."""
    axis = a.ndim - event_ndim - 1
    return np.take(a, t if a.shape[axis] > 1 else 0, axis=axis)
