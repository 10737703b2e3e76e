r"""Where every table goes: a tree of cliques for the variables that are not observed.

Observed axes are cut off before any table is made, so that evidence makes cliques smaller. Two orders are tried,
by fewest new edges and by smallest tables, and the one with fewer cells is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.graphs.orders.clique_tree import CliqueTree, make_clique_tree
from posteriori.graphs.orders.elimination_order import (
    TableTooLargeError,
    eliminate_all,
    join_scopes,
    weigh_sizes,
)
from posteriori.inference.cliques.clique_groups import group_inputs
from posteriori.inference.cliques.table_set import TableSet
from posteriori.numerics.blocks.memory import free_memory
from posteriori.numerics.compilation import as_kernel_indices, kernel, run
from posteriori.numerics.types import Array, IntArray

__all__ = ["CliquePlan", "PlanArrays", "plan_cliques"]

#: Bytes of a float64.
_DOUBLE = 8
#: … of the objects of a run, however small.
_OBJECTS = 1 << 13
#: Cells of cliques are counted in whole numbers.
_MOST_CELLS = 2.0**60
#: Less work than this may be done on lists of numbers, which take so many times more than arrays.
_PLAIN, _LISTS = 6e7, 2.5


class PlanArrays(NamedTuple):
    """What the loops read, all arrays of whole numbers.

    Attributes
    ----------
    sizes : (n,)
        States of each variable of the tables.
    start, axes : (C + 1,), (S,)
        Variables of each clique: those of its separator, then those of its residual, the last the fastest.
    shared, above : (C,)
        How many are in the separator, and the clique above, −1 for roots.
    first_below, below : (C + 1,), (B,)
        Cliques below each clique.
    first_used, used : (C + 2,), (F,)
        Tables that are multiplied into each clique; the last list holds those without a free axis.
    step_start, steps : (F + 1,), (T,)
        For the tables of ``used``: cells to the next state of each axis of the clique, 0 where it has none.
    first_cell, first_message : (C + 1,)
        Where the cells of each clique, and of its separator, lie.
    maximize : (C,)
        1 for cliques whose residual is maximised, and not summed.
    first_state : (n + 1,)
        Where the marginal of each variable lies.
    first_run : (F + C + 1,)
        Where the loops over each table and each message are written down: two at least, one an axis at most.
    read_at : (n,)
        The clique with the smallest separator that holds a variable, −1 for those in no separator.
    owned : (C,)
        1 for cliques whose residual holds a variable that is in no separator.
    """

    sizes: IntArray
    start: IntArray
    axes: IntArray
    shared: IntArray
    above: IntArray
    first_below: IntArray
    below: IntArray
    first_used: IntArray
    used: IntArray
    step_start: IntArray
    steps: IntArray
    first_cell: IntArray
    first_message: IntArray
    maximize: IntArray
    first_state: IntArray
    first_run: IntArray
    read_at: IntArray
    owned: IntArray


class CliquePlan(NamedTuple):
    """A tree of cliques for tables and a set of observed variables.

    Attributes
    ----------
    arrays : PlanArrays
    tree : CliqueTree
    order : tuple of int
        Variables, the first eliminated first.
    cells : float
        Of all cliques; they may be too many to be counted in whole numbers.
    longest : int
        Variables of the largest clique.
    widest : int
        Cells of the largest separator or residual.
    free : (m,) of int
        Variables of the tree.
    n_bytes : float
        Memory that a run takes: cells of cliques and their messages, and what says where they lie.
    spare : list
        Room of runs before, for the next one.
    """

    arrays: PlanArrays
    tree: CliqueTree
    order: tuple[int, ...]
    cells: float
    longest: int
    widest: int
    free: IntArray
    n_bytes: float
    spare: list[Any]

    @property
    def work(self) -> float:
        """About how many multiplications it takes to send messages up the tree, or down."""
        return _work_of(self.cells, self.arrays)

    @property
    def row_numbers(self) -> float:
        """How many numbers each row of a block takes."""
        return (
            1.0 + self.cells + float(self.arrays.first_message[-1] + 2 * self.arrays.first_run[-1])
        )

    @property
    def width(self) -> int:
        """Variables of the largest clique, less one."""
        return max(self.longest - 1, 0)


def plan_cliques(
    tables: TableSet,
    use: IntArray,
    free: IntArray,
    *,
    together: Sequence[Sequence[int]] = (),
    groups: Sequence[Sequence[int]] | None = None,
    maximize: Sequence[int] = (),
    memory: float | None = None,
) -> CliquePlan:
    """Plan where tables go.

    Parameters
    ----------
    tables : TableSet
    use : (U,) of int
        Tables that are needed.
    free : (n,) of int
        1 for variables that are summed, maximised or asked for, 0 for those that are observed.
    together : sequence of sequences of int
        Sets of free variables that must lie in one clique.
    groups : sequence of sequences of int, optional
        All free variables, those of each group to be eliminated before the next.
    maximize : sequence of int
        Variables that are maximised: none, or those of the last groups.
    memory : float, optional
        Bytes that may be taken; by default half of what is free.

    Raises
    ------
    MemoryError
        That says how much is needed, before any is taken.
    """
    start, scope = _scopes(tables, use, together)
    graph = join_scopes(start, scope, free)
    chosen = (
        [np.flatnonzero(free)]
        if groups is None
        else [np.asarray(group, dtype=np.int64) for group in groups]
    )
    level = np.zeros(free.size, dtype=np.int64)
    level[list(maximize)] = 1
    weights = weigh_sizes(tables.sizes)
    fixed = all(len(group) <= 1 for group in chosen)
    most = _most_cells(memory)
    plans, too_large = [], []
    for by_weight in (False,) if fixed else (False, True):
        try:
            elimination = eliminate_all(
                *(graph, weights, chosen), by_weight=by_weight, most_bits=np.log2(most)
            )
        except TableTooLargeError as refused:
            too_large.append(int(refused.args[0]))
            continue
        tree = make_clique_tree(elimination, free.size, level)
        sizes = _clique_cells(tree, tables.sizes)
        plans.append((float(sizes.sum()), elimination.order, tree))
    if not plans:
        raise _out_of_memory(f"more than {most:.3g}", f"{min(too_large)} or more", most)
    cells, order, tree = min(plans, key=lambda plan: plan[0])
    if cells > most:
        raise _out_of_memory(f"{cells:.3g}", f"{tree.lengths.max()}", most)
    maximize_of = level[tree.nodes[tree.start[1:] - 1]]
    clique_of = _cliques_of(tables, use, tree)
    tree, clique_of, origin = group_inputs(
        *(tree, tables, use, clique_of, _clique_cells(tree, tables.sizes))
    )
    cells = float(_clique_cells(tree, tables.sizes).sum())
    arrays = _lay_out(tables, use, clique_of, tree, maximize_of[origin])
    longest, widest = int(tree.lengths.max(initial=0)), _widest(arrays)
    need = _bytes_of(tables, arrays, cells, widest)
    return CliquePlan(arrays, tree, tuple(order.tolist()), cells, longest, widest, order, need, [])


def _work_of(cells: float, arrays: PlanArrays) -> float:
    return 60.0 * cells + 300.0 * len(arrays.axes)


def _bytes_of(tables: TableSet, arrays: PlanArrays, cells: float, widest: int) -> float:
    """Return how many bytes a run takes: cells, messages, loops, marginals, tables in logarithms, the plan itself."""
    ends = arrays.first_message[-1], arrays.first_state[-1], 2 * arrays.first_run[-1]
    numbers = cells + float(sum(ends)) + 2.0 * widest + tables.cells.size
    taken = _DOUBLE * numbers + sum(a.nbytes for a in arrays)
    return _OBJECTS + taken * (_LISTS if _work_of(cells, arrays) < _PLAIN else 1.0)


def _widest(arrays: PlanArrays) -> int:
    """Return how many cells the largest separator or residual has."""
    kept = np.diff(arrays.first_message)
    residual = np.diff(arrays.first_cell) // np.maximum(kept, 1)
    return max(int(kept.max(initial=1)), int(residual.max(initial=1)))


def _scopes(
    tables: TableSet, use: IntArray, together: Sequence[Sequence[int]]
) -> tuple[IntArray, IntArray]:
    """Return the scopes of the used tables, and of what must lie together."""
    if use.size == tables.n_tables and not together:
        return tables.start, tables.scope
    length = tables.start[use + 1] - tables.start[use]
    extra = [np.asarray(nodes, dtype=np.int64) for nodes in together]
    start = np.concatenate([[0], np.cumsum([*length, *map(len, extra)])]).astype(np.int64)
    entries = np.repeat(tables.start[use] - start[: use.size], length) + np.arange(
        int(length.sum())
    )
    return start, np.concatenate([tables.scope[entries], *extra])


def _clique_cells(tree: CliqueTree, sizes: IntArray) -> Array:
    if not tree.n_cliques:
        return np.zeros(0)
    return np.multiply.reduceat(sizes[tree.nodes].astype(float), tree.start[:-1])


def _most_cells(memory: float | None) -> float:
    """Return how many cells cliques may have: messages take as much again, and cells must be counted."""
    if memory is None:
        free = free_memory()
        memory = np.inf if free is None else free / 2
    return float(min(max(memory, 1.0) / (2.0 * _DOUBLE), _MOST_CELLS))


def _out_of_memory(cells: str, variables: str, most: float) -> MemoryError:
    return MemoryError(
        f"an exact answer needs tables of {cells} cells, the largest over {variables} variables; there is room for "
        f"{most:.3g}, {2 * _DOUBLE * most / 2**30:.3g} GiB. Observe more variables, or ask for fewer"
    )


def _cliques_of(tables: TableSet, use: IntArray, tree: CliqueTree) -> IntArray:
    """Return the clique that each table is multiplied into; one more than the last where it has no free axis."""
    clique_of = np.empty(use.size, dtype=np.int64)
    given = map(as_kernel_indices, (tables.start, tables.scope, use, tree.position, tree.home))
    run(_find_cliques, 5.0 * use.size, *given, clique_of)
    return clique_of


def _lay_out(
    tables: TableSet, use: IntArray, clique_of: IntArray, tree: CliqueTree, maximize: IntArray
) -> PlanArrays:
    """Say where the cells of cliques and messages lie, and how tables and messages are multiplied in."""
    n_cliques, n, above = tree.n_cliques, tables.sizes.size, tree.above
    ranked = np.argsort(clique_of, kind="stable")
    used, clique_of = as_kernel_indices(use[ranked]), as_kernel_indices(clique_of[ranked])
    first_used = np.searchsorted(clique_of, np.arange(n_cliques + 2))
    axes_of_use = np.append(tree.lengths, 0)[clique_of]
    step_start = _starts(axes_of_use)
    steps = np.zeros(int(step_start[-1]), dtype=np.int64)
    first_axis, axes = as_kernel_indices(tree.start), as_kernel_indices(tree.nodes)
    scopes = (
        tables.start,
        tables.scope,
        tables.stride,
        first_axis,
        axes,
        used,
        clique_of,
        step_start,
    )
    run(_find_steps, 5.0 * steps.size, *scopes, np.zeros(n, dtype=np.int64), steps)
    sizes, shared = tables.sizes, as_kernel_indices(tree.shared)
    messages = np.ones(n_cliques, dtype=np.int64)
    run(_message_cells, 5.0 * axes.size, first_axis, axes, shared, sizes, messages)
    down = np.argsort(above, kind="stable")
    axes_of_above = np.where(above >= 0, tree.lengths[above], 0)
    inputs = np.concatenate([axes_of_use, axes_of_above])
    read_at, owned = _reading_places(tree, messages, n)
    arrays = PlanArrays(
        sizes=sizes,
        start=first_axis,
        axes=axes,
        shared=shared,
        above=above,
        first_below=np.searchsorted(above[down], np.arange(n_cliques + 1)),
        below=down,
        first_used=first_used,
        used=used,
        step_start=step_start,
        steps=steps,
        first_cell=_starts(_clique_cells(tree, sizes)),
        first_message=_starts(messages),
        maximize=maximize,
        first_state=_starts(sizes),
        first_run=_starts(np.where(inputs > 0, np.maximum(inputs, 2), 0)),
        read_at=read_at,
        owned=owned,
    )
    return PlanArrays(*map(as_kernel_indices, arrays))


def _reading_places(tree: CliqueTree, messages: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return the smallest separator that holds each variable, and which cliques own one that is in none."""
    clique = np.repeat(np.arange(tree.n_cliques), tree.lengths)
    apart = np.arange(tree.nodes.size) >= np.repeat(tree.start[:-1] + tree.shared, tree.lengths)
    read_at, owned = np.full(n, -1, dtype=np.int64), np.zeros(tree.n_cliques, dtype=np.int64)
    inside = np.flatnonzero(~apart)
    inside = inside[np.argsort(-messages[clique[inside]], kind="stable")]
    read_at[tree.nodes[inside]] = clique[inside]  # the last one, the smallest, stays
    owned[clique[apart & (read_at[tree.nodes] < 0)]] = 1
    return read_at, owned


