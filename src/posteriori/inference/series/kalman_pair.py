"""The compiled pass over a chain of two states, written out: the recursion in nine numbers.

Lists of entries cost more than the arithmetic where there are two states. So long series of two (a level
with its slope, a cycle, a Matérn process) have a pass of their own, in two fifths of the time; it takes the same
steps as :func:`~posteriori.inference.series.kalman_filter.filter_series_forward`.
"""

from __future__ import annotations

from posteriori.inference.series.kalman_filter import Dynamics, Predicted, State
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array

__all__ = ["filter_pair_forward", "sandwich_pair"]


@kernel(allocates=False)
def filter_pair_forward(chain: Dynamics, y: Array, state: State, filtered: Predicted) -> None:
    """Do what :func:`filter_series_forward` does for one series that is seen through a chain of two states.

    Weights are rows of four entries; those of noise are multiplied by the variance of the first.
    """
    emission, variance = chain.emission, chain.variance[0]
    transition, noise = chain.weights, chain.noise_weights
    factor = chain.variances[chain.noise_parts[0]]
    innovations, spreads, gains = filtered.innovations, filtered.spreads, filtered.gains
    mean, cov = state.mean, state.cov
    a, b = mean[0, 0], mean[1, 0]
    p, q, r = cov[0, 0], 0.5 * (cov[0, 1] + cov[1, 0]), cov[1, 1]
    steps = len(y)
    for t in range(steps):
        z = emission[t if len(emission) > 1 else 0]
        k, m = p * z[0] + q * z[1], q * z[0] + r * z[1]  # Pz
        spread = variance + z[0] * k + z[1] * m  # F = zᵀPz + h
        ahead = z[0] * a + z[1] * b
        spreads[t] = spread
        if y[t] == y[t]:
            error = y[t] - ahead
            share = 1.0 / spread
            p, q, r = p - k * k * share, q - k * m * share, r - m * m * share
            k, m = k * share, m * share
            a, b = a + k * error, b + m * error
        else:
            error = -ahead
        innovations[t, 0] = error
        gain = gains[t if len(gains) > 1 else 0]
        gain[0], gain[1] = k, m
        if t < steps - 1:
            w = transition[t if len(transition) > 1 else 0]
            u = noise[t if len(noise) > 1 else 0]
            a, b = w[0] * a + w[1] * b, w[2] * a + w[3] * b
            u0, u1, u3 = factor * u[0], factor * u[1], factor * u[3]
            p, q, r = sandwich_pair(w[0], w[1], w[2], w[3], p, q, r, u0, u1, u3)  # P ← TPTᵀ + Q
    mean[0, 0], mean[1, 0] = a, b
    cov[0, 0] = p
    cov[0, 1] = cov[1, 0] = q
    cov[1, 1] = r


@kernel(called="inlined", sums="fused")
def sandwich_pair(
    a: float,
    b: float,
    c: float,
    d: float,
    p: float,
    q: float,
    r: float,
    u: float,
    v: float,
    w: float,
) -> tuple[float, float, float]:
    """Return TPTᵀ + Q of T = (a, b; c, d), P = (p, q; q, r) and Q = (u, v; v, w).

    Products of T are made beforehand: fewer steps wait for each other.
    """
    return (
        a * a * p + (2.0 * a * b * q + (b * b * r + u)),
        a * c * p + ((a * d + b * c) * q + (b * d * r + v)),
        c * c * p + (2.0 * c * d * q + (d * d * r + w)),
    )
