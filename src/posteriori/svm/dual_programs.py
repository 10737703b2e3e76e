r"""The duals of support vector machines as one kind of program, and their certificate.

.. math:: \min_u\ \tfrac12u^\top Ku + q^\top u, \qquad 0\le s_iu_i\le c_i, \qquad \textstyle\sum_G u = \text{const}.

With :math:`a = su\ge 0` the conditions of Karush, Kuhn and Tucker name multipliers :math:`\mu = \max(0, s(g - \rho))` of
:math:`a\ge 0` and :math:`\nu = \max(0, s(\rho - g))` of :math:`a\le c`, so that what is left to check is
:math:`\mu a = 0` and :math:`\nu(c - a) = 0`.

Reference: C.-C. Chang & C.-J. Lin, "LIBSVM", ACM transactions on intelligent systems and technology 2, 2011.
"""

from __future__ import annotations

import numpy as np

from posteriori.inference.margins.margin_solver import MarginProgram, MarginSolution
from posteriori.mathematics.optimization import KKTReport
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "certify",
    "class_sum_program",
    "classifier_program",
    "one_class_program",
    "regressor_program",
    "tube_sum_program",
]


def classifier_program(t: Array, cost: Array) -> MarginProgram:
    """Return the dual of two classes t = ±1 with costs c: q = −t, Σu = 0."""
    return _program(-t, t, cost, np.zeros(len(t)))


def class_sum_program(t: Array, cost: Array, total: float) -> MarginProgram:
    """Return the program whose a sum to a total in each class: that of ν, or of the nearest points of hulls."""
    start = t * _filled(cost, t > 0, total) + t * _filled(cost, t < 0, total)
    return _program(np.zeros(len(t)), t, cost, start, group=(t < 0).astype(np.int64))


def regressor_program(y: Array, cost: Array, epsilon: float) -> MarginProgram:
    """Return the dual of a tube of half width ε: each row has a coordinate for either side, q = −y ± ε."""
    sign = np.repeat([1.0, -1.0], len(y))
    linear = epsilon * sign - np.tile(y, 2)
    return _program(linear, sign, np.tile(cost, 2), np.zeros(2 * len(y)), twice=True)


def tube_sum_program(y: Array, cost: Array, total: float) -> MarginProgram:
    """Return the dual of a tube whose width is found: the coordinates of either side sum to a total."""
    side = _filled(cost, np.ones(len(y), dtype=bool), total)
    sign = np.repeat([1.0, -1.0], len(y))
    group = np.repeat([0, 1], len(y))
    return _program(-np.tile(y, 2), sign, np.tile(cost, 2), sign * np.tile(side, 2), group, True)


def one_class_program(cost: Array, total: float) -> MarginProgram:
    """Return the dual of a plane between the rows and the origin: q = 0, Σu = total."""
    ones = np.ones(len(cost))
    return _program(np.zeros(len(cost)), ones, cost, _filled(cost, ones > 0, total))


def _program(
    linear: Array,
    sign: Array,
    cost: Array,
    start: Array,
    group: IntArray | None = None,
    twice: bool = False,
) -> MarginProgram:
    count = len(sign)
    row = np.tile(np.arange(count // 2), 2) if twice else np.arange(count)
    group = np.zeros(count, dtype=np.int64) if group is None else group
    lower, upper = np.where(sign > 0, 0.0, -cost), np.where(sign > 0, cost, 0.0)
    return MarginProgram(linear, lower, upper, start, row, group)


def _filled(cost: Array, able: Array, total: float) -> Array:
    """Return 0 <= a <= c on the rows that are able, the first of them full, with a given sum."""
    room = np.where(able, cost, 0.0)
    before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    return np.clip(total - before, 0.0, room)


def certify(program: MarginProgram, solution: MarginSolution) -> KKTReport:
    """Return how well a solution satisfies the conditions of the dual, in a = |u|.

    The inequalities are a >= 0, and then a <= c where c is finite; the objective is minimised.
    """
    u, g = solution.u, solution.gradient
    sign = np.where(program.upper > 0, 1.0, -1.0)
    a, cost = np.abs(u), program.upper - program.lower
    excess = sign * (g - solution.level[program.group])
    bounded = np.isfinite(cost)
    slack = np.concatenate([a, (cost - a)[bounded]])
    below = np.where(bounded, np.maximum(excess, 0.0), excess)
    multipliers = np.concatenate([below, np.maximum(-excess, 0.0)[bounded]])
    moved = np.bincount(program.group, u - program.start, minlength=program.groups)
    return KKTReport(
        x=a,
        value=float(0.5 * u @ (g + program.linear)),
        equality_multipliers=solution.level,
        inequality_multipliers=multipliers,
        active=slack <= 0.0,
        stationarity=0.0,
        equality_residual=float(np.abs(moved).max()),
        inequality_violation=float(max(0.0, -slack.min())),
        dual_violation=float(max(0.0, -multipliers.min())),
        complementarity=float(np.abs(multipliers * slack).max()),
    )
