r"""Questions to tables on a tree of cliques: totals, marginals, joint tables, best states, draws.

Products are plain numbers while no cell can fall out of their range; rows of evidence for which one might are
answered again with logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from posteriori.inference.cliques import clique_loops as loops
from posteriori.inference.cliques.clique_plan import CliquePlan
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
_SHARED = 1e8

#: Stand for arrays that a question does not need: of numbers,
_NONE = np.zeros((0, 0))
#: … of states,
_NO_STATES = np.zeros((0, 0), dtype=np.int64)
#: … and of variables.
_NO_INDEX = as_kernel_indices(np.zeros(0))


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
    return _ask(plan, tables, states, loops.TOTALS)


def marginals(plan: CliquePlan, tables: TableSet, states: IntArray) -> Marginals:
    """Return the marginals of all free variables of the plan; zeros where a row is impossible."""
    found = np.zeros((len(states), int(plan.arrays.first_state[-1])))
    return Marginals(_ask(plan, tables, states, loops.MARGINALS, found=found), found)


def joint_table(
    plan: CliquePlan, tables: TableSet, states: IntArray, wanted: Sequence[int]
) -> Marginals:
    """Return the joint table of variables that lie in one root, (N, K), the last one fastest.

    A row that observes some of them has its probabilities in the first cells.
    """
    clique = _clique_of(plan, wanted)
    size = int(np.prod(tables.sizes[list(wanted)]))
    found = np.zeros((len(states), size))
    total = _ask(plan, tables, states, loops.JOINT, clique, wanted, found=found)
    scale = found.sum(axis=1, keepdims=True)
    np.divide(found, scale, out=found, where=scale > 0.0)
    return Marginals(total, found)


def best_states(plan: CliquePlan, tables: TableSet, states: IntArray) -> tuple[Array, IntArray]:
    """Return ln of the largest value, and the states of all variables that the plan maximises there."""
    best = np.array(states)
    return _ask(plan, tables, states, loops.BEST, best=best), best


def clique_beliefs(plan: CliquePlan, tables: TableSet, states: IntArray) -> Beliefs:
    """Return the joint probabilities of all cliques for one row of evidence (n,)."""
    cells = np.zeros(int(plan.arrays.first_cell[-1]))
    total = _ask(plan, tables, states[None], loops.BELIEFS, cells=cells)
    return Beliefs(float(total[0]), cells)


def reached_cells(plan: CliquePlan, tables: TableSet, states: IntArray) -> Beliefs:
    """Return the cells of all cliques for one row of evidence (n,) as messages from below have made them.

    In each run of cells with one state of the separator they are in proportion to what can be reached.
    """
    cells = np.zeros(int(plan.arrays.first_cell[-1]))
    total = _ask(plan, tables, states[None], loops.TOTALS, cells=cells)
    return Beliefs(float(total[0]), cells)


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
    run(loops.draw_below, 30.0 * drawn.size, plan.arrays, here, cells, uniform, drawn)
    return drawn


def _clique_of(plan: CliquePlan, wanted: Sequence[int]) -> int:
    """Return the root that holds some variables."""
    clique = max(int(plan.tree.home[v]) for v in wanted)
    tree = plan.tree
    held = set(tree.nodes[tree.start[clique] : tree.start[clique + 1]].tolist())
    assert tree.above[clique] < 0
    assert held >= set(wanted)
    return clique


def _ask(
    plan: CliquePlan,
    tables: TableSet,
    states: IntArray,
    what: int,
    clique: int = 0,
    wanted: Sequence[int] = (),
    *,
    found: Array = _NONE,
    best: IntArray = _NO_STATES,
    cells: Array | None = None,
) -> Array:
    """Run a question over all rows; return ln of the totals."""
    index = as_kernel_indices(np.asarray(wanted)) if wanted else _NO_INDEX
    log_total, given = np.full(len(states), np.nan), as_kernel_indices(states)
    rows = np.arange(len(states))
    for _ in range(2):
        work = len(rows) * (10.0 * plan.cells + 50.0 * len(plan.arrays.axes))
        answer = partial(
            _answer,
            plan,
            tables,
            (what, clique, index),
            given,
            work,
            cells,
            (log_total, found, best),
        )
        if work > _SHARED and len(rows) > 1:
            answer(rows[:1])  # what threads share is compiled once
            share_rows(partial(_answer_part, answer, rows), len(rows), len(rows))
        else:
            answer(rows)
        rows = np.flatnonzero(np.isnan(log_total))
        if not rows.size:
            break
        tables = in_logs(tables)
    return log_total + float(tables.log_scale[plan.arrays.used].sum())


def _answer(
    plan: CliquePlan,
    tables: TableSet,
    question: tuple[int, int, IntArray],
    states: IntArray,
    work: float,
    cells: Array | None,
    found: tuple[Array, Array, IntArray],
    rows: IntArray,
) -> None:
    """Answer a question for some rows, with room of its own for cliques and messages."""
    arrays = plan.arrays
    if cells is None:
        cells = np.zeros(int(arrays.first_cell[-1]))
    messages = np.zeros(int(arrays.first_message[-1]))
    room = loops.make_room(plan.tree.n_cliques, plan.longest, plan.widest)
    used = loops.Tables(*tables[1:7], tables.floor)
    asked = (int(tables.logs), *question, as_kernel_indices(rows), states, room)
    run(loops.answer_rows, work, arrays, used, *asked, cells, messages, *found)


def _answer_part(answer: Callable[[IntArray], None], rows: IntArray, part: slice) -> None:
    """Answer for a part of the rows."""
    answer(rows[part])
