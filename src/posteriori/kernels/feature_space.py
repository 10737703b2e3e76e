r"""Geometry in the space of features, of which the kernel alone is known.

Every scalar product there is a value of the kernel, so distances are too:

.. math:: \|\phi(x) - \phi(z)\|^2 = k(x, x) - 2k(x, z) + k(z, z), \qquad
   \|\phi(x) - m\|^2 = k(x, x) - \tfrac2N\sum_n k(x, x_n) + \tfrac1{N^2}\sum_{nm} k(x_n, x_m)

with the mean :math:`m = \tfrac1N\sum_n\phi(x_n)`, about which :func:`center_gram` moves a Gram matrix.

Reference: B. Schölkopf & A. Smola, "Learning with kernels", 2002, §1.2 and §14.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.kernels.kernel import Kernel
from posteriori.numerics.blocks.block_sizes import IN_MEMORY, rows_per_block
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real, real_matrix

__all__ = [
    "FeatureMean",
    "center_gram",
    "distance_to_mean",
    "feature_mean",
    "kernel_distance",
]


class FeatureMean(NamedTuple):
    """The mean of points in feature space.

    Attributes
    ----------
    kernel : Kernel
    points : (N, D)
    square : float
        Its squared length, the mean of the Gram matrix.
    """

    kernel: Kernel
    points: Array
    square: float

    def squared_distances(self, X: Any) -> Array:
        """Return ‖φ(x) − m‖² of points (M, D), (M,)."""
        own = self.kernel.diagonal(X)
        across = np.empty(len(own))
        step = rows_per_block(len(self.points), IN_MEMORY)
        for first in range(0, len(own), step):
            part = slice(first, first + step)
            across[part] = self.kernel(X[part], self.points).mean(axis=1)
        return np.maximum(own - 2.0 * across + self.square, 0.0)


def feature_mean(kernel: Kernel, X: Any) -> FeatureMean:
    """Return the mean of points (N, D) in feature space; costs N² values of the kernel."""
    points = np.asarray(X, dtype=np.float64)
    return FeatureMean(kernel, points, float(kernel(points).mean()))


def center_gram(gram: Any, cross: Any = None) -> Array:
    r"""Return a Gram matrix as if the mean of its points were the origin of feature space.

    .. math:: \tilde K = K - \mathbf 1K - K\mathbf 1 + \mathbf 1K\mathbf 1,\qquad
       \tilde C = C - \mathbf 1K - C\mathbf 1 + \mathbf 1K\mathbf 1,

    where each :math:`\mathbf 1` is a matrix of entries 1/N.

    Parameters
    ----------
    gram : (N, N)
        K of the points whose mean is the origin.
    cross : (M, N), optional
        C between new points and these: then C̃ is returned, about the same origin.

    Returns
    -------
    array (N, N) or (M, N)

    Examples
    --------
    >>> center_gram([[1.0, 2.0], [2.0, 4.0]])  # of the points 1 and 2
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    >>> center_gram([[1.0, 2.0], [2.0, 4.0]], cross=[[4.0, 8.0]])  # and 4, 2.5 above their mean
    array([[-1.25,  1.25]])
    """
    k = real_matrix("gram", gram)
    means = k.mean(axis=0)
    c = k if cross is None else np.asarray(real("cross", cross))
    if c.ndim != 2 or c.shape[1] != len(k):
        raise ValueError(
            f"cross must have shape (M, {len(k)}), a column for each point of gram, got {c.shape}"
        )
    return c - c.mean(axis=1)[:, None] - (means - means.mean())


def kernel_distance(kernel: Kernel, X: Any, Z: Any = None) -> Array:
    """Return ‖φ(xₙ) − φ(z_m)‖, (N, M), or the distances among points X, (N, N).

    Distances below the root of rounding, 1e-8 of the lengths, have no digits: squares cancel.

    Examples
    --------
    >>> from posteriori.kernels import RBF, Linear
    >>> kernel_distance(Linear(), [[0.0, 0.0]], [[3.0, 4.0]])
    array([[5.]])
    >>> kernel_distance(RBF(), [[0.0]], [[100.0]]).round(6)  # no farther than √2
    array([[1.414214]])
    """
    across = kernel(X, Z)
    if Z is None:
        left = right = np.diagonal(across)
    else:
        left, right = kernel.diagonal(X), kernel.diagonal(Z)
    return np.sqrt(np.maximum(left[:, None] - 2.0 * across + right, 0.0))


def distance_to_mean(kernel: Kernel, X: Any, Z: Any = None) -> Array:
    """Return how far points lie from the mean of X in feature space: a score of novelty.

    Parameters
    ----------
    kernel : Kernel
    X : (N, D)
        Whose mean it is.
    Z : (M, D), optional
        Whose distances are asked for; by default X.

    Returns
    -------
    array (M,)

    Examples
    --------
    >>> from posteriori.kernels import Linear
    >>> distance_to_mean(Linear(), [[0.0], [2.0]], [[1.0], [4.0]])
    array([0., 3.])
    """
    asked = np.asarray(X if Z is None else Z, dtype=np.float64)
    return np.sqrt(feature_mean(kernel, X).squared_distances(asked))
