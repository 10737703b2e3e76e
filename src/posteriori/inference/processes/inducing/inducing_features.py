r"""Rows as functions of a process at a few points see them.

With :math:`K_{uu} = LL^\top` the features of a row are

.. math:: \phi(x) = L^{-1}k(U, x),\qquad f(x) = \phi(x)\cdot v + \text{rest},\qquad v\sim N(0, I),

where the rest has the variance :math:`k(x, x) - |\phi(x)|^2`. Columns of a mean function stand beside them,
with weights of their own precision.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.processes.mean_effects import NO_MEAN, MeanEffects
from posteriori.inference.processes.noise_parts import silenced
from posteriori.kernels.kernel import Kernel, Traced
from posteriori.numerics.linalg import cholesky_jittered, triangular_inverse
from posteriori.numerics.types import Array

__all__ = ["InducedRows", "InducingFeatures", "SparseRows"]


class SparseRows(NamedTuple):
    """Rows as they come.

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

    def part(self, rows: slice) -> SparseRows:
        """Return some of the rows."""
        return SparseRows(*(None if a is None else a[rows] for a in self))  # type: ignore[arg-type]


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
    mean : MeanEffects
    absolute : bool
        Whether rows have noise of their own, and the kernel none.
    """

    def __init__(
        self,
        kernel: Kernel,
        points: Array,
        mean: MeanEffects = NO_MEAN,
        *,
        absolute: bool = False,
    ) -> None:
        self.kernel, self.absolute = kernel, absolute
        self.points = points
        self.mean = mean
        factor = cholesky_jittered(self.own.value)
        self.jitter = factor.jitter
        self.inverse = triangular_inverse(factor.lower)  # L⁻¹, of all rows: a product is faster

    @cached_property
    def function(self) -> Kernel:
        """The kernel without its noise."""
        return silenced(self.kernel)

    @cached_property
    def own(self) -> Traced:
        """k(U, U), and how it moves with the kernel."""
        return self.function.traced(self.points, self.points)

    @property
    def size(self) -> int:
        """How many features there are."""
        return len(self.points) + self.mean.columns(self.points[:1]).shape[1]

    def __reduce__(self) -> tuple[Any, ...]:  # how kernels move is no data
        return _rebuild, (self.kernel, self.points, self.mean, self.absolute)

    def of(self, x: Array) -> InducedRows:
        """Return rows as the points see them."""
        cross, own = self.function.traced(x, self.points), self.function.traced_diagonal(x)
        phi = cross.value @ self.inverse.T
        rest = np.maximum(own.value - np.einsum("nm,nm->n", phi, phi), 0.0)
        columns = self.mean.columns(x)
        features = np.column_stack([phi, columns]) if columns.shape[1] else phi
        return InducedRows(cross, features, own, rest)

    def noise(self, rows: SparseRows) -> Array:
        """Return the variances of the noise of rows, (n,)."""
        if self.absolute:
            assert rows.variance is not None  # that is what it means
            return rows.variance
        own = self.kernel.diagonal(rows.x) - self.function.diagonal(rows.x)
        return own if rows.variance is None else own * rows.variance

    def pull_noise(self, rows: SparseRows, slopes: Array) -> Array:
        """Return what slopes in the noise of rows are in the log parameters, (P,)."""
        if self.absolute:
            return np.zeros(len(self.kernel.log_parameters))
        w = slopes if rows.variance is None else slopes * rows.variance
        whole, function = (k.traced_diagonal(rows.x) for k in (self.kernel, self.function))
        return whole.pull(w) - function.pull(w)


def _rebuild(kernel: Kernel, points: Array, mean: MeanEffects, absolute: bool) -> InducingFeatures:
    return InducingFeatures(kernel, points, mean, absolute=absolute)
