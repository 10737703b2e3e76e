r"""The machine of two classes: the plane :math:`w\cdot\phi(x) + b = 0` with the widest margin.

.. math:: \min\ \tfrac12|w|^2 + \textstyle\sum_nc_n\xi_n, \qquad t_n(w\cdot\phi(x_n) + b)\ge 1 - \xi_n,\quad \xi\ge 0.

Without slack (c = ∞) the plane lies midway between the nearest points of the two classes' convex hulls.
These always exist; where they are the same point, no plane divides the classes. With ν in place of c,
ν bounds the share of rows with slack from above and that of support vectors from below.

Reference: V. Vapnik, "The nature of statistical learning theory", 1995; B. Schölkopf & others, "New support
vector algorithms", Neural computation 12, 2000.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.margins.kernel_rows import RowSource
from posteriori.inference.margins.margin_solver import (
    MarginProgram,
    MarginSolution,
    solve_margin_program,
)
from posteriori.mathematics.optimization import KKTReport
from posteriori.numerics.types import Array
from posteriori.svm.dual_programs import certify, class_sum_program, classifier_program

__all__ = [
    "InseparableError",
    "TwoClassMachine",
    "divide_classes",
    "divide_hulls",
    "divide_with_nu",
]

#: Squared distance of the hulls, as a share of the largest k(x, x), below which they touch.
_TOUCH = 1e-12


class InseparableError(ValueError):
    """No plane divides the classes.

    Attributes
    ----------
    multipliers : (N,)
        Not negative, with sum 1 in each class: weights that make the same point of both hulls.
    """

    def __init__(self, message: str, multipliers: Array) -> None:
        super().__init__(message)
        self.multipliers = multipliers


class TwoClassMachine(NamedTuple):
    """What two classes t = ±1 taught.

    Attributes
    ----------
    signed : (N,)
        u = t a: the plane's normal is Σ uₙφ(xₙ).
    intercept : float
        b, the mean over rows with 0 < a < c.
    scores : (N,)
        w·φ(x) + b of the rows.
    slack : (N,)
        ξ = max(0, 1 − t(w·φ(x) + b)).
    squared_norm : float
        |w|².
    primal_objective, dual_objective : float
        ½|w|² + Σcξ of a plane that keeps the constraints, and Σa − ½|w|², which is never larger.
    certificate : KKTReport
        Of the dual, minimised, in a.
    n_iter : int
        Working sets.
    """

    signed: Array
    intercept: float
    scores: Array
    slack: Array
    squared_norm: float
    primal_objective: float
    dual_objective: float
    certificate: KKTReport
    n_iter: int

    def with_intercept(self, b: float) -> TwoClassMachine:
        """Return the same plane with b from another origin of the features."""
        report = self.certificate._replace(equality_multipliers=np.array([-b]))
        return self._replace(intercept=float(b), certificate=report)


def divide_classes(t: Array, cost: Array, source: RowSource, **options: Any) -> TwoClassMachine:
    """Divide classes t = ±1 with costs c of slack, (N,)."""
    program = classifier_program(t, cost)
    return _machine(t, cost, program, solve_margin_program(program, source, **options))


def divide_with_nu(
    t: Array, weight: Array, nu: float, source: RowSource, **options: Any
) -> TwoClassMachine:
    """Divide classes t = ±1 with ν in place of costs; rows count so many times.

    Raises
    ------
    ValueError
        Where ν is larger than twice the share of the smaller class.
    """
    smaller = min(weight[t > 0].sum(), weight[t < 0].sum())
    largest = 2.0 * smaller / weight.sum()
    if nu > largest:
        raise ValueError(
            f"nu={nu:g} cannot be kept; with these classes choose at most {largest:.6g}"
        )
    solution = solve_margin_program(
        class_sum_program(t, weight, 0.5 * nu * weight.sum()), source, **options
    )
    above, below = solution.level  # w·φ at the margins of either class
    half = 0.5 * (above - below)
    if not half > 0:
        raise ValueError(
            f"nu={nu:g} leaves no margin between the classes; use a smaller one or another kernel"
        )
    return _rescaled(t, weight / half, solution, half, -0.5 * (above + below) / half)


def divide_hulls(t: Array, source: RowSource, *, tol: float, cache_size: float) -> TwoClassMachine:
    """Divide classes t = ±1 without slack.

    Raises
    ------
    InseparableError
        Where no plane does.
    """
    cost, size = np.ones(len(t)), float(source.diagonal.max())
    program = class_sum_program(t, cost, 1.0)
    limit = tol * size
    while True:
        solution = solve_margin_program(program, source, tol=limit, cache_size=cache_size)
        u, g = solution.u, solution.gradient
        distance = float(u @ g)  # squared, of the nearest points
        clear = g[t > 0].min() - g[t < 0].max()
        if clear >= (1.0 - 0.5 * tol) * distance > _TOUCH * size:
            break
        if limit < _TOUCH * size or distance <= _TOUCH * size:
            raise _refusal(np.abs(u))
        limit = min(0.1 * limit, 0.1 * tol * max(distance, _TOUCH * size))
        program = program._replace(start=u)
    half = 0.5 * distance
    middle = 0.5 * (g[t > 0].min() + g[t < 0].max())
    return _rescaled(t, np.full(len(t), np.inf), solution, half, -middle / half)


def _refusal(multipliers: Array) -> InseparableError:
    rows = np.flatnonzero(multipliers > 0)
    shown = ", ".join(map(str, rows[:6])) + (", …" if len(rows) > 6 else "")
    return InseparableError(
        f"C=inf asks for a plane between the classes and there is none: rows {shown} make the same point "
        "of both hulls (their weights are the error's multipliers); use a finite C or another kernel",
        multipliers,
    )


def _rescaled(
    t: Array, cost: Array, found: MarginSolution, unit: float, intercept: float
) -> TwoClassMachine:
    """Return a solution in the unit in which margins are ±1, where it solves the program with costs."""
    program = classifier_program(t, cost)
    gradient = found.gradient / unit - t
    solution = found._replace(u=found.u / unit, gradient=gradient, level=np.array([-intercept]))
    return _machine(t, cost, program, solution)


def _machine(
    t: Array, cost: Array, program: MarginProgram, solution: MarginSolution
) -> TwoClassMachine:
    products = solution.gradient - program.linear  # Ku
    intercept = -float(solution.level[0])
    scores = products + intercept
    slack = np.maximum(0.0, 1.0 - t * scores)
    square = max(float(solution.u @ products), 0.0)
    hard = np.isinf(cost).any()
    # without slack w is stretched until all rows keep their distance
    stretch = 1.0 - slack.max() if hard else 1.0
    paid = 0.0 if hard else float(cost @ slack)
    primal = 0.5 * square / stretch**2 + paid
    dual = float(np.abs(solution.u).sum() - 0.5 * square)
    report = certify(program, solution)
    return TwoClassMachine(
        solution.u, intercept, scores, slack, square, primal, dual, report, solution.n_iter
    )
