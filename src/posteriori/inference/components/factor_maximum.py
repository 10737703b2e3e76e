r"""Factors of highest likelihood from a covariance alone, by Newton's method in :math:`y = \ln\psi`.

Given the noise, the best loadings are known: with :math:`\Psi^{-1/2}S\Psi^{-1/2} = U\Theta U^\top` and the k
largest :math:`\theta_j > 1`, :math:`W = \Psi^{1/2}U_k(\Theta_k - I)^{1/2}`. What is left to maximise is
:math:`-\tfrac N2 F(y) + \text{const}`, where

.. math:: F = \sum_i y_i + \sum_{j\le k}(\ln\theta_j + 1) + \sum_{j>k}\theta_j, \qquad
          \frac{\partial F}{\partial y_i} = 1 - \sum_{j\le k}u_{ij}^2 - \sum_{j>k}\theta_ju_{ij}^2,

.. math:: \frac{\partial^2F}{\partial y_i\partial y_m} = Q_{im}R_{im}
          + \sum_{j\le k<l}\frac{(1 - \theta_l)(\theta_j + \theta_l)}{\theta_j - \theta_l}\,
          u_{ij}u_{mj}u_{il}u_{ml}, \qquad Q = \sum_{j>k}u_ju_j^\top,\ R = \sum_{j>k}\theta_ju_ju_j^\top.

O(k D³) a step, whatever the number of rows; a handful of steps.

References: K. Jöreskog, "Some contributions to maximum likelihood factor analysis", 1967; D. Lawley &
A. Maxwell, "Factor analysis as a statistical method", 1971.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.rank import is_definite
from posteriori.numerics.types import Array

__all__ = ["FactorMaximum", "maximize_factors"]

#: Steps in ln ψ are no longer than this: a factor of e² in a variance.
_LONGEST = 2.0

#: Curvatures are no smaller than this part of the largest one.
_FLATTEST = 1e-6

#: Halvings of a step at most, and the part of the promised gain that it must bring.
_HALVINGS, _GAIN = 30, 1e-4


class FactorMaximum(NamedTuple):
    """Where the ascent ended.

    Attributes
    ----------
    loadings : (D, K)
    noise : (D,)
    value : float
        F.
    n_iter : int
    converged : bool
    """

    loadings: Array
    noise: Array
    value: float
    n_iter: int
    converged: bool


class _Place(NamedTuple):
    """Noise, and eigenpairs of the covariance in its units; k of them exceed 1."""

    y: Array
    theta: Array
    vectors: Array
    k: int
    value: float


def maximize_factors(
    cov: Array,
    k: int,
    n: float,
    *,
    floor: float,
    tol: float,
    max_iter: int,
    start: Array | None = None,
) -> FactorMaximum:
    """Return loadings and noise of highest likelihood.

    Parameters
    ----------
    cov : (D, D)
        With unit diagonal.
    k : int
    n : float
        Rows, which say how much F is in nats.
    floor : float
        No noise variance is below it.
    tol : float
        Nats that a further step promises at most.
    max_iter : int
    start : (D,), optional
        Noise to begin with.
    """
    low = np.log(floor)
    y = np.log(np.clip(_first_noise(cov, k) if start is None else start, floor, 1.0))
    here, converged, n_iter = _evaluate(cov, y, k), False, 0
    while n_iter < max_iter:
        gradient = _gradient(here)
        free = ~((here.y <= low) & (gradient > 0.0))
        step = np.zeros_like(here.y)
        step[free] = _newton_step(_curvature(here)[np.ix_(free, free)], gradient[free])
        promised = -float(gradient @ step)
        if 0.5 * n * promised < tol:
            converged = True
            break
        there = _search(cov, here, step, promised, low, k)
        if there is None:  # rounding hides what is left to gain
            converged = True
            break
        here, n_iter = there, n_iter + 1
    noise = np.exp(here.y)
    sizes = np.sqrt(np.maximum(here.theta[:k] - 1.0, 0.0))
    loadings = np.sqrt(noise)[:, None] * here.vectors[:, :k] * sizes
    return FactorMaximum(loadings, noise, here.value, n_iter, converged)


def _first_noise(cov: Array, k: int) -> Array:
    """Return Jöreskog's start, (1 − k/2D) of what the other columns leave unexplained."""
    d = len(cov)
    if is_definite(cov):
        return (1.0 - 0.5 * k / d) / np.diag(inverse_from_factor(np.linalg.cholesky(cov)))
    values, vectors = np.linalg.eigh(cov)
    return 1.0 - vectors[:, -k:] ** 2 @ values[-k:]


def _evaluate(cov: Array, y: Array, k: int) -> _Place:
    scale = np.exp(-0.5 * y)
    theta, vectors = np.linalg.eigh(cov * scale[:, None] * scale)
    theta, vectors = theta[::-1], vectors[:, ::-1]
    used = int(np.sum(theta[:k] > 1.0))
    value = y.sum() + np.sum(np.log(theta[:used]) + 1.0) + theta[used:].sum()
    return _Place(y, theta, vectors, used, float(value))


def _gradient(here: _Place) -> Array:
    weight = np.where(np.arange(len(here.theta)) < here.k, 1.0, here.theta)
    return 1.0 - here.vectors**2 @ weight


def _curvature(here: _Place) -> Array:
    k, theta = here.k, here.theta
    strong, weak = here.vectors[:, :k], here.vectors[:, k:]
    rest = theta[k:]
    hessian = (weak @ weak.T) * ((weak * rest) @ weak.T)  # Q ∘ R
    for j in range(k):
        ratio = (1.0 - rest) * (theta[j] + rest) / np.maximum(theta[j] - rest, 1e-12 * theta[j])
        hessian += np.outer(strong[:, j], strong[:, j]) * ((weak * ratio) @ weak.T)
    return hessian


def _newton_step(hessian: Array, gradient: Array) -> Array:
    """Return a descent along every curvature, also where that is negative."""
    if not len(gradient):
        return gradient
    curvature, directions = np.linalg.eigh(hessian)
    size = np.abs(curvature)
    step = -directions @ ((directions.T @ gradient) / np.maximum(size, _FLATTEST * size.max()))
    return step * min(1.0, _LONGEST / max(np.abs(step).max(), 1e-300))  # never by 0


def _search(
    cov: Array, here: _Place, step: Array, promised: float, low: float, k: int
) -> _Place | None:
    """Return the first of ever shorter steps that gains enough."""
    share = 1.0
    for _ in range(_HALVINGS):
        there = _evaluate(cov, np.maximum(here.y + share * step, low), k)
        if there.value <= here.value - _GAIN * share * promised:
            return there
        share *= 0.5
    return None
