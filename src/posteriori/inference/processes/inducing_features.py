r"""Rows as functions of a process at a few points see them.

With :math:`K_{uu} = LL^\top` the features of a row are

.. math:: \phi(x) = L^{-1}k(U, x),\qquad f(x) = \phi(x)\cdot v + \text{rest},\qquad v\sim N(0, I),

where the rest has the variance :math:`k(x, x) - |\phi(x)|^2`. Columns of a mean function stand beside them,
with weights of their own precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from posteriori.inference.processes.kernel_noise import PartedKernel, part_noise
from posteriori.kernels.kernel import Kernel, Traced
from posteriori.numerics.linalg import cholesky_jittered, triangular_inverse
from posteriori.numerics.types import Array

__all__ = ["InducedRows", "InducingFeatures", "MeanColumns", "ProcessRows", "no_mean"]


class ProcessRows(NamedTuple):
    """What a process learns from.

    Attributes
    ----------
    x : (N, D)
    y : (N,)
    frequency : (N,), optional
        How often each row counts.
    variance : (N,), optional
        Of the noise of each row: relative to that of the kernel, absolute where it has none.
    """

    x: Array
    y: Array
    frequency: Array | None = None
    variance: Array | None = None

    def part(self, rows: slice) -> ProcessRows:
        """Return some of the rows."""
        return ProcessRows(*(None if a is None else a[rows] for a in self))  # type: ignore[arg-type]


class MeanColumns(NamedTuple):
    """A mean function with normal weights.

    Attributes
    ----------
    columns : callable
        From points (N, D) to (N, J); the first is 1 where J > 0.
    precision : (J,)
        Of the weights, whose means are 0.
    """

    columns: Callable[[Array], Array]
    precision: Array


#: The mean function 0.
no_mean = MeanColumns(lambda X: np.empty((len(X), 0)), np.empty(0))


class InducedRows(NamedTuple):
    """Rows and how they move with the kernel.

    Attributes
    ----------
    cross : Traced
        k(x, U), (n, M).
    features : (n, M + J)
        φ(x), then columns of the mean.
    own : Traced
        k(x, x) without noise, (n,).
    rest : (n,)
        What the points leave open of it.
    """

    cross: Traced
    features: Array
    own: Traced
    rest: Array


class InducingFeatures:
    """A kernel and the points at which its functions are told.

    Parameters
    ----------
    kernel : Kernel
    points : (M, D)
        U.
    mean : MeanColumns
    """

    def __init__(self, kernel: Kernel, points: Array, mean: MeanColumns = no_mean) -> None:
        self.parts: PartedKernel = part_noise(kernel)
        self.points = points
        self.mean = mean
        self.own: Traced = self.parts.signal.traced(points, points)
        factor = cholesky_jittered(self.own.value)
        self.jitter = factor.jitter
        self.inverse = triangular_inverse(factor.lower)  # L⁻¹, of all rows: a product is faster
        self.prior = np.concatenate([np.ones(len(points)), mean.precision])

    def of(self, x: Array) -> InducedRows:
        """Return rows as the points see them."""
        signal = self.parts.signal
        cross, own = signal.traced(x, self.points), signal.traced_diagonal(x)
        phi = cross.value @ self.inverse.T
        rest = np.maximum(own.value - np.einsum("nm,nm->n", phi, phi), 0.0)
        columns = self.mean.columns(x)
        features = np.column_stack([phi, columns]) if columns.shape[1] else phi
        return InducedRows(cross, features, own, rest)

    def noise(self, rows: ProcessRows) -> tuple[Array, Traced | None]:
        """Return the variances of the noise of rows, and how that of the kernel moves."""
        if self.parts.noise is None:
            assert rows.variance is not None  # checked with the rows
            return rows.variance, None
        own = self.parts.noise.traced_diagonal(rows.x)
        return own.value if rows.variance is None else own.value * rows.variance, own
