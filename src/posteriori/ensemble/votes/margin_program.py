r"""The linear program of the largest margin, solved by adding hypotheses one at a time.

.. math:: \max_{w, \rho, \xi}\ \rho - \sum_n D_n \xi_n \quad\text{with}\quad
   y_n\sum_j w_j h_j(x_n) \ge \rho - \xi_n,\ \ \sum_j w_j = 1,\ \ w, \xi \ge 0

over all hypotheses :math:`h_j` of a weak learner. Its dual has a weight for each row,

.. math:: \min_{d, \gamma}\ \gamma \quad\text{with}\quad
   \sum_n d_n y_n h_j(x_n) \le \gamma,\ \ \sum_n d_n = 1,\ \ 0 \le d_n \le D_n,

and both have the same value. The program over a few hypotheses bounds it from below, the largest edge
under any weights d from above; hypotheses of larger edges are added, until the two meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from posteriori.ensemble.votes.weak_learners import Hypothesis
from posteriori.numerics.types import Array

__all__ = ["MarginProgram", "Stage", "generate_columns", "solve_program"]


class MarginProgram(NamedTuple):
    """A solved program.

    Attributes
    ----------
    weights : (J,)
        w, which sum to 1.
    margin : float
        ρ.
    objective : float
        The value, γ.
    row_weights : (N,)
        d.
    """

    weights: Array
    margin: float
    objective: float
    row_weights: Array


class Stage(NamedTuple):
    """A step of the generation.

    Attributes
    ----------
    members : list of J
        All hypotheses so far.
    program : MarginProgram
        With these.
    bound : float
        The least of the largest edges so far, which the value over all hypotheses does not exceed.
    """

    members: list[Any]
    program: MarginProgram
    bound: float

    @property
    def gap(self) -> float:
        """By how much the value over all hypotheses may be larger."""
        return max(self.bound - self.program.objective, 0.0)


def solve_program(products: Array, cap: Array | None) -> MarginProgram:
    """Return the solution of the program over given hypotheses, by HiGHS.

    Parameters
    ----------
    products : (J, N)
        :math:`y_n h_j(x_n)`.
    cap : (N,) or None
        D; None is a hard margin.
    """
    j, n = products.shape
    cost = np.append(np.zeros(n), 1.0)
    edges = np.column_stack([products, np.full(j, -1.0)])  # Σ d y h − γ ≤ 0
    total = np.append(np.ones(n), 0.0)[None, :]
    highest = [None] * n if cap is None else cap.tolist()
    bounds = [*((0.0, most) for most in highest), (None, None)]
    found: Any = linprog(cost, edges, np.zeros(j), total, [1.0], bounds, method="highs")
    if not found.success:
        raise RuntimeError(f"the linear program of the margin was not solved: {found.message}")
    weights = np.maximum(-found.ineqlin.marginals, 0.0)
    margin = float(found.eqlin.marginals[0])
    return MarginProgram(
        weights / weights.sum(), margin, float(found.fun), np.maximum(found.x[:-1], 0.0)
    )


def generate_columns(
    learn: Callable[[Array], list[Hypothesis]],
    sign: Array,
    start: Array,
    cap: Array | None,
    tol: float,
) -> Iterator[Stage]:
    """Yield programs over more and more hypotheses, until the gap is at most ``tol``.

    Parameters
    ----------
    learn : callable
        Returns hypotheses for weights (N,), the one of largest edge first.
    sign : (N,)
        y = ±1.
    start : (N,)
        Weights of the first hypotheses.
    cap : (N,) or None
    tol : float
    """
    members: list[Any] = []
    program: MarginProgram | None = None
    products, weights, value, bound = np.zeros((0, len(sign))), start, -np.inf, np.inf
    while True:
        found = learn(weights)
        new = np.array([sign * (2.0 * one.predicted - 1.0) for one in found])  # y h(x)
        edges = new @ weights
        if program is not None:
            bound = min(bound, float(edges[0]))
            yield Stage(members, program, bound)
            if bound - value <= tol:
                return
        useful = edges > value + tol
        members = [*members, *(one.member for one, add in zip(found, useful, strict=True) if add)]
        products = np.vstack([products, new[useful]])
        program = solve_program(products, cap)
        weights, value = program.row_weights, program.objective
