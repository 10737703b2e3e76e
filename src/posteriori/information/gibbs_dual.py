r"""The dual of entropy maximisation under linear constraints, and why it may have no solution.

Among all p with :math:`E_p[f_k] = t_k`, the one nearest to a base measure b is
:math:`p \propto b\,\exp\{\sum_k\lambda_k f_k\}`; its multipliers minimise the convex function

.. math:: D(\lambda) = \ln\sum_i b_i \exp\Bigl\{\sum_k\lambda_k (f_k(x_i) - t_k)\Bigr\},\qquad
          \nabla D = E_p[f] - t,\qquad \nabla^2 D = \mathrm{Cov}_p[f].

Newton's method does not care for the scale of the features, but rounding does. Features are given
as combinations of a well-behaved basis, :math:`f - t = B\,m`; they are scaled and turned into
uncorrelated directions, and directions that differ by rounding only are left out. Whether the
constraints can hold at all is a linear program.

Reference: S. Boyd & L. Vandenberghe, "Convex Optimization", 2004, sections 5.5 and 9.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.lazy import optimize
from posteriori.numerics.logspace import log_softmax, log_sum_exp
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array

__all__ = ["DualSolution", "explain_conflict", "solve_dual"]

#: What share of the largest direction still counts as one; tried in this order. Targets carry
#: rounding of 1e-16, which a small direction blows up until no distribution meets them.
_RANK_TOLERANCES = (1e-11, 1e-10, 1e-8)

#: Sums over many points round so: the dual may seem to rise by this share in a step that is right.
_ROUNDED = 1e-14

#: How often directions are made uncorrelated anew, at most.
_N_WHITENINGS = 6

#: Share of its range by which a constraint may be missed before it is called impossible.
_CONFLICT = 1e-8


class DualSolution(NamedTuple):
    """Multipliers of the constraints and the probabilities they give.

    Attributes
    ----------
    multipliers : (M,)
        λ, one per constraint.
    coefficients : (R,)
        The exponent Σ λ (f − t) in terms of the basis, which keeps its digits where powers of x
        would cancel.
    log_probabilities : (N,)
        ln p at the points.
    residual : float
        Largest |E[f] − t|, relative to the largest |f − t| at a point.
    n_directions : int
        Directions of the features that rounding could tell apart.
    n_iter : int
        Newton steps.
    converged : bool
        Whether the residual met the tolerance.
    """

    multipliers: Array
    coefficients: Array
    log_probabilities: Array
    residual: float
    n_directions: int
    n_iter: int
    converged: bool


def solve_dual(
    basis: Array,
    mix: Array,
    log_base: Array,
    *,
    check: tuple[Array, Array] | None = None,
    tol: float = 1e-10,
    max_iter: int = 300,
) -> DualSolution:
    """Minimise the dual by Newton's method with a line search.

    Parameters
    ----------
    basis : array (N, R)
        Basis functions at the points.
    mix : array (R, M)
        Constraint k says that the expectation of ``basis @ mix[:, k]`` is 0.
    log_base : array (N,)
        Log of the base measure (with quadrature weights), −inf where it is 0.
    check : tuple of arrays (C, R) and (C,), optional
        Basis functions and base at other points. Small directions can make spikes between the
        points, which the sums do not see: an answer must meet the constraints here, too.
    tol : float
        Goal for the residual.
    max_iter : int
        Most Newton steps.

    Notes
    -----
    Cost O(N R M + N M²) per step.
    """
    possible = np.isfinite(log_base)
    scale = np.max(np.abs(basis[possible] @ mix), axis=0, initial=0.0)
    scale = np.where(scale > 0, scale, 1.0)
    start = log_softmax(log_base)
    best: DualSolution | None = None
    n_iter = 0
    for tolerance in _RANK_TOLERANCES:
        share = max_iter // len(_RANK_TOLERANCES)
        found = _attempt(basis, mix / scale, start, tolerance, tol, share)
        if check is not None:
            found = _checked(found, *check, mix / scale, tol)
        n_iter += found.n_iter
        if best is None or found.residual < best.residual:
            best = found
        if found.converged:
            break
    assert best is not None
    return best._replace(multipliers=best.multipliers / scale, n_iter=n_iter)


def explain_conflict(features: Array, targets: Array, names: Sequence[str]) -> str | None:
    """Say which constraints cannot hold, alone or together; None where all can."""
    for k, name in enumerate(names):
        low, high = float(features[:, k].min()), float(features[:, k].max())
        slack = _CONFLICT * (high - low)
        if not low - slack <= targets[k] <= high + slack:
            return (
                f"{name} = {targets[k]:g} is impossible: on this support it lies between "
                f"{low:.6g} and {high:.6g}"
            )
    return _explain_joint_conflict(features, targets, names)


def _explain_joint_conflict(features: Array, targets: Array, names: Sequence[str]) -> str | None:
    """Give up as little as possible of the constraints: a linear program."""
    gap = features - targets
    scale = np.maximum(np.max(np.abs(gap), axis=0), 1e-300)
    scaled = gap / scale
    n, m = scaled.shape
    equal = np.block([[scaled.T, np.eye(m), -np.eye(m)], [np.ones((1, n)), np.zeros((1, 2 * m))]])
    cost = np.concatenate([np.zeros(n), np.ones(2 * m)])
    program: Any = optimize.linprog
    found = program(cost, A_eq=equal, b_eq=np.append(np.zeros(m), 1.0), method="highs")
    if found.status != 0 or found.fun <= _CONFLICT:
        return None
    missing = (found.x[n + m :] - found.x[n : n + m]) * scale
    culprits = [
        f"{names[k]} = {targets[k]:g} (nearest possible: {targets[k] + missing[k]:.6g})"
        for k in np.flatnonzero(np.abs(missing) > _CONFLICT * scale).tolist()
    ]
    return "the constraints contradict each other: given the others, " + " and ".join(culprits)


def _attempt(
    basis: Array, mix: Array, log_p: Array, rank_tolerance: float, tol: float, max_iter: int
) -> DualSolution:
    """Minimise in uncorrelated directions, found anew under each answer while that helps."""
    scaled = basis @ mix
    shift, coefficients = np.zeros(mix.shape[1]), np.zeros(mix.shape[0])
    floor = float(np.min(log_p[np.isfinite(log_p)])) - 5.0  # below it no distribution can be
    best, rank, n_iter = _residual(log_p, scaled), 0, 0
    for _ in range(_N_WHITENINGS):
        whitener = _whitener(scaled, np.exp(log_p), rank_tolerance)
        directions = mix @ whitener
        rank = directions.shape[1]
        z = basis @ directions
        step, used, depth = _newton(z, log_p, scaled, tol, max_iter - n_iter, floor)
        n_iter, floor = n_iter + used, floor - depth
        candidate = log_softmax(log_p + z @ step)
        residual = _residual(candidate, scaled)
        improved = residual < 0.5 * best
        if residual <= best:
            log_p, best = candidate, residual
            shift, coefficients = shift + whitener @ step, coefficients + directions @ step
        if best <= tol or not improved or n_iter >= max_iter:
            break
    return DualSolution(shift, coefficients, log_p, best, rank, n_iter, best <= tol)


def _checked(
    found: DualSolution, basis: Array, log_base: Array, mix: Array, tol: float
) -> DualSolution:
    """Return the solution with the larger of its residuals at its points and at others."""
    there = _residual(log_softmax(log_base + basis @ found.coefficients), basis @ mix)
    residual = max(found.residual, there)
    return found._replace(residual=residual, converged=found.converged and residual <= tol)


def _residual(log_p: Array, scaled: Array) -> float:
    return float(np.max(np.abs(np.exp(log_p) @ scaled), initial=0.0))


def _whitener(scaled: Array, p: Array, rank_tolerance: float) -> Array:
    """Return W (M, R) such that the columns of ``scaled @ W`` are uncorrelated under p."""
    centred = (scaled - p @ scaled) * np.sqrt(p)[:, None]
    _, sizes, rows = np.linalg.svd(centred, full_matrices=False)
    keep = sizes > rank_tolerance * max(sizes.max(initial=0.0), 1e-300)
    return rows[keep].T / sizes[keep]


def _newton(
    z: Array, log_base: Array, scaled: Array, tol: float, max_iter: int, floor: float
) -> tuple[Array, int, float]:
    """Minimise ln Σ b exp(zλ) from λ = 0; return λ, the number of steps and the minimum."""
    lam = np.zeros(z.shape[1])
    value = 0.0  # the base is normalised
    n_iter = 0
    polished = False
    while n_iter < max_iter:
        log_p = log_softmax(log_base + z @ lam)
        if _residual(log_p, scaled) <= tol:
            if polished:
                break
            polished = True  # one more step: Newton squares the residual
        if value < floor:
            break  # deeper than the entropy of any distribution: the constraints conflict
        p = np.exp(log_p)
        slope = p @ z
        centred = z - slope
        direction = -_solve((centred * p[:, None]).T @ centred, slope)
        n_iter += 1
        moved = _search(z, log_base, lam, direction, value, float(slope @ direction))
        if moved is None:
            break
        lam, value = moved
    return lam, n_iter, value


def _solve(curvature: Array, slope: Array) -> Array:
    values, vectors = np.linalg.eigh(curvature)
    keep = exceeds_rounding(values, values.max(initial=0.0))
    return vectors[:, keep] @ ((vectors[:, keep].T @ slope) / values[keep])


def _search(
    z: Array, log_base: Array, lam: Array, direction: Array, value: float, slope: float
) -> tuple[Array, float] | None:
    """Halve the step until the dual falls enough, or until rounding hides the difference."""
    length = 1.0
    for _ in range(40):
        trial = lam + length * direction
        fallen = float(log_sum_exp(log_base + z @ trial))
        if fallen <= value + 1e-4 * length * slope + _ROUNDED * max(1.0, abs(value)):
            return trial, fallen
        length *= 0.5
    return None
