r"""Symmetric matrices with a large diagonal corner: few coordinates meet many that do not meet.

.. math:: A = \begin{pmatrix} C & B^T \\ B & \mathrm{diag}(d)\end{pmatrix},\qquad
          S = C - B^T\mathrm{diag}(1/d)B,\qquad |A| = |S|\prod_l d_l

The precision of effects has this form: no row belongs to two levels of one category. Given the core
the coordinates of the corner are independent, so that all costs O(L K² + K³).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from posteriori.numerics.lazy import lapack
from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.types import Array

__all__ = ["Bordered", "BorderedFactor"]


@dataclass(frozen=True)
class Bordered:
    """The matrix A; coordinates of the core come first.

    Attributes
    ----------
    core : (K, K)
    border : (L, K)
    corner : (L,)
    """

    core: Array
    border: Array
    corner: Array

    @property
    def diagonal(self) -> Array:
        """Of the whole matrix, (K + L,)."""
        return np.concatenate([np.diagonal(self.core), self.corner])

    def plus(self, diagonal: Array) -> Bordered:
        """Return A + diag(diagonal)."""
        k = len(self.core)
        return replace(
            self, core=self.core + np.diag(diagonal[:k]), corner=self.corner + diagonal[k:]
        )

    def without(self, place: int) -> Bordered:
        """Return the matrix without one coordinate of the core."""
        kept = np.delete(np.arange(len(self.core)), place)
        return replace(self, core=self.core[np.ix_(kept, kept)], border=self.border[:, kept])

    def dense(self) -> Array:
        """Return the matrix written out, (K + L, K + L)."""
        return np.block([[self.core, self.border.T], [self.border, np.diag(self.corner)]])

    def factorize(self) -> BorderedFactor:
        """Return what solves equations with the matrix.

        Raises
        ------
        numpy.linalg.LinAlgError
            When it is not positive definite.
        """
        if not np.all(self.corner > 0):
            raise np.linalg.LinAlgError("a coordinate of the corner has no precision")
        shares = self.border / self.corner[:, None]
        return BorderedFactor(
            np.linalg.cholesky(self.core - self.border.T @ shares), shares, self.corner
        )


@dataclass(frozen=True)
class BorderedFactor:
    """A matrix of this form, factorised.

    As a precision it says: the core has the covariance S⁻¹, and given the core c the coordinate l of
    the corner has the mean −shares_l·c and the precision d_l.

    Attributes
    ----------
    root : (K, K)
        Lower Cholesky factor of S.
    shares : (L, K)
        diag(1/d) B.
    corner : (L,)
        d.
    """

    root: Array
    shares: Array
    corner: Array

    def solve(self, right: Array) -> Array:
        """Return A⁻¹ r of vectors (K + L,) or (K + L, R)."""
        k = len(self.root)
        columns = right.reshape(len(right), -1)
        inner = columns[:k] - self.shares.T @ columns[k:]
        core = lapack.dpotrs(self.root.T, inner)[0] if k else inner
        corner = columns[k:] / self.corner[:, None] - self.shares @ core
        return np.concatenate([core, corner]).reshape(right.shape)

    @property
    def log_det(self) -> float:
        """Return ln|A|."""
        roots = np.log(np.diagonal(self.root)).sum()
        return float(2.0 * roots + np.log(self.corner).sum())

    @cached_property
    def core_cov(self) -> Array:
        """S⁻¹, the covariance of the core, (K, K)."""
        return inverse_from_factor(self.root)

    @cached_property
    def variances(self) -> Array:
        """Return the diagonal of A⁻¹, (K + L,)."""
        return np.concatenate([np.diagonal(self.core_cov), 1.0 / self.corner + self._lent])

    @cached_property
    def _lent(self) -> Array:
        """What the corner's variances have from the core, (L,)."""
        return np.einsum("lk,lk->l", self.shares @ self.core_cov, self.shares)

    def traces(self, weights: Array) -> tuple[float, float]:
        """Return tr(ΛA⁻¹) and tr((ΛA⁻¹)²) for Λ = diag(weights), without making A⁻¹."""
        k = len(self.root)
        inside, outside, cov = weights[:k], weights[k:], self.core_cov
        across = self.shares @ cov
        square = inside @ cov**2 @ inside + 2.0 * outside @ across**2 @ inside
        seen = (self.shares * outside[:, None]).T @ self.shares @ cov
        own = outside / self.corner
        square += float((seen * seen.T).sum()) + own @ own + 2.0 * own @ (outside * self._lent)
        return float(weights @ self.variances), float(square)
