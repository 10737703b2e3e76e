r"""Stationary points under constraints: Lagrange multipliers and the conditions they satisfy.

With equalities h(x) = 0 and inequalities g(x) >= 0 the Lagrangian is

.. math:: L = f + s\,(\lambda^\top h + \mu^\top g),\qquad
          s = +1 \text{ to maximise},\ -1 \text{ to minimise},

so that multipliers of inequalities are never negative at a solution. A solution satisfies the
Karush–Kuhn–Tucker conditions :math:`\nabla L = 0`, :math:`h = 0`, :math:`g \ge 0`,
:math:`\mu \ge 0` and :math:`\mu_i g_i = 0`: a constraint either is active (g = 0) or has no force
(μ = 0). The sign of an equality does not matter, that of an inequality does.

Reference: C. Bishop, "Pattern Recognition and Machine Learning", 2006, appendix E.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.numerics.calculus.derivatives import gradient as numeric_gradient, hessian, jacobian
from posteriori.numerics.lazy import optimize
from posteriori.numerics.rank import ROUNDING
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real_vector
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["KKTReport", "kkt_residuals", "slater_point", "stationary_point"]

Function = Callable[[Array], Any]
Constraints = Function | Sequence[Function]

_ACTIVE = 1e-6  # an inequality below this counts as active when multipliers are found

#: Above this an inequality counts as strict.
_STRICT = 1e-9

#: About the length of the first step of a search, which knows no curvature yet.
_FIRST_STEP = 0.1

#: Newton steps at the end, at most.
_POLISH_STEPS = 8


class KKTReport(NamedTuple):
    """How well a point and its multipliers satisfy the Karush–Kuhn–Tucker conditions.

    Attributes
    ----------
    x : (D,)
        The point.
    value : float
        f(x).
    equality_multipliers, inequality_multipliers : (E,), (I,)
        λ and μ, with the signs of the Lagrangian above.
    active : (I,) of bool
        Which inequalities hold with equality.
    stationarity : float
        Largest entry of |∇L|.
    equality_residual, inequality_violation : float
        Largest |h|, and largest amount by which an inequality is broken.
    dual_violation : float
        Largest amount by which an inequality's multiplier is negative.
    complementarity : float
        Largest |μ g|.
    """

    x: Array
    value: float
    equality_multipliers: Array
    inequality_multipliers: Array
    active: Array
    stationarity: float
    equality_residual: float
    inequality_violation: float
    dual_violation: float
    complementarity: float

    @property
    def worst(self) -> float:
        """The largest of the five residuals."""
        return max(
            self.stationarity,
            self.equality_residual,
            self.inequality_violation,
            self.dual_violation,
            self.complementarity,
        )

    def ok(self, tol: float = 1e-6) -> bool:
        """Tell whether every condition holds within ``tol``."""
        return self.worst <= tol


def stationary_point(
    f: Function,
    start: ArrayLike,
    *,
    equalities: Constraints = (),
    inequalities: Constraints = (),
    maximize: bool = False,
    gradient: Function | None = None,
    tol: float = 1e-7,
) -> KKTReport:
    """Find a constrained stationary point and its multipliers.

    Sequential quadratic programming (SciPy's SLSQP) finds the active constraints; a few Newton
    steps on the conditions themselves then give the point and the multipliers their digits.

    Parameters
    ----------
    f : function of a vector (D,)
        Objective.
    start : array (D,)
        Where to begin; it need not satisfy the constraints.
    equalities, inequalities : function or sequence of functions
        Each returns a number or a vector that must be 0, or must not be negative.
    maximize : bool
        Whether a maximum is wanted.
    gradient : function of a vector (D,), optional
        ∇f; by default differences of f, about ten digits where f is smooth on a scale of 1e-3.
    tol : float
        What the residuals must meet; a larger one warns.

    Warns
    -----
    ConvergenceWarning
        When the conditions are not met: the problem may be infeasible or unbounded.

    Examples
    --------
    >>> best = stationary_point(
    ...     lambda x: 1 - x @ x, [0.0, 3.0], equalities=lambda x: x.sum() - 1, maximize=True
    ... )
    >>> best.x.round(9), best.equality_multipliers.round(9)
    (array([0.5, 0.5]), array([1.]))
    """
    x = np.array(real_vector("start", np.atleast_1d(start)))
    h, g = _stacked(equalities), _stacked(inequalities)
    slope = _slope_of(f, gradient)
    size = float(np.linalg.norm(slope(x)))
    unit = (-1.0 if maximize else 1.0) * (_FIRST_STEP / size if np.isfinite(size) and size else 1.0)
    constraints: list[Any] = [
        {"type": kind, "fun": c, "jac": lambda v, c=c: jacobian(c, v)}
        for kind, c in (("eq", h), ("ineq", g))
        if c(x).size
    ]
    minimize: Any = optimize.minimize  # its stubs know no function of an untyped array
    found = minimize(
        lambda v: unit * float(f(v)),
        x,
        jac=lambda v: unit * slope(v),
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    if not np.all(np.isfinite(found.x)):
        found.x = x
    report = _report_at(f, slope, h, g, found.x, maximize)
    report = _polish(f, slope, h, g, report, maximize)
    if not report.ok(tol):
        warnings.warn(
            f"no stationary point within {tol:g}: stationarity {report.stationarity:.3g}, "
            f"equalities {report.equality_residual:.3g}, inequalities "
            f"{report.inequality_violation:.3g} ({found.message}); try another start, or check "
            "that the constraints can all hold and the objective is bounded",
            ConvergenceWarning,
            stacklevel=2,
        )
    return report


def kkt_residuals(
    f: Function,
    x: ArrayLike,
    *,
    equalities: Constraints = (),
    inequalities: Constraints = (),
    equality_multipliers: ArrayLike = (),
    inequality_multipliers: ArrayLike = (),
    maximize: bool = False,
) -> KKTReport:
    """Check the Karush–Kuhn–Tucker conditions at a point with given multipliers.

    Parameters
    ----------
    f : function of a vector (D,)
        Objective.
    x : array (D,)
        The point.
    equalities, inequalities : function or sequence of functions
        Each returns a number or a vector that must be 0, or must not be negative.
    equality_multipliers, inequality_multipliers : array
        λ and μ, one per entry of the constraints; signs as stated at the top of this page.
    maximize : bool
        Whether the point is meant to be a maximum.

    Examples
    --------
    >>> kkt_residuals(
    ...     lambda x: x @ x,
    ...     [0.5, 0.5],
    ...     inequalities=lambda x: x.sum() - 1,
    ...     inequality_multipliers=[1.0],
    ... ).ok()
    True
    """
    point = np.asarray(real_vector("x", np.atleast_1d(x)))
    h, g = _stacked(equalities), _stacked(inequalities)
    lam = np.atleast_1d(np.asarray(equality_multipliers, dtype=np.float64))
    mu = np.atleast_1d(np.asarray(inequality_multipliers, dtype=np.float64))
    for name, given, c in (("equality", lam, h), ("inequality", mu, g)):
        if given.shape != c(point).shape:
            raise ValueError(
                f"{name}_multipliers must have {c(point).size} entries, got {given.size}"
            )
    return _residuals(f, _slope_of(f, None), h, g, point, lam, mu, maximize)


def slater_point(inequalities: Constraints, start: ArrayLike) -> Array | None:
    """Return a point at which all inequalities are strict, g(x) > 0, or None where none was found.

    For concave g such a point is Slater's condition: the program and its dual have the same value.

    Parameters
    ----------
    inequalities : function or sequence of functions
        Each returns a number or a vector that must be positive.
    start : array (D,)
        Where to begin.

    Notes
    -----
    The least of the inequalities is raised, max t with g(x) >= t and t <= 1, by SLSQP. With concave g
    None means that there is no such point to about 1e-9; otherwise that none is near.

    Examples
    --------
    >>> bool((slater_point(lambda x: [x[0], 1 - x[0]], [3.0]) > 0).all())
    True
    >>> slater_point(lambda x: [x[0], -x[0]], [3.0]) is None
    True
    """
    x = np.array(real_vector("start", np.atleast_1d(start)))
    g = _stacked(inequalities)
    if np.min(g(x), initial=np.inf) > 0:
        return x
    minimize: Any = optimize.minimize  # its stubs know no function of an untyped array
    constraints = [
        {"type": "ineq", "fun": lambda v: g(v[:-1]) - v[-1]},
        {"type": "ineq", "fun": lambda v: np.atleast_1d(1.0 - v[-1])},
    ]
    found = minimize(
        lambda v: -v[-1],
        np.append(x, g(x).min()),
        jac=lambda v: np.append(np.zeros(len(v) - 1), -1.0),
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    point = np.asarray(found.x[:-1])
    strict = np.all(np.isfinite(point)) and np.min(g(point)) > _STRICT
    return point if strict else None


def _stacked(constraints: Constraints) -> Callable[[Array], Array]:
    """Turn one or several constraints into one vector function."""
    listed = (constraints,) if callable(constraints) else tuple(constraints)

    def values(x: Array) -> Array:
        parts = [np.atleast_1d(np.asarray(c(x), dtype=np.float64)).ravel() for c in listed]
        return np.concatenate(parts) if parts else np.zeros(0)

    return values


def _residuals(
    f: Function,
    slope: Function,
    h: Function,
    g: Function,
    x: Array,
    lam: Array,
    mu: Array,
    maximize: bool,
) -> KKTReport:
    sign = 1.0 if maximize else -1.0
    balance = slope(x) + sign * (lam @ _rows(h, x) + mu @ _rows(g, x))
    equal, slack = h(x), g(x)
    return KKTReport(
        x,
        float(f(x)),
        lam,
        mu,
        slack <= _ACTIVE,
        _largest(balance),
        _largest(equal),
        max(0.0, float(np.max(-slack, initial=0.0))),
        max(0.0, float(np.max(-mu, initial=0.0))),
        _largest(mu * slack),
    )


def _report_at(
    f: Function, slope: Function, h: Function, g: Function, x: Array, maximize: bool
) -> KKTReport:
    """Find the multipliers that balance the gradient best: those of inequalities not negative."""
    equal, slack = h(x), g(x)
    active = slack <= _ACTIVE * max(1.0, float(np.max(np.abs(x))))
    rows = np.concatenate([_rows(h, x), _rows(g, x)[active]])
    lam, mu = np.zeros(equal.size), np.zeros(slack.size)
    if len(rows):
        sign = 1.0 if maximize else -1.0
        lower = np.concatenate([np.full(equal.size, -np.inf), np.zeros(int(active.sum()))])
        # ∇f + s Jᵀν = 0
        balance = optimize.lsq_linear(rows.T, -sign * slope(x), bounds=(lower, np.inf), tol=1e-14).x
        lam, mu[active] = balance[: equal.size], balance[equal.size :]
    return _residuals(f, slope, h, g, x, lam, mu, maximize)


def _polish(
    f: Function, slope: Function, h: Function, g: Function, report: KKTReport, maximize: bool
) -> KKTReport:
    """Take Newton steps on the conditions as long as they lower the largest residual."""
    for _ in range(_POLISH_STEPS):
        step = _newton_step(f, slope, h, g, report, maximize)
        if step is None:
            break
        trial = _residuals(f, slope, h, g, *step, maximize)
        if not trial.worst < report.worst:
            break
        report = trial
    return report


def _newton_step(
    f: Function, slope: Function, h: Function, g: Function, report: KKTReport, maximize: bool
) -> tuple[Array, Array, Array] | None:
    """Solve ∇L = 0, h = 0 and g = 0 for the active inequalities with force, to first order."""
    sign, x = 1.0 if maximize else -1.0, report.x
    forced = report.active & (report.inequality_multipliers > 1e-10)

    def binding(v: Array) -> Array:
        return np.concatenate([h(v), g(v)[forced]])

    nu = np.concatenate([report.equality_multipliers, report.inequality_multipliers[forced]])
    rows = _rows(binding, x)
    curvature = jacobian(slope, x)
    if len(nu):
        curvature = curvature + sign * hessian(lambda v: nu @ binding(v), x)
    system = np.block(
        [[0.5 * (curvature + curvature.T), sign * rows.T], [rows, np.zeros((len(nu), len(nu)))]]
    )
    target = -np.concatenate([slope(x) + sign * nu @ rows, binding(x)])
    if not (np.all(np.isfinite(system)) and np.all(np.isfinite(target))):
        return None
    step = np.linalg.lstsq(system, target, rcond=ROUNDING)[0]
    moved = nu + step[len(x) :]
    mu = np.zeros(len(report.inequality_multipliers))
    mu[forced] = moved[len(report.equality_multipliers) :]
    return x + step[: len(x)], moved[: len(report.equality_multipliers)], mu


def _slope_of(f: Function, given: Function | None) -> Function:
    if given is None:
        return lambda x: numeric_gradient(f, x)
    return lambda x: np.asarray(given(x), dtype=np.float64)


def _rows(c: Function, x: Array) -> Array:
    """Return the Jacobian (C, D), also of no constraints at all."""
    return jacobian(c, x) if np.size(c(x)) else np.zeros((0, x.size))


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))
