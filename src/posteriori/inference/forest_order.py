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
    """

    name: str
    rows: int
    views: tuple[View, ...]
    send: Callable[[Any, int, list[Parts]], Parts]
    sweep: Callable[[Any, int, Parts], Parts] | None = None


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


def find_order(
    variables: Mapping[str, Batch], factors: Sequence[RowFactor]
) -> list[list[Part] | Paths]:
    """Return the rows by their distance from the root; long paths are joined.

    Raises
    ------
    ValueError
        When rows and members form a loop; the message names who takes part.
    """
    return _join_paths(_levels(variables, factors), factors)


def _levels(variables: Mapping[str, Batch], factors: Sequence[RowFactor]) -> list[list[Part]]:
    """Return the rows by their distance from the root, each with the slot that leads there."""
    numbers = _number(variables, factors)
    if not numbers.rows:
        return []
    order, parent = _walk(numbers, factors)
    most = max(len(factors[f].views) for f in numbers.rows)
    first = np.empty(numbers.total, dtype=np.int64)  # row 0 of the same factor
    code = np.empty(numbers.total, dtype=np.int64)  # factor and slot
    for f, start in numbers.rows.items():
        own = slice(start, start + factors[f].rows)
        first[own] = start
        code[own] = f * most + _slots_towards(parent, factors[f], numbers, f)
    levels = []
    for nodes in _by_distance(order, parent, numbers.total)[2::2]:  # root, members, rows, …
        codes = code[nodes]
        level = []
        for one in np.unique(codes) if len(codes) > 1 else codes:
            mine = nodes[codes == one] if len(codes) > 1 else nodes
            level.append((int(one) // most, int(one) % most, np.sort(mine - first[mine])))
        levels.append(level)
    return levels


def _join_paths(levels: list[list[Part]], factors: Sequence[RowFactor]) -> list[list[Part] | Paths]:
    """Join long stretches of levels in which every row goes on to one other of the same factor."""
    joined: list[list[Part] | Paths] = []
    start = 0
    while start < len(levels):
        stop = start + 1
        while stop < len(levels) and _goes_on(levels[stop - 1], levels[stop], factors):
            stop += 1
        if stop - start < _LONG:
            joined += levels[start:stop]
        else:
            ((f, slot, _),) = levels[start]
            joined.append(Paths(f, slot, np.stack([level[0][2] for level in levels[start:stop]])))
        start = stop
    return joined


def _goes_on(level: list[Part], following: list[Part], factors: Sequence[RowFactor]) -> bool:
    if len(level) != 1 or len(following) != 1:
        return False
    ((f, slot, rows),), ((g, towards, after),) = level, following
    if (f, slot) != (g, towards) or len(rows) != len(after) or factors[f].sweep is None:
        return False
    views = factors[f].views
    if len(views) != 2 or views[0].variable != views[1].variable:
        return False
    return np.array_equal(views[1 - slot].at(rows), views[slot].at(after))


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


def _walk(numbers: _Numbering, factors: Sequence[RowFactor]) -> tuple[IntArray, IntArray]:
    """Return all numbers from the root outwards, and the parent of each; refuse loops."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    a, b = numbers.ends
    n = numbers.total
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(n, n)).tocsr()
    count, component = connected_components(graph, directed=False)
    if len(a) != n - count:
        raise _loop(numbers, factors, component.astype(np.int64))
    _, first = np.unique(component, return_index=True)
    rooted = coo_array(  # one root above the first member of every tree
        (
            np.ones(len(a) + count),
            (np.concatenate([a, first]), np.concatenate([b, np.full(count, n)])),
        ),
        shape=(n + 1, n + 1),
    ).tocsr()
    order, parent = breadth_first_order(rooted, n, directed=False)
    return order.astype(np.int64), parent.astype(np.int64)


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


def _by_distance(order: IntArray, parent: IntArray, root: int) -> list[IntArray]:
    """Cut the walk where the distance from the root grows."""
    position = np.empty(root + 1, dtype=np.intp)
    position[order] = np.arange(root + 1)
    above = position[parent[order[1:]]]  # never falls along the walk
    cuts = [0, 1]
    while cuts[-1] <= root:
        cuts.append(1 + int(np.searchsorted(above, cuts[-1])))
    return [order[start:stop] for start, stop in pairwise(cuts)]


def _slots_towards(parent: IntArray, factor: RowFactor, numbers: _Numbering, f: int) -> IntArray:
    """Return the slot of every row through which it sees its parent."""
    rows = np.arange(factor.rows)
    above = parent[numbers.rows[f] + rows]
    sees = [numbers.members[view.variable] + view.at(rows) == above for view in factor.views]
    return np.argmax(sees, axis=0)
