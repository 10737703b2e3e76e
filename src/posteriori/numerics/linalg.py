"""Linear algebra of covariances: Cholesky factors, triangular inverses, log determinants.

All functions work on stacks ``(..., D, D)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.blocks.block_sizes import ROWS_OF_ONE_THREAD
from posteriori.numerics.lazy import lapack
from posteriori.numerics.rank import factor_definite
from posteriori.numerics.types import Array

__all__ = [
    "CholeskyFactor",
    "cholesky_jittered",
    "explicit_inverse",
    "inverse_from_factor",
    "log_det_from_factor",
    "outer",
    "quadratic_form",
    "squared_distance",
    "symmetrize",
    "triangular_inverse",
    "weighted_gram",
]

#: Shares of the mean diagonal that are tried one after another.
_JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)

#: Stacks of more matrices than this, for each row of one, are inverted row by row of all at once.
#: For a thousand matrices of 2, 5 and 20 rows a call of LAPACK for each took 57, 7 and 1.1 times as
#: long; for ten of 3 rows it was as fast.
_STACK_PER_ROW = 8


class CholeskyFactor(NamedTuple):
    """A Cholesky factor and what was added to the diagonal to get it.

    Attributes
    ----------
    lower : (..., D, D)
        L with L Lᵀ = A + jitter · I.
    jitter : float
        Absolute amount added; 0.0 when the matrix was positive definite as it stood.
    """

    lower: Array
    jitter: float


def cholesky_jittered(a: Array) -> CholeskyFactor:
    """Factor a symmetric matrix, adding the least jitter of a fixed ladder that makes it work.

    The ladder is 0, 1e-14, …, 1e-6 times the mean diagonal. This is the one place where jitter
    is chosen, and the result says how much was used.

    Raises
    ------
    ValueError
        When the matrix is indefinite beyond what rounding explains.

    Examples
    --------
    >>> factor = cholesky_jittered(np.array([[1.0, 1.0], [1.0, 1.0]]))
    >>> factor.jitter > 0
    True
    """
    diagonal = np.diagonal(a, axis1=-2, axis2=-1)
    size = float(np.mean(np.abs(diagonal))) or 1.0
    identity = np.eye(a.shape[-1])
    for relative in _JITTERS:
        try:
            lower = factor_definite(a + (relative * size) * identity if relative else a)
        except np.linalg.LinAlgError:
            continue
        return CholeskyFactor(lower, relative * size)
    smallest = float(np.linalg.eigvalsh(a).min())
    raise ValueError(
        f"matrix is not positive definite: smallest eigenvalue {smallest:.6g}; "
        "check that it is a covariance, or add to its diagonal"
    )


def triangular_inverse(lower: Array) -> Array:
    """Return L⁻¹ for lower-triangular L."""
    if not lower.size:  # of no rows: LAPACK would complain on the terminal
        return np.array(lower)
    if lower.ndim == 2:
        inverse: Array = lapack.dtrtri(lower, lower=1)[0]
        return inverse
    if lower.size > _STACK_PER_ROW * lower.shape[-1] ** 3:
        return _substitute(lower)
    stacked = [lapack.dtrtri(block, lower=1)[0] for block in lower.reshape(-1, *lower.shape[-2:])]
    return np.asarray(stacked, dtype=np.float64).reshape(lower.shape)


def _substitute(lower: Array) -> Array:
    """Return the inverses of many triangular matrices, row i from the rows above it."""
    inverse = np.zeros_like(lower)
    for i in range(lower.shape[-1]):
        pivot = lower[..., i, i, None]
        above = lower[..., i : i + 1, :i] @ inverse[..., :i, :i]
        inverse[..., i, :i] = -above[..., 0, :] / pivot
        inverse[..., i, i] = 1.0 / pivot[..., 0]
    return inverse


def whiten_above_one(gram: Array) -> tuple[Array, float]:
    """Return W with WᵀW = (I + G)⁻¹, and ln |I + G|, of a semi-definite G (P, P) of any size.

    Where G is so large that I is lost in it, rounding may turn directions that it does not have negative:
    they count as 0.
    """
    try:
        lower = np.linalg.cholesky(np.eye(len(gram)) + gram)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(gram)
        above = 1.0 + np.maximum(values, 0.0)
        return vectors.T / np.sqrt(above)[:, None], float(np.log(above).sum())
    return triangular_inverse(lower), 2.0 * float(np.log(np.diagonal(lower)).sum())


def inverse_from_factor(lower: Array) -> Array:
    """Return (L Lᵀ)⁻¹ = L⁻ᵀ L⁻¹, symmetric to the last bit."""
    inverse = triangular_inverse(lower)
    return symmetrize(np.swapaxes(inverse, -1, -2) @ inverse)


def explicit_inverse(a: Array) -> Array:
    """Return A⁻¹, where the inverse itself is the answer or is used again and again.

    A covariance that was given as a precision, or the map back from a change of coordinates, is
    such an answer. To multiply by an inverse once, ``solve`` costs a third and keeps more digits;
    where a Cholesky factor is at hand, :func:`inverse_from_factor` does. This is the one place that
    inverts (a test sees to it), so that each use is a decision.
    """
    return np.linalg.inv(a)


def log_det_from_factor(lower: Array) -> Array:
    """Return log |L Lᵀ| = 2 Σ log Lᵢᵢ."""
    logs: Array = np.log(np.diagonal(lower, axis1=-2, axis2=-1))
    return 2.0 * logs.sum(axis=-1)


def symmetrize(a: Array) -> Array:
    """Return (A + Aᵀ)/2."""
    return 0.5 * (a + np.swapaxes(a, -1, -2))


def outer(a: Array, b: Array) -> Array:
    """Return a bᵀ on the last axes."""
    return a[..., :, None] * b[..., None, :]


def quadratic_form(a: Array, x: Array) -> Array:
    """Return xᵀ A x on the last axes."""
    return np.einsum("...i,...ij,...j->...", x, a, x)


def squared_distance(x: Array, mean: Array, whitening: Array) -> Array:
    """Return |B (x − m)|², the squared Mahalanobis distance, for BᵀB = Σ⁻¹.

    The rows of a long table pass through the cache block by block.
    """
    if whitening.ndim > 2 or mean.ndim > 1:
        z = np.matmul(whitening, (x - mean)[..., None])[..., 0]
        return np.einsum("...i,...i->...", z, z)
    turned = whitening.T
    if x.ndim == 1:
        z = (x - mean).dot(turned)
        return z.dot(z)
    if x.ndim > 2 or len(x) <= ROWS_OF_ONE_THREAD:
        z = (x - mean) @ turned
        return np.einsum("...i,...i->...", z, z)
    squares = np.empty(len(x))
    for first in range(0, len(x), ROWS_OF_ONE_THREAD):
        z = (x[first : first + ROWS_OF_ONE_THREAD] - mean) @ turned
        np.einsum("ni,ni->n", z, z, out=squares[first : first + ROWS_OF_ONE_THREAD])
    return squares


def weighted_gram(x: Array, weight: Array) -> Array:
    """Return Xᵀ diag(weight) X of (..., N, D); by half the work where no weight is negative."""
    if np.all(weight >= 0):
        scaled = x * np.sqrt(weight)[..., None]
        return np.swapaxes(scaled, -1, -2) @ scaled
    return np.swapaxes(x * weight[..., None], -1, -2) @ x
