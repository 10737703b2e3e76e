"""The best cut of a cluster across its longest axis, which proposes to split it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.blocks.block_sizes import WITH_COPY, rows_per_block
from posteriori.numerics.types import Array

__all__ = ["Cut", "cut_longest"]

#: Of more columns than this the axis is found by a few products, as a proposal may be rough.
_FEW_COLUMNS = 50

#: How many: each shrinks what lies across by the ratio of variances.
_PRODUCTS = 20


#: Neither side has less than this part of the weight: what is left there is rounding.
_LEAST = 1e-9


class Cut(NamedTuple):
    """A cluster in two.

    Attributes
    ----------
    leaves : (N,)
        Which rows lie on one side.
    share : float
        Their part of the weight.
    variance, within : float
        Sums of squares along the axis, about the mean of all rows and about those of both sides.
    """

    leaves: Array
    share: float
    variance: float
    within: float


def cut_longest(z: Array, weight: Array) -> Cut:
    """Cut rows across their longest axis, where squares about the means of both sides are least.

    Parameters
    ----------
    z : (N, D)
    weight : (N,)
        Its sum is positive.

    Examples
    --------
    >>> cut = cut_longest(np.array([[0.0], [1.0], [9.0]]), np.ones(3))
    >>> cut.leaves.sum() in (1, 2), round(cut.within, 6)  # either side may leave
    (True, 0.5)
    """
    total = weight.sum()
    mean = (weight @ z) / total
    axis = _longest_axis(z, weight, mean)
    along = z @ axis - mean @ axis
    order = np.argsort(along, kind="stable")
    below = np.cumsum(weight[order])[:-1]
    sums = np.cumsum(weight[order] * along[order])[:-1]
    parted = np.minimum(below, total - below) > _LEAST * total  # else 0/0
    between = np.where(
        parted, sums**2 * total / np.where(parted, below * (total - below), 1.0), 0.0
    )
    variance = float(weight @ along**2)
    cut = int(np.argmax(between))
    leaves = np.zeros(len(z), dtype=bool)
    leaves[order[: cut + 1]] = True
    return Cut(leaves, float(below[cut] / total), variance, variance - float(between[cut]))


def _longest_axis(z: Array, weight: Array, mean: Array) -> Array:
    """Return the direction of largest variance, (D,)."""
    if z.shape[1] <= _FEW_COLUMNS:
        return np.linalg.eigh(_scatter(z, weight, mean))[1][:, -1]
    squares = np.einsum("nd,nd->n", z, z) - 2.0 * (z @ mean) + mean @ mean
    axis = z[np.argmax(weight * squares)] - mean
    for _ in range(_PRODUCTS):
        size = np.sqrt(axis @ axis)
        if size == 0.0:
            break
        axis = axis / size
        along = weight * (z @ axis - mean @ axis)
        axis = along @ z - along.sum() * mean
    return axis / (np.sqrt(axis @ axis) or 1.0)


def _scatter(z: Array, weight: Array, mean: Array) -> Array:
    """Return Σ w (z − m)(z − m)ᵀ, block by block, so that no copy of the rows is made."""
    total = np.zeros((z.shape[1], z.shape[1]))
    step = rows_per_block(z.shape[1], WITH_COPY)
    for first in range(0, len(z), step):
        centred = z[first : first + step] - mean
        total += (centred * weight[first : first + step, None]).T @ centred
    return total
