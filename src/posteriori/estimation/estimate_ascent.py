r"""Climbing a log density to its top, with a report of how flat the ground is there.

At a maximum the gradient is 0 and the Hessian H negative definite; :math:`\tfrac12 g^\top(-H)^{-1}g`
is what one more Newton step would gain, and :math:`\sqrt{\operatorname{diag}(-H)^{-1}}` are the
standard errors of the coordinates.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.numerics.calculus.derivatives import (
    gradient as numeric_gradient,
    hessian as numeric_hessian,
    jacobian,
)
from posteriori.numerics.lazy import optimize
from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["EstimateReport", "Verdict", "climb", "judge_curvature", "standard_errors_of"]

Verdict = Literal["strictly concave", "flat", "not a maximum", "on the boundary", "unknown"]
Bounds = Sequence[tuple[float | None, float | None]]

_FLAT = 1e-7  # eigenvalues of the Hessian below this share of the largest count as 0

#: Newton steps at the end, at most.
_POLISH_STEPS = 20


class EstimateReport(NamedTuple):
    """A point estimate and how much to trust it.

    Attributes
    ----------
    estimate : float, array or distribution
        The maximiser, in the shape of the start; a distribution where a family was fitted.
    value : float
        The maximum: log likelihood, plus log prior for a MAP estimate.
    gradient_norm : float
        Euclidean norm of the gradient there, 0 at an interior maximum.
    hessian : (D, D) or None
        Second derivatives there, in the coordinates of the estimate (natural parameters where a
        family was fitted).
    concavity : str
        "strictly concave" (the Hessian is negative definite, so this is a strict local maximum),
        "flat" (some direction is not determined by the data), "not a maximum",
        "on the boundary", or "unknown" where there is no Hessian.
    standard_errors : array or None
        Square roots of the diagonal of (−H)⁻¹, where that exists.
    n_iter : int
        Steps of the optimiser; 0 for a closed form.
    converged : bool
        Whether the top was reached.
    method : str
        How the estimate was found.
    """

    estimate: Any
    value: float
    gradient_norm: float
    hessian: Array | None
    concavity: Verdict
    standard_errors: Array | None
    n_iter: int
    converged: bool
    method: str


def climb(
    objective: Callable[[Any], Any],
    start: ArrayLike,
    *,
    gradient: Callable[[Any], Any] | None = None,
    hessian: Callable[[Any], Any] | None = None,
    bounds: Bounds | None = None,
    max_iter: int = 500,
    tol: float = 1e-8,
) -> EstimateReport:
    """Maximise a function of a number or an array.

    Quasi-Newton steps (SciPy) find the top, Newton steps then give it its digits. A function that
    is −inf in places is legal; where quasi-Newton steps fail, the simplex method takes over.

    Parameters
    ----------
    objective : callable
        Takes a point in the shape of ``start``; −inf marks forbidden points.
    start : float or array
        A point where the objective is finite. Its entries set the scale of numeric derivatives.
    gradient, hessian : callable, optional
        Derivatives at a point, (D,) and (D, D) in flattened coordinates; numeric by default.
    bounds : sequence of (lower, upper), optional
        One pair per coordinate; None stands for no bound.
    max_iter : int
        Most quasi-Newton steps.
    tol : float
        What another Newton step may gain at most.

    Warns
    -----
    ConvergenceWarning
        When the top was not reached.
    """
    shape = np.shape(start)
    x = np.array(real("start", start), dtype=np.float64).ravel()
    scale = np.where(x != 0, np.abs(x), 1.0)

    def point(u: Array) -> Any:
        return (u * scale).reshape(shape)[()] if shape else float(u[0] * scale[0])

    def value(u: Array) -> float:
        with np.errstate(all="ignore"):
            height = float(np.sum(objective(point(u))))
        return -np.inf if np.isnan(height) else height

    def slope(u: Array) -> Array:
        if gradient is not None:
            return np.asarray(gradient(point(u)), dtype=np.float64).ravel() * scale
        return numeric_gradient(value, u)

    def curvature(u: Array) -> Array:
        if hessian is not None:
            given = np.asarray(hessian(point(u)), dtype=np.float64)
            return given.reshape(x.size, x.size) * np.outer(scale, scale)
        if gradient is not None:
            rows = jacobian(slope, u)
            return 0.5 * (rows + rows.T)
        return numeric_hessian(value, u)

    u = x / scale
    if not np.isfinite(value(u)):
        raise ValueError(f"the log density at start = {start!r} is not finite; start elsewhere")
    limits = None if bounds is None else _scaled_bounds(bounds, scale)
    with np.errstate(all="ignore"):  # differences across forbidden points are not finite
        u, n_iter = _quasi_newton(value, slope, u, limits, max_iter)
        u = _polish(value, slope, curvature, u, limits)
        return _report(value, slope, curvature, u, scale, shape, limits, n_iter, tol)


def judge_curvature(hessian: Array | None) -> Verdict:
    """Tell from the eigenvalues of a Hessian what kind of point it belongs to."""
    if hessian is None or not np.all(np.isfinite(hessian)):
        return "unknown"
    spread = np.sqrt(np.maximum(np.abs(np.diagonal(hessian)), 1e-300))
    values = np.linalg.eigvalsh(hessian / np.outer(spread, spread))
    if np.any(values > _FLAT):
        return "not a maximum"
    return "flat" if np.any(values > -_FLAT) else "strictly concave"


def standard_errors_of(hessian: Array | None) -> Array | None:
    """Return the square roots of the diagonal of (−H)⁻¹; None where H is not negative definite."""
    if hessian is None or judge_curvature(hessian) != "strictly concave":
        return None
    return np.sqrt(np.diagonal(inverse_from_factor(np.linalg.cholesky(-hessian))))


def _quasi_newton(
    value: Callable[[Array], float],
    slope: Callable[[Array], Array],
    u: Array,
    limits: Any,
    max_iter: int,
) -> tuple[Array, int]:
    minimize: Any = optimize.minimize

    def depth(v: Array) -> float:
        height = value(v)
        return -height if np.isfinite(height) else 1e100

    def fall(v: Array) -> Array:
        return -np.nan_to_num(slope(v), nan=0.0, posinf=1e100, neginf=-1e100)

    method = "BFGS" if limits is None else "L-BFGS-B"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = minimize(
            depth, u, jac=fall, method=method, bounds=limits, options={"maxiter": max_iter}
        )
        n_iter, best = int(found.nit), found.x
        decent = np.linalg.norm(fall(best)) <= 1e-3 * max(1.0, abs(depth(best)))
        if limits is None and not decent:
            again = minimize(
                depth,
                best,
                method="Nelder-Mead",
                options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 400 * u.size},
            )
            n_iter, best = n_iter + int(again.nit), again.x
    return (best, n_iter) if value(best) >= value(u) else (u, n_iter)


def _polish(
    value: Callable[[Array], float],
    slope: Callable[[Array], Array],
    curvature: Callable[[Array], Array],
    u: Array,
    limits: Any,
) -> Array:
    if limits is not None and np.any(_held(u, slope(u), limits)):
        return u
    for _ in range(_POLISH_STEPS):
        g, h = slope(u), curvature(u)
        if not np.all(np.isfinite(h)) or judge_curvature(h) != "strictly concave":
            break
        step = np.linalg.solve(-h, g)
        trial = u + step
        if not value(trial) >= value(u) - 1e-12 * max(1.0, abs(value(u))):
            break
        if limits is not None and not np.all((trial >= limits[:, 0]) & (trial <= limits[:, 1])):
            break
        if not np.linalg.norm(slope(trial)) < np.linalg.norm(g):
            break
        u = trial
    return u


def _report(
    value: Callable[[Array], float],
    slope: Callable[[Array], Array],
    curvature: Callable[[Array], Array],
    u: Array,
    scale: Array,
    shape: tuple[int, ...],
    limits: Any,
    n_iter: int,
    tol: float,
) -> EstimateReport:
    g, scaled = slope(u), curvature(u)
    held = np.zeros(u.shape, dtype=bool) if limits is None else _held(u, g, limits)
    hessian = scaled / np.outer(scale, scale)
    verdict: Verdict = "on the boundary" if np.any(held) else judge_curvature(hessian)
    free = np.where(held, 0.0, g)
    if _is_noise(scaled, value(u)) and not np.any(held):
        verdict = "flat"
    defined = bool(np.all(np.isfinite(free)) and np.all(np.isfinite(scaled)))
    converged = (
        defined
        and not _is_noise(scaled, value(u))
        and _gain(free, scaled, held) <= max(tol, 1e-12 * abs(value(u)))
    )
    if not converged:
        warnings.warn(
            f"the maximum was not reached after {n_iter} steps: the gradient has norm "
            f"{np.linalg.norm(free):.3g} and the point is {verdict}; try another start, other "
            "coordinates or bounds",
            ConvergenceWarning,
            stacklevel=4,
        )
    point = u * scale
    errors = standard_errors_of(hessian) if verdict == "strictly concave" else None
    return EstimateReport(
        point.reshape(shape)[()],
        value(u),
        float(np.linalg.norm(free / scale)),
        hessian,
        verdict,
        None if errors is None else errors.reshape(shape)[()],
        n_iter,
        converged,
        "numeric",
    )


def _is_noise(curvature: Array, height: float) -> bool:
    """Tell whether no direction curves beyond rounding: the ground is level, or rises for ever."""
    return bool(np.max(np.abs(curvature)) <= 1e-9 * max(1.0, abs(height)))


def _gain(g: Array, h: Array, held: Array) -> float:
    """Return what a Newton step in the free coordinates would gain."""
    free = ~held
    if not np.any(free):
        return 0.0
    values, vectors = np.linalg.eigh(-h[np.ix_(free, free)])
    along = vectors.T @ g[free]
    return float(
        0.5
        * (along**2 / np.maximum(np.abs(values), 1e-6 * max(np.abs(values).max(), 1e-300))).sum()
    )


def _scaled_bounds(bounds: Bounds, scale: Array) -> Array:
    pairs = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds]
    if len(pairs) != scale.size:
        raise ValueError(f"bounds must have {scale.size} pairs, got {len(pairs)}")
    return np.array(pairs, dtype=np.float64) / scale[:, None]


def _held(u: Array, g: Array, limits: Array) -> Array:
    """Mark coordinates that a bound keeps from climbing further."""
    near = 1e-9 * np.maximum(1.0, np.abs(u))
    return ((u <= limits[:, 0] + near) & (g <= 0)) | ((u >= limits[:, 1] - near) & (g >= 0))
