r"""Triangles of kernel matrices: K = LLᵀ in place, and Σ W ∂K/∂ln θ from half of the pairs.

A matrix of N² numbers is made once; its lower triangle becomes L, then that of K⁻¹, and weights
:math:`W = CC^\top - qK^{-1}` are made of it block by block, never as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.kernels.kernel import Kernel
from posteriori.numerics.blocks.block_sizes import IN_CACHE, rows_per_block
from posteriori.numerics.blocks.memory import require_memory
from posteriori.numerics.lazy import lapack
from posteriori.numerics.linalg import cholesky_jittered, triangular_inverse
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.threads import share_rows
from posteriori.numerics.types import Array

__all__ = [
    "CovarianceFactor",
    "GramFactor",
    "extend_factor",
    "factor_gram",
    "lower_gram",
    "pull_lower",
]

#: Blocks of rows at least: of b blocks 1/b of the pairs is looked at in vain.
_LEAST_BLOCKS = 4

#: Pairs of points from which on a second thread pays.
_WORTH_THREADS = 1 << 17


class CovarianceFactor(Protocol):
    """A root of the inverse of a covariance: S of any height G >= N with SᵀS = K⁻¹."""

    @property
    def jitter(self) -> float:
        """What was added to the diagonal of K."""

    @property
    def log_det(self) -> float:
        """Logarithm of the determinant of K."""

    def half_solve(self, b: Array) -> Array:
        """Return Sb, (G, ·)."""

    def back_solve(self, b: Array) -> Array:
        """Return Sᵀb, (N, ·)."""

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of K⁻¹, (N,)."""


