r"""A first linear system by its subspace: from covariances of rows some steps apart.

A stationary system has :math:`\Lambda_k = \mathrm{Cov}(y_{t+k}, y_t) = C A^k \Pi C^\top`, so that the matrix of
blocks :math:`H_{ij} = \Lambda_{i+j+1}` has rank D and factors into :math:`(C; CA; CA^2; \dots)` and what it
meets. Its singular vectors give C and A, the covariances then Π, and these the noises.

Reference: Aoki, "State space modeling of time series" (1987); van Overschee and De Moor, "Subspace
identification for linear systems" (1996), chapter 3.
"""

from __future__ import annotations

import numpy as np

from posteriori.inference.systems.linear_learning import SeriesGroup, SystemParameters
from posteriori.numerics.types import Array

__all__ = ["start_by_subspace"]

#: The start is stationary: its slowest direction loses this part in a step at least.
_SLOWEST = 0.01
#: Weakest directions of the start, as part of the strongest.
_WEAKEST = 1e-2
#: What the states leave of each column's variance at least.
_LEFT = 0.05


def start_by_subspace(groups: list[SeriesGroup], n_states: int, n_inputs: int) -> SystemParameters:
    """Return a system to begin learning with; rows have mean 0, and NaN entries are left out.

    Raises
    ------
    ValueError
        When all series are too short to have so many states.
    """
    width = groups[0].y.shape[2]
    blocks = -(-(n_states + 1) // width) + 1
    longest = max(group.y.shape[1] for group in groups)
    if longest < 2 * blocks:
        raise ValueError(
            f"n_states={n_states} needs a series of at least {2 * blocks} rows with {width} columns, and "
            f"the longest has n_samples={longest}; lower n_states, or give a start"
        )
    rows = _with_gaps_between(groups, 2 * blocks)
    scale = np.sqrt(np.nanmean(rows**2, axis=0))
    covs = _lagged_covariances(rows / scale, 2 * blocks)
    step, seen = _factor_hankel(covs, blocks, n_states)
    spread = _state_covariance(covs, step, seen)
    noise = _floored(spread - step @ spread @ step.T, _WEAKEST * np.diagonal(spread).max())
    left = _floored(covs[0] - seen @ spread @ seen.T, _LEFT)
    more = np.zeros((n_states, 1 + n_inputs)), np.zeros((width, 1 + n_inputs))
    return SystemParameters(
        np.concatenate([step, more[0]], axis=1),
        noise,
        np.concatenate([seen * scale[:, None], more[1]], axis=1),
        left * scale[:, None] * scale,
        np.zeros(n_states),
        spread,
    )


def _with_gaps_between(groups: list[SeriesGroup], gap: int) -> Array:
    """Return all series one below another, with so many missing rows between that no two of them meet."""
    parts = []
    for group in groups:
        count, _, width = group.y.shape
        padded = np.concatenate([group.y, np.full((count, gap, width), np.nan)], axis=1)
        parts.append(padded.reshape(-1, width))
    return np.concatenate(parts)


def _lagged_covariances(rows: Array, count: int) -> Array:
    """Return Λ_0, …, Λ_{count−1} from the pairs of entries that are both seen, (count, P, P)."""
    seen = ~np.isnan(rows)
    values, there = np.where(seen, rows, 0.0), seen.astype(np.float64)
    found = np.empty((count, rows.shape[1], rows.shape[1]))
    for k in range(count):
        pairs = there[k:].T @ there[: len(rows) - k]
        found[k] = values[k:].T @ values[: len(rows) - k] / np.maximum(pairs, 1.0)
    return found


def _factor_hankel(covs: Array, blocks: int, n_states: int) -> tuple[Array, Array]:
    """Return A and C from the blocks Λ_{i+j+1}."""
    width = covs.shape[1]
    hankel = np.block([[covs[i + j + 1] for j in range(blocks)] for i in range(blocks)])
    left, sizes, _ = np.linalg.svd(hankel)
    sizes = np.maximum(sizes[:n_states], _WEAKEST * max(sizes[0], 1e-3))
    reach = left[:, :n_states] * np.sqrt(sizes)  # C; CA; CA²; …
    step = np.linalg.lstsq(reach[:-width], reach[width:], rcond=1e-6)[0]
    radius = np.abs(np.linalg.eigvals(step)).max()
    return step * min(1.0, (1.0 - _SLOWEST) / max(radius, 1e-300)), reach[:width]


def _state_covariance(covs: Array, step: Array, seen: Array) -> Array:
    """Return Π by least squares of Λ_k = C Aᵏ Π Cᵀ, k = 1, 2, …, made positive definite."""
    size = len(step)
    upper = np.triu_indices(size)
    designs, power = [], seen
    for _ in covs[1:]:
        power = power @ step
        full = np.einsum("pi,qj->pqij", power, seen).reshape(-1, size, size)
        both = full + np.swapaxes(full, 1, 2)
        both[:, np.arange(size), np.arange(size)] *= 0.5
        designs.append(both[:, upper[0], upper[1]])
    solution = np.linalg.lstsq(np.concatenate(designs), covs[1:].reshape(-1), rcond=1e-6)[0]
    spread = np.zeros((size, size))
    spread[upper] = solution
    spread = spread + np.triu(spread, 1).T
    return _floored(spread, _WEAKEST * max(np.abs(np.diagonal(spread)).max(), 1e-3))


def _floored(cov: Array, least: float) -> Array:
    values, vectors = np.linalg.eigh(0.5 * (cov + cov.T))
    return np.asarray(vectors * np.maximum(values, least) @ vectors.T)
