r"""The Kalman filter of a chain that is seen through one number a step, compiled.

Transitions are lists of entries (row, column, weight), as those of trends and seasons are nearly empty. Means
have a column for each series that is seen through the same chain, and one for each start value without a
prior: that column tells what one unit of the value adds.

References: J. Durbin & S. J. Koopman, "Time series analysis by state space methods", 2012, ch. 4; P. de Jong, "The
diffuse Kalman filter", 1991.
"""

from __future__ import annotations

from typing import NamedTuple

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "Dynamics",
    "Predicted",
    "State",
    "filter_series_forward",
    "multiply",
    "sandwich",
    "step_columns",
]


class Dynamics(NamedTuple):
    """How states move and how they are seen; what has one row holds at every step.

    Attributes
    ----------
    emission, variance : (1 or T, D), (1 or T,)
        z and h.
    rows, columns, weights : (E,), (E,), (1 or T, E)
        Entries of the transition.
    noise_rows, noise_columns, noise_weights : (F,), (F,), (1 or T, F)
        Entries of the covariance Q of noise.
    noise_parts, variances : (F,), (P,)
        By which variance each of these is multiplied.
    """

    emission: Array
    variance: Array
    rows: IntArray
    columns: IntArray
    weights: Array
    noise_rows: IntArray
    noise_columns: IntArray
    noise_weights: Array
    noise_parts: IntArray
    variances: Array


class State(NamedTuple):
    """Means m (D, C) and covariance P (D, D) of the state, and zeros (D + 1, max(C, D)) to work with."""

    mean: Array
    cov: Array
    zeros: Array


class Predicted(NamedTuple):
    """What each value looked like from the ones before it.

    Attributes
    ----------
    innovations, spreads : (T, C), (T,)
        v and F; of gaps −zᵀm and F.
    gains : (T, D), or (1, D) where only the last is kept
        k; of gaps Pz.
    seen, reaches : (T, V, C), (T, V, D)
        wm and wP of views w of the state before the value; without views m and P, where there is room.
    """

    innovations: Array
    spreads: Array
    gains: Array
    seen: Array
    reaches: Array


@kernel(allocates=False)
def filter_series_forward(
    chain: Dynamics, series: Array, views: Array, state: State, filtered: Predicted
) -> None:
    """Turn the state before the first step into that after the last; fill in what was predicted of series (T, C)."""
    steps, mean, cov = len(series), state.mean, state.cov
    for t in range(steps):
        if len(views) > 0:
            _show(
                views[t if len(views) > 1 else 0], mean, cov, filtered.seen[t], filtered.reaches[t]
            )
        elif filtered.seen.shape[1] > 0:
            _keep(mean, cov, filtered.seen[t], filtered.reaches[t])
        z = chain.emission[t if len(chain.emission) > 1 else 0]
        variance = chain.variance[t if len(chain.variance) > 1 else 0]
        gain = filtered.gains[t if len(filtered.gains) > 1 else 0]
        innovation = filtered.innovations[t]
        filtered.spreads[t] = _condition(z, variance, series[t], mean, cov, innovation, gain)
        if t < steps - 1:
            weights = chain.weights[t if len(chain.weights) > 1 else 0]
            step_columns(chain.rows, chain.columns, weights, mean, state.zeros)
            sandwich(chain.rows, chain.columns, weights, cov, state.zeros)
            noise = chain.noise_weights[t if len(chain.noise_weights) > 1 else 0]
            _add_step_noise(
                chain.noise_rows,
                chain.noise_columns,
                chain.noise_parts,
                noise,
                chain.variances,
                cov,
            )


