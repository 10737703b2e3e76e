r"""How near recovered sources are to the true ones, whose order, signs and sizes nobody can know."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.numerics.lazy import optimize
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.validation import real

__all__ = ["SourceMatch", "amari_distance", "match_sources"]


class SourceMatch(NamedTuple):
    """Which recovered source is which.

    Attributes
    ----------
    order : (K,)
        ``found[:, order]`` stand beside the true sources.
    signs : (K,)
        1 or −1, by which they are multiplied.
    correlations : (K,)
        Of each pair, after that; never negative.
    """

    order: IntArray
    signs: Array
    correlations: Array


def amari_distance(W: ArrayLike, A: ArrayLike) -> float:
    r"""Return how far P = W A is from one entry in each row and column, between 0 and 1.

    .. math:: \frac1{2K(K-1)}\Bigl[\sum_i\Bigl(\sum_j\frac{|p_{ij}|}{\max_l|p_{il}|} - 1\Bigr)
              + \sum_j\Bigl(\sum_i\frac{|p_{ij}|}{\max_l|p_{lj}|} - 1\Bigr)\Bigr].

    Parameters
    ----------
    W : (K, D)
        Unmixing.
    A : (D, K)
        Mixing.

    Examples
    --------
    >>> (
    ...     amari_distance([[0.0, -3.0], [2.0, 0.0]], np.eye(2)),
    ...     amari_distance(np.ones((2, 2)), np.eye(2)),
    ... )
    (0.0, 1.0)
    """
    p = np.abs(np.asarray(real("W", W)) @ np.asarray(real("A", A)))
    k = len(p)
    if p.ndim != 2 or p.shape != (k, k):
        raise ValueError(f"W A must be square, got shape {p.shape}")
    if not (p.max(axis=0).all() and p.max(axis=1).all()):
        raise ValueError("W A must not have a row or a column of zeros")
    if k == 1:
        return 0.0
    rows = np.sum(p / p.max(axis=1, keepdims=True)) - k
    columns = np.sum(p / p.max(axis=0)) - k
    return float((rows + columns) / (2.0 * k * (k - 1)))


def match_sources(S: ArrayLike, found: ArrayLike) -> SourceMatch:
    """Pair sources (N, K) with recovered ones by their correlations, all of them at once.

    Examples
    --------
    >>> s = np.array([[1.0, 0.0], [2.0, 1.0], [4.0, 0.0], [3.0, 5.0]])
    >>> match = match_sources(s, -2.0 * s[:, ::-1])
    >>> match.order, match.signs, match.correlations.round(12)
    (array([1, 0]), array([-1., -1.]), array([1., 1.]))
    """
    true, other = (np.atleast_2d(np.asarray(real(n, a))) for n, a in (("S", S), ("found", found)))
    if len(true) != len(other) or true.shape[1] > other.shape[1]:
        raise ValueError(
            f"found must have as many rows as S and no fewer columns, got {other.shape} and {true.shape}"
        )
    a, b = (x - x.mean(axis=0) for x in (true, other))
    sizes = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    correlation = (a.T @ b) / np.where(sizes > 0.0, sizes, 1.0)
    rows, order = optimize.linear_sum_assignment(-np.abs(correlation))
    chosen = correlation[rows, order]
    return SourceMatch(order, np.where(chosen < 0.0, -1.0, 1.0), np.abs(chosen))
