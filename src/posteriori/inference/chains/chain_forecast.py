"""Chains run forwards: forecasts after the last observation, and draws from the model itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.inference.chains.chain_arguments import check_chain
from posteriori.inference.chains.chain_passes import simulate
from posteriori.inference.chains.linear_gaussian_chain import (
    ChainPosterior,
    FilteredChain,
    LinearGaussianChain,
)
from posteriori.inference.chains.semidefinite import factor_semidefinite
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["ChainForecast", "ChainSample", "predict_chain", "simulate_chain"]


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
    chain: LinearGaussianChain, posterior: ChainPosterior | FilteredChain, steps: int
) -> ChainForecast:
    """Return the moments of states and observations 1, …, ``steps`` after the last one.

    Parameters
    ----------
    chain : LinearGaussianChain
        The chain of the future: time axes have length 1 or ``steps``; entry 0 leads to the first
        new step.
    posterior : ChainPosterior or FilteredChain
        Of the past; its last state is where the future starts.
    steps : int
        How far to look ahead.

    Examples
    --------
    >>> level = LinearGaussianChain(0.0, 4.0, 1.0, 0.0, 1.0, 1.0, 0.0, 2.0)
    >>> from posteriori.inference import filter_chain
    >>> ahead = predict_chain(level, filter_chain(level, [1.0]), 2)
    >>> ahead.state_cov[:, 0, 0], ahead.cov[:, 0, 0]
    (array([2.33333333, 3.33333333]), array([4.33333333, 5.33333333]))
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    arrays = check_chain(_of_the_future(chain), steps + 1)
    state_mean, state_cov = posterior.mean[..., -1, :], posterior.cov[..., -1, :, :]
    batch, size = state_mean.shape[:-1], state_mean.shape[-1]
    outputs = arrays.emission.shape[1]
    forecast = ChainForecast(
        np.empty((*batch, steps, size)),
        np.empty((*batch, steps, size, size)),
        np.empty((*batch, steps, outputs)),
        np.empty((*batch, steps, outputs, outputs)),
    )
    for t in range(steps):
        a, root = _at(arrays.transition, t), _at(arrays.transition_factor, t)
        state_mean = state_mean @ a.T + _at(arrays.transition_offset, t)  # m ← A m + b
        state_cov = a @ state_cov @ a.T + root @ root.T  # P ← A P Aᵀ + Q
        c = _at(arrays.emission, t + 1)
        forecast.state_mean[..., t, :], forecast.state_cov[..., t, :, :] = state_mean, state_cov
        forecast.mean[..., t, :] = state_mean @ c.T + _at(arrays.emission_offset, t + 1)
        forecast.cov[..., t, :, :] = c @ state_cov @ c.T + _at(arrays.emission_cov, t + 1)
    return forecast


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


def _of_the_future(chain: LinearGaussianChain) -> LinearGaussianChain:
    """Prepend an unused entry to emissions with a time axis: forecasts start one step ahead."""

    def shifted(value: ArrayLike, event_ndim: int) -> ArrayLike:
        a = np.asarray(value, dtype=np.float64)
        long = a.ndim > event_ndim and len(a) > 1
        return np.concatenate([a[:1], a]) if long else value

    return chain._replace(
        emission=shifted(chain.emission, 2),
        emission_offset=shifted(chain.emission_offset, 1),
        emission_cov=shifted(chain.emission_cov, 2),
    )


def _at(a: Array, t: int) -> Array:
    return a[t] if len(a) > 1 else a[0]
