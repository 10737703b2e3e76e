r"""Loops over the cells of cliques: tables multiplied in, residuals summed out.

Up the tree, from the leaves,

.. math:: \psi_c = \prod_{f \in c} \phi_f \prod_{b \text{ below } c} \mu_b, \qquad
   \mu_c(s) = \sum_r \psi_c(s, r).

The separator's axes are the slow ones of a clique: a message is a sum of runs of neighbouring cells. Variables that a
row observes have axes of one state.

Reference: S. L. Lauritzen & D. J. Spiegelhalter, "Local computations with probabilities on graphical structures
and their application to expert systems", JRSS B 50(2), 1988.
"""

from __future__ import annotations

import math

from posteriori.inference.cliques.clique_plan import PlanArrays
from posteriori.inference.cliques.clique_runs import Runs
from posteriori.inference.cliques.table_set import LEAST, TableSet
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["collect_row", "collect_rows", "fold", "leave_logs"]

#: Factors of a total are multiplied while the product is smaller than this, and its inverse too; the next one, of
#: which ln is between ``LEAST`` and that of the number of cells, cannot take it out of the range of numbers.
_HUGE = 1e20


@kernel(plain=True, allocates=False)
def collect_rows(
    plan: PlanArrays,
    tables: TableSet,
    runs: Runs,
    states: IntArray,
    first_row: int,
    counter: IntArray,
    floors: Array,
    cells: Array,
    messages: Array,
    tops: Array,
    log_total: Array,
) -> int:
    """Multiply all tables in and send messages up, for rows whose total is NaN; return how many are left.

    Parameters
    ----------
    plan, tables, runs
    states : (B, n) of int
        −1 for variables that are not observed.
    first_row : int
        Which row of the tables the first one is.
    counter, floors : (A,), (C,)
        Room for counters of loops, and ln of the smallest part of each message that is not 0.
    cells, messages : (B, M), (B, S)
        Written: cliques, each run with one state of the separator in proportion to what can be reached; and
        their messages.
    tops : (B, C)
        Written: the largest of each message, by which it was divided.
    log_total : (B,)
        Written; it stays NaN where products may be too small for plain numbers.
    """
    left = 0
    for b in range(len(log_total)):
        if log_total[b] == log_total[b]:
            continue
        total = collect_row(
            plan,
            tables,
            runs,
            b if len(runs.n_cells) > 1 else 0,
            first_row + b,
            states[b],
            counter,
            floors,
            cells[b],
            messages[b],
            tops[b],
        )
        log_total[b] = total
        if total != total:
            left += 1
        elif tables.logs and total > -math.inf:
            leave_logs(plan, runs, b, cells[b], messages[b], tops[b])
    return left


@kernel(plain=True, allocates=False)
def collect_row(
    plan: PlanArrays,
    tables: TableSet,
    runs: Runs,
    r: int,
    row: int,
    states: IntArray,
    counter: IntArray,
    floors: Array,
    cells: Array,
    messages: Array,
    tops: Array,
) -> float:
    """Send all messages up; return the logarithm of the total, NaN where plain numbers may not do."""
    logs, n_cliques, n_used = tables.logs, len(plan.above), len(plan.used)
    size, step, total, scale = runs.size[r], runs.step[r], 0.0, 1.0
    for i in range(n_used):
        total += tables.log_scale[plan.used[i]]
    for i in range(plan.first_used[n_cliques], n_used):
        value = tables.cells[_first_cell_of(plan.used[i], tables, row, states)]
        total += value if logs else _log(value)
    for c in range(n_cliques):
        at, least = plan.first_cell[c], 0.0
        end = at + runs.n_cells[r][c]
        for i in range(at, end):
            cells[i] = 0.0 if logs else 1.0
        for i in range(plan.first_used[c], plan.first_used[c + 1]):
            place, low = _first_cell_of(plan.used[i], tables, row, states), plan.first_run[i]
            loops = runs.length[r][i]
            _spread(logs, low, loops, size, step, counter, tables.cells, place, cells, at, end)
            least += tables.floor[plan.used[i]]
        for e in range(plan.first_below[c], plan.first_below[c + 1]):
            below = plan.below[e]
            place, low = plan.first_message[below], plan.first_run[n_used + below]
            loops = runs.length[r][n_used + below]
            _spread(logs, low, loops, size, step, counter, messages, place, cells, at, end)
            least += floors[below]
        if least < LEAST and not logs:
            return math.nan
        kept, to = runs.kept[r][c], plan.first_message[c]
        top = _collect_message(logs, plan.maximize[c], cells, at, end, messages, to, kept)
        if logs:
            total += top
        else:
            scale *= top
            if scale < 1.0 / _HUGE or scale > _HUGE:
                total, scale = total + _log(scale), 1.0
        if total == -math.inf:
            return total
        floors[c] = 0.0 if logs or kept == 1 else _floor(messages, to, kept)
        tops[c] = top
    return total + math.log(scale)


@kernel(plain=True, allocates=False)
def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


