r"""Compiled passes over a chain that is observed by one number a step.

Transitions are lists of entries (row, column, weight), as those of trends and seasons are nearly empty.
Means have a column for the series and one for each start value without a prior: column j tells what
one unit of that value adds. Weights with one row hold at every step.

References: J. Durbin & S. J. Koopman, "Time series analysis by state space methods", 2012, ch. 4–5;
P. de Jong, "The diffuse Kalman filter", 1991.
"""

from __future__ import annotations

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "filter_forward_scalar",
    "multiply",
    "sandwich",
    "smooth_backward_scalar",
    "step_columns",
]


@kernel(allocates=False)
def filter_forward_scalar(
    emission: Array,
    rows: IntArray,
    columns: IntArray,
    weights: Array,
    noise_rows: IntArray,
    noise_columns: IntArray,
    noise_parts: IntArray,
    noise_weights: Array,
    variances: Array,
    y: Array,
    views: Array,
    mean: Array,
    cov: Array,
    work: Array,
    innovations: Array,
    spreads: Array,
    gains: Array,
    seen: Array,
    reaches: Array,
) -> None:
    """Turn the state (D, C), (D, D) before the first step into that after the last, and fill the rest."""
    size, many = mean.shape
    for t in range(len(y)):
        z = emission[t if len(emission) > 1 else 0]
        if len(views) > 0:
            _look(views[t if len(views) > 1 else 0], mean, cov, seen[t], reaches[t])
        gain = gains[t]
        multiply(cov, z, gain)
        spread = variances[0]
        for i in range(size):
            spread += z[i] * gain[i]  # F = zᵀPz + h
        spreads[t] = spread
        observed = y[t] == y[t]
        for c in range(many):
            innovations[t, c] = y[t] if c == 0 and observed else 0.0
        for i in range(size):  # v = y − zᵀm; of a gap: −zᵀm
            if z[i] != 0.0:
                for c in range(many):
                    innovations[t, c] -= z[i] * mean[i, c]
        if observed:
            for i in range(size):
                gain[i] /= spread  # k = Pz/F
            for i in range(size):
                k, taken = gain[i], gain[i] * spread
                for c in range(many):
                    mean[i, c] += k * innovations[t, c]
                for j in range(size):
                    cov[i, j] -= taken * gain[j]
        if t < len(y) - 1:
            w = weights[t if len(weights) > 1 else 0]
            step_columns(rows, columns, w, mean, work)
            sandwich(rows, columns, w, cov, work)
            u = noise_weights[t if len(noise_weights) > 1 else 0]
            for e in range(len(noise_rows)):  # P ← TPTᵀ + Q
                cov[noise_rows[e], noise_columns[e]] += u[e] * variances[noise_parts[e]]


@kernel(allocates=False)
def smooth_backward_scalar(
    emission: Array,
    rows: IntArray,
    columns: IntArray,
    weights: Array,
    noise_rows: IntArray,
    noise_columns: IntArray,
    noise_parts: IntArray,
    noise_weights: Array,
    y: Array,
    innovations: Array,
    spreads: Array,
    gains: Array,
    reaches: Array,
    pull: Array,
    precision: Array,
    work: Array,
    fit: Array,
    complexity: Array,
    seen: Array,
    seen_variances: Array,
) -> None:
    """Add to ``fit`` Σ rrᵀ and to ``complexity`` Σ N of each part; turn what was seen into smoothed values.

    The state after a step has the log-likelihood r of later values as slope and −N as curvature
    (columns of r beside the first belong to start values, whitened).
    """
    many = pull.shape[1]
    for t in range(len(y) - 1, -1, -1):
        if t < len(y) - 1:
            u = noise_weights[t if len(noise_weights) > 1 else 0]
            for e in range(len(noise_rows)):
                i, j, part = noise_rows[e], noise_columns[e], noise_parts[e]
                held = precision[i, j]
                for c in range(1, many):
                    held -= pull[i, c] * pull[j, c]
                fit[part] += u[e] * pull[i, 0] * pull[j, 0]
                complexity[part] += u[e] * held
            w = weights[t if len(weights) > 1 else 0]
            step_columns(columns, rows, w, pull, work)  # r ← Tᵀr
            sandwich(columns, rows, w, precision, work)  # N ← TᵀNT
        if y[t] == y[t]:
            z = emission[t if len(emission) > 1 else 0]
            _absorb_backward(
                z, innovations[t], spreads[t], gains[t], pull, precision, work, fit, complexity
            )
        for v in range(reaches.shape[1]):
            _correct(reaches[t, v], pull, precision, seen[t, v], seen_variances[t], v)


