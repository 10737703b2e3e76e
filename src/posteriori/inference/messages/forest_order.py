"""Variables and factors in batches, and the order in which messages pass between their members.

A variable is an array of members, a factor an array of rows; rows and members are the nodes of a
forest, sorted by their distance from the root.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.lazy import csgraph, sparse
from posteriori.numerics.types import Array, IntArray

__all__ = ["Batch", "Parts", "Paths", "RowFactor", "View", "find_order"]

#: Parts of a message that add up, each with the same leading axis.
Parts = tuple[Array, ...]
#: Paths of this many steps repay the import of the compiler.
_LONG = 1000


@dataclass(frozen=True, slots=True)
class Batch:
    """``count`` members of a variable, and the shapes of the parts of a message to one of them."""

    count: int
    shapes: tuple[tuple[int, ...], ...]


class View(NamedTuple):
    """Which member of a variable each row sees; None for the r-th."""

    variable: str
    index: Any = None

    def at(self, rows: Any) -> Any:
        """Return the members that some rows see."""
        return rows if self.index is None else self.index[rows]


class RowFactor(NamedTuple):
    """Rows of one factor.

    Attributes
    ----------
    name : str
    rows : int
    views : tuple of View
    send : callable (rows, slot, incoming) -> Parts
        The messages of some rows to the variable at ``views[slot]``, given those that come from
        the variables at all other slots, in order.
    sweep : callable (rows (L, B), slot, base) -> Parts, optional
        Of a factor with two views, the messages along paths: a row gets the product of its base
        and of what the row before it sent.
    sums : callable () -> Parts, optional
        Of a factor with one view, the product of the messages of all rows to each member, where
        there is a shorter way than by the rows.
    """

    name: str
    rows: int
    views: tuple[View, ...]
    send: Callable[[Any, int, list[Parts]], Parts]
    sweep: Callable[[Any, int, Parts], Parts] | None = None
    sums: Callable[[], Parts] | None = None


#: Rows of one factor at the same distance from the root, and the slot that leads there.
Part = tuple[int, int, Any]


class Paths(NamedTuple):
    """Rows (L, B) of B paths away from the root, through ``slot`` towards it."""

    factor: int
    slot: int
    rows: IntArray


class _Numbering(NamedTuple):
    """One number for every member and every row of the factors that join variables."""

    members: Mapping[str, int]  # number of the first member
    rows: Mapping[int, int]  # number of the first row
    total: int
    ends: tuple[IntArray, IntArray]  # of every edge: a member and a row


class _Sorted(NamedTuple):
    """All rows by their distance from the root."""

    nodes: IntArray  # numbers of rows, level after level
    starts: IntArray  # of each level, and the end
    first: IntArray  # number of row 0 of the same factor, by number
    code: IntArray  # factor and slot towards the root, by number
    n_slots: int

    def parts(self, level: int) -> list[Part]:
        """Return the rows of a level, by factor and slot."""
        nodes = self.nodes[self.starts[level] : self.starts[level + 1]]
        codes = self.code[nodes]
        found = []
        for one in np.unique(codes) if len(codes) > 1 else codes:
            mine = nodes[codes == one]
            found.append((*divmod(int(one), self.n_slots), mine - self.first[mine]))
        return found

    def paths(self, start: int, stop: int) -> Paths:
        """Return levels that go on from one to the next."""
        nodes = self.nodes[self.starts[start] : self.starts[stop]]
        rows = (nodes - self.first[nodes]).reshape(stop - start, -1)
        return Paths(*divmod(int(self.code[nodes[0]]), self.n_slots), rows)


def find_order(
    variables: Mapping[str, Batch], factors: Sequence[RowFactor]
) -> list[list[Part] | Paths]:
    """Return the rows by their distance from the root; long paths are joined.

    Raises
    ------
    ValueError
        When rows and members form a loop; the message names who takes part.
    """
    numbers = _number(variables, factors)
    if not numbers.rows:
        return []
    parent = _find_parents(numbers, factors)
    sorted_rows, goes_on = _sort(numbers, factors, parent)
    order: list[list[Part] | Paths] = []
    ends = [0, *(np.flatnonzero(~goes_on) + 1).tolist(), len(goes_on) + 1]
    for start, stop in pairwise(ends):
        if stop - start < _LONG:
            order += [sorted_rows.parts(level) for level in range(start, stop)]
        else:
            order.append(sorted_rows.paths(start, stop))
    return order


def _sort(
    numbers: _Numbering, factors: Sequence[RowFactor], parent: IntArray
) -> tuple[_Sorted, Any]:
    """Sort rows by distance, and tell which levels go on: every row to one row of the next."""
    n_slots = max(len(factors[f].views) for f in numbers.rows)
    first, code, below = (np.full(numbers.total, -1, dtype=np.int64) for _ in range(3))
    for f, start in numbers.rows.items():
        rows = np.arange(factors[f].rows)
        views = factors[f].views
        sees = np.stack([numbers.members[view.variable] + view.at(rows) for view in views])
        slots = np.argmax(sees == parent[start + rows], axis=0)
        first[start + rows], code[start + rows] = start, f * n_slots + slots
        one = len({view.variable for view in views}) == 1
        if factors[f].sweep is not None and len(views) == 2 and one:
            below[start + rows] = sees[1 - slots, rows]
    nodes = np.arange(min(numbers.rows.values()), numbers.total)
    distance = _distances(parent)[nodes]
    by_distance = np.argsort(distance, kind="stable")
    nodes, distance = nodes[by_distance], distance[by_distance]
    starts = np.flatnonzero(np.diff(distance, prepend=-1))
    sizes = np.diff(starts, append=len(nodes))
    low, high = (u.reduceat(code[nodes], starts) for u in (np.minimum, np.maximum))
    alike = (low == high)[:-1] & (low[:-1] == low[1:]) & (high[:-1] == high[1:])
    alike &= sizes[:-1] == sizes[1:]
    level = np.repeat(np.arange(len(sizes)), sizes)
    here = np.flatnonzero(np.append(alike, False)[level])
    after = here + sizes[level[here]]
    apart = level[here][below[nodes[here]] != parent[nodes[after]]]
    alike[apart] = False
    ends = np.append(starts, len(nodes))
    return _Sorted(nodes, ends, first, code, n_slots), alike


def _distances(parent: IntArray) -> IntArray:
    """Return the number of steps to the root, which is its own parent; jumps double in length."""
    root = len(parent) - 1
    steps = (np.arange(len(parent)) != root).astype(np.int64)
    jump = parent
    while np.any(jump != root):
        steps = steps + steps[jump]
        jump = jump[jump]
    return steps


def _number(variables: Mapping[str, Batch], factors: Sequence[RowFactor]) -> _Numbering:
    members, total = {}, 0
    for name, batch in variables.items():
        members[name] = total
        total += batch.count
    rows, ends = {}, []
    for f, factor in enumerate(factors):
        if len(factor.views) > 1:
            rows[f] = total
            here = np.arange(factor.rows)
            ends += [(members[v.variable] + v.at(here), total + here) for v in factor.views]
            total += factor.rows
    joined = tuple(np.concatenate(part) for part in zip(*ends, strict=True)) if ends else ()
    return _Numbering(members, rows, total, joined)  # type: ignore[arg-type]


def _find_parents(numbers: _Numbering, factors: Sequence[RowFactor]) -> IntArray:
    """Return the number that leads to the root, the last, from every number; refuse loops."""
    a, b = numbers.ends
    n = numbers.total
    graph = sparse.coo_array((np.ones(len(a)), (a, b)), shape=(n, n)).tocsr()
    count, component = csgraph.connected_components(graph, directed=False)
    if len(a) != n - count:
        raise _loop(numbers, factors, component.astype(np.int64))
    _, first = np.unique(component, return_index=True)
    rooted = sparse.coo_array(  # one root above the first member of every tree
        (
            np.ones(len(a) + count),
            (np.concatenate([a, first]), np.concatenate([b, np.full(count, n)])),
        ),
        shape=(n + 1, n + 1),
    ).tocsr()
    _, parent = csgraph.breadth_first_order(rooted, n, directed=False)
    parent[n] = n
    return parent.astype(np.int64)


def _loop(numbers: _Numbering, factors: Sequence[RowFactor], component: IntArray) -> ValueError:
    """Name the factors and variables of the trees that are none."""
    sizes = np.bincount(component)
    edges = np.bincount(component[numbers.ends[0]], minlength=len(sizes))
    loops = edges > sizes - 1
    names: dict[str, None] = {}
    joined: dict[str, None] = {}
    for f, start in numbers.rows.items():
        if loops[component[start : start + factors[f].rows]].any():
            names[factors[f].name] = None
            joined |= dict.fromkeys(view.variable for view in factors[f].views)
    return ValueError(
        f"no exact messages: the factors of {', '.join(names)} close a loop through "
        f"{', '.join(joined)}. Marginals and joint() are exact all the same; for messages, write "
        "what meets in several factors as one variable: a vector, or a joint state"
    )