@kernel(plain=True, allocates=False)
def _floor(messages: Array, to: int, kept: int) -> float:
    """Return ln of the smallest part of a message that is not 0."""
    least = 1.0
    for s in range(to, to + kept):
        if messages[s] > 0.0:
            least = min(least, messages[s])
    return math.log(least)


@kernel(plain=True, allocates=False)
def _first_cell_of(table: int, tables: TableSet, row: int, states: IntArray) -> int:
    """Return where a table begins, the states of observed variables given."""
    first = tables.base[table] + row * tables.row[table]
    for e in range(tables.start[table], tables.start[table + 1]):
        if states[tables.scope[e]] > 0:
            first += tables.stride[e] * states[tables.scope[e]]
    return first


@kernel(plain=True, allocates=False)
def _advance(
    low: int, loops: int, size: IntArray, step: IntArray, counter: IntArray, place: int
) -> int:
    """Count the slow loops on, from the third; return the place in the smaller table."""
    for k in range(2, loops):
        counter[k] += 1
        place += step[low + k]
        if counter[k] < size[low + k]:
            return place
        place -= step[low + k] * size[low + k]
        counter[k] = 0
    return place


@kernel(plain=True, allocates=False)
def _spread(
    add: int,
    low: int,
    loops: int,
    size: IntArray,
    step: IntArray,
    counter: IntArray,
    small: Array,
    place: int,
    cells: Array,
    at: int,
    end: int,
) -> None:
    """Multiply cells by a smaller table, or add it to them."""
    if end == at + 1:
        cells[at] = cells[at] + small[place] if add else cells[at] * small[place]
        return
    n, near, outer, far = size[low], step[low], size[low + 1], step[low + 1]
    for k in range(2, loops):
        counter[k] = 0
    while at < end:
        for o in range(outer):
            first = place + o * far
            if add:
                for i in range(n):
                    cells[at + i] += small[first + i * near]
            else:
                for i in range(n):
                    cells[at + i] *= small[first + i * near]
            at += n
        place = _advance(low, loops, size, step, counter, place)


@kernel(plain=True, allocates=False)
def fold(
    maximize: int,
    low: int,
    loops: int,
    size: IntArray,
    step: IntArray,
    counter: IntArray,
    cells: Array,
    at: int,
    end: int,
    small: Array,
) -> None:
    """Sum or maximise cells into a smaller table, which holds zeros."""
    if end == at + 1:
        small[0] = cells[at]
        return
    n, near, outer, far = size[low], step[low], size[low + 1], step[low + 1]
    place = 0
    for k in range(2, loops):
        counter[k] = 0
    while at < end:
        for o in range(outer):
            first = place + o * far
            if maximize:
                for i in range(n):
                    small[first + i * near] = max(small[first + i * near], cells[at + i])
            elif near == 0:
                total = 0.0
                for i in range(n):
                    total += cells[at + i]
                small[first] += total
            else:
                for i in range(n):
                    small[first + i * near] += cells[at + i]
            at += n
        place = _advance(low, loops, size, step, counter, place)


@kernel(plain=True, allocates=False)
def _collect_message(
    logs: int, maximize: int, cells: Array, at: int, end: int, messages: Array, to: int, kept: int
) -> float:
    """Sum or maximise the residual of a clique; divide the message by its largest part, and return that."""
    if kept == 1:
        messages[to] = 0.0 if logs else 1.0
        return _reduce(cells, at, end - at, logs, maximize)
    n, top = (end - at) // kept, -math.inf
    for s in range(kept):
        messages[to + s] = _reduce(cells, at + s * n, n, logs, maximize)
        top = max(top, messages[to + s])
    if top > (-math.inf if logs else 0.0):
        for s in range(to, to + kept):
            messages[s] = messages[s] - top if logs else messages[s] / top
    return top


@kernel(plain=True, allocates=False)
def _reduce(cells: Array, low: int, n: int, logs: int, maximize: int) -> float:
    """Return the sum or the largest of neighbouring cells; logarithms stay logarithms."""
    total = 0.0
    if not (logs or maximize):
        for i in range(low, low + n):
            total += cells[i]
        return total
    top = cells[low]
    for i in range(low + 1, low + n):
        top = max(top, cells[i])
    if maximize or top == -math.inf:
        return top
    for i in range(low, low + n):
        total += math.exp(cells[i] - top)
    return top + math.log(total)


@kernel(plain=True, allocates=False)
def leave_logs(
    plan: PlanArrays, runs: Runs, b: int, cells: Array, messages: Array, tops: Array
) -> None:
    """Turn the logarithms of cliques into plain numbers, each run divided by its largest."""
    r = b if len(runs.n_cells) > 1 else 0
    for c in range(len(plan.above)):
        kept, at, to = runs.kept[r][c], plan.first_cell[c], plan.first_message[c]
        n = runs.n_cells[r][c] // kept
        for s in range(kept):
            top, total = -math.inf, 0.0
            for i in range(at + s * n, at + s * n + n):
                top = max(top, cells[i])
            for i in range(at + s * n, at + s * n + n):
                cells[i] = math.exp(cells[i] - top) if top > -math.inf else 0.0
                total = max(total, cells[i]) if plan.maximize[c] else total + cells[i]
            messages[to + s] = total
        tops[c] = 1.0
