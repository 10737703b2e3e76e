r"""Questions to tables on a tree of cliques: totals, marginals, joint tables, best states, draws.

Products are plain numbers while no cell can fall out of their range; rows of evidence for which one might are
answered again with logarithms. Rows are answered block by block: loops over each block bring messages up the tree,
further ones read off what is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from posteriori.inference.cliques.clique_descent import distribute_rows
from posteriori.inference.cliques.clique_loops import collect_rows
from posteriori.inference.cliques.clique_plan import CliquePlan
from posteriori.inference.cliques.clique_reading import draw_below, find_best, joint_rows
from posteriori.inference.cliques.clique_workspace import (
    Workspace,
    lay_rows,
    make_workspace,
    return_workspace,
    take_workspace,
)
from posteriori.inference.cliques.table_set import TableSet, in_logs
from posteriori.numerics.compilation import as_kernel_indices, run
from posteriori.numerics.threads import share_rows
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "Beliefs",
    "Marginals",
    "best_states",
    "clique_beliefs",
    "draw_states",
    "joint_table",
    "log_totals",
    "marginals",
    "reached_cells",
]

#: From this much work on, which is certain to be compiled, rows are shared out among threads.
_SHARED = 1e9

#: Two threads at most have room for cliques beside one another where that of one takes more bytes.
_WIDE = 1 << 26

#: Reads off a block of rows, whose cliques are there, what is asked for.
_Reader = Callable[[Workspace, IntArray, Array, slice], None]

#: Rows are answered in blocks of so many numbers, which stay near the processor.
_BLOCK = 1 << 16


class Marginals(NamedTuple):
    """The logarithm of the probability of each row of evidence, (N,), and probabilities of all states, (N, K)."""

    log_total: Array
    probabilities: Array


class Beliefs(NamedTuple):
    """ln of the probability of the evidence, and the cells of all cliques, which are joint probabilities."""

    log_total: float
    cells: Array


def log_totals(plan: CliquePlan, tables: TableSet, states: IntArray) -> Array:
    """Return ln of the sum over all free variables, for rows of states (N, n), −1 for what is free.

    Variables that the plan maximises are maximised.
    """
    return _answer(plan, tables, states, lambda workspace, rows, log_total, part: None)


def marginals(plan: CliquePlan, tables: TableSet, states: IntArray) -> Marginals:
    """Return the marginals of all free variables of the plan; zeros where a row is impossible."""
    found = np.zeros((len(states), int(plan.arrays.first_state[-1])))

    def read(workspace: Workspace, rows: IntArray, log_total: Array, part: slice) -> None:
        _distribute(plan, workspace, rows, log_total, found[part])

    return Marginals(_answer(plan, tables, states, read), found)


def joint_table(
    plan: CliquePlan, tables: TableSet, states: IntArray, wanted: Sequence[int]
) -> Marginals:
    """Return the joint table of variables that lie in one root, (N, K), the last one fastest.

    A row that observes some of them has its probabilities in the first cells.
    """
    clique, index = _clique_of(plan, wanted), as_kernel_indices(np.asarray(wanted))
    rows, total = as_kernel_indices(states), np.full(len(states), np.nan)
    found = np.zeros((len(states), int(np.prod(tables.sizes[list(wanted)]))))

    def answer(part: slice) -> None:
        workspace, here = make_workspace(plan, 1, 1), rows[part]
        given = (workspace.runs, here, part.start, workspace.axes, workspace.floors)
        space = (
            workspace.cells,
            workspace.messages,
            workspace.tops,
            clique,
            index,
            total[part],
            found[part],
        )
        if run(joint_rows, len(here) * plan.work, plan.arrays, tables, *given, *space):
            run(joint_rows, len(here) * plan.work, plan.arrays, in_logs(tables), *given, *space)

    _answer_in_parts(plan, answer, len(rows))
    scale = found.sum(axis=1, keepdims=True)
    np.divide(found, scale, out=found, where=scale > 0.0)
    return Marginals(total, found)


def best_states(plan: CliquePlan, tables: TableSet, states: IntArray) -> tuple[Array, IntArray]:
    """Return ln of the largest value, and the states of all variables that the plan maximises there."""
    best = np.array(states, dtype=np.int64)

    def read(workspace: Workspace, rows: IntArray, log_total: Array, part: slice) -> None:
        given = (plan.arrays, workspace.runs, rows, log_total, workspace.cells)
        run(find_best, len(rows) * 20.0 * len(plan.arrays.axes), *given, best[part])

    return _answer(plan, tables, states, read), best


def clique_beliefs(plan: CliquePlan, tables: TableSet, states: IntArray) -> Beliefs:
    """Return the joint probabilities of all cliques for one row of evidence (n,)."""
    return _cells(plan, tables, states, hand_down=True)


def reached_cells(plan: CliquePlan, tables: TableSet, states: IntArray) -> Beliefs:
    """Return the cells of all cliques for one row of evidence (n,) as messages from below have made them.

    In each run of cells with one state of the separator they are in proportion to what can be reached.
    """
    return _cells(plan, tables, states, hand_down=False)


def draw_states(
    plan: CliquePlan, tables: TableSet, states: IntArray, size: int, rng: np.random.Generator
) -> IntArray:
    """Draw states of all free variables given one row of evidence (n,), (size, n).

    Raises
    ------
    ValueError
        Where the evidence is impossible.
    """
    total, cells = reached_cells(plan, tables, states)
    if total == -np.inf:
        raise ValueError("the evidence has probability 0: nothing can be drawn")
    drawn = np.tile(np.asarray(states, dtype=np.int64), (size, 1))
    uniform = rng.random((size, plan.tree.n_cliques))
    here = as_kernel_indices(np.asarray(states))
    run(draw_below, 30.0 * drawn.size, plan.arrays, here, cells, uniform, drawn)
    return drawn


def _clique_of(plan: CliquePlan, wanted: Sequence[int]) -> int:
    """Return the root that holds some variables."""
    clique = max(int(plan.tree.home[v]) for v in wanted)
    tree = plan.tree
    held = set(tree.nodes[tree.start[clique] : tree.start[clique + 1]].tolist())
    assert tree.above[clique] < 0
    assert held >= set(wanted)
    return clique


def _cells(plan: CliquePlan, tables: TableSet, states: IntArray, *, hand_down: bool) -> Beliefs:
    """Return the cells of all cliques for one row, before or after beliefs are handed down."""
    cells = np.zeros(int(plan.arrays.first_cell[-1]))

    def read(workspace: Workspace, rows: IntArray, log_total: Array, part: slice) -> None:
        if hand_down:
            _distribute(plan, workspace, rows, log_total, np.zeros((0, 0)))
        if log_total[0] > -np.inf:
            cells[:] = workspace.cells[0]

    total = _answer(plan, tables, states[None], read)
    return Beliefs(float(total[0]), cells)


def _distribute(
    plan: CliquePlan, workspace: Workspace, rows: IntArray, log_total: Array, found: Array
) -> None:
    """Hand beliefs down for a block of rows; write marginals, unless there is no room for them."""
    given = (
        plan.arrays,
        workspace.runs,
        rows,
        log_total,
        workspace.messages,
        workspace.tops,
        workspace.axes.counter,
    )
    space = (workspace.margin, workspace.rest, workspace.cells, found)
    run(distribute_rows, len(rows) * plan.work, *given, *space)


def _answer(plan: CliquePlan, tables: TableSet, states: IntArray, read: _Reader) -> Array:
    """Bring messages up for all rows, and read off what is asked for; return ln of the totals."""
    rows, log_total = as_kernel_indices(states), np.full(len(states), np.nan)
    differ = bool(rows.take(plan.free, axis=1).max(initial=-1) >= 0)
    if len(rows) == 1 and not differ:
        workspace = take_workspace(plan)
        _answer_block(plan, tables, workspace, rows, log_total, slice(0, 1), read)
        return_workspace(plan, workspace)
        return log_total
    answer = partial(_answer_part, plan, tables, rows, log_total, read, differ)
    _answer_in_parts(plan, answer, len(rows))
    return log_total


def _answer_in_parts(plan: CliquePlan, answer: Callable[[slice], None], n_rows: int) -> None:
    """Answer for all rows, in threads where that is much work."""
    if n_rows > 1 and n_rows * plan.work > _SHARED:
        answer(slice(0, 1))  # what threads share is compiled once
        parts = 2 if plan.n_bytes > _WIDE else n_rows
        share_rows(lambda part: answer(slice(part.start + 1, part.stop + 1)), n_rows - 1, parts)
    else:
        answer(slice(0, n_rows))


def _answer_part(
    plan: CliquePlan,
    tables: TableSet,
    rows: IntArray,
    log_total: Array,
    read: _Reader,
    differ: bool,
    part: slice,
) -> None:
    """Answer for a part of the rows, block by block."""
    low, high = part.start, part.stop
    size = max(1, min(high - low, int(_BLOCK // plan.row_numbers)))
    workspace = make_workspace(plan, size, size if differ else 1)
    if not differ:
        lay_rows(plan, workspace, rows[:1])
    for at in range(low, high, size):
        block = slice(at, min(at + size, high))
        if differ:
            lay_rows(plan, workspace, rows[block])
        _answer_block(plan, tables, workspace, rows, log_total, block, read)


def _answer_block(
    plan: CliquePlan,
    tables: TableSet,
    workspace: Workspace,
    rows: IntArray,
    log_total: Array,
    block: slice,
    read: _Reader,
) -> None:
    """Answer for a block of rows, again in logarithms where plain numbers may not do."""
    here, total = rows[block], log_total[block]
    given = (workspace.runs, here, block.start, workspace.axes.counter, workspace.floors)
    space = (workspace.cells, workspace.messages, workspace.tops, total)
    work = len(here) * plan.work
    if run(collect_rows, work, plan.arrays, tables, *given, *space):
        run(collect_rows, work, plan.arrays, in_logs(tables), *given, *space)
    read(workspace, here, total, block)
