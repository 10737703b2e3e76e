r"""Processes on grids: the covariance is a Kronecker product of small ones, and noise.

Slopes in a parameter of axis d are those of its own matrix of weights,

.. math:: \frac{\partial\ln p}{\partial\theta} = \mathrm{tr}\,W\frac{\partial K}{\partial\theta} =
          \mathrm{tr}\,W_d\frac{\partial K_d}{\partial\theta},\qquad
          W_d = Q_d\Bigl[\sum_r Z_r\Omega Z_r^\top - \tfrac q2\,\mathrm{diag}(\Lambda^{-1}\omega)\Bigr]Q_d^\top,

where rows and columns of :math:`Z_r` are axis d and all others, and :math:`\Omega` holds the products
:math:`\omega` of the eigenvalues of the others.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from posteriori.inference.processes.dense_process import (
    DenseProcess,
    noise_slopes,
    noise_variances,
    slope_columns,
    solve_factored,
)
from posteriori.inference.processes.forms.grid_factor import GridFactor, factor_grid
from posteriori.inference.processes.forms.grid_layout import GridLayout, find_layout
from posteriori.inference.processes.forms.grid_terms import GridTerm, grid_terms
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.inference.processes.process_rows import ProcessRows
from posteriori.kernels.inner_products import Features
from posteriori.kernels.kernel import Kernel, Product
from posteriori.numerics.types import Array

__all__ = ["GridForm", "find_grid"]

#: The kernel of an axis that the function does not depend on.
_ONE = Features(lambda points: np.ones((len(points), 1)))

#: Most gaps, and most of them for each row: with more a Cholesky factor is as fast.
_MOST_GAPS, _MOST_SHARE = 3000, 0.25


def find_grid(kernel: Kernel, rows: ProcessRows, absolute: bool) -> GridLayout | None:
    """Return rows as a grid on which a kernel is a Kronecker product, None where they are none.

    Parameters
    ----------
    kernel : Kernel
        Its form is what matters; parameters may change later.
    rows : ProcessRows
    absolute : bool
        Whether targets have noise of their own, and the kernel none.
    """
    kernel.diagonal(rows.X[:1])  # refuses columns that do not exist
    terms = grid_terms(kernel, rows.X.shape[1])
    if terms is None or (rows.weight != rows.weight[0]).any():
        return None
    if not noise_variances(kernel, rows.X, absolute).all():
        return None
    groups = [term.columns for term in terms.factors] + [terms.noise_columns]
    return find_layout(rows.X, groups, min(_MOST_GAPS, int(_MOST_SHARE * len(rows.X))))


class GridForm(NamedTuple):
    """Eigenvectors of the axes of a grid; there must be noise, which may differ along one axis."""

    rows: ProcessRows
    mean: MeanEffects
    absolute: bool
    layout: GridLayout

    @property
    def account(self) -> str:
        shape, gaps = " × ".join(map(str, self.layout.shape)), len(self.layout.gaps)
        seen = f", {gaps} of its cells are gaps" if gaps else ""
        return f"Kronecker factors of a grid of {shape} inputs{seen}, O(N Σ n)"

    def solve(self, kernel: Kernel) -> DenseProcess:
        axes = self._axes(kernel)
        grams = [axis.gram / np.multiply.outer(axis.unit, axis.unit) for axis in axes]
        n = noise_variances(kernel, self.rows.X, self.absolute)
        factor = factor_grid(grams, self.layout, np.sqrt(n / self.rows.weight))
        return solve_factored(kernel, self.rows, self.mean, n, factor)

    def score(self, kernel: Kernel) -> tuple[float, Array]:
        solved = self.solve(kernel)
        factor, C, outputs = solved.factor, slope_columns(solved), self.rows.y.shape[1]
        assert isinstance(factor, GridFactor)
        gradient = np.zeros(len(kernel.log_parameters))
        weights = _axis_weights(factor, C * solved.noise[:, None], outputs)
        for axis, W in zip(self._axes(kernel), weights, strict=True):
            W = W / np.multiply.outer(axis.unit, axis.unit)
            np.add.at(gradient, axis.places, axis.kernel.traced(axis.points, axis.points).pull(W))
        if not self.absolute:
            # W on the diagonal
            own = 0.5 * (np.einsum("nr,nr->n", C, C) - outputs * factor.inverse_diagonal())
            gradient += noise_slopes(kernel, self.rows, own)
        return solved.log_evidence, gradient

    def _axes(self, kernel: Kernel) -> list[_Axis]:
        """Return what the kernel is on each axis; constants belong to the first, noise to one of them."""
        terms = grid_terms(kernel, self.rows.X.shape[1])
        assert terms is not None  # find_grid was asked
        lead = self.layout.columns[0]
        axes = []
        for columns, first in zip(self.layout.columns, self.layout.firsts, strict=True):
            here, points = set(columns), self.rows.X[first]
            own = [term for term in terms.factors if here & set(term.columns or lead)]
            unit = np.ones(len(points))
            if here & set(terms.noise_columns or lead):
                n = noise_variances(kernel, points, self.absolute)
                unit = np.sqrt(n / self.rows.weight[0])
            axes.append(_Axis(points, *_joined(own), unit))
        return axes


class _Axis(NamedTuple):
    """An axis: points (n, D), its kernel, the places of the kernel's parameters, units (n,) of noise."""

    points: Array
    kernel: Kernel
    places: list[int]
    unit: Array

    @property
    def gram(self) -> Array:
        return self.kernel.evaluate(self.points, self.points)


def _joined(terms: list[GridTerm]) -> tuple[Kernel, list[int]]:
    """Return the product of factors, and the places of its parameters."""
    places = [place for term in terms for place in term.places]
    return Product(tuple(term.kernel for term in terms)) if terms else _ONE, places


def _axis_weights(factor: GridFactor, C: Array, outputs: int) -> list[Array]:
    """Return W_d of each axis, (n, n), for W = ½(CCᵀ − qA⁻¹) in units of the noise.

    Parameters
    ----------
    factor : GridFactor
    C : (N, R)
    outputs : int
        q.
    """
    Z = np.hstack([factor.rotated(C), np.sqrt(outputs) * factor.gap_columns()])
    shape, found = tuple(map(len, factor.values)), []
    for d, vectors in enumerate(factor.vectors):
        others = [np.ones(n) if e == d else factor.values[e] for e, n in enumerate(shape)]
        omega = reduce(np.multiply.outer, others)
        rest = np.moveaxis(omega / factor.spectrum.reshape(shape), d, 0).reshape(shape[d], -1)
        weighed = (np.sqrt(omega)[..., None] * Z.reshape(*shape, -1)).swapaxes(0, d)
        unfolded = weighed.reshape(shape[d], -1)
        inner = unfolded @ unfolded.T - outputs * np.diag(rest.sum(axis=1))
        found.append(0.5 * (vectors @ inner @ vectors.T))
    return found
