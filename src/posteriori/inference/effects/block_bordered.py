r"""Symmetric matrices with a corner of small blocks: every level has as many effects as predictors.

With :math:`D_l = R_lR_l^T` of the blocks, coordinates :math:`R_l^Tu_l` have a corner of ones:

.. math:: A = \begin{pmatrix} C & B^T \\ B & \mathrm{blocks}(D)\end{pmatrix}
          = T\begin{pmatrix} C & W^T \\ W & I\end{pmatrix}T^T,\qquad W_l = R_l^{-1}B_l,\quad
          T = \mathrm{blocks}(I, R_1, \dots, R_L),

which a :class:`Bordered` matrix solves. For M predictors, L levels and a core of Q all costs
O(L M Q² + L M³ + Q³).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from posteriori.inference.effects.bordered import Bordered, BorderedFactor
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.types import Array

__all__ = ["BlockBordered", "BlockBorderedFactor"]


@dataclass(frozen=True)
class BlockBordered:
    """The matrix A; coordinates of the core come first, then the blocks one after the other.

    Attributes
    ----------
    core : (Q, Q)
    border : (L, M, Q)
    corner : (L, M, M)
    """

    core: Array
    border: Array
    corner: Array

    @property
    def diagonal(self) -> Array:
        """Of the whole matrix, (Q + L M,)."""
        inner = np.diagonal(self.corner, axis1=1, axis2=2)
        return np.concatenate([np.diagonal(self.core), inner.ravel()])

    def plus(self, diagonal: Array) -> BlockBordered:
        """Return A + diag(diagonal)."""
        q, places = len(self.core), np.arange(self.corner.shape[1])
        corner = self.corner.copy()
        corner[:, places, places] += diagonal[q:].reshape(corner.shape[:2])
        return replace(self, core=self.core + np.diag(diagonal[:q]), corner=corner)

    def dense(self) -> Array:
        """Return the matrix written out, (Q + L M, Q + L M)."""
        n_blocks, m, q = self.border.shape
        corner = np.zeros((n_blocks, m, n_blocks, m))
        corner[np.arange(n_blocks), :, np.arange(n_blocks)] = self.corner
        size = n_blocks * m
        border = self.border.reshape(size, q)
        return np.block([[self.core, border.T], [border, corner.reshape(size, size)]])

    def factorize(self) -> BlockBorderedFactor:
        """Return what solves equations with the matrix.

        Raises
        ------
        numpy.linalg.LinAlgError
            When it is not positive definite.
        """
        unit = triangular_inverse(np.linalg.cholesky(self.corner))
        border = (unit @ self.border).reshape(unit.shape[0] * unit.shape[1], len(self.core))
        whole = Bordered(self.core, border, np.ones(len(border)))
        return BlockBorderedFactor(whole.factorize(), unit)


@dataclass(frozen=True)
class BlockBorderedFactor:
    """A matrix of this form, factorised.

    Attributes
    ----------
    whole : BorderedFactor
        Of the matrix whose corner is the identity.
    unit : (L, M, M)
        R⁻¹ of the blocks.
    """

    whole: BorderedFactor
    unit: Array

    def solve(self, right: Array) -> Array:
        """Return A⁻¹ r of vectors (Q + L M,) or (Q + L M, R)."""
        columns, q = right.reshape(len(right), -1), len(self.whole.root)
        solved = self.whole.solve(np.concatenate([columns[:q], self._times(columns[q:])]))
        return np.concatenate([solved[:q], self.unwhiten(solved[q:])]).reshape(right.shape)

    def unwhiten(self, corner: Array) -> Array:
        """Return R⁻ᵀ of coordinates (L M, R) in which the corner is the identity."""
        blocks = corner.reshape(*self.unit.shape[:2], corner.shape[1])
        return np.asarray((self.unit.swapaxes(1, 2) @ blocks).reshape(corner.shape))

    def _times(self, corner: Array) -> Array:
        blocks = corner.reshape(*self.unit.shape[:2], corner.shape[1])
        return np.asarray((self.unit @ blocks).reshape(corner.shape))

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        """Draw from N(0, A⁻¹), (S, Q + L M)."""
        whole = self.whole
        core = rng.standard_normal((size, len(whole.root))) @ triangular_inverse(whole.root)
        corner = rng.standard_normal((len(whole.corner), size)) - whole.shares @ core.T
        return np.concatenate([core, self.unwhiten(corner).T], axis=1)

    @property
    def log_det(self) -> float:
        """Return ln|A|."""
        inner = np.diagonal(self.unit, axis1=1, axis2=2)
        return self.whole.log_det - 2.0 * float(np.log(inner).sum())

    @property
    def core_cov(self) -> Array:
        """The covariance of the core where A is a precision, (Q, Q)."""
        return self.whole.core_cov

    @cached_property
    def core_covs(self) -> Array:
        """Covariances of the blocks with the core, (L, M, Q)."""
        shares = self.whole.shares
        return self.unwhiten(-shares @ self.core_cov).reshape(*self.unit.shape[:2], shares.shape[1])

    @cached_property
    def block_covs(self) -> Array:
        """Covariances of the blocks, (L, M, M)."""
        shares = self.unwhiten(self.whole.shares).reshape(self.core_covs.shape)
        own = self.unit.swapaxes(1, 2) @ self.unit
        return np.asarray(own - self.core_covs @ shares.swapaxes(1, 2))

    @cached_property
    def variances(self) -> Array:
        """Return the diagonal of A⁻¹, (Q + L M,)."""
        inner = np.diagonal(self.block_covs, axis1=1, axis2=2)
        return np.concatenate([np.diagonal(self.core_cov), inner.ravel()])
