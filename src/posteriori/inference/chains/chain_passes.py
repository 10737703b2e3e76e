"""The passes over a chain: NumPy steps for short ones, compiled loops for long ones."""

from __future__ import annotations

import numpy as np

from posteriori.inference.chains import chain_steps
from posteriori.inference.chains.chain_arguments import ChainArrays
from posteriori.inference.chains.chain_steps import Filtered, raise_known_already
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.types import Array

__all__ = ["LONG", "draw", "filter_series", "simulate", "smooth", "square"]

#: From this many steps on, compiled loops repay the import of the compiler.
LONG = 2000


def filter_series(chain: ChainArrays, y: Array) -> Filtered:
    """Filter series (B, T, P) that miss the same entries."""
    n_series, n_steps, size = *y.shape[:2], len(chain.initial_mean)
    if n_steps < LONG:
        return chain_steps.filter_forward(chain, y)
    from posteriori.inference.chains import chain_kernels

    filtered = Filtered(
        np.empty((n_series, n_steps, size)),
        np.empty((n_steps, size, size)),
        np.empty(n_steps, dtype=np.bool_),
        np.empty((n_series, n_steps)),
        np.empty((n_series, 0, size)),
    )
    data, parameters = as_kernel_input(y), ChainArrays(*map(as_kernel_input, chain))
    failed, cancellation = chain_kernels.filter_forward(data, *parameters, False, *filtered)
    if failed < 0 and cancellation > chain_steps.CANCELLATION:
        filtered = filtered._replace(low=np.empty((n_series, n_steps, size)))
        failed, _ = chain_kernels.filter_forward(data, *parameters, True, *filtered)
    if failed >= 0:
        raise_known_already(failed)
    return filtered


def smooth(
    chain: ChainArrays, filtered: Filtered, pairs: bool
) -> tuple[Array, Array, Array | None]:
    """Return smoothed means, covariances and pair covariances; ``filtered`` is used up."""
    mean, cov = filtered.mean, filtered.factor
    if len(cov) < LONG:
        return chain_steps.smooth_backward(chain, filtered, pairs)
    from posteriori.inference.chains import chain_kernels

    cross = np.empty((len(cov) - 1 if pairs else 0, *cov.shape[1:]))
    chain_kernels.smooth_backward(*_steps(chain), mean, filtered.low, cov, filtered.repeated, cross)
    return mean, cov, cross if pairs else None


def draw(chain: ChainArrays, filtered: Filtered, states: Array) -> Array:
    """Turn standard normals (S, B, T, D) into draws of the states given the data."""
    if len(filtered.factor) < LONG:
        return chain_steps.draw_backward(chain, filtered, states)
    from posteriori.inference.chains import chain_kernels

    states = np.ascontiguousarray(states)
    chain_kernels.draw_backward(*_steps(chain), *filtered[:3], states)
    return states


def simulate(chain: ChainArrays, states: Array) -> Array:
    """Turn standard normals (S, T, D) into draws of the states."""
    if states.shape[1] < LONG:
        return chain_steps.simulate_forward(chain, states)
    from posteriori.inference.chains import chain_kernels

    mean, factor = as_kernel_input(chain.initial_mean), as_kernel_input(chain.initial_factor)
    chain_kernels.simulate_forward(mean, factor, *_steps(chain), states)
    return states


def square(factor: Array) -> Array:
    """Covariances from square roots, in the memory of the latter where it is much."""
    if len(factor) < LONG:
        return factor @ np.swapaxes(factor, -1, -2)
    from posteriori.inference.chains import chain_kernels

    chain_kernels.square_factors(factor)
    return factor


def _steps(chain: ChainArrays) -> tuple[Array, Array, Array]:
    return (
        as_kernel_input(chain.transition),
        as_kernel_input(chain.transition_offset),
        as_kernel_input(chain.transition_factor),
    )
