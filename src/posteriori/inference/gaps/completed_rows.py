r"""Rows with gaps (NaN) as normals complete them: each missing entry at its expectation given the seen ones.

With a precision Λ and the deviations d = x − m of the entries that are seen (o) or missing (m),

.. math:: \hat d_m = -\Lambda_{mm}^{-1}\Lambda_{mo}d_o, \qquad
          x_m\mid x_o \sim \mathcal N(m_m + \hat d_m, \Lambda_{mm}^{-1}).

Rows that miss the same entries share their factors; patterns of equal size are factorised together, and so
are as many normals as the cache holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from posteriori.inference.gaps.gap_patterns import GapPart
from posteriori.numerics.blocks.block_sizes import WITH_COPY, rows_per_block
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.rank import factor_definite
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "CompletedRows",
    "Normals",
    "complete_rows",
    "entries_at_gaps",
    "normals_from_covariances",
    "normals_from_precisions",
]


class Normals(NamedTuple):
    """K normals, by their precisions.

    Attributes
    ----------
    means : (K, D)
    precisions : (K, D, D)
    whitenings : (K, D, D)
        B with BᵀB = Λ.
    log_dets : (K,)
        ln |Λ|.
    """

    means: Array
    precisions: Array
    whitenings: Array
    log_dets: Array


class CompletedRows(NamedTuple):
    """Rows of a part, completed by C of the normals.

    Attributes
    ----------
    normals : slice
        Which of them.
    deviations : (C, G, n, D)
        d̂.
    roots : (C, G, M, M)
        T with TᵀT = Λ_mm⁻¹.
    log_roots : (C, G, 1)
        ln |T| = −½ ln |Λ_mm|.
    squares : (C, G, n)
        d̂ᵀΛd̂.
    """

    normals: slice
    deviations: Array
    roots: Array
    log_roots: Array
    squares: Array

    @property
    def log_integrals(self) -> Array:
        """½ M ln 2π − ½ ln |Λ_mm| − ½ d̂ᵀΛd̂, (C, G, n)."""
        return 0.5 * self.roots.shape[-1] * LOG_2PI + self.log_roots - 0.5 * self.squares


def normals_from_covariances(means: Array, covs: Array) -> Normals:
    """Return K normals of the given means (K, D) and covariances (K, D, D)."""
    whitenings = triangular_inverse(factor_definite(covs))  # B = L⁻¹, Σ = L Lᵀ
    return _normals(means, np.swapaxes(whitenings, -1, -2) @ whitenings, whitenings)


def normals_from_precisions(means: Array, precisions: Array) -> Normals:
    """Return K normals of the given means (K, D) and precisions (K, D, D)."""
    return _normals(means, precisions, np.swapaxes(factor_definite(precisions), -1, -2))


def complete_rows(x: Array, part: GapPart, normals: Normals) -> Iterator[CompletedRows]:
    """Yield the rows of a part as the normals complete them, some normals at a time."""
    rows = x[part.rows]
    step = rows_per_block(rows.size, WITH_COPY)
    for first in range(0, len(normals.means), step):
        yield _completed(rows, part, normals, slice(first, first + step))


def _completed(rows: Array, part: GapPart, normals: Normals, some: slice) -> CompletedRows:
    if part.padded:
        return _completed_padded(rows, part, normals, some)
    d = rows - normals.means[some, None, None]
    shape, gaps = d.shape[:2], part.missing.shape[1]
    roots, log_roots = np.zeros((*shape, gaps, gaps)), np.zeros((*shape, 1))
    if gaps:
        precisions, places = normals.precisions[some], _gap_places(part)
        d[places] = 0.0
        pull = _times(d, precisions)[places]  # Λ_mo d_o
        corners = precisions[:, part.missing[:, :, None], part.missing[:, None, :]]
        roots = triangular_inverse(np.linalg.cholesky(corners))
        d[places] = -(pull @ np.swapaxes(roots, -1, -2)) @ roots  # d̂_m = −Λ_mm⁻¹ Λ_mo d_o
        diagonal = np.diagonal(roots, axis1=-2, axis2=-1)
        log_roots = np.log(diagonal).sum(axis=-1, keepdims=True)
    z = _times(d, np.swapaxes(normals.whitenings[some], -1, -2))
    return CompletedRows(some, d, roots, log_roots, np.einsum("cgni,cgni->cgn", z, z))


def _completed_padded(rows: Array, part: GapPart, normals: Normals, some: slice) -> CompletedRows:
    """Complete rows (G, 1, D) some of whose gaps lie beyond the last column: there Λ is 1 and d is 0."""
    count, width = len(rows), rows.shape[-1]
    means, inside = normals.means[some], part.missing < width
    places = slice(None), np.arange(count)[:, None], part.missing
    d = np.zeros((len(means), count, width + 1))
    d[..., :width] = rows[:, 0] - means[:, None]
    d[places] = 0.0
    precisions = np.zeros((len(means), width + 1, width + 1))
    precisions[:, :width, :width] = normals.precisions[some]
    precisions[:, width, width] = 1.0
    pull = (d @ precisions)[places]
    corners = precisions[:, part.missing[:, :, None], part.missing[:, None, :]]
    diagonal = np.eye(part.missing.shape[1], dtype=bool)
    corners *= (inside[:, :, None] & inside[:, None, :]) | diagonal
    roots = triangular_inverse(np.linalg.cholesky(corners))
    filled = pull[..., None, :] @ np.swapaxes(roots, -1, -2) @ roots
    d[places] = -np.where(inside, filled[..., 0, :], 0.0)
    log_roots = np.log(np.diagonal(roots, axis1=-2, axis2=-1)).sum(axis=-1, keepdims=True)
    log_roots -= 0.5 * LOG_2PI * (~inside).sum(axis=1, keepdims=True)  # these were no gaps
    z = d[..., :width] @ np.swapaxes(normals.whitenings[some], -1, -2)
    squares = np.einsum("cgi,cgi->cg", z, z)[..., None]
    return CompletedRows(some, d[..., None, :width], roots, log_roots, squares)


def entries_at_gaps(rows: Array, part: GapPart) -> Array:
    """Return the entries of rows (C, G, n, D) at their gaps, (C, G, n, M)."""
    return rows[_gap_places(part)]


def _gap_places(part: GapPart) -> tuple[slice, Array, Array, Array]:
    patterns, rows = part.rows.shape
    return (
        slice(None),
        np.arange(patterns)[:, None, None],
        np.arange(rows)[:, None],
        part.missing[:, None, :],
    )


def _times(d: Array, matrices: Array) -> Array:
    """Return d (C, G, n, D) times a matrix for each C, by a single product each."""
    return (d.reshape(len(d), -1, d.shape[-1]) @ matrices).reshape(d.shape)


def _normals(means: Array, precisions: Array, whitenings: Array) -> Normals:
    diagonal = np.diagonal(whitenings, axis1=-2, axis2=-1)
    return Normals(means, precisions, whitenings, 2.0 * np.log(diagonal).sum(axis=-1))
