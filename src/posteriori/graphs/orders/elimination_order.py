r"""In which order to eliminate the nodes of a graph.

Eliminating a node joins its neighbours with one another and takes it away. What it is joined with then, it
shares a table with; the fill is the number of edges that this adds. A node whose neighbours are all joined adds
none, and going first it never makes matters worse; of the others, the one that adds the fewest edges goes next,
or the one with the smallest table.

References: D. J. Rose, "Triangulated graphs and the elimination process", 1970; U. Kjærulff, "Triangulation of
graphs: algorithms giving small total state space", 1990.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.graphs.adjacency import Adjacency
from posteriori.numerics.compilation import as_kernel_indices, kernel, run
from posteriori.numerics.types import Array, IntArray

__all__ = ["Elimination", "TableTooLargeError", "eliminate_all", "join_scopes", "weigh_sizes"]

#: Weights are whole numbers, so that sums of them, and ties, are the same everywhere: this many a bit.
_UNITS = 1 << 16


class TableTooLargeError(Exception):
    """A table has more cells than were allowed; how many variables it is over."""


class Elimination(NamedTuple):
    """An order, and what each node was joined with when it went.

    Attributes
    ----------
    order : (n,) of int
        Nodes, the first eliminated first.
    start : (n + 1,) of int
    later : (E,) of int
        Node ``order[i]`` was joined with ``later[start[i] : start[i + 1]]``.
    """

    order: IntArray
    start: IntArray
    later: IntArray


def weigh_sizes(sizes: Array | Sequence[int]) -> IntArray:
    """Return the logarithms of numbers of states as whole numbers."""
    return np.rint(np.log2(np.maximum(sizes, 1)) * _UNITS).astype(np.int64)


def join_scopes(start: IntArray, scope: IntArray, free: IntArray) -> Adjacency:
    """Join the free nodes that share a scope.

    Parameters
    ----------
    start, scope : (F + 1,), (S,) of int
        Scope f is ``scope[start[f] : start[f + 1]]``.
    free : (n,) of int
        0 for nodes that are left out: they have no neighbours.
    """
    length = np.diff(start)
    most = int(np.sum(length * (length - 1))) if length.size else 0
    of_node, holder = _holders(start, scope, free.size)
    begin, found = np.zeros(free.size + 1, dtype=np.int64), np.zeros(max(most, 1), dtype=np.int64)
    given = map(as_kernel_indices, (start, scope, of_node, holder, free))
    run(_join, float(np.sum(length * length)), *given, np.zeros_like(begin), begin, found)
    return Adjacency(begin, found[: begin[-1]])


def _holders(start: IntArray, scope: IntArray, nodes: int) -> tuple[IntArray, IntArray]:
    """Return which scopes hold each node, in the form of ``start`` and ``scope``."""
    begin = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(scope, minlength=nodes), out=begin[1:])
    of_entry = np.repeat(np.arange(start.size - 1), np.diff(start))
    return begin, of_entry[np.argsort(scope, kind="stable")]


@kernel(plain=True, allocates=False)
def _join(
    start: IntArray,
    scope: IntArray,
    of_node: IntArray,
    holder: IntArray,
    free: IntArray,
    seen: IntArray,
    begin: IntArray,
    found: IntArray,
) -> None:
    """Write down the neighbours of each node, each once; ``seen`` holds zeros."""
    n = len(free)
    count = 0
    for v in range(n):
        begin[v] = count
        seen[v] = v + 1
        if free[v]:
            for h in range(of_node[v], of_node[v + 1]):
                for e in range(start[holder[h]], start[holder[h] + 1]):
                    other = scope[e]
                    if free[other] and seen[other] != v + 1:
                        seen[other] = v + 1
                        found[count] = other
                        count += 1
    begin[n] = count


#: Multiplications' worth of time that it takes to look at a node, when one is looked for; measured on grids.
_PER_PAIR = 40.0


def eliminate_all(
    graph: Adjacency,
    weights: IntArray,
    groups: Sequence[IntArray],
    *,
    by_weight: bool = False,
    most_bits: float = np.inf,
) -> Elimination:
    """Eliminate nodes of a graph one after another.

    Parameters
    ----------
    graph : Adjacency
        Each edge both ways.
    weights : (n,) of int
        Of :func:`weigh_sizes`.
    groups : sequence of arrays of int
        All nodes of a group go before those of the next; one node a group is an order that is given. Nodes
        in no group stay out, and must have no neighbours.
    by_weight : bool
        Whether the smallest table goes next, and not the fewest new edges; each settles the ties of the other.
    most_bits : float
        Logarithm, to the base 2, of the cells that a table may have.

    Raises
    ------
    TableTooLargeError
        At the first table with more cells: no more nodes are looked for.

    Notes
    -----
    Trees and other graphs that need no new edge take time in proportion to their edges; each further node
    is looked for among all that are left of its group.
    """
    chosen = np.concatenate([*groups, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    bounds = np.cumsum([0, *(len(group) for group in groups)])
    start, neighbours, weights, bounds = map(
        as_kernel_indices, (graph.start, graph.neighbours, weights, bounds)
    )
    edges, n = neighbours.size, weights.size
    room, work = 2 * edges + 4 * chosen.size + 64, 40.0 * (edges + chosen.size)
    cycles = edges // 2 - chosen.size + 1
    if (
        cycles > 0
    ):  # no tree: so many nodes at most are looked for among all that are left, and add edges
        work += _PER_PAIR * float(chosen.size) * min(chosen.size, cycles)
    most = int(min(most_bits * _UNITS, np.iinfo(np.int64).max // 2))
    while True:
        lists = _Lists(_zeros(n), _zeros(room), _zeros(room), _zeros(n), _zeros(n))
        costs = _Costs(_zeros(n), _zeros(n), _zeros(n), _zeros(n), _zeros(n))
        order, ends, later = _zeros(chosen.size), _zeros(chosen.size + 1), _zeros(room)
        done = run(
            _eliminate,
            work,
            *(start, neighbours, weights, bounds, int(by_weight), most, lists, costs, _zeros(n)),
            *(chosen.copy(), order, ends, later),
        )
        if done < 0:
            raise TableTooLargeError(-done)
        if done:
            return Elimination(order, ends, later[: ends[-1]].copy())
        room, work = 4 * room, 16.0 * work  # new edges make more of them


def _zeros(n: int) -> IntArray:
    return np.zeros(n, dtype=np.int64)


class _Lists(NamedTuple):
    """Neighbours as linked lists: ``head[v]`` is the first link of node v, 0 is the end of a list."""

    head: IntArray
    to: IntArray
    following: IntArray
    #: 1 for nodes that went.
    gone: IntArray
    #: Nodes that a walk has met hold the number of the walk.
    mark: IntArray


class _Costs(NamedTuple):
    """What it costs to eliminate each node, kept right as edges come and nodes go."""

    #: Neighbours that it has.
    degree: IntArray
    #: Edges that its elimination adds.
    fill: IntArray
    #: Of the table.
    weight: IntArray
    #: 1 for nodes of the group whose turn it is; 2 where they are listed because their costs may have changed.
    turn: IntArray
    listed: IntArray


@kernel(plain=True, allocates=False)
def _eliminate(
    begin: IntArray,
    neighbours: IntArray,
    weights: IntArray,
    bounds: IntArray,
    by_weight: int,
    most: int,
    lists: _Lists,
    costs: _Costs,
    ready: IntArray,
    chosen: IntArray,
    order: IntArray,
    start: IntArray,
    later: IntArray,
) -> int:
    """Write an order and what each node is joined with.

    Returns 1; 0 when there is no room for new edges, −k at a table of k nodes that is too large.
    """
    used = _link_all(begin, neighbours, lists)
    for v in range(len(weights)):
        _count(v, v + 1, lists, weights, costs)
    walks, step = len(weights), 0
    for group in range(len(bounds) - 1):
        first, last, n_listed = bounds[group], bounds[group + 1], 0
        for i in range(first, last):
            costs.turn[chosen[i]] = 1
            n_listed = _list_again(chosen[i], costs, n_listed)
        while first < last:
            n_ready = 0
            for i in range(n_listed):
                v = costs.listed[i]
                costs.turn[v] = 1
                if not lists.gone[v] and costs.fill[v] == 0:
                    ready[n_ready] = v
                    n_ready += 1
            n_listed = 0
            if n_ready == 0:
                last = _drop_gone(chosen, first, last, lists.gone)
                if first == last:
                    break
                ready[0] = _cheapest(chosen, first, last, costs, by_weight)
                n_ready = 1
            for i in range(n_ready):
                v, low = ready[i], start[step]
                high = _take_out(v, low, later, lists)
                if high < 0:
                    return 0
                if costs.weight[v] > most:
                    return low - high - 1
                order[step] = v
                step += 1
                start[step] = high
                for j in range(low, high):
                    n_listed = _list_again(later[j], costs, n_listed)
                if costs.fill[v] > 0:
                    for j in range(low, high):
                        walks += 1
                        n_listed = _mark_around(later[j], walks, lists, costs, n_listed)
                        around = later[low:high]
                        used = _join_with(later[j], walks, around, weights, lists, costs, used)
                        if used < 0:
                            return 0
                for j in range(low, high):
                    _part_from(later[j], high - low, weights[v], costs)
    return 1


@kernel(plain=True, allocates=False)
def _link_all(begin: IntArray, neighbours: IntArray, lists: _Lists) -> int:
    """Make the lists; return the first free link."""
    used = 1
    for v in range(len(begin) - 1):
        for e in range(begin[v], begin[v + 1]):
            lists.to[used], lists.following[used], lists.head[v] = (
                neighbours[e],
                lists.head[v],
                used,
            )
            used += 1
    return used


@kernel(plain=True, allocates=False)
def _list_again(v: int, costs: _Costs, n_listed: int) -> int:
    """List a node of the group whose costs may change; return how many are listed."""
    if costs.turn[v] == 1:
        costs.turn[v] = 2
        costs.listed[n_listed] = v
        return n_listed + 1
    return n_listed


@kernel(plain=True, allocates=False)
def _count(v: int, walk: int, lists: _Lists, weights: IntArray, costs: _Costs) -> None:
    """Count the neighbours of v and the edges that are missing between them, and weigh its table."""
    degree, weight, at = 0, weights[v], lists.head[v]
    while at:
        lists.mark[lists.to[at]] = walk
        degree += 1
        weight += weights[lists.to[at]]
        at = lists.following[at]
    joined, at = 0, lists.head[v]
    while at and degree > 1:
        link = lists.head[lists.to[at]]
        while link:
            if lists.mark[lists.to[link]] == walk:
                joined += 1
            link = lists.following[link]
        at = lists.following[at]
    costs.degree[v] = degree
    costs.fill[v] = (degree * (degree - 1) - joined) // 2
    costs.weight[v] = weight


@kernel(plain=True, allocates=False)
def _drop_gone(chosen: IntArray, first: int, last: int, gone: IntArray) -> int:
    """Move the nodes of a group that are left to the front; return where they end."""
    end = first
    for i in range(first, last):
        if not gone[chosen[i]]:
            chosen[end] = chosen[i]
            end += 1
    return end


@kernel(plain=True, allocates=False)
def _cheapest(chosen: IntArray, first: int, last: int, costs: _Costs, by_weight: int) -> int:
    """Return the node of least fill, or least weight; the other one settles ties."""
    best = chosen[first]
    for i in range(first + 1, last):
        v = chosen[i]
        fill, weight = costs.fill[v] - costs.fill[best], costs.weight[v] - costs.weight[best]
        if by_weight:
            fill, weight = weight, fill
        if fill < 0 or (fill == 0 and weight < 0):
            best = v
    return best


@kernel(plain=True, allocates=False)
def _take_out(v: int, count: int, later: IntArray, lists: _Lists) -> int:
    """Write down the neighbours of a node that goes; return where they end, −1 where there is no room."""
    lists.gone[v] = 1
    at = lists.head[v]
    while at:
        if not lists.gone[lists.to[at]]:
            if count == len(later):
                return -1
            later[count] = lists.to[at]
            count += 1
        at = lists.following[at]
    return count


@kernel(plain=True, allocates=False)
def _mark_around(u: int, walk: int, lists: _Lists, costs: _Costs, n_listed: int) -> int:
    """Mark a node and its neighbours, whose costs new edges may change; return how many are listed."""
    lists.mark[u] = walk
    before, at = 0, lists.head[u]
    while at:
        after = lists.following[at]
        if not lists.gone[lists.to[at]]:
            lists.mark[lists.to[at]] = walk
            n_listed = _list_again(lists.to[at], costs, n_listed)
            before = at
        elif before:
            lists.following[before] = after
        else:
            lists.head[u] = after
        at = after
    return n_listed


@kernel(plain=True, allocates=False)
def _join_with(
    u: int,
    walk: int,
    around: IntArray,
    weights: IntArray,
    lists: _Lists,
    costs: _Costs,
    used: int,
) -> int:
    """Join u with those of its new neighbours that are not marked; return the first free link, or −1."""
    for other in around:
        if lists.mark[other] != walk:
            if used + 1 >= len(lists.to):
                return -1
            _weigh_edge(u, other, walk, weights, lists, costs)
            _link(u, other, used, lists)
            _link(other, u, used + 1, lists)
            lists.mark[other] = walk
            used += 2
    return used


@kernel(plain=True, allocates=False)
def _link(v: int, other: int, link: int, lists: _Lists) -> None:
    """Put a node first among the neighbours of v."""
    lists.to[link], lists.following[link], lists.head[v] = other, lists.head[v], link


@kernel(plain=True, allocates=False)
def _weigh_edge(
    u: int, other: int, walk: int, weights: IntArray, lists: _Lists, costs: _Costs
) -> None:
    """Count a new edge between u, whose neighbours are marked, and a node next to the one that goes.

    It joins two neighbours of all that are next to both; each end has a neighbour more, which misses an edge
    to those of its neighbours that are not next to both. The one that goes is next to both.
    """
    common, at = 1, lists.head[other]
    while at:
        w = lists.to[at]
        if lists.mark[w] == walk and not lists.gone[w]:
            common += 1
            costs.fill[w] -= 1
        at = lists.following[at]
    costs.fill[u] += costs.degree[u] - common
    costs.fill[other] += costs.degree[other] - common
    costs.degree[u] += 1
    costs.degree[other] += 1
    costs.weight[u] += weights[other]
    costs.weight[other] += weights[u]


@kernel(plain=True, allocates=False)
def _part_from(u: int, joined: int, weight: int, costs: _Costs) -> None:
    """Take a node that goes, and whose neighbours are all joined, so many, out of the costs of one of them."""
    costs.fill[u] -= costs.degree[u] - joined
    costs.degree[u] -= 1
    costs.weight[u] -= weight
