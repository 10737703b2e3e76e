r"""Means of softmax probabilities, and of their products, over normal predictors.

The contrasts of a row are :math:`v\sim N(c, S)`, its classes have :math:`p = \mathrm{softmax}(Bv)`.
With :math:`v = c + Lz`, :math:`LL^T = S`, the nodes of z are products of those of one dimension.
Where these would be too many (a handful of classes, or wide beliefs) the nodes are points of a
low-discrepancy sequence, taken with both signs and turned so that their mean is 0 and their
covariance is exactly the identity: they are then exact for polynomials of degree 3, and err with the
fourth power of the standard deviations.

References: H. Niederreiter, "Random number generation and quasi-Monte Carlo methods", 1992;
A. Genz & F. Bretz, "Computation of multivariate normal and t probabilities", 2009, sec. 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.normal_rule import normal_rule
from posteriori.numerics.types import Array

__all__ = [
    "SoftmaxTilt",
    "average_softmax",
    "contrasts",
    "softmax",
    "softmax_curvature",
    "tilt_softmax",
]

#: Digits that products of rules are asked for, from the first that needs few enough nodes.
_DIGITS = (9.0, 7.0, 5.0, 4.0)

#: Most nodes of up to three classes, and of more.
_MOST_NODES, _MOST_OF_MANY = 6000, 1000

#: Pairs of points where no product is small enough.
_PAIRS = 1024

#: Numbers of nodes × classes that are worked on at a time.
_BLOCK = 1 << 17

#: Two classes are as probable as each other, with opposite signs, this far off the real line.
_SINGULAR = np.pi / np.sqrt(2.0)

#: Logarithm of the factor between the widths that nodes are made for.
_SCALE = 0.25


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


def softmax(eta: Array) -> tuple[Array, Array]:
    """Return probabilities (N, K) and log normalisers (N,) of predictors."""
    highest = eta.max(axis=1)
    p = np.exp(eta - highest[:, None])
    total = p.sum(axis=1)
    p /= total[:, None]
    return p, highest + np.log(total)


def average_softmax(centre: Array, spread: Array) -> tuple[Array, Array]:
    """Return the means of p (N, K) and of ln Σ_k exp(η_k) (N,) over contrasts N(c, S).

    Parameters
    ----------
    centre : (N, K − 1)
    spread : (N, K − 1, K − 1)

    Examples
    --------
    >>> flat, _ = average_softmax(np.zeros((1, 2)), np.eye(2)[None])
    >>> flat.round(9)
    array([[0.33333333, 0.33333333, 0.33333333]])
    """
    log_sum, p = np.empty(len(centre)), np.empty((len(centre), centre.shape[1] + 1))
    for rows, at, weights, logs in _at_nodes(centre, spread):
        p[rows], log_sum[rows] = at @ weights, logs @ weights
    return p, log_sum


def softmax_curvature(centre: Array, spread: Array | None) -> Array:
    """Return Bᵀ(diag(p) − ppᵀ)B at contrasts c, or its mean over N(c, S), (N, K − 1, K − 1)."""
    basis = contrasts(centre.shape[1] + 1)
    if spread is None:
        first = softmax(centre @ basis.T)[0]
        mean = first @ basis
        second = mean[:, :, None] * mean[:, None, :]
    else:
        first = np.empty((len(centre), len(basis)))
        second = np.empty((len(centre), *basis.shape[1:] * 2))
        for rows, p, weights, _ in _at_nodes(centre, spread):
            turned = basis.T @ p
            first[rows] = p @ weights
            second[rows] = (turned * weights) @ turned.swapaxes(1, 2)
    return (basis.T * first[:, None, :]) @ basis - second


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
    basis = contrasts(k)
    mass, first, second = np.empty(n), np.empty((n, k)), np.empty((n, k - 1, k - 1))
    for rows, p, weights, _ in _at_nodes(centre, spread):
        tilted = p[np.arange(len(p)), codes[rows]] * weights
        mass[rows] = np.maximum(tilted.sum(axis=1), 1e-300)
        tilted /= mass[rows][:, None]
        first[rows] = (p @ tilted[:, :, None])[..., 0]
        turned = basis.T @ p
        second[rows] = (turned * tilted[:, None, :]) @ turned.swapaxes(1, 2)
    towards = -first
    towards[np.arange(n), codes] += 1.0
    mean = first @ basis
    curvature = (basis.T * first[:, None, :]) @ basis - 2.0 * second
    return SoftmaxTilt(np.log(mass), towards @ basis, curvature + mean[:, :, None] * mean[:, None])


def _at_nodes(centre: Array, spread: Array) -> Iterator[tuple[Any, Array, Array, Array]]:
    """Yield places of rows, p (n, K, Q), weights (Q,) and ln Σ exp η (n, Q).

    A row's nodes depend on nothing but its own spread, and continuously but for their number.
    """
    k = centre.shape[1] + 1
    basis, root = contrasts(k), _root(spread)
    middle, arms = centre @ basis.T, basis @ root
    stds = np.sqrt((root**2).sum(axis=1))
    widths = np.ceil(np.log(np.maximum(stds, 1e-3)) / _SCALE).astype(int)
    for alike, z, weights in _rows_by_nodes(widths):
        size = max(1, _BLOCK // (len(z) * k))
        for first in range(0, len(alike), size):
            rows = alike[first : first + size]
            p = arms[rows] @ z.T
            p += middle[rows][:, :, None]
            highest = p.max(axis=1)
            p -= highest[:, None, :]
            np.exp(p, out=p)
            total = p.sum(axis=1)
            p /= total[:, None, :]
            yield rows, p, weights, highest + np.log(total)


def _rows_by_nodes(widths: Array) -> Iterator[tuple[Any, Array, Array]]:
    """Yield places of rows that share nodes, with these; widths are steps of a scale, (N, K − 1)."""
    kinds, which = np.unique(widths, axis=0, return_inverse=True)
    which = which.ravel()
    scattered = np.zeros(len(kinds), dtype=bool)
    for kind, steps in enumerate(kinds.tolist()):
        z, weights = _nodes(tuple(steps))
        scattered[kind] = z is _scattered_nodes(len(steps))[0]
        if not scattered[kind]:
            yield np.flatnonzero(which == kind), z, weights
    if scattered.any():  # with many classes nearly every row is of a kind of its own
        yield np.flatnonzero(scattered[which]), *_scattered_nodes(widths.shape[1])


def _root(spread: Array) -> Array:
    """Return lower triangular roots of covariances, which may be singular."""
    size = np.trace(spread, axis1=1, axis2=2)
    return np.linalg.cholesky(
        spread + (1e-12 * size + 1e-300)[:, None, None] * np.eye(spread.shape[1])
    )


@lru_cache(maxsize=256)
def _nodes(steps: tuple[int, ...]) -> tuple[Array, Array]:
    """Return nodes (Q, K − 1) and weights (Q,) for predictors that vary so much along their axes."""
    most = _MOST_NODES if len(steps) <= 2 else _MOST_OF_MANY
    for digits in _DIGITS:
        rules = [_rule(s, digits) for s in steps]
        if np.prod([float(len(z)) for z, _ in rules]) <= most:
            points = np.meshgrid(*(z for z, _ in rules), indexing="ij")
            weights = np.meshgrid(*(w for _, w in rules), indexing="ij")
            flat = np.prod(weights, axis=0).ravel()
            return np.stack([z.ravel() for z in points], axis=1), flat
    return _scattered_nodes(len(steps))


@lru_cache(maxsize=1024)
def _rule(step: int, digits: float) -> tuple[Array, Array]:
    """Return nodes for a predictor whose standard deviation is so many steps of the scale."""
    return normal_rule(_SINGULAR / float(np.exp(_SCALE * step)), digits)


@lru_cache(maxsize=8)
def _scattered_nodes(d: int) -> tuple[Array, Array]:
    """Return points of both signs with mean 0 and covariance I, all of the same weight."""
    from scipy.stats import qmc

    u = qmc.Sobol(d, scramble=False).random(_PAIRS) + 0.5 / _PAIRS  # no point in a corner
    z = special.ndtri(u)
    z = np.concatenate([z, -z])
    root = np.linalg.cholesky(z.T @ z / len(z))
    return np.linalg.solve(root, z.T).T, np.full(len(z), 1.0 / len(z))
