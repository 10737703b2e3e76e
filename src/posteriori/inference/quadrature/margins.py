r"""Densities of single coordinates from a lattice.

The root of a lattice is lower triangular: coordinate j depends on the first j axes only. So the
later axes are summed out cell by cell, and along axis j the log density is a parabola of unit
curvature plus a remainder that changes slowly, which a cubic spline continues between the points.
"""

from __future__ import annotations

import numpy as np

from posteriori.inference.quadrature.lattices import BEND, Lattice
from posteriori.numerics.types import Array

__all__ = ["margin"]

#: Weights below are this.
_SMALLEST = 1e-300


def margin(lattice: Lattice, axis: int, at: Array) -> Array:
    """Return the density of one coordinate at some values of it."""
    line, weights, places = _summed(lattice, axis)
    # the volume of a cell along the line is no part of the density there
    heights = np.log(np.maximum(weights, _SMALLEST)) - 0.5 * np.log1p((places[:, -1] / BEND) ** 2)
    spread = _spread_within(line, weights, places[:, -1])
    total = np.zeros(len(at))
    for i in range(line[-1] + 1):
        here = np.flatnonzero(line == i)
        start = lattice.origin[axis] + lattice.root[axis, :axis] @ places[here[0], :axis]
        z = (at - start) / lattice.root[axis, axis]
        total += _continued(places[here, -1], heights[here], z, spread)
    area = float(np.sum(0.5 * (total[1:] + total[:-1]) * np.diff(at)))
    return total / area


def _summed(lattice: Lattice, axis: int) -> tuple[Array, Array, Array]:
    """Add the weights of cells that differ in later axes: lines of them, weights, places.

    A line ends where a cell is missing: two peaks have nothing between them to go through.
    """
    cells = lattice.cells[:, : axis + 1]
    kept, first, where = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    weights = np.bincount(where.ravel(), weights=lattice.weights, minlength=len(kept))
    moved = np.diff(kept, axis=0)  # sorted: along a line the last number counts up
    begins = np.any(moved[:, :-1] != 0, axis=1) | (moved[:, -1] != 1)
    line = np.append(0, np.cumsum(begins))
    return line, weights, lattice.places[first, : axis + 1]


def _spread_within(line: Array, weights: Array, places: Array) -> float:
    """Return the standard deviation within lines."""
    mass = np.bincount(line, weights=weights)
    means = np.bincount(line, weights=weights * places) / np.maximum(mass, _SMALLEST)
    return float(np.sqrt(np.sum(weights * (places - means[line]) ** 2) / weights.sum()))


def _continued(z: Array, logs: Array, at: Array, spread: float) -> Array:
    """Return exp of the log density along a line, between its points and a step beyond."""
    middle = z[int(np.argmax(logs))]  # lines of another peak lie far from the origin
    rest = _spline(z, logs + 0.5 * ((z - middle) / spread) ** 2, np.clip(at, z[0], z[-1]))
    before, after = (z[1] - z[0], z[-1] - z[-2]) if len(z) > 1 else (spread, spread)
    reached = (at >= z[0] - before) & (at <= z[-1] + after)
    away = np.where(reached, (at - middle) / spread, np.inf)
    return np.exp(rest - 0.5 * away**2)


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
