r"""The smallest ball around points in feature space.

.. math:: R^2 = \min_c\max_n\|\phi(x_n) - c\|^2 = \max_{a\ge0,\ \sum a=1}\ \sum_na_nk(x_n, x_n) - a^\top Ka,
   \qquad c = \sum_na_n\phi(x_n).

Weight moves from point to point as far as the dual rises: the farthest point gains,
and it is taken from the point at which the gain is largest (second-order choice). Once the points that
carry weight are few, their weights are solved for. What the center c reaches less what the dual promises
is the gap: the certificate of the answer.

Reference: D. Tax & R. Duin, "Support vector data description", 2004; R.-E. Fan, P.-H. Chen & C.-J. Lin,
"Working set selection using second order information", 2005.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from posteriori.kernels.ball_loop import move_weights
from posteriori.kernels.inner_products import Linear
from posteriori.kernels.kernel import Kernel, check_points
from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["EnclosingBall", "enclosing_ball"]

#: Moves of weight before the first attempt to solve for all weights at once; then twice as many, and so on.
_MOVES = 50

#: Points beyond which their weights are not solved for together: moves take less time.
_MOST_SOLVED = 3000

#: So few points may be more than their features span.
_FEW = 100


class EnclosingBall(NamedTuple):
    """The smallest ball around points in feature space.

    Attributes
    ----------
    radius : float
        All points lie within it of the center.
    weights : (N,)
        a >= 0 with sum 1: the center is Σ aₙ φ(xₙ); positive on points at the border alone.
    gap : float
        The squared radius exceeds the smallest possible one by this at most.
    n_iter : int
    converged : bool
    """

    radius: float
    weights: Array
    gap: float
    n_iter: int
    converged: bool


class _Weights(NamedTuple):
    """Weights a, and the squared distances of all points to their center."""

    a: Array
    squares: Array

    @property
    def gap(self) -> float:
        """What the center reaches less what the dual promises."""
        return float(self.squares.max()) - self.dual

    @property
    def dual(self) -> float:
        """Σ aₙkₙₙ − aᵀKa, which is the mean of the squared distances by weight."""
        return float(self.a @ self.squares)


def enclosing_ball(
    X: Any, kernel: Kernel | None = None, *, tol: float = 1e-10, max_iter: int = 100_000
) -> EnclosingBall:
    """Return the smallest ball around points.

    Parameters
    ----------
    X : (N, D)
    kernel : Kernel, optional
        By default the ball is one of the points themselves.
    tol : float
        Largest gap, as a share of the squared radius.
    max_iter : int
        Most moves of weight.

    Warns
    -----
    ConvergenceWarning
        When the gap is larger after ``max_iter`` moves.

    Notes
    -----
    Costs O(N²) for the Gram matrix and O(N) a move.

    Examples
    --------
    >>> ball = enclosing_ball([[0.0, 0.0], [4.0, 0.0], [2.0, 0.5]])
    >>> round(ball.radius, 6), ball.weights.round(6)
    (2.0, array([0.5, 0.5, 0. ]))
    """
    points = check_points("X", X)
    if not len(points):
        raise ValueError("X has no points: a ball needs at least one")
    if kernel is None:  # moving the origin changes no distance, and keeps digits
        kernel, points = Linear(), points - points.mean(axis=0)
    gram = kernel(points)
    own = np.diagonal(gram).copy()
    now = _from_weights(gram, own, np.bincount([int(np.argmax(own))], minlength=len(own)))
    n_iter, most = 0, _MOVES
    while now.gap > tol * now.squares.max() and n_iter < max_iter:
        a, squares = now.a.copy(), now.squares.copy()
        moves = move_weights(gram, own, a, squares, min(most, max_iter - n_iter), tol)
        now = _from_weights(gram, own, a)
        now = max(now, _solve_together(gram, own, now), key=lambda weights: weights.dual)
        n_iter, most = n_iter + moves, 2 * most
        if not moves:
            break
    converged = bool(now.gap <= tol * now.squares.max())
    if not converged:
        warnings.warn(
            f"enclosing_ball has a gap of {now.gap:.3g} in the squared radius {now.squares.max():.6g} after "
            f"{n_iter} moves; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    radius = float(np.sqrt(max(now.squares.max(), 0.0)))
    return EnclosingBall(radius, now.a, max(now.gap, 0.0), n_iter, converged)


def _from_weights(gram: Array, own: Array, a: Any) -> _Weights:
    """Return ‖φ(xₙ) − c‖² = kₙₙ − 2(Ka)ₙ + aᵀKa beside weights."""
    a = np.asarray(a, dtype=np.float64)
    across = gram @ a
    return _Weights(a, own - 2.0 * across + a @ across)


def _solve_together(gram: Array, own: Array, now: _Weights) -> _Weights:
    """Return the best weights of the points that carry weight; those that come out negative drop out.

    All that stay are equally far from the center: 2Ka + ν = diag K on them, and Σ a = 1.
    """
    kept = np.flatnonzero(now.a > 0)
    while 0 < len(kept) <= _MOST_SOLVED:
        solved = _equally_far(gram, own, kept)
        if solved is None:
            break
        if solved.min() >= 0.0:
            a = np.zeros(len(own))
            a[kept] = solved / solved.sum()
            return _from_weights(gram, own, a)
        kept = kept[solved > 0.0]
    return now


def _equally_far(gram: Array, own: Array, kept: Array) -> Array | None:
    """Return these weights of points, or None where their features are not independent."""
    inside, ones = 2.0 * gram[np.ix_(kept, kept)], np.ones(len(kept))
    if len(kept) <= _FEW:
        system = np.block([[inside, ones[:, None]], [ones[None], np.zeros((1, 1))]])
        target = np.append(own[kept], 1.0)
        return scipy_linalg.lstsq(system, target, check_finite=False)[0][:-1]
    try:
        factor = scipy_linalg.cho_factor(inside, check_finite=False, overwrite_a=True)
    except np.linalg.LinAlgError:
        return None
    own_part, one_part = scipy_linalg.cho_solve(factor, np.stack([own[kept], ones], axis=1)).T
    return own_part + (1.0 - own_part.sum()) / one_part.sum() * one_part
