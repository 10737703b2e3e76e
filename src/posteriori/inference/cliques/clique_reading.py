"""Loops that read an answer off cliques to which messages from below have come: joint tables, best states, draws."""

from __future__ import annotations

import math

from posteriori.inference.cliques.clique_loops import collect_row, fold, leave_logs
from posteriori.inference.cliques.clique_plan import PlanArrays
from posteriori.inference.cliques.clique_runs import Axes, Runs, join_axes, lay_row
from posteriori.inference.cliques.table_set import TableSet
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["draw_below", "find_best", "joint_rows"]


@kernel(plain=True, allocates=False)
def joint_rows(
    plan: PlanArrays,
    tables: TableSet,
    runs: Runs,
    states: IntArray,
    first_row: int,
    axes: Axes,
    floors: Array,
    cells: Array,
    messages: Array,
    tops: Array,
    c: int,
    wanted: IntArray,
    log_total: Array,
    found: Array,
) -> int:
    """Make the joint table of some variables of a root for rows whose total is NaN; return how many are left.

    Parameters
    ----------
    plan, tables, states, first_row, floors, log_total
        As for ``collect_rows``.
    runs, axes, cells, messages, tops
        Room for one row.
    c : int
    wanted : (W,) of int
    found : (B, K)
        Zeros; the last of the variables is the fastest. It may be larger than those that are not observed need.
    """
    left = 0
    n_cells, kept, length, size, step = runs
    for b in range(len(log_total)):
        if log_total[b] == log_total[b]:
            continue
        here = states[b]
        lay_row(plan, here, axes, n_cells[0], kept[0], length[0], size[0], step[0])
        total = collect_row(
            plan,
            tables,
            runs,
            0,
            first_row + b,
            here,
            axes.counter,
            floors,
            cells[0],
            messages[0],
            tops[0],
        )
        log_total[b] = total
        if total != total:
            left += 1
        elif total > -math.inf:
            if tables.logs:
                leave_logs(plan, runs, 0, cells[0], messages[0], tops[0])
            _read_joint(plan, here, c, wanted, axes, cells[0], found[b])
    return left


@kernel(plain=True, allocates=False)
def _read_joint(
    plan: PlanArrays,
    states: IntArray,
    c: int,
    wanted: IntArray,
    axes: Axes,
    cells: Array,
    found: Array,
) -> None:
    """Add up the table of a clique to that of some of its variables, in their order."""
    low, n_axes, count = plan.start[c], plan.start[c + 1] - plan.start[c], 1
    for a in range(n_axes):
        v = plan.axes[low + a]
        axes.size[a], axes.step[a] = plan.sizes[v] if states[v] < 0 else 1, 0
        count *= axes.size[a]
    on = 1
    for k in range(len(wanted) - 1, -1, -1):
        for a in range(n_axes):
            if plan.axes[low + a] == wanted[k]:
                axes.step[a] = on
                on *= axes.size[a]
    loops = join_axes(n_axes, axes.size, axes.step, 0, axes.run_size, axes.run_step)
    at = plan.first_cell[c]
    fold(0, 0, loops, axes.run_size, axes.run_step, axes.counter, cells, at, at + count, found)


@kernel(plain=True, allocates=False)
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
            low, shared, r = plan.start[c], plan.shared[c], b if len(runs.n_cells) > 1 else 0
            n, place = runs.n_cells[r][c] // runs.kept[r][c], 0
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


@kernel(plain=True, allocates=False)
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