@kernel(called="inlined")
def _absorb_backward(
    z: Array,
    innovation: Array,
    spread: float,
    gain: Array,
    pull: Array,
    precision: Array,
    work: Array,
    fit: Array,
    complexity: Array,
) -> None:
    """Go back over an observation: r ← r + z u with u = v/F − kᵀr, N likewise."""
    size, many = pull.shape
    across = work[0]
    multiply(precision, gain, across)
    held = 1.0 / spread
    for i in range(size):
        held += gain[i] * across[i]  # D = 1/F + kᵀNk
    left = held
    errors = work[1]
    for c in range(many):
        errors[c] = innovation[c] / spread
    for i in range(size):
        for c in range(many):
            errors[c] -= gain[i] * pull[i, c]
    for i in range(size):
        if z[i] != 0.0:
            for c in range(many):
                pull[i, c] += z[i] * errors[c]
    for c in range(1, many):
        left -= errors[c] * errors[c]
    fit[0] += errors[0] * errors[0]
    complexity[0] += left
    for i in range(size):  # N ← (I − zkᵀ)N(I − kzᵀ) + zzᵀ/F
        if z[i] != 0.0:
            for j in range(size):
                precision[i, j] += z[i] * (held * z[j] - across[j])
                precision[j, i] -= across[j] * z[i]


@kernel(called="inlined")
def _look(views: Array, mean: Array, cov: Array, seen: Array, reach: Array) -> None:
    """Keep what views show of the state: means, and covariances with the state."""
    size, many = mean.shape
    for v in range(len(views)):
        for c in range(many):
            seen[v, c] = 0.0
            for i in range(size):
                seen[v, c] += views[v, i] * mean[i, c]
        multiply(cov, views[v], reach[v])


@kernel(called="inlined")
def multiply(cov: Array, z: Array, product: Array) -> None:
    """Pz of a symmetric matrix, row by row, as most entries of z are 0."""
    size = len(z)
    for i in range(size):
        product[i] = 0.0
    for j in range(size):
        weight = z[j]
        if weight != 0.0:
            for i in range(size):
                product[i] += weight * cov[j, i]


@kernel(called="inlined")
def _correct(
    reach: Array, pull: Array, precision: Array, seen: Array, variances: Array, v: int
) -> None:
    """Add to a mean Pr, take from its variance PNP, and add what unknown start values leave open."""
    size, many = pull.shape
    for i in range(size):
        for j in range(size):
            variances[v] -= reach[i] * precision[i, j] * reach[j]
    for c in range(many):
        for i in range(size):
            seen[c] += reach[i] * pull[i, c]
        if c > 0:
            variances[v] += seen[c] * seen[c]


@kernel(called="inlined")
def step_columns(
    rows: IntArray, columns: IntArray, weights: Array, mean: Array, work: Array
) -> None:
    """M ← TM for entries of T."""
    size, many = mean.shape
    for i in range(size):
        for c in range(many):
            work[i, c] = 0.0
    for e in range(len(rows)):
        i, j, w = rows[e], columns[e], weights[e]
        for c in range(many):
            work[i, c] += w * mean[j, c]
    for i in range(size):
        for c in range(many):
            mean[i, c] = work[i, c]


@kernel(called="inlined")
def sandwich(rows: IntArray, columns: IntArray, weights: Array, cov: Array, work: Array) -> None:
    """P ← TPTᵀ for a symmetric P: twice P ← (TP)ᵀ."""
    size = len(cov)
    for _ in range(2):
        for i in range(size):
            for k in range(size):
                work[i, k] = 0.0
        for e in range(len(rows)):
            i, j, w = rows[e], columns[e], weights[e]
            for k in range(size):
                work[i, k] += w * cov[j, k]
        for i in range(size):
            for k in range(size):
                cov[k, i] = work[i, k]
