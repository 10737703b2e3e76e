r"""Means of softmax probabilities, and of their products, over normal predictors.

The contrasts of a row are :math:`v\sim N(c, S)`, its classes have :math:`p = \mathrm{softmax}(Bv)`.
With :math:`v = c + Lz`, :math:`LL^T = S`, means are sums over nodes of z: products of those of one
dimension, or scattered points where these would be too many.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.predictors.product_nodes import FINE, Fineness, nodes_by_width
from posteriori.numerics.blocks.block_sizes import NODES, rows_per_block
from posteriori.numerics.types import Array

__all__ = [
    "SoftmaxMoments",
    "SoftmaxTilt",
    "SpreadNodes",
    "average_softmax",
    "contrasts",
    "known_moments",
    "softmax_with_log_sum",
    "tilt_softmax",
]

#: Two classes are as probable as each other, with opposite signs, this far off the real line.
_SINGULAR = float(np.pi / np.sqrt(2.0))


#: Exponentials of numbers up to this, and their products and inverses, are numbers.
_IN_RANGE = 300.0


class SoftmaxMoments(NamedTuple):
    """Means over the contrasts of rows.

    Attributes
    ----------
    log_sum : (N,)
        Of ln Σ_k exp(η_k).
    first : (N, K)
        Of p.
    second : (N, K, K), optional
        Of ppᵀ; where it is not given, the product of the means.
    """

    log_sum: Array
    first: Array
    second: Array | None = None

    def curvature(self) -> Array:
        """Return Bᵀ(diag⟨p⟩ − ⟨ppᵀ⟩)B, (N, K − 1, K − 1)."""
        p, second = self.first, self.second
        return _in_contrasts(p, p[:, :, None] * p[:, None, :] if second is None else second)


class SoftmaxTilt(NamedTuple):
    """ln Z = ln E[p_y] of rows, its slope in c, and minus its second derivative."""

    log_mass: Array
    slope: Array
    curvature: Array


def contrasts(classes: int) -> Array:
    """Return an orthonormal basis (K, K − 1) of the vectors that sum to 0.

    Examples
    --------
    >>> contrasts(2).round(4)
    array([[-0.7071],
           [ 0.7071]])
    """
    basis = np.zeros((classes, classes - 1))
    for j in range(1, classes):  # Helmert: class j against the mean of those before it
        basis[:j, j - 1] = -1.0 / np.sqrt(j * (j + 1))
        basis[j, j - 1] = np.sqrt(j / (j + 1))
    return basis


def softmax_with_log_sum(eta: Array) -> tuple[Array, Array]:
    """Return probabilities (N, K) and log normalisers (N,) of predictors."""
    highest = eta.max(axis=1)
    p = np.exp(eta - highest[:, None])
    total = p.sum(axis=1)
    p /= total[:, None]
    return p, highest + np.log(total)


def known_moments(centre: Array) -> SoftmaxMoments:
    """Return what the means are where the contrasts c (N, K − 1) are known."""
    p, log_sum = softmax_with_log_sum(centre @ contrasts(centre.shape[1] + 1).T)
    return SoftmaxMoments(log_sum, p)


class SpreadNodes:
    """Nodes for contrasts N(c, S) of rows, for any c.

    A row's nodes depend on nothing but its own spread, and continuously but for their number.

    Parameters
    ----------
    spread : (N, K − 1, K − 1)
        Covariances S, which may be singular.
    fineness : Fineness
    """

    def __init__(self, spread: Array, fineness: Fineness = FINE) -> None:
        root = _root(spread)
        self._basis = contrasts(spread.shape[1] + 1)
        self._arms = self._basis @ root
        std = np.sqrt((root**2).sum(axis=1))
        self._groups = list(nodes_by_width(std, _SINGULAR, fineness))

    def moments(self, centre: Array) -> SoftmaxMoments:
        """Return means at contrasts c (N, K − 1)."""
        n, k = len(centre), len(self._basis)
        log_sum, first, second = np.empty(n), np.empty((n, k)), np.empty((n, k, k))
        for rows, p, weights, logs in self.at(centre):
            log_sum[rows], first[rows] = logs @ weights, p @ weights
            p *= np.sqrt(weights)
            second[rows] = p @ p.swapaxes(1, 2)
        return SoftmaxMoments(log_sum, first, second)

    def at(self, centre: Array) -> Iterator[tuple[Any, Array, Array, Array]]:
        """Yield places of rows, p (n, K, Q), weights (Q,) and ln Σ exp η (n, Q)."""
        middle = centre @ self._basis.T
        for alike, z, halves in self._groups:
            weights = np.concatenate([halves, halves])
            size = rows_per_block(len(weights) * middle.shape[1], NODES)
            for start in range(0, len(alike), size):
                rows = alike[start : start + size]
                p, highest = _exponentials(middle[rows], self._arms[rows] @ z)
                total = p.sum(axis=1)
                p *= (1.0 / total)[:, None, :]
                yield rows, p, weights, highest + np.log(total)


def average_softmax(centre: Array, spread: Array) -> Array:
    """Return the means of p over contrasts N(c, S), (N, K).

    Parameters
    ----------
    centre : (N, K − 1)
    spread : (N, K − 1, K − 1)

    Examples
    --------
    >>> average_softmax(np.zeros((1, 2)), np.eye(2)[None]).round(9)
    array([[0.33333333, 0.33333333, 0.33333333]])
    """
    p = np.empty((len(centre), centre.shape[1] + 1))
    for rows, at, weights, _ in SpreadNodes(spread).at(centre):
        p[rows] = at @ weights
    return p


def tilt_softmax(centre: Array, spread: Array, codes: Any) -> SoftmaxTilt:
    r"""Return ln E[p_y] and its derivatives over contrasts N(c, S).

    With means :math:`\langle\cdot\rangle` under the density of v times p_y,

    .. math:: \nabla\ln Z = B^T(e_y - \langle p\rangle),\qquad
       -\nabla^2\ln Z = B^T(\mathrm{diag}\langle p\rangle - 2\langle pp^T\rangle
       + \langle p\rangle\langle p\rangle^T)B .

    Parameters
    ----------
    centre : (N, K − 1)
    spread : (N, K − 1, K − 1)
    codes : (N,)
        Class of each row, 0 to K − 1.
    """
    n, k = len(centre), centre.shape[1] + 1
    mass, first, second = np.empty(n), np.empty((n, k)), np.empty((n, k, k))
    for rows, p, weights, _ in SpreadNodes(spread).at(centre):
        tilted = p[np.arange(len(p)), codes[rows]] * weights
        mass[rows] = np.maximum(tilted.sum(axis=1), 1e-300)
        tilted /= mass[rows][:, None]
        first[rows] = (p @ tilted[:, :, None])[..., 0]
        second[rows] = (p * tilted[:, None, :]) @ p.swapaxes(1, 2)
    towards = -first
    towards[np.arange(n), codes] += 1.0
    both = 2.0 * second - first[:, :, None] * first[:, None, :]
    return SoftmaxTilt(np.log(mass), towards @ contrasts(k), _in_contrasts(first, both))


def _exponentials(middle: Array, turn: Array) -> tuple[Array, Array]:
    """Return exp(m ± t − a) of predictors m (n, K), t (n, K, Q), and a, (n, 1) or (n, 2Q).

    The exponentials of both signs are one another's inverse, but where they would be out of range.
    """
    n, k, q = turn.shape
    p, middle = np.empty((n, k, 2 * q)), middle[:, :, None]
    if turn.min() > -_IN_RANGE and turn.max() < _IN_RANGE:
        highest = middle.max(axis=1)
        level = np.exp(middle - highest[:, None])
        np.exp(turn, out=turn)
        np.multiply(level, turn, out=p[..., :q])
        np.divide(level, turn, out=p[..., q:])
        return p, highest
    np.add(middle, turn, out=p[..., :q])
    np.subtract(middle, turn, out=p[..., q:])
    highest = p.max(axis=1)
    p -= highest[:, None]
    return np.exp(p, out=p), highest


def _in_contrasts(first: Array, second: Array) -> Array:
    """Return Bᵀ(diag(first) − second)B, (N, K − 1, K − 1)."""
    basis = contrasts(first.shape[1])
    inner, diagonal = -second, np.arange(len(basis))
    inner[:, diagonal, diagonal] += first
    return basis.T @ inner @ basis


def _root(spread: Array) -> Array:
    """Return lower triangular roots of covariances, which may be singular."""
    size = np.trace(spread, axis1=1, axis2=2)
    return np.linalg.cholesky(
        spread + (1e-12 * size + 1e-300)[:, None, None] * np.eye(spread.shape[1])
    )
