r"""How tables and messages lie in cliques: nested loops over runs of cells, for each row of evidence.

Neighbouring axes of a clique that one loop can run over are joined, and axes of one state, which variables that a
row observes have, drop out. So the loops over cells need to know of sizes and steps only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.cliques.clique_plan import PlanArrays
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import IntArray

__all__ = ["Axes", "Runs", "join_axes", "lay_row", "lay_runs", "make_runs"]


class Runs(NamedTuple):
    """Loops of each row of evidence; one row where all have the same.

    What is multiplied into cliques is numbered: the tables of ``PlanArrays.used``, then the messages of all cliques.

    Attributes
    ----------
    n_cells, kept : (B, C)
        Cells of each clique, and of its message.
    length : (B, I)
        Loops over each table or message.
    size, step : (B, S)
        How often each loop runs, and how many cells it goes on in the smaller table, the fastest loop first;
        those of input i from ``PlanArrays.first_run[i]`` on, two at least. Cliques of one cell have none.
    """

    n_cells: IntArray
    kept: IntArray
    length: IntArray
    size: IntArray
    step: IntArray


class Axes(NamedTuple):
    """Room for sizes and steps of the axes of one clique and of loops over it, and for counters of these."""

    size: IntArray
    step: IntArray
    run_size: IntArray
    run_step: IntArray
    counter: IntArray


def make_runs(plan: PlanArrays, rows: int) -> Runs:
    """Return room for the loops of some rows."""
    cliques, inputs, room = len(plan.above), len(plan.first_run) - 1, int(plan.first_run[-1])
    return Runs(
        *(np.zeros((rows, n), dtype=np.int64) for n in (cliques, cliques, inputs, room, room))
    )


@kernel(plain=True, allocates=False)
def lay_runs(
    plan: PlanArrays,
    states: IntArray,
    axes: Axes,
    n_cells: IntArray,
    kept: IntArray,
    length: IntArray,
    size: IntArray,
    step: IntArray,
) -> None:
    """Write down the loops of rows of evidence.

    Parameters
    ----------
    plan : PlanArrays
    states : (B, n) of int
        −1 for variables that are not observed.
    axes : Axes
    n_cells, kept, length, size, step
        Of :class:`Runs`, written.
    """
    for b in range(len(states)):
        lay_row(plan, states[b], axes, n_cells[b], kept[b], length[b], size[b], step[b])


@kernel(plain=True, allocates=False)
def lay_row(
    plan: PlanArrays,
    states: IntArray,
    axes: Axes,
    n_cells: IntArray,
    kept: IntArray,
    length: IntArray,
    size: IntArray,
    step: IntArray,
) -> None:
    """Write down the loops of one row of evidence, (n,)."""
    n_used = len(plan.used)
    for c in range(len(plan.above)):
        low, n_axes, cells = plan.start[c], plan.start[c + 1] - plan.start[c], 1
        for a in range(n_axes):
            v = plan.axes[low + a]
            if a == plan.shared[c]:
                kept[c] = cells
            axes.size[a] = plan.sizes[v] if states[v] < 0 else 1
            cells *= axes.size[a]
        if n_axes == plan.shared[c]:
            kept[c] = cells
        n_cells[c] = cells
        if cells == 1:  # one product, no loops
            continue
        for i in range(plan.first_used[c], plan.first_used[c + 1]):
            for a in range(n_axes):
                axes.step[a] = plan.steps[plan.step_start[i] + a]
            length[i] = join_axes(n_axes, axes.size, axes.step, plan.first_run[i], size, step)
        for e in range(plan.first_below[c], plan.first_below[c + 1]):
            i = n_used + plan.below[e]
            _set_steps(plan, c, plan.below[e], axes.size, axes.step)
            length[i] = join_axes(n_axes, axes.size, axes.step, plan.first_run[i], size, step)


@kernel(plain=True, allocates=False)
def _set_steps(
    plan: PlanArrays, c: int, below: int, axis_size: IntArray, axis_step: IntArray
) -> None:
    """Write down how many cells of the message of a clique below the next state of each axis is on."""
    a, step = plan.start[c + 1] - plan.start[c] - 1, 1
    for b in range(plan.start[below] + plan.shared[below] - 1, plan.start[below] - 1, -1):
        while plan.axes[plan.start[c] + a] != plan.axes[b]:
            axis_step[a] = 0
            a -= 1
        axis_step[a] = step
        step *= axis_size[a]
        a -= 1
    while a >= 0:
        axis_step[a] = 0
        a -= 1


@kernel(plain=True, allocates=False)
def join_axes(
    n_axes: int, axis_size: IntArray, axis_step: IntArray, at: int, size: IntArray, step: IntArray
) -> int:
    """Join neighbouring axes that one loop can run over; return how many loops there are."""
    runs = 0
    for a in range(n_axes - 1, -1, -1):
        last = at + runs - 1
        if axis_size[a] > 1:
            if runs > 0 and axis_step[a] == step[last] * size[last]:
                size[last] *= axis_size[a]
            else:
                size[last + 1], step[last + 1] = axis_size[a], axis_step[a]
                runs += 1
    for k in range(runs, 2):
        size[at + k], step[at + k] = 1, 0
    return runs
