r"""Densities of single coordinates from a lattice.

The root of a lattice is lower triangular: coordinate j depends on the first j axes only. So the
later axes are summed out cell by cell, and along axis j the log density is a parabola of unit
curvature plus a remainder that changes slowly, which a cubic spline continues between the points.
"""

from __future__ import annotations

import numpy as np

from posteriori.inference.quadrature.lattices import Lattice
from posteriori.numerics.types import Array

__all__ = ["margin"]


def margin(lattice: Lattice, axis: int, at: Array) -> Array:
    """Return the density of one coordinate at some values of it."""
    cells, weights = _summed(lattice.cells[:, : axis + 1], lattice.weights)
    step = float(lattice.root[axis, axis])
    starts = lattice.origin[axis] + cells[:, :axis] @ lattice.root[axis, :axis]
    _, line = np.unique(cells[:, :axis], axis=0, return_inverse=True)
    line = line.ravel()
    spread = (
        float(np.sqrt(lattice.moments()[1][axis, axis]))
        if axis == 0
        else _spread(cells, weights, axis) * step
    )
    total = np.zeros(len(at))
    for i in range(int(line.max()) + 1):
        here = line == i
        order = np.argsort(cells[here, axis])
        z = (cells[here, axis] * step)[order]
        logs = np.log(np.maximum(weights[here][order], 1e-300))
        total += _continued(z, logs, at - starts[here][0], spread)
    area = float(np.sum(0.5 * (total[1:] + total[:-1]) * np.diff(at)))
    return total / area


def _summed(cells: Array, weights: Array) -> tuple[Array, Array]:
    """Add the weights of cells that have become the same."""
    kept, where = np.unique(cells, axis=0, return_inverse=True)
    return kept, np.bincount(where.ravel(), weights=weights, minlength=len(kept))


def _spread(cells: Array, weights: Array, axis: int) -> float:
    """Return the standard deviation within lines, in steps."""
    _, line = np.unique(cells[:, :axis], axis=0, return_inverse=True)
    line, k = line.ravel(), cells[:, axis].astype(np.float64)
    mass = np.bincount(line, weights=weights)
    means = np.bincount(line, weights=weights * k) / mass
    return float(np.sqrt(np.sum(weights * (k - means[line]) ** 2) / weights.sum()))


def _continued(z: Array, logs: Array, at: Array, spread: float) -> Array:
    """Return exp of the log density along a line, between its points and a little beyond."""
    rest = _spline(z, logs + 0.5 * (z / spread) ** 2, np.clip(at, z[0], z[-1]))
    reach = (at >= z[0] - (z[1] - z[0] if len(z) > 1 else spread)) & (
        at <= z[-1] + (z[1] - z[0] if len(z) > 1 else spread)
    )
    return np.where(reach, np.exp(rest - 0.5 * (at / spread) ** 2), 0.0)


def _spline(x: Array, y: Array, at: Array) -> Array:
    """Return the natural cubic spline through points at equal or unequal distances."""
    if len(x) < 3:
        return np.interp(at, x, y)
    h, slopes = np.diff(x), np.diff(y) / np.diff(x)
    system = np.diag(2.0 * (h[:-1] + h[1:])) + np.diag(h[1:-1], 1) + np.diag(h[1:-1], -1)
    bends = np.concatenate([[0.0], np.linalg.solve(system, 6.0 * np.diff(slopes)), [0.0]])
    i = np.clip(np.searchsorted(x, at) - 1, 0, len(h) - 1)
    t, s = at - x[i], x[i + 1] - at
    line = (y[i] * s + y[i + 1] * t) / h[i]
    return (
        line + (bends[i] * (s**3 / h[i] - h[i] * s) + bends[i + 1] * (t**3 / h[i] - h[i] * t)) / 6.0
    )
