"""Nodes for means over several normal predictors, for rows that vary by more or less.

Products of the rules of one dimension give as many digits as are asked for. Where these would be too
many (a handful of dimensions, or wide rows) the nodes are points of a low-discrepancy sequence, taken
with both signs and turned so that their mean is 0 and their covariance is exactly the identity: they
are then exact for polynomials of degree 3, and err with the fourth power of the standard deviations.

References: H. Niederreiter, "Random number generation and quasi-Monte Carlo methods", 1992;
A. Genz & F. Bretz, "Computation of multivariate normal and t probabilities", 2009, sec. 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from posteriori.numerics.calculus.normal_rule import normal_rule
from posteriori.numerics.lazy import special, stats
from posteriori.numerics.types import Array

__all__ = ["CLOSE", "FINE", "ROUGH", "Fineness", "RowNodes", "nodes_by_width"]

#: Logarithm of the factor between the widths that nodes are made for.
_SCALE = 0.25

#: Standard deviations up to this share a rule.
_NARROWEST = 1e-3


class Fineness(NamedTuple):
    """How many nodes a mean may take.

    Attributes
    ----------
    digits : tuple of float
        Digits that products of rules are asked for, from the first that needs few enough nodes.
    most, most_of_many : int
        Most nodes of up to two dimensions, and of more.
    pairs : int
        Pairs of points where no product is small enough.
    """

    digits: tuple[float, ...]
    most: int
    most_of_many: int
    pairs: int


#: For answers: nine digits, or fewer where these would take too many nodes.
FINE = Fineness((9.0, 7.0, 5.0, 4.0), 6000, 1000, 1024)

#: For means that are wanted to a hundredth of a standard deviation.
CLOSE = Fineness((4.0, 3.0), 1000, 300, 256)

#: To come near a mode that finer sums then find.
ROUGH = Fineness((3.0, 2.0), 200, 64, 64)


class RowNodes(NamedTuple):
    """Rows that share nodes.

    Attributes
    ----------
    rows : (n,)
        Their places.
    z : (D, Q)
        Nodes of independent standard normal variables: these, and the same with opposite signs.
    weights : (Q,)
        Of each of both, ½ in all.
    """

    rows: Array
    z: Array
    weights: Array


def nodes_by_width(std: Array, singularity: float, fineness: Fineness = FINE) -> Iterator[RowNodes]:
    """Yield rows with nodes for them; each row comes once, and its own widths alone choose its nodes.

    Parameters
    ----------
    std : (N, D)
        How much the function varies along each axis of each row.
    singularity : float
        Distance from the real line to the nearest singularity of the function.
    fineness : Fineness

    Examples
    --------
    >>> (narrow, wide) = nodes_by_width(np.array([[1.0, 1.0], [0.1, 0.1]]), np.pi)
    >>> narrow.rows, narrow.z.shape, wide.z.shape
    (array([1]), (2, 13), (2, 221))
    """
    n, d = std.shape
    steps = np.ceil(np.log(np.maximum(std, _NARROWEST)) / _SCALE).astype(int)
    most = fineness.most if d <= 2 else fineness.most_of_many
    left = np.ones(n, dtype=bool)
    for digits in fineness.digits:
        few = left & (_product_sizes(steps, singularity, digits) <= most)
        kinds, which = np.unique(steps[few], axis=0, return_inverse=True)
        places = np.flatnonzero(few)
        for kind, widths in enumerate(kinds.tolist()):
            nodes = _product_nodes(tuple(widths), singularity, digits)
            yield RowNodes(places[which.ravel() == kind], *nodes)
        left &= ~few
    if left.any():
        yield RowNodes(np.flatnonzero(left), *_scattered_nodes(d, fineness.pairs))


def _product_sizes(steps: Array, singularity: float, digits: float) -> Array:
    """Return how many nodes the product of rules has for each row, (N,)."""
    levels, which = np.unique(steps, return_inverse=True)
    sizes = np.array([float(len(_rule(s, singularity, digits)[0])) for s in levels.tolist()])
    return sizes[which].reshape(steps.shape).prod(axis=1)


@lru_cache(maxsize=256)
def _product_nodes(
    steps: tuple[int, ...], singularity: float, digits: float
) -> tuple[Array, Array]:
    """Return half the nodes (D, Q) and weights (Q,) where predictors vary so much along their axes."""
    rules = [_rule(s, singularity, digits) for s in steps]
    points = np.meshgrid(*(z for z, _ in rules), indexing="ij")
    weights = np.prod(np.meshgrid(*(w for _, w in rules), indexing="ij"), axis=0).ravel()
    half = (len(weights) + 1) // 2  # the others are these in reverse order, with opposite signs
    kept = weights[:half].copy()
    if len(weights) % 2:
        kept[-1] *= 0.5  # the node 0 is its own opposite
    return np.stack([z.ravel()[:half] for z in points]), kept


@lru_cache(maxsize=1024)
def _rule(step: int, singularity: float, digits: float) -> tuple[Array, Array]:
    """Return nodes for a predictor whose standard deviation is so many steps of the scale."""
    return normal_rule(singularity / float(np.exp(_SCALE * step)), digits)


@lru_cache(maxsize=16)
def _scattered_nodes(d: int, pairs: int) -> tuple[Array, Array]:
    """Return points that have mean 0 and covariance I with both signs, all of the same weight."""
    n = max(pairs, 1 << (2 * d).bit_length())
    u = stats.qmc.Sobol(d, scramble=False).random(n) + 0.5 / n  # no point in a corner
    z = special.ndtri(u)
    root = np.linalg.cholesky(z.T @ z / n)
    return np.linalg.solve(root, z.T), np.full(n, 0.5 / n)
