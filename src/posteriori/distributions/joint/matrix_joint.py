"""What the joint families with a matrix Λ share beyond the laws of all of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.joint.joint_family import JointFamily, vector_size
from posteriori.distributions.joint.joint_parts import NumberStrength
from posteriori.distributions.vectors.wishart import Wishart, check_dof
from posteriori.numerics.linalg import outer, symmetrize
from posteriori.numerics.types import Array
from posteriori.numerics.validation import (
    positive,
    positive_definite,
    real_vector,
    require_same_size,
)

__all__ = ["MatrixJoint", "WishartSpread"]


class MatrixJoint(NumberStrength):
    """A vector μ with a matrix Λ, and one number κ for K."""

    _event_ndims = (1, 2)
    _natural_ndims = (0, 2, 1, 0)
    _shown = ("location", "mean_strength=", "dof=", "scale=")

    def __new__(cls, mean: Any, mean_strength: Any, dof: Any, scale: Any) -> Self:
        """Check location m, strength κ, degrees of freedom and scale."""
        centre, matrix = real_vector("mean", mean), positive_definite("scale", scale)
        require_same_size(centre, matrix, "scale")
        return cls._from(
            location=centre,
            mean_strength=positive("mean_strength", mean_strength),
            dof=check_dof(dof, matrix),
            scale=matrix,
        )

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


class WishartSpread(JointFamily):
    """Joint families of a mean and a precision Λ ~ Wishart(ν, V)."""

    _spread_family = Wishart
    _sign = 1.0

    @cached_property
    def dof(self) -> Array:
        """Degrees of freedom ν of the precision."""
        self._require_proper("dof")
        return self.marginal_precision().dof

    @cached_property
    def scale(self) -> Array:
        """Scale V of the precision."""
        return self.marginal_precision().scale

    @cached_property
    def inverse_scale(self) -> Array:
        """Inverse scale V⁻¹ of the precision."""
        return self.marginal_precision().inverse_scale

    def marginal_precision(self) -> Wishart:
        """Return Wishart(ν, V), the distribution of Λ."""
        marginal: Wishart = self._spread
        return marginal
