r"""Independent sources of highest likelihood.

.. math:: \ell(W) = \ln|\det W| + \tfrac1N\sum_n\sum_i \ln p_i\bigl((Wz_n)_i\bigr)

has the gradient :math:`I - E[\psi(y)y^\top]`, relative to :math:`W \to (I + E)W`. Where sources are
independent its curvature consists of blocks for pairs,

.. math:: \begin{pmatrix} h_{ij} & 1\\ 1 & h_{ji}\end{pmatrix}, \qquad h_{ij} = E[\psi_i']\,E[y_j^2],

and of :math:`1 + E[\psi_i'y_i^2]` for sizes, by which a quasi-Newton method is preconditioned. With
:math:`E[yy^\top] = I` kept, steps of the fixed-point method are
:math:`W \to \mathrm{polar}\bigl(E[\psi(y)z^\top] - \mathrm{diag}(E[\psi'])\,W\bigr)`.

References: P. Ablin, J.-F. Cardoso & A. Gramfort, "Faster independent component analysis by
preconditioning with Hessian approximations", 2018; S. Amari, A. Cichocki & H. Yang, "A new learning
algorithm for blind signal separation", 1996; A. Hyvärinen, "Fast and robust fixed-point algorithms for
independent component analysis", 1999.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.components.source_densities import (
    GivenDensity,
    SourceMoments,
    TailDensities,
    source_moments,
)
from posteriori.numerics.types import Array

__all__ = ["SourceAscent", "ascend_by_natural_gradient", "ascend_by_newton", "iterate_fixed_point"]

#: Steps that the quasi-Newton method looks back on.
_MEMORY = 7

#: Curvatures of pairs are no smaller than this.
_FLATTEST = 1e-2

#: Halvings of a step at most.
_HALVINGS = 12

#: The first step of the natural gradient, and what it is multiplied by after each that gains.
_FIRST_STEP, _LONGER = 0.1, 1.2

#: A fall of ℓ that rounding explains.
_SLACK = 1e-13

Densities = TailDensities | GivenDensity


class SourceAscent(NamedTuple):
    """Where an ascent ended.

    Attributes
    ----------
    unmixing : (K, K)
    moments : SourceMoments
        Of the sources there.
    gradient_norm : float
        The largest entry of the relative gradient; of the fixed-point method, of its antisymmetric part,
        the only one that it may follow.
    n_iter : int
    converged : bool
    """

    unmixing: Array
    moments: SourceMoments
    gradient_norm: float
    n_iter: int
    converged: bool


class _Place(NamedTuple):
    """W, the moments of its sources, −ℓ and the relative gradient of −ℓ."""

    unmixing: Array
    moments: SourceMoments
    loss: float
    gradient: Array

    @property
    def norm(self) -> float:
        return float(np.abs(self.gradient).max())


def ascend_by_newton(
    z: Array, start: Array, densities: Densities, *, tol: float, max_iter: int
) -> SourceAscent:
    """Return sources of highest likelihood, by a preconditioned quasi-Newton method (L-BFGS).

    Parameters
    ----------
    z : (K, N)
        With covariance I.
    start : (K, K)
    densities : TailDensities or GivenDensity
    tol : float
        For the largest entry of the relative gradient.
    max_iter : int
    """
    here = _evaluate(z, start, densities)
    memory: list[tuple[Array, Array]] = []
    for i in range(max_iter):
        if here.norm <= tol:
            return _ended(here, i, True)
        step = _direction(here, memory)
        found = _search(z, here, step, densities)
        if found is None and memory:  # what was remembered misleads
            memory = []
            found = _search(z, here, _direction(here, memory), densities)
        if found is None:
            return _ended(here, i, False)
        there, taken = found
        memory = [*memory[1 - _MEMORY :], (taken, there.gradient - here.gradient)]
        if np.sum(memory[-1][0] * memory[-1][1]) <= 0.0:
            memory = []
        here = there
    return _ended(here, max_iter, here.norm <= tol)


def ascend_by_natural_gradient(
    z: Array, start: Array, densities: Densities, *, tol: float, max_iter: int
) -> SourceAscent:
    """Return sources of highest likelihood by steps W + η (I − E[ψ yᵀ]) W.

    η grows while steps gain, and is halved where one does not.
    """
    here, rate = _evaluate(z, start, densities), _FIRST_STEP
    for i in range(max_iter):
        if here.norm <= tol:
            return _ended(here, i, True)
        for _ in range(_HALVINGS):
            there = _evaluate(z, here.unmixing - rate * here.gradient @ here.unmixing, densities)
            slack = _SLACK * abs(here.loss)
            if there.loss < here.loss - slack:
                break
            if there.loss <= here.loss + slack and there.norm < here.norm:
                break  # gains that rounding hides
            rate *= 0.5
        else:
            return _ended(here, i, False)
        here, rate = there, rate * _LONGER
    return _ended(here, max_iter, here.norm <= tol)


def iterate_fixed_point(
    z: Array, start: Array, densities: Densities, *, tol: float, max_iter: int
) -> SourceAscent:
    """Return uncorrelated sources at a fixed point; signs of their tails need not be known."""
    turn, norm = _polar(start), np.inf
    moments = source_moments(turn, z, densities)
    for i in range(max_iter):
        sign = np.sign(moments.slope - np.diag(moments.cross))  # of tails unlike the density's
        skew = sign[:, None] * moments.cross
        norm = float(np.abs(skew - skew.T).max()) / 2.0
        if norm <= tol:
            return SourceAscent(turn, moments, norm, i, True)
        target = moments.cross @ turn - moments.slope[:, None] * turn  # E[ψ zᵀ] = E[ψ yᵀ] W
        turn = _polar(-sign[:, None] * target)
        moments = source_moments(turn, z, densities)
    return SourceAscent(turn, moments, norm, max_iter, False)


def _evaluate(z: Array, unmixing: Array, densities: Densities) -> _Place:
    moments = source_moments(unmixing, z, densities)
    loss = moments.value - float(np.linalg.slogdet(unmixing)[1])
    return _Place(unmixing, moments, loss, moments.cross - np.eye(len(unmixing)))


def _direction(here: _Place, memory: list[tuple[Array, Array]]) -> Array:
    """Return −H⁻¹G by the two loops of L-BFGS, around the curvature of pairs."""
    q, shares = here.gradient, []
    for s, y in reversed(memory):
        share = np.sum(s * q) / np.sum(s * y)
        shares.append(share)
        q = q - share * y
    step = _solve_pairs(here, q)
    for (s, y), share in zip(memory, reversed(shares), strict=True):
        step = step + (share - np.sum(y * step) / np.sum(s * y)) * s
    return -step


def _solve_pairs(here: _Place, gradient: Array) -> Array:
    squares = np.sum(here.unmixing**2, axis=1)  # E[y²], as z has covariance I
    h = here.moments.slope[:, None] * squares
    least = 0.5 * (h + h.T - np.sqrt((h - h.T) ** 2 + 4.0))
    h = h + np.maximum(_FLATTEST - least, 0.0)
    np.fill_diagonal(h, np.maximum(here.moments.own, 0.0) + 1.0)
    others = h * h.T - 1.0
    np.fill_diagonal(others, 1.0)
    solved = (h.T * gradient - gradient.T) / others
    np.fill_diagonal(solved, np.diag(gradient) / np.diag(h))
    return solved


def _search(
    z: Array, here: _Place, step: Array, densities: Densities
) -> tuple[_Place, Array] | None:
    """Return the first of ever shorter steps that does not fall, and the step."""
    for _ in range(_HALVINGS):
        there = _evaluate(z, here.unmixing + step @ here.unmixing, densities)
        if there.loss <= here.loss + _SLACK * abs(here.loss):
            return there, step
        step = 0.5 * step
    return None


def _ended(here: _Place, n_iter: int, converged: bool) -> SourceAscent:
    return SourceAscent(here.unmixing, here.moments, here.norm, n_iter, converged)


def _polar(matrix: Array) -> Array:
    """Return the nearest orthogonal matrix."""
    left, _, right = np.linalg.svd(matrix)
    return left @ right