class GramFactor(NamedTuple):
    """K + jitter·I = LLᵀ.

    Attributes
    ----------
    lower : (N, N)
        L below and on the diagonal; what stands above is no part of it.
    jitter : float
        What was added to the diagonal, 0 where K was definite as it stood.
    """

    lower: Array
    jitter: float

    @property
    def log_det(self) -> float:
        """Logarithm of the determinant of K."""
        return 2.0 * float(np.log(self.lower.diagonal()).sum())

    def half_solve(self, b: Array) -> Array:
        """Return L⁻¹b, (N, ·)."""
        if not b.size:
            return np.array(b)
        return lapack.dtrtrs(self.lower.T, b, lower=0, trans=1)[0]

    def back_solve(self, b: Array) -> Array:
        """Return L⁻ᵀb, (N, ·)."""
        if not b.size:
            return np.array(b)
        return lapack.dtrtrs(self.lower.T, b, lower=0)[0]

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of K⁻¹, (N,)."""
        inverse = triangular_inverse(np.tril(self.lower))
        return np.einsum("nm,nm->m", inverse, inverse)

    def inverse_in_place(self) -> Array:
        """Return K⁻¹ below and on the diagonal, (N, N), where L was: L is lost."""
        upper, _ = lapack.dpotri(self.lower.T, lower=0, overwrite_c=1)
        return upper.T


def lower_gram(kernel: Kernel, X: Array, diagonal: Array) -> Array:
    """Return k(xₙ, x_m) below the diagonal and what is given on it, (N, N); finite numbers above.

    Raises
    ------
    MemoryError
        When free memory cannot hold it.
    """
    n = len(X)
    require_memory(
        f"a kernel matrix of {n} × {n} values",
        n * n,
        "use fewer rows, or SparseGaussianProcessRegressor",
    )
    gram = np.zeros((n, n))  # 0 above costs nothing, and numbers that were there could overflow

    def fill(rows: slice) -> None:
        gram[rows, : rows.stop] = kernel.evaluate(X[rows], X[: rows.stop])

    _share_triangle(fill, n)
    gram[np.diag_indices(n)] = diagonal
    return gram


def factor_gram(kernel: Kernel, X: Array, diagonal: Array) -> GramFactor:
    """Return L of the kernel matrix with a given diagonal, and the least jitter that makes it work.

    Raises
    ------
    ValueError
        When the matrix is not finite, or not positive definite beyond what rounding explains.
    """
    gram = lower_gram(kernel, X, diagonal)
    _, failed = lapack.dpotrf(gram.T, lower=0, clean=0, overwrite_a=1)
    if not failed and np.all(exceeds_rounding(gram.diagonal() ** 2, diagonal)):
        return GramFactor(gram, 0.0)
    del gram
    whole = lower_gram(kernel, X, diagonal)
    _mirror(whole)
    _refuse_unknown(kernel, whole)
    return GramFactor(*cholesky_jittered(whole))


def extend_factor(factor: GramFactor, kernel: Kernel, X: Array, diagonal: Array) -> GramFactor:
    """Return the factor with further points, in O(N²) for each of them.

    Parameters
    ----------
    factor : GramFactor
        Of the first points.
    kernel : Kernel
    X : (N, D)
        All points, the first ones first.
    diagonal : (N,)
        Of all.
    """
    old, n = len(factor.lower), len(X)
    across = factor.half_solve(kernel.evaluate(X[:old], X[old:]))  # B = L⁻¹K₁₂
    rest = kernel.evaluate(X[old:], X[old:])
    rest[np.diag_indices(n - old)] = diagonal[old:] + factor.jitter
    corner = cholesky_jittered(rest - across.T @ across)
    if corner.jitter:  # one jitter for all rows
        return factor_gram(kernel, X, diagonal)
    lower = np.zeros((n, n))
    lower[:old, :old] = factor.lower
    lower[old:, :old], lower[old:, old:] = across.T, corner.lower
    return GramFactor(lower, factor.jitter)


def pull_lower(kernel: Kernel, X: Array, C: Array, inverse: Array, q: float) -> Array:
    """Return Σ_{n≠m} Wₙₘ ∂k(xₙ, x_m)/∂ln θ for W = ½(CCᵀ − qK⁻¹), (P,).

    Parameters
    ----------
    kernel : Kernel
    X : (N, D)
    C : (N, R)
    inverse : (N, N)
        K⁻¹, of which the part below the diagonal is read.
    q : float
    """

    def add_up(rows: slice) -> Array:
        # half of the pairs, which count twice: ½ + ½
        block = C[rows] @ C[: rows.stop].T
        block -= q * inverse[rows, : rows.stop]
        block[:, rows.start :] = np.tril(block[:, rows.start :], -1)
        return kernel.traced(X[rows], X[: rows.stop]).pull(block)

    total: Array = sum(_share_triangle(add_up, len(X)), np.zeros(len(kernel.log_parameters)))
    return total


def _share_triangle(work: Callable[[slice], Any], n: int) -> list[Any]:
    """Return what a function says of blocks of rows, long and short rows shared evenly among threads."""
    step = min(rows_per_block(n, IN_CACHE), -(-n // _LEAST_BLOCKS) or 1)
    blocks = [slice(first, min(first + step, n)) for first in range(0, n, step)]
    pairs = [{i, len(blocks) - 1 - i} for i in range((len(blocks) + 1) // 2)]

    def run(some: slice) -> list[Any]:
        return [work(blocks[i]) for pair in pairs[some] for i in pair]

    parts = share_rows(run, len(pairs), 1 + n * n // _WORTH_THREADS)
    return [one for part in parts for one in part]


def _mirror(lower: Array) -> None:
    """Fill in what is above the diagonal."""
    for n in range(len(lower)):
        lower[n, n + 1 :] = lower[n + 1 :, n]


def _refuse_unknown(kernel: Kernel, gram: Array) -> None:
    if not np.isfinite(gram).all():
        n, m = np.argwhere(~np.isfinite(gram))[0]
        raise ValueError(
            f"{kernel!r} must return finite values, got {gram[n, m]} for points {n} and {m}"
        )
