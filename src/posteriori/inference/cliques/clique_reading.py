"""Loops that read an answer off cliques to which messages from below have come: joint tables, best states, draws."""

from __future__ import annotations

import math

from posteriori.inference.cliques.clique_loops import fold
from posteriori.inference.cliques.clique_plan import PlanArrays
from posteriori.inference.cliques.clique_runs import Axes, Runs, join_axes
from posteriori.numerics.compilation import compilable_bare
from posteriori.numerics.types import Array, IntArray

__all__ = ["draw_below", "find_best", "read_joint"]


@compilable_bare
def read_joint(
    plan: PlanArrays,
    runs: Runs,
    states: IntArray,
    log_total: Array,
    c: int,
    wanted: IntArray,
    axes: Axes,
    cells: Array,
    found: Array,
) -> None:
    """Add up the table of a root to that of some of its variables, in their order.

    Parameters
    ----------
    plan, runs, states, log_total, cells
        As ``collect_rows`` has left them.
    c : int
    wanted : (W,) of int
    axes : Axes
    found : (B, K)
        Zeros; it may be larger than the variables that are not observed need.
    """
    axis_size, axis_step, size, step, counter = axes
    low, n_axes = plan.start[c], plan.start[c + 1] - plan.start[c]
    for b in range(len(log_total)):
        if log_total[b] > -math.inf:
            for a in range(n_axes):
                v = plan.axes[low + a]
                axis_size[a], axis_step[a] = plan.sizes[v] if states[b][v] < 0 else 1, 0
            on = 1
            for k in range(len(wanted) - 1, -1, -1):
                for a in range(n_axes):
                    if plan.axes[low + a] == wanted[k]:
                        axis_step[a] = on
                        on *= axis_size[a]
            loops = join_axes(n_axes, axis_size, axis_step, 0, size, step)
            at, count = plan.first_cell[c], runs.count[b if len(runs.count) > 1 else 0][c]
            fold(0, 0, loops, size, step, counter, cells[b], at, at + count, found[b])


@compilable_bare
def find_best(
    plan: PlanArrays,
    runs: Runs,
    states: IntArray,
    log_total: Array,
    cells: Array,
    best: IntArray,
) -> None:
    """Write the states at the largest cell, clique by clique from the roots.

    Parameters
    ----------
    plan, runs, states, log_total, cells
        As ``collect_rows`` has left them.
    best : (B, n) of int
        As ``states``; what is best is written.
    """
    for b in range(len(log_total)):
        for c in range(len(plan.above) - 1, -1, -1):
            if log_total[b] == -math.inf:
                break
            low, shared, r = plan.start[c], plan.shared[c], b if len(runs.count) > 1 else 0
            n, place = runs.count[r][c] // runs.kept[r][c], 0
            for a in range(low, low + shared):
                v = plan.axes[a]
                if states[b][v] < 0:
                    place = place * plan.sizes[v] + best[b][v]
            at, top = plan.first_cell[c] + place * n, 0
            for i in range(1, n):
                if cells[b][at + i] > cells[b][at + top]:
                    top = i
            for a in range(plan.start[c + 1] - 1, low + shared - 1, -1):
                v = plan.axes[a]
                if states[b][v] < 0:
                    best[b][v] = top % plan.sizes[v]
                    top //= plan.sizes[v]


@compilable_bare
def draw_below(
    plan: PlanArrays, states: IntArray, cells: Array, uniform: Array, drawn: IntArray
) -> None:
    """Draw states clique by clique from the roots, each given its separator; cells as messages left them.

    Parameters
    ----------
    plan, states : (n,) of int
    cells : (M,)
    uniform : (D, C)
        A number in [0, 1) for each draw and clique.
    drawn : (D, n) of int
        Written, but for what is observed.
    """
    for c in range(len(plan.above) - 1, -1, -1):
        low, shared = plan.start[c], plan.shared[c]
        n = 1
        for a in range(low + shared, plan.start[c + 1]):
            n *= plan.sizes[plan.axes[a]] if states[plan.axes[a]] < 0 else 1
        for d in range(len(uniform)):
            place = 0
            for a in range(low, low + shared):
                v = plan.axes[a]
                if states[v] < 0:
                    place = place * plan.sizes[v] + drawn[d][v]
            at, total = plan.first_cell[c] + place * n, 0.0
            for i in range(at, at + n):
                total += cells[i]
            left, r = uniform[d][c] * total, 0
            while r < n - 1 and (left >= cells[at + r] or cells[at + r] == 0.0):
                left -= cells[at + r]
                r += 1
            while (
                cells[at + r] == 0.0 and r > 0
            ):  # rounding went past the last state that is possible
                r -= 1
            for a in range(plan.start[c + 1] - 1, low + shared - 1, -1):
                v = plan.axes[a]
                if states[v] < 0:
                    drawn[d][v] = r % plan.sizes[v]
                    r //= plan.sizes[v]
