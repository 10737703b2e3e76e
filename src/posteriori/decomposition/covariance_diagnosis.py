r"""Whether rows are enough for a covariance: its rank, its condition, and what helps.

N rows span N − 1 directions at most about their mean, so that full rank needs N ≥ D + 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.decomposition.moment_stream import MomentStream
from posteriori.decomposition.spectra import moments_spectrum
from posteriori.numerics.validation import real

__all__ = ["CovarianceReport", "covariance_report", "pca_fisher_parameters"]

#: With fewer rows for each column, the inverse errs by more than half: its expectation is
#: N/(N − D − 2) times the right one, which is 1.5 there.
_ROWS_PER_COLUMN = 3

#: Beyond this condition, half of the digits of an inverse are lost.
_ILL = 1e8


class CovarianceReport(NamedTuple):
    """How far a covariance of rows can be trusted, and inverted.

    Attributes
    ----------
    n_samples, n_features : int
    rank : int
        Directions in which rows vary beyond rounding.
    condition : float
        Largest over smallest eigenvalue; infinite where the covariance is singular.
    verdict : {"singular", "ill-conditioned", "few rows", "sound"}
    remedy : str
        Empty where none is needed.
    """

    n_samples: int
    n_features: int
    rank: int
    condition: float
    verdict: str
    remedy: str


def covariance_report(X: ArrayLike) -> CovarianceReport:
    """Look whether rows (N, D) determine a covariance and its inverse.

    Examples
    --------
    >>> found = covariance_report(np.random.default_rng(0).normal(size=(5, 8)))
    >>> found.rank, found.verdict
    (4, 'singular')
    """
    x = np.atleast_2d(np.asarray(real("X", X)))
    n, d = x.shape
    stream = MomentStream.of(x)
    found = moments_spectrum(stream.moments)
    rank = found.rank(stream.mean)
    condition = float(found.values[0] / found.values[-1]) if rank == d else np.inf
    if rank < d:
        return CovarianceReport(n, d, rank, np.inf, "singular", _singular(n, d, rank))
    if condition > _ILL:
        remedy = "scale the columns to like spread, drop repeated ones, or reduce them with PCA"
        return CovarianceReport(n, d, rank, condition, "ill-conditioned", remedy)
    if n < _ROWS_PER_COLUMN * d:
        remedy = f"shrink it (shrinkage_covariance), or reduce the {d} columns with PCA"
        return CovarianceReport(n, d, rank, condition, "few rows", remedy)
    return CovarianceReport(n, d, rank, condition, "sound", "")


def pca_fisher_parameters(d: int, k: int) -> int:
    """Count the parameters of a Fisher discriminant on k principal components of d columns.

    k d for the components, k² for the covariance of scores, 2 k for the means of two classes, and 1 for
    the threshold.

    Examples
    --------
    >>> pca_fisher_parameters(100, 5), pca_fisher_parameters(100, 100)
    (536, 20201)
    """
    if not 1 <= k <= d:
        raise ValueError(f"k must be between 1 and d={d}, got {k}")
    return k * d + k * k + 2 * k + 1


def _singular(n: int, d: int, rank: int) -> str:
    if n <= d:
        return f"give at least {d + 1} rows, reduce to {rank} columns with PCA, or shrink it"
    return f"columns depend on one another or are constant: reduce them to {rank} with PCA"
