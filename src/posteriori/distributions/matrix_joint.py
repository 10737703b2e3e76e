"""What the joint families of a mean vector and a matrix share beyond the laws of all of them."""

from __future__ import annotations

import numpy as np

from posteriori.distributions.joint import JointFamily, vector_size
from posteriori.numerics.linalg import outer, symmetrize
from posteriori.numerics.types import Array

__all__ = ["MatrixJoint"]


class MatrixJoint(JointFamily):
    """A vector μ with a matrix Λ, and one number κ for K."""

    _event_ndims = (1, 2)
    _natural_ndims = (0, 2, 1, 0)

    @classmethod
    def _apply(cls, strength: Array, vector: Array) -> Array:
        return strength[..., None] * vector

    @classmethod
    def _divide(cls, strength: Array, vector: Array) -> Array:
        return vector / strength[..., None]

    @classmethod
    def _bilinear(cls, strength: Array, a: Array, b: Array) -> Array:
        return symmetrize(strength[..., None, None] * outer(a, b))

    @classmethod
    def _lift(cls, precision: Array, mean: Array) -> tuple[Array, Array]:
        weighted = np.matmul(precision, mean[..., None])[..., 0]
        return weighted, np.einsum("...i,...i->...", weighted, mean)

    @classmethod
    def _lower(cls, precision: Array, weighted: Array) -> Array:
        return np.linalg.solve(precision, weighted[..., None])[..., 0]

    @property
    def _size(self) -> int:
        return vector_size(self)
