r"""Units in which rows have mean 0 and covariance I: mixtures of normals are learned in these.

.. math:: z = L^{-1}(x - c), \qquad LL^\top = \mathrm{Cov}[x].

There every direction counts alike, sums of squares keep their digits, and answers move with affine
maps of the rows. Diagonal covariances see the standard deviations of the columns only, and spherical
ones the largest of all directions, as their answers move with fewer maps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.rank import exceeds_rounding, is_definite
from posteriori.numerics.types import Array

__all__ = ["RowMoments", "Units", "dependent_columns", "table_moments", "units_of"]


class RowMoments(NamedTuple):
    """Total weight, mean (D,) and covariance (D, D) of rows, divided by the count."""

    total: float
    mean: Array
    cov: Array


class Units(NamedTuple):
    """A map of rows to z = L⁻¹(x − c).

    Attributes
    ----------
    centre : (D,)
    root : (D, D)
        L, lower triangular.
    inverse : (D, D)
        L⁻¹.
    """

    centre: Array
    root: Array
    inverse: Array

    @property
    def log_scale(self) -> float:
        """ln|L|, by which log densities of z exceed those of x."""
        return float(np.log(np.diag(self.root)).sum())

    def of(self, x: Array) -> Array:
        """Return z of rows (B, D), a column each: (D, B)."""
        return self.inverse @ (x - self.centre).T

    def raw_means(self, means: Array) -> Array:
        """Return means (K, D) of x, given those of z."""
        return self.centre + means @ self.root.T

    def raw_covs(self, covs: Array) -> Array:
        """Return covariances (..., D, D) of x, given those of z."""
        return self.root @ covs @ self.root.T

    def means_of(self, raw: Array) -> Array:
        """Return means (K, D) of z, given those of x."""
        return (raw - self.centre) @ self.inverse.T

    def covs_of(self, raw: Array) -> Array:
        """Return covariances (..., D, D) of z, given those of x."""
        return self.inverse @ raw @ self.inverse.T


def units_of(moments: RowMoments, kind: str) -> Units:
    """Return the units of rows for covariances of a kind: "full", "shared", "diagonal" or "spherical"."""
    cov = moments.cov
    if kind == "diagonal":
        root = np.diag(np.sqrt(np.diag(cov)))
    elif kind == "spherical":
        root = np.sqrt(np.linalg.eigvalsh(cov)[-1]) * np.eye(len(cov))
    else:
        root = np.linalg.cholesky(cov)
    inverse = solve_triangular(root, np.eye(len(cov)), lower=True)
    return Units(moments.mean, root, inverse)


def table_moments(x: Array, frequency: Array | None = None) -> RowMoments:
    """Return the moments of rows without gaps, in two passes over blocks."""
    d = x.shape[1]
    count = float(len(x)) if frequency is None else float(frequency.sum())
    mean, scatter = np.zeros(d), np.zeros((d, d))
    blocks = [slice(i, i + rows_per_block(d)) for i in range(0, len(x), rows_per_block(d))]
    for rows in blocks:
        part = x[rows] / count
        mean += part.sum(axis=0) if frequency is None else frequency[rows] @ part
    for rows in blocks:
        shifted = x[rows] - mean
        counted = shifted if frequency is None else shifted * frequency[rows, None]
        scatter += counted.T @ shifted
    return RowMoments(count, mean, scatter / count)


def dependent_columns(moments: RowMoments, kind: str) -> list[int]:
    """Return columns without spread, or such that depend on one another; [] where rows have a density.

    Columns whose spread is lost in the rounding of their mean have none.
    """
    variance = np.diag(moments.cov)
    constant = ~exceeds_rounding(np.sqrt(variance), np.abs(moments.mean))
    if kind == "spherical":
        return list(range(len(variance))) if constant.all() else []
    if constant.any():
        return np.flatnonzero(constant).tolist()
    if kind == "diagonal" or is_definite(moments.cov):
        return []
    spread = np.sqrt(variance)
    _, vectors = np.linalg.eigh(moments.cov / np.outer(spread, spread))
    return np.flatnonzero(np.abs(vectors[:, 0]) > _SHARE * np.abs(vectors[:, 0]).max()).tolist()


#: Columns with less than this part of the largest weight are not named as dependent.
_SHARE = 1e-3
