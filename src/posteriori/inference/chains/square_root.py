r"""Square roots of covariances: factor, condition, propagate and reverse without subtraction.

A covariance is kept as any :math:`S` with :math:`SS^\top = P`. Three facts carry a chain:

* conditioning on :math:`y = c^\top s + N(0, r)` rotates :math:`[\sqrt r,\ c^\top S]` onto its
  first entry (Carlson 1973), which multiplies columns of :math:`S` instead of subtracting;
* moving through :math:`s' = As + N(0, Q)` triangularises :math:`[AS,\ Q^{1/2}]`;
* the same rotation applied to :math:`[S,\ 0]` gives the reversed step
  :math:`s \mid s' \sim N(m + G(s' - m'), \Sigma)`.

Householder reflections lose small noise sources beside large ones unless the large ones come
first (Cox and Higham 1998), so the sources are sorted by size before each of them. With that the
recursions keep 11 digits and more where the usual covariance and information forms keep two to four.

The steps are written entry by entry, to run plain or compiled; they fill the arrays they are given.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

from posteriori.inference.chains.semidefinite import PIVOT_TOLERANCE
from posteriori.numerics.compilation import integers, kernel, matrix, numbers
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "Sources",
    "Update",
    "condition",
    "copy_matrix",
    "decorrelate",
    "dot",
    "has_settled",
    "is_due",
    "make_sources",
    "make_update",
    "propagate",
    "reverse_step",
    "smooth_cov",
    "square",
    "take_root",
]

#: A row whose squared residual is below this part of its squared length depends on the rows before it.
_RANK_TOLERANCE = (8 * sys.float_info.epsilon) ** 2
#: A noise-free value whose variance is this part of what it was made of was known already.
_KNOWN_TOLERANCE = 1e-29
#: Covariances are steady once they differ by less than this part of the variances from those of
#: half as many steps ago.
_STEADY_TOLERANCE = 1e-14


class Update(NamedTuple):
    """What the observed entries of a step do to a mean, as many of the P rows as there are entries.

    Attributes
    ----------
    observed : (P,) of integers
        Which entries.
    lower, noise : (P, P) and (P,)
        R = L diag(r) Lᵀ of these entries; 0 where R is singular.
    rows, gains : (P, D)
        L⁻¹C, and the gain of each row in turn: m ← m + k e, e ~ N(0, v).
    weights, heights : (P,)
        1/√v and −½ ln 2πv.
    innovation, shift : (P,) and (D,)
        Room for what a series says and by how much that moves its mean.
    """

    observed: IntArray
    lower: Array
    noise: Array
    rows: Array
    gains: Array
    weights: Array
    heights: Array
    innovation: Array
    shift: Array


class Sources(NamedTuple):
    """Where rotations work: coordinates (2D, 2D) in rows, sizes of their noise sources, pivots."""

    rows: Array
    sizes: Array
    pivots: IntArray


@kernel(plain=True)
def make_update(n_outputs: int, size: int) -> Update:
    """Return room for an update."""
    return Update(
        integers(n_outputs),
        matrix(n_outputs, n_outputs),
        numbers(n_outputs),
        matrix(n_outputs, size),
        matrix(n_outputs, size),
        numbers(n_outputs),
        numbers(n_outputs),
        numbers(n_outputs),
        numbers(size),
    )


@kernel(plain=True)
def make_sources(size: int) -> Sources:
    """Return room for rotations."""
    return Sources(matrix(2 * size, 2 * size), numbers(2 * size), integers(size))


@kernel(plain=True)
def decorrelate(emission: Array, cov: Array, count: int, update: Update) -> None:
    """Factor the noise of the observed entries as L diag(r) Lᵀ; rows = L⁻¹C."""
    observed, lower, noise, rows = update.observed, update.lower, update.noise, update.rows
    for i in range(count):
        p = observed[i]
        for k in range(len(rows[i])):
            rows[i][k] = emission[p][k]
        for j in range(i + 1):
            value = cov[p][observed[j]]
            for k in range(j):
                value -= lower[i][k] * lower[j][k] * noise[k]
            if i == j:
                noise[i] = value if value > PIVOT_TOLERANCE * count * cov[p][p] else 0.0
                continue
            share = value / noise[j] if noise[j] > 0.0 else 0.0
            lower[i][j] = share
            for k in range(len(rows[i])):
                rows[i][k] -= share * rows[j][k]


@kernel(plain=True)
def condition(factor: Array, count: int, update: Update) -> bool:
    """Condition S on each observed entry in turn; say whether one of them was known already."""
    size = len(factor)
    for i in range(count):
        row, reach, alpha = update.rows[i], update.gains[i], update.noise[i]
        least = _KNOWN_TOLERANCE * _size_of_terms(factor, row) if alpha == 0.0 else 0.0
        for k in range(size):
            reach[k] = 0.0
        root = math.sqrt(alpha)
        for j in range(size):
            f = 0.0  # f = Sᵀc
            for k in range(size):
                f += row[k] * factor[k][j]
            alpha += f * f  # αⱼ = r + Σ_{i≤j} fᵢ²
            if alpha == 0.0:
                continue  # neither noise nor variance so far: nothing to rotate
            before, root = root, math.sqrt(alpha)
            shrink = before / root
            pull = f / (before * root) if before > 0.0 else 0.0
            for k in range(size):  # Sⱼ ← Sⱼ √(αⱼ₋₁/αⱼ) − bⱼ₋₁ fⱼ/√(αⱼ₋₁αⱼ), bⱼ = Σ_{i≤j} Sᵢfᵢ
                old = factor[k][j]
                factor[k][j] = old * shrink - reach[k] * pull
                reach[k] += old * f
        if alpha <= least:
            return True
        update.weights[i] = 1.0 / root
        update.heights[i] = -0.5 * (LOG_2PI + math.log(alpha))
        for k in range(size):
            reach[k] = reach[k] / alpha  # k = Sf/α
    return False


@kernel(plain=True)
def propagate(factor: Array, transition: Array, noise_factor: Array, sources: Sources) -> None:
    """Replace S by the square root of A SSᵀ Aᵀ + Q."""
    _move(factor, transition, noise_factor, sources.rows)
    _triangularize(sources, factor)


@kernel(plain=True)
def reverse_step(
    factor: Array,
    transition: Array,
    noise_factor: Array,
    sources: Sources,
    gain: Array,
    rest: Array,
) -> int:
    """Reverse a step: its gain G and its Σ; return the rank of the prediction."""
    size, rows, pivots = len(factor), sources.rows, sources.pivots
    _move(factor, transition, noise_factor, rows)
    for i in range(size):
        for r in range(size):
            rows[size + i][r], rows[size + i][size + r] = factor[i][r], 0.0
    _sort_sources(sources, 2 * size)
    rank = 0
    for i in range(size):
        explained, left = 0.0, _length(rows[i], rank)
        for r in range(rank):
            explained += rows[i][r] * rows[i][r]
        if left * left > _RANK_TOLERANCE * (explained + left * left):
            _reflect(rows, i, rank, 2 * size, left)
            pivots[rank] = i
            rank += 1
    for i in range(size):
        for k in range(size):
            gain[i][k] = 0.0
    for r in range(rank - 1, -1, -1):  # back substitution of G S⁻ = Cov(s, s') S⁻⁻ᵀ
        pivot = pivots[r]
        scale = 1.0 / rows[pivot][r]
        for i in range(size):
            value = rows[size + i][r]
            for q in range(r + 1, rank):
                value -= rows[pivots[q]][r] * gain[i][pivots[q]]
            gain[i][pivot] = value * scale
    for i in range(size):
        row = rows[size + i]
        for j in range(i + 1):
            value, other = 0.0, rows[size + j]
            for r in range(rank, 2 * size):  # Σ = what the prediction does not explain
                value += row[r] * other[r]
            rest[i][j] = rest[j][i] = value
    return rank


@kernel(plain=True)
def take_root(sources: Sources, rank: int, rest: Array) -> None:
    """Replace Σ by its square root, from the sources that a reversal left."""
    size, rows = len(rest), sources.rows
    for i in range(size):
        for r in range(2 * size):
            rows[i][r] = rows[size + i][r] if r >= rank else 0.0
    _triangularize(sources, rest)


@kernel(plain=True)
def smooth_cov(gain: Array, rest: Array, cov: Array, reach: Array) -> None:
    """V ← Σ + G V Gᵀ, and the pair covariance G V."""
    size = len(cov)
    for i in range(size):
        for j in range(size):
            value = 0.0
            for k in range(size):
                value += gain[i][k] * cov[k][j]
            reach[i][j] = value
    for i in range(size):
        for j in range(i + 1):
            cov[i][j] = cov[j][i] = rest[i][j] + dot(reach[i], gain[j])


@kernel(plain=True)
def square(factor: Array, cov: Array) -> None:
    """Write SSᵀ into ``cov``."""
    for i in range(len(factor)):
        for j in range(i + 1):
            cov[i][j] = cov[j][i] = dot(factor[i], factor[j])


@kernel(plain=True)
def is_due(seen: int) -> bool:
    """Tell whether to compare covariances: after 1, 2, 4, 8, … steps."""
    return seen & (seen - 1) == 0


@kernel(plain=True)
def has_settled(cov: Array, kept: Array, seen: int) -> bool:
    """Compare a covariance with the one kept, of half as many steps, and keep it instead."""
    steady = seen > 1
    for i in range(len(cov)):
        for j in range(i + 1):
            bound = _STEADY_TOLERANCE * math.sqrt(abs(cov[i][i])) * math.sqrt(abs(cov[j][j]))
            steady = steady and abs(cov[i][j] - kept[i][j]) <= bound
    copy_matrix(cov, kept)
    return steady


@kernel(plain=True)
def copy_matrix(a: Array, target: Array) -> None:
    """Copy entry by entry, which means the same for lists and for arrays."""
    for i in range(len(a)):
        for j in range(len(a[i])):
            target[i][j] = a[i][j]


@kernel(plain=True)
def dot(a: Array, b: Array) -> float:
    """Return aᵀb."""
    value = 0.0
    for k in range(len(a)):
        value = value + a[k] * b[k]
    return value


@kernel(plain=True)
def _size_of_terms(factor: Array, row: Array) -> float:
    total = 0.0
    for j in range(len(row)):
        term = 0.0
        for k in range(len(row)):
            term += abs(row[k] * factor[k][j])
        total += term * term
    return total


@kernel(plain=True)
def _move(factor: Array, transition: Array, noise_factor: Array, rows: Array) -> None:
    """Write [AS, Q½] into the first rows."""
    size = len(factor)
    for i in range(size):
        row, step = rows[i], transition[i]
        for j in range(size):
            value = 0.0
            for k in range(size):
                value += step[k] * factor[k][j]
            row[j], row[size + j] = value, noise_factor[i][j]


@kernel(plain=True)
def _triangularize(sources: Sources, factor: Array) -> None:
    """Rotate the first rows M into lower-triangular L with LLᵀ = MMᵀ."""
    size = len(factor)
    _sort_sources(sources, size)
    for i in range(size):
        _reflect(sources.rows, i, i, size, _length(sources.rows[i], i))
        for j in range(size):
            factor[i][j] = sources.rows[i][j] if j <= i else 0.0


@kernel(plain=True)
def _sort_sources(sources: Sources, n_rows: int) -> None:
    """Put large noise sources first: small ones then survive the reflections."""
    rows, sizes = sources.rows, sources.sizes
    n_sources = len(sizes)
    for r in range(n_sources):
        largest = 0.0
        for i in range(n_rows):
            size = abs(rows[i][r])
            largest = size if size > largest else largest
        sizes[r] = largest
    for r in range(n_sources - 1):
        best = r
        for other in range(r + 1, n_sources):
            if sizes[other] > sizes[best]:
                best = other
        if best != r:
            sizes[best] = sizes[r]
            for i in range(n_rows):
                rows[i][r], rows[i][best] = rows[i][best], rows[i][r]


@kernel(plain=True)
def _length(row: Array, first: int) -> float:
    total = 0.0
    for r in range(first, len(row)):
        total += row[r] * row[r]
    return math.sqrt(total)


@kernel(plain=True)
def _reflect(rows: Array, pivot: int, first: int, n_rows: int, length: float) -> None:
    """Reflect the sources from ``first`` on so that row ``pivot`` keeps one entry there, its length."""
    v = rows[pivot]
    n_sources = len(v)
    if length == 0.0:
        return  # nothing to reflect
    signed = math.copysign(length, v[first])
    v[first] += signed
    scale = 1.0 / (signed * v[first])
    for i in range(pivot + 1, n_rows):  # H = I − vvᵀ/(σ v₁)
        row = rows[i]
        dot = 0.0
        for r in range(first, n_sources):
            dot += v[r] * row[r]
        dot *= scale
        for r in range(first, n_sources):
            row[r] -= v[r] * dot
    v[first] = -signed
    for r in range(first + 1, n_sources):
        v[r] = 0.0
