"""Paths of a scalar chain, drawn step by step from a state."""

from __future__ import annotations

import numpy as np

from posteriori.inference.series.scalar_chain import ScalarChain
from posteriori.numerics.types import Array

__all__ = ["simulate_series"]


def simulate_series(
    chain: ScalarChain, variances: Array, scales: Array, steps: int, rng: np.random.Generator
) -> Array:
    """Return paths of values (N, steps) with the chain's first state as their common start.

    The first value belongs to that state itself.

    Parameters
    ----------
    chain : ScalarChain
        Whose first state has a prior.
    variances : (P,)
    scales : (N,)
        Standard deviations by which all noises, and the spread of the first state, are multiplied.
    steps : int
    rng : Generator
    """
    count, size = len(scales), len(chain.initial_mean)
    wide = scales[:, None]
    noise = rng.standard_normal((steps, count, size))
    errors = rng.standard_normal((steps, count)) * np.sqrt(variances[0]) * scales
    states = chain.initial_mean + wide * (noise[0] @ _root(chain.initial_cov).T)
    values = np.empty((count, steps))
    fixed = len(chain.transition.weights) == 1 and len(chain.noise.weights) == 1
    for t in range(steps):
        z = chain.emission[t if len(chain.emission) > 1 else 0]
        values[:, t] = states @ z + errors[t]
        if t == 0 or not fixed:
            step, root = _step_of(chain, variances, t)
        if t < steps - 1:
            states = states @ step.T + wide * (noise[t + 1] @ root.T)
    return values


def _step_of(chain: ScalarChain, variances: Array, t: int) -> tuple[Array, Array]:
    """Return the transition and a root of the covariance of noise."""
    size = len(chain.initial_mean)
    step = chain.transition.dense(size, t)
    return step, _root(chain.noise.dense(size, t, variances[chain.parts]))


def _root(cov: Array) -> Array:
    """Return a root of a covariance, which may be singular."""
    values, vectors = np.linalg.eigh(cov)
    return vectors * np.sqrt(np.maximum(values, 0.0))
