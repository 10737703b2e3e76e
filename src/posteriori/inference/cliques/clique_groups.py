r"""Small tables and messages that go into a large clique, multiplied with one another first.

A clique of M cells takes two loops over all of them for each thing that is multiplied into it: once up the tree, once
down. Two whose variables together have m ≪ M cells become one: a clique of m cells between them and the large one,
all of it separator.

Reference: P. P. Shenoy, "Binary join trees for computing marginals in the Shenoy–Shafer architecture", 1997.
"""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from posteriori.graphs.orders.clique_tree import CliqueTree
from posteriori.inference.cliques.table_set import TableSet
from posteriori.numerics.types import Array, IntArray

__all__ = ["group_inputs"]

#: Cliques of fewer cells are left as they are.
_LARGE = 256
#: How many times smaller a clique in between is at least: it takes some ten loops of its own, and saves two.
_SMALLER = 8


#: Sums of logarithms differ by less between machines; what is let in by it is weighed exactly later.
_ROUNDING = 1e-6


class _Input(NamedTuple):
    """What is multiplied into a clique: a set of variables, and which tables and cliques below it stands for."""

    scope: frozenset[int]
    tables: tuple[int, ...]
    below: tuple[int, ...]
    groups: tuple[_Input, ...]


def group_inputs(
    tree: CliqueTree, tables: TableSet, use: IntArray, clique_of: IntArray, cells: Array
) -> tuple[CliqueTree, IntArray, IntArray]:
    """Put cliques between large ones and what is multiplied into them.

    Parameters
    ----------
    tree : CliqueTree
    tables : TableSet
    use, clique_of : (U,) of int
        Tables, and the clique that each is multiplied into.
    cells : (C,)
        Of each clique.

    Returns
    -------
    tree : CliqueTree
    clique_of : (U,) of int
    origin : (C',) of int
        The clique of the old tree that each stands for, or stands below.
    """
    sizes = tables.sizes.tolist()
    parts = {}
    for c, inputs in _small_inputs(tree, tables, use, clique_of, cells).items():
        groups = [one for one in _merge(inputs, sizes, cells[c] / _SMALLER) if one.groups]
        if groups:
            parts[c] = groups
    if not parts:
        return tree, clique_of, np.arange(tree.n_cliques)
    return _insert(tree, clique_of, parts, tree.position.tolist())


def _small_inputs(
    tree: CliqueTree, tables: TableSet, use: IntArray, clique_of: IntArray, cells: Array
) -> dict[int, list[_Input]]:
    """Return what goes into large cliques and is small beside them, where there are two or more."""
    bits = np.log2(np.where(tree.position >= 0, tables.sizes, 1))
    room = np.append(np.where(cells >= _LARGE, np.log2(cells / _SMALLER), -1.0), -1.0) + _ROUNDING
    of_tables = _sum_ranges(bits[tables.scope], tables.start[use], tables.start[use + 1])
    of_messages = _sum_ranges(bits[tree.nodes], tree.start[:-1], tree.start[:-1] + tree.shared)
    found: dict[int, list[_Input]] = {}
    for i in np.flatnonzero(of_tables <= room[clique_of]).tolist():
        scope = tables.scope_of(use[i])
        one = _Input(frozenset(scope[tree.position[scope] >= 0].tolist()), (i,), (), ())
        found.setdefault(int(clique_of[i]), []).append(one)
    for b in np.flatnonzero(
        of_messages <= room[tree.above]
    ).tolist():  # above a root: the last, no room
        scope = tree.nodes[tree.start[b] : tree.start[b] + tree.shared[b]]
        found.setdefault(int(tree.above[b]), []).append(
            _Input(frozenset(scope.tolist()), (), (b,), ())
        )
    return {c: inputs for c, inputs in found.items() if len(inputs) > 1}


def _sum_ranges(values: Array, low: IntArray, high: IntArray) -> Array:
    """Return the sum of each range of some values."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return total[high] - total[low]


def _merge(inputs: list[_Input], sizes: list[int], most: float) -> list[_Input]:
    """Join the two inputs with the smallest table again and again, while it has at most so many cells."""
    while len(inputs) > 1:
        cells, i, j = min(
            (prod(sizes[v] for v in a.scope | b.scope), i, j)
            for (i, a), (j, b) in combinations(enumerate(inputs), 2)
        )
        if cells > most:
            break
        b, a = inputs.pop(j), inputs.pop(i)
        inputs.append(_join(a, b))
    return inputs


def _join(a: _Input, b: _Input) -> _Input:
    """Return a group of two inputs; a group that holds the other's variables takes it in."""
    scope = a.scope | b.scope
    parts: list[_Input] = []
    for one in (a, b):
        parts += one.groups if one.groups and one.scope == scope else [one]
    return _Input(scope, (), (), tuple(parts))


def _insert(
    tree: CliqueTree, clique_of: IntArray, parts: dict[int, list[_Input]], position: list[int]
) -> tuple[CliqueTree, IntArray, IntArray]:
    """Write the tree with groups, each after what is below it and before what is above it."""
    nodes: list[list[int]] = []
    shared, origin, above_of, tables_of = [], [], {}, {}
    place = np.zeros(tree.n_cliques, dtype=np.int64)

    def write(group: _Input, c: int) -> int:
        inner = [write(one, c) for one in group.groups if one.groups]
        here = len(nodes)
        nodes.append(sorted(group.scope, key=lambda v: -position[v]))
        shared.append(len(group.scope))
        origin.append(c)
        above_of.update(dict.fromkeys(inner, here))
        for one in group.groups:
            above_of.update((int(place[b]), here) for b in one.below)
            tables_of.update(dict.fromkeys(one.tables, here))
        return here

    for c in range(tree.n_cliques):
        groups = [write(group, c) for group in parts.get(c, ())]
        place[c] = len(nodes)
        above_of.update(dict.fromkeys(groups, int(place[c])))
        nodes.append(tree.nodes[tree.start[c] : tree.start[c + 1]].tolist())
        shared.append(int(tree.shared[c]))
        origin.append(c)
    above = np.full(len(nodes), -1, dtype=np.int64)
    above[place] = np.where(tree.above >= 0, place[tree.above], -1)
    for here, c in above_of.items():
        above[here] = c
    into = np.append(place, len(nodes))[clique_of]
    for i, c in tables_of.items():
        into[i] = c
    start = np.cumsum([0, *map(len, nodes)])
    flat = np.array([v for some in nodes for v in some], dtype=np.int64)
    home = np.where(tree.home >= 0, place[tree.home], -1)
    made = CliqueTree(start, flat, np.array(shared), above, home, tree.position)
    return made, into, np.array(origin)
