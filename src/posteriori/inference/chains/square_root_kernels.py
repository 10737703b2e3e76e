"""Square roots of covariances in compiled loops: rotations, entry by entry.

These are the steps of ``square_root`` for the loops of ``chain_kernels``. Numba keeps the machine
code of those loops by the date of their own file: after a change here, that file must be saved
again.
"""

from __future__ import annotations

import math

import numpy as np

from posteriori.inference.chains.chain_steps import KNOWN_TOLERANCE, STEADY_TOLERANCE
from posteriori.inference.chains.square_root import PIVOT_TOLERANCE, RANK_TOLERANCE
from posteriori.numerics.compilation import compiled
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "condition_all",
    "decorrelate",
    "is_close",
    "propagate",
    "reverse_step",
    "smooth_cov",
    "spread_noise",
    "square",
    "take_root",
]


@compiled
def decorrelate(
    emission: Array,
    emission_cov: Array,
    observed: IntArray,
    count: int,
    lower: Array,
    noise: Array,
    rows: Array,
) -> None:
    """Factor the noise of the observed entries as L diag(r) Lᵀ; rows = L⁻¹C."""
    for i in range(count):
        for j in range(i + 1):
            value = emission_cov[observed[i], observed[j]]
            for k in range(j):
                value -= lower[i, k] * lower[j, k] * noise[k]
            if i == j:
                rounding = PIVOT_TOLERANCE * count * emission_cov[observed[i], observed[i]]
                noise[i] = value if value > rounding else 0.0
            else:
                lower[i, j] = value / noise[j] if noise[j] > 0.0 else 0.0
    for i in range(count):
        for k in range(rows.shape[1]):
            value = emission[observed[i], k]
            for j in range(i):
                value -= lower[i, j] * rows[j, k]
            rows[i, k] = value


@compiled
def condition_all(
    factor: Array,
    rows: Array,
    noise: Array,
    count: int,
    gains: Array,
    variances: Array,
    reach: Array,
) -> bool:
    """Condition on each observed entry in turn; say whether one of them was known already."""
    size = len(factor)
    for i in range(count):
        made_of = 0.0
        if noise[i] == 0.0:
            made_of = _size_of_terms(factor, rows[i])
        alpha = noise[i]
        for k in range(size):
            reach[k] = 0.0
        for j in range(size):
            f = 0.0
            for k in range(size):
                f += rows[i, k] * factor[k, j]
            before = alpha
            alpha = before + f * f
            if f == 0.0:
                continue
            shrink = math.sqrt(before / alpha)
            pull = f / (math.sqrt(before) * math.sqrt(alpha)) if before > 0.0 else 0.0
            for k in range(size):
                old = factor[k, j]
                factor[k, j] = old * shrink - reach[k] * pull
                reach[k] += old * f
        if noise[i] == 0.0 and alpha <= KNOWN_TOLERANCE * made_of:
            return True
        variances[i] = alpha
        for k in range(size):
            gains[i, k] = reach[k] / alpha
    return False


@compiled
def propagate(
    factor: Array, transition: Array, noise_factor: Array, sources: Array, sizes: Array
) -> None:
    """Replace S by the square root of A SSᵀ Aᵀ + Q."""
    size = len(factor)
    _move(factor, transition, noise_factor, sources)
    _sort_rows(sources, sizes)
    for column in range(size):
        _reflect_column(sources, column, column)
    for i in range(size):
        for j in range(size):
            factor[i, j] = sources[j, i] if j <= i else 0.0


@compiled
def reverse_step(
    factor: Array,
    transition: Array,
    noise_factor: Array,
    sources: Array,
    sizes: Array,
    pivots: IntArray,
    gain: Array,
    rest: Array,
) -> None:
    """Reverse a step: its gain G, and Σ in ``rest``; what is left of the sources stays there."""
    size = len(factor)
    _move(factor, transition, noise_factor, sources)
    for j in range(size):
        for i in range(size):
            sources[j, size + i] = factor[i, j]
            sources[size + j, size + i] = 0.0
    _sort_rows(sources, sizes)
    for column in range(size):
        sizes[column] = math.sqrt(_sum_of_squares(sources, 0, column))
    rank = 0
    for column in range(size):
        left = math.sqrt(_sum_of_squares(sources, rank, column))
        if left > RANK_TOLERANCE * sizes[column]:
            _reflect_column(sources, rank, column)
            pivots[rank] = column
            rank += 1
    gain[:] = 0.0
    for i in range(size):
        for r in range(rank - 1, -1, -1):  # back substitution of G S⁻ = X
            value = sources[r, size + i]
            for q in range(r + 1, rank):
                value -= sources[r, pivots[q]] * gain[i, pivots[q]]
            gain[i, pivots[r]] = value / sources[r, pivots[r]]
    for i in range(size):
        for j in range(i + 1):
            value = 0.0
            for r in range(rank, 2 * size):
                value += sources[r, size + i] * sources[r, size + j]
            rest[i, j] = value
            rest[j, i] = value
    for r in range(rank):
        for j in range(size):
            sources[r, size + j] = 0.0