@kernel(called="inlined")
def _condition(
    z: Array,
    variance: float,
    values: Array,
    mean: Array,
    cov: Array,
    innovation: Array,
    gain: Array,
) -> float:
    """Take a value in: v = y − zᵀm, F = zᵀPz + h, k = Pz/F; m ← m + kv, P ← P − kFkᵀ. Return F."""
    size, many = mean.shape
    multiply(cov, z, gain)
    spread = variance
    for i in range(size):
        spread += z[i] * gain[i]  # F = zᵀPz + h
    observed = values[0] == values[0]
    for c in range(many):
        innovation[c] = values[c] if observed else 0.0
    seen, alone = 0, 0
    for i in range(size):
        if z[i] != 0.0:
            seen, alone = seen + 1, i
            for c in range(many):
                innovation[c] -= z[i] * mean[i, c]
    if observed:
        share = 1.0 / spread
        for i in range(size):
            k = gain[i] * share
            for c in range(many):
                mean[i, c] += k * innovation[c]
            for j in range(size):
                cov[i, j] -= k * gain[j]
        if seen == 1:  # what is left of its covariances is Ph/F: a difference would lose digits
            for j in range(size):
                cov[alone, j] = cov[j, alone] = variance * share * gain[j] / z[alone]
        for i in range(size):
            gain[i] *= share
    return spread


@kernel(called="inlined")
def _add_step_noise(
    rows: IntArray, columns: IntArray, parts: IntArray, weights: Array, variances: Array, cov: Array
) -> None:
    """P ← P + Q; no variance is negative, whatever rounding says."""
    for i in range(len(cov)):
        cov[i, i] = max(cov[i, i], 0.0)
    for e in range(len(rows)):
        cov[rows[e], columns[e]] += weights[e] * variances[parts[e]]


@kernel(called="inlined")
def _show(views: Array, mean: Array, cov: Array, seen: Array, reach: Array) -> None:
    """Keep what views show of the state: means, and covariances with the state."""
    size, many = mean.shape
    for v in range(len(views)):
        for c in range(many):
            seen[v, c] = 0.0
        for i in range(size):
            if views[v, i] != 0.0:
                for c in range(many):
                    seen[v, c] += views[v, i] * mean[i, c]
        multiply(cov, views[v], reach[v])


@kernel(called="inlined")
def _keep(mean: Array, cov: Array, kept: Array, reach: Array) -> None:
    size, many = mean.shape
    for i in range(size):
        for c in range(many):
            kept[i, c] = mean[i, c]
        for j in range(size):
            reach[i, j] = cov[i, j]


@kernel(called="inlined")
def multiply(cov: Array, z: Array, product: Array) -> None:
    """Pz of a symmetric matrix, row by row, as most entries of z are 0."""
    size = len(z)
    for i in range(size):
        product[i] = z[0] * cov[0, i]
    for j in range(1, size):
        weight = z[j]
        if weight != 0.0:
            for i in range(size):
                product[i] += weight * cov[j, i]


@kernel(called="inlined")
def step_columns(
    rows: IntArray, columns: IntArray, weights: Array, mean: Array, zeros: Array
) -> None:
    """M ← TM for entries of T; zeros are left behind."""
    size, many = mean.shape
    for e in range(len(rows)):
        i, j, w = rows[e], columns[e], weights[e]
        for c in range(many):
            zeros[i, c] += w * mean[j, c]
    for i in range(size):
        for c in range(many):
            mean[i, c] = zeros[i, c]
            zeros[i, c] = 0.0


@kernel(called="inlined")
def sandwich(rows: IntArray, columns: IntArray, weights: Array, cov: Array, zeros: Array) -> None:
    """P ← TPTᵀ for a symmetric P: twice P ← (TP)ᵀ; zeros are left behind."""
    size, nothing = len(cov), zeros[len(cov), 0]  # a constant would become a call that fills memory
    for _ in range(2):
        for e in range(len(rows)):
            i, j, w = rows[e], columns[e], weights[e]
            for k in range(size):
                zeros[i, k] += w * cov[j, k]
        for k in range(size):
            for i in range(size):
                cov[k, i] = zeros[i, k]
        for i in range(size):
            for k in range(size):
                zeros[i, k] = nothing
