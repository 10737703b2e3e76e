r"""Missing entries of columns that are independent given a class.

.. math:: p(x_d\mid \text{seen}) = \sum_k p(k\mid\text{seen})\,p_d(x_d\mid\theta_{kd}).
"""

from __future__ import annotations

import numpy as np

from posteriori.inference.classes.class_densities import ColumnwiseClasses
from posteriori.inference.classes.column_densities import (
    BinaryClasses,
    CategoryClasses,
    CountClasses,
)
from posteriori.inference.gaps.gap_beliefs import CodeGaps, GapBelief, NumberGaps, mixed_variance
from posteriori.inference.mixtures.columns.mixture_densities import ColumnDensities
from posteriori.numerics.types import Array, IntArray

__all__ = ["class_gaps"]


def class_gaps(densities: ColumnDensities, x: Array, shares: Array) -> tuple[GapBelief, ...]:
    """Return beliefs under columns that are independent given a class, of probabilities (N, K)."""
    beliefs: list[GapBelief] = []
    for kind, places in densities.places.items():
        part = densities.parts[kind]
        for place, j in enumerate(places.tolist()):
            rows = np.flatnonzero(np.isnan(x[:, j]))
            if len(rows):
                beliefs.append(_of_column(part, place, j, rows, shares[rows]))
    return tuple(sorted(beliefs, key=lambda belief: belief.column))


def _of_column(part: object, place: int, column: int, rows: IntArray, shares: Array) -> GapBelief:
    if isinstance(part, CategoryClasses):
        return CodeGaps(column, rows, shares @ part.tables[place])
    if isinstance(part, BinaryClasses):
        q = part.probabilities[:, place]
        return CodeGaps(column, rows, shares @ np.stack([1.0 - q, q], axis=1))
    means, variances = _class_moments(part, place)
    mean = shares @ means
    return NumberGaps(column, rows, mean, mixed_variance(shares, means[None], variances[None]))


def _class_moments(part: object, place: int) -> tuple[Array, Array]:
    """Return mean and variance of a column of numbers in each class, (K,) both."""
    if isinstance(part, ColumnwiseClasses):
        dof, scale = part.dof[:, place], part.scales[:, place]
        with np.errstate(divide="ignore", invalid="ignore"):
            stretch = np.where(np.isinf(dof), 1.0, dof / (dof - 2.0))  # of Student's t
        return part.means[:, place], scale**2 * np.where(dof > 2.0, stretch, np.inf)
    assert isinstance(part, CountClasses)
    shape, rate = part.shape[:, place], part.rate[:, place]
    if np.isinf(shape).all():
        return rate, rate
    return shape / rate, shape * (1.0 + rate) / rate**2  # negative binomial
