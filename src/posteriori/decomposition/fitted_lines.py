r"""Lines :math:`a + \mathbb R\,b`, the nearest point on one, and the line nearest to many points.

.. math:: z = (x - a)^\top b, \qquad x' = a + z\,b, \qquad |b| = 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posteriori.decomposition.spectra import row_spectrum
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = ["FittedLine", "fit_line", "residual_projector"]


class FittedLine:
    """A line through ``offset`` along ``direction``.

    Parameters
    ----------
    offset : (D,)
        A point of the line.
    direction : (D,)
        Not 0; it is kept with length 1.

    Examples
    --------
    >>> line = FittedLine([0.0, 1.0], [3.0, 4.0])
    >>> line.coordinate([3.0, 5.0]), line.project([4.0, 4.25]), line.distance([4.0, 4.25])
    (np.float64(5.0), array([3., 5.]), np.float64(1.25))
    """

    def __init__(self, offset: ArrayLike, direction: ArrayLike) -> None:
        self.offset = np.asarray(real("offset", offset))
        self.direction = _unit("direction", direction)
        if self.offset.shape != self.direction.shape:
            raise ValueError(
                f"offset and direction must have as many entries, got {self.offset.shape} and "
                f"{self.direction.shape}"
            )

    def point(self, coordinate: ArrayLike) -> Array:
        """Return a + z b for coordinates (...), (..., D)."""
        return self.offset + np.asarray(coordinate, dtype=np.float64)[..., None] * self.direction

    def coordinate(self, points: ArrayLike) -> Any:
        """Return z of the nearest point of the line, for points (..., D): (...)."""
        return (np.asarray(points, dtype=np.float64) - self.offset) @ self.direction

    def project(self, points: ArrayLike) -> Array:
        """Return the nearest points of the line, (..., D)."""
        return self.point(self.coordinate(points))

    def distance(self, points: ArrayLike) -> Any:
        """Return distances of points (..., D) from the line, (...)."""
        return np.linalg.norm(np.asarray(points, dtype=np.float64) - self.project(points), axis=-1)

    def __repr__(self) -> str:
        return f"FittedLine({self.offset.tolist()}, {self.direction.tolist()})"


def fit_line(X: ArrayLike) -> FittedLine:
    """Return the line of least squared distances: through the mean, along the first component.

    Parameters
    ----------
    X : (N, D)
        At least two different points.

    Examples
    --------
    >>> fit_line([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]]).direction.round(8)
    array([0.47918807, 0.87771225])
    """
    x = np.atleast_2d(np.asarray(real("X", X)))
    mean = x.mean(axis=0)
    found = row_spectrum(x, mean, gram=False)
    if found.rank(mean) == 0:
        raise ValueError("all points are equal: a line needs two that differ")
    return FittedLine(mean, found.vectors[0])


def residual_projector(direction: ArrayLike) -> Array:
    """Return I − bbᵀ for b along a direction: what it maps to is orthogonal to it.

    Examples
    --------
    >>> residual_projector([0.0, 2.0])
    array([[1., 0.],
           [0., 0.]])
    """
    b = _unit("direction", direction)
    return np.eye(len(b)) - np.outer(b, b)


def _unit(name: str, vector: ArrayLike) -> Array:
    v = np.asarray(real(name, vector))
    length = np.linalg.norm(v)
    if v.ndim != 1 or not (length > 0):
        raise ValueError(f"{name} must be a vector other than 0, got {v.tolist()}")
    return v / length