def _starts(counts: Array) -> IntArray:
    return as_kernel_indices(np.concatenate([[0], np.cumsum(counts)]))


@kernel(plain=True, allocates=False)
def _find_cliques(
    start: IntArray,
    scope: IntArray,
    use: IntArray,
    position: IntArray,
    home: IntArray,
    clique_of: IntArray,
) -> None:
    """Find the clique of each table: where the first of its variables is eliminated; at the end if none is."""
    nowhere = 0
    for v in range(len(home)):
        nowhere = max(nowhere, home[v] + 1)
    for i in range(len(use)):
        first = len(home)
        clique_of[i] = nowhere
        for e in range(start[use[i]], start[use[i] + 1]):
            v = scope[e]
            if position[v] >= 0 and position[v] < first:
                first = position[v]
                clique_of[i] = home[v]


@kernel(plain=True, allocates=False)
def _find_steps(
    start: IntArray,
    scope: IntArray,
    stride: IntArray,
    first_axis: IntArray,
    axes: IntArray,
    used: IntArray,
    clique_of: IntArray,
    step_start: IntArray,
    of_variable: IntArray,
    steps: IntArray,
) -> None:
    """Find how many cells of a table the next state of each axis of its clique is on; ``of_variable`` holds 0."""
    for i in range(len(used)):
        for e in range(start[used[i]], start[used[i] + 1]):
            of_variable[scope[e]] = stride[e]
        if clique_of[i] < len(first_axis) - 1:
            low = first_axis[clique_of[i]]
            for a in range(step_start[i + 1] - step_start[i]):
                steps[step_start[i] + a] = of_variable[axes[low + a]]
        for e in range(start[used[i]], start[used[i] + 1]):
            of_variable[scope[e]] = 0


@kernel(plain=True, allocates=False)
def _message_cells(
    start: IntArray, axes: IntArray, shared: IntArray, sizes: IntArray, cells: IntArray
) -> None:
    """Count the cells of each separator."""
    for c in range(len(shared)):
        cells[c] = 1
        for a in range(start[c], start[c] + shared[c]):
            cells[c] *= sizes[axes[a]]
