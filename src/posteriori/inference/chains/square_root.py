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
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array
from posteriori.numerics.validation import check_symmetric

__all__ = [
    "Conditioned",
    "Reversal",
    "condition_scalar",
    "decorrelate",
    "factor_semidefinite",
    "propagate",
    "reverse_step",
]

_EPSILON = float(np.finfo(np.float64).eps)
#: A pivot below this part of its own diagonal entry is rounding.
PIVOT_TOLERANCE = 32 * _EPSILON
#: A column whose residual is below this part of its length depends on the columns before it.
RANK_TOLERANCE = 8 * _EPSILON


class Conditioned(NamedTuple):
    """The state after one scalar observation: factor, gain k and innovation variance."""

    factor: Array
    gain: Array
    variance: float


class Reversal(NamedTuple):
    """s_t given s_{t+1}: N(m_t + G(s_{t+1} − m⁻_{t+1}), Σ), Σ = FFᵀ."""

    gain: Array
    factor: Array


def factor_semidefinite(name: str, cov: Array) -> Array:
    """Return lower-triangular L with LLᵀ = cov for a stack (N, D, D), zero columns where singular.

    Raises
    ------
    ValueError
        When a matrix is not symmetric or has a negative eigenvalue beyond rounding.
    """
    cov = check_symmetric(name, cov)
    lower, pivots = _unit_factor(name, cov)
    return lower * np.sqrt(pivots)[:, None, :]


def decorrelate(cov: Array) -> tuple[Array, Array]:
    """Return unit lower-triangular L and r ≥ 0 with L diag(r) Lᵀ = cov, for one matrix."""
    lower, pivots = _unit_factor("emission_cov", cov[None])
    return lower[0], pivots[0]


def condition_scalar(factor: Array, row: Array, noise: float) -> Conditioned:
    """Condition s ~ N(·, SSᵀ) on a value of cᵀs + N(0, r)."""
    f = row @ factor  # f = Sᵀc
    alpha = noise + np.concatenate(([0.0], np.cumsum(f * f)))  # αⱼ = r + Σ_{i≤j} fᵢ²
    reach = np.cumsum(factor * f, axis=1)  # bⱼ = Σ_{i≤j} Sᵢfᵢ
    before, after = alpha[:-1], alpha[1:]
    variance = float(after[-1])
    rotated = before > 0.0
    safe = np.where(rotated, before, 1.0)
    ends = np.where(after > 0.0, after, 1.0)
    shrink = np.where(after > 0.0, np.sqrt(before / ends), 1.0)
    pull = np.where(rotated, f / (np.sqrt(safe) * np.sqrt(ends)), 0.0)
    conditioned = factor * shrink  # Sⱼ ← Sⱼ √(αⱼ₋₁/αⱼ) − bⱼ₋₁ fⱼ/√(αⱼ₋₁αⱼ)
    conditioned[:, 1:] -= reach[:, :-1] * pull[1:]
    gain = reach[:, -1] / variance if variance > 0.0 else np.zeros(len(factor))
    return Conditioned(conditioned, gain, variance)


def propagate(factor: Array, transition: Array, noise_factor: Array) -> Array:
    """Return S⁻ with S⁻S⁻ᵀ = A SSᵀ Aᵀ + Q."""
    sources = np.concatenate([(transition @ factor).T, noise_factor.T])
    return _triangular(sources)


def reverse_step(factor: Array, transition: Array, noise_factor: Array) -> Reversal:
    """Reverse s' = As + N(0, Q) for s ~ N(·, SSᵀ); a singular prediction has a reversal too."""
    size = len(factor)
    sources = np.zeros((2 * size, 2 * size))  # rows: noise sources; columns: s', then s
    sources[:size, :size] = (transition @ factor).T
    sources[:size, size:] = factor.T
    sources[size:, :size] = noise_factor.T
    sources = sources[_largest_first(sources)]
    pivots = _reflect(sources, size)
    rank = len(pivots)
    gain = np.zeros((size, size))
    if rank:
        upper = sources[:rank, pivots]
        gain[:, pivots] = np.linalg.solve(upper, sources[:rank, size:]).T  # G S⁻ = Cov(s, s') S⁻⁻ᵀ
    rest = sources[rank:, size:]
    return Reversal(gain, _triangular(rest))


def _triangular(sources: Array) -> Array:
    """Return lower-triangular L with LLᵀ = MᵀM for the noise sources in the rows of M."""
    upper: Array = np.linalg.qr(sources[_largest_first(sources)], mode="r")  # type: ignore[assignment]
    return upper.T


def _largest_first(sources: Array) -> Array:
    return np.argsort(-np.abs(sources).max(axis=1), kind="stable")


def _reflect(sources: Array, n_columns: int) -> list[int]:
    """Bring the first columns to row echelon form in place; return the columns with a pivot."""
    pivots: list[int] = []
    lengths = np.sqrt((sources[:, :n_columns] ** 2).sum(axis=0))
    for column in range(n_columns):
        row = len(pivots)
        x = sources[row:, column]
        length = float(np.sqrt(x @ x))
        if length <= RANK_TOLERANCE * lengths[column]:
            x[:] = 0.0
            continue
        v = x.copy()
        signed = float(np.copysign(length, v[0]))
        v[0] += signed
        rest = sources[row:, column + 1 :]
        rest -= np.outer(v, (v @ rest) / (signed * v[0]))  # H = I − vvᵀ/(σ v₁)
        x[0] = -signed
        x[1:] = 0.0
        pivots.append(column)
    return pivots


def _unit_factor(name: str, cov: Array) -> tuple[Array, Array]:
    """L diag(p) Lᵀ column by column over a stack, zero pivots where a matrix is singular."""
    size = cov.shape[-1]
    diagonal = np.diagonal(cov, axis1=1, axis2=2)
    if np.any(diagonal < 0.0):
        raise ValueError(f"{name} has a negative variance, {float(diagonal.min()):.6g}")
    rest = np.array(cov)
    lower = np.broadcast_to(np.eye(size), cov.shape).copy()
    pivots = np.zeros(cov.shape[:-1])
    for k in range(size):
        pivot = rest[:, k, k]
        rounding = PIVOT_TOLERANCE * size * diagonal[:, k]
        positive = pivot > rounding
        column = np.where(positive[:, None], rest[:, k + 1 :, k], 0.0)
        _require_semidefinite(name, pivot, rounding, rest[:, k + 1 :, k], diagonal, k)
        pivots[:, k] = np.where(positive, pivot, 0.0)
        lower[:, k + 1 :, k] = column / np.where(positive, pivot, 1.0)[:, None]
        rest[:, k + 1 :, k + 1 :] -= lower[:, k + 1 :, k, None] * column[:, None, :]
    return lower, pivots


def _require_semidefinite(
    name: str, pivot: Array, rounding: Array, column: Array, diagonal: Array, k: int
) -> None:
    # a zero pivot leaves nothing in its column: |Sᵢₖ|² ≤ SₖₖSᵢᵢ
    scale = np.sqrt(diagonal[:, k, None] * diagonal[:, k + 1 :])
    excess = (pivot <= rounding)[:, None] & (np.abs(column) > 1e-7 * scale)
    if np.any(pivot < -1e-10 * diagonal[:, k]) or np.any(excess):
        raise ValueError(
            f"{name} must be positive semi-definite; it has a direction of negative variance"
        )
