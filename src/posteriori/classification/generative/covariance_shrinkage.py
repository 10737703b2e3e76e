r"""How far to shrink a covariance towards its diagonal: as much as its correlations are noise.

With correlations :math:`r_{ij}` of N rows, the weight of the diagonal with the least expected squared
error is

.. math:: \lambda = \frac{\sum_{i\ne j}\operatorname{Var}(r_{ij})}{\sum_{i\ne j} r_{ij}^2},
   \qquad \operatorname{Var}(r_{ij}) \approx \frac1{N^2}\sum_n (z_{ni}z_{nj} - r_{ij})^2.

Reference: O. Ledoit & M. Wolf, "A well-conditioned estimator for large-dimensional covariance
matrices", 2004; for this target J. Schäfer & K. Strimmer, "A shrinkage approach to large-scale
covariance matrix estimation", 2005.
"""

from __future__ import annotations

import numpy as np

from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.inference.classes.class_moments import blocks_of_rows
from posteriori.numerics.types import Array

__all__ = ["least_error_shrinkage", "shrink"]


def shrink(cov: Array, share: Array, spare: Array) -> Array:
    """Return (1 − λ) C + λ diag(C) of matrices (G, D, D).

    Parameters
    ----------
    cov : (G, D, D)
    share : (G,)
        λ of each.
    spare : (D,)
        Variances that take the place of those that are 0 on the diagonal towards which is shrunk.
    """
    variance = np.diagonal(cov, axis1=1, axis2=2)
    target = np.where(variance > 1e-24 * spare, variance, spare)[:, :, None] * np.eye(cov.shape[1])
    weight = share[:, None, None]
    return (1.0 - weight) * cov + weight * target


def least_error_shrinkage(rows: LabelledRows, means: Array, cov: Array) -> Array:
    """Return λ (G,) of covariances about the class means: one for each class, or one for all.

    The diagonal counts as one row at least, for the noise of two rows cannot be seen.

    Parameters
    ----------
    rows : LabelledRows
    means : (K, D)
    cov : (G, D, D)
        Of the rows of each class, or of all (G = 1).

    Notes
    -----
    One pass, O(N D).
    """
    scale = np.sqrt(np.diagonal(cov, axis1=1, axis2=2))
    scale = np.where(scale > 0, scale, 1.0)
    groups = rows.codes if len(cov) > 1 else np.zeros_like(rows.codes)
    weight = np.ones(len(groups)) if rows.frequency is None else rows.frequency
    products = np.zeros(len(cov))  # Σ_n Σ_{i≠j} (z_ni z_nj)²
    for here in blocks_of_rows(rows.x):
        z = (rows.x[here] - means[rows.codes[here]]) / scale[groups[here]]
        square = z * z
        crossed = square.sum(axis=1) ** 2 - (square * square).sum(axis=1)
        products += np.bincount(groups[here], weight[here] * crossed, minlength=len(cov))
    n = np.bincount(groups, weight, minlength=len(cov))
    correlation = cov / (scale[:, :, None] * scale[:, None, :])
    signal = (correlation**2).sum(axis=(1, 2)) - (
        np.diagonal(correlation, axis1=1, axis2=2) ** 2
    ).sum(axis=1)
    noise = (products / n - signal) / n
    share = np.where(signal > 0, noise / np.where(signal > 0, signal, 1.0), 1.0)
    return np.clip(share, 1.0 / (n + 1.0), 1.0)
