r"""Loops over the cells of cliques: tables multiplied in, residuals summed out, beliefs handed down.

Up the tree, from the leaves,

.. math:: \psi_c = \prod_{f \in c} \phi_f \prod_{b \text{ below } c} \mu_b, \qquad
   \mu_c(s) = \sum_r \psi_c(s, r),

and down again, :math:`p(s, r) = p(s)\,\psi_c(s, r)/\mu_c(s)`. The separator's axes are the slow ones of a clique:
a message is a sum of runs of neighbouring cells. Variables that a row observes have axes of one state.

Reference: S. L. Lauritzen & D. J. Spiegelhalter, "Local computations with probabilities on graphical structures
and their application to expert systems", JRSS B 50(2), 1988.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from posteriori.inference.cliques.clique_plan import PlanArrays
from posteriori.inference.cliques.table_set import LEAST
from posteriori.numerics.compilation import compilable_bare
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "BELIEFS",
    "BEST",
    "JOINT",
    "MARGINALS",
    "TOTALS",
    "Room",
    "Tables",
    "answer_rows",
    "draw_below",
    "make_room",
]

#: What is asked of each row of evidence.
TOTALS, MARGINALS, JOINT, BEST, BELIEFS = range(5)


class Tables(NamedTuple):
    """What the loops need of a :class:`TableSet`."""

    start: IntArray
    scope: IntArray
    stride: IntArray
    base: IntArray
    row: IntArray
    cells: Array
    floor: Array


class Axes(NamedTuple):
    """Axes of the clique at hand: room for sizes, cells to the next state, runs and counters of loops."""

    size: IntArray
    step: IntArray
    run_size: IntArray
    run_step: IntArray
    counter: IntArray


class Room(NamedTuple):
    """Room for what the loops note down.

    Attributes
    ----------
    axes : Axes
    floors, tops : (C,)
        ln of the smallest part of each message that is not 0, and the largest, by which it was divided.
    margin : (S,)
        For the largest message or residual.
    """

    axes: Axes
    floors: Array
    tops: Array
    margin: Array


def make_room(cliques: int, longest: int, widest: int) -> Room:
    """Return room for runs of a plan, whose cliques, axes of one, and cells of a message are so many."""
    axes = Axes(*np.zeros((5, longest + 2), dtype=np.int64))
    return Room(axes, np.zeros(cliques), np.zeros(cliques), np.zeros(widest))


@compilable_bare
def answer_rows(
    plan: PlanArrays,
    tables: Tables,
    logs: int,
    what: int,
    clique: int,
    wanted: IntArray,
    rows: IntArray,
    states: IntArray,
    room: Room,
    cells: Array,
    messages: Array,
    log_total: Array,
    found: Array,
    best: IntArray,
) -> None:
    """Answer one question for many rows of evidence.

    Parameters
    ----------
    plan, tables
    logs : int
        Whether the tables are logarithms.
    what : int
        ``TOTALS``, ``MARGINALS`` (of all variables), ``JOINT`` (of ``wanted``, in ``clique``), ``BEST`` (states)
        or ``BELIEFS`` (cells of all cliques become probabilities; for one row).
    clique : int
    wanted : (W,) of int
    rows : (R,) of int
        Which rows of tables and states to answer for.
    states : (N, n) of int
        −1 for variables that are not observed.
    room : Room
    cells, messages : (M,), (S,)
        For cliques and separators.
    log_total : (N,)
        Written: NaN where products may be too small for plain numbers.
    found : (N, K)
        Zeros; marginals or a joint table are written.
    best : (N, n) of int
        As ``states``; what is best is written.
    """
    axes, floors, tops, margin = room
    for r in range(len(rows)):
        row = rows[r]
        here = states[row]
        log_total[row] = _collect(
            plan, tables, logs, row, here, axes, cells, messages, floors, tops
        )
        if not log_total[row] > -math.inf:
            continue
        if what == 1 or what == 4:
            _distribute(plan, here, axes, cells, messages, tops, margin)
        if what == 1:
            _read_marginals(plan, here, axes, cells, margin, found[row])
        elif what == 2:
            _read_joint(plan, here, axes, cells, clique, wanted, found[row])
        elif what == 3:
            _find_best(plan, here, axes, cells, best[row])


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


@compilable_bare
def _collect(
    plan: PlanArrays,
    tables: Tables,
    logs: int,
    row: int,
    states: IntArray,
    axes: Axes,
    cells: Array,
    messages: Array,
    floors: Array,
    tops: Array,
) -> float:
    """Multiply all tables in, and send messages up; return the logarithm of the total.

    NaN says that products may be too small for plain numbers.
    """
    n_cliques = len(plan.above)
    total = 0.0
    for i in range(plan.first_used[n_cliques], plan.first_used[n_cliques + 1]):
        value = tables.cells[_first_cell_of(plan.used[i], tables, row, states)]
        total += value if logs else _log(value)
    for c in range(n_cliques):
        least = _multiply_in(plan, tables, logs, row, states, axes, cells, messages, floors, c)
        if least < LEAST and not logs:
            return math.nan
        total += _send_up(plan, logs, axes, cells, messages, floors, tops, c)
        if total == -math.inf:
            return total
    if logs:
        for c in range(n_cliques):
            _leave_logs(plan, states, axes, cells, messages, tops, c)
    return total


@compilable_bare
def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


@compilable_bare
def _first_cell_of(table: int, tables: Tables, row: int, states: IntArray) -> int:
    """Return where a table begins, the states of observed variables given."""
    first = tables.base[table] + row * tables.row[table]
    for e in range(tables.start[table], tables.start[table + 1]):
        if states[tables.scope[e]] > 0:
            first += tables.stride[e] * states[tables.scope[e]]
    return first


@compilable_bare
def _set_sizes(plan: PlanArrays, states: IntArray, axes: Axes, c: int) -> int:
    """Write down how many states each axis of a clique has; return how many cells that makes."""
    cells, low = 1, plan.start[c]
    for a in range(plan.start[c + 1] - low):
        v = plan.axes[low + a]
        axes.size[a] = plan.sizes[v] if states[v] < 0 else 1
        cells *= axes.size[a]
    return cells


@compilable_bare
def _set_steps(plan: PlanArrays, axes: Axes, c: int, below: int) -> None:
    """Write down how many cells of the message of a clique below the next state of each axis is on."""
    a, step = plan.start[c + 1] - plan.start[c] - 1, 1
    for b in range(plan.start[below] + plan.shared[below] - 1, plan.start[below] - 1, -1):
        while plan.axes[plan.start[c] + a] != plan.axes[b]:
            axes.step[a] = 0
            a -= 1
        axes.step[a] = step
        step *= axes.size[a]
        a -= 1
    while a >= 0:
        axes.step[a] = 0
        a -= 1


@compilable_bare
def _join_axes(n_axes: int, axes: Axes) -> int:
    """Join neighbouring axes that one loop can run over; return how many runs there are, the fastest first."""
    runs = 0
    for a in range(n_axes - 1, -1, -1):
        size, step = axes.size[a], axes.step[a]
        if size > 1:
            if runs > 0 and step == axes.run_step[runs - 1] * axes.run_size[runs - 1]:
                axes.run_size[runs - 1] *= size
            else:
                axes.run_size[runs], axes.run_step[runs] = size, step
                axes.counter[runs] = 0
                runs += 1
    for k in range(runs, 2):
        axes.run_size[k], axes.run_step[k] = 1, 0
    return runs


@compilable_bare
def _advance(runs: int, axes: Axes, place: int) -> int:
    """Count the slow axes on, from the third run; return the place in the smaller table."""
    k = 2
    while k < runs:
        axes.counter[k] += 1
        place += axes.run_step[k]
        if axes.counter[k] < axes.run_size[k]:
            return place
        place -= axes.run_step[k] * axes.run_size[k]
        axes.counter[k] = 0
        k += 1
    return place


@compilable_bare
def _spread(
    what: int, count: int, runs: int, axes: Axes, small: Array, place: int, cells: Array, at: int
) -> None:
    """Set cells to (0), multiply them by (1), or add to them (2) a smaller table."""
    n, step = axes.run_size[0], axes.run_step[0]
    outer, outer_step = axes.run_size[1], axes.run_step[1]
    end = at + count
    while at < end:
        for o in range(outer):
            first = place + o * outer_step
            if what == 0:
                for i in range(n):
                    cells[at + i] = small[first + i * step]
            elif what == 1:
                for i in range(n):
                    cells[at + i] *= small[first + i * step]
            else:
                for i in range(n):
                    cells[at + i] += small[first + i * step]
            at += n
        place = _advance(runs, axes, place)


@compilable_bare
def _fold(
    maximize: int,
    count: int,
    runs: int,
    axes: Axes,
    cells: Array,
    at: int,
    small: Array,
    place: int,
) -> None:
    """Sum or maximise cells into a smaller table, which holds zeros."""
    n, step = axes.run_size[0], axes.run_step[0]
    outer, outer_step = axes.run_size[1], axes.run_step[1]
    end = at + count
    while at < end:
        for o in range(outer):
            first = place + o * outer_step
            if maximize:
                for i in range(n):
                    small[first + i * step] = max(small[first + i * step], cells[at + i])
            elif step == 0:
                total = 0.0
                for i in range(n):
                    total += cells[at + i]
                small[first] += total
            else:
                for i in range(n):
                    small[first + i * step] += cells[at + i]
            at += n
        place = _advance(runs, axes, place)


@compilable_bare
def _multiply_in(
    plan: PlanArrays,
    tables: Tables,
    logs: int,
    row: int,
    states: IntArray,
    axes: Axes,
    cells: Array,
    messages: Array,
    floors: Array,
    c: int,
) -> float:
    """Make the table of a clique; return the logarithm of what no cell but 0 is smaller than."""
    count, n_axes = _set_sizes(plan, states, axes, c), plan.start[c + 1] - plan.start[c]
    at, least, what = plan.first_cell[c], 0.0, 0
    for i in range(plan.first_used[c], plan.first_used[c + 1]):
        table = plan.used[i]
        for a in range(n_axes):
            axes.step[a] = plan.steps[plan.step_start[i] + a]
        place = _first_cell_of(table, tables, row, states)
        _spread(what, count, _join_axes(n_axes, axes), axes, tables.cells, place, cells, at)
        least += tables.floor[table]
        what = 2 if logs else 1
    if what == 0:
        for i in range(at, at + count):
            cells[i] = 0.0 if logs else 1.0
        what = 2 if logs else 1
    for i in range(plan.first_below[c], plan.first_below[c + 1]):
        below = plan.below[i]
        _set_steps(plan, axes, c, below)
        place = plan.first_message[below]
        _spread(what, count, _join_axes(n_axes, axes), axes, messages, place, cells, at)
        least += floors[below]
    return least


@compilable_bare
def _send_up(
    plan: PlanArrays,
    logs: int,
    axes: Axes,
    cells: Array,
    messages: Array,
    floors: Array,
    tops: Array,
    c: int,
) -> float:
    """Sum or maximise the residual of a clique; scale the message, and return the logarithm of its scale."""
    shared, kept = plan.shared[c], 1
    for a in range(shared):
        kept *= axes.size[a]
    n = 1
    for a in range(shared, plan.start[c + 1] - plan.start[c]):
        n *= axes.size[a]
    at, to, top = plan.first_cell[c], plan.first_message[c], -math.inf
    for s in range(kept):
        messages[to + s] = _reduce(cells, at + s * n, n, logs, plan.maximize[c])
        top = max(top, messages[to + s])
    if logs:
        if top > -math.inf:
            for s in range(to, to + kept):
                messages[s] -= top
        return top
    if top <= 0.0:
        return -math.inf
    least = 1.0
    for s in range(to, to + kept):
        messages[s] /= top
        if messages[s] > 0.0:
            least = min(least, messages[s])
    floors[c] = math.log(least)
    tops[c] = top
    return math.log(top)


@compilable_bare
def _reduce(cells: Array, low: int, n: int, logs: int, maximize: int) -> float:
    """Return the sum or the largest of neighbouring cells; logarithms stay logarithms."""
    if not (logs or maximize):
        total = 0.0
        for i in range(low, low + n):
            total += cells[i]
        return total
    top = cells[low]
    for i in range(low + 1, low + n):
        top = max(top, cells[i])
    if maximize or top == -math.inf:
        return top
    total = 0.0
    for i in range(low, low + n):
        total += math.exp(cells[i] - top)
    return top + math.log(total)


@compilable_bare
def _leave_logs(
    plan: PlanArrays,
    states: IntArray,
    axes: Axes,
    cells: Array,
    messages: Array,
    tops: Array,
    c: int,
) -> None:
    """Turn the logarithms of a clique into plain numbers, each run divided by its largest."""
    count, kept = _set_sizes(plan, states, axes, c), 1
    for a in range(plan.shared[c]):
        kept *= axes.size[a]
    n, at, to = count // kept, plan.first_cell[c], plan.first_message[c]
    for s in range(kept):
        top, total = -math.inf, 0.0
        for i in range(at + s * n, at + s * n + n):
            top = max(top, cells[i])
        for i in range(at + s * n, at + s * n + n):
            cells[i] = math.exp(cells[i] - top) if top > -math.inf else 0.0
            total = max(total, cells[i]) if plan.maximize[c] else total + cells[i]
        messages[to + s] = total
    tops[c] = 1.0


@compilable_bare
def _distribute(
    plan: PlanArrays,
    states: IntArray,
    axes: Axes,
    cells: Array,
    messages: Array,
    tops: Array,
    margin: Array,
) -> None:
    """Hand beliefs down the tree: afterwards cells are joint probabilities.

    Parameters
    ----------
    plan, states, axes
    cells, messages
        As :func:`_collect` has left them.
    margin : (S,)
        Room for the largest message.
    """
    for c in range(len(plan.above) - 1, -1, -1):
        above = plan.above[c]
        kept = 1
        if above >= 0:
            count = _set_sizes(plan, states, axes, above)
            _set_steps(plan, axes, above, c)
            for a in range(plan.start[above + 1] - plan.start[above]):
                if axes.step[a] > 0:
                    kept *= axes.size[a]
            for s in range(kept):
                margin[s] = 0.0
            runs = _join_axes(plan.start[above + 1] - plan.start[above], axes)
            _fold(plan.maximize[above], count, runs, axes, cells, plan.first_cell[above], margin, 0)
        else:
            margin[0] = 1.0
        count = _set_sizes(plan, states, axes, c)
        n, at, to = count // kept, plan.first_cell[c], plan.first_message[c]
        for s in range(kept):
            sent = messages[to + s] * tops[c]
            share = margin[s] / sent if sent > 0.0 else 0.0
            for i in range(at + s * n, at + s * n + n):
                cells[i] *= share


@compilable_bare
def _read_marginals(
    plan: PlanArrays, states: IntArray, axes: Axes, cells: Array, margin: Array, found: Array
) -> None:
    """Write the marginals of all variables of the tree, from beliefs.

    Parameters
    ----------
    plan, states, axes, cells
    margin : (S,)
        Room for the largest residual.
    found : (Σ sizes,)
        Zeros; what is not in the tree is not written.
    """
    for c in range(len(plan.above)):
        count, kept = _set_sizes(plan, states, axes, c), 1
        low, shared = plan.start[c], plan.shared[c]
        n_axes = plan.start[c + 1] - low
        for a in range(shared):
            kept *= axes.size[a]
        n, at = count // kept, plan.first_cell[c]
        for r in range(n):
            margin[r] = 0.0
        for s in range(kept):
            for r in range(n):
                margin[r] += cells[at + s * n + r]
        step = n
        for a in range(shared, n_axes):
            v = plan.axes[low + a]
            size, first = axes.size[a], plan.first_state[v]
            if states[v] >= 0:
                found[first + states[v]] = 1.0
                continue
            step //= size
            for r in range(n):
                found[first + r // step % size] += margin[r]


@compilable_bare
def _read_joint(
    plan: PlanArrays,
    states: IntArray,
    axes: Axes,
    cells: Array,
    c: int,
    wanted: IntArray,
    found: Array,
) -> None:
    """Add up the table of a clique to that of some of its variables, in their order.

    ``found`` holds zeros, and may be larger than the variables that are not observed need.
    """
    count, low = _set_sizes(plan, states, axes, c), plan.start[c]
    n_axes = plan.start[c + 1] - low
    for a in range(n_axes):
        axes.step[a] = 0
    step = 1
    for k in range(len(wanted) - 1, -1, -1):
        for a in range(n_axes):
            if plan.axes[low + a] == wanted[k]:
                axes.step[a] = step
                step *= axes.size[a]
    _fold(0, count, _join_axes(n_axes, axes), axes, cells, plan.first_cell[c], found, 0)


@compilable_bare
def _find_best(
    plan: PlanArrays, states: IntArray, axes: Axes, cells: Array, best: IntArray
) -> None:
    """Write the states at the largest cell, clique by clique from the roots; cells as ``_collect`` left them.

    ``best`` holds the states that are observed, −1 elsewhere.
    """
    for c in range(len(plan.above) - 1, -1, -1):
        low, shared = plan.start[c], plan.shared[c]
        n_axes = plan.start[c + 1] - low
        count, place, kept = _set_sizes(plan, states, axes, c), 0, 1
        for a in range(shared):
            kept *= axes.size[a]
            place = place * axes.size[a] + (best[plan.axes[low + a]] if axes.size[a] > 1 else 0)
        n = count // kept
        at = plan.first_cell[c] + place * n
        top = 0
        for r in range(1, n):
            if cells[at + r] > cells[at + top]:
                top = r
        for a in range(n_axes - 1, shared - 1, -1):
            v = plan.axes[low + a]
            if states[v] < 0:
                best[v] = top % axes.size[a]
                top //= axes.size[a]
