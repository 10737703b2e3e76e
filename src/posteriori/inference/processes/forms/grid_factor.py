r"""Covariances on a grid by the eigenvectors of its axes.

In units of the noise the covariance of all cells is :math:`A = \bigotimes_d K_d + I = Q\Lambda Q^\top` with
:math:`K_d = Q_d\,\mathrm{diag}(\lambda_d)\,Q_d^\top`. Of cells O with a row, and gaps M,

.. math:: (A_{OO})^{-1} = \bigl(A^{-1} - A^{-1}_{\cdot M}(A^{-1}_{MM})^{-1}A^{-1}_{M\cdot}\bigr)_{OO},\qquad
          \ln|A_{OO}| = \ln|A| + \ln|A^{-1}_{MM}|.

With :math:`\Lambda^{-1/2}Q^\top_{\cdot M} = VR`, V orthonormal, this is :math:`S^\top S` with
:math:`S = (I - VV^\top)\Lambda^{-1/2}Q^\top`, and the last term is :math:`2\ln|R|`: the gaps are projected out.

Reference: Y. Saatçi, "Scalable inference for structured Gaussian process models", 2011, ch. 5; the block
of the inverse by Schur's complement.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import NamedTuple

import numpy as np

from posteriori.inference.processes.forms.grid_layout import GridLayout
from posteriori.numerics.blocks.memory import require_memory
from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.types import Array, IntArray

__all__ = ["GridFactor", "factor_grid"]

#: Share of the largest eigenvalue below which others are rounding errors.
_ROUNDING = 1e-14


class GridFactor(NamedTuple):
    """A covariance of rows that are cells of a grid.

    Attributes
    ----------
    vectors, values : tuple of (n, n), tuple of (n,)
        Q_d and λ_d of each axis.
    spectrum : (G,)
        Λ.
    noise_root : (N,)
        Standard deviation of the noise of each row: the unit in which it is measured.
    cells : (N,)
    projected : (G, M)
        V.
    log_det, jitter : float
    """

    vectors: tuple[Array, ...]
    values: tuple[Array, ...]
    spectrum: Array
    noise_root: Array
    cells: IntArray
    projected: Array
    log_det: float
    jitter: float

    def half_solve(self, b: Array) -> Array:
        """Return Sb, (G, ·)."""
        return self._without_gaps(self.rotated(b) / np.sqrt(self.spectrum)[:, None])

    def back_solve(self, b: Array) -> Array:
        """Return Sᵀb, (N, ·)."""
        scaled = self._without_gaps(b) / np.sqrt(self.spectrum)[:, None]
        return _turn(self.vectors, scaled)[self.cells] / self.noise_root[:, None]

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of the inverse, (N,)."""
        squares = tuple(vectors**2 for vectors in self.vectors)
        whole = _turn(squares, 1.0 / self.spectrum[:, None])[self.cells, 0]
        told = _turn(self.vectors, self.gap_columns())[self.cells]
        return (whole - np.einsum("nm,nm->n", told, told)) / self.noise_root**2

    def rotated(self, b: Array) -> Array:
        """Return QᵀEb, (G, ·), of rows in units of their noise, with 0 in the gaps."""
        full = np.zeros((self.spectrum.size, b.shape[1]))
        full[self.cells] = b / self.noise_root[:, None]
        return _turn(tuple(vectors.T for vectors in self.vectors), full)

    def gap_columns(self) -> Array:
        """Return Λ^(−1/2)V, (G, M): in eigenvectors the inverse of the rows is Λ⁻¹ less its square."""
        return self.projected / np.sqrt(self.spectrum)[:, None]

    def _without_gaps(self, b: Array) -> Array:
        return b - self.projected @ (self.projected.T @ b)


def factor_grid(grams: list[Array], layout: GridLayout, noise_root: Array) -> GridFactor:
    """Return the factor of a covariance.

    Parameters
    ----------
    grams : list of (n, n)
        Of each axis, in units of the noise.
    layout : GridLayout
    noise_root : (N,)
        Standard deviation of the noise of each row.

    Notes
    -----
    Costs O(Σn³ + GΣn), with M gaps O(GM²) and GM numbers.

    Raises
    ------
    MemoryError
        When free memory cannot hold what the gaps need.
    """
    values, vectors = zip(*(np.linalg.eigh(gram) for gram in grams), strict=True)
    values = tuple(np.maximum(one, 0.0) for one in values)
    products = reduce(np.multiply.outer, values).reshape(-1)
    level = max(1.0, _ROUNDING * float(products.max()))
    spectrum = products + level
    projected, log_det = _project(vectors, spectrum, layout)
    log_det += float(np.log(spectrum).sum() + 2.0 * np.log(noise_root).sum())
    jitter = (level - 1.0) * float(np.mean(noise_root**2))
    cells = layout.cells
    return GridFactor(vectors, values, spectrum, noise_root, cells, projected, log_det, jitter)


def _project(
    vectors: tuple[Array, ...], spectrum: Array, layout: GridLayout
) -> tuple[Array, float]:
    """Return V and ln |A⁻¹_MM|."""
    gaps = layout.gaps
    if not gaps.size:
        return np.zeros((spectrum.size, 0)), 0.0
    require_memory(
        f"a grid of {spectrum.size} cells with {gaps.size} gaps",
        4 * spectrum.size * gaps.size,
        "leave out the rows of points that have many gaps, or use SparseGaussianProcessRegressor",
    )
    places = np.unravel_index(gaps, layout.shape)
    rows = [axis[place] for axis, place in zip(vectors, places, strict=True)]
    columns = reduce(_column_products, (row.T for row in rows))
    columns /= np.sqrt(spectrum)[:, None]
    projected, upper = scipy_linalg.qr(
        columns, mode="economic", overwrite_a=True, check_finite=False
    )
    return projected, 2.0 * float(np.log(np.abs(upper.diagonal())).sum())


def _column_products(left: Array, right: Array) -> Array:
    """Return all products of an entry on the left and one on the right, column by column."""
    return (left[:, None, :] * right[None, :, :]).reshape(-1, left.shape[1])


def _turn(matrices: tuple[Array, ...], b: Array) -> Array:
    """Return (⊗ M_d) b, (G, ·), axis by axis."""
    shape = [len(matrix) for matrix in matrices]
    turned = b
    for axis, matrix in enumerate(matrices):
        before, after = prod(shape[:axis]), prod(shape[axis + 1 :]) * b.shape[1]
        turned = matrix @ turned.reshape(before, shape[axis], after)
    return turned.reshape(b.shape)
