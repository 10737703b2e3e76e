r"""What models believe of missing entries: mean and variance of a number, probabilities of codes.

Of several models with probabilities :math:`w_k` given what is seen of a row, beliefs mix:

.. math:: m = \sum_k w_k m_k, \qquad v = \sum_k w_k\,(v_k + (m_k - m)^2), \qquad
   p = \sum_k w_k\,p_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array, IntArray

__all__ = ["CodeGaps", "GapBelief", "NumberGaps", "mix_gaps", "mixed_variance", "number_gaps"]


class NumberGaps(NamedTuple):
    """The missing entries of a column of numbers.

    Attributes
    ----------
    column : int
    rows : (n,)
        Which rows miss it.
    mean, variance : (n,)
        Given what is seen of them.
    """

    column: int
    rows: IntArray
    mean: Array
    variance: Array


class CodeGaps(NamedTuple):
    """The missing entries of a column of codes 0, 1, ….

    Attributes
    ----------
    column : int
    rows : (n,)
    probabilities : (n, L)
        Of each code, given what is seen of the row.
    """

    column: int
    rows: IntArray
    probabilities: Array


GapBelief = NumberGaps | CodeGaps


def number_gaps(x: Array, mean: Array, variance: Array) -> tuple[GapBelief, ...]:
    """Return the beliefs of each column with gaps, from the moments (N, D) of all entries of rows."""
    found = ((j, np.flatnonzero(np.isnan(x[:, j]))) for j in range(x.shape[1]))
    return tuple(
        NumberGaps(j, rows, mean[rows, j], variance[rows, j]) for j, rows in found if len(rows)
    )


def mix_gaps(beliefs: Sequence[tuple[GapBelief, ...]], shares: Array) -> tuple[GapBelief, ...]:
    """Return the beliefs of a mixture of K models about the same rows.

    Parameters
    ----------
    beliefs : sequence of K tuples
        All of the same columns and rows, in the same order.
    shares : (N, K)
        Probabilities of the models given what is seen of each row.
    """
    return tuple(_mixed(list(members), shares) for members in zip(*beliefs, strict=True))


def _mixed(members: list[GapBelief], shares: Array) -> GapBelief:
    first = members[0]
    weights = shares[first.rows]
    codes = [member.probabilities for member in members if isinstance(member, CodeGaps)]
    if isinstance(first, CodeGaps):
        return first._replace(probabilities=np.einsum("nk,knl->nl", weights, np.stack(codes)))
    numbers = [member for member in members if isinstance(member, NumberGaps)]
    means = np.stack([member.mean for member in numbers], axis=1)
    variances = np.stack([member.variance for member in numbers], axis=1)
    mean = np.einsum("nk,nk->n", weights, means)
    return first._replace(mean=mean, variance=mixed_variance(weights, means, variances))


def mixed_variance(shares: Array, means: Array, variances: Array) -> Array:
    """Return Σ w (v + (m − m̄)²) of each row, (N,); a component without weight adds nothing."""
    mean = (shares * means).sum(axis=1, keepdims=True)
    spread = np.where(shares > 0.0, variances + (means - mean) ** 2, 0.0)
    return np.asarray((shares * spread).sum(axis=1))
