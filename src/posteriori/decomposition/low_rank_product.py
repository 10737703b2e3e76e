r"""A table as a product of two thin ones, :math:`X \approx AB`, of least :math:`|X - AB|_F`.

The best one keeps the k largest singular values, and errs by the root of the sum of squares of the
others (Eckart & Young 1936).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.decomposition.spectra import with_positive_peaks
from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = ["LowRank", "low_rank", "norm_scores"]


class LowRank(NamedTuple):
    """Two factors of a table (N, D).

    Attributes
    ----------
    left : (N, k)
    right : (k, D)
        Orthonormal rows, the largest entry of each positive.
    error : float
        |X − left right|_F.
    ratio : float
        Numbers that both factors hold, relative to those of the table, k (N + D)/(N D).
    """

    left: Array
    right: Array
    error: float
    ratio: float


def low_rank(X: ArrayLike, k: int) -> LowRank:
    """Return the nearest table of rank k, as a product. Rows are not centred.

    Parameters
    ----------
    X : (N, D)
    k : int
        Between 1 and min(N, D), where it errs by nothing.

    Examples
    --------
    >>> found = low_rank([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], 1)
    >>> (found.left @ found.right).round(12)
    array([[1., 2.],
           [2., 4.],
           [3., 6.]])
    >>> round(found.error, 12), found.ratio  # of so small a table nothing is saved
    (0.0, 0.8333333333333334)
    """
    x = np.asarray(real("X", X))
    if x.ndim != 2 or not 1 <= k <= min(x.shape):
        raise ValueError(f"k must be between 1 and the smaller side of X, {x.shape}, got {k}")
    _, roots, turned = scipy_linalg.svd(x, full_matrices=False)
    right = with_positive_peaks(turned[:k])
    error = float(np.sqrt(np.sum(roots[k:] ** 2)))
    return LowRank(x @ right.T, right, error, k * sum(x.shape) / x.size)


def norm_scores(X: ArrayLike) -> Array:
    """Reduce each row to its length, (N,): a baseline that takes orthogonal points for one.

    Examples
    --------
    >>> norm_scores([[0.0, 1.0], [1.0, 0.0]])
    array([1., 1.])
    """
    return np.linalg.norm(np.atleast_2d(np.asarray(real("X", X))), axis=1)
