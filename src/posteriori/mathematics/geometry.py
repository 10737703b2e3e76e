r"""Boundaries between two classes as objects: hyperplanes, quadrics, and any other level sets.

.. math:: w\cdot x + b = 0, \qquad x^\top A x + b\cdot x + c = 0, \qquad f(x) = 0.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 4.1.1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posteriori.numerics.lazy import contourpy
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real, real_matrix, real_vector

__all__ = ["Boundary", "Hyperplane", "LevelSet", "Quadric"]

#: Radii that differ by less than this share are equal, and a size of less than this share is 0:
#: they are made of products of means and precisions, whose terms cancel.
_ALIKE = 1e-10


class Boundary(ABC):
    """The points where a function is 0; two classes have a side each."""

    @abstractmethod
    def value(self, x: Any) -> Array:
        """Return the function at points (..., D), positive on the side of the second class."""

    def contour(self, between: Any, size: int = 200) -> list[Array]:
        """Return the boundary in the plane as polygonal lines, each (M, 2).

        Parameters
        ----------
        between : ((low, high), (low, high))
            The box to look into.
        size : int
            Lines of the grid in each direction: parts that are smaller than its cells may be missed.

        Notes
        -----
        Corners of the lines lie on the boundary to rounding: they are bisected along the edges of the
        grid.
        """
        (left, right), (bottom, top) = np.asarray(between, dtype=np.float64)
        x, y = np.linspace(left, right, size), np.linspace(bottom, top, size)
        z = self.value(np.stack(np.meshgrid(x, y), axis=-1))
        lines: Any = contourpy.contour_generator(x, y, z, name="serial").lines(0.0)
        return [_settle(self.value, np.asarray(line), (x, y)) for line in lines]


@dataclass(frozen=True, eq=False)
class LevelSet(Boundary):
    """The points where a function of rows is 0.

    Parameters
    ----------
    function : callable
        Takes rows (N, D) and returns numbers (N,).
    n_features : int
        D.

    Examples
    --------
    >>> circle = LevelSet(lambda x: (x**2).sum(axis=1) - 1.0, 2)
    >>> (line,) = circle.contour(((-2, 2), (-2, 2)))
    >>> bool(np.allclose(np.linalg.norm(line, axis=1), 1.0, rtol=0, atol=1e-12))
    True
    """

    function: Callable[[Array], Array]
    n_features: int

    def value(self, x: Any) -> Array:
        """Return the function at points (..., D)."""
        points = np.asarray(real("x", x))
        if points.shape[-1:] != (self.n_features,):
            raise ValueError(f"x must hold points of {self.n_features} numbers, got {points.shape}")
        return np.asarray(self.function(points.reshape(-1, self.n_features))).reshape(
            points.shape[:-1]
        )


@dataclass(frozen=True, eq=False)
class Hyperplane(Boundary):
    """The points with w·x + b = 0; the side with w·x + b > 0 is the positive one.

    Parameters
    ----------
    weights : array (D,)
        Normal vector w, not 0.
    bias : float

    Examples
    --------
    >>> plane = Hyperplane([3.0, 4.0], -5.0)
    >>> plane.signed_distance([[3.0, 4.0], [0.0, 0.0]]), plane.offset
    (array([ 4., -1.]), 1.0)
    >>> plane.project([3.0, 4.0])
    array([0.6, 0.8])
    """

    weights: Any
    bias: Any

    def __post_init__(self) -> None:
        weights = real_vector("weights", self.weights)
        if not weights.any():
            raise ValueError("weights must not all be 0: they are the normal of the hyperplane")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "bias", float(real("bias", self.bias)))

    def value(self, x: Any) -> Array:
        """Return w·x + b of points (..., D)."""
        return real("x", x) @ self.weights + self.bias

    def signed_distance(self, x: Any) -> Array:
        """Return (w·x + b)/‖w‖ of points (..., D), positive on the side that w points to."""
        return self.value(x) / np.linalg.norm(self.weights)

    def project(self, x: Any) -> Array:
        """Return the nearest points of the hyperplane, x − r w/‖w‖."""
        unit = self.weights / np.linalg.norm(self.weights)
        return real("x", x) - self.signed_distance(x)[..., None] * unit

    @property
    def offset(self) -> float:
        """Distance of the hyperplane from the origin along w, −b/‖w‖."""
        return -self.bias / float(np.linalg.norm(self.weights))

    def margins(self, X: Any, y: Any) -> Array:
        """Return the signed distances of rows to the side where they belong, y (w·x + b)/‖w‖, (N,).

        Parameters
        ----------
        X : (N, D)
        y : (N,)
            +1 on the side that w points to, −1 on the other.
        """
        signs = np.asarray(y, dtype=np.float64)
        if not np.isin(signs, (-1.0, 1.0)).all():
            wrong = signs[~np.isin(signs, (-1.0, 1.0))][0]
            raise ValueError(f"y must hold −1 and +1, got {wrong:g}; write the classes as sides")
        return signs * self.signed_distance(X)

    def canonical(self, X: Any) -> Hyperplane:
        """Return the same hyperplane in units in which the nearest row has |w·x + b| = 1.

        Then 1/‖w‖ is the distance of that row.

        Examples
        --------
        >>> Hyperplane([2.0], 0.0).canonical([[4.0], [-1.0]])
        Hyperplane(weights=array([1.]), bias=0.0)
        """
        least = float(np.abs(self.value(X)).min())
        if least == 0:
            raise ValueError("X has a row on the hyperplane: no unit makes its distance 1")
        return Hyperplane(self.weights / least, self.bias / least)

    def solve_for(self, column: int, x: Any) -> Array:
        """Return the coordinate ``column`` of points on the hyperplane, given the others (..., D − 1)."""
        rest = np.delete(self.weights, column)
        if self.weights[column] == 0:
            raise ValueError(f"the hyperplane is parallel to column {column}")
        return -(real("x", x) @ rest + self.bias) / self.weights[column]


@dataclass(frozen=True, eq=False)
class Quadric(Boundary):
    """The points with xᵀAx + b·x + c = 0.

    Parameters
    ----------
    matrix : array (D, D)
        Symmetric A.
    weights : array (D,)
    bias : float

    Examples
    --------
    >>> Quadric([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], -4.0).kind
    'circle'
    """

    matrix: Any
    weights: Any
    bias: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", real_matrix("matrix", self.matrix))
        object.__setattr__(self, "weights", real_vector("weights", self.weights))
        object.__setattr__(self, "bias", float(real("bias", self.bias)))

    def value(self, x: Any) -> Array:
        """Return xᵀAx + b·x + c of points (..., D)."""
        points = real("x", x)
        square = np.einsum("...i,ij,...j->...", points, self.matrix, points)
        return square + points @ self.weights + self.bias

    @property
    def kind(self) -> str:
        """What the set is: "ellipse", "circle", "hyperbola", "parabola", "degenerate" or "empty".

        In more dimensions the names stand for ellipsoid, sphere, hyperboloid and paraboloid.
        Degenerate are points, pairs of lines, and cylinders.
        """
        values, axes = np.linalg.eigh(self.matrix)
        size = np.abs(values).max(initial=0.0)
        flat = ~exceeds_rounding(np.abs(values), size)
        slope = axes.T @ self.weights
        if flat.all():
            return "degenerate"
        if flat.any():
            tilted = np.abs(slope[flat]).max() > _ALIKE * max(np.abs(slope).max(), size)
            return "parabola" if tilted and flat.sum() == 1 else "degenerate"
        # about its centre −A⁻¹b/2 the quadric is zᵀAz = level
        level = 0.25 * float(np.sum(slope**2 / values)) - self.bias
        scale = 0.25 * float(np.sum(slope**2 / np.abs(values))) + abs(self.bias)
        if abs(level) <= _ALIKE * scale:
            return "degenerate"
        signs = values * level > 0
        if signs.all():
            return "circle" if np.ptp(values) <= _ALIKE * size else "ellipse"
        return "hyperbola" if signs.any() else "empty"


def _settle(value: Callable[[Any], Array], line: Array, grid: tuple[Array, Array]) -> Array:
    """Move corners of a contour, each on an edge of the grid, to where the function is 0."""
    inside = [
        np.clip(np.searchsorted(g, v) - 1, 0, len(g) - 2) for g, v in zip(grid, line.T, strict=True)
    ]
    off = [
        np.minimum(np.abs(v - g[i]), np.abs(v - g[i + 1])) / (g[1] - g[0])
        for g, v, i in zip(grid, line.T, inside, strict=True)
    ]
    axis = (off[1] > off[0]).astype(np.intp)  # along which the corner may move
    low, high = line.copy(), line.copy()
    for k in (0, 1):
        mine = axis == k
        low[mine, k], high[mine, k] = grid[k][inside[k][mine]], grid[k][inside[k][mine] + 1]
    below = value(low) > 0
    crossing = below != (value(high) > 0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        same = (value(middle) > 0) == below
        low[same], high[~same] = middle[same], middle[~same]
    settled = line.copy()
    settled[crossing] = 0.5 * (low + high)[crossing]
    return settled
