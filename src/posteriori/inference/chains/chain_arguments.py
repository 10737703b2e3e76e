"""The parameters of a linear-Gaussian chain and of its data, checked and brought to one shape."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.chains.semidefinite import factor_semidefinite
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.validation import as_observation, real

__all__ = [
    "ChainArrays",
    "Series",
    "check_chain",
    "check_series",
    "group_patterns",
]


class ChainArrays(NamedTuple):
    """A checked chain: time axes of length 1 or as long as the series asks, square roots of Q.

    ``transition[t]``, ``transition_offset[t]`` and ``transition_factor[t]`` lead from step t to
    step t + 1.
    """

    initial_mean: Array
    initial_factor: Array
    transition: Array
    transition_offset: Array
    transition_factor: Array
    emission: Array
    emission_offset: Array
    emission_cov: Array


class Series(NamedTuple):
    """Observations as (B, T, P), and the batch shape that the caller gave them."""

    values: Array
    batch_shape: tuple[int, ...]


def check_chain(chain: Any, n_steps: int) -> ChainArrays:
    """Check shapes, finiteness and covariances; each complaint names the field."""
    mean = np.atleast_1d(real("initial_mean", chain.initial_mean))
    if mean.ndim != 1:
        raise ValueError(f"initial_mean must be a vector (D,), got shape {mean.shape}")
    size = len(mean)
    emission = _with_time("emission", chain.emission, 2, n_steps, arrivals=False)
    outputs = emission.shape[1]
    _require("emission", emission, (outputs, size), "(P, D)")
    cov = np.atleast_2d(real("initial_cov", chain.initial_cov))
    _require("initial_cov", cov[None] if cov.ndim == 2 else cov, (size, size), "(D, D)")
    transition = _with_time("transition", chain.transition, 2, n_steps, arrivals=True)
    _require("transition", transition, (size, size), "(D, D)")
    noise = _with_time("transition_cov", chain.transition_cov, 2, n_steps, arrivals=True)
    _require("transition_cov", noise, (size, size), "(D, D)")
    emission_cov = _with_time("emission_cov", chain.emission_cov, 2, n_steps, arrivals=False)
    _require("emission_cov", emission_cov, (outputs, outputs), "(P, P)")
    factor_semidefinite("emission_cov", emission_cov)
    return ChainArrays(
        mean,
        factor_semidefinite("initial_cov", cov[None])[0],
        transition,
        _offset("transition_offset", chain.transition_offset, size, n_steps, arrivals=True),
        factor_semidefinite("transition_cov", noise),
        emission,
        _offset("emission_offset", chain.emission_offset, outputs, n_steps, arrivals=False),
        emission_cov,
    )


def check_series(y: Any, n_outputs: int) -> Series:
    """Check observations (..., T, P), NaN where missing; (T,) is one series of numbers."""
    values = np.asarray(as_observation(y, "y"))
    if values.ndim == 1 and n_outputs == 1:
        values = values[:, None]
    if values.ndim < 2 or values.shape[-1] != n_outputs:
        raise ValueError(
            f"y must have shape (..., T, {n_outputs}) as the emission has {n_outputs} rows, "
            f"got {np.shape(y)}"
        )
    if not values.shape[-2]:
        raise ValueError(f"y must have at least one time step, got shape {np.shape(y)}")
    if np.any(np.isinf(values)):
        raise ValueError("y must be finite, or NaN where it is missing; got inf")
    batch = values.shape[:-2]
    return Series(values.reshape(-1, *values.shape[-2:]), batch)


def group_patterns(values: Array) -> list[IntArray]:
    """Group series (B, T, P) that miss the same entries: they share their covariances."""
    n_series = len(values)
    everyone = np.arange(n_series)
    if n_series == 1:
        return [everyone]
    missing = np.isnan(values)
    if np.all(missing == missing[:1]):
        return [everyone]
    packed = np.packbits(missing.reshape(n_series, -1), axis=1)
    group = np.unique(packed, axis=0, return_inverse=True)[1].reshape(-1)
    return [np.flatnonzero(group == g) for g in range(int(group.max()) + 1)]


def _with_time(name: str, value: Any, event_ndim: int, n_steps: int, *, arrivals: bool) -> Array:
    """Return (L, ...) with L = 1 or one entry per step, or per transition between steps."""
    a = np.asarray(real(name, value))
    if a.ndim == 0:
        a = a.reshape((1,) * event_ndim)
    if a.ndim == event_ndim:
        a = a[None]
    if a.ndim != event_ndim + 1:
        raise ValueError(
            f"{name} must have {event_ndim} axes, or {event_ndim + 1} with time first, "
            f"got shape {np.shape(value)}"
        )
    if arrivals and len(a) == n_steps and n_steps > 1:
        a = a[1:]  # entry t of T leads to step t: nothing leads to the first
    wanted = n_steps - 1 if arrivals else n_steps
    if len(a) not in (1, wanted):
        lengths = f"1, {n_steps - 1} or {n_steps}" if arrivals else f"1 or {n_steps}"
        raise ValueError(
            f"{name} has a time axis of length {len(a)}, but a series of {n_steps} steps needs "
            f"{lengths}"
        )
    return a if len(a) else np.zeros((1, *a.shape[1:]))  # of a single step nothing leads on


def _offset(name: str, value: Any, size: int, n_steps: int, *, arrivals: bool) -> Array:
    a = np.asarray(real(name, value))
    if a.ndim == 0:
        return np.full((1, size), float(a))
    a = _with_time(name, a, 1, n_steps, arrivals=arrivals)
    _require(name, a, (size,), "(D,)" if arrivals else "(P,)")
    return a


def _require(name: str, a: Array, event_shape: tuple[int, ...], letters: str) -> None:
    if a.shape[1:] != event_shape:
        raise ValueError(
            f"{name} must have event shape {letters} = {event_shape}, got {a.shape[1:]}"
        )
