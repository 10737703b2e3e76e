"""What the joint families of a vector of weights and one number share."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from posteriori.distributions.joint.joint_family import JointFamily, vector_size
from posteriori.distributions.vectors.cone import factor, is_positive_definite
from posteriori.numerics.linalg import inverse_from_factor, outer, triangular_inverse
from posteriori.numerics.special import relative_entropy_terms
from posteriori.numerics.types import Array
from posteriori.numerics.validation import positive_definite, real_vector, require_same_size

__all__ = ["VectorJoint"]


class VectorJoint(JointFamily):
    """A vector w with a number Λ, and a matrix for K."""

    _strength_name = "mean_precision"
    _event_ndims = (1, 0)
    _natural_ndims = (0, 0, 1, 2)

    @staticmethod
    def _check_weights(mean: Any, mean_precision: Any) -> dict[str, Array]:
        """Return location m and precision K of the weights as parameters."""
        location = real_vector("mean", mean)
        precision = positive_definite("mean_precision", mean_precision)
        require_same_size(location, precision, "mean_precision")
        return {"location": location, "mean_precision": precision}

    @cached_property
    def mean_precision(self) -> Array:
        """Precision K of the weights, in units of Λ."""
        self._require_proper("mean_precision")
        return self._strength

    @classmethod
    def _apply(cls, strength: Array, vector: Array) -> Array:
        return cast(Array, np.matmul(strength, vector[..., None])[..., 0])

    @classmethod
    def _divide(cls, strength: Array, vector: Array) -> Array:
        usable = np.asarray(cls._is_strength(strength))[..., None, None]
        safe = np.where(usable, strength, np.eye(strength.shape[-1]))
        return np.linalg.solve(safe, vector[..., None])[..., 0]

    @classmethod
    def _bilinear(cls, strength: Array, a: Array, b: Array) -> Array:
        return np.einsum("...i,...i->...", a, cls._apply(strength, b))

    @classmethod
    def _lift(cls, precision: Array, mean: Array) -> tuple[Array, Array]:
        weighted = precision[..., None] * mean
        return weighted, outer(weighted, mean)

    @classmethod
    def _lower(cls, precision: Array, weighted: Array) -> Array:
        return weighted / precision[..., None]

    @classmethod
    def _is_strength(cls, strength: Array) -> Any:
        return is_positive_definite(strength)

    @property
    def _copies(self) -> int:
        return self._size

    @property
    def _size(self) -> int:
        return vector_size(self)

    @cached_property
    def _log_det_strength(self) -> Array:
        return np.linalg.slogdet(self._strength)[1]

    @cached_property
    def _inverse_strength(self) -> Array:
        return inverse_from_factor(factor(self._strength))

    @classmethod
    def _strength_from(cls, inverse: Array, size: int) -> Array:
        spread = positive_definite("E[Λwwᵀ] less its value at the mean", inverse)
        return inverse_from_factor(factor(spread))

    def _strength_divergence(self, other: Self) -> Array:
        relative = np.swapaxes(factor(other._strength), -1, -2) @ self._coloring
        ratios = np.linalg.svd(relative, compute_uv=False) ** 2
        return relative_entropy_terms(1.0, ratios).sum(axis=-1)

    @cached_property
    def _coloring(self) -> Array:
        """C with C Cᵀ = Λ⁻¹."""
        return np.swapaxes(triangular_inverse(factor(self._strength)), -1, -2)

    def _colored(self, spread: Array, noise: Array) -> Array:
        precision = self._spread_family.sufficient(spread)[1]
        return self._apply(self._coloring, noise) / np.sqrt(precision)[..., None]
