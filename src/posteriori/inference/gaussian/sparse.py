"""Linear-Gaussian models whose latents meet in loops: a sparse precision matrix.

On a lattice every vector meets several vectors of its own latent, and none can be eliminated before
the others as a whole array. All numbers are then ordered one by one so that the Cholesky factor
stays sparse (minimum degree), and covariances are found on its pattern only: those of all numbers
that meet in an equation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.inference.gaussian.equations import Equation, Latent, Link
from posteriori.inference.gaussian.sparse_kernels import (
    entries_of_inverse,
    factorize_upper,
    pick_entries,
    solve_lower,
    solve_upper,
)
from posteriori.inference.gaussian.system import GaussianSystem
from posteriori.numerics.lazy import sparse, sparse_linalg
from posteriori.numerics.types import Array

__all__ = ["SparseSystem"]


class SparseSystem(GaussianSystem):
    """The sparse factor of the precision matrix, and solves with it."""

    def __init__(self, latents: Sequence[Latent], equations: Sequence[Equation]) -> None:
        super().__init__({latent.name: latent for latent in latents}, equations)
        self.order = [latent.name for latent in latents]
        self.first: dict[str, int] = {}
        self.size = 0
        for latent in latents:
            self.first[latent.name] = self.size
            self.size += latent.count * latent.size
        for equation in equations:
            self._push(self.right, equation, equation.constant)
        precision = self._precision()
        self.place = _find_order(precision)
        starts, rows, self.lower, failed = factorize_upper(*_upper(precision, self.place))
        self.pattern = starts, rows
        if failed >= 0:
            number = int(np.flatnonzero(self.place == failed)[0])
            self._refuse([n for n, start in self.first.items() if start <= number][-1])
        self.log_det = 2.0 * float(np.log(self.lower[self.pattern[0][:-1]]).sum())

    def solve(self, right: Mapping[str, Array]) -> dict[str, Array]:
        h = np.concatenate([right[name].ravel() for name in self.shapes])
        ordered = np.empty((self.size, 1))
        ordered[self.place, 0] = h
        solve_lower(*self.pattern, self.lower, ordered)
        solve_upper(*self.pattern, self.lower, ordered)
        return {n: v[..., 0] for n, v in self._by_latent(ordered[self.place]).items()}

    def deviations(self, size: int, rng: np.random.Generator) -> dict[str, Array]:
        noise = rng.standard_normal((self.size, size))
        solve_upper(*self.pattern, self.lower, noise)
        return self._by_latent(noise[self.place])

    def covariances(self) -> tuple[dict[str, Array], Mapping[tuple[str, str], tuple[Array, Any]]]:
        """Return marginal covariances; those between vectors are asked for row by row."""
        inverse = self._inverse()
        found = {}
        for name, latent in self.shapes.items():
            whole = np.arange(latent.count * latent.size).reshape(latent.count, latent.size)
            numbers = self.first[name] + whole
            found[name] = self._pick(inverse, numbers, numbers)
        return found, {}

    def row_variances(self) -> list[Array]:
        """Return the posterior variance of K x of all rows, equation by equation."""
        inverse = self._inverse()
        found = []
        for equation in self.equations:
            numbers, k = self._row_numbers(equation)
            found.append(np.einsum("ri,rij,rj->r", k, self._pick(inverse, numbers, numbers), k))
        return found

    # -- the precision matrix --------------------------------------------------------------

    def _precision(self) -> Any:
        """Return J = Σ Kᵀ W K; entries between numbers that meet are kept even when they are 0."""
        rows, columns, values = [], [], []
        for equation in self.equations:
            numbers, k = self._row_numbers(equation)
            shape = (*k.shape, k.shape[1])
            weighted = k * np.broadcast_to(equation.weight, (len(k),))[:, None]
            rows.append(np.broadcast_to(numbers[:, :, None], shape).ravel())
            columns.append(np.broadcast_to(numbers[:, None, :], shape).ravel())
            values.append((weighted[:, :, None] * k[:, None, :]).ravel())
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return sparse.coo_array(entries, shape=(self.size, self.size)).tocsc()

    def _row_numbers(self, equation: Equation) -> tuple[Any, Array]:
        """Return which numbers each row sees (R, W), and their coefficients."""
        numbers = [self._numbers(link) for link in equation.links]
        coefficients = [link.coefficients for link in equation.links]
        return np.concatenate(numbers, axis=1), np.concatenate(coefficients, axis=1)

    def _numbers(self, link: Link) -> Any:
        latent, rows = self.shapes[link.name], len(link.coefficients)
        index: Any = np.zeros(rows, dtype=np.intp)
        if latent.count > 1:
            index = np.arange(rows) if link.index is None else np.asarray(link.index)
        return self.first[link.name] + index[:, None] * latent.size + np.arange(latent.size)

    # -- reading the factor ----------------------------------------------------------------

    def _inverse(self) -> Array:
        return entries_of_inverse(*self.pattern, self.lower)

    def _pick(self, inverse: Array, rows: Any, columns: Any) -> Array:
        """Return blocks (R, W, W) of the inverse, for rows and columns (R, W) of each."""
        shape = (*rows.shape, columns.shape[-1])
        i = np.broadcast_to(self.place[rows][:, :, None], shape).ravel()
        j = np.broadcast_to(self.place[columns][:, None, :], shape).ravel()
        return pick_entries(*self.pattern, inverse, i, j).reshape(shape)

    def _by_latent(self, values: Array) -> dict[str, Array]:
        """Part values (n, draws) of all numbers."""
        return {
            name: values[start : start + v.count * v.size].reshape(v.count, v.size, -1)
            for (name, v), start in zip(self.shapes.items(), self.first.values(), strict=True)
        }


def _find_order(precision: Any) -> Any:
    """Return the place of each number in an order that keeps the factor sparse.

    The order depends on the pattern alone: minimum degree, found for a matrix that has this
    pattern and is never singular.
    """
    pattern = sparse.csc_array(precision, copy=True)
    pattern.data[:] = -1.0
    pattern.setdiag(np.diff(pattern.indptr) + 1.0)  # dominant diagonal
    options = {"SymmetricMode": True}
    solver = sparse_linalg.splu(
        pattern, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
    )
    return np.asarray(solver.perm_c, dtype=np.int64)


def _upper(precision: Any, place: Any) -> tuple[Any, Any, Any]:
    """Return the upper triangle of the matrix in the given order, by columns."""
    entries = precision.tocoo()
    i, j = place[entries.row], place[entries.col]
    kept = i <= j
    ordered = sparse.coo_array((entries.data[kept], (i[kept], j[kept])), shape=precision.shape)
    upper = ordered.tocsc()
    return upper.indptr.astype(np.int64), upper.indices.astype(np.int64), upper.data