@compiled
def take_root(rest: Array, sources: Array) -> None:
    """Replace Σ by its square root, from the sources that a reversal left."""
    size = len(rest)
    tail = sources[:, size:].copy()
    _sort_rows(tail, np.empty(len(tail)))
    for column in range(size):
        _reflect_column(tail, column, column)
    for i in range(size):
        for j in range(size):
            rest[i, j] = tail[j, i] if j <= i else 0.0


@compiled
def smooth_cov(gain: Array, rest: Array, cov: Array, reach: Array) -> None:
    """V ← Σ + G V Gᵀ, and the pair covariance G V."""
    size = len(cov)
    for i in range(size):
        for j in range(size):
            value = 0.0
            for k in range(size):
                value += gain[i, k] * cov[k, j]
            reach[i, j] = value
    for i in range(size):
        for j in range(i + 1):
            value = rest[i, j]
            for k in range(size):
                value += reach[i, k] * gain[j, k]
            cov[i, j] = value
            cov[j, i] = value


@compiled
def square(factor: Array, cov: Array) -> None:
    """Write SSᵀ into ``cov``."""
    size = len(factor)
    for i in range(size):
        for j in range(i + 1):
            value = 0.0
            for k in range(size):
                value += factor[i, k] * factor[j, k]
            cov[i, j] = value
            cov[j, i] = value


@compiled
def is_close(cov: Array, kept: Array) -> bool:
    """Tell whether a covariance is steady: equal to the one kept, in units of its variances."""
    for i in range(len(cov)):
        for j in range(i + 1):
            bound = STEADY_TOLERANCE * math.sqrt(cov[i, i]) * math.sqrt(cov[j, j])
            if abs(cov[i, j] - kept[i, j]) > bound:
                return False
    return True


@compiled
def spread_noise(factor: Array, noise: Array, drawn: Array) -> None:
    """Write S e into ``drawn``."""
    for i in range(len(drawn)):
        value = 0.0
        for k in range(len(drawn)):
            value += factor[i, k] * noise[k]
        drawn[i] = value


@compiled
def _size_of_terms(factor: Array, row: Array) -> float:
    total = 0.0
    for j in range(factor.shape[1]):
        term = 0.0
        for k in range(len(row)):
            term += abs(row[k] * factor[k, j])
        total += term * term
    return total


@compiled
def _move(factor: Array, transition: Array, noise_factor: Array, sources: Array) -> None:
    """Put the rows (AS)ᵀ, and below them those of the noise, in the first columns of the sources."""
    size = len(factor)
    for j in range(size):
        for i in range(size):
            value = 0.0
            for k in range(size):
                value += transition[i, k] * factor[k, j]
            sources[j, i] = value
            sources[size + j, i] = noise_factor[i, j]


@compiled
def _sort_rows(sources: Array, sizes: Array) -> None:
    """Put rows with large entries first: small ones then survive the reflections."""
    n_rows, n_columns = sources.shape
    for r in range(n_rows):
        largest = 0.0
        for j in range(n_columns):
            largest = max(largest, abs(sources[r, j]))
        sizes[r] = largest
    for i in range(n_rows - 1):
        best = i
        for r in range(i + 1, n_rows):
            if sizes[r] > sizes[best]:
                best = r
        if best != i:
            sizes[best] = sizes[i]
            for j in range(n_columns):
                sources[i, j], sources[best, j] = sources[best, j], sources[i, j]


@compiled
def _sum_of_squares(sources: Array, row: int, column: int) -> float:
    total = 0.0
    for r in range(row, len(sources)):
        total += sources[r, column] * sources[r, column]
    return total


@compiled
def _reflect_column(sources: Array, row: int, column: int) -> None:
    """Reflect the rows from ``row`` on so that ``column`` keeps one entry there."""
    n_rows, n_columns = sources.shape
    length = math.sqrt(_sum_of_squares(sources, row, column))
    if length == 0.0:
        return
    signed = math.copysign(length, sources[row, column])
    first = sources[row, column] + signed
    sources[row, column] = first
    for j in range(column + 1, n_columns):
        dot = 0.0
        for r in range(row, n_rows):
            dot += sources[r, column] * sources[r, j]
        dot /= signed * first
        for r in range(row, n_rows):
            sources[r, j] -= sources[r, column] * dot
    sources[row, column] = -signed
    for r in range(row + 1, n_rows):
        sources[r, column] = 0.0
