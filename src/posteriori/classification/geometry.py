r"""Boundaries between two classes as objects: hyperplanes and quadrics.

.. math:: w\cdot x + b = 0, \qquad x^\top A x + b\cdot x + c = 0.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 4.1.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posteriori.numerics.types import Array
from posteriori.numerics.validation import real, real_matrix, real_vector

__all__ = ["Hyperplane", "Quadric"]

#: Eigenvalues that are rounding beside the largest.
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class Hyperplane:
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

    def solve_for(self, column: int, x: Any) -> Array:
        """Return the coordinate ``column`` of points on the hyperplane, given the others (..., D − 1)."""
        rest = np.delete(self.weights, column)
        if self.weights[column] == 0:
            raise ValueError(f"the hyperplane is parallel to column {column}")
        return -(real("x", x) @ rest + self.bias) / self.weights[column]


@dataclass(frozen=True, eq=False)
class Quadric:
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
        flat = np.abs(values) <= _ROUNDING * size
        slope = axes.T @ self.weights
        if flat.all():
            return "degenerate"
        if flat.any():
            tilted = np.abs(slope[flat]).max() > _ROUNDING * max(np.abs(slope).max(), size)
            return "parabola" if tilted and flat.sum() == 1 else "degenerate"
        # about its centre −A⁻¹b/2 the quadric is zᵀAz = level
        level = 0.25 * float(np.sum(slope**2 / values)) - self.bias
        scale = 0.25 * float(np.sum(slope**2 / np.abs(values))) + abs(self.bias)
        if abs(level) <= _ROUNDING * scale:
            return "degenerate"
        signs = values * level > 0
        if signs.all():
            return "circle" if np.ptp(values) <= _ROUNDING * size else "ellipse"
        return "hyperbola" if signs.any() else "empty"
